"""Plans: errors from noise scales and from pretended runs, in the terms of the uses."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.planning.forecast import Plan, forecast, outline
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.noise_laws import law_of
from hedgerow.public.costs.question import Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES, Independent, IntegerCounts, PublicBlend
from hedgerow.stand_in.stand_in import imagined_table
from hedgerow.uses import AbstractUse, Table
from tests.privacy.world import SCHEMA, frame

SCHEMA_ = Schema.loads(SCHEMA)
TARIFF = Tariff(SCHEMA_.coding, Guarantee(), "pure")
ROWS = (
    ("F", "A", "5", "n", "a"),
    ("M", "B", "12", "s", "b"),
    ("M", None, "39", "n", "c"),
    ("F", "C", "25", "s", "d"),
)
RACE = Table(["race"], tolerance=0.01)


def planned(use: AbstractUse, *, rows: int | None = None, relative: bool = False, epsilon: str = "1") -> float | None:
    table = CodedTable.read(frame(ROWS * 250), SCHEMA_) if relative else None
    public, rng = PublicData(SCHEMA_, table), np.random.default_rng(0)
    plan = outline(Independent(), public, tariff=TARIFF, budget=Budget(epsilon), rows=rows, rng=rng)
    told: list[str] = []
    (verdict,) = forecast(plan, Independent(), public, [use], rng=rng, watch=told.append)
    assert len(told) == (relative or rows is not None), "fits are announced"
    return verdict.error


def test_the_error_falls_as_one_over_epsilon_and_rows() -> None:
    """From noise scales alone, where the size of the cells is all that is known."""
    use = Table(["race"], relative=0.1, cell_size=100)
    one, two = planned(use), planned(use, epsilon="2")
    assert one is not None
    assert two is not None
    assert one / two == pytest.approx(2, rel=0.1)
    assert planned(Table(["race"], relative=0.1, cell_size=200)) == pytest.approx(one / 2)


def test_without_a_guess_of_the_size_nothing_is_claimed() -> None:
    assert planned(RACE) is None
    assert planned(Table(["race", "pay"], tolerance=0.1)) is None


def test_without_a_public_table_uses_are_judged_on_tables_made_up_from_the_schema() -> None:
    """Also what no measured table gives; less noise or more rows, less error."""
    one, two = planned(RACE, rows=2_000, epsilon="0.2"), planned(RACE, rows=2_000, epsilon="0.8")
    more = planned(RACE, rows=20_000, epsilon="0.2")
    assert one is not None and two is not None and more is not None
    assert one > 2 * two and one > 3 * more
    pair = planned(Table(["race", "pay"], tolerance=0.1), rows=10_000)
    assert pair is not None and pair > 0.05, "columns go together in made-up tables; independent ones do not"


@pytest.mark.parametrize("recipe", [Independent(), RECIPES["tree_blend"](), IntegerCounts(columns=["race"])])
def test_a_made_up_table_can_be_played_by_recipes_that_need_no_relative(recipe: Any) -> None:
    public, rng = PublicData(SCHEMA_, None), np.random.default_rng(0)
    plan = outline(recipe, public, tariff=TARIFF, budget=Budget("1"), rows=500, rng=rng)
    (verdict,) = forecast(plan, recipe, public, [RACE], rng=rng)
    assert verdict.error is not None and "made up from the schema" in verdict.note
    assert verdict.low is not None and verdict.high is not None


def test_made_up_tables_keep_the_zeros_and_types_of_the_schema() -> None:
    schema = Schema.loads(
        """
