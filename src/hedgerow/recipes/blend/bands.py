"""Pairs of many-valued columns in bands: tables so coarse that their noise can be borne.

A pair of two columns of a hundred values has ten thousand cells, and noise that drowns all of them; eight bands of
each have sixty-four, and tell most of what the pair has to tell.  Bands are cut by the noisy one-way tables, so they
cost nothing: values that stand in order are cut in bands of about equal counts, of others the frequent ones stay and
the rare ones are one.  A banded answer is refined along what is expected of the cells within each band.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from hedgerow.model.constants import TREE_BLEND
from hedgerow.model.tables import Floats, Moments, Pair, project_pair, shrink_pair
from hedgerow.recipes.blend.allocation import moved
from hedgerow.recipes.blend.axes import Places


@final
@dataclass(frozen=True, eq=False)
class BandedPair:
    """The bands of two columns, and the cell of bands that every cell of the pair is in.

    Attributes:
        first: the band of every value of the first column.
        second: the same of the second.
    """

    first: Places
    second: Places

    @cached_property
    def shape(self) -> tuple[int, int]:
        """How many bands each column has."""
        return int(self.first.max()) + 1, int(self.second.max()) + 1

    @property
    def size(self) -> int:
        """How many cells of bands there are."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def cell(self) -> Places:
        """The cell of bands of every cell of the pair, flat."""
        return (self.first[:, None] * self.shape[1] + self.second[None, :]).ravel()

    def summed(self, table: Floats) -> Floats:
        """A flat table of the pair, summed in its bands."""
        return np.bincount(self.cell, table, self.size).astype(np.float64)

    def independent(self, pair: Pair, margins: Sequence[Floats]) -> Floats:
        """The counts of the cells of bands if the columns were independent, flat."""
        rows, columns = np.bincount(self.first, margins[pair[0]]), np.bincount(self.second, margins[pair[1]])
        return np.asarray(np.outer(rows, columns).ravel() / max(float(rows.sum()), 1.0))

    def refined(self, banded: Floats, mean: Floats) -> Floats:
        """The table of the pair with these sums, each shared out as ``mean`` shares it out."""
        whole = self.summed(mean)
        ratio = np.divide(banded, whole, out=np.zeros(self.size), where=whole > 1e-9)
        return np.asarray(mean * ratio[self.cell])

    def seen(self, banded: Floats, mean: Floats, noise: float) -> tuple[Floats, Floats, float]:
        """The noisy counts of bands with the one-way tables of ``mean``, their mean, the variance of their noise."""
        whole = self.summed(mean)
        return with_margins_of(whole, banded, self.shape), whole, noise * noise_beyond(self.shape)

    def shrunk(self, banded: Floats, noise: float, mean: Floats, like: Moments | None = None) -> Floats:
        """The pair as a noisy table of its bands has it, shrunk towards ``mean``."""
        seen = self.seen(banded, mean, noise)
        square = seen[1].reshape(self.shape)
        near = shrink_pair(*seen, self.shape, like).reshape(self.shape)
        return self.refined(project_pair(near, square.sum(axis=1), square.sum(axis=0)).ravel(), mean)


def with_margins_of(mean: Floats, table: Floats, shape: tuple[int, int]) -> Floats:
    """A noisy pair, flat, given the sums of rows and columns that ``mean`` has, by the least change of its cells.

    Where these sums are known better than from the pair, it takes off noise and nothing of the association: the
    true gap between the pair and ``mean`` has no sums.

    >>> with_margins_of(np.full(4, 4.0), np.array([9.0, 2.0, 1.0, 6.0]), (2, 2)).tolist()
    [7.0, 1.0, 1.0, 7.0]
    """
    gap = (table - mean).reshape(shape)
    gap = gap - gap.mean(axis=0) - gap.mean(axis=1, keepdims=True) + gap.mean()
    return np.asarray(mean + gap.ravel())


def noise_beyond(shape: tuple[int, int]) -> float:
    """How much of the variance of noise is left in a cell of such a pair: a quarter with two values each.

    >>> noise_beyond((2, 2))
    0.25
    """
    return (1 - 1 / shape[0]) * (1 - 1 / shape[1])


