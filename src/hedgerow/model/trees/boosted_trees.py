"""Many small regression trees on public rows, added up: a model of the labels that noisy leaves correct later.

Gradient boosting for the multinomial loss (Friedman 2001) with one tree for all labels in a round, a damped Newton
step in each leaf, and early stopping on held-out public rows.  Trees are grown once; their steps come from all rows,
held-out ones included unless these are few, which is better than to grow them again on all.  Public rows only: it
costs no privacy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.lanes import add_line, curve_line, dividing, lowest_bit, step_line
from hedgerow.model.trees.regression_tree import BinaryTree, Shares, beside_ones, grow_rows

_TILE = 256  # rows that go through all trees together
_BLOCK = 4096  # rows whose scores stand label by label, so that a loop over rows does several at once


@final
@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees and the steps of their nodes, on the scale of log shares, from ``start``."""

    start: npt.NDArray[np.float32]
    trees: tuple[tuple[BinaryTree, npt.NDArray[np.float32]], ...]

    def shares(self, code_rows: npt.NDArray[Any]) -> Shares:
        """The share of each label for every row."""
        scores, chain = np.tile(self.start, (code_rows.shape[1], 1)), _chained(self.trees)
        for low in range(0, len(scores), _BLOCK):
            some = slice(low, low + _BLOCK)
            _add_steps(np.ascontiguousarray(code_rows[:, some].T), *chain, scores[some])
            _softmax(scores[some], scores[some])
        return scores


