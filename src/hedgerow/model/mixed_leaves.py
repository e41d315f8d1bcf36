"""Label shares from the noisy leaves of several trees: fall back where a leaf is small, then combine the trees."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.random_tree import parents
from hedgerow.public.costs.question import Tree

Combine = Literal["mean", "pooled", "precision"]
Floats = npt.NDArray[np.float64]
Shares = npt.NDArray[np.float32]


def leaf_counts(tree: Tree, noisy: Floats, least: float) -> Floats:
    """The counts that speak for each leaf: its own, or those of the nearest split above that has enough.

    A split has the sum of its leaves that the target reaches.  ``least`` is compared with noisy totals, so falling
    back reveals nothing; a leaf always has counts.
    """
    if not len(tree.arrays[0]) or least <= 0:
        return noisy
    of_leaf, of_split = parents(tree)
    out = noisy.copy()
    above = np.zeros((len(of_split), noisy.shape[1]))
    np.add.at(above, of_leaf[of_leaf >= 0], noisy[of_leaf >= 0])
    for s in range(len(of_split) - 1, 0, -1):
        above[of_split[s]] += above[s]
    at = of_leaf.copy()
    short = np.flatnonzero((noisy.sum(axis=1) < least) & (of_leaf >= 0))
    while len(short):
        out[short] = above[at[short]]
        short = short[(out[short].sum(axis=1) < least) & (of_split[at[short]] >= 0)]
        at[short] = of_split[at[short]]
    return out


def as_shares(counts: npt.NDArray[Any]) -> Shares:
    """Counts cut at zero and divided by their sum, as the papers do; equal shares where nothing is left."""
    out = np.array(counts, np.float32)
    _normalise(out)
    return out


def combine(
    rule: Combine, counts: Sequence[Floats], leaves: Sequence[npt.NDArray[Any]], variances: Sequence[float]
) -> Shares:
    """The shares of each row from the counts of the leaf it has in each tree.

    ``mean``: of the trees' shares (the papers'). ``pooled``: of the summed counts. ``precision``: of shares weighted
    by 1 / (noise variance + spread between the trees), the spread estimated over all rows: the bias term
    without which the largest leaf, which is the least like the row, would decide.
    """
    rows, kinds = len(leaves[0]), counts[0].shape[1]
    total = np.zeros((rows, kinds), np.float32)
    if rule == "pooled":
        for c, leaf in zip(counts, leaves, strict=True):
            _add(total, c, leaf, np.ones(len(c)))
    else:
        shares = [as_shares(c) for c in counts]
        for s, leaf in zip(shares, leaves, strict=True):
            _add(total, s, leaf, np.ones(len(s)))
        if rule == "precision":
            total = _by_precision(
                shares, leaves, counts, variances, middle=np.asarray(total / len(counts), np.float32)
            )
    _normalise(total)
    return total


def _by_precision(
    shares: Sequence[Shares],
    leaves: Sequence[npt.NDArray[Any]],
    counts: Sequence[Floats],
    variances: Sequence[float],
    *,
    middle: Shares,
) -> Shares:
    total = np.zeros_like(middle)
    kinds = middle.shape[1]
    for s, leaf, c, v in zip(shares, leaves, counts, variances, strict=True):
        noise = v * kinds / np.maximum(c.sum(axis=1), 1.0) ** 2
        apart = _apart(s, leaf, middle) / max(len(leaf), 1) - (noise[leaf].mean() if len(leaf) else 0.0)
        _add(total, s, leaf, 1 / (noise + max(apart, 1e-4)))
    return total


@compiled
def _add(total: Any, table: Any, leaf: Any, weight: Any) -> None:
    """Add to each row the line of its leaf, times the leaf's weight."""
    for r in range(len(leaf)):
        at = np.uint32(leaf[r])
        for k in range(total.shape[1]):
            total[r, k] += table[at, k] * weight[at]


@compiled
def _apart(table: Any, leaf: Any, middle: Any) -> Any:
    """The summed squared distance of the rows' lines from ``middle``."""
    out = 0.0
    for r in range(len(leaf)):
        at = np.uint32(leaf[r])
        for k in range(middle.shape[1]):
            out += (table[at, k] - middle[r, k]) ** 2
    return out


@compiled
def _normalise(shares: Any) -> None:
    for r in range(shares.shape[0]):
        total = 0.0
        for k in range(shares.shape[1]):
            shares[r, k] = max(shares[r, k], np.float32(0))
            total += shares[r, k]
        for k in range(shares.shape[1]):
            shares[r, k] = shares[r, k] / total if total > 0 else 1 / shares.shape[1]
