"""Plans: errors from noise scales and from pretended runs, in the terms of the uses."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hedgerow.planning.forecast import forecast, outline
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.noise_laws import law_of
from hedgerow.public.costs.question import Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import Independent, PublicBlend
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
    assert len(told) == relative, "fits are announced"
    return verdict.error


def test_the_error_falls_as_one_over_epsilon_and_rows() -> None:
    one, two = planned(RACE, rows=10_000), planned(RACE, rows=10_000, epsilon="2")
    assert one is not None
    assert two is not None
    assert one / two == pytest.approx(2, rel=0.1)
    assert planned(RACE, rows=20_000) == pytest.approx(one / 2)


def test_without_a_guess_of_the_size_nothing_is_claimed() -> None:
    assert planned(RACE) is None
    assert planned(Table(["race", "pay"], tolerance=0.1), rows=10_000) is None, "it is not measured"


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
    assert outline(PublicBlend(first_share=0.3), public, **given).kept == pytest.approx(0.7)


def test_the_mean_size_of_laplace_noise_is_exact() -> None:
    noise = Noise("laplace", Fraction(3))
    weight = {k: np.exp(-abs(k) / 3) for k in range(-300, 301)}
    assert law_of(noise).mean_absolute == pytest.approx(
        sum(abs(k) * w for k, w in weight.items()) / sum(weight.values())
    )
