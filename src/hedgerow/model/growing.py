"""Grow a tree on public rows: binary splits that make the rows' label shares in the two halves as unlike as possible.

The labels of a row are a line of numbers: one 1 for a known label, shares for a guessed one, residuals when a
boosted model is fitted.  A split is worth the drop in squared error.  An ordered column is cut between two
codes; the codes of a categorical one are first put in the order of their leading direction (Coppersmith, Hong
and Hosking 1999), which is exact for two labels.  Codes that do not occur go with the larger half.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.public.costs.question import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_SMOOTH = 5.0  # rows of the node's own mix that a rare code is given before codes are put in order


@final
@dataclass(frozen=True, eq=False)
class Binary:
    """A grown tree, nodes in the order they were made: a child comes after its parent.

    Attributes:
        look: the column each node splits by; -1 for a leaf.
        low: the child for codes on side 0; the next node is the child for side 1.
        rows: how many rows fell in each node.
        error: the summed squared error of the labels around the node's mean.
        side: for each node and code of its column, 0 or 1; rows of ``sizes`` columns one after another.
        depth: of each node.
    """

    look: Ints
    low: Ints
    rows: Ints
    error: Floats
    side: npt.NDArray[np.uint8]
    depth: Ints
    sizes: tuple[int, ...]

    @property
    def parent(self) -> Ints:
        """The parent of each node; -1 for the root."""
        out = np.full(len(self.look), -1)
        split = np.flatnonzero(self.look >= 0)
        out[self.low[split]] = split
        out[self.low[split] + 1] = split
        return out


def grow(
    lines: npt.NDArray[Any],
    labels: npt.NDArray[np.float32],
    sizes: Sequence[int],
    ordered: Sequence[bool],
    *,
    smallest: int,
    deepest: int,
    worth: float = 0.0,
) -> Binary:
    """The tree of ``lines`` (the codes of one column each) and ``labels`` (one line of numbers per row).

    A node of n rows with squared error e stays whole when n < 2 ``smallest``, when it is ``deepest`` down,
    when e <= ``worth`` / n (no split can repay the noise on its halves), or when no split lowers the error.
    """
    most = max(2 * (lines.shape[1] // max(smallest, 1)) + 3, 3)
    most = min(most, 2 ** (deepest + 1) + 1, 2 * lines.shape[1] + 3)
    count, *arrays = _grow(
        lines,
        labels,
        np.array(sizes, np.int64),
        np.array(ordered, np.bool_),
        np.array([smallest, deepest, most], np.int64),
        worth,
    )
    look, low, rows, error, side, depth = (a[:count] for a in arrays)
    return Binary(look, low, rows, error, side, depth, tuple(sizes))


@compiled
def _grow(  # noqa: C901, PLR0915  compiled: one loop over plain arrays
    lines: Any, labels: Any, sizes: Any, ordered: Any, limits: Any, worth: float
) -> Any:
    n, kinds, widest = lines.shape[1], labels.shape[1], sizes.max()
    smallest, deepest, most = limits
    look, low = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    rows, depth = np.zeros(most, np.int64), np.zeros(most, np.int64)
    error, side = np.zeros(most), np.zeros((most, widest), np.uint8)
    order, spare, start = np.arange(n), np.empty(n, np.int64), np.zeros(most, np.int64)
    tally, held, codes = np.zeros((widest, kinds)), np.zeros(widest), np.empty(widest, np.int64)
    score, best_side = np.empty(widest), np.zeros(widest, np.uint8)
    rows[0], count, node = n, 1, 0
    total, left, way, fresh = np.zeros(kinds), np.zeros(kinds), np.zeros(kinds), np.zeros(kinds)
    while node < count:
        here = order[start[node] : start[node] + rows[node]]
        total[:] = 0.0
        square = 0.0
        for r in here:
            for k in range(kinds):
                total[k] += labels[r, k]
                square += labels[r, k] * labels[r, k]
        m = float(max(rows[node], 1))
        base = 0.0
        for k in range(kinds):
            base += total[k] * total[k] / m
        error[node] = max(square - base, 0.0)
        small = rows[node] < 2 * smallest or depth[node] >= deepest or count + 2 > most
        if small or error[node] * m <= worth or error[node] <= 1e-9:
            node += 1
            continue
        best, pick = base + 1e-9, -1
        for a in range(len(sizes)):
            present = 0
            for r in here:
                c = lines[a, r]
                if held[c] == 0:
                    codes[present] = c
                    present += 1
                held[c] += 1
                for k in range(kinds):
                    tally[c, k] += labels[r, k]
            seen = codes[:present]
            if ordered[a]:
                for i in range(present):
                    score[seen[i]] = seen[i]
            else:
                _direction(seen, tally, held, total / m, way, fresh)
                for i in range(present):
                    c, s = seen[i], 0.0
                    for k in range(kinds):
                        s += way[k] * (tally[c, k] - held[c] * total[k] / m)
                    score[c] = s / (held[c] + _SMOOTH)
            ranked = seen[np.argsort(score[seen], kind="mergesort")]
            left[:] = 0.0
            behind = 0.0
            for i in range(present - 1):
                c = ranked[i]
                behind += held[c]
                gain = 0.0
                for k in range(kinds):
                    left[k] += tally[c, k]
                    rest = total[k] - left[k]
                    gain += left[k] * left[k] / behind + rest * rest / (m - behind)
                if gain > best and behind >= smallest and m - behind >= smallest:
                    best, pick = gain, a
                    best_side[:] = 1 if behind < m - behind else 0
                    for j in range(present):
                        best_side[ranked[j]] = 0 if j <= i else 1
                    if ordered[a]:
                        for j in range(widest):
                            best_side[j] = 0 if j <= ranked[i] else 1
            for i in range(present):
                held[seen[i]] = 0
                for k in range(kinds):
                    tally[seen[i], k] = 0.0
        if pick >= 0:
            look[node], low[node] = pick, count
            side[node] = best_side
            zeros, ones = 0, 0
            for r in here:
                if best_side[lines[pick, r]] == 0:
                    order[start[node] + zeros] = r  # never ahead of where it is read
                    zeros += 1
                else:
                    spare[ones] = r
                    ones += 1
            order[start[node] + zeros : start[node] + zeros + ones] = spare[:ones]
            start[count], rows[count], depth[count] = start[node], zeros, depth[node] + 1
            start[count + 1], rows[count + 1], depth[count + 1] = start[node] + zeros, ones, depth[node] + 1
            count += 2
        node += 1
    return count, look, low, rows, error, side, depth


@compiled
def _direction(seen, tally, held, mean, way, fresh):  # type: ignore[no-untyped-def]  # annotations would be checked
    """The leading direction of the label shares among the codes: eight steps of power iteration."""
    kinds = len(way)
    for k in range(kinds):
        way[k] = 0.0
        for c in seen:
            away = tally[c, k] - held[c] * mean[k]
            way[k] += away * away / held[c]
        way[k] = np.sqrt(way[k]) * (1.0 if k % 2 == 0 else -1.0)
    for _ in range(8):
        fresh[:] = 0.0
        for c in seen:
            along = 0.0
            for k in range(kinds):
                along += (tally[c, k] - held[c] * mean[k]) * way[k]
            for k in range(kinds):
                fresh[k] += (tally[c, k] - held[c] * mean[k]) * along / held[c]
        size = 0.0
        for k in range(kinds):
            size += fresh[k] * fresh[k]
        if size <= 0.0:
            return
        for k in range(kinds):
            way[k] = fresh[k] / np.sqrt(size)


def pruned(grown: Binary, *, noise: float, over: float) -> npt.NDArray[np.bool_]:
    """Which nodes stay split when a leaf's labels will carry noise.

    A leaf of n public rows with mean impurity g = error / n is charged error + g + ``noise`` / (``over`` n):
    what the leaf blurs, what its public rows mislead, and what the noise on its labels will add, ``noise``
    being the variance of one cell times the number of labels and ``over`` confidential rows per public one.
    A split stays when its halves are charged less; nothing confidential enters.
    """
    n = np.maximum(grown.rows, 1)
    charge = grown.error + grown.error / n + noise / (over * n)
    stays = np.zeros(len(n), np.bool_)
    for i in range(len(n) - 1, -1, -1):
        if grown.look[i] >= 0:
            apart = charge[grown.low[i]] + charge[grown.low[i] + 1]
            if apart < charge[i]:
                charge[i], stays[i] = apart, True
    for i, p in enumerate(grown.parent):
        stays[i] &= p < 0 or stays[p]
    return stays


def as_tree(grown: Binary, stays: npt.NDArray[np.bool_], columns: tuple[str, ...]) -> tuple[Tree, Ints]:
    """The tree of the splits that stay, and the node that each of its leaves is."""
    parent = grown.parent
    alive = np.array([p < 0 or bool(stays[p]) for p in parent])
    splits, ends = np.flatnonzero(alive & stays), np.flatnonzero(alive & ~stays)
    number = np.zeros(len(stays), np.int64)
    number[splits], number[ends] = np.arange(len(splits)), -1 - np.arange(len(ends))
    sizes = np.array([0, *grown.sizes])
    wide = sizes[grown.look[splits] + 1]
    child = [number[grown.low[s] + grown.side[s, :w].astype(np.int64)] for s, w in zip(splits, wide, strict=True)]
    joined = np.concatenate(child) if child else np.zeros(0, np.int64)
    return Tree.of(columns, len(ends), grown.look[splits], np.cumsum(wide) - wide, joined), ends


def above(grown: Binary, ends: Ints, level: int) -> Ints:
    """For each of the leaves ``ends`` the number of the node above it at ``level``; its own when it is higher."""
    at, parent = ends.copy(), grown.parent
    while (deep := grown.depth[at] > level).any():
        at[deep] = parent[at[deep]]
    return np.asarray(np.unique(at, return_inverse=True)[1], np.int64)
