"""Weights on a fixed support, raked until weighted counts are the targets: rows are weighed anew, none invented."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int32]


def rake(keys: Sequence[Keys], targets: Sequence[Floats], start: Floats, *, sweeps: int = 60) -> Floats:
    """Weights near ``start`` in relative entropy whose tables are near ``targets``.

    ``keys`` has the cell of every row in each table.  All tables pull at once, by the log of their ratio to the
    target, damped; the step shrinks when the error grows.  Tables that contradict each other end in a compromise.
    The weights sum to what ``start`` sums to.
    """
    total = float(start.sum())
    live = start > 0
    log_weight = np.log(np.where(live, start, 1.0))
    weight, best, least, step, before = start.copy(), start, np.inf, 0.5, np.inf
    stacked = np.stack(keys) if len(keys) else np.zeros((0, len(start)), np.int32)
    for _ in range(sweeps if len(keys) else 0):
        pull = np.zeros(len(start))
        error = 0.0
        for key, target in zip(stacked, targets, strict=True):
            error += _pull(key, target, weight, pull)
        if error < least:
            best, least = weight, error
        step = step * 0.7 if error > before else step
        before = error
        log_weight -= step * pull / (2 * sqrt(len(keys)))
        log_weight -= log_weight[live].max()
        weight = np.where(live, np.exp(log_weight), 0.0)
        weight = weight * (total / weight.sum())
    return np.asarray(best)


@njit(nogil=True, cache=True)
def _pull(key: Keys, target: Floats, weight: Floats, pull: Floats) -> Any:  # pragma: no cover
    """Add to ``pull`` how far the cell of every row is above its target, in logs; the summed error."""
    now = np.zeros(len(target))
    for r in range(len(key)):
        now[key[r]] += weight[r]
    error = 0.0
    for c in range(len(target)):
        error += abs(now[c] - target[c])
        now[c] = np.log((now[c] + 1) / (max(target[c], 0.0) + 1))
    for r in range(len(key)):
        pull[r] += now[key[r]]
    return error
