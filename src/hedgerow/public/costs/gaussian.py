"""Gaussian noise alone: worth what normal noise is worth, with a proven allowance for whole numbers (PROOFS.md).

Valid bounds on all of zCDP are 4 to 10 % above it.  Requests may be chosen in the light of earlier answers, but that
all of them have Gaussian noise must be fixed before the first.  So there is a measure of its own: a cost is the rho
of normal noise from which the whole-number noise follows, costs add, and the gate refuses every other law.

    >>> zcdp, gaussian = Budget(1, "1e-6"), budget_for("1", "1e-6", "gdp")
    >>> [round(float(b.total), 5) for b in (zcdp, gaussian)], gaussian.measure
    ([0.02436, 0.02801], 'gdp')
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import erfc, exp, expm1, inf, sqrt
from sys import float_info
from typing import final

from hedgerow.errors import NOTHING, JobError
from hedgerow.public.costs.accounting import Budget, Guarantee, Measure, epsilon_of, noise_for, rho_for

ROUNDING = Fraction(1)  # the variance that is given up for whole numbers,
SHARE = Fraction(1, 10**4)  # and the share of the variance
LEAST_DELTA = Fraction(1, 10**100)  # below it the tails of a float come near the least number it can hold
_SLACK = 1e-5  # more than whole numbers can add to epsilon (times rho) and to delta (times 1 + rho)
_GRAIN = 10**12


@final
class GaussianBudget(Budget):
    """The promise (epsilon, delta) of a job whose requests are all for counts with Gaussian noise.

    >>> GaussianBudget(1, "1e-6") == Budget(1, "1e-6")
    False
    """

    def __init__(self, epsilon: Fraction | float | str, delta: Fraction | float | str) -> None:
        super().__init__(epsilon, delta)
        if self.delta < LEAST_DELTA:
            raise JobError(f"A promise in gdp needs a delta of 1e-100 or more, not {delta}. {NOTHING}")

    @property
    def measure(self) -> Measure:
        """Costs are the rho of normal noise."""
        return "gdp"

    @property
    def total(self) -> Fraction:
        """The largest rho of normal noise that keeps (epsilon, delta); all answers are zCDP with it, too."""
        return normal_rho(self.epsilon, self.delta)


@final
class BasicBudget(Budget):
    """The promise (epsilon, delta) of a job whose epsilons add up, and whose delta one Gaussian request takes.

    >>> BasicBudget("0.05", "1e-6").total
    Fraction(1, 20)
    """

    @property
    def measure(self) -> Measure:
        """Costs are epsilons."""
        return "basic"

    @property
    def total(self) -> Fraction:
        """All of epsilon."""
        return self.epsilon


def budget_of(epsilon: str, delta: str, measure: str) -> Budget:
    """The promise that a statement or a ledger has in this measure; refused when there is none."""
    kinds: dict[str, type[Budget]] = {"gdp": GaussianBudget, "basic": BasicBudget}
    budget = kinds.get(measure, Budget)(epsilon, delta)
    if budget.measure != measure or (budget.delta == 0) != (measure == "pure"):
        raise JobError(f"A promise with delta {delta} is not kept in {measure}. {NOTHING}")
    return budget


def budget_for(epsilon: Fraction | str, delta: Fraction | str, measure: Measure) -> Budget:
    """The promise of a job whose recipe accounts in ``measure`` if the job has a delta, or in zCDP if that buys more.

    Whole numbers take a variance of 1, so "gdp" is taken where a single table that is given all of
    the promise, and that a unit moves least, has less noise by it: then every table has.

    >>> [budget_for(e, "1e-6", "gdp").measure for e in ("0.1", "1", "2")]
    ['gdp', 'gdp', 'zcdp']
    """
    budget = Budget(epsilon, delta)
    if measure == "basic" and budget.delta:
        return BasicBudget(epsilon, delta)
    if measure != "gdp" or budget.delta < LEAST_DELTA:
        return budget
    exact = GaussianBudget(epsilon, delta)
    noise, least = (noise_for(b.total, "gaussian", b.measure, Guarantee()).scale for b in (budget, exact))
    return exact if least < noise else budget


def rho_in(measure: Measure, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho of this measure that keeps (epsilon, delta), rounded down."""
    return normal_rho(epsilon, delta) if measure == "gdp" and delta >= LEAST_DELTA else rho_for(epsilon, delta)


