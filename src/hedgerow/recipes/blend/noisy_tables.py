"""All noisy tables of a run together: totals, margins, a tree, and pairs shrunk towards it; rare values merged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar, final

import numpy as np
import numpy.typing as npt

from hedgerow.model.constants import BLEND
from hedgerow.model.records import BlendModel, JunctionModel, PairTargets, TreeModel, Triple, spanning_forest
from hedgerow.model.tables import (
    Floats,
    Key,
    Moments,
    Pair,
    drift_of,
    fit_margins,
    moments,
    pooled_total,
    project,
    project_pair,
    quiet_tails,
    shrink_pair,
    smoothed_noise,
)
from hedgerow.public import Measurement, impossible, law_of
from hedgerow.recipes.base import drawable
from hedgerow.recipes.blend.axes import Axes
from hedgerow.recipes.blend.bands import BandedPair, noise_beyond, with_band_sums, with_margins_of
from hedgerow.recipes.blend.signs import Signs

Variance = float | Floats
_K = TypeVar("_K", Key, Pair)


def outer(margins: Sequence[Floats], i: int, j: int) -> Floats:
    """The counts of a pair if its columns were independent, flat."""
    return np.asarray(np.outer(margins[i], margins[j]).ravel() / max(float(margins[i].sum()), 1.0))


@final
@dataclass(frozen=True, eq=False)
class NoisyTables:
    """All noisy tables so far, by the positions of their columns, and what follows from them."""

    axes: Axes
    tables: dict[Key, list[Measurement]]
    rows: int | None = None
    rare: float = 0.0  # in pairs, values that count less than so many standard deviations of noise are one
    one_ways: Callable[["NoisyTables"], list[Floats]] | None = (
        None  # how they are estimated, if not from answers alone
    )
    bands: Mapping[Pair, BandedPair] = field(default_factory=dict)  # of the pairs that are measured in bands
    banded: dict[Pair, list[Measurement]] = field(default_factory=dict)  # what was measured of them
    coarse: Mapping[Pair, tuple[BandedPair, Measurement]] = field(default_factory=dict)  # a first look in few bands
    signs: Signs | None = None  # a first look at all pairs, where their cells would drown in noise

    def plus(self, more: Mapping[Key, Measurement]) -> "NoisyTables":
        """The same with further answers."""
        return replace(self, tables=_joined(self.tables, more))

    def plus_bands(self, bands: Mapping[Pair, BandedPair], more: Mapping[Pair, Measurement]) -> "NoisyTables":
        """The same with further answers about pairs in ``bands``, which are the same ones for each pair."""
        return replace(self, bands={**self.bands, **bands}, banded=_joined(self.banded, more))

    def changed(self, change: Callable[[Measurement], Measurement]) -> "NoisyTables":
        """The same with every answer changed."""
        tables = {k: list(map(change, v)) for k, v in self.tables.items()}
        banded = {p: list(map(change, v)) for p, v in self.banded.items()}
        signs = self.signs and replace(self.signs, answers={k: change(m) for k, m in self.signs.answers.items()})
        coarse = {p: (bands, change(m)) for p, (bands, m) in self.coarse.items()}
        return replace(self, tables=tables, banded=banded, coarse=coarse, signs=signs)

    @cached_property
    def pooled(self) -> dict[Key, tuple[Floats, float]]:
        """For each table all answers as one, weighted by precision, and the variance of its noise."""
        pooled, wide = {}, [k for k in self.tables if len(k) > 2]
        for key, answers in self.tables.items():
            known = [(m.counts.astype(np.float64), law_of(m.noise).variance) for m in answers]
            for larger in (k for k in wide if len(k) > len(key) > 1 and set(key) < set(k)):
                known += [self._summed(m, larger, key) for m in self.tables[larger]]
            weights = np.array([1 / max(v, 1e-12) for _, v in known])
            pooled[key] = (
                np.asarray(weights @ np.stack([c for c, _ in known]) / weights.sum()),
                float(1 / weights.sum()),
            )
        return pooled

    @cached_property
    def pooled_bands(self) -> dict[Pair, tuple[Floats, float]]:
        """For each pair in bands all answers as one, and the variance of its noise."""
        pooled = {}
        for pair, answers in self.banded.items():
            weights = np.array([1 / max(law_of(m.noise).variance, 1e-12) for m in answers])
            counts = np.stack([m.counts.astype(np.float64) for m in answers])
            pooled[pair] = np.asarray(weights @ counts / weights.sum()), float(1 / weights.sum())
        return pooled

    @cached_property
    def first_looks(self) -> dict[Pair, tuple[BandedPair, Floats, float]]:
        """For each pair that was first looked at coarsely: its bands, a table of them, and the variance of its noise.

        Of signs, the bands are sides.  How many rows are on the same side follows in part from how many are on each
        side of either column, so that an error in these passes for association: it counts as noise.
        """
        if self.signs is None:
            return self._coarse_counts
        sides, margins = self.signs.sides, self.margins()
        uneven = [1 - 2 * float(m[s > 0].sum() / max(m.sum(), 1.0)) for m, s in zip(margins, sides, strict=True)]
        doubt = [v * s.sum() * (s == 0).sum() / len(s) for (_, v), s in zip(self.noisy_margins, sides, strict=True)]
        return {
            (i, j): (bands, table, noise + float(uneven[j] ** 2 * doubt[i] + uneven[i] ** 2 * doubt[j]))
            for (i, j), (bands, table, noise) in self.signs.tables().items()
        }

    @cached_property
    def _coarse_counts(self) -> dict[Pair, tuple[BandedPair, Floats, float]]:
        return {p: (b, m.counts.astype(np.float64), law_of(m.noise).variance) for p, (b, m) in self.coarse.items()}

    def _summed(self, m: Measurement, key: Key, to: Key) -> tuple[Floats, float]:
        """What a noisy table says of a smaller one within it, and the variance of its noise."""
        others = tuple(a for a, i in enumerate(key) if i not in to)
        square = m.counts.astype(np.float64).reshape([self.shape[i] for i in key]).sum(axis=others)
        return square.ravel(), law_of(m.noise).variance * (m.counts.size / square.size)

    @cached_property
    def shape(self) -> Key:
        """How many values each attribute has."""
        return self.axes.shape

    @cached_property
    def total(self) -> int:
        """The number of records: public, or from the noisy tables."""
        if self.rows is not None:
            return self.rows
        known = [self.pooled[k] for k in self.tables]
        total = round(pooled_total([float(c.sum()) for c, _ in known], [len(c) * v for c, v in known]))
        return drawable(max(1, total))

    @cached_property
    def noisy_margins(self) -> list[tuple[Floats, float]]:
        """Every attribute's own table and the sums of its pairs, by least squares; and the noise left in a cell."""
        found, looks = [], {p: (self.bands[p], *self.pooled_bands[p]) for p in self.banded}
        coarser = [*looks.items(), *self._coarse_counts.items()]
        for i in range(len(self.axes.names)):
            counts, precision = np.zeros(self.shape[i]), 0.0
            for key in (k for k in self.tables if i in k and len(k) < 3):  # larger ones are in their pairs
                table, noise = self.pooled[key]
                square = table.reshape([self.shape[k] for k in key])
                other = tuple(a for a, k in enumerate(key) if k != i)
                weight = 1 / (noise * table.size / self.shape[i])
                counts += weight * square.sum(axis=other)
                precision += weight
            sums = []
            for pair, (bands, table, noise) in ((p, look) for p, look in coarser if i in p):
                at = pair.index(i)
                told = table.reshape(bands.shape).sum(axis=1 - at)
                sums.append(((bands.first, bands.second)[at], told, noise * bands.shape[1 - at]))
            found.append(with_band_sums(counts / precision, 1 / precision, sums))
        return found

    def margins(self) -> list[Floats]:
        """The counts of every attribute: possible ones, smooth along an order; the ends of tails are empty."""
        return self._margins

    @cached_property
    def _margins(self) -> list[Floats]:
        if self.one_ways is not None:
            return self.one_ways(self)
        total, found = float(self.total), []
        tails = self.quiet_margins(BLEND.hidden * total, BLEND.most_tails)
        for tail, (counts, noise), steps in zip(tails, self.noisy_margins, self.axes.steps, strict=True):
            even = np.where(tail == counts, smoothed_noise(counts, noise, steps=steps), tail)
            found.append(project_known(even, total))
        return found

    def quiet_margins(self, hidden: float = np.inf, most: float = 1.0) -> list[Floats]:
        """The noisy counts of every attribute, tails as tails; NaN where nobody seems to be. See ``quiet_tails``."""
        told = zip(self.noisy_margins, self.axes.steps, strict=True)
        return [quiet_tails(c, v, steps=s, hidden=hidden, most=most) for (c, v), s in told]

    def pairs(self) -> list[Pair]:
        """The pairs that were measured, in bands, by signs or cell by cell."""
        return list(
            dict.fromkeys([*((k[0], k[1]) for k in self.tables if len(k) == 2), *self.banded, *self.first_looks])
        )

    def spread(self, pairs: Sequence[Pair]) -> list[Floats]:
        """The variance of the true cells of ``pairs`` around what the tree says of them."""
        tree, margins = self.tree(), self.margins()
        means = self._under(tree, margins, pairs)
        found = []
        for p in pairs:
            mean = outer(margins, *p) if p in tree.tables else means[p]
            table, mean, noise = self._cells(p, mean)
            found.append(drift_of([table], [mean], [noise]).variance(mean))
        return found

    def tree(self) -> TreeModel:
        """The maximum spanning forest of the measured pairs (Chow and Liu), each shrunk towards independence."""
        return self._tree

    @cached_property
    def _tree(self) -> TreeModel:
        margins, total = self.margins(), float(self.total)
        shrunk, strength = {}, {}
        means = {p: outer(margins, *p) + 1e-9 for p in self.pairs()}
        like = moments([self._seen(p, mean, margins) for p, mean in means.items()])
        for p, mean in means.items():
            shrunk[p] = self._possible(self._shrunk(p, mean, margins, like), p, margins)
            strength[p] = float(np.abs(shrunk[p] - mean).sum())
        edges = spanning_forest(len(self.axes.names), strength)
        square = {p: shrunk[p].reshape(self.shape[p[0]], self.shape[p[1]]) / total for p in edges}
        return TreeModel([m / total for m in margins], square)

    def model(self, cliques: Mapping[Triple, Floats] = MappingProxyType({})) -> BlendModel:
        """The tree, and every other measured pair shrunk towards it; ``cliques``: estimates of paths of the tree."""
        tree, margins, total = self.tree(), self.margins(), float(self.total)
        means = self._under(tree, margins, self.pairs())
        like = moments([self._seen(p, m, margins) for p, m in means.items() if p not in tree.tables])
        targets: dict[Key, Floats] = {}
        for p in self.pairs():
            if p in tree.tables:
                targets[p] = tree.tables[p].ravel() * total
            else:
                targets[p] = self._possible(self._shrunk(p, means[p], margins, like), p, margins)
        shares = {k: (t / t.sum()).reshape([self.shape[i] for i in k]) for k, t in cliques.items()}
        start, layout = JunctionModel(tree, shares), PairTargets(self.shape, targets, total, BLEND.descent_power)
        return BlendModel(self.total, self.axes.names, self.axes.coding, start, layout)

    def _shrunk(self, pair: Pair, mean: Floats, margins: Sequence[Floats], like: Moments | None) -> Floats:
        """A noisy pair shrunk towards ``mean``, the coarsest look first; its rare values, if merged, as one."""
        if pair in self.first_looks:
            bands, table, noise = self.first_looks[pair]
            mean = bands.shrunk(table, noise, mean, like)
        if pair in self.banded:
            mean = self.bands[pair].shrunk(*self.pooled_bands[pair], mean, like)
        if pair not in self.tables:
            return mean
        if not self.rare:
            return shrink_pair(*self._cells(pair, mean), (self.shape[pair[0]], self.shape[pair[1]]), like)
        table, noise = self.pooled[pair]
        return self._merged(pair, margins).shrunk(table, mean, noise, like)

    def _seen(self, pair: Pair, mean: Floats, margins: Sequence[Floats]) -> tuple[Floats, Floats, Variance]:
        """What is looked at of a pair when it is shrunk: noisy counts, their mean, the variance of the noise."""
        if pair in self.tables and self.rare:
            table, noise = self.pooled[pair]
            return self._merged(pair, margins).seen(table, mean, noise)
        return self._cells(pair, mean)

    def _cells(self, pair: Pair, mean: Floats) -> tuple[Floats, Floats, float]:
        """The noisy cells of a pair, or of its bands, with the margins of ``mean``; their mean and noise."""
        if pair not in self.tables and pair not in self.banded:
            bands, table, noise = self.first_looks[pair]
            return bands.seen(table, mean, noise)
        if pair not in self.tables:
            table, noise = self.pooled_bands[pair]
            return self.bands[pair].seen(table, mean, noise)
        (table, noise), shape = self.pooled[pair], (self.shape[pair[0]], self.shape[pair[1]])
        return with_margins_of(mean, table, shape), mean, noise * noise_beyond(shape)

    def _merged(self, pair: Pair, margins: Sequence[Floats]) -> "MergedPair":
        least = self.rare * self.pooled[pair][1] ** 0.5
        return MergedPair(merge_rare(margins[pair[0]], least), merge_rare(margins[pair[1]], least))

    def _possible(self, table: Floats, pair: Pair, margins: Sequence[Floats]) -> Floats:
        """The table made possible: not negative, empty where the schema forbids records, with the given margins."""
        square = table.reshape(self.shape[pair[0]], self.shape[pair[1]])
        if square.min() < 0:  # raking, below, keeps a table that has no negative cell
            square = project_pair(square, margins[pair[0]], margins[pair[1]])
        mixed = self.allowed(pair) * (square + 1e-6 * outer(margins, *pair).reshape(square.shape))
        return fit_margins(mixed, {(0,): margins[pair[0]], (1,): margins[pair[1]]}, sweeps=5).ravel()

    def allowed(self, pair: Pair) -> "Floats | float":
        """0 where a structural zero or rule forbids every record of a cell, else 1."""
        schema = self.axes.schema
        if not (schema.zeros or schema.rules):
            return 1.0
        size = (self.shape[pair[0]], self.shape[pair[1]])
        codes: dict[str, npt.NDArray[np.intp]] = {}
        for axis, at in zip(pair, np.indices(size).reshape(2, -1), strict=True):
            parts = self.axes.parts[axis]
            codes |= dict(zip(parts, np.unravel_index(at, self.axes.coding.shape(parts)), strict=True))
        free = ~impossible(schema, codes)
        return np.asarray(free.reshape(size), np.float64) if free.any() else 1.0

    def _under(self, tree: TreeModel, margins: Sequence[Floats], pairs: Sequence[Pair]) -> dict[Pair, Floats]:
        """What the tree says of ``pairs``, and a trace of independence."""
        said = tree_pairs(tree, pairs)
        trace = BLEND.tree_trace
        return {p: (1 - trace) * self.total * said[p] + trace * outer(margins, *p) for p in pairs}


