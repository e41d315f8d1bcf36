"""Hedgerow: publish a confidential table as differentially private synthetic data.

    import hedgerow as hr
    schema = hr.Schema.load("schema.toml")
    gate = hr.open_gate("confidential.parquet", schema, hr.Budget(epsilon=1.0), ledger="ledger.db")
    model = hr.recipes.Independent().fit(gate, hr.PublicData(schema))
    records = hr.draw_records(model, schema, model.total, numpy.random.default_rng(7))
    hr.write_release(records, gate, schema, "release/")

Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hedgerow import recipes as recipes
    from hedgerow.pipeline import open_gate as open_gate
    from hedgerow.pipeline import plan as plan
    from hedgerow.pipeline import run as run
    from hedgerow.pipeline import sample as sample
    from hedgerow.pipeline import write_release as write_release
    from hedgerow.public.costs.accounting import Budget as Budget
    from hedgerow.public.costs.accounting import Guarantee as Guarantee
    from hedgerow.public.costs.question import Marginal as Marginal
    from hedgerow.public.schema import Schema as Schema
    from hedgerow.public.table import CodedTable as CodedTable
    from hedgerow.recipes import PublicData as PublicData
    from hedgerow.records.draw import draw_records as draw_records
    from hedgerow.release.verify import verify as verify
    from hedgerow.simulate.personnel import personnel as personnel

_HOME = {
    "Budget": "hedgerow.public.costs.accounting",
    "Guarantee": "hedgerow.public.costs.accounting",
    "Marginal": "hedgerow.public.costs.question",
    "PublicData": "hedgerow.recipes",
    "CodedTable": "hedgerow.public.table",
    "Schema": "hedgerow.public.schema",
    "draw_records": "hedgerow.records.draw",
    "open_gate": "hedgerow.pipeline",
    "personnel": "hedgerow.simulate.personnel",
    "plan": "hedgerow.pipeline",
    "run": "hedgerow.pipeline",
    "sample": "hedgerow.pipeline",
    "verify": "hedgerow.release.verify",
    "write_release": "hedgerow.pipeline",
}
__all__ = [*_HOME, "recipes"]


def __getattr__(name: str) -> Any:
    if name == "recipes":
        return import_module("hedgerow.recipes")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
