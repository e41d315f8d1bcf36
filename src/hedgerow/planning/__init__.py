"""Planning: what a budget buys, before anything confidential is read.

forecast.py      what a job will ask, cost and give, what to warn of, and whether it fits in this machine
tables.py        what each recipe would make of a table of counts, side by side
attach.py        trees before they are filled, and what an attach job is worth
interval.py      how close a synthetic share comes
figures.py       the papers' intervals, and error against epsilon
"""

from hedgerow.planning.attach import SmallLeaves, small_leaves
from hedgerow.planning.figures import (
    DRAWS,
    SHARES,
    empirical,
    error_section,
    interval_section,
    simulated,
    simulation_section,
)
from hedgerow.planning.interval import Interval, interval, least_n
from hedgerow.planning.tables import Imagined, imagined