def project_known(counts: Floats, total: float) -> Floats:
    """The counts projected to possible ones; those that are NaN are 0."""
    known, found = np.isfinite(counts), np.zeros(len(counts))
    found[known] = project(counts[known], total)
    return found


def _joined(answers: Mapping[_K, list[Measurement]], more: Mapping[_K, Measurement]) -> dict[_K, list[Measurement]]:
    """All answers by their keys."""
    found = {k: list(v) for k, v in answers.items()}
    for key, m in more.items():
        found.setdefault(key, []).append(m)
    return found


def tree_pairs(tree: TreeModel, pairs: Sequence[Pair]) -> dict[Pair, Floats]:
    """The joint shares of each of ``pairs`` under the tree, flat; independent where nothing links them."""
    linked = {i: tree.pairs_of(i) for i in {p[0] for p in pairs}}
    alone = tree.margins
    return {(i, j): (linked[i][j] if j in linked[i] else np.outer(alone[i], alone[j])).ravel() for i, j in pairs}


def estimated_tree(noisy: NoisyTables, estimates: Mapping[Key, Floats]) -> TreeModel:
    """A tree of estimated pairs: of those with most association."""
    shape, total = noisy.shape, float(noisy.total)
    pairs = {(k[0], k[1]): t for k, t in estimates.items() if len(k) == 2}
    square = {k: t.reshape(shape[k[0]], shape[k[1]]) / total for k, t in pairs.items()}
    margins = [estimates[i,] / total for i in range(len(shape))]
    strength = {k: float(np.abs(t - np.outer(t.sum(axis=1), t.sum(axis=0))).sum()) for k, t in square.items()}
    edges = spanning_forest(len(shape), strength)
    return TreeModel(margins, {k: square[k] for k in edges})


