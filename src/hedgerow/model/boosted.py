"""A boosted model of the labels of public rows: small trees added up, stopped where held-out rows say so.

Every round grows one tree on the residuals of all labels at once and takes a damped Newton step in each leaf.
It is fitted on public rows only and costs no privacy; it is a starting point that noisy leaves correct.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.growing import Binary, grow

Shares = npt.NDArray[np.float32]
_RATE, _ROUNDS, _DEPTH, _PATIENCE, _LEAST = 0.15, 120, 4, 8, 1e-5


@final
@dataclass(frozen=True, eq=False)
class Boosted:
    """Trees and the steps of their nodes, on the scale of log shares, from ``start``."""

    start: npt.NDArray[np.float32]
    trees: tuple[tuple[Binary, npt.NDArray[np.float32]], ...]

    def shares(self, lines: npt.NDArray[Any]) -> Shares:
        """The share of each label for every row."""
        scores = np.tile(self.start, (lines.shape[1], 1))
        for tree, steps in self.trees:
            _add(lines, tree.look, tree.low, tree.side, steps, scores)
        return _softmax(scores)


def boost(
    lines: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    kinds: int,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    rng: np.random.Generator,
) -> Boosted:
    """The boosted model of ``labels`` below ``kinds`` given the codes in ``lines``; a fifth is held out."""
    n = len(labels)
    order = rng.permutation(n)
    held, kept = order[: n // 5], order[n // 5 :]
    best = _rounds(lines[:, kept], labels[kept], lines[:, held], labels[held], kinds, (sizes, ordered))
    return _fitted(lines, labels, kinds, (sizes, ordered), best)


def _rounds(lines: Any, labels: Any, held: Any, truth: Any, kinds: int, form: Any) -> int:
    """How many rounds serve the held-out rows best."""
    start = _start(labels, kinds)
    scores, judged = np.tile(start, (len(labels), 1)), np.tile(start, (len(truth), 1))
    best, loss = 0, _loss(judged, truth)
    for i in range(_ROUNDS):
        tree, steps = _step(lines, labels, kinds, form, scores)
        _add(held, tree.look, tree.low, tree.side, steps, judged)
        if (now := _loss(judged, truth)) < loss:
            best, loss = i + 1, now
        elif i + 1 - best >= _PATIENCE:
            break
    return best


def _fitted(lines: Any, labels: Any, kinds: int, form: Any, rounds: int) -> Boosted:
    start = _start(labels, kinds)
    scores = np.tile(start, (len(labels), 1))
    return Boosted(start, tuple(_step(lines, labels, kinds, form, scores) for _ in range(rounds)))


def _step(lines: Any, labels: Any, kinds: int, form: Any, scores: Any) -> tuple[Binary, npt.NDArray[np.float32]]:
    """One tree on the residuals; ``scores`` move by its steps."""
    sizes, ordered = form
    shares = _softmax(scores)
    rest = -shares
    rest[np.arange(len(labels)), labels] += 1
    tree = grow(lines, rest, sizes, ordered, smallest=20, deepest=_DEPTH)
    node = np.zeros(len(labels), np.int64)
    _walk(lines, tree.look, tree.low, tree.side, node)
    top, bottom = np.zeros((len(tree.look), kinds)), np.zeros((len(tree.look), kinds))
    _sums(node, rest, shares, top, bottom)
    steps = (_RATE * np.clip(top / (bottom + 5.0), -4, 4)).astype(np.float32)
    scores += steps[node]
    return tree, steps


def _start(labels: Any, kinds: int) -> npt.NDArray[np.float32]:
    held = np.bincount(labels, minlength=kinds) + 0.5
    return np.asarray(np.log(held / held.sum()), np.float32)


def _loss(scores: Any, truth: Any) -> float:
    return float(-np.log(_softmax(scores)[np.arange(len(truth)), truth]).mean()) if len(truth) else 0.0


def _softmax(scores: Any) -> Shares:
    up = np.exp(scores - scores.max(axis=1, keepdims=True))
    up /= up.sum(axis=1, keepdims=True)
    np.maximum(up, _LEAST, out=up)
    up /= up.sum(axis=1, keepdims=True)
    return np.asarray(up, np.float32)


@compiled
def _walk(lines: Any, look: Any, low: Any, side: Any, node: Any) -> None:
    for r in range(lines.shape[1]):
        at = 0
        while look[at] >= 0:
            at = low[at] + side[at, lines[look[at], r]]
        node[r] = at


@compiled
def _add(lines: Any, look: Any, low: Any, side: Any, steps: Any, scores: Any) -> None:
    for r in range(lines.shape[1]):
        at = 0
        while look[at] >= 0:
            at = low[at] + side[at, lines[look[at], r]]
        for k in range(scores.shape[1]):
            scores[r, k] += steps[at, k]


@compiled
def _sums(node: Any, rest: Any, shares: Any, top: Any, bottom: Any) -> None:
    for r in range(len(node)):
        for k in range(rest.shape[1]):
            top[node[r], k] += rest[r, k]
            bottom[node[r], k] += shares[r, k] * (1 - shares[r, k])
