"""From noisy tables to the shares and the pool of records that groups are made of: the paper's way, and ours."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.model.records.descent import PairTargets, Records, pair_shares
from hedgerow.model.records.fitters import AbstractFitter, Descent, Exchange, GradualUpdate
from hedgerow.model.records.models import fixed_stream
from hedgerow.model.tables.projection import Floats, Pair, project, systematic_counts
from hedgerow.model.tables.proportional_fitting import common_margins, consistent, fit_pair, rake
from hedgerow.model.tables.toward_public import drawn_and_followed
from hedgerow.public.costs import Measurement, law_of

MOST_KEYS = 50_000_000  # keys of public records held at once: 200 MB
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
        noisy, _ = shares_of(answers)
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
    """Noisy tables drawn towards the public ones; public records weighed anew, and exchanged whole."""

    def made_of(self, answers: Sequence[Measurement]) -> Material:
        """The weighed records' own tables are aimed at, unless they are expected to be further from the truth."""
        tables = pair_shares(self.public, self.sizes)
        if not answers:
            targets = PairTargets(self.sizes, tables)
            return Material(self.public, targets, Exchange(self.public, self.sweeps))
        noisy, variance = shares_of(answers)
        one_way = len(answers[0].question.columns) == 1
        if one_way:
            prior = [np.bincount(self.public[:, i], minlength=s) / len(self.public) for i, s in enumerate(self.sizes)]
            near, followed = drawn_and_followed(noisy, prior, variance)
            tables = _with_margins(tables, [project(t, 1.0) for t in near])
        else:
            prior = list(tables.values())
            near, followed = drawn_and_followed(list(_shaped(noisy, tables).values()), prior, variance)
            tables = consistent(dict(zip(tables, near, strict=True)))
        wanted = PairTargets(self.sizes, tables)
        rows, weights, reached = public_pool(self.public, wanted)
        order = np.lexsort(rows.T[::-1])
        pool = np.repeat(rows[order], systematic_counts(weights[order], self.pool, fixed_stream()), axis=0)
        answered = np.concatenate(noisy)
        if not one_way and _risk(answered, wanted.shares, variance, followed) < _risk(
            answered, reached.shares, variance
        ):
            pool, reached = Descent().fit(pool, wanted, _STATE), wanted
        return Material(pool, reached, Exchange(pool, self.sweeps))


def shares_of(answers: Sequence[Measurement]) -> tuple[list[Floats], float]:
    """The noisy tables as shares of their mean sum, and the variance of the noise on a share."""
    number = max(float(np.mean([m.counts.sum() for m in answers])), 1.0)
    return [m.counts / number for m in answers], law_of(answers[0].noise).variance / number**2


def _risk(noisy: Floats, estimate: Floats, variance: float, followed: float = 0.0) -> float:
    """The expected squared error of an estimate, up to a constant, judged by the noisy tables themselves (Stein).

    An estimate that follows the noise seems nearer to it than to the truth: by twice the noise variance times how
    much of a change of each cell it follows, summed over the cells.
    """
    return float(np.sum((noisy - estimate) ** 2)) + 2 * variance * followed


def public_pool(public: Records, targets: PairTargets, *, sweeps: int = 20) -> tuple[Records, Floats, PairTargets]:
    """Public records; their weights, with which their tables are near ``targets``; and the tables they have then.

    What the weighted records cannot show is mostly noise of the targets, so their own tables are the better
    ones to aim at as long as the public records have room for what changed.  Very many records are thinned.
    """
    keep = min(len(public), max(MOST_KEYS // max(len(targets.tables), 1), 1))
    rows = public[np.arange(keep) * len(public) // keep]
    keys = np.empty((len(targets.tables), keep), np.int32)
    for key, (a, b) in zip(keys, targets.tables, strict=True):
        key[:] = rows[:, a].astype(np.int32) * np.int32(targets.sizes[b]) + rows[:, b]
    weights = rake(list(keys), [t.ravel() * keep for t in targets.tables.values()], np.ones(keep), sweeps=sweeps)
    reached = {
        pair: np.bincount(key, weights, wanted.size) / keep
        for key, (pair, wanted) in zip(keys, targets.tables.items(), strict=True)
    }
    return rows, weights, PairTargets(targets.sizes, reached)


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
