"""Which tables to measure, and at what cost each, so that the predicted error of all is least. Public arithmetic.

A cell of a table scatters around its expectation with variance S; measured with noise of variance v, S v / (S + v)
is left.  The error of a one-way table is in every table of its column, in proportion.  So what is left in a cell of
expectation m, in columns i and j with margins m_i and m_j, is

    q = S v / (S + v) + (m / m_i)^2 V_i + (m / m_j)^2 V_j,

and the error of all tables is the sum of sqrt(q).  Its slope in each table's precision is known in closed form.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi, prod, sqrt
from typing import Any, final

import numpy as np

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import BLEND
from hedgerow.model.tables import Floats, Key
from hedgerow.public import Tariff

_MEAN = sqrt(2 / pi)  # the mean size of a standard normal number
_ROUNDS = 30


@final
@dataclass(frozen=True)
class Price:
    """What the noise of a table is for its part of a cost, about: figures to choose by, not to charge by."""

    tariff: Tariff

    def variance(self, cost: float) -> float:
        """The variance of the noise on each cell of a table that gets ``cost``."""
        guarantee = self.tariff.guarantee
        if self.tariff.measure == "pure":
            return 2 * (guarantee.l1 / cost) ** 2
        return guarantee.l2_squared / (2 * cost)


def moved(mean: Floats, sd: float) -> float:
    """The share of all rows that noise is expected to move, counting no more for a cell than it can hold."""
    return _MEAN * float(np.minimum(sd, mean).sum()) / max(float(mean.sum()), 1.0)


def worth_of(pairs: Sequence[Key], predicted: Collection[int]) -> list[float]:
    """How much an error counts in each pair: more with a column that an intended use predicts.

    >>> worth_of([(0, 1), (1, 2)], [0])
    [5.0, 1.0]
    """
    return [BLEND.prediction_worth if set(p) & set(predicted) else 1.0 for p in pairs]


def shares_by_gain(
    spread: Sequence[Floats], noise: Sequence[float], worth: Sequence[float], price: Price, cost: float
) -> Floats:
    """The shares of ``cost`` that lower the predicted error most, for tables measured once already.

    ``spread`` is the variance of each true cell around its estimate without measurement, ``noise`` what was
    added the first time; ``worth`` how much an error of each table matters.  A table that
    would get less than a twentieth of an equal share gets nothing.
    """
    shares = np.full(len(spread), 1 / len(spread))
    for _ in range(15):
        slope = np.array([_slope(t, v, price, cost * s) / s for t, v, s in zip(spread, noise, shares, strict=True)])
        shares = shares * np.sqrt(np.maximum(slope * np.array(worth), 1e-300))
        shares = shares / shares.sum()
        shares[shares < BLEND.least_share / len(shares)] = 1e-9
        shares = shares / shares.sum()
    shares[shares < BLEND.least_share / len(shares)] = 0.0
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


@final
@dataclass(frozen=True, eq=False)
class Stakes:
    """What is expected of every table, and how far the truth may be from it.

    Attributes:
        shape: how many values each column has.
        means: the expected counts of each pair of columns, flat.
        spread: the variance of their true cells around them.
        margins: the expected counts of each column.
        margin_spread: the variance of the true ones around them.
        predicted: columns whose pairs count more.
    """

    shape: tuple[int, ...]
    means: Mapping[Key, Floats]
    spread: Mapping[Key, Floats]
    margins: Sequence[Floats]
    margin_spread: Sequence[Floats]
    predicted: Collection[int] = ()

    def error(self, precision: Mapping[Key, float]) -> float:
        """The predicted error: the sum over all cells of all pairs of the standard deviation that is left."""
        return self._pass(precision)[0]

    def slopes(self, precision: Mapping[Key, float], keys: Sequence[Key]) -> Floats:
        """How fast the predicted error falls as the precision of each of ``keys`` grows."""
        _, own, felt = self._pass(precision)
        direct = dict(zip(self.means, own, strict=True))
        known, spread = np.repeat(self._known(precision), self.shape), np.concatenate(self.margin_spread)
        felt *= (spread / (spread * known + 1) / np.maximum(np.concatenate(self.margins), 1.0)) ** 2
        column = [float(part.sum()) for part in np.split(felt, np.cumsum(self.shape)[:-1])]
        return np.array(
            [direct.get(k, 0.0) + sum(column[i] * self.shape[i] / self._size(k) for i in k) for k in keys]
        )

    def _pass(self, precision: Mapping[Key, float]) -> tuple[float, Floats, Floats]:
        """One pass over all cells: their error, and its slope in each pair's precision and each one-way cell's."""
        spread = np.concatenate(self.margin_spread)
        relative = spread / (spread * np.repeat(self._known(precision), self.shape) + 1)
        relative = relative / np.maximum(np.concatenate(self.margins), 1.0) ** 2
        first, own, felt = np.cumsum([0, *self.shape]), np.zeros(len(self.means)), np.zeros(sum(self.shape))
        places = np.array([(first[i], self.shape[i], first[j], self.shape[j]) for i, j in self.means])
        known = np.array([precision.get(k, 0.0) for k in self.means])
        worth = np.array(worth_of(list(self.means), self.predicted))
        error = _add_errors(self._spread, self._squares, places, known, worth, relative, own, felt)
        return error, own, felt

    def _known(self, precision: Mapping[Key, float]) -> list[float]:
        """What all tables together tell of each column: the sums of a table of more columns tell of it too."""
        known = [0.0] * len(self.shape)
        for k, p in precision.items():
            for i in k:
                known[i] += p * self.shape[i] / self._size(k)
        return known

    def _size(self, key: Key) -> int:
        if key not in self._sizes:
            self._sizes[key] = prod(self.shape[i] for i in key)
        return self._sizes[key]

    @cached_property
    def _sizes(self) -> dict[Key, int]:
        return {}

    @cached_property
    def _spread(self) -> Floats:
        return np.concatenate(list(self.spread.values()))

    @cached_property
    def _squares(self) -> Floats:
        return np.concatenate(list(self.means.values())) ** 2


@compiled
def _add_errors(
    spread: Any, squares: Any, places: Any, known: Any, worth: Any, relative: Any, own: Any, felt: Any
) -> float:
    """The error of all cells, pair by pair; to ``own`` and ``felt`` are added its slopes, as ``Stakes._pass`` says.

    One line of ``places`` for each pair: where the values of its first column begin and how many they are, then the
    same of its second.
    """
    error, c = 0.0, 0
    for p in range(len(places)):
        low, rows, left, columns = places[p]
        for i in range(low, low + rows):
            along = 0.0
            for j in range(left, left + columns):
                alone = spread[c] / (spread[c] * known[p] + 1)
                cell = alone + squares[c] * (relative[i] + relative[j])
                error += worth[p] * np.sqrt(cell)
                steep = 0.5 * worth[p] / np.sqrt(cell + 1e-9)
                own[p] += steep * alone * alone
                along += steep * squares[c]
                felt[j] += steep * squares[c]
                c += 1
            felt[i] += along
    return error


def shares_by_error(
    stakes: Stakes, known: Mapping[Key, float], price: Price, cost: float, *, keys: Sequence[Key]
) -> Floats:
    """The share of ``cost`` of each of ``keys`` with which the predicted error is least, given precisions ``known``.

    Shares move towards tables whose error falls faster per cost until none does.  A table that would get less
    than a twentieth of an equal share gets nothing.  Without pairs, that is for one column, there is nothing to
    weigh.
    """
    shares = np.full(len(keys), 1 / len(keys))
    if not stakes.means:
        return shares
    power = 2 if price.tariff.measure == "pure" else 1
    for _ in range(_ROUNDS):
        new = [1 / price.variance(max(cost * s, 1e-300)) for s in shares]
        precision = dict(known)
        for k, p in zip(keys, new, strict=True):
            precision[k] = precision.get(k, 0.0) + p
        gain = stakes.slopes(precision, keys) * power * np.array(new)  # per share of share
        shares = np.sqrt(np.maximum(gain * shares, 1e-300))
        shares = np.maximum(shares / shares.sum(), 1e-9)
    shares[shares < BLEND.least_share / len(shares)] = 0.0
    return in_steps(shares)
