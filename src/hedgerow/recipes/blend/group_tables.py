"""Pairs of columns within groups: what the public rows of a group say, drawn towards what all tables of pairs say.

A group of a thousand rows has pairs of its own that are mostly chance.  Without interaction, they follow from three
tables: each column by group, and the pair of all groups.  How far the rows of groups go beyond that, more than chance
does, is seen on all groups together; so far, and no further, they are believed.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from hedgerow.model.constants import BLEND, PUBLIC_BLEND
from hedgerow.model.records import GroupTargets, Records
from hedgerow.model.tables import Floats, Key, cell_weights, fit_margins, shrink


def within_groups(
    estimates: Mapping[Key, Floats], shape: Sequence[int], rows: Records, weights: Floats
) -> GroupTargets | None:
    """What the records of each value of the first column should have of every pair of the others.

    ``estimates`` are the tables of all pairs; ``rows`` are the support with its ``weights``.  None where there are no
    two other columns, or so many groups and cells that it would take too long.
    """
    others = list(combinations(range(1, len(shape)), 2))
    if not others or shape[0] * sum(shape[a] * shape[b] for a, b in others) > PUBLIC_BLEND.group_cells:
        return None
    row = float(weights @ weights) / max(float(weights.sum()), 1e-300)  # what one sampled row counts for
    filled = [int((estimates[i,] > 0).sum()) for i in range(len(shape))]
    found = {}
    for (_, a, b), weighed in cell_weights(rows, shape, [(0, *pair) for pair in others], weights):
        size = (shape[0], shape[a], shape[b])
        sums = {
            (0, 1): estimates[0, a].reshape(shape[0], shape[a]),
            (0, 2): estimates[0, b].reshape(shape[0], shape[b]),
            (1, 2): estimates[a, b].reshape(shape[a], shape[b]),
        }
        alike = np.multiply.outer(sums[0, 1].sum(axis=1), sums[1, 2]) / max(float(sums[1, 2].sum()), 1e-300)
        # Without interaction the pair is the same in all groups but for its sums.
        alike = fit_margins(alike, sums, sweeps=6)
        own = fit_margins(weighed.reshape(size) + 1e-3 * alike, sums, sweeps=3)
        # Its sums are given: so much of chance is left.
        free = np.prod([1 - 1 / max(filled[i], 1) for i in (0, a, b)])
        mean = alike.ravel()
        drawn = np.maximum(shrink(own.ravel(), mean, row * free * mean), 0.0).reshape(size)
        found[a - 1, b - 1] = fit_margins(drawn, sums, sweeps=3).astype(np.float32)
    return GroupTargets(tuple(shape[1:]), found, BLEND.descent_power)
