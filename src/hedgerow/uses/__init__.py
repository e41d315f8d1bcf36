"""Uses: what a release must get right, a class per kind, and how each is judged.

base.py          what every use is: its keys, its figures on a table, its error
table.py, mean.py (means and quantiles), rate.py, person_rate.py, coefficient.py, prediction.py   the kinds
verdict.py       all kinds by name, and how a use is expected to fare, or did
"""

from hedgerow.uses.base import AbstractUse, Quantity, UseError, cell_names, like_sample
from hedgerow.uses.coefficient import Coefficient
from hedgerow.uses.mean import Mean, Quantile
from hedgerow.uses.person_rate import PersonRate
from hedgerow.uses.prediction import Prediction
from hedgerow.uses.rate import Rate
from hedgerow.uses.table import Table
from hedgerow.uses.verdict import USES, ExactVerdict, Verdict, not_judged, use_asked, use_from_toml, use_mistakes

__all__ = sorted(u.__name__ for u in USES.values())


def __dir__() -> list[str]:
    return __all__  # what completion shows of hr.uses
