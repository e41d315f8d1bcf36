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
from hedgerow.model.trees.regression_tree import BinaryTree, Shares, grow_rows

_TILE = 512  # rows that go through all trees together


@final
@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees and the steps of their nodes, on the scale of log shares, from ``start``."""

    start: npt.NDArray[np.float32]
    trees: tuple[tuple[BinaryTree, npt.NDArray[np.float32]], ...]

    def shares(self, code_rows: npt.NDArray[Any]) -> Shares:
        """The share of each label for every row."""
        scores = np.tile(self.start, (code_rows.shape[1], 1))
        if self.trees:
            _add_steps(np.ascontiguousarray(code_rows.T), *_chained(self.trees), scores)
        return _softmax(scores, scores)


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
    scores, judged = np.tile(start, (len(known), 1)), np.tile(start, (len(truth), 1))
    shares, rest, seen = np.empty_like(scores), np.empty_like(scores), np.empty_like(judged)
    trees = list[tuple[BinaryTree, npt.NDArray[np.float32]]]()
    best, loss = 0, _loss(_softmax(judged, seen), truth)
    for i in range(GUIDED_TREE.boosting_rounds):
        _residuals(scores, shares, known, rest)
        tree, leaf = grow_rows(kept, rest, sizes, ordered, GUIDED_TREE.boosting_leaf, GUIDED_TREE.boosting_depth)
        steps = _steps(tree, leaf, rest, shares, scores)
        trees.append((tree, steps))
        _add_steps(held, *_chained([(tree, steps)]), judged)
        if (now := _loss(_softmax(judged, seen), truth)) < loss:
            best, loss = i + 1, now
        elif i + 1 - best >= GUIDED_TREE.boosting_patience:
            break
    if some * GUIDED_TREE.boosting_refill < n:
        return BoostedTrees(start, tuple(trees[:best]))
    return _filled(rows, labels, label_count, [tree for tree, _ in trees[:best]])


def model_seconds(labels: int, attributes: int, public_rows: int, lines: int) -> float:
    """About how many CPU seconds a boosted model of ``labels`` and its corrections take; see bench/cost.py.

    For every tree a histogram of all labels for every attribute, a softmax and a step; for every line the steps of
    all trees, and then corrections of every label, some for each attribute's table.  Beyond sixteen, labels are
    worked on several at once.
    """
    many = min(labels, 16) + max(labels - 16, 0) / 3
    tree = 1.8e-9 * attributes * (many + 1) + 1.2e-8 * many
    line = GUIDED_TREE.boosting_rounds * (8e-9 + 9e-10 * many) + (60 + 20 * attributes) * 2.4e-9 * many
    return GUIDED_TREE.boosting_rounds * public_rows * tree + lines * line


def _filled(rows: Any, labels: Any, label_count: int, trees: Sequence[BinaryTree]) -> BoostedTrees:
    """Trees that stand with the steps that ``rows`` give them, one after another."""
    start, made = _start(labels, label_count), list[tuple[BinaryTree, npt.NDArray[np.float32]]]()
    scores, leaf = np.tile(start, (len(labels), 1)), np.zeros(len(labels), np.int64)
    shares, rest = np.empty_like(scores), np.empty_like(scores)
    for tree in trees:
        _residuals(scores, shares, labels, rest)
        _walk(rows, *_endless(tree), int(tree.depth.max()), leaf)
        made.append((tree, _steps(tree, leaf, rest, shares, scores)))
    return BoostedTrees(start, tuple(made))


def _endless(tree: BinaryTree) -> tuple[Any, Any, Any]:
    """The arrays of a tree in which a leaf leads to itself: rows fall as often as it is deep, with nothing to ask.

    Unsigned, which spares a test for negative places.
    """
    leaf = tree.look < 0
    low = np.where(leaf, np.arange(len(leaf)), tree.low)
    return np.where(leaf, 0, tree.look).astype(np.uint64), low.astype(np.uint64), tree.side


def _chained(trees: Sequence[tuple[BinaryTree, npt.NDArray[np.float32]]]) -> tuple[Any, ...]:
    """Trees one after another: where each begins, how deep it is, their arrays, and the steps of their nodes."""
    begins = np.cumsum([0, *(len(steps) for _, steps in trees)], dtype=np.uint64)[:-1]
    arrays = zip(*(_endless(tree) for tree, _ in trees), strict=True)
    deep = np.array([tree.depth.max() for tree, _ in trees])
    return begins, deep, *map(np.concatenate, arrays), np.concatenate([steps for _, steps in trees])


def _residuals(scores: Any, shares: Any, labels: Any, rest: Any) -> None:
    """A 1 for each label less the shares, which are written to ``shares``; in ``rest``, whatever it held."""
    _take_from_labels(_softmax(scores, shares), labels, rest)


def _steps(tree: BinaryTree, leaf: Any, rest: Any, shares: Any, scores: Any) -> npt.NDArray[np.float32]:
    """The damped Newton step of every node; ``scores`` move by that of their leaf."""
    top, bottom = np.zeros((2, len(tree.look), scores.shape[1]))
    _gradient_sums(leaf, rest, shares, top, bottom)
    most = GUIDED_TREE.boosting_clip
    newton = np.clip(top / (bottom + GUIDED_TREE.boosting_ridge), -most, most)
    steps = (GUIDED_TREE.boosting_rate * newton).astype(np.float32)
    _move(leaf, steps, scores)
    return np.asarray(steps)


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
def _add_steps(codes: Any, begins: Any, deep: Any, look: Any, low: Any, side: Any, steps: Any, scores: Any) -> None:
    """Let every row fall through trees that stand one after another, and add the step of each leaf to its scores.

    Some rows at a time, so that both they and a tree stay in the first caches.
    """
    for first in range(0, len(codes), _TILE):
        for t in range(len(begins)):
            base = begins[t]
            for r in range(first, min(first + _TILE, len(codes))):
                at, line = np.uint64(0), codes[r]
                for _ in range(deep[t]):
                    at = low[base + at] + np.uint64(side[base + at, line[look[base + at]]])
                score, step = scores[r], steps[base + at]  # lines by themselves: several labels are added at once
                for k in range(len(step)):
                    score[k] += step[k]


@compiled
def _take_from_labels(shares: Any, labels: Any, rest: Any) -> None:
    for r in range(len(labels)):
        for k in range(shares.shape[1]):
            rest[r, k] = -shares[r, k]
        rest[r, labels[r]] += np.float32(1)


@compiled
def _walk(codes: Any, look: Any, low: Any, side: Any, deep: int, leaf: Any) -> None:
    for r in range(len(codes)):
        at, line = np.uint64(0), codes[r]
        for _ in range(deep):
            at = low[at] + np.uint64(side[at, line[look[at]]])
        leaf[r] = at


@compiled
def _gradient_sums(leaf: Any, rest: Any, shares: Any, top: Any, bottom: Any) -> None:
    for r in range(len(leaf)):
        above, below, left, share = top[leaf[r]], bottom[leaf[r]], rest[r], shares[r]
        for k in range(len(left)):
            above[k] += left[k]
        for k in range(len(left)):
            below[k] += share[k] * (1 - share[k])


@compiled
def _move(leaf: Any, steps: Any, scores: Any) -> None:
    for r in range(len(leaf)):
        score, step = scores[r], steps[leaf[r]]
        for k in range(len(step)):
            score[k] += step[k]
