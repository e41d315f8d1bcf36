"""Is a table that is called public a relative? What its rows tell by themselves, and what the first answers tell.

Four ways to be of no use for pairs, each seen before a pair is paid for: no association between its columns, so few
rows that the noise of measured pairs is below their own chance (both from public rows and public arithmetic),
one-way tables that are no nearer to the noisy ones than even shares are, and relations that a trial refutes
(``trial.py``).
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import log, sqrt
from typing import Literal

import numpy as np

from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records import Records, fixed_stream, stratified
from hedgerow.model.tables import Floats, Key, cell_weights

Doubt = Literal["", "stranger", "unlinked", "few", "refuted"]
"""Why a public table is not used for pairs: other one-way tables, no association, too few rows, other relations.

"": it is used.
"""

FINDINGS: dict[Doubt, str] = {
    "stranger": "The answers are no nearer to the one-way tables of the public table than to equal shares: it is no "
    "relative, it was put aside, and the model was made as without one.",
    "unlinked": "The columns of the public table are independent of each other: it says nothing of relations, and "
    "only its one-way tables were used.",
    "few": "The public table has so few rows that chance in its tables of pairs is larger than the noise of answers: "
    "these tables were not used.",
    "refuted": "The answers do not bear out how the columns of the public table go together: it was put aside, and "
    "the model was made as without one.",
}
"""What a report says of each."""

ONE_WAYS_TOO: tuple[Doubt, ...] = ("stranger", "refuted")
"""The doubts with which public one-way tables are not used either."""


def association(rows: Records, shape: Sequence[int]) -> float:
    """The mean of Cramer's V squared over all pairs of columns, less what chance gives (Bergsma 2013).

    >>> even = np.random.default_rng(0).integers(0, 3, (900, 4)).astype(np.uint16)
    >>> abs(association(even, (3, 3, 3, 3))) < 0.003
    True
    >>> association(np.repeat(even[:, :1], 4, axis=1), (3, 3, 3, 3)) > 0.9
    True
    """
    n, found = len(rows), []
    for (i, j), counts in cell_weights(rows, shape, combinations(range(len(shape)), 2), np.ones(n)):
        table = counts.reshape(shape[i], shape[j])
        down, along = table.sum(axis=1), table.sum(axis=0)
        least = min(int((down > 0).sum()), int((along > 0).sum())) - 1
        if least > 0:
            alone = np.outer(down, along) / n
            apart = float(np.divide((table - alone) ** 2, alone, out=np.zeros_like(alone), where=alone > 0).sum())
            free = ((down > 0).sum() - 1) * ((along > 0).sum() - 1)
            found.append((apart * (n - 1) / n - free) / (n * least))
    return float(np.mean(found)) if found else 0.0


def chance_of_pairs(rows: Records, shape: Sequence[int]) -> float:
    """By how much another sample of as many rows would differ: the mean over pairs of the L1 distance of shares."""
    counts = cell_weights(rows, shape, combinations(range(len(shape)), 2), np.ones(len(rows)))
    off = [float(np.sqrt(2 * table / np.pi).sum()) for _, table in counts]
    return float(np.mean(off)) / len(rows) if off else 0.0


def is_stranger(said: Sequence[Floats], noisy: Sequence[tuple[Floats, float]], sure: float = 3.0) -> bool:
    """Whether public one-way tables are no nearer to the noisy ones than even shares are, by ``sure`` errors.

    Compared are squared distances, less what noise adds to them, summed over columns.  A table that is near in all
    columns but for a few has nothing to fear: the others outweigh them.

    >>> like, odd = np.array([70.0, 20.0, 10.0]), np.array([10.0, 20.0, 70.0])
    >>> is_stranger([like], [(np.array([66.0, 24.0, 9.0]), 9.0)]), is_stranger([odd], [(like, 9.0)])
    (False, True)
    """
    far, even, doubt = 0.0, 0.0, 0.0
    for public, (table, noise) in zip(said, noisy, strict=True):
        total, size = max(float(public.sum()), 1.0), len(public)
        apart = float(((table - public) ** 2).sum()) - size * noise
        flat = float(((table - total / size) ** 2).sum()) - size * noise
        far, even = far + apart / total**2, even + flat / total**2
        doubt += (2 * size * noise**2 + 4 * noise * max(apart, flat, 0.0)) / total**4
    beyond = far - PUBLIC_BLEND.stranger_part * even - sure * doubt**0.5
    return beyond > 0 and far > PUBLIC_BLEND.stranger_distance * len(said)


def regression(table: Floats, noise: float, said: Floats, other: Floats | float) -> tuple[float, float]:
    """The two sums of a weighted regression of table - other on said - other: what fits, and how much there is to."""
    weight, apart = 1 / (noise + 2 * (said + other)), said - other
    return float((weight * apart * (table - other)).sum()), float((weight * apart**2).sum())


def clipped_slope(above: float, below: float, sure: float = 2.0) -> float:
    """The slope ``above`` / ``below`` of a weighted regression plus ``sure`` standard errors, clipped to 0 to 1.

    So a share is less than 1 only by what so many standard errors do not explain.
    """
    return min(max((above + sure * below**0.5) / below, 0.0), 1.0) if below > 0 else 1.0


def likely_most(many: int) -> float:
    """About the largest of ``many`` standard normal numbers, but at least 2: what of so many may be chance.

    >>> [round(likely_most(m), 2) for m in (1, 14, 200)]
    [2.0, 2.3, 3.26]
    """
    return max(2.0, sqrt(2 * log(max(many, 1))))


def shares_of_trust(regressed: Mapping[Key, tuple[float, float]], tree: Collection[Key]) -> dict[Key, float]:
    """The share that each pair is trusted with: that of its like, but for what chance does not explain in so many.

    A column all of whose pairs fit less is trusted less, then a single pair.  The largest of m standard normal
    numbers is about sqrt(2 ln m): pairs are many, and with two standard errors a few of them would lose their public
    table by chance alone.  Pairs of the tree, which are regressed beside independence, are judged apart from those
    that the tree says something of: what is not trusted of a strong pair would become independence.  The tree has
    been chosen by the same noise, which lifts its own pairs and lowers the slope of the others by about a standard
    error: so much more is chance (``PUBLIC_BLEND.tree_luck``).

    >>> shares_of_trust({(0, 1): (98.0, 100.0), (0, 2): (20.0, 100.0), (1, 2): (40.0, 100.0)}, [(0, 1)])[0, 1]
    1.0
    """
    sums = np.zeros((2, 2))
    for k, s in regressed.items():
        sums[int(k in tree)] += s
    slopes = [clipped_slope(float(above), float(below), 2 + PUBLIC_BLEND.tree_luck) for above, below in sums]
    pool = {k: slopes[int(k in tree)] for k in regressed}
    columns = {i: [k for k in regressed if i in k] for i in {i for k in regressed for i in k}}
    less = {
        i: min(_beyond_chance([(regressed[k], pool[k]) for k in own], len(columns)), 0.0)
        for i, own in columns.items()
    }
    found = {}
    for k, s in regressed.items():
        like = max(pool[k] + min(less[i] for i in k), 0.0)
        found[k] = min(max(like + _beyond_chance([(s, like)], len(regressed)), 0.0), 1.0)
    return found


def _beyond_chance(regressed: Sequence[tuple[tuple[float, float], float]], many: int) -> float:
    """How far the slope of regressions, as one, is from those expected of each, less what chance does in ``many``."""
    below = max(sum(b for (_, b), _ in regressed), 1e-12)
    off = sum(a - slope * b for (a, b), slope in regressed) / below
    chance = likely_most(many) + PUBLIC_BLEND.tree_luck
    beyond = max(abs(off) - chance / sqrt(below), 0.0)
    return beyond if off > 0 else -beyond


def linked(rows: Records, shape: Sequence[int], foreign: Sequence[int], estimates: Mapping[Key, Floats]) -> Records:
    """The rows; values of a ``foreign`` column are drawn given the one that it is most associated with."""
    drawn, known = rows.copy(), [j for j in range(len(shape)) if j not in foreign]
    for i in foreign if known else ():
        tables = {j: _given(estimates, shape, i, j) for j in known}
        given = max(known, key=lambda j: _gap(tables[j]))
        for value in range(shape[given]):
            at, shares = np.flatnonzero(rows[:, given] == value), tables[given][value]
            if len(at) and shares.sum() > 0:
                drawn[at, i] = stratified(shares, len(at), fixed_stream())
    return drawn


def _given(estimates: Mapping[Key, Floats], shape: Sequence[int], i: int, j: int) -> Floats:
    """The estimated table of columns i and j, a row for each value of j."""
    a, b = min(i, j), max(i, j)
    square = estimates[a, b].reshape(shape[a], shape[b]) if (a, b) in estimates else np.zeros((shape[a], shape[b]))
    return square if j == a else square.T


def _gap(table: Floats) -> float:
    """How far a table is from independence."""
    alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(float(table.sum()), 1e-300)
    return float(np.abs(table - alone).sum())
