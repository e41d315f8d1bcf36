"""Noisy counts made possible: the nearest non-negative counts with a given sum."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


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
