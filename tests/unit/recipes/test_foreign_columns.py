"""``public_blend``: which public columns are about other people."""

import numpy as np
import polars as pl

from hedgerow.answers import StandInGate
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import PublicBlend
from hedgerow.records import draw_one

SCHEMA = Schema.loads(
    """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
[columns.place]
kind = "categorical"
values = ["a", "b", "c", "d"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 100, width = 10 }
"""
)


def people(n: int, women: float, places: str, seed: int) -> CodedTable:
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < women, "F", "M")
    pay = np.clip(rng.normal(np.where(sex == "F", 35, 60), 12), 0, 99).astype(int)
    return CodedTable.read(pl.DataFrame({"sex": sex, "place": rng.choice(list(places), n), "pay": pay}), SCHEMA)


def gap(table: pl.DataFrame) -> float:
    mean = dict(table.group_by("sex").agg(pl.col("pay").mean()).iter_rows())
    return float(mean["M"] - mean["F"])


def test_shares_that_crossed_one_half_do_not_make_a_column_foreign() -> None:
    """48 % women in the public table and 53 % here: what goes with sex is kept. Other places are other places."""
    public, secret = people(20_000, 0.48, "ab", 0), people(20_000, 0.53, "cd", 1)
    tariff, data = Tariff(SCHEMA.coding, Guarantee(), "pure"), PublicData(SCHEMA, public)
    gate = StandInGate(tariff, Budget("0.05"), secret, secret.rows, np.random.default_rng(2))
    made = draw_one(PublicBlend(rows=20_000).fit(gate, data), data, np.random.default_rng(3)).frame
    assert abs(gap(made) - gap(secret.frame)) < 0.2 * gap(secret.frame)
    assert made.filter(pl.col("place").is_in(["c", "d"])).height > 0.8 * made.height
