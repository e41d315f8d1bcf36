"""Counts as shares, and how far apart two tables of shares are: total variation."""

from typing import Any

import numpy as np
import numpy.typing as npt

Shares = npt.NDArray[np.float64]


def shares(counts: npt.NDArray[Any]) -> Shares:
    """Counts as shares of their sum; all 0 where there is nothing."""
    total = counts.sum()
    return counts / total if total > 0 else np.zeros(counts.shape)


def total_variation(p: Shares, q: Shares) -> float:
    """Half the sum of the differences: the share of rows that must move to make one table the other.

    >>> total_variation(shares(np.array([3, 1])), shares(np.array([5, 5])))
    0.25
    """
    return float(np.abs(p - q).sum() / 2)
