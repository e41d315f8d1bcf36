"""What a promise is, and what every request costs under it: arithmetic on public numbers.

The gate charges by these functions, ``plan`` forecasts by them and ``verify`` recomputes by them, so
there is one table of sensitivities.  Costs are exact fractions, in epsilon (pure) or rho (zCDP).
Floats appear only in the conversions between (epsilon, delta) and rho, which round towards privacy.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, isqrt, log, log1p, sqrt
from typing import Literal

from hedgerow.errors import JobError
from hedgerow.public.question import Law, Noise

Relation = Literal["add-remove", "replace-one", "label-change"]
Measure = Literal["pure", "zcdp"]
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one", "label-change")
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
    """

    unit: Literal["record", "person"] = "record"
    rows_per_person: int = 1
    relation: Relation = "add-remove"
    public_columns: tuple[str, ...] = ()
    person: str = ""

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise JobError(f"Unknown relation {self.relation!r}. Choose one of {', '.join(RELATIONS)}.")
        if self.unit not in ("record", "person"):
            raise JobError(f"Unknown unit {self.unit!r}. Choose record or person.")
        if (self.unit == "person") != bool(self.person):
            raise JobError(
                "unit = 'person' needs person = 'COLUMN', the column that names the person, and only then."
            )
        if self.rows_per_person < 1 or (self.unit == "record" and self.rows_per_person != 1):
            raise JobError(
                f"rows_per_person is {self.rows_per_person}: it must be 1 or more, and above 1 only with\n"
                "unit = 'person'. Say how many rows of one person may count; the gate drops the rest."
            )

    @property
    def l1(self) -> int:
        """The most one unit moves one table of counts in L1 norm (THEORY.md A.0): m, or 2m when replaced."""
        return self.rows_per_person * (1 if self.relation == "add-remove" else 2)

    @property
    def l2_squared(self) -> int:
        """The most one unit moves one table of counts in squared L2 norm: m^2, or 2 m^2 when replaced."""
        return self.rows_per_person**2 * (1 if self.relation == "add-remove" else 2)


@dataclass(frozen=True)
class Budget:
    """The promise (epsilon, delta) of one job. Delta 0 is pure epsilon; above 0, zCDP is booked.

    >>> Budget(1).total, Budget(1).measure, Budget("0.1").total
    (Fraction(1, 1), 'pure', Fraction(1, 10))
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Fraction | float | str, delta: Fraction | float | str = 0) -> None:
        object.__setattr__(self, "epsilon", as_fraction(epsilon, "epsilon"))
        object.__setattr__(self, "delta", as_fraction(delta, "delta"))
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise JobError(
                f"epsilon must be above 0 and delta from 0 to below 1; got epsilon = {epsilon}, delta = {delta}.\n"
                "No confidential row was read and nothing was spent."
            )

    @property
    def measure(self) -> Measure:
        """In what the costs of this job add up."""
        return "pure" if self.delta == 0 else "zcdp"

    @property
    def total(self) -> Fraction:
        """All that requests may cost: epsilon, or the largest rho that keeps (epsilon, delta)."""
        return self.epsilon if self.delta == 0 else rho_for(self.epsilon, self.delta)


def as_fraction(value: Fraction | float | str, name: str) -> Fraction:
    """The number as typed: 0.1 is one tenth, not its nearest binary float; NaN and infinity are refused."""
    try:
        return value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise JobError(f"{name} must be a finite number, got {value!r}. Nothing was read or spent.") from None


def noise_for(cost: Fraction, law: Law, measure: Measure, guarantee: Guarantee) -> Noise:
    """The least noise on one table of counts that is worth no more than ``cost``.

    Laplace of scale l1 / epsilon is epsilon-DP; the discrete Gaussian of variance l2^2 / (2 rho) is
    rho-zCDP (Canonne, Kamath, Steinke 2020, Theorem 14); epsilon-DP is epsilon^2 / 2-zCDP.
    """
    if law == "gaussian":
        if measure == "pure":
            raise JobError("Gaussian noise has no pure epsilon. Give the budget a delta, or use Laplace noise.")
        return Noise(law, Fraction(guarantee.l2_squared) / (2 * cost))
    epsilon = cost if measure == "pure" else floor_sqrt(2 * cost)
    return Noise(law, guarantee.l1 / epsilon)


def cost_of(noise: Noise, measure: Measure, guarantee: Guarantee) -> Fraction:
    """What noise on one table of counts costs: the inverse of ``noise_for``, never below the truth."""
    if noise.law == "gaussian":
        if measure == "pure":
            raise JobError("Gaussian noise has no pure epsilon.")
        return Fraction(guarantee.l2_squared) / (2 * noise.scale)
    epsilon = guarantee.l1 / noise.scale
    return epsilon if measure == "pure" else epsilon**2 / 2


def selection_rate(cost: Fraction, measure: Measure, guarantee: Guarantee) -> Fraction:
    """The rate of the exponential mechanism on L1 scores, which one unit moves by at most l1.

    Rate epsilon / (2 l1) is epsilon-DP, and epsilon^2 / 8-zCDP (Cesar and Rogers 2021). No monotonicity is claimed.
    """
    return (cost if measure == "pure" else floor_sqrt(8 * cost)) / (2 * guarantee.l1)


def selection_cost(rate: Fraction, measure: Measure, guarantee: Guarantee) -> Fraction:
    """What a selection at this rate costs: the inverse of ``selection_rate``."""
    epsilon = rate * 2 * guarantee.l1
    return epsilon if measure == "pure" else epsilon**2 / 8


def epsilon_of(rho: Fraction, delta: Fraction) -> float:
    """An epsilon with which rho-zCDP is (epsilon, delta)-DP: the tighter of two valid bounds, rounded up.

    Bun and Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)).  Canonne, Kamath, Steinke
    2020, Corollary 13: a rho + (ln(1/delta) - ln a)/(a - 1) + ln(1 - 1/a) for *any* order a > 1.

    >>> round(epsilon_of(Fraction(1, 32), Fraction(1, 1000)), 9)
    0.688002455
    """
    r, target = float(rho), log(1 / float(delta))
    if r <= 0:
        return 0.0
    low, high = log(1e-6), log(1e9)  # of a - 1; the bound is unimodal there, and valid wherever we stop
    for _ in range(200):
        third = (high - low) / 3
        if _renyi_bound(r, target, exp(low + third)) < _renyi_bound(r, target, exp(high - third)):
            high -= third
        else:
            low += third
    best = min(r + 2 * sqrt(r * target), _renyi_bound(r, target, exp((low + high) / 2)))
    return max(best, 0.0) * (1 + 1e-12) + 1e-15


def _renyi_bound(rho: float, target: float, order_less_one: float) -> float:
    a = order_less_one
    return (1 + a) * rho + (target - log1p(a)) / a - log1p(1 / a)


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
    """The square root, rounded down to twelve digits."""
    return Fraction(isqrt(x.numerator * _GRAIN**2 // x.denominator), _GRAIN)