@final
@dataclass(frozen=True, eq=False)
class MergedValues:
    """The values of one column, the rare ones in one group.

    Attributes:
        group: the group of every value; each frequent value is a group of its own.
        part: what share of its group each value is.
    """

    group: npt.NDArray[np.intp]
    part: Floats

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.group.max()) + 1


def merge_rare(margin: Floats, least: float) -> MergedValues:
    """The column with these one-way counts, values that count less than ``least`` in one group.

    >>> merge_rare(np.array([50.0, 1.0, 3.0, 40.0]), 5.0).group.tolist()
    [0, 2, 2, 1]
    >>> merge_rare(np.array([50.0, 1.0, 3.0, 40.0]), 5.0).part.tolist()
    [1.0, 0.25, 0.75, 1.0]
    """
    rare = margin < least
    group = np.where(rare, int((~rare).sum()), np.cumsum(~rare) - 1)
    sums = np.bincount(group, margin)[group]
    even = 1 / np.bincount(group)[group]
    return MergedValues(group, np.divide(margin, sums, out=even.astype(np.float64), where=sums > 0))


@final
@dataclass(frozen=True, eq=False)
class MergedPair:
    """A pair of columns, the rare values of each in one group."""

    first: MergedValues
    second: MergedValues

    @cached_property
    def cell(self) -> npt.NDArray[np.intp]:
        """The cell of groups of every cell of the pair, flat."""
        return np.asarray((self.first.group[:, None] * self.second.size + self.second.group[None, :]).ravel())

    def seen(self, table: Floats, mean: Floats, noise: float) -> tuple[Floats, Floats, Floats]:
        """The noisy counts of groups with the margins of ``mean``, their mean, and the variance of their noise."""
        size, shape = self.first.size * self.second.size, (len(self.first.group), len(self.second.group))
        many = [np.bincount(c.group) for c in (self.first, self.second)]
        left = np.outer(*(m * (1 - m / m.sum()) for m in many)).ravel()
        table = with_margins_of(mean, table, shape)
        counts, expected = (np.bincount(self.cell, t, size).astype(np.float64) for t in (table, mean))
        return counts, expected, noise * left

    def shrunk(self, table: Floats, mean: Floats, noise: float, like: Moments | None = None) -> Floats:
        """A noisy pair shrunk towards ``mean`` with its rare values as one each, shared out by the one-way tables."""
        near = shrink_pair(*self.seen(table, mean, noise), (self.first.size, self.second.size), like)
        return np.asarray(near[self.cell] * np.outer(self.first.part, self.second.part).ravel())
