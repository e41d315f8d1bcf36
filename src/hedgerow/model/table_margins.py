"""A table and some of its margins, measured apart, made one: weighted least squares in closed form.

A table over columns splits into one part per set of columns: the grand total, what each column adds, what
each pair adds beyond that, and so on.  Noise that is equal on all cells of a table is equal and independent
in all these parts, so the best estimate of a part is the mean of every answer that contains it, weighted by
precision.  No matrix is built: a table of a million cells takes a few sums.

    >>> made = reconcile(np.array([[4.0, 6.0], [5.0, 5.0]]), 1.0, [Margin((), np.array(24.0), 4.0)])
    >>> made.table.tolist(), made.variance((0, 1)), made.variance(())
    ([[4.5, 6.5], [5.5, 5.5]], 0.875, 2.0)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Margin:
    """A noisy margin of a table: which axes are kept (ascending), its counts, the variance of their noise."""

    axes: Axes
    counts: Floats
    variance: float


@final
@dataclass(frozen=True, eq=False)
class Reconciled:
    """The least-squares table.

    Attributes:
        table: the estimate; its margins are the best estimates of all margins.
        noise: the variance of the noise on each cell of the measured table.
        parts: the variance left in each part that some margin told of, in the same unit.
    """

    table: Floats
    noise: float
    parts: Mapping[Axes, float]

    def variance(self, axes: Axes) -> float:
        """The variance of the noise left on each cell of the margin that keeps ``axes``."""
        shape = self.table.shape
        cells = prod(shape[a] for a in axes)
        gained = sum(
            prod(shape[a] - 1 for a in part) / cells * (self.noise - left)
            for part, left in self.parts.items()
            if set(part) <= set(axes)
        )
        return float(max(self.table.size / cells * (self.noise - gained), 0.0))


def reconcile(table: Floats, variance: float, margins: Sequence[Margin]) -> Reconciled:
    """The table nearest to all answers, each weighted by its precision."""
    made, size, parts = table.astype(np.float64, copy=bool(margins)), table.size, dict[Axes, float]()
    for part in sorted({p for m in margins for p in _within(m.axes)}, key=len):
        telling = [m for m in margins if set(part) <= set(m.axes)]
        precision = [1 / (variance * size), *(1 / (m.variance * m.counts.size) for m in telling)]
        own = _centred(_kept(table, range(table.ndim), part))
        others = [_centred(_kept(m.counts, m.axes, part)) for m in telling]
        better = sum(p * x for p, x in zip(precision, [own, *others], strict=True)) / sum(precision)
        spread = (better - own) * (own.size / size)
        made += np.expand_dims(spread, tuple(a for a in range(table.ndim) if a not in part))
        parts[part] = 1 / (size * sum(precision))
    return Reconciled(made, variance, parts)


def _within(axes: Axes) -> Iterable[Axes]:
    return (p for k in range(len(axes) + 1) for p in combinations(axes, k))


def _kept(counts: Floats, axes: Iterable[int], part: Axes) -> Floats:
    """The counts summed over every axis that is not in ``part``."""
    return np.asarray(counts.sum(axis=tuple(i for i, a in enumerate(axes) if a not in part)))


def _centred(counts: Floats) -> Floats:
    """What the counts add beyond all their own margins."""
    for axis in range(counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    return counts
