"""``integer_counts``: a table of counts with whole-number noise on every cell. Our default for tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar, Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.model.base import Expected
from hedgerow.model.constants import INTEGER_COUNTS
from hedgerow.model.tables import (
    METHODS,
    NORMAL,
    CountTable,
    Margin,
    Method,
    Noised,
    Reconciled,
    check_columns,
    fit_margins,
    left_variance,
    likely_counts,
    project,
    reconcile,
    reconciled_parts,
    shrink_by_gaps,
)
from hedgerow.public import (
    Budget,
    CodedTable,
    Counts,
    Flags,
    Marginal,
    Measure,
    Measurement,
    NoiseLaw,
    PublicData,
    Schema,
    Spend,
    Tariff,
    impossible,
    law_of,
)
from hedgerow.recipes.base import AbstractRecipe, TableSettings

_LEAST = 1e-12
_SHRUNK = "shrunk towards the public table"
_SCALED = ", scaled to the margins"


@final
@dataclass(frozen=True)
class IntegerCounts(AbstractRecipe):
    """Noisy cells, made consistent with noisy margins, shrunk to a public prior, projected to possible counts.

    Attributes:
        columns: the label columns of the table.
        groups: columns such as area and year that come first and divide it; each group keeps its own total.
        margins: margins that are measured too, each a list of columns; ``[]`` is the number of rows.
        margins_share: the part of the budget for all margins together; without one the part with which the errors of
            all tables together, cell by cell, are least.
        total: the number of rows when it is public; the noisy answers tell otherwise.
        prior: ``public``: shrink towards the shares of the public table; ``none``: do not.
    """

    name: ClassVar[str] = "integer_counts"
    columns: Sequence[str] = ()
    groups: Sequence[str] = ()
    margins: Sequence[Sequence[str]] = ()
    margins_share: float | None = None
    total: int | None = None
    prior: Literal["public", "none"] = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        order = self.table.columns
        kept = tuple(tuple(c for c in order if c in m) for m in self.margins)
        if any(set(k) != set(m) or len(k) == len(order) for k, m in zip(kept, self.margins, strict=True)):
            raise JobError(
                "[integer_counts] margins: each must be some, not all, of the table's own columns.\n"
                "No confidential row was read and nothing was spent."
            )
        object.__setattr__(self, "margins", tuple(dict.fromkeys(kept)))

    def rules(self) -> dict[str, bool]:
        """The number of rows is one that a table can have, and cells keep a part of the budget."""
        return {
            "total is 0 or more": self.total is None or self.total >= 0,
            "margins_share is between 0 and 1": self.margins_share is None or 0 < self.margins_share < 1,
        }

    @cached_property
    def table(self) -> Marginal:
        """The table that is published: groups first, then the other columns."""
        return Marginal((*self.groups, *(c for c in self.columns if c not in self.groups)))

    @property
    def draws_from_public(self) -> bool:
        """Counts come from the answers alone, unless they are shrunk."""
        return self.prior == "public"

    @property
    def table_settings(self) -> TableSettings:
        """What a plan needs to set it beside the other recipes for tables."""
        return TableSettings(len(self.groups), rows=self.total)

    @property
    def accounting(self) -> Measure:
        """All its noise is Gaussian."""
        return "gdp"

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One request: the table, and the margins with the part of the budget that serves all of them best."""
        self._check(public)
        return (tariff.measure_all(self._questions, budget.total, weights=self._weights(tariff, budget.total)),)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What margins cost the cells; and that a total which no neighbour changes is paid for in vain."""
        price = (self._price_of_margins(tariff, budget),) if self.margins else ()
        if () not in self.margins or tariff.guarantee.relation == "add-remove" or tariff.guarantee.unit == "person":
            return price
        return (
            *price,
            f"margins: [] is measured, though the number of rows is public under {tariff.guarantee.relation}. "
            "Give it as total = ... instead, and the cells get the budget.",
        )

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Ask once; the rest is arithmetic on the noisy answers."""
        self._check(public)
        answers = gate.measure(self._questions, gate.left, weights=self._weights(gate.tariff, gate.left))
        return self.made(public, answers)

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> CountTable:
        """The question does not depend on the public table, whose place ``other`` takes."""
        return self.fit(gate, other)

    def made(self, public: PublicData, answers: tuple[Measurement, ...]) -> CountTable:
        """The table that the answers become."""
        names, schema, law = self.table.columns, public.schema, law_of(answers[0].noise)
        shut = zero_cells(schema, names)
        best = self._reconciled(schema, answers)
        centre, variance = best.table.ravel(), max(best.variance(tuple(range(len(names)))), _LEAST)
        if not self.margins:
            centre[shut] = 0  # before it is summed: what must be empty has no part in the total
        total = self.total if self.total is not None else max(round(float(centre.sum())), 0)
        spread: Expected = np.broadcast_to(np.float64(variance), len(centre))
        half = np.broadcast_to(law.estimate_half_width(variance, alone=not self.margins), len(centre))
        method, likely = self._likely(public, best, [law_of(m.noise) for m in answers], ~shut)
        if method == _SHRUNK and public.relative is not None:
            centre, spread, total = self._shrunk(public.relative, best, type(law), ~shut, total)
            half = NORMAL * np.sqrt(spread)
        if shut.any():
            centre[shut], spread, half = 0, spread * ~shut, half * ~shut
        if method == "projected" or self.margins and method == _SHRUNK:
            estimate = self._possible(schema, centre, ~shut, total)
        else:
            estimate = self._with_totals(schema, centre, ~shut, likely, variance, total)
        return CountTable(
            schema=schema,
            columns=names,
            estimate=estimate,
            groups=len(self.groups),
            centre=centre,
            deviation=np.sqrt(spread) if spread.strides[0] else np.broadcast_to(np.sqrt(spread[:1]), len(spread)),
            half_width=half,
            margin_deviation=self._margin_deviations(best) if method != _SHRUNK else {},
        )

    def _likely(
        self, public: PublicData, best: Reconciled, laws: Sequence[NoiseLaw], open_cells: Flags
    ) -> tuple[str, Expected]:
        """How the cells that may be filled are best made possible, and what they become.

        With margins, cells scaled to them are tried too: they may be known better than sums of cells.  The public
        prior is tried against the best way without one.
        """
        law, cells = laws[0], best.table.ravel()[open_cells]
        if not len(cells):
            return "projected", cells
        shape = best.table.shape if open_cells.all() else cells.shape
        ways = dict(METHODS)
        if any(self.margins):
            ways |= {n + _SCALED: self._scaled(m, best.table.shape, open_cells) for n, m in METHODS.items()}
        noised = self._noised(best.table.shape, laws, open_cells) if self.margins else None
        name, likely = likely_counts(cells, law, shape, ways, noised)
        if self.prior != "public" or public.relative is None:
            return name, likely
        prior = public_counts(public.relative, self.table)[open_cells]
        variance = max(best.variance(tuple(range(best.table.ndim))), _LEAST)

        def shrunk(noisy: npt.ArrayLike, law: NoiseLaw) -> Expected:
            counts = np.asarray(noisy, np.float64)
            made = shrink_by_gaps(counts, prior, variance, law=type(law), scale=self._scale(prior))
            return np.rint(np.maximum(made.mean, 0.0))

        return likely_counts(cells, law, shape, {name: ways[name], _SHRUNK: shrunk}, noised)

    def _scaled(self, method: Method, shape: tuple[int, ...], open_cells: Flags) -> Method:
        """``method``, then cells scaled to the margins that were measured."""
        kept = [tuple(map(self.table.columns.index, m)) for m in self.margins if m]

        def scaled(noisy: npt.ArrayLike, law: NoiseLaw) -> Expected:
            made, known = np.zeros(shape), np.zeros(shape)
            made.ravel()[open_cells], known.ravel()[open_cells] = method(noisy, law) + _LEAST, noisy
            total, wanted = max(float(known.sum()), 1.0), dict[tuple[int, ...], Expected]()
            for axes in kept:
                sums = known.sum(axis=tuple(i for i in range(len(shape)) if i not in axes))
                wanted[axes] = project(sums.ravel(), total).reshape(sums.shape)
            return fit_margins(made, wanted, sweeps=INTEGER_COUNTS.margin_sweeps).ravel()[open_cells]

        return scaled

    def _noised(self, shape: tuple[int, ...], laws: Sequence[NoiseLaw], open_cells: Flags) -> Noised:
        """What noise like that of the answers, made one with noisy margins, makes of true cells."""
        names, noise = self.table.columns, [max(law.variance, _LEAST) for law in laws]
        kept = [tuple(map(names.index, m)) for m in self.margins]

        def noised(truth: Counts, rng: np.random.Generator) -> Expected:
            whole = np.zeros(len(open_cells), np.int64)
            whole[open_cells] = truth
            table = whole.reshape(shape)
            sums = [table.sum(axis=tuple(i for i in range(len(shape)) if i not in axes)) for axes in kept]
            told = [
                x + law.sample_whole(rng, x.size).reshape(x.shape)
                for x, law in zip([table, *sums], laws, strict=True)
            ]
            margins = [
                Margin(axes, np.asarray(t, np.float64), v)
                for axes, t, v in zip(kept, told[1:], noise[1:], strict=True)
            ]
            return reconcile(told[0].astype(np.float64), noise[0], margins).table.ravel()[open_cells]

        return noised

    def _scale(self, prior: Expected) -> float | None:
        """What the public counts are multiplied with when the number of rows is public."""
        return None if self.total is None else self.total / max(float(prior.sum()), 1.0)

    def _shrunk(
        self, relative: CodedTable, best: Reconciled, law: type[NoiseLaw], open_cells: Flags, total: int
    ) -> tuple[Expected, Expected, int]:
        """Cells shrunk towards the public table, their variances, and the total that the better of both knows."""
        prior = public_counts(relative, self.table) * open_cells
        variance = max(best.variance(tuple(range(len(self.table.columns)))), _LEAST)
        rows, squares = max(float(prior.sum()), 1.0), max(float(prior @ prior), 1.0)
        told = self.total is not None or best.variance(()) < variance * rows * rows / squares
        scale = total / rows if told else None
        shrunk = shrink_by_gaps(best.table.ravel(), prior, variance, law=law, scale=scale)
        return shrunk.mean, shrunk.variance, total if told else max(round(float(shrunk.mean[open_cells].sum())), 0)

    @property
    def _questions(self) -> tuple[Marginal, ...]:
        return (self.table, *(Marginal(tuple(m)) for m in self.margins))

    def _weights(self, tariff: Tariff, cost: Fraction) -> tuple[Fraction, ...]:
        """The part of the table and of each margin: those with which the errors of all of them sum to least.

        What a table of n cells adds is n times the standard error of a cell after all answers are made one.
        """
        if not self.margins:
            return (Fraction(1),)
        steps, each = INTEGER_COUNTS.margin_steps, len(self.margins)
        parts = [Fraction(k, 2 * steps) for k in range(1, steps)]
        if self.margins_share is not None:
            parts = [Fraction(str(self.margins_share))]
        tried = [(1 - part, *[part / each] * each) for part in parts]
        return min(tried, key=lambda weights: sum(n * e for n, e in self._errors(tariff, cost, weights)))

    def _errors(self, tariff: Tariff, cost: Fraction, weights: Sequence[Fraction]) -> list[tuple[int, float]]:
        """Of the table and each margin, the cells and a cell's standard error, as known before anything is read."""
        names, asked = self.table.columns, tariff.measure_all(self._questions, cost, weights=weights).asked
        shape, axes = tariff.coding.shape(names), [tuple(map(names.index, a.question.columns)) for a in asked]
        noise = [max(law_of(a.noise).variance, _LEAST) for a in asked]
        parts = reconciled_parts(shape, noise[0], dict(zip(axes[1:], noise[1:], strict=True)))
        return [
            (a.cells, left_variance(shape, noise[0], parts, ax) ** 0.5) for a, ax in zip(asked, axes, strict=True)
        ]

    def _price_of_margins(self, tariff: Tariff, budget: Budget) -> str:
        """What the margins gain and what the cells lose by them."""
        weights = self._weights(tariff, budget.total)
        alone = tariff.measure_all([self.table], budget.total).asked[0]
        variance, cells = law_of(alone.noise).variance, alone.cells
        (_, cell), *margins = self._errors(tariff, budget.total, weights)
        told = "; ".join(
            f"{' x '.join(names) or 'the total'} {error:.3g} ({(variance * cells / n) ** 0.5:.3g} as sums of cells)"
            for names, (n, error) in zip(self.margins, margins, strict=True)
        )
        why = (
            "with which the errors of all tables together are least"
            if self.margins_share is None
            else "that margins_share asks for"
        )
        return (
            f"The margins take {float(1 - weights[0]):.0%} of the budget, the part {why}. "
            f"Standard error of a cell: {cell:.3g} ({variance**0.5:.3g} without margins). "
            f"Of the margins: {told}. Another part: margins_share = 0.3, say."
        )

    def _check(self, public: PublicData) -> None:
        check_columns(self.name, public.schema, self.table.columns)
        if self.prior == "public" and public.relative is None:
            raise JobError(
                "[integer_counts] prior = 'public' needs the public table: name it with [public] table = '...'\n"
                "(in Python: public=Public(...)). "
                "No confidential row was read and nothing was spent."
            )

    def _reconciled(self, schema: Schema, answers: tuple[Measurement, ...]) -> Reconciled:
        names = self.table.columns
        margins = [
            Margin(
                tuple(names.index(c) for c in m.question.columns),
                m.counts.reshape(schema.shape(m.question.columns)).astype(np.float64),
                max(law_of(m.noise).variance, _LEAST),
            )
            for m in answers[1:]
        ]
        table = answers[0].counts.reshape(schema.shape(names)).astype(np.float64)
        return reconcile(table, max(law_of(answers[0].noise).variance, _LEAST), margins)

    def _possible(self, schema: Schema, centre: Expected, open_cells: Flags, total: int) -> Expected:
        """The nearest counts that are not negative, zero where they must be, and sum to whole group totals."""
        groups = prod(schema.shape(self.groups))
        blocks, free = centre.reshape(groups, -1), open_cells.reshape(groups, -1)
        wanted = project(np.where(free.any(axis=1), blocks.sum(axis=1), -np.inf), total) if groups > 1 else [total]
        sums = _rounded(np.asarray(wanted, np.float64), total) if free.any() else np.zeros(groups, np.int64)
        if groups == 1 and free.all():
            return project(centre, total)
        made = np.zeros_like(blocks)
        for block, cells, allowed, due in zip(made, blocks, free, sums.tolist(), strict=True):
            if allowed.any():
                block[allowed] = project(cells[allowed], due)
        return made.ravel()

    def _with_totals(
        self, schema: Schema, centre: Expected, open_cells: Flags, likely: Expected, variance: float, total: int
    ) -> Expected:
        """Likely counts, scaled by group only as far as the noisy totals ask for, or to the public total.

        A total is left alone within its standard error divided by the root of the number of groups: the sum of all
        groups then stays within its own.
        """
        groups = prod(schema.shape(self.groups))
        made, free = np.zeros_like(centre), open_cells.reshape(groups, -1)
        made[open_cells] = likely
        blocks, noisy = made.reshape(groups, -1), centre.reshape(groups, -1).sum(axis=1)
        slack = np.sqrt(variance * free.sum(axis=1) / groups) if self.total is None else np.zeros(groups)
        if self.total is not None:
            noisy = project(np.where(free.any(axis=1), noisy, -np.inf), total)
        due = np.clip(blocks.sum(axis=1), np.maximum(noisy - slack, 0), np.maximum(noisy + slack, 0))
        whole = np.rint(due) if self.total is None else _rounded(due, total)
        for block, cells, allowed, sum_ in zip(
            blocks, centre.reshape(groups, -1), free, whole.astype(np.int64).tolist(), strict=True
        ):
            here = float(block.sum())
            if here > 0:
                block *= sum_ / here
            elif allowed.any():
                block[allowed] = project(cells[allowed], sum_)
        return made

    def _margin_deviations(self, best: Reconciled) -> dict[tuple[str, ...], float]:
        names = self.table.columns
        axes = [(), *((i,) for i in range(len(names))), *((i, j) for j in range(len(names)) for i in range(j))]
        return {tuple(names[i] for i in a): best.variance(a) ** 0.5 for a in axes}


def zero_cells(schema: Schema, names: tuple[str, ...]) -> Flags:
    """Whether each cell of the cross of ``names`` is a structural zero, whatever its bins are decoded to."""
    shape = schema.shape(names)
    if not (schema.zeros or schema.rules):
        return np.zeros(prod(shape), np.bool_)
    grid = np.indices(shape, np.uint32).reshape(len(shape), -1)
    return np.asarray(impossible(schema, dict(zip(names, grid, strict=True))))


def public_counts(table: CodedTable, question: Marginal) -> Expected:
    """How many rows of a public table fall in each cell of the question."""
    plan = CountPlan([question], table.schema.coding)
    return plan.count(table.codes(plan.columns)).astype(np.float64)


def _rounded(sums: Expected, total: int) -> Counts:
    """Whole group totals nearest to ``sums``, which sum to ``total``."""
    low = np.floor(sums).astype(np.int64)
    order = np.argsort(low - sums, kind="stable")
    low[order[: max(total - int(low.sum()), 0)]] += 1
    return low
