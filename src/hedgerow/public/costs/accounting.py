"""What a promise is, and what every request costs under it: arithmetic on public numbers.

The gate charges by these functions, ``plan`` forecasts by them and ``verify`` recomputes by them, so
there is one table of sensitivities.  Costs are exact fractions, in epsilon (pure, basic) or rho (zCDP, GDP).
Floats appear only in the conversion between rho and (epsilon, delta), which rounds towards privacy.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, isqrt, log, log1p, sqrt
from typing import Literal

from hedgerow.errors import NOTHING, JobError
from hedgerow.public.costs.question import Law, Noise

Relation = Literal["add-remove", "replace-one", "label-change"]
Measure = Literal["pure", "basic", "zcdp", "gdp"]
_GRAIN = 10**12


@dataclass(frozen=True)
class Guarantee:
    """Who is protected, against which change of the table.

    Attributes:
        unit: ``record``, or ``person``: all rows with the same value in the column ``person``.
        rows_per_person: at most this many rows of a person are counted; the gate drops the rest.
        relation: neighbours differ by one unit added or removed, replaced, or in its private columns only.
        public_columns: under label-change, the columns declared public row by row; empty otherwise.
        person: the column that names the person; empty when the unit is a record.
        count: the column that says for how many records a line stands; empty when for one.
    """

    unit: Literal["record", "person"] = "record"
    rows_per_person: int = 1
    relation: Relation = "add-remove"
    public_columns: tuple[str, ...] = ()
    person: str = ""
    count: str = ""

    def __post_init__(self) -> None:
        if self.relation not in ("add-remove", "replace-one", "label-change"):
            raise JobError(f"relation is {self.relation!r}: choose add-remove, replace-one or label-change.")
        alone = self.unit == "record" and self.rows_per_person == 1 and not self.person
        if not (alone or (self.unit == "person" and self.rows_per_person >= 1 and self.person and not self.count)):
            raise JobError(
                "Choose unit = 'record', or unit = 'person' with person = 'COLUMN', which names the person, and\n"
                f"rows_per_person of 1 or more (got {self.rows_per_person}): so many rows of one person count, the\n"
                "gate drops the rest. A line that stands for several records (count) names no person."
            )

    @property
    def l1(self) -> int:
        """The most one unit moves one table of counts in L1 norm: m = rows_per_person, or 2 m when replaced."""
        return self.rows_per_person * (1 if self.relation == "add-remove" else 2)

    @property
    def l2_squared(self) -> int:
        """The most one unit moves one table of counts in squared L2 norm: m^2, or 2 m^2 when replaced."""
        return self.rows_per_person**2 * (1 if self.relation == "add-remove" else 2)


@dataclass(frozen=True, init=False)
class Budget:
    """The promise (epsilon, delta) of one job. Delta 0 is pure epsilon; above 0, zCDP is booked.

    >>> Budget(1).total, Budget(1).measure, Budget("0.1").total
    (Fraction(1, 1), 'pure', Fraction(1, 10))
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Fraction | float | str = 0, delta: Fraction | float | str = 0, **odd: object) -> None:
        try:  # the number as typed: 0.1 is one tenth, not the nearest binary float
            vars(self).update(epsilon=Fraction(str(epsilon)), delta=Fraction(str(delta)))
        except (ValueError, ZeroDivisionError):
            vars(self).update(epsilon=Fraction(0))
        if odd or not 0 < self.epsilon <= 10**6 or not 0 <= self.delta < 1:
            given = {"epsilon": epsilon, "delta": delta, **odd}.items()
            raise JobError(
                "epsilon must be a finite number above 0, at most a million, and delta 0 or between 0 and 1; got\n"
                + ", ".join(f"{n} = {x if isinstance(x, str | int | float) else type(x)}" for n, x in given)
                + f"{'; a budget does not have: ' * bool(odd)}{', '.join(odd)}. {NOTHING}"
            )

    @property
    def measure(self) -> Measure:
        """In what the costs of this job add up."""
        return "pure" if self.delta == 0 else "zcdp"

    @property
    def total(self) -> Fraction:
        """All that requests may cost: epsilon, or the largest rho that keeps (epsilon, delta)."""
        return self.epsilon if self.delta == 0 else rho_for(self.epsilon, self.delta)


