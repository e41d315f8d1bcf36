"""Stand-in: a job carried out with a public table in the confidential one's place, at no cost.

stand_in.py      who plays what: the split of a public table by person, and one run of a job on its parts
rehearsal.py     many runs at many epsilons, carried on to the real sizes; curve.py: what they found
worker_pool.py   processes that work beside this one
"""

from hedgerow.stand_in.rehearsal import RUNS as RUNS
from hedgerow.stand_in.rehearsal import Rehearsal as Rehearsal
from hedgerow.stand_in.rehearsal import quick as quick
from hedgerow.stand_in.rehearsal import rehearse as rehearse
from hedgerow.stand_in.stand_in import FEWEST as FEWEST
from hedgerow.stand_in.stand_in import Parts as Parts
from hedgerow.stand_in.stand_in import StandIn as StandIn
from hedgerow.stand_in.stand_in import fit_once as fit_once
from hedgerow.stand_in.stand_in import lacking as lacking
from hedgerow.stand_in.stand_in import parts_of as parts_of
from hedgerow.stand_in.stand_in import persons as persons
from hedgerow.stand_in.stand_in import run_once as run_once
from hedgerow.stand_in.stand_in import split_rows as split_rows
from hedgerow.stand_in.worker_pool import worker_count as worker_count
