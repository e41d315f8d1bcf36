"""Evaluate: how close two tables are. Two tables in, numbers out; one subject, one file.

    base.py       what a metric is; the result and the comparison
    registry.py   every metric by name
    compare.py    all metrics over two tables: a comparison, also as one HTML page
    regressions, panels, marginals, small_groups, numeric, classifiers, validity, audit: the metrics
    cells.py, least_squares.py, logistic.py: what they are made of

Nothing here knows where a table came from, so nothing here may decide what is published.
"""
