"""Weights on a fixed support, raked until weighted counts are the targets: rows are weighed anew, none invented."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int32]
Rows = npt.NDArray[np.uint16]
_CHUNK = 4096  # rows whose cells are worked out at once: they stay in the processor's first cache


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


def rake_rows(
    rows: Rows,
    shape: Sequence[int],
    tables: Mapping[tuple[int, ...], Floats],
    start: Floats,
    *,
    sweeps: int,
    power: float = 1.0,
) -> Floats:
    """Weights of coded ``rows``, scaled to each of ``tables`` (by the positions of its columns) in turn.

    A whole step (``power`` 1) makes a table right at once (iterative proportional fitting) and a little wrong what
    was right before; a few sweeps of small steps stop short of what only noise asks for.  No row's cells are kept,
    so many tables need no more memory than one.  The weights sum to what ``start`` sums to.
    """
    columns, weight, total = np.ascontiguousarray(rows.T), start.copy(), float(start.sum())
    places = [(np.array(k), np.array([shape[i] for i in k]), np.maximum(t, 0.0)) for k, t in tables.items()]
    for _ in range(sweeps):
        for axes, sizes, target in places:
            _scale(columns, axes, sizes, target, weight, power)
        weight *= total / weight.sum()
    return weight


@njit(nogil=True, cache=True)
def _scale(columns, axes, sizes, target, weight, power):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Move the weight of every row towards what its cell lacks; the one on both sides spares nearly empty cells."""
    now, cell, n = np.zeros(len(target)), np.empty(_CHUNK, np.int32), len(weight)
    for low in range(0, n, _CHUNK):
        high = min(low + _CHUNK, n)
        _find(columns, axes, sizes, low, high, cell)
        for r in range(high - low):
            now[cell[r]] += weight[low + r]
    for c in range(len(target)):
        now[c] = ((target[c] + 1) / (now[c] + 1)) ** power
    for low in range(0, n, _CHUNK):
        high = min(low + _CHUNK, n)
        _find(columns, axes, sizes, low, high, cell)
        for r in range(high - low):
            weight[low + r] *= now[cell[r]]


@njit(nogil=True, cache=True)
def _find(columns, axes, sizes, low, high, cell):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The cells of some rows in a table."""
    cell[:] = 0
    for a in range(len(axes)):
        code, size = columns[axes[a], low:high], np.int32(sizes[a])
        for r in range(high - low):
            cell[r] = cell[r] * size + np.int32(code[r])


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
