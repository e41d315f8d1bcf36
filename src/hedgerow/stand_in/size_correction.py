"""From the errors on parts of a public table to those on whole tables: what is sampling error grows smaller.

In a rehearsal both tables are parts of one public table, so both are smaller than the real ones and differ more
from each other by chance.  The square of an error is taken to be a part that sizes do not touch (noise on the
assumed number of rows, what a model leaves out) and a part in proportion to the sampling variance of the difference
of the two tables, 1/t + 1/r for t rows that play the confidential table and r that play its relative.  The same run
on half of both parts has twice that variance; so the two runs tell the parts of the error, and the error at
1/n + 1/p, the variance of the real tables of n and p rows, lies on the straight line through them:

    error^2 = e^2 - (half^2 - e^2) (1 - (1/n + 1/p) / (1/t + 1/r)).

    >>> round(at_full_size([0.02, 0.02], [0.02, 0.02], 0.5), 3)  # noise only: sizes do not matter
    1.0
    >>> round(at_full_size([0.02, 0.02], [0.028, 0.028], 0.5), 2)  # sampling error only: sqrt(1/2)
    0.72
"""

from collections.abc import Sequence

import numpy as np


def surplus(rows: int, public: int, parts: tuple[int, int]) -> float:
    """The share of the sampling variance of two parts that tables of ``rows`` and ``public`` rows do not have.

    >>> surplus(1000, 1000, (500, 500)), round(surplus(100, 1000, (100, 900)), 3)
    (0.5, 0.01)
    """
    return 1 - (1 / rows + 1 / public) / (1 / parts[0] + 1 / parts[1])


def at_full_size(errors: Sequence[float], halved: Sequence[float], surplus: float) -> float:
    """By what the errors of runs are to be multiplied; ``halved`` are those of the same runs on half of the rows.

    Never more than 1, and never less than if all were sampling error: few runs must not carry the line too far.
    """
    here, less = float(np.mean(errors)), float(np.mean(halved))
    if not (np.isfinite(less) and here > 0):
        return 1.0
    sampled = min(max((less / here) ** 2 - 1, 0.0), 1.0)
    return float(np.sqrt(1 - surplus * sampled))
