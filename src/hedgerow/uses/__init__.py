"""Uses: what a release must get right, a class per kind, and how each is judged.

base.py          what every use is: its keys, its figures on a table, its error
table.py, mean.py (means and quantiles), rate.py, coefficient.py   the kinds
verdict.py       all kinds by name, and how a use is expected to fare
"""

from hedgerow.uses.base import AbstractUse as AbstractUse
from hedgerow.uses.base import Quantity as Quantity
from hedgerow.uses.base import UseError as UseError
from hedgerow.uses.base import cell_names as cell_names
from hedgerow.uses.base import like_sample as like_sample
from hedgerow.uses.coefficient import Coefficient as Coefficient
from hedgerow.uses.mean import Mean as Mean
from hedgerow.uses.mean import Quantile as Quantile
from hedgerow.uses.rate import Rate as Rate
from hedgerow.uses.table import Table as Table
from hedgerow.uses.verdict import USES as USES
from hedgerow.uses.verdict import Verdict as Verdict
from hedgerow.uses.verdict import use_from_toml as use_from_toml
from hedgerow.uses.verdict import use_mistakes as use_mistakes
