"""Records by group: groups of a known size that share one pool, each near to the public rows of its own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.model.base import SHARD, AbstractModel, Expected, shard_sizes
from hedgerow.model.records.descent import PairTargets, Records
from hedgerow.model.records.fitters import AbstractFitter, Exchange, NearRows, fit_groups
from hedgerow.model.tables import Floats, systematic_counts
from hedgerow.public import Codes, Marginal, Schema, code_type, column_codes

Whole = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class PublicGroups:
    """Public rows by group, for what a group is expected to hold: its rows shrunk towards wider groups around it.

    A group with n public rows is told n / (n + near) by them, and the rest by the group around it, where the group
    column with the fewest values is left out; and so on, up to all rows.  With area and year a group without
    public rows of its year is told by the rows of its area.

    Attributes:
        rows: public records of all columns but those of the groups.
        weights: how many records each stands for.
        cells: the cell of the cross of the group columns that each row belongs to.
        shape: how many codes each group column has.
        near: so many rows of a group count as much as all that is around it.
    """

    rows: Records
    weights: Floats
    cells: Whole
    shape: tuple[int, ...]
    near: float

    def of(self, cell: int) -> NearRows | None:
        """The rows that tell of a cell, each with its share; None: there are none but the pool of all rows."""
        at = np.unravel_index(cell, self.shape)
        found, shares, left = [], [], 1.0
        for kept, order, starts in self._levels:
            key = int(np.ravel_multi_index([at[i] for i in kept], [self.shape[i] for i in kept]))
            rows = order[starts[key] : starts[key + 1]]
            worth = self.weights[rows]
            if worth.sum() > 0:
                here = left * len(rows) / (len(rows) + self.near)
                found.append(rows)
                shares.append(here * worth / worth.sum())
                left -= here
        return NearRows(self.rows[np.concatenate(found)], np.concatenate(shares)) if found else None

    @cached_property
    def _levels(self) -> list[tuple[list[int], Whole, Whole]]:
        """Finest first: the group columns that are kept, the rows in the order of their cells, where each begins."""
        codes = np.unravel_index(self.cells, self.shape)
        kept, levels = list(range(len(self.shape))), []
        while kept:
            sizes = [self.shape[i] for i in kept]
            key = np.ravel_multi_index([codes[i] for i in kept], sizes)
            order = np.argsort(key, kind="stable").astype(np.int64)
            starts = np.searchsorted(key[order], np.arange(int(np.prod(sizes)) + 1)).astype(np.int64)
            levels.append((list(kept), order, starts))
            kept.remove(min(kept, key=lambda i: self.shape[i]))
        return levels


@final
@dataclass(frozen=True, eq=False)
class GroupedModel(AbstractModel):
    """Groups of known size that share one pool of everything else, each near to the public rows of its own.

    Without ``public`` all groups share one distribution, and differences between them are lost.

    Attributes:
        total: the number of records of all groups.
        schema: what the columns mean.
        groups: the group columns; none: the whole table is one group.
        columns: all other attributes, in the order of a record.
        sizes: the records of every cell of the cross of the group columns, flat, last fastest.
        pool: records of all other attributes, one column each.
        targets: the tables every group is refined towards.
        fitter: how the records of a group are moved towards them.
        at_random: a group starts from records of the pool drawn at random, as in the paper, not spread evenly.
        reuse: groups of equal size are copies of one another; saves time and destroys their variety.
        public: public rows by group; None where every group is like the pool.
    """

    total: int
    schema: Schema
    groups: tuple[str, ...]
    columns: tuple[str, ...]
    sizes: npt.NDArray[np.int64]
    pool: Records
    targets: PairTargets
    fitter: AbstractFitter
    at_random: bool = False
    reuse: bool = False
    public: PublicGroups | None = None

    def expected(self, question: Marginal) -> Expected:
        """The counts expected: group sizes times the shares of the pool and of the public rows of the group."""
        inner = tuple(c for c in question.columns if c not in self.groups)
        outer = tuple(c for c in question.columns if c in self.groups)
        shape, size = self.schema.shape(self.groups), self.schema.size(inner) if inner else 1
        sizes = self.sizes * (self.total / max(self.sizes.sum(), 1))
        near = {int(c): rows for c in np.flatnonzero(self.sizes) if (rows := self._near(int(c))) is not None}
        told = np.array([near[c].share if c in near else 0.0 for c in range(len(sizes))])
        joint = np.multiply.outer(sizes * (1 - told), self._shares(self.pool, inner))
        for c, rows in near.items():
            joint[c] += sizes[c] * rows.share * self._shares(rows.rows, inner, rows.weights)
        summed = tuple(i for i, c in enumerate(self.groups) if c not in outer)
        joint = joint.reshape((*(shape or (1,)), size)).sum(axis=summed if self.groups else 0)
        joint = joint.reshape(
            (
                *(n for n, c in zip(shape, self.groups, strict=True) if c in outer),
                *(self.schema.shape(inner) if inner else ()),
            )
        )
        have = [c for c in self.groups if c in outer] + list(inner)
        return np.asarray(joint.transpose([have.index(c) for c in question.columns]).ravel())

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records, each group in proportion to its size. The same with any number of threads."""
        return self._drawn(self._sizes(n, rng), rng)

    def shards(self, rngs: Sequence[np.random.Generator]) -> Iterator[npt.NDArray[np.int64]]:
        """The records of every group in each shard: groups whole, as far as they are not larger than a shard."""
        ends = np.cumsum(self._sizes(self.total, rngs[0]))
        cuts = np.cumsum([0, *shard_sizes(self.total, len(rngs))])
        for i in range(1, len(rngs)):
            near = ends[np.searchsorted(ends, cuts[i])]
            cuts[i] = near if near - cuts[i] <= SHARD // 2 else cuts[i]
        return (np.diff(np.clip([0, *ends], low, high)) for low, high in pairwise(cuts))

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        """So many records of each group."""
        return self._drawn(part, rng), None

    def _sizes(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The records of every group, of ``n`` in all."""
        return self.sizes if n == self.sizes.sum() else systematic_counts(self.sizes / self.sizes.sum(), n, rng)

    def _drawn(self, sizes: npt.NDArray[np.int64], rng: np.random.Generator) -> Mapping[str, Codes]:
        """So many records of each group."""
        cells = np.flatnonzero(sizes)
        made, same = sizes[cells], np.arange(len(cells))
        if self.reuse:
            made, same = np.unique(sizes[cells], return_inverse=True)
        seeds = rng.integers(1, 1 << 62, len(made)).tolist()
        near = [None if self.reuse else self._near(int(c)) for c in cells[: len(made)]]
        parts = list(zip(made.tolist(), seeds, near, strict=True))
        starts = [self._start(size, seed, rows) for size, seed, rows in parts]
        fitted = fit_groups([self._fitter(rows) for rows in near], starts, self.targets, seeds)
        records = np.concatenate([fitted[i] for i in same])
        out: dict[str, Codes] = {
            c: records[:, i].astype(code_type(size))
            for i, (c, size) in enumerate(zip(self.columns, self.targets.sizes, strict=True))
        }
        where = np.unravel_index(np.repeat(cells, sizes[cells]), self.schema.shape(self.groups) or (1,))
        return out | {
            c: at.astype(code_type(self.schema.size([c]))) for c, at in zip(self.groups, where, strict=False)
        }

    def _near(self, cell: int) -> NearRows | None:
        return None if self.public is None else self.public.of(cell)

    def _fitter(self, near: NearRows | None) -> AbstractFitter:
        """The fitter of a group: exchange takes the public rows of the group in."""
        return replace(self.fitter, near=near) if near and isinstance(self.fitter, Exchange) else self.fitter

    def _start(self, n: int, seed: int, near: NearRows | None) -> Records:
        """``n`` records of the pool: spread evenly over it from a random start, or drawn at random."""
        if self.at_random:
            return self.pool[np.random.Generator(np.random.PCG64(seed)).integers(0, len(self.pool), n)]
        pool = self.pool if near is None else near.mixed(self.pool, n)
        return pool[(np.arange(n, dtype=np.int64) * len(pool) // n + seed) % len(pool)]

    def _shares(self, records: Records, columns: tuple[str, ...], weights: Floats | None = None) -> Expected:
        """The records' shares of a table, flat; parts of joined columns are split out, determined ones filled in."""
        if not columns:
            return np.ones(1)
        codes: dict[str, Codes] = {c: records[:, i] for i, c in enumerate(self.columns)}
        plain = column_codes(self.schema, codes) if not set(columns) <= set(codes) else {}
        used = [np.asarray(codes[c] if c in codes else plain[c]).astype(np.int64) for c in columns]
        flat = np.ravel_multi_index(used, self.schema.shape(columns))
        counts = np.bincount(flat, weights, self.schema.size(columns))
        return np.asarray(counts / max(float(counts.sum()), 1e-300))
