"""Whole records group by group: every group a sample of one pool, refined towards the same two-way tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import CountPlan
from hedgerow.model.base import AbstractModel, Expected
from hedgerow.model.fitters import AbstractFitter, fit_groups
from hedgerow.model.gum import PairTargets, Records
from hedgerow.model.rounding import systematic_counts
from hedgerow.public.coding import Codes, code_type
from hedgerow.public.costs.question import Marginal
from hedgerow.public.schema import Schema
from hedgerow.public.schema.splitting import column_codes


@final
@dataclass(frozen=True, eq=False)
class GroupedModel(AbstractModel):
    """Groups of known size that share one distribution of everything else. Differences between groups are lost.

    Attributes:
        total: the number of records of all groups.
        schema: what the columns mean.
        groups: the group columns; none: the whole table is one group.
        sizes: the records of every cell of the cross of the group columns, flat, last fastest.
        pool: records of all other attributes, in the order of ``targets.columns``.
        targets: the tables every group is refined towards.
        fitter: how the records of a group are moved towards them.
        at_random: a group starts from records of the pool drawn at random, as in the paper, not spread evenly.
        reuse: groups of equal size are copies of one another; saves time and destroys their variety.
    """

    total: int
    schema: Schema
    groups: tuple[str, ...]
    sizes: npt.NDArray[np.int64]
    pool: Records
    targets: PairTargets
    fitter: AbstractFitter
    at_random: bool = False
    reuse: bool = False

    def expected(self, question: Marginal) -> Expected:
        """The counts expected: group sizes times the pool's shares."""
        inner = tuple(c for c in question.columns if c not in self.groups)
        outer = tuple(c for c in question.columns if c in self.groups)
        shape = self.schema.shape(self.groups)
        summed = tuple(i for i, c in enumerate(self.groups) if c not in outer)
        sizes = self.sizes.reshape(shape).sum(axis=summed) * (self.total / max(self.sizes.sum(), 1))
        joint = np.multiply.outer(np.asarray(sizes, np.float64), self._shares(inner))
        have = [c for c in self.groups if c in outer] + list(inner)
        return np.asarray(joint.transpose([have.index(c) for c in question.columns]).ravel())

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records, each group in proportion to its size. The same with any number of threads."""
        sizes = self.sizes if n == self.sizes.sum() else systematic_counts(self.sizes / self.sizes.sum(), n, rng)
        cells = np.flatnonzero(sizes)
        made, same = sizes[cells], np.arange(len(cells))
        if self.reuse:
            made, same = np.unique(sizes[cells], return_inverse=True)
        seeds = rng.integers(1, 1 << 62, len(made)).tolist()
        starts = [self._start(size, seed) for size, seed in zip(made.tolist(), seeds, strict=True)]
        fitted = fit_groups(self.fitter, starts, self.targets, seeds)
        records = np.concatenate([fitted[i] for i in same])
        out: dict[str, Codes] = {
            c: records[:, i].astype(code_type(size))
            for i, (c, size) in enumerate(zip(self.targets.columns, self.targets.sizes, strict=True))
        }
        where = np.unravel_index(np.repeat(cells, sizes[cells]), self.schema.shape(self.groups) or (1,))
        return out | {
            c: at.astype(code_type(self.schema.size([c]))) for c, at in zip(self.groups, where, strict=False)
        }

    def _start(self, n: int, seed: int) -> Records:
        """``n`` records of the pool: spread evenly over it from a random start, or drawn at random."""
        if self.at_random:
            return self.pool[np.random.Generator(np.random.PCG64(seed)).integers(0, len(self.pool), n)]
        return self.pool[(np.arange(n, dtype=np.int64) * len(self.pool) // n + seed) % len(self.pool)]

    def _shares(self, columns: tuple[str, ...]) -> Expected:
        """The pool's shares of a table; parts of joined columns are split out, determined ones filled in."""
        if not columns:
            return np.array(1.0)
        codes: dict[str, Codes] = {c: self.pool[:, i] for i, c in enumerate(self.targets.columns)}
        plain = column_codes(self.schema, codes) if not set(columns) <= set(codes) else {}
        sizes = self.schema.coding.sizes
        used = {c: np.asarray(codes[c] if c in codes else plain[c]).astype(code_type(sizes[c])) for c in columns}
        counts = CountPlan([Marginal(columns)], self.schema.coding).count(used)
        return np.asarray(counts.reshape(self.schema.shape(columns)) / max(len(self.pool), 1))
