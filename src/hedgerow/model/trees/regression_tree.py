"""Regression trees on public rows (CART: Breiman and others 1984), one by itself, or many added up by boosting.

The labels of a row are several numbers: one 1 for a known label, shares for a guessed one, residuals when a
boosted model is fitted.  A split is worth the drop in squared error.  An ordered column is cut between two
codes; the codes of a categorical one are first put in the order of their leading direction (Coppersmith, Hong
and Hosking 1999), which is exact for two labels.  Codes that do not occur go with the larger half.

``prune`` is cost-complexity pruning whose price of a leaf is the noise that its labels will carry.
``fit_boosted_trees`` is gradient boosting for the multinomial loss (Friedman 2001) with one tree for all labels in a
round, a damped Newton step in each leaf, and early stopping on held-out public rows.  Public rows only: it costs no
privacy, and is a starting point that noisy leaves correct.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.public import Tree

Shares = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_SMOOTH = GUIDED_TREE.code_smoothing  # a plain number, which compiled code can hold


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

    def nodes(self, code_rows: npt.NDArray[Any]) -> Ints:
        """The leaf that each row falls in."""
        node = np.zeros(code_rows.shape[1], np.int64)
        _walk(code_rows, self.look, self.low, self.side, node)
        return node


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
    most = max(2 * (code_rows.shape[1] // max(smallest, 1)) + 3, 3)
    most = min(most, 2 ** (deepest + 1) + 1, 2 * code_rows.shape[1] + 3)
    count, *arrays = _grow(
        code_rows,
        labels,
        np.array(sizes, np.int64),
        np.array(ordered, np.bool_),
        np.array([smallest, deepest, most], np.int64),
        worth,
    )
    look, low, rows, error, side, depth = (a[:count] for a in arrays)
    return BinaryTree(look, low, rows, error, side, depth, tuple(sizes))


@compiled
def _grow(  # noqa: C901, PLR0915  compiled: one loop over plain arrays
    code_rows: Any, labels: Any, sizes: Any, ordered: Any, limits: Any, worth: float
) -> Any:
    n, label_count, widest = code_rows.shape[1], labels.shape[1], sizes.max()
    smallest, deepest, most = limits
    look, low = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    rows, depth = np.zeros(most, np.int64), np.zeros(most, np.int64)
    error, side = np.zeros(most), np.zeros((most, widest), np.uint8)
    order, spare, start = np.arange(n), np.empty(n, np.int64), np.zeros(most, np.int64)
    tally, held, codes = np.zeros((widest, label_count)), np.zeros(widest), np.empty(widest, np.int64)
    score, best_side = np.empty(widest), np.zeros(widest, np.uint8)
    rows[0], count, node = n, 1, 0
    total, left = np.zeros(label_count), np.zeros(label_count)
    way, fresh = np.zeros(label_count), np.zeros(label_count)
    while node < count:
        here = order[start[node] : start[node] + rows[node]]
        total[:] = 0.0
        square = 0.0
        for r in here:
            for k in range(label_count):
                total[k] += labels[r, k]
                square += labels[r, k] * labels[r, k]
        m = float(max(rows[node], 1))
        base = 0.0
        for k in range(label_count):
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
                c = code_rows[a, r]
                if held[c] == 0:
                    codes[present] = c
                    present += 1
                held[c] += 1
                for k in range(label_count):
                    tally[c, k] += labels[r, k]
            seen = codes[:present]
            if ordered[a]:
                for i in range(present):
                    score[seen[i]] = seen[i]
            else:
                _direction(seen, tally, held, total / m, way, fresh)
                for i in range(present):
                    c, s = seen[i], 0.0
                    for k in range(label_count):
                        s += way[k] * (tally[c, k] - held[c] * total[k] / m)
                    score[c] = s / (held[c] + _SMOOTH)
            ranked = seen[np.argsort(score[seen], kind="mergesort")]
            left[:] = 0.0
            behind = 0.0
            for i in range(present - 1):
                c = ranked[i]
                behind += held[c]
                gain = 0.0
                for k in range(label_count):
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
                for k in range(label_count):
                    tally[seen[i], k] = 0.0
        if pick >= 0:
            look[node], low[node] = pick, count
            side[node] = best_side
            zeros, ones = 0, 0
            for r in here:
                if best_side[code_rows[pick, r]] == 0:
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
    label_count = len(way)
    for k in range(label_count):
        way[k] = 0.0
        for c in seen:
            away = tally[c, k] - held[c] * mean[k]
            way[k] += away * away / held[c]
        way[k] = np.sqrt(way[k]) * (1.0 if k % 2 == 0 else -1.0)
    for _ in range(8):
        fresh[:] = 0.0
        for c in seen:
            along = 0.0
            for k in range(label_count):
                along += (tally[c, k] - held[c] * mean[k]) * way[k]
            for k in range(label_count):
                fresh[k] += (tally[c, k] - held[c] * mean[k]) * along / held[c]
        size = 0.0
        for k in range(label_count):
            size += fresh[k] * fresh[k]
        if size <= 0.0:
            return
        for k in range(label_count):
            way[k] = fresh[k] / np.sqrt(size)


def prune(grown: BinaryTree, *, noise: float, over: float) -> npt.NDArray[np.bool_]:
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


@final
@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees and the steps of their nodes, on the scale of log shares, from ``start``."""

    start: npt.NDArray[np.float32]
    trees: tuple[tuple[BinaryTree, npt.NDArray[np.float32]], ...]

    def shares(self, code_rows: npt.NDArray[Any]) -> Shares:
        """The share of each label for every row."""
        scores = np.tile(self.start, (code_rows.shape[1], 1))
        for tree, steps in self.trees:
            scores += steps[tree.nodes(code_rows)]
        return _softmax(scores)


