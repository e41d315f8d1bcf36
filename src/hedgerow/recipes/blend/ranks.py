"""Ordered public columns that moved as a whole, as pay does with prices: each value becomes the one of its rank.

Raking weighs rows anew and invents none: where pay has risen, the best paid rows of each grade would stand for all of
it, and what goes with pay would be lost.  The value of the same rank keeps what goes with it, whatever the unit.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

import numpy as np

from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records import Records, fixed_stream
from hedgerow.model.tables import Floats, Key, rake_rows
from hedgerow.recipes.blend.allocation import moved
from hedgerow.recipes.blend.public_prior import PublicPrior


def as_answers_bear_out(prior: PublicPrior) -> PublicPrior:
    """A prior as far as the answers bear it out: with values of the same rank, without columns unlike theirs."""
    return with_ranks(prior).without_unlike()


def with_ranks(prior: PublicPrior) -> PublicPrior:
    """A prior whose ordered columns that moved as a whole have values of the same rank, where noisy pairs say so."""
    found = prior
    for i in _moved(prior):
        ranked = _ranked(found, i)
        found = ranked if _is_nearer(ranked, found, i) else found
    return found


def with_all_ranks(prior: PublicPrior) -> PublicPrior:
    """The same as if noisy pairs said so of every column that moved; the prior itself where none did."""
    found = prior
    for i in _moved(prior):
        found = _ranked(found, i)
    return found


def _moved(prior: PublicPrior) -> list[int]:
    """The ordered columns that moved, beyond what noise makes of a one-way table: the one that moved most first."""
    apart = prior.apart
    noise = [moved(m, v**0.5) / 2 for m, (_, v) in zip(prior.margins, prior.noisy.noisy_margins, strict=True)]
    far = [i for i, s in enumerate(prior.steps) if s > 2 and apart[i] > max(PUBLIC_BLEND.least_ranked, noise[i])]
    return sorted(far, key=lambda i: -apart[i])


def _ranked(prior: PublicPrior, i: int) -> PublicPrior:
    """Column i moved to values of the same rank, among rows weighed to the other one-way tables."""
    rest = {(j,): m for j, m in enumerate(prior.margins) if j != i and j not in prior.foreign}
    start = np.full(len(prior.public), float(prior.noisy.total) / len(prior.public))
    weights = rake_rows(prior.public, prior.noisy.shape, rest, start, sweeps=20)
    rows = prior.public.copy(order="F")
    rows[:, i] = by_rank(rows[:, i], weights, prior.margins[i], prior.steps[i])
    known = {k: widths for k, widths in prior.ranked_chosen.items() if i not in k}
    return replace(prior, public=rows, ranked=tuple(sorted({*prior.ranked, i})), ranked_chosen=known)


def _is_nearer(ranked: PublicPrior, plain: PublicPrior, i: int) -> bool:
    """Whether noisy pairs of column i are nearer to what ranked rows say of them than to what plain rows say.

    A column of other people may have ranks of other people too, as a year has: it must be nearer beyond chance, and
    so must what is expected of all pairs in the end.
    """
    said = ranked.said_of([k for k in ranked.keys if len(k) == 2 and i in k])
    sure = PUBLIC_BLEND.foreign_rank_sure if i in plain.foreign else 0.0
    if not _gains(ranked, said, plain.said, sure):
        return False
    return not sure or _gains(ranked, ranked.without_unlike().means, plain.without_unlike().means, sure)


def _gains(prior: PublicPrior, one: Mapping[Key, Floats], other: Mapping[Key, Floats], sure: float) -> bool:
    """Whether noisy pairs are nearer to ``one`` than to the ``other``, by so many standard errors."""
    gains = [gain(*prior.noisy.pooled[k], t, other[k]) for k, t in one.items() if len(k) == 2]
    return sum(g for g, _ in gains) > sure * sqrt(sum(v for _, v in gains))


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
