"""What chance alone does to shares: the null expectation of distances between tables, and errors as sample sizes."""

from math import pi, sqrt

import numpy as np

from hedgerow.public import Shares


def expected_distance(p: Shares, n: int, m: int) -> float:
    """The total variation to expect between the shares of two samples, of n and m rows, that both follow ``p``.

    Each difference is taken as normal where counts are large; a rare cell cannot differ by more than it holds.

    >>> round(expected_distance(np.array([0.5, 0.5]), 1000, 1000), 4)
    0.0178
    """
    if n <= 0 or m <= 0:
        return float("nan")
    normal = sqrt(2 / pi) * np.sqrt(p * (1 - p) * (1 / n + 1 / m))
    return float(np.minimum(normal, 2 * p * (1 - p)).sum() / 2)


def like_sample(distance: float, p: Shares, n: int) -> float | None:
    """The share of ``n`` rows whose simple random sample is as far from all of them, in total variation.

    >>> round(like_sample(0.01, np.array([0.5, 0.5]), 1000), 2)
    0.61
    """
    if n <= 0 or not np.isfinite(distance):
        return None
    spread = sqrt(2 / pi) / 2 * float(np.sqrt(p * (1 - p)).sum())
    return spread**2 / (spread**2 + n * distance**2) if spread > 0 or distance > 0 else 1.0
