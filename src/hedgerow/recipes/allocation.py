"""How much of a cost each table gets, so that the predicted error of all together is least. Public arithmetic.

A cell of a table scatters around its expectation with variance S; measured with noise of variance v, S v / (S + v)
is left.  The error of a one-way table is in every table of its column, in proportion.  So what is left in a cell of
expectation m, in columns i and j with margins m_i and m_j, is

    q = S v / (S + v) + (m / m_i)^2 V_i + (m / m_j)^2 V_j,

and the error of all tables is the sum of sqrt(q).  Its slope in each table's precision is known in closed form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.recipes.pairs import Price

Floats = npt.NDArray[np.float64]
Key = tuple[int, ...]
_ROUNDS = 30
_LEAST = 0.05  # of an equal share: less than this is not worth a question


@final
@dataclass(frozen=True, eq=False)
class Stakes:
    """What is expected of every table, and how far the truth may be from it.

    Attributes:
        shape: how many values each column has.
        means: the expected counts of each table of two or more columns, flat.
        spread: the variance of their true cells around them.
        margins: the expected counts of each column.
        margin_spread: the variance of the true ones around them.
    """

    shape: tuple[int, ...]
    means: Mapping[Key, Floats]
    spread: Mapping[Key, Floats]
    margins: Sequence[Floats]
    margin_spread: Sequence[Floats]

    def error(self, precision: Mapping[Key, float]) -> float:
        """The predicted error: the sum over all cells of all tables of the standard deviation that is left."""
        left = self._left(self._margin_precision(precision))
        return float(sum(np.sqrt(self._cells(k, precision.get(k, 0.0), left)).sum() for k in self.means))

    def slopes(self, precision: Mapping[Key, float], keys: Sequence[Key]) -> Floats:
        """How fast the predicted error falls as the precision of each of ``keys`` grows."""
        known = self._margin_precision(precision)
        left = self._left(known)
        direct: dict[Key, float] = {}
        felt = [np.zeros(s) for s in self.shape]
        for k, spread in self.spread.items():
            steep = 0.5 / np.sqrt(self._cells(k, precision.get(k, 0.0), left) + 1e-9)
            direct[k] = float((steep * (spread / (spread * precision.get(k, 0.0) + 1)) ** 2).sum())
            for at, i in enumerate(k):
                part = self._square(k, steep * self.means[k] ** 2)
                others = tuple(a for a in range(len(k)) if a != at)
                felt[i] += part.sum(axis=others) / np.maximum(self.margins[i], 1.0) ** 2
        column = [
            float((f * (s / (s * p + 1)) ** 2).sum()) for f, s, p in zip(felt, self.margin_spread, known, strict=True)
        ]
        return np.array(
            [direct.get(k, 0.0) + sum(column[i] * self.shape[i] / self._size(k) for i in k) for k in keys]
        )

    def _size(self, key: Key) -> int:
        return int(np.prod([self.shape[i] for i in key]))

    def _square(self, key: Key, flat: Floats) -> Floats:
        return flat.reshape([self.shape[i] for i in key])

    def _margin_precision(self, precision: Mapping[Key, float]) -> list[float]:
        """What all tables together tell of each column: the sums of a table of more columns tell of it too."""
        known = [0.0] * len(self.shape)
        for k, p in precision.items():
            for i in k:
                known[i] += p * self.shape[i] / self._size(k)
        return known

    def _left(self, known: Sequence[float]) -> list[Floats]:
        """The relative variance left in each value of each column."""
        return [
            s / (s * p + 1) / np.maximum(m, 1.0) ** 2
            for s, p, m in zip(self.margin_spread, known, self.margins, strict=True)
        ]

    def _cells(self, key: Key, precision: float, left: Sequence[Floats]) -> Floats:
        """The variance left in every cell of a table."""
        spread, mean = self.spread[key], self._square(key, self.means[key])
        found = spread / (spread * precision + 1)
        for at, i in enumerate(key):
            wide = left[i].reshape([-1 if a == at else 1 for a in range(len(key))])
            found = found + (mean**2 * wide).ravel()
        return np.asarray(found)


def shares_by_error(
    stakes: Stakes, known: Mapping[Key, float], price: Price, cost: float, *, keys: Sequence[Key]
) -> Floats:
    """The share of ``cost`` of each of ``keys`` with which the predicted error is least, given precisions ``known``.

    Shares move towards tables whose error falls faster per cost until none does.  A table that would get less
    than a twentieth of an equal share gets nothing.
    """
    shares = np.full(len(keys), 1 / len(keys))
    power = 2 if price.tariff.measure == "pure" else 1
    for _ in range(_ROUNDS):
        new = [1 / price.variance(max(cost * s, 1e-300)) for s in shares]
        precision = dict(known)
        for k, p in zip(keys, new, strict=True):
            precision[k] = precision.get(k, 0.0) + p
        gain = stakes.slopes(precision, keys) * power * np.array(new)  # per share of share
        shares = np.sqrt(np.maximum(gain * shares, 1e-300))
        shares = np.maximum(shares / shares.sum(), 1e-9)
    shares[shares < _LEAST / len(shares)] = 0.0
    return np.asarray(shares / shares.sum())
