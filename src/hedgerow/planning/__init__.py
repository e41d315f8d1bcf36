"""Planning: what a budget buys, before anything confidential is read.

uses.py          intended uses and verdicts on them
quantities.py    the figures a use is about, on one table; coefficients.py: those of models
judging.py       errors, and the sample that errs as much
forecast.py      what a job will ask, cost and give
pretend.py       a public table that answers as the gate would
stand_in.py      a public table in two parts, and one run of a job on them
sizes.py         from the errors on parts to those on whole tables
rehearsal.py     many runs at many epsilons; curve.py: what they found
drawing.py       synthetic data from a fitted recipe
interval.py, laplace_binomial.py   how close a synthetic share comes
"""
