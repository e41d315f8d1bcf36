"""Is a table that is called public a relative? What its rows tell by themselves, and what the first answers tell.

Three ways to be of no use for pairs, each seen before a pair is paid for: no association between its columns, so few
rows that the noise of measured pairs is below their own chance (both from public rows and public arithmetic), and
one-way tables that are no nearer to the noisy ones than even shares are.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np

from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records import Records, fixed_stream, stratified
from hedgerow.model.tables import Drift, Floats, Key, pooled_drifts

Doubt = Literal["", "stranger", "unlinked", "few"]
"""Why a public table is not used for pairs: other one-way tables, no association, too few rows; "": it is used."""


def association(rows: Records, shape: Sequence[int]) -> float:
    """The mean of Cramer's V squared over all pairs of columns, less what chance gives (Bergsma 2013).

    >>> even = np.random.default_rng(0).integers(0, 3, (900, 4)).astype(np.uint16)
    >>> abs(association(even, (3, 3, 3, 3))) < 0.003
    True
    >>> association(np.repeat(even[:, :1], 4, axis=1), (3, 3, 3, 3)) > 0.9
    True
    """
    n, found = len(rows), []
    for i, j in combinations(range(len(shape)), 2):
        table = _counts(rows, shape, i, j)
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
    pairs = list(combinations(range(len(shape)), 2))
    off = [float(np.sqrt(2 * _counts(rows, shape, i, j) / np.pi).sum()) for i, j in pairs]
    return float(np.mean(off)) / len(rows) if off else 0.0


def is_stranger(said: Sequence[Floats], noisy: Sequence[tuple[Floats, float]]) -> bool:
    """Whether public one-way tables are no nearer to the noisy ones than even shares are, beyond three errors.

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
    beyond = far - PUBLIC_BLEND.stranger_part * even - 3 * doubt**0.5
    return beyond > 0 and far > PUBLIC_BLEND.stranger_distance * len(said)


def regression(table: Floats, noise: float, said: Floats, other: Floats | float) -> tuple[float, float]:
    """The two sums of a weighted regression of table - other on said - other: what fits, and how much there is to."""
    weight, apart = 1 / (noise + 2 * (said + other)), said - other
    return float((weight * apart * (table - other)).sum()), float((weight * apart**2).sum())


def clipped_slope(above: float, below: float) -> float:
    """The slope ``above`` / ``below`` of a weighted regression plus two standard errors, clipped to 0 to 1.

    So a share is less than 1 only by what two standard errors do not explain.
    """
    return min(max((above + 2 * below**0.5) / below, 0.0), 1.0) if below > 0 else 1.0


def drifts_apart(
    noisy: Sequence[tuple[Floats, float]], means: Sequence[Floats], unfit: Sequence[bool]
) -> tuple[Drift, ...]:
    """The drift of every table from its mean; those that are ``unfit`` are pooled by themselves.

    A column of other people, such as the year, is far off by its nature.  If all were pooled, the noise of the others
    would be taken for drift.

    >>> far, near = np.array([900.0, 50.0, 50.0]), np.array([400.0, 300.0, 300.0])
    >>> noisy, means = [(far, 9.0), (near + np.array([3.0, -2.0, 1.0]), 9.0)], [far[::-1].copy(), near]
    >>> [d.shift > 0 for d in drifts_apart(noisy, means, [True, False])]
    [True, False]
    """
    found: dict[int, Drift] = {}
    for side in (False, True):
        if places := [i for i, u in enumerate(unfit) if u == side]:
            tables, noises = zip(*(noisy[i] for i in places), strict=True)
            own = pooled_drifts(tables, [means[i] for i in places], noises, least=PUBLIC_BLEND.known_chance)
            found |= dict(zip(places, own, strict=True))
    return tuple(found[i] for i in range(len(noisy)))


def shares_of_trust(regressed: Mapping[Key, tuple[float, float]], tree: Collection[Key]) -> dict[Key, float]:
    """The share that each pair is trusted with: that of its like, but for what two standard errors do not explain.

    Pairs of the tree, which are regressed beside independence, are judged apart from those that the tree says
    something of: what is not trusted of a strong pair would become independence.

    >>> shares_of_trust({(0, 1): (98.0, 100.0), (0, 2): (20.0, 100.0), (1, 2): (40.0, 100.0)}, [(0, 1)])[0, 1]
    1.0
    """
    sums, found = np.zeros((2, 2)), {}
    for k, s in regressed.items():
        sums[int(k in tree)] += s
    for k, (above, below) in regressed.items():
        pool = clipped_slope(*sums[int(k in tree)].tolist())
        off = above / max(below, 1e-12) - pool
        beyond = max(abs(off) - 2 / max(below, 1e-12) ** 0.5, 0.0)
        found[k] = min(max(pool + (beyond if off > 0 else -beyond), 0.0), 1.0)
    return found


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


def _counts(rows: Records, shape: Sequence[int], i: int, j: int) -> Floats:
    cell = rows[:, i].astype(np.int64) * shape[j] + rows[:, j]
    return np.bincount(cell, minlength=shape[i] * shape[j]).reshape(shape[i], shape[j]).astype(np.float64)


def counted(rows: Records, weights: Floats, shape: Sequence[int], key: Key) -> Floats:
    """The weight of the rows in each cell of a table, flat."""
    cell = np.zeros(len(rows), np.int32)
    for i in key:
        cell = cell * np.int32(shape[i]) + rows[:, i].astype(np.int32)
    return np.asarray(np.bincount(cell, weights, prod(shape[i] for i in key)), np.float64)
