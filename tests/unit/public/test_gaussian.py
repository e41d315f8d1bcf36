"""The epsilon of Gaussian noise: never below what whole-number noise has exactly, and close to the normal law's."""

from fractions import Fraction
from math import exp, inf, sqrt

import numpy as np
import pytest
from scipy.special import log_ndtr

from hedgerow.public.costs.accounting import epsilon_of, rho_for
from hedgerow.public.costs.gaussian import gaussian_epsilon, normal_delta

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
