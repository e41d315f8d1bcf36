"""Noisy pairs of columns with many values: association lies in few directions, noise in all of them.

A pair of eight bands each has 49 free cells, and what it tells is often one thing: more of this goes with more of
that.  Drawn towards what is expected cell by cell, it loses of that as much as of everything else, which is noise.
So the directions that noise does not explain (singular vectors of the gap to what is expected) are kept, each less
what noise added to it; the cells are shrunk around these, by what drift is left.
"""

from math import sqrt

import numpy as np

from hedgerow.model.constants import TREE_BLEND
from hedgerow.model.tables.shrinkage import Floats, Moments, Variance, drift_of, shrink, shrunk_values


def shrink_pair(
    table: Floats, mean: Floats, noise: Variance, shape: tuple[int, int], like: Moments | None = None
) -> Floats:
    """A noisy pair, flat, shrunk towards ``mean``, which has the same sums of rows and columns.

    Args:
        table: noisy counts, given the sums of ``mean``.
        mean: what is expected of them.
        noise: the variance that is left in a cell; where it differs, by row and column.
        shape: how many values each column has.
        like: what pairs like it tell of their drift; see ``drift_of``.
    """
    told, spent = beyond_noise(table - mean, noise, shape)
    if not spent:
        return shrink(table, mean, noise, like)
    near = mean + told
    possible = np.maximum(near, TREE_BLEND.tree_trace * mean)
    drift = drift_of([table - near + possible], [possible], [noise * (1 - spent)])
    spread = drift.variance(possible)
    return np.asarray(near + (table - near) * spread / (spread + np.maximum(noise, 1e-12)))


def beyond_noise(gap: Floats, noise: Variance, shape: tuple[int, int]) -> tuple[Floats, float]:
    """What of a gap without sums lies in directions that noise does not explain; the share of freedom they took.

    The largest singular value of noise alone has the law of Tracy and Widom (Johnstone 2001), about; what noise adds
    to a larger one is taken off (Gavish and Donoho 2017).

    >>> gap = 500 * np.outer([-1, 0, 0, 0, 0, 1], [-1, 0, 0, 0, 0, 1]).ravel().astype(float)
    >>> told, spent = beyond_noise(gap, 100.0, (6, 6))
    >>> bool(np.abs(told - gap).max() < 5), spent
    (True, 0.36)
    >>> beyond_noise(gap, 1e6, (6, 6))[1]
    0.0
    """
    few, many = min(shape) - 1, max(shape) - 1
    if not TREE_BLEND.least_directions <= min(shape) <= TREE_BLEND.most_directions:
        return np.zeros(len(gap)), 0.0
    each = np.broadcast_to(noise, gap.shape).reshape(shape)
    sd = np.sqrt(np.outer(each.mean(axis=1), each.mean(axis=0)) / max(float(each.mean()), 1e-300))
    sd = np.maximum(sd, 1e-150)
    left, values, right = np.linalg.svd(gap.reshape(shape) / sd, full_matrices=False)
    unit = sqrt(shape[0] * shape[1] / (few * many))  # a cell has less noise than a direction: its sums are known
    edge = sqrt(few) + sqrt(many)
    most = edge**2 + TREE_BLEND.direction_sure * edge * (1 / sqrt(few) + 1 / sqrt(many)) ** (1 / 3)
    kept = values > unit * sqrt(most)
    size = int(kept.sum())
    if not size:
        return np.zeros(len(gap)), 0.0
    clean = shrunk_values(values[kept], unit * sqrt(many), few / many)
    spent = size * (few + many - size) / (few * many)
    return np.asarray(((left[:, kept] * clean) @ right[kept] * sd).ravel()), min(spent, 1.0)