def with_band_sums(
    counts: Floats, noise: float, sums: Sequence[tuple[Places, Floats, float]]
) -> tuple[Floats, float]:
    """Noisy counts of a column with what noisy sums of its bands tell, by least squares; the noise left in a cell.

    Each of ``sums`` has the band of every value, the sums, and the variance of their noise.  What bands tell is in
    their sums alone: the noise that is left is smaller in sums than in single cells.

    >>> told = (np.array([0, 0, 1]), np.array([14.0, 4.0]), 4.0)
    >>> better, left = with_band_sums(np.array([9.0, 1.0, 4.0]), 2.0, [told])
    >>> better.tolist(), round(left, 2)
    ([10.0, 2.0, 4.0], 1.44)
    """
    if not sums:
        return counts, noise
    places, group = np.unique(np.stack([place for place, _, _ in sums]), axis=1, return_inverse=True)
    size = np.bincount(group).astype(np.float64)  # values that are in the same band each time
    known, gap = np.diag(size / noise), np.zeros(len(size))
    for (place, told, variance), at in zip(sums, places, strict=True):
        known += np.where(at[:, None] == at, np.outer(size, size) / variance, 0.0)
        gap += size * (told - np.bincount(place, counts))[at] / variance
    left = np.linalg.inv(known)  # of the change in each value of a group
    mean = float((size - 1).sum() * noise + size @ np.diag(left)) / len(counts)
    return counts + (left @ gap)[group], mean


def bands_of(counts: Floats, most: int, *, steps: int) -> Places:
    """The band of every value of a column with these noisy counts, at most ``most`` bands.

    The first ``steps`` values stand in order.  A value that fills a band alone has one of its own.

    >>> bands_of(np.array([5.0, 5.0, 5.0, 5.0, 30.0, 5.0, 5.0]), 4, steps=7).tolist()
    [0, 0, 0, 1, 2, 3, 3]
    >>> bands_of(np.array([50.0, 1.0, 3.0, 40.0]), 3, steps=0).tolist()
    [0, 2, 2, 1]
    """
    if len(counts) <= most:
        return np.arange(len(counts))
    counts = np.maximum(counts, 0.0)
    alone = np.argsort(-counts[steps:], kind="stable")
    if steps < 3:
        kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
        band = np.full(len(counts), len(kept))
        band[kept] = np.arange(len(kept))
        return band
    apart = min(len(alone), max(1, most // 4)) if len(alone) else 0  # what has no place in the order
    inside = _in_order(counts[:steps], most - apart)
    band = np.empty(len(counts), np.intp)
    band[:steps] = inside
    band[steps + alone] = int(inside.max()) + 1 + np.minimum(np.arange(len(alone)), max(apart - 1, 0))
    return band


def _in_order(counts: Floats, most: int) -> Places:
    """Bands of about equal counts along values in order; heaps have their own."""
    left, bands, open_, band = float(counts.sum()), max(most, 1), 0.0, 0
    found = np.empty(len(counts), np.intp)
    for value, count in enumerate(counts):
        even = left / bands
        if value and open_ > 0 and bands > 1 and open_ + count / 2 > even:
            left, bands, band, open_ = left - open_, bands - 1, band + 1, 0.0
        found[value] = band
        open_ += count
    return found


@final
@dataclass(frozen=True, eq=False)
class Banding:
    """All ways to cut columns in bands: every pair of a column asks for the same few, and each is cut once.

    Attributes:
        margins: the noisy one-way tables.
        steps: how many of the first values of each column stand in order.
    """

    margins: Sequence[Floats]
    steps: Sequence[int]
    _cut: dict[tuple[int, int], Places] = field(default_factory=dict)

    def pair(self, pair: Pair, most: Sequence[int]) -> BandedPair:
        """The pair with at most so many bands of each column."""
        return BandedPair(*(self._bands(i, m) for i, m in zip(pair, most, strict=True)))

    def bearable(self, pair: Pair, sd: float, bearable: float) -> BandedPair:
        """The finest bands of a pair whose noise moves at most ``bearable`` of the rows; two of each where none are.

        The column with more bands is made coarser, until the noise can be borne.
        """
        most = [min(len(self.margins[i]), TREE_BLEND.most_bands) for i in pair]
        while True:
            bands = self.pair(pair, most)
            if max(most) <= 2 or moved(bands.independent(pair, self.margins), sd) <= bearable:
                return bands
            wider = int(most[1] > most[0])
            most[wider] = most[wider] * 4 // 5 if most[wider] > 5 else most[wider] - 1

    def _bands(self, column: int, most: int) -> Places:
        if (column, most) not in self._cut:
            self._cut[column, most] = bands_of(self.margins[column], most, steps=self.steps[column])
        return self._cut[column, most]