def noise_for(cost: Fraction, law: Law | None, measure: Measure, guarantee: Guarantee) -> Noise:
    """The least noise on one table of counts worth no more than ``cost``; no law: Gaussian in rho, else Laplace.

    Laplace of scale l1 / epsilon is epsilon-DP, epsilon^2 / 2-zCDP; the discrete Gaussian of variance l2^2 / (2 rho)
    is rho-zCDP (Canonne, Kamath, Steinke 2020, Theorem 14); a little wider, it follows from normal noise (PROOFS.md).
    """
    law = law or ("laplace" if measure == "pure" else "gaussian")
    if law == "laplace" and measure in ("pure", "zcdp"):
        return Noise(law, guarantee.l1 / (cost if measure == "pure" else floor_sqrt(2 * cost)))
    if law != "gaussian" or measure == "basic":
        raise JobError(f"There is no law {law!r} of noise on counts in {measure}: choose another. Nothing was spent.")
    if measure == "pure":
        raise JobError("Gaussian noise has no pure epsilon. Give the budget a delta, or use Laplace noise.")
    normal = guarantee.l2_squared / (2 * cost)
    return Noise(law, normal if measure == "zcdp" else (normal + 1) * Fraction(10_000, 9_999))


def priced(cost: Fraction, law: Law | None, measure: Measure, delta: Fraction) -> tuple[Fraction, Measure, Fraction]:
    """The cost of a request in the measure by which its noise is priced, and the delta that it takes.

    In "basic" the epsilons of requests add up and so do their deltas: Gaussian noise takes all of it, others none.
    """
    if measure != "basic" or law != "gaussian":
        return cost, "pure" if measure == "basic" else measure, Fraction(0)
    return rho_for(cost, delta), "zcdp", delta


def selection_rate(cost: Fraction, measure: Measure, guarantee: Guarantee) -> Fraction:
    """The rate of the exponential mechanism on L1 scores, which one unit moves by at most l1.

    Rate epsilon / (2 l1) is epsilon-DP and epsilon^2 / 8-zCDP (Cesar and Rogers 2021); nothing monotone is claimed.
    """
    return (cost if measure == "pure" else floor_sqrt(8 * cost)) / (2 * guarantee.l1)


def epsilon_of(rho: Fraction, delta: Fraction) -> float:
    """An epsilon with which rho-zCDP is (epsilon, delta)-DP: the tighter of two valid bounds, rounded up.

    Bun and Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)).  Canonne, Kamath, Steinke
    2020, Corollary 13: a rho + (ln(1/delta) - ln a)/(a - 1) + ln(1 - 1/a) for *any* order a > 1.

    >>> round(epsilon_of(Fraction(1, 32), Fraction(1, 1000)), 9)
    0.688002455
    """
    r, target = float(rho), log(delta.denominator) - log(delta.numerator)

    def bound(a: float) -> float:  # at order 1 + a
        return (1 + a) * r + (target - log1p(a)) / a - log1p(1 / a)

    low, high = log(1e-6), log(1e9)  # of a; the bound is unimodal there, and valid wherever the search stops
    for _ in range(100):
        third = (high - low) / 3
        low, high = (low, high - third) if bound(exp(low + third)) < bound(exp(high - third)) else (low + third, high)
    return max(min(r + 2 * sqrt(r * target), bound(exp(low))), 0.0) * (1 + 1e-12) + 1e-15


@lru_cache
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to twelve digits and rounded down, whose promise is no weaker than (epsilon, delta)."""
    low, high = 0, _GRAIN * (int(epsilon) + 1) * 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if epsilon_of(Fraction(middle, _GRAIN), delta) <= epsilon else (low, middle)
    if low == 0:
        raise JobError(f"epsilon = {float(epsilon)} with delta = {float(delta)} buys nothing. Raise one of them.")
    return Fraction(low, _GRAIN)


def floor_sqrt(x: Fraction) -> Fraction:
    """The square root, rounded down to twelve digits; a cost whose root is 0 buys nothing."""
    if not (root := isqrt(x.numerator * _GRAIN**2 // x.denominator)):
        raise JobError("The cost of a request is too small to buy anything. Nothing was read or spent.")
    return Fraction(root, _GRAIN)
