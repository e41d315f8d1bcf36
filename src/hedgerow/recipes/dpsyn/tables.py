"""From noisy tables to the shares and the pool of records that groups are made of: the paper's way, and ours."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.model.constants import DPSYN
from hedgerow.model.records.descent import PairTargets, Records, pair_shares
from hedgerow.model.records.fitters import AbstractFitter, Exchange, GradualUpdate
from hedgerow.model.records.models import fixed_stream
from hedgerow.model.tables.fitting import (
    Floats,
    Pair,
    common_margins,
    consistent,
    fit_pair,
    project,
    rake_rows,
    systematic_counts,
)
from hedgerow.model.tables.shrinkage import shrink_by_gaps
from hedgerow.public import Measurement, law_of

_STATE = 20190521  # of the pool's own random stream: the pool is a function of the answers alone


@final
@dataclass(frozen=True, eq=False)
class Material:
    """What the groups are made of: a pool, the tables to come near to, and how."""

    pool: Records
    targets: PairTargets
    fitter: AbstractFitter


@dataclass(frozen=True, eq=False)
class AbstractWay(ABC):
    """How answers and public rows become material.

    Attributes:
        public: the rows of the public table, in codes.
        sizes: how many codes each attribute besides the group columns has.
        pool: how many records are fitted.
        rounds: of gradual update.
        sweeps: how many pool records each record of a group is offered.
    """

    public: Records
    sizes: tuple[int, ...]
    pool: int
    rounds: int
    sweeps: int

    @abstractmethod
    def made_of(self, answers: Sequence[Measurement]) -> Material:
        """The material, from no answers (public tables only), every one-way table, or every two-way table."""


@final
@dataclass(frozen=True, eq=False)
class PaperWay(AbstractWay):
    """As the paper has it: tables made possible and consistent, 10,000 records by GUM, groups by GUM again."""

    def made_of(self, answers: Sequence[Measurement]) -> Material:
        """In the middle regime groups are moved towards the one-way tables, otherwise towards two-way tables."""
        update = GradualUpdate(self.rounds)
        tables = pair_shares(self.public, self.sizes)
        if not answers:
            return Material(self.public, PairTargets(self.sizes, tables), update)
        noisy = shares_of(answers)
        if len(answers[0].question.columns) == 1:
            ones = [project(t, 1.0) for t in noisy]
            tables = _with_margins(tables, ones)
            near = PairTargets(self.sizes, {(i,): t for i, t in enumerate(ones)})
        else:
            tables = consistent(_shaped(noisy, tables))
            near = PairTargets(self.sizes, tables)
            margins = common_margins(tables)
            ones = [margins[i] for i in range(len(self.sizes))]
        start = np.stack([_drawn(s, self.pool) for s in ones], axis=1)
        pool = update.fit(start, PairTargets(self.sizes, tables), _STATE)
        return Material(pool, near, update)


@final
@dataclass(frozen=True, eq=False)
class RepairedWay(AbstractWay):
    """Noisy tables shrunk towards the public ones; public records weighed anew, and exchanged whole."""

    def made_of(self, answers: Sequence[Measurement]) -> Material:
        """The weighed records' own tables are aimed at: what they cannot show is mostly noise."""
        tables = pair_shares(self.public, self.sizes)
        if not answers:
            targets = PairTargets(self.sizes, tables)
            return Material(self.public, targets, Exchange(self.public, self.sweeps))
        if len(answers[0].question.columns) == 1:
            ones = [np.bincount(self.public[:, i], minlength=s) / len(self.public) for i, s in enumerate(self.sizes)]
            tables = _with_margins(tables, [project(t, 1.0) for t in shrunk_shares(answers, ones)])
        else:
            tables = consistent(_shaped(shrunk_shares(answers, list(tables.values())), tables))
        weights, reached = public_weights(self.public, PairTargets(self.sizes, tables))
        order = np.lexsort(self.public.T[::-1])
        pool = np.repeat(self.public[order], systematic_counts(weights[order], self.pool, fixed_stream()), axis=0)
        return Material(pool, reached, Exchange(pool, self.sweeps))


def shares_of(answers: Sequence[Measurement]) -> list[Floats]:
    """The noisy tables as shares of their mean sum."""
    rows = rows_of(answers)
    return [m.counts / rows for m in answers]


def rows_of(answers: Sequence[Measurement]) -> float:
    """The mean sum of the noisy tables, at least 1."""
    return max(float(np.mean([m.counts.sum() for m in answers])), 1.0)


def shrunk_shares(answers: Sequence[Measurement], public: Sequence[Floats]) -> list[Floats]:
    """The noisy tables as shares, shrunk towards the public ones as far as all cells together recommend; flat."""
    rows, law = rows_of(answers), law_of(answers[0].noise)
    noisy = np.concatenate([m.counts for m in answers]).astype(np.float64)
    prior = rows * np.concatenate([t.ravel() for t in public])
    shares = shrink_by_gaps(noisy, prior, law.variance, law=type(law), scale=1.0).mean / rows
    return np.split(shares, np.cumsum([t.size for t in public])[:-1])


def public_weights(public: Records, targets: PairTargets) -> tuple[Floats, PairTargets]:
    """Weights of the public records with which their tables are near ``targets``, and the tables they have then."""
    number, (sweeps, power) = len(public), DPSYN.raking
    wanted = {key: table.ravel() * number for key, table in targets.tables.items()}
    weights = rake_rows(public, targets.sizes, wanted, np.ones(number), sweeps=sweeps, power=power)
    reached = {}
    for a, b in targets.tables:
        cell = public[:, a].astype(np.int64) * targets.sizes[b] + public[:, b]
        reached[a, b] = np.bincount(cell, weights, targets.sizes[a] * targets.sizes[b]) / number
    return weights, PairTargets(targets.sizes, reached)


def _with_margins(tables: Mapping[Pair, Floats], ones: Sequence[Floats]) -> dict[Pair, Floats]:
    """Two-way tables with these one-way shares."""
    return {(a, b): fit_pair(t, ones[a], ones[b]) for (a, b), t in tables.items()}


def _shaped(noisy: Sequence[Floats], like: Mapping[Pair, Floats]) -> dict[Pair, Floats]:
    return {pair: t.reshape(like[pair].shape) for pair, t in zip(like, noisy, strict=True)}


def _drawn(shares: Floats, n: int) -> Records:
    """``n`` values with these shares, in an order that does not depend on other columns."""
    stream = np.random.Generator(np.random.PCG64([_STATE, *np.rint(1e9 * shares).astype(np.int64).tolist()]))
    values = np.arange(len(shares), dtype=np.uint16)
    return stream.permutation(np.repeat(values, systematic_counts(shares, n, stream)))
