"""Drawn labels exchanged row by row, so that whole tables come out close to the sums of the rows' shares.

Independent draws would add to every table an error as large as that of a survey of these rows.  Here every row
in turn, in random order, is offered a label drawn from its own shares, and takes it if the tables that are watched
come nearer to what the shares sum to.  A row is never offered a label at any other rate than its own share.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled

_SWEEPS = 2


def balance(
    cells: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float32],
    groups: Sequence[npt.NDArray[Any]],
    rng: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """``cells``, a draw from ``shares``, exchanged so that the labels in all ``groups`` are close to their sums."""
    n, kinds = shares.shape
    cells = cells.copy()
    start, total = [], 0
    for group in groups:
        start.append(total)
        total += (int(group.max()) + 1 if n else 0) * kinds
    lines = np.stack([(s + g.astype(np.int64) * kinds) for s, g in zip(start, groups, strict=True)], axis=1)
    off, spread = np.zeros(total), np.zeros(total)
    _distance(shares, lines, cells, off, spread)
    worth = 1 / np.sqrt(spread + 1)
    for _ in range(_SWEEPS):
        _offer(shares, lines, cells, off, worth, rng.permutation(n), rng.random(n))
    return cells


@compiled
def _distance(shares: Any, lines: Any, cells: Any, off: Any, spread: Any) -> None:
    for r in range(len(cells)):
        total = 0.0
        for k in range(shares.shape[1]):
            total += shares[r, k]
        for t in range(lines.shape[1]):
            at = lines[r, t]
            off[at + cells[r]] += 1
            for k in range(shares.shape[1]):
                s = shares[r, k] / total
                off[at + k] -= s
                spread[at + k] += s * (1 - s)


@compiled
def _offer(shares: Any, lines: Any, cells: Any, off: Any, worth: Any, order: Any, u: Any) -> None:
    last = shares.shape[1] - 1
    for r in order:
        total = 0.0
        for k in range(last + 1):
            total += shares[r, k]
        left, new = u[r] * total, 0
        while new < last and left >= shares[r, new]:
            left -= shares[r, new]
            new += 1
        old = cells[r]
        if new == old:
            continue
        change = 0.0  # of the summed worth x squared distance
        for t in range(lines.shape[1]):
            a, b = lines[r, t] + old, lines[r, t] + new
            change += worth[a] * (1 - 2 * off[a]) + worth[b] * (1 + 2 * off[b])
        if change < 0:
            for t in range(lines.shape[1]):
                off[lines[r, t] + old] -= 1
                off[lines[r, t] + new] += 1
            cells[r] = new
