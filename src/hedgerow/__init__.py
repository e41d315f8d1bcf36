"""Hedgerow: publish a confidential table as differentially private synthetic data.

    import hedgerow as hr
    help(hr.Job)       # what to publish, from what, under which promise, for which uses; plan, rehearse, run
    help(hr.Release)   # what was published; verify, sample, compare

Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from hedgerow import errors as errors
    from hedgerow import recipes as recipes
    from hedgerow import uses as uses
    from hedgerow.api.job import Job as Job
    from hedgerow.api.release import Release as Release
    from hedgerow.evaluate.compare import Comparison as Comparison
    from hedgerow.job.places import Engine as Engine
    from hedgerow.job.tables import Confidential as Confidential
    from hedgerow.job.tables import Person as Person
    from hedgerow.job.tables import Public as Public
    from hedgerow.job.tables import Target as Target
    from hedgerow.ledger.book import Ledger as Ledger
    from hedgerow.planning.forecast import Plan as Plan
    from hedgerow.public import Budget as Budget
    from hedgerow.public import Schema as Schema
    from hedgerow.simulate.personnel import personnel as personnel
    from hedgerow.stand_in import Rehearsal as Rehearsal

_HOME = {
    "Budget": "hedgerow.public.costs.accounting",
    "Comparison": "hedgerow.evaluate.compare",
    "Confidential": "hedgerow.job.tables",
    "Engine": "hedgerow.job.places",
    "Job": "hedgerow.api.job",
    "Ledger": "hedgerow.ledger.book",
    "Person": "hedgerow.job.tables",
    "Plan": "hedgerow.planning.forecast",
    "Public": "hedgerow.job.tables",
    "Rehearsal": "hedgerow.stand_in",
    "Release": "hedgerow.api.release",
    "Schema": "hedgerow.public.schema",
    "Target": "hedgerow.job.tables",
    "personnel": "hedgerow.simulate.personnel",
    "errors": "",
    "recipes": "",
    "uses": "",
}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}; it has {', '.join(_HOME)}")
    return getattr(import_module(_HOME[name]), name) if _HOME[name] else import_module(f"hedgerow.{name}")


def __dir__() -> list[str]:
    return [*_HOME, "__version__"]
