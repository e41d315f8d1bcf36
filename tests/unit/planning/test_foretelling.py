"""A rehearsal foretells the error of the release within a factor of 1.5 when the public table is a good relative.

Simulated tables whose truth is known; the noise of the "real" run is seeded here, so that the test always says the
same. ``bench/rehearse.py`` does it at length and through the real gate.
"""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES
from hedgerow.records import draw_one
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.stand_in.rehearsal import rehearse
from hedgerow.stand_in.stand_in import StandIn
from hedgerow.uses import Mean, Table

YEARS, ROWS, WORLDS = (2010, 2011), 5000, 12  # fewer worlds are ruled by the luck of single tables
USES = (
    Table(["occupation", "sex"], tolerance=0.05),
    Table(["grade"], relative=0.05, cell_size=200),
    Mean("pay", by=["education"], relative=0.05, group_size=300),
)


def both_ways(recipe: str, world: int) -> tuple[list[float | None], list[float]]:
    """The rehearsed and the real errors in one simulated world."""
    tables = personnel(ROWS, world, years=YEARS, public_years=YEARS, drift=0.0)
    schema, budget = Schema.loads(personnel_schema()), Budget("2")
    tariff = Tariff(schema.coding, Guarantee("person", 2, "add-remove", (), "person"), budget.measure)
    public = PublicData(schema, CodedTable.read(tables.public, schema))
    stand_in = StandIn(
        RECIPES[recipe](), public, tariff, USES, ROWS, tables.public["person"].cast(pl.String), drift=0.0
    )
    rng = np.random.default_rng([1, world])
    found = rehearse(stand_in, budget=budget, epsilons=[Fraction(2)], runs=2, workers=1, rng=rng)
    secret = CodedTable.read(tables.confidential, schema)
    gate = StandInGate(tariff, budget, secret, secret.rows, rng)
    made = CodedTable(schema, draw_one(RECIPES[recipe]().fit(gate, public), public, rng).frame)
    truth = CodedTable(schema, secret.frame)
    real = [u.error(u.figures(made), u.figures(truth)).error for u in USES]
    return [v.error for v in found.here.verdicts], real


@pytest.mark.parametrize(
    "recipe",
    ["independent", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("tree_blend", "public_blend"))],
)
def test_the_rehearsed_error_is_near_the_real_one(recipe: str) -> None:
    pairs = [both_ways(recipe, world) for world in range(WORLDS)]
    said = np.mean(np.array([p[0] for p in pairs], np.float64), axis=0)
    real = np.mean([p[1] for p in pairs], axis=0)
    ratios = dict(zip((u.name for u in USES), (said / real).round(2).tolist(), strict=True))
    assert all(1 / 1.5 <= r <= 1.5 for r in ratios.values()), ratios
