"""Label shares of the leaves of a tree, from noisy counts and a public starting point.

From the root to the leaves, level by level: the starting point of a node is first tilted to what its parent
came out at, then the noisy counts of the node pull it away, label by label, as far as they are worth more
than the starting point.  How much the truth strays from it is estimated from the noisy counts themselves, so a
public table that does not resemble the confidential one loses its weight.  All of it is post-processing.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_TINY = 1e-12
_FLOOR = 1e-4  # a label is never thought rarer: its spread could not be told from noise
_POOL = 32.0  # nodes on a level whose own spread weighs as much as that of all labels together


@final
@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a tree, parents first.

    Attributes:
        parent: of each node; -1 for the root.
        depth: of each node.
        leaf: the number of the leaf that a node is; -1 for a split.
    """

    parent: npt.NDArray[np.int64]
    depth: npt.NDArray[np.int64]
    leaf: npt.NDArray[np.int64]

    def summed(self, leaves: Floats) -> Floats:
        """For every node the sum over its leaves."""
        out = np.zeros((len(self.parent), *leaves.shape[1:]))
        ends = self.leaf >= 0
        out[ends] = leaves[self.leaf[ends]]
        for level in range(int(self.depth.max()), 0, -1):
            at = np.flatnonzero(self.depth == level)
            np.add.at(out, self.parent[at], out[at])
        return out


def project_rows(shares: Floats) -> Floats:
    """Each line moved to the nearest shares that are not negative and sum to one."""
    down = -np.sort(-shares, axis=1)
    excess = (np.cumsum(down, axis=1) - 1) / np.arange(1, shares.shape[1] + 1)
    last = (down > excess).sum(axis=1) - 1
    return np.asarray(np.maximum(shares - excess[np.arange(len(shares)), last][:, None], 0.0))


def shrink(counts: Floats, prior: Floats, variance: Floats, *, shared: Floats | None = None) -> Floats:
    """Shares from noisy ``counts``, each line pulled towards ``prior`` as far as its noise is large.

    ``variance`` is the noise variance of a cell of each line.  The spread of the truth around the prior is
    phi_k q (1 - q) for label k, by moments over the lines, less what chance alone often shows; with few lines, over
    all labels.  ``shared`` is the part
    of a line that the prior has already been fitted to, which leaves less of a difference to see.
    """
    kinds = counts.shape[1]
    n = np.maximum(counts.sum(axis=1), 1.0)[:, None]
    q, v = prior, variance[:, None]
    spread = np.maximum(q * (1 - q), _FLOOR)
    noise = np.maximum(v * (1 - 2 * q) + kinds * v * q**2, 0.0)
    seen = 1.0 if shared is None else np.maximum(1 - shared, 0.02)[:, None]
    due = seen * (noise + n * spread)
    over = (counts - n * q) ** 2 - due
    under = seen * n**2 * spread
    weight = 1 / np.maximum(noise / n + spread, _TINY) / n  # noisy small lines tell little
    top, bottom = (over * weight / n).sum(axis=0), (under * weight / n).sum(axis=0)
    chance = 5 * ((due * weight / n) ** 2).sum(axis=0)  # the variance of a squared Laplace variable is 5 sigma^4
    together = (top.sum() - 2 * np.sqrt(chance.sum())) / max(bottom.sum(), _TINY)
    top = top - 2 * np.sqrt(chance)
    own = len(counts) / (len(counts) + _POOL)
    phi = np.clip(own * np.maximum(top / np.maximum(bottom, _TINY), 0.0) + (1 - own) * max(together, 0.0), 0.0, 1.0)
    tau = (phi + 1 / n) * spread
    w = tau / (tau + noise / n**2)
    return project_rows(w * counts / n + (1 - w) * q)


def fit_leaves(nodes: Nodes, counts: Floats, start: Floats, variance: float) -> Floats:
    """The shares of each leaf from noisy ``counts`` (leaf by label) and the starting counts ``start``, likewise."""
    noisy, first = nodes.summed(counts), nodes.summed(start) + _TINY
    many = nodes.summed(np.ones((len(counts), 1)))[:, 0]
    guess = first / first.sum(axis=1, keepdims=True)
    size = np.maximum(noisy.sum(axis=1), 1.0)
    shares = np.zeros_like(guess)
    root = np.flatnonzero(nodes.parent < 0)
    shares[root] = shrink(noisy[root], guess[root], variance * many[root])
    for level in range(1, int(nodes.depth.max()) + 1):
        at = np.flatnonzero(nodes.depth == level)
        above = nodes.parent[at]
        tilted = guess[at] * (shares[above] / guess[above])
        tilted = _balanced(tilted, shares[above], first[at].sum(axis=1), above)
        part = np.clip(size[at] / size[above], 0.0, 1.0)
        # what the parent did not believe, its children must not believe together either
        doubted = noisy[above] - size[above][:, None] * shares[above]
        fresh = shrink(noisy[at] - part[:, None] * doubted, tilted, variance * many[at], shared=part)
        shares[at] = _balanced(fresh, shares[above], first[at].sum(axis=1), above)
    out = np.empty((len(counts), counts.shape[1]))
    ends = nodes.leaf >= 0
    out[nodes.leaf[ends]] = shares[ends]
    return out


def _balanced(tilted: Floats, above: Floats, weight: Floats, parent: npt.NDArray[Any]) -> Floats:
    """Shares of siblings scaled so that their weighted mean is the parent's: a few rounds of raking."""
    ids = np.unique(parent, return_inverse=True)[1]
    total = np.bincount(ids, weights=weight)
    out = tilted / np.maximum(tilted.sum(axis=1, keepdims=True), _TINY)
    for _ in range(4):
        mean = np.stack([np.bincount(ids, weights=weight * c) for c in out.T], axis=1) / total[:, None]
        out = out * (above / np.maximum(mean[ids], _TINY))
        out /= np.maximum(out.sum(axis=1, keepdims=True), _TINY)
    return np.asarray(out)
