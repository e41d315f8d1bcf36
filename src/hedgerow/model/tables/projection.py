"""Noisy counts made possible: projection onto the simplex (least squares), then whole numbers by systematic rounding.

Rounding adds at most one record of error to a cell; independent draws would add that of a sample.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
Key = tuple[int, ...]
"""A table, by the positions of its columns."""
Tables = Mapping[tuple[int], Floats] | Mapping[Pair, Floats] | Mapping[Key, Floats]


def project(counts: npt.ArrayLike, total: float) -> Floats:
    """The point nearest to ``counts`` (least squares) that is non-negative and sums to ``total``.

    One number is taken off every cell and what falls below zero is cut, so large cells keep their noise
    and the many nearly empty ones do not each gain a record, as cutting cell by cell would do.

    >>> project([5, 3, -2], 7).tolist()
    [4.5, 2.5, 0.0]
    """
    v = np.asarray(counts, np.float64)
    if total <= 0:
        return np.zeros_like(v)
    down = np.sort(v)[::-1]
    excess = np.cumsum(down)
    excess -= total
    excess /= np.arange(1, len(v) + 1)
    keep = int(np.flatnonzero(down > excess)[-1])
    return np.asarray(np.maximum(v - excess[keep], 0.0))


def pooled_total(sums: npt.ArrayLike, variances: npt.ArrayLike) -> float:
    """One total from several noisy ones: the mean weighted by inverse variance.

    >>> pooled_total([10, 20], [1, 1])
    15.0
    """
    weight = 1 / np.asarray(variances, np.float64)
    return float(np.sum(np.asarray(sums, np.float64) * weight) / np.sum(weight))


def systematic_counts(shares: Floats, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Whole counts that sum to ``n``: each is ``n`` times its share rounded up or down, right on average.

    One random start and equal steps along the cumulated shares; independent draws would add an error as
    large as that of a sample of ``n`` records.
    """
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    ticks = np.floor(edges / edges[-1] * n + rng.random())
    ticks[0], ticks[-1] = 0, n
    return np.asarray(np.diff(np.clip(ticks, 0, n)), np.int64)


def whole_counts(estimate: Floats, total: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Whole counts near ``estimate`` (which is non-negative and sums to ``total``) that sum to ``total``.

    The nearest ones, ties broken at random; but where cells hold less than one record on average, nearest
    would empty whole regions of small cells, so there systematic rounding keeps every stretch of cells right.

    >>> whole_counts(np.array([2.4, 0.6, 0.0]), 3, np.random.default_rng(1)).tolist()
    [2, 1, 0]
    """
    if total < len(estimate):
        return systematic_counts(estimate, total, rng) if total > 0 else np.zeros(len(estimate), np.int64)
    low = np.floor(estimate).astype(np.int64)
    short = total - int(low.sum())
    if short > 0:
        part = np.round(estimate - low, 9)  # equal parts must tie: a projection leaves the same part in every cell
        least = np.partition(part, len(part) - short)[len(part) - short]
        low[part > least] += 1
        ties = np.flatnonzero(part == least)
        low[rng.choice(ties, total - int(low.sum()), replace=False)] += 1
    return low
