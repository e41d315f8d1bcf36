"""Ordered public columns that moved as a whole, as pay does with prices: each value becomes the one of its rank.

Raking weighs rows anew and invents none: where pay has risen, the best paid rows of each grade would stand for all of
it, and what goes with pay would be lost.  The value of the same rank keeps what goes with it, whatever the unit.
"""

import numpy as np

from hedgerow.model.records import Records, fixed_stream
from hedgerow.model.tables import Floats


def by_rank(column: Records, weights: Floats, margin: Floats, steps: int) -> Records:
    """The values of a column, those among its first ``steps`` moved to the value of their rank in ``margin``.

    Rows of equal values are ranked at random, the same way every time; values without an order stay.

    >>> by_rank(np.array([0, 0, 1, 1], np.uint16), np.ones(4), np.array([0.0, 2.0, 2.0]), 3).tolist()
    [1, 1, 2, 2]
    """
    found, at = column.copy(), np.flatnonzero(column < steps)
    there = np.maximum(margin[:steps], 0.0)
    if not len(at) or there.sum() <= 0:
        return found
    at = at[np.lexsort((fixed_stream().random(len(at)), column[at]))]
    upto = np.cumsum(weights[at])
    rank = (upto - weights[at] / 2) / upto[-1]
    last = int(np.flatnonzero(there)[-1])
    found[at] = np.minimum(np.searchsorted(np.cumsum(there) / there.sum(), rank, side="right"), last)
    return found


def gain(table: Floats, noise: float, one: Floats, other: Floats) -> tuple[float, float]:
    """By how much a noisy ``table`` is nearer to ``one`` than to ``other``: squares, weighted by precision; variance.

    >>> gain(np.array([9.0, 1.0]), 1.0, np.array([8.0, 2.0]), np.array([5.0, 5.0]))[0] > 0
    True
    """
    weight, apart = 1 / (noise + one + other), one - other
    found = float((weight * apart * (2 * table - one - other)).sum())
    return found, float(4 * (weight**2 * apart**2 * (noise + (one + other) / 2)).sum())
