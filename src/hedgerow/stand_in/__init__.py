"""Stand-in: a job carried out with a public table in the confidential one's place, at no cost.

stand_in.py      who plays what: the split of a public table, or one made up; one run of a job on it
drift.py         how the two parts differ, besides by chance
rehearsal.py     many runs at many epsilons, carried on to the real sizes, and what they found
worker_pool.py   processes that work beside this one
"""

from hedgerow.stand_in.drift import DRIFT, drift_score
from hedgerow.stand_in.rehearsal import RUNS, Rehearsal, quick, rehearse
from hedgerow.stand_in.stand_in import (
    FEWEST,
    Parts,
    StandIn,
    by_order,
    fit_once,
    lacking,
    parts_of,
    persons,
    run_once,
    split_rows,
)
from hedgerow.stand_in.worker_pool import worker_count
