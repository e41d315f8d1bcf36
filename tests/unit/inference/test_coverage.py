"""Intervals hold the truth as often as they say, in a small world drawn over and over; ``make coverage`` has more."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.inference import Evidence, estimates
from hedgerow.public import Budget, CodedTable, Guarantee, Marginal, Measurement, Schema, Statistic, Tariff
from hedgerow.recipes.statistics import question_of
from hedgerow.uses import AbstractUse, Coefficient, Mean, Quantile, Rate, Table

SCHEMA = Schema.loads("""
[columns.sex]
kind = "categorical"
values = ["F", "M"]
[columns.grade]
kind = "categorical"
values = ["a", "b", "c", "d", "e"]
[columns.pay]
kind = "real"
bins = { low = 0, high = 100, width = 2 }
""")
MODEL = "pay ~ C(sex, ref=M) | grade"
GAP = -4.0
WORLDS = 20


def rows(n: int, rng: np.random.Generator, drift: float = 0.0) -> CodedTable:
    """So many people; with ``drift`` the mix of grades and what they pay are others."""
    mix = np.array([0.3, 0.3, 0.2, 0.15, 0.05]) + drift * np.array([-0.1, 0.0, 0.05, 0.05, 0.0])
    grade = rng.choice(5, n, p=mix)
    woman = rng.random(n) < 0.7 - 0.1 * grade
    pay = 30 + (6 + drift) * grade + GAP * woman + rng.normal(0, 6, n)
    frame = pl.DataFrame(
        {"sex": np.where(woman, "F", "M"), "grade": np.array(list("abcde"))[grade], "pay": np.clip(pay, 0, 99)}
    )
    return CodedTable(SCHEMA, frame)


def answered(secret: CodedTable, public: CodedTable, epsilon: float, rng: np.random.Generator) -> Evidence:
    """What a recipe would know that measures one table and the statistics of three figures."""
    codes = public.codes(SCHEMA.attributes)
    margins = {"pay": np.bincount(public.cells(("pay",)), minlength=SCHEMA.size(("pay",))).astype(float)}
    use = Coefficient(MODEL, "sex[F]", tolerance=1)
    figures = [Statistic(("sex",), "pay"), Statistic(("sex",), "pay", (0.5,)), use.statistic]
    asked = [Marginal(("grade", "sex")), *(question_of(SCHEMA, f, codes, margins) for f in figures)]
    assert None not in asked
    budget = Budget(epsilon)
    gate = StandInGate(Tariff(SCHEMA.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    answers: tuple[Measurement, ...] = gate.measure([q for q in asked if q], budget.total)
    return Evidence(SCHEMA, answers, public, public)


USES: dict[str, tuple[AbstractUse, Callable[[CodedTable], np.ndarray]]] = {
    "table": (Table(["grade", "sex"], tolerance=1), lambda t: _shares(t, ("grade", "sex"))),
    "one-way": (Table(["grade"], tolerance=1), lambda t: _shares(t, ("grade",))),
    "rate": (Rate("sex", ["F"], by=["grade"], tolerance=1), lambda t: _figures(t, "rate")),
    "mean": (Mean("pay", by=["sex"], tolerance=1), lambda t: _figures(t, "mean")),
    "quantile": (Quantile("pay", 0.5, by=["sex"], tolerance=1), lambda t: _figures(t, "quantile")),
    "coefficient": (Coefficient(MODEL, "sex[F]", tolerance=1), lambda t: _figures(t, "coefficient")),
}


def _shares(table: CodedTable, columns: tuple[str, ...]) -> np.ndarray:
    return np.bincount(table.cells(columns), minlength=SCHEMA.size(columns)) / table.rows


def _figures(table: CodedTable, kind: str) -> np.ndarray:
    return USES[kind][0].figures(table).values


@pytest.mark.parametrize("drift", [0.0, 1.0])
@pytest.mark.parametrize("kind", USES)
def test_ninety_five_in_a_hundred_intervals_hold_the_figure_of_the_population(kind: str, drift: float) -> None:
    use, figures = USES[kind]
    truth = figures(rows(200_000, np.random.default_rng(0)))
    held = []
    for world in range(WORLDS):
        rng = np.random.default_rng([world, 1])
        evidence = answered(rows(2000, rng), rows(2000, rng, drift), 1.0, rng)
        for e, true in zip(estimates(evidence, use), truth, strict=True):
            assert e.estimate is not None and e.low is not None and e.high is not None, e.basis
            assert e.low <= e.estimate <= e.high
            held.append(e.low <= true <= e.high)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / WORLDS), np.mean(held)


def test_without_the_sampling_part_the_interval_is_for_the_confidential_table_and_narrower() -> None:
    rng = np.random.default_rng(3)
    secret = rows(3000, rng)
    evidence = answered(secret, rows(3000, rng), 100.0, rng)
    use, figures = USES["mean"]
    for whole, own, true in zip(
        estimates(evidence, use), estimates(evidence, use, sampling=False), figures(secret), strict=True
    ):
        assert own.parts["sampling"] == 0 < whole.parts["sampling"]
        assert own.high - own.low < whole.high - whole.low  # type: ignore[operator]
        assert own.low <= true <= own.high


def test_more_noise_is_a_wider_interval_and_a_figure_that_drowns_in_it_is_refused() -> None:
    rng = np.random.default_rng(4)
    secret, public = rows(3000, rng), rows(3000, rng)
    use, _ = USES["coefficient"]
    widths = [estimates(answered(secret, public, e, rng), use)[0].parts["noise"] for e in (0.5, 1.0, 4.0)]
    assert widths[0] > widths[1] > widths[2] > 0
    (lost,) = estimates(answered(secret, public, 0.002, rng), use)
    assert lost.estimate is None and "cannot tell" in lost.basis


def test_a_coefficient_that_was_not_measured_is_refused_with_the_use_to_declare() -> None:
    rng = np.random.default_rng(5)
    evidence = answered(rows(3000, rng), rows(3000, rng), 1.0, rng)
    plain = Evidence(SCHEMA, evidence.answers[:1], evidence.records, evidence.relative)
    (lost,) = estimates(plain, USES["coefficient"][0])
    assert lost.estimate is None and lost.low is None
    assert "This release cannot tell" in lost.basis and 'formula = "pay ~ C(sex, ref=M) | grade"' in lost.basis
