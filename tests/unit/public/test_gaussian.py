"""The epsilon of Gaussian noise: never below what whole-number noise has exactly, and close to the normal law's."""

from fractions import Fraction
from math import exp, inf, sqrt

import numpy as np
import pytest
from scipy.special import log_ndtr

from hedgerow.errors import JobError
from hedgerow.public.costs.accounting import Budget, Guarantee, Relation, epsilon_of, noise_for, rho_for
from hedgerow.public.costs.gaussian import GaussianBudget, budget_for, budget_of, gaussian_epsilon, normal_delta
from hedgerow.public.costs.noise_laws import law_of

DELTAS = (Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 100))


def exact_delta(epsilon: float, tables: list[tuple[Fraction, tuple[int, ...]]]) -> float:
    """Of tables with discrete Gaussian noise of a variance, in which one unit moves cells by these whole numbers.

    Every cell that moves has a loss of its own, on a lattice; losses add.  All noisy counts are gone through.
    """
    losses, chances = np.zeros(1), np.ones(1)
    for variance, moves in tables:
        v = float(variance)
        k = np.arange(-int(14 * v**0.5) - 3, int(14 * v**0.5) + 4)
        law = np.exp(-(k**2) / (2 * v))
        for s in moves:
            loss = (2 * k * s + s * s) / (2 * v)
            losses = np.add.outer(losses, loss).ravel()
            chances = np.multiply.outer(chances, law / law.sum()).ravel()
            keep = chances > 1e-20
            losses, chances = losses[keep], chances[keep]
    return float((chances * -np.expm1(np.minimum(epsilon - losses, 0))).sum())


@pytest.mark.parametrize("delta", DELTAS, ids=float)
@pytest.mark.parametrize(
    "tables",
    [
        [(Fraction(3), (1,))],
        [(Fraction(20), (1,))],
        [(Fraction(401, 7), (1,))],
        [(Fraction(50), (1, -1))],
        [(Fraction(90), (3,))],
        [(Fraction(12), (1,)), (Fraction(31), (1,))],
    ],
    ids=str,
)
def test_whole_number_noise_keeps_the_stated_epsilon_exactly(
    tables: list[tuple[Fraction, tuple[int, ...]]], delta: Fraction
) -> None:
    costs = [(Fraction(sum(s * s for s in moves)) / (2 * v), v) for v, moves in tables]
    stated = gaussian_epsilon(costs, delta)
    assert exact_delta(stated, tables) <= float(delta)
    assert exact_delta(0.8 * stated, tables) > float(delta) or tables[0][0] < 5, "a bound this loose would say little"


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "2.5e-5"])
def test_the_same_noise_is_worth_4_to_12_percent_less_epsilon(epsilon: str, delta: str) -> None:
    """Of ten tables with equal noise, so that whole numbers cost next to nothing."""
    rho = rho_for(Fraction(epsilon), Fraction(delta))
    stated = gaussian_epsilon([(rho / 10, 5 / rho)] * 10, Fraction(delta))
    assert 0.88 < stated / float(Fraction(epsilon)) < 0.96
    assert stated < epsilon_of(rho, Fraction(delta))


def test_noise_too_small_for_the_allowance_has_no_such_epsilon_and_none_costs_nothing() -> None:
    assert gaussian_epsilon([(Fraction(1, 2), Fraction(1))], Fraction(1, 10**6)) == inf
    assert gaussian_epsilon([], Fraction(1, 10**6)) == 0


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0, 20.0, 200.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_the_normal_law_agrees_with_dp_accounting(sigma: float, delta: float) -> None:
    accounting = pytest.importorskip("dp_accounting")
    theirs = accounting.get_epsilon_gaussian(sigma, delta)
    rho = 1 / (2 * sigma * sigma)
    if theirs > 0:
        assert normal_delta(theirs, rho) == pytest.approx(delta, rel=1e-3)
    variance = Fraction(10**9)  # so large that whole numbers do not matter
    assert gaussian_epsilon([(Fraction(rho), variance)], Fraction(delta)) == pytest.approx(theirs, rel=3e-4, abs=1e-6)


