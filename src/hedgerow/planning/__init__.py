"""Planning: what a budget buys, before anything confidential is read.

forecast.py      what a job will ask, cost and give, what to warn of, and whether it fits in this machine
tables.py        what each recipe would make of a table of counts, side by side
attach.py        trees before they are filled, and what an attach job is worth
interval.py      how close a synthetic share comes
figures.py       the papers' intervals, and error against epsilon
"""

from hedgerow.planning.attach import LeafInterval, SmallLeaves, small_leaves, with_attach
from hedgerow.planning.figures import (
    DRAWS,
    SHARES,
    draw_errors,
    draw_intervals,
    empirical,
    error_section,
    interval_section,
    simulated,
    simulation_section,
)
from hedgerow.planning.forecast import Plan, PlanWarning, forecast, machine_memory, outline
from hedgerow.planning.interval import Interval, interval, least_epsilon, least_n
from hedgerow.planning.tables import Imagined, imagined
