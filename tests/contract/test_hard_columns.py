"""Recipes for whole records on what real tables have: missing values, order, many values, zeros, rules, lookups."""

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.pipeline import draw_copies
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema, violations
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import DPSyn, PublicBlend, TreeBlend
from hedgerow.recipes.base import AbstractRecipe

CODES = 900
TEXT = f"""
[columns.state]
kind = "categorical"
values = ["OH", "TX", "IL"]
other = "IL"
[columns.region]
kind = "categorical"
values = ["north", "south"]
determined_by = ["state"]
map = [["OH", "north"], ["IL", "north"], ["TX", "south"]]
other = "south"
[columns.school]
kind = "ordered"
values = ["1", "2", "3", "4"]
missing = true
[columns.occupation]
kind = "categorical"
values = {[f"o{i}" for i in range(CODES)]}
other = "other"
[columns.age]
kind = "integer"
bins = {{ low = 0, high = 90, width = 5 }}
other = 89
[columns.served]
kind = "integer"
bins = {{ low = 0, high = 90, width = 10 }}
special = {{ N = "never" }}
missing = true
[[zero]]
where = {{ school = ["4"], age = {{ below = 15 }} }}
[[rule]]
left = "served"
right = "age"
""".replace("'", '"')
RECIPES: dict[str, AbstractRecipe] = {
    "dpsyn": DPSyn(groups=["state"], floor=0, pool=500, round_measured=1, round_public=1),
    "dpsyn, paper": DPSyn(groups=["state"], variant="paper", pool=500, rounds=2),
    "tree_blend": TreeBlend(),
    "public_blend": PublicBlend(),
}


def table(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, n)
    state = rng.choice(["OH", "TX", "IL"], n)
    served = [
        None if u < 0.1 else "N" if u < 0.3 else str(int(u * a)) for u, a in zip(rng.random(n), age, strict=True)
    ]
    school = np.where(age < 15, 1, rng.integers(1, 5, n))
    return pl.DataFrame(
        {
            "state": state,
            "region": np.where(state == "TX", "south", "north"),
            "school": [None if u < 0.2 else str(s) for u, s in zip(rng.random(n), school, strict=True)],
            "occupation": [f"o{int(CODES * u**3)}" for u in rng.random(n)],
            "age": age,
            "served": served,
        }
    )


@pytest.mark.parametrize("epsilon", ["0.05", "5"])
@pytest.mark.parametrize("name", RECIPES)
def test_records_obey_the_schema_whatever_the_columns(name: str, epsilon: str) -> None:
    schema = Schema.loads(TEXT)
    relative, truth = (CodedTable.read(table(3000, seed), schema) for seed in (1, 2))
    public, budget = PublicData(schema, relative), Budget(epsilon, "1e-6")
    tariff = Tariff(schema.coding, Guarantee(), budget.measure)
    gate = StandInGate(tariff, budget, truth, truth.rows, np.random.default_rng(3))
    (records,) = draw_copies(RECIPES[name].fit(gate, public), public, copies=1, seed=1).records
    assert records.columns == [c.name for c in schema.columns]
    assert not violations(schema, records).any()
    assert ((records["region"] == "south") == (records["state"] == "TX")).all()
    assert set(CodedTable.read(records, schema).outside()) <= {"occupation"}
    if epsilon == "5":
        assert 0.1 < records["school"].null_count() / len(records) < 0.3, "missing values are values like others"
        assert records["occupation"].n_unique() > 100, "a column of many values keeps its variety"
