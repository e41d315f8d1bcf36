"""A regression tree on public rows (CART: Breiman and others 1984).

The labels of a row are several numbers: one 1 for a known label, shares for a guessed one, residuals when a
boosted model is fitted.  A tree grows on histograms: the label sums of every code of every column, of a large node
all from one pass over the rows of its smaller half; those of the larger half are what is left of their parent's.  A
split is worth the drop in squared error.  An ordered column is cut between two codes; the codes of a categorical one
are first put in the order of their leading direction (Coppersmith, Hong and Hosking 1999), which is exact for two
labels.  Codes that do not occur go with the larger half.

``prune`` is cost-complexity pruning whose price of a leaf is the noise that its labels will carry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.lanes import add_line, dividing
from hedgerow.public import Tree

Shares = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_SMOOTH = GUIDED_TREE.code_smoothing  # a plain number, which compiled code can hold
_KEPT = 12  # nodes this deep are small: their histograms are made anew


@final
@dataclass(frozen=True, eq=False)
class BinaryTree:
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
    code_rows: npt.NDArray[Any],
    labels: npt.NDArray[np.float32],
    sizes: Sequence[int],
    ordered: Sequence[bool],
    *,
    smallest: int,
    deepest: int,
    worth: float = 0.0,
) -> BinaryTree:
    """The tree of ``code_rows`` (a row of codes for each column) and ``labels`` (a row of numbers for each record).

    A node of n rows with squared error e stays whole when n < 2 ``smallest``, when it is ``deepest`` down,
    when e <= ``worth`` / n (no split can repay the noise on its halves), or when no split lowers the error.
    """
    rows, filled = np.ascontiguousarray(code_rows.T), beside_ones(*labels.shape)
    filled[:, : labels.shape[1]] = labels
    return grow_rows(rows, filled, labels.shape[1], sizes, ordered, smallest, deepest, worth)[0]


def beside_ones(rows: int, label_count: int) -> npt.NDArray[np.float32]:
    """Room for so many labels of so many rows, a 1 after them, and zeros up to a multiple of four: whole vectors."""
    out = np.zeros((rows, label_count // 4 * 4 + 4), np.float32)
    out[:, label_count] = 1
    return out


def grow_rows(
    rows: npt.NDArray[Any],
    labels: npt.NDArray[np.float32],
    label_count: int,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    smallest: int,
    deepest: int,
    worth: float = 0.0,
) -> tuple[BinaryTree, npt.NDArray[np.uint32]]:
    """The tree of ``rows`` of codes and ``labels``, in room that ``beside_ones`` made, and the leaf of each row."""
    most = max(2 * (len(rows) // max(smallest, 1)) + 3, 3)
    most = min(most, 2 ** (deepest + 1) + 1, 2 * len(rows) + 3)
    count, leaf, *arrays = _grow(
        rows,
        labels,
        np.array(sizes, np.int64),
        np.array(ordered, np.bool_),
        np.array([label_count, smallest, deepest, most, min(deepest, _KEPT) + 2], np.int64),
        worth,
    )
    look, low, held, error, side, depth = (a[:count] for a in arrays)
    return BinaryTree(look, low, held, error, side, depth, tuple(sizes)), leaf


@dividing
def _grow(  # noqa: C901, PLR0912, PLR0915  compiled: one loop over plain arrays
    codes: Any, labels: Any, sizes: Any, ordered: Any, limits: Any, worth: float
) -> Any:
    n, wide, widest, cells = len(codes), labels.shape[1], sizes.max(), sizes.sum()
    label_count, smallest, deepest, most, slots = limits
    first = np.cumsum(sizes) - sizes
    look, low = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    rows, depth = np.zeros(most, np.int64), np.zeros(most, np.int64)
    error, side = np.zeros(most), np.zeros((most, widest), np.uint8)
    order, spare, start = np.arange(n).astype(np.uint32), np.empty(n, np.uint32), np.zeros(most, np.int64)
    leaf, every = np.zeros(n, np.uint32), labels.reshape(-1)
    total, square, squares = np.zeros((most, wide)), np.zeros(most), np.zeros(n)
    # of each slot, for every code of every column, the summed labels of a node's rows, and their number at last
    kept, slot, free = np.zeros((slots, cells, wide)), np.full(most, -1, np.int64), np.arange(slots)
    unused = slots
    own = np.zeros((1, widest, wide))
    seen, score, best_side = np.empty(widest, np.int64), np.empty(widest), np.zeros(widest, np.uint8)
    left, way, fresh = np.zeros(label_count), np.zeros(label_count), np.zeros(label_count)
    apart = np.empty((widest, label_count))
    dense = 4 * cells // len(sizes)  # rows from which a pass over them costs more than one over all codes
    stack, waiting = np.zeros(most, np.int64), 1
    rows[0], count = n, 1
    _square_labels(labels, label_count, squares)
    square[0] = _sum_labels(every, squares, order, total[0])
    if n > dense:
        unused -= 1
        slot[0] = free[unused]
        _add_rows(codes, every, order, first, kept[slot[0]])
    while waiting:
        waiting -= 1
        node = stack[waiting]
        here = order[start[node] : start[node] + rows[node]]
        sums, m = total[node], float(max(rows[node], 1))
        base = 0.0
        for k in range(label_count):
            base += sums[k] * sums[k] / m
        error[node] = max(square[node] - base, 0.0)
        best, pick = base + 1e-9, -1
        small = rows[node] < 2 * smallest or depth[node] >= deepest or count + 2 > most
        if not (small or error[node] * m <= worth or error[node] <= 1e-9):
            for a in range(len(sizes)):
                if slot[node] >= 0:
                    tally = kept[slot[node], first[a] : first[a] + sizes[a]]
                    present = 0
                    for c in range(sizes[a]):
                        if tally[c, label_count] > 0:
                            seen[present] = c
                            present += 1
                else:
                    tally = own[0, : sizes[a]]
                    present = 0
                    flat, line = own.reshape(-1), np.uint64(wide)
                    for r in here:
                        c = codes[r, a]
                        if tally[c, label_count] == 0:
                            seen[present] = c
                            present += 1
                        add_line(flat, np.uint64(c) * line, every, np.uint64(r) * line, line)
                there = seen[:present]
                if ordered[a]:
                    for i in range(present):
                        score[there[i]] = there[i]
                else:
                    _direction(there, tally, sums / m, way, fresh, apart)
                    for i in range(present):
                        c, along = there[i], 0.0
                        for k in range(label_count):
                            along += way[k] * (tally[c, k] - tally[c, label_count] * sums[k] / m)
                        score[c] = along / (tally[c, label_count] + _SMOOTH)
                ranked = there[np.argsort(score[there], kind="mergesort")]
                left[:] = 0.0
                behind, cut, light = 0.0, -1, False
                for i in range(present - 1):
                    c = ranked[i]
                    behind += tally[c, label_count]
                    gain = 0.0
                    for k in range(label_count):
                        left[k] += tally[c, k]
                        rest = sums[k] - left[k]
                        gain += left[k] * left[k] / behind + rest * rest / (m - behind)
                    if gain > best and behind >= smallest and m - behind >= smallest:
                        best, cut, light = gain, i, behind < m - behind
                if cut >= 0:
                    pick = a
                    best_side[:] = 1 if light else 0
                    for j in range(present):
                        best_side[ranked[j]] = 0 if j <= cut else 1
                    if ordered[a]:
                        for j in range(widest):
                            best_side[j] = 0 if j <= ranked[cut] else 1
                if slot[node] < 0:
                    for i in range(present):
                        own[0, there[i]] = 0.0
        if pick < 0:
            for r in here:
                leaf[r] = node
            if slot[node] >= 0:
                free[unused] = slot[node]
                unused += 1
            continue
        look[node], low[node] = pick, count
        for j in range(widest):  # here and below a loop, not `side[node] = best_side`: that compiles for seconds
            side[node, j] = best_side[j]
        zeros, ones = 0, 0
        for r in here:  # each row is written to both sides and stays on its own: there is nothing to guess
            order[start[node] + zeros] = r  # never ahead of where it is read
            spare[ones] = r
            one = 1 if best_side[codes[r, pick]] else 0
            zeros += 1 - one
            ones += one
        for j in range(ones):
            order[start[node] + zeros + j] = spare[j]
        start[count], rows[count], depth[count] = start[node], zeros, depth[node] + 1
        start[count + 1], rows[count + 1], depth[count + 1] = start[node] + zeros, ones, depth[node] + 1
        less, more = (count, count + 1) if zeros <= ones else (count + 1, count)
        fewer = order[start[less] : start[less] + rows[less]]
        square[less] = _sum_labels(every, squares, fewer, total[less])
        for k in range(label_count):
            total[more, k] = sums[k] - total[less, k]
        square[more] = square[node] - square[less]
        if slot[node] >= 0:
            if rows[more] > dense and depth[more] < deepest and unused:
                unused -= 1
                other = free[unused]
                kept[other] = 0.0
                _add_rows(codes, every, fewer, first, kept[other])
                _take_off(kept[slot[node]], kept[other], label_count)
                slot[more] = slot[node]
                if rows[less] > dense:
                    slot[less] = other
                else:
                    free[unused] = other
                    unused += 1
            else:
                free[unused] = slot[node]
                unused += 1
        stack[waiting], stack[waiting + 1] = more, less
        waiting += 2
        count += 2
    return count, leaf, look, low, rows, error, side, depth


@compiled
def _square_labels(labels, label_count, squares):  # type: ignore[no-untyped-def]  # annotations would be checked
    """The summed squares of the labels of every row."""
    for r in range(len(labels)):
        square = 0.0
        for k in range(label_count):
            x = float(labels[r, k])
            square += x * x
        squares[r] = square


@compiled
def _sum_labels(labels, squares, which, total):  # type: ignore[no-untyped-def]  # annotations would be checked
    """Adds the labels of some rows to ``total``; gives their summed squares."""
    square, wide = 0.0, np.uint64(len(total))
    for r in which:
        square += squares[r]
        add_line(total, np.uint64(0), labels, np.uint64(r) * wide, wide)
    return square


@compiled
def _add_rows(codes, labels, which, first, tally):  # type: ignore[no-untyped-def]
    """Add some rows to a histogram of all codes of all columns."""
    wide, flat = np.uint64(tally.shape[1]), tally.reshape(-1)
    for r in which:
        for a in range(codes.shape[1]):
            at = np.uint64(first[a]) + np.uint64(codes[r, a])
            add_line(flat, at * wide, labels, np.uint64(r) * wide, wide)


@compiled
def _take_off(tally, part, last):  # type: ignore[no-untyped-def]
    """A histogram less that of a part of its rows; where none is left, nothing at all."""
    for c in range(len(tally)):
        if tally[c, last] > part[c, last]:
            for k in range(tally.shape[1]):
                tally[c, k] -= part[c, k]
        else:
            tally[c] = 0.0


@dividing
def _direction(seen, tally, mean, way, fresh, apart):  # type: ignore[no-untyped-def]  # annotations would be checked
    """The leading direction of the label shares among the codes: eight steps of power iteration."""
    label_count = len(way)  # where the number of rows stands, after the labels
    way[:] = 0.0
    for i in range(len(seen)):
        c = seen[i]
        for k in range(label_count):
            apart[i, k] = tally[c, k] - tally[c, label_count] * mean[k]
            way[k] += apart[i, k] * apart[i, k] / tally[c, label_count]
    _to_roots(way)
    for _ in range(8):
        fresh[:] = 0.0
        for i in range(len(seen)):
            along, rows = 0.0, tally[seen[i], label_count]
            for k in range(label_count):
                along += apart[i, k] * way[k]
            for k in range(label_count):
                fresh[k] += apart[i, k] * along / rows
        size = 0.0
        for k in range(label_count):
            size += fresh[k] * fresh[k]
        if size <= 0.0:
            return
        for k in range(label_count):
            way[k] = fresh[k] / np.sqrt(size)


@compiled
def _to_roots(way):  # type: ignore[no-untyped-def]
    """Square roots, every second one negative."""
    for k in range(len(way)):
        way[k] = np.sqrt(way[k]) * (1 - 2 * (k % 2))


def prune(grown: BinaryTree, *, noise: float, over: float, chance: float = 1.0) -> npt.NDArray[np.bool_]:
    """Which nodes stay split when a leaf's labels will carry noise.

    A leaf of n public rows with mean impurity g = error / n is charged error + ``chance`` g + ``noise`` / (``over``
    n): what the leaf blurs, what its public rows mislead, and what the noise on its labels will add, ``noise``
    being the variance of one cell times the number of labels and ``over`` confidential rows per public one.
    A split stays when its halves are charged less; nothing confidential enters.
    """
    n = np.maximum(grown.rows, 1)
    charge = grown.error + chance * grown.error / n + noise / (over * n)
    stays = np.zeros(len(n), np.bool_)
    for i in range(len(n) - 1, -1, -1):
        if grown.look[i] >= 0:
            apart = charge[grown.low[i]] + charge[grown.low[i] + 1]
            if apart < charge[i]:
                charge[i], stays[i] = apart, True
    for i, p in enumerate(grown.parent):
        stays[i] &= p < 0 or stays[p]
    return stays


def as_tree(grown: BinaryTree, stays: npt.NDArray[np.bool_], columns: tuple[str, ...]) -> tuple[Tree, Ints]:
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


def above(grown: BinaryTree, ends: Ints, level: int) -> Ints:
    """For each of the leaves ``ends`` the number of the node above it at ``level``; its own when it is higher."""
    at, parent = ends.copy(), grown.parent
    while (deep := grown.depth[at] > level).any():
        at[deep] = parent[at[deep]]
    return np.asarray(np.unique(at, return_inverse=True)[1], np.int64)
