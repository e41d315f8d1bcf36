"""Whole records from shares: systematic rounding, which adds at most one record of error to a cell."""

import numpy as np
import numpy.typing as npt


def systematic_counts(shares: npt.NDArray[np.float64], n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Whole counts that sum to ``n``: each is ``n`` times its share rounded up or down, right on average.

    One random start and equal steps along the cumulated shares; independent draws would add an error as
    large as that of a sample of ``n`` records.
    """
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    ticks = np.floor(edges / edges[-1] * n + rng.random())
    ticks[0], ticks[-1] = 0, n
    return np.asarray(np.diff(np.clip(ticks, 0, n)), np.int64)


def whole_counts(estimate: npt.NDArray[np.float64], total: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
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
