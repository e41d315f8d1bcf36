"""``dpsyn``: the DPSyn paper's method. Group sizes, as many tables as the budget bears, then records by group."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import ClassVar, Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.errors import JobError
from hedgerow.model.constants import DPSYN
from hedgerow.model.records import (
    AbstractFitter,
    Exchange,
    GradualUpdate,
    GroupedModel,
    PairTargets,
    PublicGroups,
    Records,
    fixed_stream,
    pair_shares,
)
from hedgerow.model.tables import (
    Floats,
    Pair,
    common_margins,
    consistent,
    fit_pair,
    project,
    rake_rows,
    shrink,
    shrink_by_gaps,
    systematic_counts,
)
from hedgerow.public import (
    TOTAL,
    Budget,
    CodedTable,
    Law,
    Marginal,
    Measure,
    Measurement,
    Noise,
    PublicData,
    Spend,
    Tariff,
    law_of,
)
from hedgerow.recipes.base import AbstractRecipe, drawable, pair_records_memory
from hedgerow.recipes.dpsyn.budget import (
    PAPER,
    BudgetSplit,
    PaperRule,
    first_price,
    plan_lines,
    prices_of,
    split_budget,
    table_law,
    total_share,
)

_STATE = 20190521  # of the pool's own random stream: the pool is a function of the answers alone


@final
@dataclass(frozen=True)
class DPSyn(AbstractRecipe):
    """Group sizes with noise; public, one-way or two-way tables as the budget bears; records by gradual update.

    Attributes:
        groups: the columns whose cross makes the groups (PUMA and YEAR in the paper); none: one group.
        rows: the number of records when it is public; otherwise the noisy group sizes tell.
        total, low, middle, high, one_way, two_way: the constants of the budget rule; see ``PaperRule``.
        round_public, round_measured: group sizes are rounded to multiples of these (the paper's K, 10 and 100).
            Left out, the paper's in its variant, none in the repaired one.
        floor: a smaller group is given this many records; 0 turns it off. Left out, the paper's 300 in its variant;
            in the repaired one a part of the noise on a group's size, taken from the other groups, so that the
            file has as many records as the table has rows, but for noise.
        pool: how many records are fitted before groups are sampled from them; the paper's 10,000.
        rounds: of gradual update, in the paper's variant.
        sweeps: how many pool records each record of a group is offered, in the repaired variant.
        variant: ``paper`` is the plain method of the paper: its noise (Laplace on one-way tables, what joint
            accounting leaves is kept), gradual update of records drawn at random.  ``repaired`` is ours: Gaussian
            noise where the job has a delta, the whole promise spent, noisy tables shrunk towards the public ones,
            public records weighed anew and exchanged whole, each group near to its own public rows.
        reuse: groups of equal size are copies of one another, as in the paper; off by default.
    """

    name: ClassVar[str] = "dpsyn"
    groups: Sequence[str] = ()
    rows: int | None = None
    total: float = PAPER.total
    low: float = PAPER.low
    middle: float = PAPER.middle
    high: float = PAPER.high
    one_way: float = PAPER.one_way
    two_way: float = PAPER.two_way
    round_public: int | None = None
    round_measured: int | None = None
    floor: int | None = None
    pool: int = 10_000
    rounds: int = 10
    sweeps: int = 60
    variant: Literal["repaired", "paper"] = "repaired"
    reuse: bool = False

    def rules(self) -> dict[str, bool]:
        """The constants of the budget rule are above 0; numbers are possible ones."""
        constants = ("total", "low", "middle", "high", "one_way", "two_way")
        least = {"rows": 1, "round_public": 1, "round_measured": 1, "floor": 0, "pool": 1, "rounds": 0, "sweeps": 0}
        return {f"{n} is above 0": getattr(self, n) > 0 for n in constants} | {
            f"{n} is {low} or more": getattr(self, n) is None or getattr(self, n) >= low for n, low in least.items()
        }

    @property
    def rule(self) -> PaperRule:
        """The constants of the budget rule."""
        steps = PAPER if self.variant == "paper" else PaperRule(round_public=1, round_measured=1)
        given = {f.name: getattr(self, f.name) for f in fields(PaperRule)}
        return replace(steps, **{name: value for name, value in given.items() if value is not None})

    @property
    def lowest(self) -> int | None:
        """The least records of a group; None: the noise on its size tells."""
        return 300 if self.floor is None and self.variant == "paper" else self.floor

    @property
    def accounting(self) -> Measure:
        """As the paper adds up: Laplace epsilons, and one Gaussian request with the delta."""
        return "basic" if self.variant == "paper" else "zcdp"

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """What will be asked if the table has the assumed number of rows; only the first request is certain."""
        columns, relative = self._columns(public), _relative(public)
        rows = public.assumed_rows or self.rows or relative.rows
        left, found = budget.total, []
        if cost := self._first(tariff, budget):
            found.append(tariff.measure_all([TOTAL], cost, law=table_law(budget)))
            left -= cost
        split = self._split(tariff, budget, rows, len(columns))
        prices = prices_of(split, budget, left, as_written=self.variant == "paper")
        found.append(tariff.measure_all([Marginal(tuple(self.groups))], prices.group, law=table_law(budget)))
        if prices.tables:
            questions, law = self._tables(split, columns, budget)
            found.append(tariff.measure_all(questions, prices.tables, law=law))
        return tuple(found)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """The regime, the split and the scales for the assumed number of rows; the paper's sum, and the joint one."""
        columns, relative = self._columns(public), _relative(public)
        rows = public.assumed_rows or self.rows or relative.rows
        split = self._split(tariff, budget, rows, len(columns))
        spends = self.requests(tariff, budget, public)
        return (*plan_lines(split, spends, tariff, budget, rows), *self._forecast(split, spends, public, rows))

    def _forecast(
        self, split: BudgetSplit, spends: Sequence[Spend], public: PublicData, rows: int
    ) -> tuple[str, ...]:
        """How many records and how large groups are to be expected, and how many have public rows of their own."""
        if not self.groups:
            return ()
        relative, cells = _relative(public), public.schema.size(self.groups)
        known = np.bincount(_cells(relative, self.groups), minlength=cells)
        noise = _group_noise(spends, self.groups)
        sd = sqrt(law_of(noise).variance)
        imagined = rows * (known + 0.5) / (known.sum() + 0.5 * cells)
        noisy = np.rint(imagined + fixed_stream().laplace(0, sd / sqrt(2), cells)).astype(np.int64)
        nearer = self._nearer(Measurement(Marginal(tuple(self.groups)), noisy, noise), relative)
        sizes = self._sizes(nearer, split, sd)
        low, middle, high = (int(q) for q in np.quantile(sizes, (0.05, 0.5, 0.95)))
        least = self._least(rows, cells, sd)
        return (
            f"forecast, for groups as large as in the public table: about {int(sizes.sum()):,} records in {cells:,} "
            f"groups ({' x '.join(self.groups)}), nine in ten of {low:,} to {high:,} records, median {middle:,}; "
            f"{least:,.0f} at least; noise on the size of a group sd {sd:,.4g}",
            f"{np.count_nonzero(known):,} of the groups have public rows of their own"
            + (", and are drawn near to them" if self.variant == "repaired" and not self.reuse else ""),
        )

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, the public rows that are weighed, and groups that are at least as large as the floor."""
        columns, known = self._columns(public), _relative(public).rows
        records = self._records(public, rows)
        weighing = known * (16 * len(columns) + 40)
        return pair_records_memory(public.schema, columns, records=records) + weighing

    def surplus(self, requests: Sequence[Spend]) -> int:
        """What noise adds to the group sizes. As the paper has it, those below zero do not make up for it."""
        if self.rows:
            return 0
        (cells,) = {a.cells for r in requests for a in r.asked if a.question == Marginal(tuple(self.groups))}
        spread = sqrt(law_of(_group_noise(requests, self.groups)).variance)
        return round(cells * spread if self.variant == "paper" else 3 * spread * sqrt(cells))

    def lighter(self, public: PublicData, rows: int) -> str:
        """Groups that are filled up to the floor may hold far more records than the table has rows."""
        if self._records(public, rows) <= (self.rows or rows):
            return ""
        groups = public.schema.size(self.groups)
        return (
            f"Each of the {groups:,} groups ({' x '.join(self.groups)}) gets at least {self.lowest:,} records: "
            "name fewer groups, or set\n[dpsyn] floor = 0, or declare rows."
        )

    def seconds(self, public: PublicData, rows: int) -> float:
        """Counting, weighing the public rows, and fitting records to every pair; as measured on two files."""
        columns, records = len(self._columns(public)), self._records(public, rows)
        pairs = columns * (columns - 1) / 2
        each = 3.5e-8 * (max(self.rounds, 1) if self.variant == "paper" else 3)
        return super().seconds(public, rows) + pairs * (each * records + 4e-8 * _relative(public).rows) + 2.0

    def _records(self, public: PublicData, rows: int) -> int:
        """How many records there will be of a table of ``rows`` rows, at most about."""
        filled = public.schema.size(self.groups) * (self.lowest or 0) if self.groups else 0
        return self.rows or max(rows, filled)

    def fit(self, gate: Answers, public: PublicData) -> GroupedModel:
        """Ask for the number of rows, the group sizes and the tables; make them agree; fit the pool."""
        return self._fit(gate, public, lambda m: m)

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> GroupedModel:
        """The number of rows, which decides what is asked, as it was; all other answers noisier."""
        return self._fit(gate.known, public, gate.noisier)

    def _fit(self, gate: Answers, public: PublicData, change: Callable[[Measurement], Measurement]) -> GroupedModel:
        columns, relative = self._columns(public), _relative(public)
        tariff, budget = gate.tariff, gate.budget
        noisy_rows = 1.0
        if cost := self._first(tariff, budget):
            (number,) = gate.measure([TOTAL], cost, law=table_law(budget))
            noisy_rows = float(number.counts[0])
        split = self._split(tariff, budget, noisy_rows, len(columns))
        prices = prices_of(split, budget, gate.left, as_written=self.variant == "paper")
        (grouped,) = gate.measure([Marginal(tuple(self.groups))], prices.group, law=table_law(budget))
        answers: tuple[Measurement, ...] = ()
        if prices.tables:
            questions, law = self._tables(split, columns, budget)
            answers = gate.measure(questions, prices.tables, law=law)
        grouped, answers = change(grouped), tuple(map(change, answers))
        spread = sqrt(law_of(grouped.noise).variance)
        sizes = self._sizes(self._nearer(grouped, relative), split, spread)
        way = PaperWay if self.variant == "paper" else RepairedWay
        shape = tariff.coding.shape(columns)
        codes = relative.codes(columns)
        public_rows = np.stack([codes[c].astype(np.uint16) for c in columns], axis=1)
        made = way(public_rows, shape, self.pool, self.rounds, self.sweeps).made_of(answers)
        return GroupedModel(
            total=drawable(int(sizes.sum())),
            schema=public.schema,
            groups=tuple(self.groups),
            columns=columns,
            sizes=sizes,
            pool=made.pool,
            targets=made.targets,
            fitter=made.fitter,
            at_random=self.variant == "paper",
            reuse=self.reuse,
            public=self._public_groups(made, public_rows, relative),
        )

    def _public_groups(self, made: "Material", rows: Records, relative: CodedTable) -> PublicGroups | None:
        """The public rows by group, weighed as the pool is; none as the paper has it."""
        if made.weights is None or not self.groups or self.reuse:
            return None
        shape = relative.schema.shape(self.groups)
        return PublicGroups(rows, made.weights, _cells(relative, self.groups), shape, DPSYN.near)

    def _columns(self, public: PublicData) -> tuple[str, ...]:
        """The attributes besides the group columns, which must be attributes themselves."""
        attributes = public.schema.attributes
        strange = [g for g in self.groups if g not in attributes]
        rest = tuple(a for a in attributes if a not in self.groups)
        if strange or len(set(self.groups)) < len(self.groups) or not rest:
            raise JobError(
                f"[dpsyn] groups = {list(self.groups)}: name columns that are neither joined nor determined, "
                f"each once, and leave at least one for the records.\nThe schema has: {', '.join(attributes)}. "
                "No confidential row was read and nothing was spent."
            )
        if max(public.schema.shape(rest)) > 1 << 16:
            raise JobError("dpsyn takes columns of at most 65,536 values. Use fewer bins. Nothing was read or spent.")
        return rest

    def _first(self, tariff: Tariff, budget: Budget) -> Fraction:
        share = total_share(float(budget.epsilon), tariff.guarantee.l1, self.rule)
        return first_price(share, budget) if share else Fraction(0)

    def _split(self, tariff: Tariff, budget: Budget, rows: float, columns: int) -> BudgetSplit:
        """The paper's rule; with a single column there are no pairs, so it stops at one-way as with delta 0."""
        delta = float(budget.delta) if columns > 1 else 0.0
        return split_budget(float(budget.epsilon), delta=delta, theta=tariff.guarantee.l1, rows=rows, rule=self.rule)

    def _tables(self, split: BudgetSplit, columns: Sequence[str], budget: Budget) -> tuple[list[Marginal], Law]:
        if split.regime == "one_way":
            return [Marginal((c,)) for c in columns], table_law(budget)
        return [Marginal(p) for p in combinations(columns, 2)], "gaussian"

    def _nearer(self, grouped: Measurement, relative: CodedTable) -> Floats:
        """The noisy group sizes; repaired, shrunk towards equal or public ones, as far as the noise recommends.

        Which of the two is the nearer one is told by the noisy sizes themselves, as is how far the truth seems to
        be from it.  So a small budget does not fill a file with groups of nothing but noise.
        """
        noisy = grouped.counts.astype(np.float64)
        if self.variant == "paper" or not self.groups:
            return noisy
        known = np.bincount(_cells(relative, self.groups), minlength=noisy.size) + 0.5
        total = max(float(noisy.sum()), 1.0)
        means = (np.full(noisy.size, total / noisy.size), total * known / known.sum())
        return shrink(
            noisy, min(means, key=lambda mean: float(((noisy - mean) ** 2).sum())), law_of(grouped.noise).variance
        )

    def _least(self, total: float, cells: int, spread: float) -> float:
        """The least records of a group, where noise of this standard deviation is on its size."""
        if self.lowest is not None:
            return float(self.lowest)
        part, most = DPSYN.floor
        return min(part * spread, most * total / cells)

    def _sizes(self, noisy: Floats, split: BudgetSplit, spread: float) -> npt.NDArray[np.int64]:
        """Whole group sizes: not below the floor, multiples of K, scaled to the public number of rows if given.

        A floor of the paper's, or a given one, adds records; one that follows the noise takes them from other groups.
        """
        total = max(float(noisy.sum()), 1.0)
        least = self._least(total, noisy.size, spread) if self.groups else 0.0
        if self.groups and self.lowest:
            sizes = np.maximum(noisy, least)
        else:
            sizes = least + project(noisy - least, max(total - least * noisy.size, 0.0))
        if self.groups:
            sizes = np.rint(sizes / split.round_to) * split.round_to if split.round_to > 1 else sizes
        if (self.rows is not None or split.round_to == 1) and sizes.sum() > 0:
            edges = np.rint(np.cumsum(sizes) / sizes.sum() * (self.rows or round(float(sizes.sum()))))
            sizes = np.diff(edges, prepend=0.0)
        whole = np.rint(sizes).astype(np.int64)
        if whole.sum() < 1:
            whole[int(np.argmax(noisy))] = self.rows or 1
        return whole


def _cells(table: CodedTable, groups: Sequence[str]) -> npt.NDArray[np.int64]:
    """The group of every row of a public table: its cell of the cross of the group columns."""
    codes = table.codes(groups)
    shape = table.schema.shape(groups)
    return np.ravel_multi_index([codes[g].astype(np.int64) for g in groups], shape).astype(np.int64)


def _group_noise(spends: Sequence[Spend], groups: Sequence[str]) -> Noise:
    """The noise on the size of a group; without groups, on the number of rows."""
    (table,) = [r.asked for r in spends if r.asked[0].question == Marginal(tuple(groups))][-1]
    return table.noise


def _relative(public: PublicData) -> CodedTable:
    if public.relative is None:
        raise JobError(
            "dpsyn starts from a public relative of the confidential table, and there is none.\n"
            "Name it in the job: [public] table = '...'; when sampling a release: --public TABLE. Without one, "
            "use another recipe.\nNo confidential row was read and nothing was spent."
        )
    return public.relative


@final
@dataclass(frozen=True, eq=False)
class Material:
    """What the groups are made of: a pool, the tables to come near to, and how; what each public row weighs."""

    pool: Records
    targets: PairTargets
    fitter: AbstractFitter
    weights: Floats | None = None


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
            return Material(self.public, targets, Exchange(self.public, self.sweeps), np.ones(len(self.public)))
        if len(answers[0].question.columns) == 1:
            ones = [np.bincount(self.public[:, i], minlength=s) / len(self.public) for i, s in enumerate(self.sizes)]
            tables = _with_margins(tables, [project(t, 1.0) for t in shrunk_shares(answers, ones)])
        else:
            tables = consistent(_shaped(shrunk_shares(answers, list(tables.values())), tables))
        weights, reached = public_weights(self.public, PairTargets(self.sizes, tables))
        order = np.lexsort(self.public.T[::-1])
        pool = np.repeat(self.public[order], systematic_counts(weights[order], self.pool, fixed_stream()), axis=0)
        return Material(pool, reached, Exchange(pool, self.sweeps), weights)


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
