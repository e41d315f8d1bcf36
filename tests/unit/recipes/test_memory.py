"""The memory forecast grows with what takes memory, and is not below what is really held."""

import tracemalloc

import numpy as np
import pytest

from hedgerow.answers import StandInGate
from hedgerow.pipeline import draw_copies
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.gaussian import budget_for
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import TreeBlend
from hedgerow.recipes.base import pair_cells
from tests.contract.test_hard_columns import RECIPES, TEXT, table


def test_cells_of_all_pairs() -> None:
    schema = Schema.loads(TEXT)
    names = schema.attributes
    shape = schema.shape(names)
    every = sum(a * b for i, a in enumerate(shape) for b in shape[i + 1 :])
    assert pair_cells(schema, names) == every


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_held_stays_below_the_forecast(name: str) -> None:
    schema = Schema.loads(TEXT)
    relative = CodedTable.read(table(20_000, 1), schema)
    public, budget = PublicData(schema, relative), Budget("1", "1e-6")
    gate = StandInGate(
        Tariff(schema.coding, Guarantee(), budget.measure), budget, relative, relative.rows, np.random.default_rng(3)
    )
    relative.codes(schema.attributes)
    tracemalloc.start()
    try:
        draw_copies(RECIPES[name].fit(gate, public), public, copies=1, seed=1)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    forecast = 200_000_000 + RECIPES[name].memory(public, relative.rows)
    assert held < forecast < 20 * held + 200_000_000


def test_more_rows_and_wider_columns_need_more() -> None:
    wide = Schema.loads(TEXT)
    narrow = Schema.loads(TEXT.replace("width = 5", "width = 45"))
    few, many, wider = (TreeBlend().memory(PublicData(s), n) for s, n in ((narrow, 10), (narrow, 10**6), (wide, 10)))
    assert few < many
    assert few < wider


@pytest.mark.parametrize("measure", ["gdp", "pure"])
def test_pairs_that_drown_in_noise_are_not_planned_for(measure: str) -> None:
    """Of 1,770 pairs few can be asked of 300 rows; all of 10^6 rows, and at a large epsilon all of 300."""
    lines = (f'[columns.c{i}]\nkind = "integer"\nbins = {{ low = 0, high = 9, width = 1 }}\n' for i in range(60))
    schema = Schema.loads("".join(lines))
    public, tariff = PublicData(schema), Tariff(schema.coding, Guarantee(), measure)  # type: ignore[arg-type]

    def spared(epsilon: str, rows: int) -> float:
        budget = budget_for(epsilon, "1e-6", "gdp") if measure == "gdp" else Budget(epsilon)
        recipe = TreeBlend()
        found = recipe.spared(recipe.requests(tariff, budget, public), public, rows)
        assert 0 <= found.memory < recipe.memory(public, rows) and (found.memory > 0) == (found.seconds > 0)
        return found.seconds / recipe.seconds(public, rows)

    assert 0.9 < spared("1", 300) < 1
    assert spared("1", 1_000_000) == spared("3000", 300) == 0
