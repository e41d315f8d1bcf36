"""Label shares from the noisy leaves of several trees: fall back where a leaf is small, then combine the trees."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.model.random_tree import parents
from hedgerow.public.question import Tree

Combine = Literal["mean", "pooled", "precision"]
Floats = npt.NDArray[np.float64]


def leaf_counts(tree: Tree, sizes: Sequence[int], noisy: Floats, least: float) -> Floats:
    """The counts that speak for each leaf: its own, or those of the nearest split above that has enough.

    ``least`` is compared with noisy totals, so falling back reveals nothing; a leaf always has counts.
    """
    of_leaf, of_split = parents(tree, sizes)
    out = noisy.copy()
    if not len(of_split) or least <= 0:
        return out
    above = np.zeros((len(of_split), noisy.shape[1]))
    np.add.at(above, of_leaf, noisy)
    for s in range(len(of_split) - 1, 0, -1):
        above[of_split[s]] += above[s]
    at = of_leaf.copy()
    short = np.flatnonzero(noisy.sum(axis=1) < least)
    while len(short):
        out[short] = above[at[short]]
        short = short[(out[short].sum(axis=1) < least) & (of_split[at[short]] >= 0)]
        at[short] = of_split[at[short]]
    return out


def as_shares(counts: Floats) -> Floats:
    """Counts cut at zero and divided by their sum, as the papers do; equal shares where nothing is left."""
    cut = np.maximum(counts, 0.0)
    total = cut.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, cut / np.maximum(total, 1e-12), 1 / counts.shape[1]))


def combine(
    rule: Combine, counts: Sequence[Floats], leaves: Sequence[npt.NDArray[Any]], variances: Sequence[float]
) -> npt.NDArray[np.float32]:
    """The shares of each row from the counts of the leaf it has in each tree.

    ``mean``: of the trees' shares (the papers'). ``pooled``: of the summed counts. ``precision``: of shares weighted
    by 1 / (noise variance + spread between the trees), the spread estimated over all rows: the bias term
    without which the largest leaf, which is the least like the row, would decide.
    """
    kinds = counts[0].shape[1]
    if rule == "pooled":
        total = np.zeros((len(leaves[0]), kinds))
        for c, leaf in zip(counts, leaves, strict=True):
            total += c[leaf]
        return as_shares(total).astype(np.float32)
    shares = [as_shares(c) for c in counts]
    if rule == "mean":
        held = [s[leaf] for s, leaf in zip(shares, leaves, strict=True)]
        return np.asarray(np.mean(held, axis=0), np.float32)
    noise = [v * kinds / np.maximum(c.sum(axis=1), 1.0) ** 2 for c, v in zip(counts, variances, strict=True)]
    middle = np.mean([s[leaf] for s, leaf in zip(shares, leaves, strict=True)], axis=0)
    apart = [((s[leaf] - middle) ** 2).sum(axis=1) for s, leaf in zip(shares, leaves, strict=True)]
    bias = [max(float((a - e[leaf]).mean()), 1e-4) for a, e, leaf in zip(apart, noise, leaves, strict=True)]
    weight = np.stack([1 / (e[leaf] + b) for e, b, leaf in zip(noise, bias, leaves, strict=True)])
    weight /= weight.sum(axis=0)
    out = sum(w[:, None] * s[leaf] for w, s, leaf in zip(weight, shares, leaves, strict=True))
    return np.asarray(out, np.float32)
