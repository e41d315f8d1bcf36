"""All noisy tables at once: what a row of one table tells of the others.

Cell by cell, a noisy table is drawn towards what is expected of it by its own noise alone.  But counts of a sample go
together: where more people are married than expected, more of them live in two-person households.  If true counts
are those of a sample of people like the public rows, X their cells, the covariance of all cells is X' W X (Poisson,
of fixed sum); what else may move a cell is its own.  The mean given all noisy counts y = m + d + noise is

    m + C x,    x = (C + V)^-1 (y - m),    C = X' W X + E,

found by conjugate gradients with two passes over the rows a step: no matrix of cells is ever made.  With no step it
is the posterior cell by cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.tables.fitting import Floats, Pair, Rows


@final
@dataclass(frozen=True, eq=False)
class NoisyPair:
    """A pair of columns, its cells flat.

    Attributes:
        columns: their positions.
        counts: the noisy counts.
        mean: what is expected of them.
        spread: the variance of the true counts around it.
        noise: the variance of the noise.
    """

    columns: Pair
    counts: Floats
    mean: Floats
    spread: Floats
    noise: float


def posteriors_together(
    rows: Rows, weights: Floats, shape: Sequence[int], pairs: Sequence[NoisyPair], *, like: float = 1.0
) -> list[Floats]:
    """The posterior mean of every pair given all of them; ``like``: how much of chance goes as the rows go, 0 to 1.

    Two columns that are one, seen in two tables with the third: each table tells of the other.

    >>> rows = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], np.uint16)
    >>> mean, seen = np.full(4, 25.0), np.array([45.0, 25.0, 5.0, 25.0])
    >>> known = [NoisyPair((0, 2), seen, mean, mean, 25.0), NoisyPair((1, 2), mean, mean, mean, 25.0)]
    >>> [found[0].round().item() for found in posteriors_together(rows, np.full(4, 25.0), (2, 2, 2), known)]
    [34.0, 30.0]
    """
    step = max(1, -(-len(rows) // PUBLIC_BLEND.told_rows))
    columns = np.ascontiguousarray(rows[::step].T)
    weight = weights[::step] * (like * weights.sum() / max(float(weights[::step].sum()), 1e-300))
    total, sizes = float(weight.sum()), [len(p.mean) for p in pairs]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.array([(*p.columns, shape[p.columns[1]]) for p in pairs], np.int64).reshape(-1, 3)
    noise, spread = np.repeat([p.noise for p in pairs], sizes), np.concatenate([p.spread for p in pairs])
    own = np.zeros(len(spread))
    _add(columns, places, starts, weight, own)
    shared = own * (1 - own / max(total, 1e-300))
    alone = np.maximum(spread - shared, 0.0)
    felt = np.empty(len(weight))

    def covered(x: Floats) -> Floats:
        _sum(columns, places, starts, x, felt)
        made = np.zeros(len(x))
        _add(columns, places, starts, weight * (felt - weight @ felt / max(total, 1e-300)), made)
        return made + alone * x

    means = np.concatenate([p.mean for p in pairs])
    rest = np.concatenate([p.counts for p in pairs]) - means
    scale = 1 / np.maximum(shared + alone + noise, 1e-12)
    found, moved = means, scale * rest
    direction, size = moved, float(rest @ moved)
    least = 1e-6 * size
    for _ in range(PUBLIC_BLEND.together_steps):
        if size <= least:
            break
        made = covered(direction)
        length = size / float(direction @ (made + noise * direction))
        found, rest = found + length * made, rest - length * (made + noise * direction)
        moved = scale * rest
        before, size = size, float(rest @ moved)
        direction = moved + size / before * direction
    found = found + rest * spread / (spread + np.maximum(noise, 1e-12))
    return np.split(found, starts[1:-1])


@compiled
def _add(columns, places, starts, weight, cells):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Add the weight of every row to its cell of every pair."""
    for p in range(len(places)):
        first, second, wide = columns[places[p, 0]], columns[places[p, 1]], places[p, 2]
        part = cells[starts[p] : starts[p + 1]]
        for r in range(len(weight)):
            part[np.int64(first[r]) * wide + np.int64(second[r])] += weight[r]


@compiled
def _sum(columns, places, starts, cells, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    """For every row the sum over all pairs of its cell."""
    found[:] = 0.0
    for p in range(len(places)):
        first, second, wide = columns[places[p, 0]], columns[places[p, 1]], places[p, 2]
        part = cells[starts[p] : starts[p + 1]]
        for r in range(len(found)):
            found[r] += part[np.int64(first[r]) * wide + np.int64(second[r])]
