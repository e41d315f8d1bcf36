"""Evaluate: how close two tables are. Two tables in, numbers out; one metric, one file.

    base.py       what a metric is; the result and the comparison
    registry.py   every metric by name
    compare.py    all metrics over two tables
    page.py       a comparison as one HTML page

Nothing here knows where a table came from, so nothing here may decide what is published.
"""
