"""What a plan says that a run costs, against the table of whole runs that bench/cost.py keeps."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.model.base import SHARD
from hedgerow.planning import outline
from hedgerow.public import CodedTable, Guarantee, PublicData, Schema, Tariff, budget_for
from hedgerow.recipes import RECIPES

KEPT = pl.read_csv(Path(__file__).parents[3] / "bench" / "cost.csv")


def column_sizes(columns: int, values: int) -> list[int]:
    return [max(2, round(values * (1 + i % 4) / 4)) for i in range(columns)]


def schema_text(sizes: list[int]) -> str:
    return "\n".join(
        f'[columns.c{i}]\nkind = "integer"\nbins = {{ low = 0, high = {s - 1}, width = 1 }}\nmissing = true'
        for i, s in enumerate(sizes)
    )


def public_side(columns: int, values: int) -> PublicData:
    return PublicData(Schema.loads(schema_text(column_sizes(columns, values))))


ALONE = pl.col("recipe").is_in(
    ["independent", "tree_blend"]
)  # of others public rows tell, too; of few of them little
FEW = (pl.col("recipe") == "public_blend") & (pl.col("rows") <= 100_000)


@pytest.mark.parametrize("case", KEPT.filter(ALONE | FEW).to_dicts())
def test_seconds_are_within_a_factor_of_two_of_measured_runs(case: dict[str, float]) -> None:
    recipe = RECIPES[str(case["recipe"])]()
    public, rows = public_side(int(case["columns"]), int(case["values"])), int(case["rows"])
    told = 3.3 + recipe.seconds(public, rows)
    if str(case["recipe"]) == "tree_blend":  # without public rows the other blend asks nothing
        tariff = Tariff(public.schema.coding, Guarantee(), "gdp")
        told -= recipe.spared(recipe.requests(tariff, budget_for("1", "1e-6", "gdp"), public), public, rows).seconds
    assert 0.5 <= case["cpu"] / told <= 2


@pytest.mark.parametrize("case", KEPT.filter(pl.col("recipe").str.starts_with("guided_tree")).to_dicts())
def test_attached_columns_are_planned_within_a_factor_of_two_however_wide_the_given_ones(
    case: dict[str, float],
) -> None:
    rows, sizes = int(case["rows"]), column_sizes(int(case["columns"]), int(case["values"]))
    if str(case["recipe"]).endswith("/narrow"):
        sizes[:2] = [2, 6]
    schema = Schema.loads(schema_text(sizes))
    table = pl.DataFrame({f"c{i}": np.zeros(rows, np.int64) for i in range(len(sizes))})
    public = PublicData(schema, CodedTable(schema, table), CodedTable(schema, table.drop("c0", "c1")))
    recipe = RECIPES["guided_tree"]()
    assert 0.5 <= case["cpu"] / (3.3 + recipe.seconds(public, rows)) <= 2
    assert 0.5 <= case["mb"] * 2**20 / (275e6 + 16 * rows * len(sizes) + recipe.memory(public, rows)) <= 2


@pytest.mark.parametrize("case", KEPT.filter(pl.col("recipe") == "tree_blend").to_dicts())
def test_memory_is_within_a_factor_of_two_of_measured_runs(case: dict[str, float]) -> None:
    """Of many columns and few rows too, whose pairs drown in noise and are not held; tables of files aside."""
    public, rows = public_side(int(case["columns"]), int(case["values"])), int(case["rows"])
    recipe, tariff = RECIPES["tree_blend"](), Tariff(public.schema.coding, Guarantee(), "gdp")
    budget = budget_for("1", "1e-6", "gdp")
    limit = 2 * int(case["mb"]) << 20  # planned where twice what the run took is there, and no less is asked for
    plan = outline(recipe, public, tariff=tariff, budget=budget, rows=rows, rng=np.random.default_rng(1), limit=limit)
    relative = 8 * rows * int(case["columns"])  # these runs had one
    assert 0.5 <= case["mb"] * 2**20 / (plan.memory + relative) <= 2


def test_many_columns_cost_more_than_in_proportion_and_many_rows_no_more_memory_than_their_codes() -> None:
    recipe, few, many = RECIPES["tree_blend"](), public_side(30, 10), public_side(300, 10)
    assert recipe.seconds(many, 10_000) > 50 * recipe.seconds(few, 10_000)
    more = recipe.memory(few, 100 * SHARD) - recipe.memory(few, SHARD)
    assert more == 99 * SHARD * 30 * 3


def test_where_public_rows_are_few_a_tree_on_the_target_is_planned_for() -> None:
    """As measured: a public table of a 25th of 300,000 rows, 12 columns of at most 10 values."""
    sizes, rows = column_sizes(12, 10), 300_000
    schema = Schema.loads(schema_text(sizes))
    table = pl.DataFrame({f"c{i}": np.zeros(rows, np.int64) for i in range(len(sizes))})
    target, recipe = CodedTable(schema, table.drop("c0", "c1")), RECIPES["guided_tree"]()
    few, many = (PublicData(schema, CodedTable(schema, table[:n]), target) for n in (rows // 25, rows // 15))
    unlabelled = PublicData(schema, target, target)
    assert 0.5 <= 13.0 / (3.3 + recipe.seconds(few, rows)) <= 2
    for plain in (few, unlabelled):
        assert recipe.memory(plain, rows) - recipe.memory(many, rows) == 50 * rows * recipe.labels(few)
    assert recipe.seconds(few, rows) > recipe.seconds(many, rows)