def fit_boosted_trees(
    code_rows: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    label_count: int,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    rng: np.random.Generator,
) -> BoostedTrees:
    """The boosted model of ``labels`` below ``label_count`` given the codes in ``code_rows``.

    A part of the rows is held out and says how many of the trees that the others grow are kept.  All rows together
    then say what the steps of these trees are, unless so few were held out that it makes no difference.
    """
    n = len(labels)
    some = min(n // GUIDED_TREE.boosting_held_out, GUIDED_TREE.boosting_most_held_out)
    rows, order = np.ascontiguousarray(code_rows.T), rng.permutation(n)
    held, kept = rows[order[:some]], rows[order[some:]]
    truth, known = labels[order[:some]], labels[order[some:]]
    start = _start(known, label_count)
    model, judged = _Boosting(start, known), np.tile(start, (len(truth), 1))
    seen = np.empty_like(judged)
    trees = list[tuple[BinaryTree, npt.NDArray[np.float32]]]()
    best, loss = 0, _loss(_softmax(judged, seen), truth)
    limits = GUIDED_TREE.boosting_leaf, GUIDED_TREE.boosting_depth
    for i in range(GUIDED_TREE.boosting_rounds):
        tree, leaf = grow_rows(kept, model.residuals(), label_count, sizes, ordered, *limits)
        steps = model.steps(len(tree.look), leaf)
        trees.append((tree, steps))
        _add_steps(held, *_chained([(tree, steps)]), judged)
        if (now := _loss(_softmax(judged, seen), truth)) < loss:
            best, loss = i + 1, now
        elif i + 1 - best >= GUIDED_TREE.boosting_patience:
            break
    if some * GUIDED_TREE.boosting_refill < n:
        return BoostedTrees(start, tuple(trees[:best]))
    return _filled(rows, labels, label_count, [tree for tree, _ in trees[:best]])


def model_seconds(labels: int, attributes: int, public_rows: int, lines: int, values: int) -> float:
    """About how many CPU seconds a boosted model of ``labels`` and its corrections take; see bench/cost.py.

    For every tree a histogram of all labels for every attribute, a softmax and a step; for every line the steps of
    all trees, and then corrections of every label, some for each attribute's table.  Beyond sixteen, labels are
    worked on several at once.  Every split of a tree is looked for among all ``values`` of all attributes that its
    rows have.
    """
    many = min(labels, 16) + max(labels - 16, 0) / 2
    tree = 1.2e-9 * attributes * (many + 1) + 8e-9 * many
    line = GUIDED_TREE.boosting_rounds * (5e-9 + 6e-10 * many) + (60 + 20 * attributes) * 1.6e-9 * many
    deepest = GUIDED_TREE.boosting_depth
    tried = 1.6e-8 * (many + 1) * min(((1 << deepest) - 1) * values, deepest * attributes * public_rows)
    return GUIDED_TREE.boosting_rounds * (public_rows * tree + tried) + lines * line


def _filled(rows: Any, labels: Any, label_count: int, trees: Sequence[BinaryTree]) -> BoostedTrees:
    """Trees that stand with the steps that ``rows`` give them, one after another."""
    start, made = _start(labels, label_count), list[tuple[BinaryTree, npt.NDArray[np.float32]]]()
    model, leaf = _Boosting(start, labels), np.zeros(len(labels), np.uint32)
    for tree in trees:
        model.residuals()
        first, (used, masks, ends) = np.cumsum([0, *tree.sizes], dtype=np.uint64), _masks(tree)
        _walk(rows, first, used, masks, ends, leaf)
        made.append((tree, model.steps(len(tree.look), leaf)))
    return BoostedTrees(start, tuple(made))


@final
class _Boosting:
    """Rows whose scores move with every tree.

    Scores stand in blocks of rows, in each block label by label: loops over rows are spread over vectors.  The
    residuals that a tree is grown on stand row by row.  ``own`` is each row's share of its own label, which is what
    they do not tell: of every other label they have the share, negative.
    """

    def __init__(self, start: npt.NDArray[np.float32], labels: npt.NDArray[np.int64]) -> None:
        n, self.label_count, self.labels = len(labels), len(start), labels
        blocks = -(-n // _BLOCK)
        self.scores = np.empty((blocks, len(start), _BLOCK), np.float32)
        self.scores[:] = start[:, None]
        self.rest, self.own = beside_ones(n, len(start)), np.empty(n, np.float32)
        self.moved, self.leaf = np.zeros((len(start), 1), np.float32), np.zeros(blocks * _BLOCK, np.uint32)

    def residuals(self) -> npt.NDArray[np.float32]:
        """A 1 for each label less the shares, after the last steps; whatever was there is overwritten."""
        up, least = np.empty(self.scores.shape[1:], np.float32), np.float32(GUIDED_TREE.least_share)
        for i, block in enumerate(self.scores):
            some = slice(i * _BLOCK, (i + 1) * _BLOCK)
            _step_and_below_largest(block, self.leaf[some], self.moved, up)
            np.exp(up, out=up)
            _to_residuals(up, least, self.labels[some], self.rest[some], self.own[some])
        return self.rest

    def steps(self, nodes: int, leaf: npt.NDArray[np.uint32]) -> npt.NDArray[np.float32]:
        """The damped Newton step of every node; scores move by that of their leaf when residuals are asked again."""
        top, bottom = np.zeros((2, nodes, self.rest.shape[1]))
        _gradient_sums(leaf, self.rest, self.labels, self.own, top, bottom)
        top, bottom = top[:, : self.label_count], bottom[:, : self.label_count]
        most = GUIDED_TREE.boosting_clip
        newton = np.clip(top / (bottom + GUIDED_TREE.boosting_ridge), -most, most)
        steps = (GUIDED_TREE.boosting_rate * newton).astype(np.float32)
        self.moved = np.ascontiguousarray(steps.T)
        self.leaf[: len(leaf)] = leaf
        return np.asarray(steps)


def _masks(tree: BinaryTree) -> tuple[Any, Any, Any]:
    """A tree by what its columns rule out (QuickScorer: Lucchese and others 2015).

    The columns it looks at; for every code of every column a bit for each leaf that the code leaves possible; and
    the leaves.  The leaf of a row is the one that all its codes leave: they are looked up without waiting for each
    other, where a fall from node to node waits at every split.
    """
    leaves = np.flatnonzero(tree.look < 0)
    assert len(leaves) <= 32, "more leaves than bits"
    below, first = np.zeros(len(tree.look), np.uint32), np.cumsum([0, *tree.sizes])
    below[leaves] = np.uint32(1) << np.arange(len(leaves), dtype=np.uint32)
    masks = np.full(first[-1], below[leaves].sum(dtype=np.uint32), np.uint32)
    for node in np.flatnonzero(tree.look >= 0)[::-1]:  # children come after their parents
        low, column = tree.low[node], tree.look[node]
        below[node] = below[low] | below[low + 1]
        ruled_out = np.where(tree.side[node, : tree.sizes[column]], below[low], below[low + 1])
        masks[first[column] : first[column + 1]] &= ~ruled_out
    return np.unique(tree.look[tree.look >= 0]).astype(np.uint64), masks, leaves


def _chained(trees: Sequence[tuple[BinaryTree, npt.NDArray[np.float32]]]) -> tuple[Any, ...]:
    """Trees one after another: where codes of columns begin, columns of all trees and where each tree's end, masks,
    and the steps of their leaves, 32 lines for each tree.
    """
    label_count = trees[0][1].shape[1] if trees else 0
    first = np.cumsum([0, *(trees[0][0].sizes if trees else ())], dtype=np.uint64)
    masks, steps = (
        np.zeros((len(trees), int(first[-1])), np.uint32),
        np.zeros((len(trees), 32, label_count), np.float32),
    )
    used = [np.zeros(0, np.uint64)]
    for i, (tree, step) in enumerate(trees):
        columns, masks[i], leaves = _masks(tree)
        steps[i, : len(leaves)] = step[leaves]
        used.append(columns)
    return first, np.concatenate(used), np.cumsum([len(u) for u in used]), masks, steps


def _start(labels: Any, label_count: int) -> npt.NDArray[np.float32]:
    held = np.bincount(labels, minlength=label_count) + 0.5
    return np.asarray(np.log(held / held.sum()), np.float32)


def _loss(shares: Shares, truth: Any) -> float:
    return float(-np.log(shares[np.arange(len(truth)), truth]).mean()) if len(truth) else 0.0


def _softmax(scores: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> Shares:
    """The shares that go with log shares, written to ``out``; none is below the least one."""
    _below_largest(scores, out)
    np.exp(out, out=out)
    _to_shares(out, np.float32(GUIDED_TREE.least_share))
    return out


@compiled
def _below_largest(scores: Any, out: Any) -> None:
    for r in range(len(scores)):
        largest = scores[r, 0]
        for k in range(scores.shape[1]):
            largest = max(largest, scores[r, k])
        for k in range(scores.shape[1]):
            out[r, k] = scores[r, k] - largest


@compiled
def _to_shares(up: Any, least: Any) -> None:
    for r in range(len(up)):
        total = np.float32(0)
        for k in range(up.shape[1]):
            total += up[r, k]
        again = np.float32(0)
        for k in range(up.shape[1]):
            up[r, k] = max(up[r, k] / total, least)
            again += up[r, k]
        for k in range(up.shape[1]):
            up[r, k] /= again


@compiled
def _add_steps(codes: Any, first: Any, used: Any, ends: Any, masks: Any, steps: Any, scores: Any) -> None:
    """Let every row go through trees that stand one after another, and add the step of each leaf to its scores.

    Some rows at a time, so that both they and a tree stay in the first caches.
    """
    line, flat, into = np.uint64(scores.shape[1]), steps.reshape(-1), scores.reshape(-1)
    for low in range(0, len(codes), _TILE):
        for t in range(len(masks)):
            mask, columns = masks[t], used[ends[t] : ends[t + 1]]
            for r in range(low, min(low + _TILE, len(codes))):
                left = np.uint32(0xFFFFFFFF) if len(columns) else np.uint32(1)
                for a in columns:
                    left &= mask[first[a] + np.uint64(codes[r, a])]
                at = np.uint64(t) * np.uint64(32) + np.uint64(lowest_bit(left))
                step_line(into, np.uint64(r) * line, flat, at * line, line)


@compiled
def _walk(codes: Any, first: Any, used: Any, mask: Any, ends: Any, leaf: Any) -> None:
    for r in range(len(codes)):
        left = np.uint32(0xFFFFFFFF) if len(used) else np.uint32(1)
        for a in used:
            left &= mask[first[a] + np.uint64(codes[r, a])]
        leaf[r] = ends[np.uint64(lowest_bit(left))]


@compiled
def _step_and_below_largest(scores: Any, leaf: Any, steps: Any, out: Any) -> None:
    """Scores of a block, label by label, moved by the steps of leaves, and less the largest of each row."""
    largest = np.full(scores.shape[1], -np.inf, np.float32)
    for k in range(len(scores)):
        score, step = scores[k], steps[k]
        for r in range(len(score)):
            score[r] += step[np.uint64(leaf[r])]
        for r in range(len(score)):
            largest[r] = score[r] if score[r] > largest[r] else largest[r]
    for k in range(len(scores)):
        for r in range(scores.shape[1]):
            out[k, r] = scores[k, r] - largest[r]


@dividing
def _to_residuals(up: Any, least: Any, labels: Any, rest: Any, own: Any) -> None:
    """Exponentials of a block made shares that sum to 1, none below the least; and what labels leave of them."""
    total, again = np.zeros(up.shape[1], np.float32), np.zeros(up.shape[1], np.float32)
    for k in range(len(up)):
        for r in range(up.shape[1]):
            total[r] += up[k, r]
    for k in range(len(up)):
        for r in range(up.shape[1]):
            share = up[k, r] / total[r]
            share = share if share > least else least
            up[k, r] = share
            again[r] += share
    for k in range(len(up)):
        for r in range(up.shape[1]):
            up[k, r] /= again[r]
    for r in range(len(labels)):
        for k in range(len(up)):
            rest[r, k] = -up[k, r]
        own[r] = up[labels[r], r]
        rest[r, labels[r]] += np.float32(1)


@compiled
def _gradient_sums(leaf: Any, rest: Any, labels: Any, own: Any, top: Any, bottom: Any) -> None:
    """Residuals, and s (1 - s) of shares, summed up by leaf."""
    line, flat, above, below = np.uint64(rest.shape[1]), rest.reshape(-1), top.reshape(-1), bottom.reshape(-1)
    for r in range(len(leaf)):
        to, at = np.uint64(leaf[r]) * line, np.uint64(r) * line
        add_line(above, to, flat, at, line)
        curve_line(below, to, flat, at, np.uint64(labels[r]), own[r], line)
