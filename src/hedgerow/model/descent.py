"""Records fitted to two-way tables: each record moves to the values that lower the error most.

The error is the sum over tables of w (S - T)^2, S being the counts of the records and T the targets.  Moving one
record from value v to b in a column changes it by 2 w (D_b - D_v + 1) with D = S - T, summed over its tables.  D
is laid out as one square array over all (column, value), so that the scores of all values of all columns of a
record are one sum of contiguous rows.  A few sweeps give an error that gradual updates never reach.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from numba import njit

Records = npt.NDArray[np.uint16]
Pair = tuple[int, int]
MOST = 20_000  # values of all columns together: 1.6 GB of residuals


def quick(loop: Any) -> Any:
    """``loop`` as machine code, kept in the user's cache where one can be written."""
    try:
        return njit(nogil=True, cache=True, fastmath=True, error_model="numpy")(loop)
    except RuntimeError:
        return njit(nogil=True, fastmath=True, error_model="numpy")(loop)


@final
@dataclass(frozen=True, eq=False)
class PairTargets:
    """What the records should count: two-way tables, each with a weight, for records of ``shape``.

    Attributes:
        starts: where the values of each column begin among all values; the last is their number.
        target: weighted target counts over all (column, value) twice; 0 where nothing is asked.
        weight: the weight of each pair of columns; 0 where nothing is asked.
        total: the number of records that the targets add up to.
    """

    starts: npt.NDArray[np.int64]
    target: npt.NDArray[np.float32]
    weight: npt.NDArray[np.float32]
    total: float


def pair_targets(
    shape: tuple[int, ...],
    tables: Mapping[Pair, npt.NDArray[np.float64]],
    total: float,
    *,
    weights: Mapping[Pair, float] | None = None,
) -> PairTargets:
    """The layout of ``tables``, which may be flat, for columns of ``shape``. Weights are 1 by default."""
    starts = np.concatenate([[0], np.cumsum(shape)]).astype(np.int64)
    width = int(starts[-1])
    target = np.zeros((width, -(-width // 16) * 16), np.float32)
    weight = np.zeros((len(shape), len(shape)), np.float32)
    for (i, j), table in tables.items():
        w = np.float32(1.0 if weights is None else weights[i, j])
        weight[i, j] = weight[j, i] = w
        square = np.asarray(table, np.float32).reshape(shape[i], shape[j]) * w
        target[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = square
        target[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] = square.T
    return PairTargets(starts, target, weight, total)


def descend(records: Records, targets: PairTargets, rng: np.random.Generator, *, sweeps: int = 3) -> Records:
    """The records after ``sweeps`` passes; stops early when hardly any record moves. The input is not changed."""
    fitted = records.copy()
    if not len(records) or not targets.weight.any():
        return fitted
    scaled = targets.target * np.float32(len(records) / targets.total)
    residual = np.empty_like(scaled)
    _fill(fitted, targets.starts, targets.weight, scaled, residual)
    pull = targets.weight.sum(axis=1)
    columns = records.shape[1]
    for _ in range(sweeps):
        order = rng.permutation(columns)
        if _sweep(fitted, targets.starts, residual, targets.weight, pull, order) * 500 < len(records):
            break
    return fitted


def descend_groups(
    records: Records, sizes: npt.NDArray[np.int64], targets: PairTargets, rng: np.random.Generator, *, sweeps: int = 3
) -> Records:
    """Groups of records, one after another in ``records``, each fitted by itself to the same shares."""
    fitted = records.copy()
    ends = np.cumsum(sizes)
    orders = np.stack([rng.permutation(records.shape[1]) for _ in range(sweeps)])
    _groups(fitted, ends, targets.starts, targets.weight, targets.target / np.float32(targets.total), orders)
    return fitted


@quick
def _fill(records, starts, weight, target, residual):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Residuals: weighted counts less weighted targets."""
    for a in range(residual.shape[0]):
        for b in range(residual.shape[1]):
            residual[a, b] = -target[a, b]
    n, k = records.shape
    for r in range(n):
        for i in range(k):
            row = residual[starts[i] + np.int64(records[r, i])]
            for j in range(k):
                row[starts[j] + np.int64(records[r, j])] += weight[i, j]


@quick
def _scores(x, starts, residual, pull, score):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The change of error, halved, if record ``x`` had each value of each column; four rows at a time."""
    k = len(x)
    score[:] = 0
    q = 0
    while q + 4 <= k:
        r0 = residual[starts[q] + np.int64(x[q])]
        r1 = residual[starts[q + 1] + np.int64(x[q + 1])]
        r2 = residual[starts[q + 2] + np.int64(x[q + 2])]
        r3 = residual[starts[q + 3] + np.int64(x[q + 3])]
        for c in range(len(score)):
            score[c] += (r0[c] + r1[c]) + (r2[c] + r3[c])
        q += 4
    while q < k:
        r0 = residual[starts[q] + np.int64(x[q])]
        for c in range(len(score)):
            score[c] += r0[c]
        q += 1
    for q in range(k):
        score[starts[q] + np.int64(x[q])] -= pull[q]


@quick
def _move(x, i, b, starts, residual, weight, score):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Give record ``x`` the value ``b`` in column ``i``, and keep residuals and scores right."""
    low, v = starts[i], np.int64(x[i])
    old, new = residual[low + v], residual[low + b]
    for c in range(len(score)):
        score[c] += new[c] - old[c]
    for j in range(len(x)):
        w = weight[i, j]
        if w != 0:
            at = starts[j] + np.int64(x[j])
            score[at] += w
            old[at] -= w
            new[at] += w
            mirror = residual[at]
            mirror[low + v] -= w
            mirror[low + b] += w
    x[i] = b


@quick
def _sweep(records, starts, residual, weight, pull, order):  # type: ignore[no-untyped-def]  # pragma: no cover
    """One pass over the records; how many values moved."""
    n, k = records.shape
    score = np.zeros(residual.shape[1], np.float32)
    moved = 0
    for r in range(n):
        x = records[r]
        _scores(x, starts, residual, pull, score)
        for turn in range(k):
            i = order[(turn + r) % k]
            part = score[starts[i] : starts[i + 1]]
            least = part[np.int64(x[i])]
            for c in range(len(part)):
                least = min(least, part[c])
            if least < part[np.int64(x[i])]:
                b = 0
                while b < len(part) - 1 and part[b] > least:
                    b += 1
                _move(x, i, b, starts, residual, weight, score)
                moved += 1
    return moved


@quick
def _groups(records, ends, starts, weight, share, orders):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Every group fitted to its own number of records times the shares."""
    pull = weight.sum(axis=1)
    target = np.empty_like(share)
    residual = np.empty_like(share)
    low = 0
    for g in range(ends.shape[0]):
        high = ends[g]
        own = records[low:high]
        n = np.float32(high - low)
        for a in range(share.shape[0]):
            for b in range(share.shape[1]):
                target[a, b] = share[a, b] * n
        _fill(own, starts, weight, target, residual)
        for s in range(orders.shape[0]):
            if _sweep(own, starts, residual, weight, pull, orders[s]) * 500 < high - low:
                break
        low = high
