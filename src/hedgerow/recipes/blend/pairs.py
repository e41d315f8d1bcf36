"""Which two-way tables to measure, and with how much of the budget, by predicted error. Public arithmetic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.public.costs.spend import Tariff

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
_MEAN = sqrt(2 / pi)  # the mean size of a standard normal number


@final
@dataclass(frozen=True)
class Price:
    """What the noise of a table is for its part of a cost, about: figures to choose by, not to charge by."""

    tariff: Tariff

    def variance(self, cost: float) -> float:
        """The variance of the noise on each cell of a table that gets ``cost``."""
        guarantee = self.tariff.guarantee
        if self.tariff.measure == "zcdp":
            return guarantee.l2_squared / (2 * cost)
        return 2 * (guarantee.l1 / cost) ** 2


def worth_measuring(independent: Mapping[Pair, Floats], price: Price, cost: float, *, bearable: float) -> list[Pair]:
    """The pairs whose noise, summed over the cells that can hold anything, stays below ``bearable`` of all rows.

    Pairs with few full cells come first; every further pair makes the noise of all larger.  An empty list is
    the low-budget regime: no pair is worth its noise.
    """
    usual = sqrt(price.variance(cost / max(len(independent), 1)))
    order = sorted(independent, key=lambda p: (moved(independent[p], usual), p))
    for m in range(len(order), 0, -1):
        sd = sqrt(price.variance(cost / m))
        if moved(independent[order[m - 1]], sd) <= bearable:
            return order[:m]
    return []


def moved(mean: Floats, sd: float) -> float:
    """The share of all rows that noise is expected to move, counting no more for a cell than it can hold."""
    return _MEAN * float(np.minimum(sd, mean).sum()) / max(float(mean.sum()), 1.0)


def shares_by_gain(
    spread: Sequence[Floats],
    noise: Sequence[float],
    price: Price,
    cost: float,
    *,
    worth: Sequence[float] | None = None,
) -> Floats:
    """The shares of ``cost`` that lower the predicted error most, for tables measured once already.

    ``spread`` is the variance of each true cell around its estimate without measurement, ``noise`` what was
    added the first time; ``worth`` how much an error of each table matters.  A table that
    would get less than a twentieth of an equal share gets nothing.
    """
    shares = np.full(len(spread), 1 / len(spread))
    matters = np.ones(len(spread)) if worth is None else np.array(worth)
    for _ in range(15):
        slope = np.array([_slope(t, v, price, cost * s) / s for t, v, s in zip(spread, noise, shares, strict=True)])
        slope = slope * matters
        shares = shares * np.sqrt(np.maximum(slope, 1e-300))
        shares = shares / shares.sum()
        shares[shares < 0.05 / len(shares)] = 1e-9
        shares = shares / shares.sum()
    shares[shares < 0.05 / len(shares)] = 0.0
    return in_steps(shares)


def in_steps(shares: Floats) -> Floats:
    """The shares rounded to eighths of a doubling, sum 1: few scales of noise, and each takes time to prepare.

    >>> in_steps(np.array([0.0, 0.249, 0.25, 0.501])).tolist()
    [0.0, 0.25, 0.25, 0.5]
    """
    near = np.exp2(np.rint(8 * np.log2(np.maximum(shares, 1e-300))) / 8) * (shares > 0)
    return np.asarray(near / near.sum())


def _slope(spread: Floats, noise: float, price: Price, cost: float) -> float:
    """How much a tenth more of its cost lowers the predicted error of a table."""

    def error(variance: float) -> float:
        both = 1 / (1 / noise + 1 / variance)
        return float(np.sqrt(spread * both / (spread + both + 1e-12)).sum())

    now = price.variance(cost)
    return error(now) - error(now / (1.21 if price.tariff.measure == "pure" else 1.1))