def epsilon_in(measure: Measure, rho: Fraction, delta: Fraction) -> float:
    """What a total of this measure is worth at ``delta``, rounded up."""
    if measure in ("pure", "basic"):
        return float(rho)
    return normal_epsilon(rho, delta) if measure == "gdp" and delta >= LEAST_DELTA else epsilon_of(rho, delta)


def normal_delta(epsilon: float, rho: float) -> float:
    """The delta of normal noise worth ``rho`` at ``epsilon``, rounded up (Balle and Wang 2018, Theorem 8)."""
    beyond = max(erfc((epsilon - rho) / sqrt(4 * rho)), float_info.min) / 2
    tail = erfc((epsilon + rho) / sqrt(4 * rho))
    back = exp(min(epsilon, 700.0)) * (tail if tail >= float_info.min else 0.0) / 2  # smaller floats lose digits
    return beyond * (1 + 1e-11) - back * (1 - 1e-11)


@lru_cache
def normal_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to twelve digits and rounded down, with which whole-number noise keeps (epsilon, delta)."""
    low, high = 0, _GRAIN * (int(epsilon) + 1) * 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _kept(float(epsilon), middle / _GRAIN, float(delta)) else (low, middle)
    if low == 0:
        raise JobError(f"epsilon = {float(epsilon)} with delta = {float(delta)} buys nothing. Raise one of them.")
    return Fraction(low, _GRAIN)


def normal_epsilon(rho: Fraction, delta: Fraction) -> float:
    """The least epsilon, rounded up, that whole-number noise of this ``rho`` keeps at ``delta``: the inverse."""
    if rho == 0 or delta < LEAST_DELTA:
        return inf if rho else 0.0
    low, high = 0.0, 1.0
    while not _kept(high, float(rho), float(delta)):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _kept(middle, float(rho), float(delta)) else (middle, high)
    return high


def gaussian_epsilon(costs: Iterable[tuple[Fraction, Fraction]], delta: Fraction) -> float:
    """An epsilon that tables with discrete Gaussian noise keep together at ``delta``; each has its zCDP and variance.

    Infinite where a variance is too small for the allowance, or delta for floats.
    """
    rho = smooth_rho(costs)
    return inf if rho is None else normal_epsilon(rho, delta)


def smooth_rho(costs: Iterable[tuple[Fraction, Fraction]]) -> Fraction | None:
    """The rho of the normal noise from which that of such tables follows; none where a variance is too small."""
    rho = Fraction(0)
    for cost, variance in costs:
        smooth = variance * (1 - SHARE) - ROUNDING
        if smooth <= 0:
            return None
        rho += cost * variance / smooth
    return rho


def passing(epsilon: Fraction, rho: Fraction | None) -> float:
    """The chance that the loss of whole-number noise that follows from normal noise of ``rho`` passes ``epsilon``.

    A bound that holds however requests follow from answers: where a part of the answers is more than e^epsilon times
    as likely, with chance p, p (1 - e^(x - epsilon)) is at most the delta at every x below epsilon.

    >>> [f"{passing(Fraction(1), Fraction(rho)):.1e}" for rho in ("0.01", "0.028")]
    ['3.4e-12', '5.2e-05']
    """
    if rho is None or not epsilon:
        return 1.0
    e, r = float(epsilon), float(rho)
    below = (e * exp(-k / 50) for k in range(1, 1000))
    return min(1.0, *(_whole_delta(e - x, r) / -expm1(-x) for x in below))


def _whole_delta(epsilon: float, rho: float) -> float:
    """The delta at ``epsilon`` of whole-number noise that follows from normal noise of ``rho``."""
    return normal_delta(epsilon - _SLACK * rho, rho) * (1 + _SLACK * (1 + rho))


def _kept(epsilon: float, rho: float, delta: float) -> bool:
    """Whether whole-number noise that follows from normal noise of ``rho`` keeps (epsilon, delta)."""
    return _whole_delta(epsilon, rho) <= delta * (1 - 1e-14)
