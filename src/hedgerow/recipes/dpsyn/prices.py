"""The DPSyn split priced in the one measure of a job, and what joint accounting says of the paper's own sum.

The paper adds up epsilons: Laplace noise at epsilon a and b, Gaussian noise at (c, delta), a + b + c in all.
A pure job (delta 0) books exactly that sum.  A job with a delta books rho: Laplace noise at epsilon a costs
a^2 / 2, k tables at a / k each cost a^2 / (2 k), Gaussian noise its rho.  Then

* the tables usually cost less together than the promise buys, and what is left goes to them (or is kept);
* where large Laplace shares cost more than the promise buys (a small epsilon, a large theta), noise has to grow.
  As written, every part gets the same fraction of its price, so all noise grows alike; but a price is a
  square, and the group sizes would take nearly all.  Repaired, they take at most the share of rho that the paper
  gives them of epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, sqrt

import numpy as np

from hedgerow.public.costs.accounting import Budget, epsilon_of
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.recipes.dpsyn.budget import Split, paper_rho

_GRAIN = 10**15


@dataclass(frozen=True)
class Prices:
    """What the group table and the other tables cost, in the measure of the job."""

    group: Fraction
    tables: Fraction


def first_price(share: float, budget: Budget) -> Fraction:
    """The price of the noisy number of rows, which the paper gives ``share`` of epsilon."""
    return _down(share if budget.measure == "pure" else share**2 / 2)


def prices_of(split: Split, budget: Budget, left: Fraction, *, tables: int, as_written: bool) -> Prices:
    """The prices of the group table and of the others, together at most ``left``; ``tables`` one-way tables.

    ``as_written``: the paper's noise where the promise bears it.  Otherwise the whole promise is spent.
    """
    if split.regime == "public_only":
        return Prices(left, Fraction(0))
    if budget.measure == "pure":
        group = min(_down(split.group), left / 2)
        return Prices(group, left - group)
    group, rest = _down(split.group**2 / 2), _down(_tables_rho(split, budget, tables))
    if not as_written:
        group = min(group, left * Fraction(split.group / (split.group + split.tables)).limit_denominator(10**6))
        return Prices(group, left - group)
    if group + rest > left:
        group, rest = group * left / (group + rest), rest * left / (group + rest)
    return Prices(group, rest)


def joint_epsilon(laplace: Sequence[float], mu: float, delta: float) -> float:
    """The epsilon of Laplace parts and one Gaussian part together, exact for continuous noise of these scales.

    A Gaussian part of mu = sensitivity / sigma has the profile d(t) = F(mu/2 - t/mu) - e^t F(-mu/2 - t/mu)
    (Balle and Wang 2018).  Privacy losses of parts add, so the profile of all is the mean of d(epsilon - L)
    over the Laplace losses L: +a with chance 1/2, -a with e^-a / 2, a (1 - 2 x) with density a e^(-a x) / 2.

    >>> round(joint_epsilon([1 / 1400, 0.04], sqrt(253) / 78.02294280750021, 2.5e-5), 3)
    0.706
    """
    losses, chances = np.zeros(1), np.ones(1)
    node, weight = np.polynomial.legendre.leggauss(24)
    x, w = (node + 1) / 2, weight / 2
    for a in laplace:
        own = np.concatenate([[a, -a], a * (1 - 2 * x)])
        chance = np.concatenate([[0.5, exp(-a) / 2], w * a / 2 * np.exp(-a * x)])
        losses, chances = np.add.outer(losses, own).ravel(), np.multiply.outer(chances, chance).ravel()
    low, high = 0.0, sum(laplace) + mu * mu / 2 + mu * 40
    while high - low > 1e-6:
        middle = (low + high) / 2
        got = float(sum(c * _profile(middle - loss, mu) for loss, c in zip(losses.tolist(), chances, strict=True)))
        low, high = (middle, high) if got > delta else (low, middle)
    return high


def said_in_plan(
    split: Split, spends: Sequence[Spend], tariff: Tariff, budget: Budget, rows: float
) -> tuple[str, ...]:
    """The regime, the split, the paper's scales, ours, and both sums, in lines for people."""
    theta, delta = tariff.guarantee.l1, float(budget.delta)
    parts = {"rows": split.total, "groups": split.group, split.regime: split.tables}
    shown = " + ".join(f"{name} {e:.6g}" for name, e in parts.items() if e > 0)
    tables = len(spends[-1].asked) if split.tables else 0
    scales = split.scales(theta, delta, one_ways=max(tables, 1), pairs=max(tables, 1))
    ours = ", ".join(f"{s.asked[0].noise.law} sd {s.asked[0].noise.variance ** 0.5:.4g}" for s in spends)
    why = f" ({split.reason})" if split.reason else ""
    lines = [
        f"regime {split.regime}{why} for {rows:,.0f} assumed rows, theta {theta}, "
        f"group sizes in steps of {split.round_to}",
        f"the paper's split of epsilon: {shown} = {split.total + split.group + split.tables:.6g}",
        "the paper's scales: " + ", ".join(f"{name} {scale:.6g}" for name, scale in scales.items()),
        f"noise here, priced in {budget.measure} and never above the promise: {ours}",
    ]
    sizes = next(a for r in spends for a in r.asked if a.question.columns or len(spends) == 1)
    if delta > 0 and sizes.noise.variance > 2.2 * (theta / split.group) ** 2:
        lines.append(
            "the promise does not bear the paper's noise on group sizes, because Laplace noise is dear in zCDP: "
            "with delta = 0 the same epsilon does, but buys no two-way tables"
        )
    if delta > 0:
        rho = (split.total**2 + split.group**2) / 2 + (_tables_rho(split, budget, tables) if tables else 0.0)
        joint = min(float(budget.epsilon), epsilon_of(_down(rho), budget.delta))
        if split.regime == "two_way":
            mu = sqrt(tables * tariff.guarantee.l2_squared) / scales["two_way_gaussian"]
            joint = min(joint, joint_epsilon([e for e in (split.total, split.group) if e], mu, delta))
        lines.append(
            f"joint accounting of the paper's noise: epsilon {joint:.4g} "
            f"(the paper's sum: {float(budget.epsilon):.4g})"
        )
    return tuple(lines)


def _tables_rho(split: Split, budget: Budget, tables: int) -> float:
    """What the paper's noise on the tables costs in rho."""
    if split.regime == "one_way":
        return split.tables**2 / (2 * tables)
    return paper_rho(split.tables, float(budget.delta)) if split.tables else 0.0


def _profile(t: float, mu: float) -> float:
    upper = erfc((t / mu - mu / 2) / sqrt(2)) / 2
    tail = erfc((t / mu + mu / 2) / sqrt(2)) / 2
    return upper - (exp(min(t, 700.0)) * tail if tail > 0 else 0.0)


def _down(x: float) -> Fraction:
    return Fraction(int(x * _GRAIN), _GRAIN)