@pytest.mark.parametrize("power", [308, 320, 330, 400, 5000])
def test_a_delta_that_floats_cannot_hold_leaves_the_bound_of_zcdp(power: int) -> None:
    assert gaussian_epsilon([(Fraction(1, 200), Fraction(100))], Fraction(1, 10**power)) == inf


def test_a_tail_that_floats_hold_with_few_digits_is_not_taken_off() -> None:
    """At rho 440 the smaller tail is near 1e-323 where delta is near 1e-18: its rounding may pass delta itself."""
    for epsilon in np.linspace(690.0, 700.0, 201):
        beyond, back = (log_ndtr(-(epsilon + side * 440) / sqrt(2 * 440)) for side in (-1, 1))
        assert normal_delta(float(epsilon), 440.0) >= exp(beyond) - exp(epsilon + back)


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-3"])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "3"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("shares", [(1,), (1, 1, 1), (5, 1)], ids=str)
def test_a_promise_spent_on_gaussian_noise_is_kept_exactly(
    epsilon: str, delta: str, relation: Relation, shares: tuple[int, ...]
) -> None:
    """By going through all noisy counts; under replace-one two cells of every table move."""
    guarantee, budget = Guarantee(relation=relation), GaussianBudget(epsilon, delta)
    parts = [budget.total * s / sum(shares) for s in shares]
    noises = [noise_for(p, None, budget.measure, guarantee) for p in parts]
    moves = (1,) if relation == "add-remove" else (1, -1)
    if len(shares) * len(moves) <= 3 and all(n.scale < 400 for n in noises):
        assert exact_delta(float(epsilon), [(n.scale, moves) for n in noises]) <= float(delta)
    assert [law_of(n).cost(budget.measure, guarantee) for n in noises] == parts
    assert all(guarantee.l2_squared / (2 * n.scale) <= p for n, p in zip(noises, parts, strict=True)), "its zCDP"
    worth = gaussian_epsilon([(guarantee.l2_squared / (2 * n.scale), n.scale) for n in noises], budget.delta)
    assert 0.9999 < worth / float(budget.epsilon) <= 1 + 1e-9


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-3"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "2", "5", "20"])
@pytest.mark.parametrize("part", [Fraction(1), Fraction(1, 7), Fraction(1, 500)], ids=str)
def test_a_job_with_gaussian_noise_only_never_has_more_of_it(epsilon: str, delta: str, part: Fraction) -> None:
    before, now = Budget(epsilon, delta), budget_for(epsilon, delta, "gdp")
    for guarantee in (Guarantee(), Guarantee(relation="replace-one")):
        wide, least = (noise_for(b.total * part, None, b.measure, guarantee).scale for b in (before, now))
        assert least <= wide
        assert float(epsilon) > 1 or least < (0.97 if part == 1 else 0.94) * wide, "the promise buys less noise"
    assert budget_for(epsilon, delta, "zcdp") == before


def test_a_delta_that_floats_cannot_hold_is_no_promise_in_gaussian() -> None:
    assert budget_for("1", "1e-200", "gdp").measure == "zcdp"
    assert gaussian_epsilon([(Fraction(1, 200), Fraction(100))], Fraction(1, 10**400)) == inf
    with pytest.raises(JobError, match="1e-100"):
        GaussianBudget(1, "1e-200")
    for delta, measure in (("0", "gdp"), ("0", "zcdp"), ("1e-6", "pure")):
        with pytest.raises(JobError):
            budget_of("1", delta, measure)


def test_no_other_law_is_priced_in_gaussian() -> None:
    with pytest.raises(JobError, match="laplace"):
        noise_for(Fraction(1, 10), "laplace", "gdp", Guarantee())


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-3"])
def test_what_a_promise_buys_agrees_with_dp_accounting(epsilon: float, delta: str) -> None:
    accounting = pytest.importorskip("dp_accounting")
    sigma = accounting.get_sigma_gaussian(epsilon, float(delta))
    assert float(GaussianBudget(epsilon, delta).total) == pytest.approx(1 / (2 * sigma**2), rel=1e-3)
