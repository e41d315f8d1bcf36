"""``integer_counts``: a table of counts with whole-number noise on every cell. Our default for tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar, Literal, final

import numpy as np

from hedgerow.answers import Answers
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.model.base import Expected
from hedgerow.model.constants import INTEGER_COUNTS
from hedgerow.model.tables import (
    NORMAL,
    CountTable,
    Margin,
    Reconciled,
    check_columns,
    project,
    reconcile,
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


@final
@dataclass(frozen=True)
class IntegerCounts(AbstractRecipe):
    """Noisy cells, made consistent with noisy margins, shrunk to a public prior, projected to possible counts.

    Attributes:
        columns: the label columns of the table.
        groups: columns such as area and year that come first and divide it; each group keeps its own total.
        margins: margins that are measured too, each a list of columns; ``[]`` is the number of rows.
        total: the number of rows when it is public; the noisy answers tell otherwise.
        prior: ``public``: shrink towards the shares of the public table; ``none``: do not.
    """

    name: ClassVar[str] = "integer_counts"
    columns: Sequence[str] = ()
    groups: Sequence[str] = ()
    margins: Sequence[Sequence[str]] = ()
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
        """The number of rows is one that a table can have."""
        return {"total is 0 or more": self.total is None or self.total >= 0}

    @cached_property
    def table(self) -> Marginal:
        """The table that is published: groups first, then the other columns."""
        return Marginal((*self.groups, *(c for c in self.columns if c not in self.groups)))

    @property
    def table_settings(self) -> TableSettings:
        """What a plan needs to set it beside the other recipes for tables."""
        return TableSettings(len(self.groups), rows=self.total)

    @property
    def accounting(self) -> Measure:
        """All its noise is Gaussian."""
        return "gdp"

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One request: the table, and the margins with three tenths of the budget."""
        self._check(public)
        return (tariff.measure_all(self._questions, budget.total, weights=self._weights),)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """A total that no neighbour changes is paid for in vain."""
        if () not in self.margins or tariff.guarantee.relation == "add-remove" or tariff.guarantee.unit == "person":
            return ()
        return (
            f"margins: [] is measured, though the number of rows is public under {tariff.guarantee.relation}. "
            "Give it as total = ... instead, and the cells get the budget.",
        )

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Ask once; the rest is arithmetic on the noisy answers."""
        self._check(public)
        answers = gate.measure(self._questions, gate.left, weights=self._weights)
        return self.made(public, answers)

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
        if self.prior == "public" and public.relative is not None:
            centre, spread, total = self._shrunk(public.relative, best, type(law), ~shut, total)
            half = NORMAL * np.sqrt(spread)
        if shut.any():
            centre[shut], spread, half = 0, spread * ~shut, half * ~shut
        return CountTable(
            schema=schema,
            columns=names,
            estimate=self._possible(schema, centre, ~shut, total),
            groups=len(self.groups),
            centre=centre,
            deviation=np.sqrt(spread) if spread.strides[0] else np.broadcast_to(np.sqrt(spread[:1]), len(spread)),
            half_width=half,
            margin_deviation=self._margin_deviations(best) if self.prior == "none" else {},
        )

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

    @property
    def _weights(self) -> tuple[Fraction, ...]:
        if not self.margins:
            return (Fraction(1),)
        part = INTEGER_COUNTS.margins_share
        return (1 - part, *(part / len(self.margins) for _ in self.margins))

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