def fit_boosted_trees(
    code_rows: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    label_count: int,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    rng: np.random.Generator,
) -> BoostedTrees:
    """The boosted model of ``labels`` below ``label_count`` given the codes in ``code_rows``; a fifth is held out."""
    n = len(labels)
    some = n // GUIDED_TREE.boosting_held_out
    order = rng.permutation(n)
    held, kept = order[:some], order[some:]
    best = _best_rounds(
        code_rows[:, kept], labels[kept], code_rows[:, held], labels[held], label_count, (sizes, ordered)
    )
    return _fit_rounds(code_rows, labels, label_count, (sizes, ordered), best)


def _best_rounds(code_rows: Any, labels: Any, held: Any, truth: Any, label_count: int, form: Any) -> int:
    """How many rounds serve the held-out rows best."""
    start = _start(labels, label_count)
    scores, judged = np.tile(start, (len(labels), 1)), np.tile(start, (len(truth), 1))
    best, loss = 0, _loss(judged, truth)
    for i in range(GUIDED_TREE.boosting_rounds):
        tree, steps = _step(code_rows, labels, label_count, form, scores)
        judged += steps[tree.nodes(held)]
        if (now := _loss(judged, truth)) < loss:
            best, loss = i + 1, now
        elif i + 1 - best >= GUIDED_TREE.boosting_patience:
            break
    return best


def _fit_rounds(code_rows: Any, labels: Any, label_count: int, form: Any, rounds: int) -> BoostedTrees:
    start = _start(labels, label_count)
    scores = np.tile(start, (len(labels), 1))
    return BoostedTrees(start, tuple(_step(code_rows, labels, label_count, form, scores) for _ in range(rounds)))


def _step(
    code_rows: Any, labels: Any, label_count: int, form: Any, scores: Any
) -> tuple[BinaryTree, npt.NDArray[np.float32]]:
    """One tree on the residuals; ``scores`` move by its steps."""
    sizes, ordered = form
    shares = _softmax(scores)
    rest = -shares
    rest[np.arange(len(labels)), labels] += 1
    tree = grow(
        code_rows, rest, sizes, ordered, smallest=GUIDED_TREE.boosting_leaf, deepest=GUIDED_TREE.boosting_depth
    )
    node = tree.nodes(code_rows)
    top, bottom = np.zeros((len(tree.look), label_count)), np.zeros((len(tree.look), label_count))
    _gradient_sums(node, rest, shares, top, bottom)
    most = GUIDED_TREE.boosting_clip
    newton = np.clip(top / (bottom + GUIDED_TREE.boosting_ridge), -most, most)
    steps = (GUIDED_TREE.boosting_rate * newton).astype(np.float32)
    scores += steps[node]
    return tree, steps


def _start(labels: Any, label_count: int) -> npt.NDArray[np.float32]:
    held = np.bincount(labels, minlength=label_count) + 0.5
    return np.asarray(np.log(held / held.sum()), np.float32)


def _loss(scores: Any, truth: Any) -> float:
    return float(-np.log(_softmax(scores)[np.arange(len(truth)), truth]).mean()) if len(truth) else 0.0


def _softmax(scores: Any) -> Shares:
    up = np.exp(scores - scores.max(axis=1, keepdims=True))
    up /= up.sum(axis=1, keepdims=True)
    np.maximum(up, GUIDED_TREE.least_share, out=up)
    up /= up.sum(axis=1, keepdims=True)
    return np.asarray(up, np.float32)


@compiled
def _walk(code_rows: Any, look: Any, low: Any, side: Any, node: Any) -> None:
    for r in range(code_rows.shape[1]):
        at = 0
        while look[at] >= 0:
            at = low[at] + side[at, code_rows[look[at], r]]
        node[r] = at


@compiled
def _gradient_sums(node: Any, rest: Any, shares: Any, top: Any, bottom: Any) -> None:
    for r in range(len(node)):
        for k in range(rest.shape[1]):
            top[node[r], k] += rest[r, k]
            bottom[node[r], k] += shares[r, k] * (1 - shares[r, k])
