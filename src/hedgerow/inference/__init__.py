"""Inference: intervals for figures of a release, from what is public: its noisy answers, its file, its relative.

evidence.py      measured tables, and the rows that are like those behind them
reference.py     rows and the units that were counted: rows themselves, or people
moments.py       a figure by a few moments of each row
direct.py        a figure told by one measured table, with the size of each part of its error
figures.py       every kind of use with its intervals
replicates.py    the release made again as it could have come out
estimate.py      an estimate, its interval and parts, or why there is none
"""

from hedgerow.inference.estimate import Estimate, EstimateTable, refused
from hedgerow.inference.evidence import Evidence
from hedgerow.inference.figures import estimates
from hedgerow.inference.reference import CountedPeople
from hedgerow.inference.replicates import replicate
