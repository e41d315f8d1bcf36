"""Noisy two-way tables made to agree: the same shares of a column in every table it is part of, none below zero.

Every table is worked on as shares that sum to 1.  Least squares and proportional fitting, no sampling.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from hedgerow.model.simplex import Floats, project

Pair = tuple[str, str]
Tables = dict[Pair, Floats]
"""Two-way tables by their columns; rows are the codes of the first column, columns those of the second."""


def consistent(tables: Mapping[Pair, Floats], *, rounds: int = 4) -> Tables:
    """The tables with equal margins for every column, non-negative, each summing to 1.

    All tables are taken as equally noisy per cell.  A column's share is then estimated best by the mean over its
    tables, weighted by the inverse of how many cells were summed; each table moves to it by equal amounts
    within a row, the least-squares step, and is projected to what is possible.  A few rounds settle most;
    proportional fitting to the agreed margins settles the rest exactly, and cannot go below zero.

    >>> tables = {("a", "b"): np.array([[0.5, 0.1], [0.5, -0.1]]), ("a", "c"): np.array([[0.7], [0.3]])}
    >>> fitted = consistent(tables)
    >>> [bool(np.allclose(t.sum(axis=1), fitted["a", "c"][:, 0])) for t in fitted.values()]
    [True, True]
    """
    now = {pair: t + (1 - t.sum()) / t.size for pair, t in tables.items()}
    for _ in range(rounds):
        agreed = margins(now)
        moved = {pair: _moved(t, agreed[pair[0]], agreed[pair[1]]) for pair, t in now.items()}
        now = {pair: project(t.ravel(), 1.0).reshape(t.shape) for pair, t in moved.items()}
    agreed = {c: project(m, 1.0) for c, m in margins(now).items()}
    return raked(now, agreed)


def margins(tables: Mapping[Pair, Floats]) -> dict[str, Floats]:
    """The shares of every column: the mean over its tables, each weighted by one over the cells it sums."""
    sums: dict[str, Floats] = {}
    weights: dict[str, float] = {}
    for pair, t in tables.items():
        for axis, column in enumerate(pair):
            weight = 1 / t.shape[1 - axis]
            sums[column] = sums.get(column, 0.0) + weight * t.sum(axis=1 - axis)
            weights[column] = weights.get(column, 0.0) + weight
    return {c: s / weights[c] for c, s in sums.items()}


def raked(tables: Mapping[Pair, Floats], wanted: Mapping[str, Floats], *, rounds: int = 30) -> Tables:
    """The tables nearest to the given ones (in information) that have the ``wanted`` margins.

    Where a table has no mass but a margin asks for some, the product of the margins lends it a little.
    """
    fitted = {}
    for (first, second), t in tables.items():
        row, column = wanted[first], wanted[second]
        now = np.maximum(t, 0.0) + 1e-9 * np.multiply.outer(row, column)
        for _ in range(rounds):
            now = now * _ratio(row, now.sum(axis=1))[:, None]
            now = now * _ratio(column, now.sum(axis=0))[None, :]
            if np.abs(now.sum(axis=1) - row).sum() < 1e-9:
                break
        fitted[first, second] = now / now.sum()
    return fitted


def pairs_of(columns: Sequence[str]) -> list[Pair]:
    """Every pair of columns, in order."""
    return [(a, b) for i, a in enumerate(columns) for b in columns[i + 1 :]]


def _moved(t: Floats, row: Floats, column: Floats) -> Floats:
    """The table moved to both margins by least squares."""
    t = t + (row - t.sum(axis=1))[:, None] / t.shape[1]
    return np.asarray(t + (column - t.sum(axis=0))[None, :] / t.shape[0])


def _ratio(wanted: Floats, have: Floats) -> Floats:
    return np.divide(wanted, have, out=np.zeros_like(wanted), where=have > 0)