[columns.child]
kind = "yes-no"
[columns.age]
kind = "integer"
bins = { low = 0, high = 99, width = 1 }
[columns.area]
kind = "categorical"
values = ["n", "s"]
other = "?"
[[zero]]
where = { child = ["true"], age = { above = 17 } }
"""
    )
    frame_ = imagined_table(schema, 300, np.random.default_rng(0)).frame
    assert len(frame_) == 300
    assert frame_.filter(pl.col("child") & (pl.col("age") >= 18)).is_empty()


def _outlined(rows: int | None, epsilon: str, recipe: Any = None) -> Plan:
    public, rng = PublicData(SCHEMA_, None), np.random.default_rng(0)
    return outline(recipe or Independent(), public, tariff=TARIFF, budget=Budget(epsilon), rows=rows, rng=rng)


def test_a_plan_warns_when_noise_exceeds_the_table_and_only_then() -> None:
    noisy, clear, unknown = (_outlined(rows, "0.1") for rows in (20, 100_000, None))
    assert noisy.noise_exceeds and "noise exceeds the table" in noisy.warnings[0] and "20 rows" in noisy.warnings[0]
    assert not clear.noise_exceeds and clear.warnings == ()
    (said,) = unknown.warnings
    assert "not declared" in said and not unknown.noise_exceeds
    need = int(re.search(r"about ([\d,]+) counts", said)[1].replace(",", ""))  # type: ignore[index]
    assert _outlined(need - 1, "0.1").noise_exceeds and not _outlined(need + 1, "0.1").noise_exceeds
    law = [(law_of(a.noise).mean_absolute * a.cells) for a in unknown.asked]
    assert need == pytest.approx(min(law), abs=1), "the sentence says the noise that there will be"


def test_noise_on_most_tables_is_warned_of_where_no_public_table_makes_up_for_it() -> None:
    need = int(min(law_of(a.noise).mean_absolute * a.cells for a in _outlined(None, "0.1").asked))
    (said,) = _outlined(need + 1, "0.1").warnings
    assert "no public table makes up for it" in said


@pytest.mark.parametrize(("epsilon", "word"), [("1", ""), ("10", ""), ("11", "98"), ("100", "more than 99")])
def test_a_large_epsilon_gets_a_remark_that_is_true_of_it(epsilon: str, word: str) -> None:
    said = [w for w in _outlined(100_000, epsilon).warnings if "weak promise" in w]
    assert bool(said) == bool(word)
    assert all(f"one with {word} in 100" in w for w in said)


def test_every_use_that_is_expected_to_be_missed_is_warned_of_with_its_figures() -> None:
    uses = [Table(["race"], tolerance=1e-6, name="tight"), Table(["race"], tolerance=0.9, name="wide")]
    public, rng = PublicData(SCHEMA_, None), np.random.default_rng(0)
    plan = _outlined(100_000, "1")
    plan = replace(plan, verdicts=forecast(plan, Independent(), public, uses, rng=rng))
    (said,) = plan.warnings
    assert said.startswith("tight: expected to be missed (forecast error ") and plan.to_json()["warnings"] == [said]


def test_a_public_table_shows_what_independence_loses() -> None:
    pair = planned(Table(["race", "pay"], tolerance=0.1), relative=True)
    alone = planned(RACE, relative=True)
    assert alone is not None
    assert pair is not None
    assert pair > 0.5 > 5 * alone


def test_a_part_of_a_joined_column_is_judged_by_the_sum_of_its_cells() -> None:
    sex = planned(Table(["sex"], tolerance=0.1), rows=1000)
    joined = planned(Table(["sex_area"], tolerance=0.1), rows=1000)
    assert sex is not None
    assert joined is not None
    assert 0 < sex < joined


def test_a_plan_says_what_part_of_the_budget_it_cannot_list_yet() -> None:
    public = PublicData(SCHEMA_, CodedTable.read(frame(ROWS * 250), SCHEMA_))
    given: dict[str, Any] = {"tariff": TARIFF, "budget": Budget("1"), "rng": np.random.default_rng(0)}
    assert outline(Independent(), public, **given).kept == 0
    assert outline(PublicBlend(first_share=0.3), public, **given).kept == pytest.approx(1 - 0.3 / 2)


def test_the_mean_size_of_laplace_noise_is_exact() -> None:
    noise = Noise("laplace", Fraction(3))
    weight = {k: np.exp(-abs(k) / 3) for k in range(-300, 301)}
    assert law_of(noise).mean_absolute == pytest.approx(
        sum(abs(k) * w for k, w in weight.items()) / sum(weight.values())
    )
