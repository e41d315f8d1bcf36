"""What a release knows of a figure: the tables that the gate measured, and rows that are like those behind them.

A noisy answer is an unbiased estimate of its cells whose law is known.  So a figure that one measured table tells
needs no faith in the model that made the records.  What the table does not say, how values lie within its cells, is
taken from rows: the released records, or the public relative.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import final

import numpy as np

from hedgerow.counting.plan import leaf_of
from hedgerow.inference.reference import CountedPeople, Reference
from hedgerow.public import CodedTable, Floats, Marginal, Measurement, Places, Schema, column_codes, law_of
from hedgerow.uses import AbstractUse

MOST_CELLS = 4_000_000
"""Cells of a measured table that is looked at."""


@final
@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A noisy table of the gate.

    Attributes:
        schema: what its columns mean.
        question: what was asked, with its tree.
        counts: the noisy counts, flat: leaf by leaf, last column fastest.
        variance: of the noise on each of them.
    """

    schema: Schema
    question: Marginal
    counts: Floats
    variance: float

    @cached_property
    def columns(self) -> dict[str, Places]:
        """For each column that the cells tell, the code in every cell; parts of joined and determined ones too."""
        names, leaves = self.question.columns, self.question.leaves
        if not names:
            return {}
        shape = self.schema.shape(names)
        inside = dict(zip(names, np.unravel_index(np.arange(len(self.counts) // leaves), shape), strict=True))
        plain = column_codes(self.schema, inside) | {n: c.astype(np.int64) for n, c in inside.items()}
        return {n: np.tile(c, leaves) for n, c in plain.items()}

    def covers(self, columns: Iterable[str]) -> bool:
        """Whether every cell has one code in each of ``columns``."""
        return len(self.counts) <= MOST_CELLS and all(c in self.columns for c in columns)

    def places(self, columns: Sequence[str]) -> Places:
        """The cell of the cross of ``columns`` that each cell of this table lies in."""
        if not columns:
            return np.zeros(len(self.counts), np.int64)
        shape = self.schema.shape(columns)
        return np.asarray(np.ravel_multi_index([self.columns[c] for c in columns], shape), np.int64)

    def reads(self, table: CodedTable) -> bool:
        """Whether ``table`` has the columns that say in which cell a row lies."""
        tree = self.question.tree
        names = (*self.question.columns, *(tree.columns if tree else ()))
        return set(self.schema.coding.needs(names)) <= set(table.frame.columns)

    def cells(self, table: CodedTable) -> Places:
        """The cell that each row of ``table`` lies in."""
        tree, inner = self.question.tree, table.cells(self.question.columns)
        if tree is None:
            return inner
        if not tree.arrays:  # on record a tree is its hash alone
            raise ValueError("this tree is not here")
        leaf = np.asarray(leaf_of(tree, table.codes(tree.columns)), np.int64)
        return leaf * self.schema.size(self.question.columns) + inner


def drawn_to(here: Places, there: Places) -> Places:
    """Rows with codes ``there``, as many as they are, drawn so that codes have the shares that they have ``here``."""
    size = int(max(here.max(initial=0), there.max(initial=0))) + 1
    mine, theirs = (np.bincount(codes, minlength=size) / max(len(codes), 1) for codes in (here, there))
    weight = np.divide(mine, theirs, out=np.zeros(size), where=theirs > 0)[there]
    up_to = np.cumsum(weight) * (len(there) / max(float(weight.sum()), 1e-12))
    drawn = np.searchsorted(up_to, np.arange(len(there)) + 0.5)  # systematic: no chance in it
    return np.asarray(np.minimum(drawn, len(there) - 1))


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """All that intervals are made from; every part is public.

    Attributes:
        schema: what the columns mean.
        answers: the noisy answers; those about trees with their trees.
        records: the released records; of a table of counts, so many rows of each cell.
        relative: the public relative, if there is one with all columns that the records have.
        given: the columns that were public row by row, where others were attached to them.
        declared: the uses that the job declared.
        people: how people were counted, where answers count them instead of rows.
        steps: whether answers count first records and steps, which tell no figure of rows.
    """

    schema: Schema
    answers: tuple[Measurement, ...]
    records: CodedTable
    relative: CodedTable | None = None
    given: tuple[str, ...] = ()
    declared: tuple[AbstractUse, ...] = ()
    people: CountedPeople | None = None
    steps: bool = False

    @property
    def drawn(self) -> bool:
        """Whether all that was answered was drawn from urns."""
        return bool(self.answers) and not any(law_of(a.noise).added for a in self.answers)

    @cached_property
    def tables(self) -> tuple[NoisyTable, ...]:
        """Every table that was counted with noise added, several answers to one question as one.

        A table that was drawn has another law, and one that counts some rows only tells less.
        """
        found: dict[Marginal, list[tuple[Floats, float]]] = {}
        for m in self.answers:
            noise = law_of(m.noise).variance
            if not isnan(noise) and not m.question.only:
                found.setdefault(m.question, []).append((m.counts.astype(np.float64), max(noise, 1e-9)))
        tables = []
        for question, answers in found.items():
            precision = sum(1 / v for _, v in answers)
            counts = sum((c / v for c, v in answers), np.zeros(len(answers[0][0]))) / precision
            schema = self.people.schema if self.people else self.schema
            tables.append(NoisyTable(schema, question, counts, 1 / precision))
        return tuple(tables)

    @cached_property
    def total(self) -> tuple[float, float]:
        """The number of rows by all answers, weighted by precision, and the variance of its noise."""
        known = [(float(t.counts.sum()), max(t.variance * len(t.counts), 1e-9)) for t in self.tables]
        precision = sum(1 / v for _, v in known)
        if not known:
            return self.records.total, 0.0
        return max(sum(n / v for n, v in known) / precision, 1.0), 1 / precision

    @cached_property
    def _references(self) -> dict[int, Reference]:
        return {}

    @cached_property
    def _tilted(self) -> dict[str, CodedTable]:
        return {}

    def reference(self, rows: CodedTable) -> Reference:
        """The rows with the units that answers count."""
        if id(rows) not in self._references:  # the reference holds the rows: no other table can get their place
            self._references[id(rows)] = Reference.of(rows, self.people, self.given)
        return self._references[id(rows)]

    def tilted(self, column: str) -> CodedTable | None:
        """Rows of the relative, drawn so that they have the records' shares of the codes of ``column``."""
        if self.relative is None:
            return None
        if column not in self._tilted:
            here, there = (t.cells((column,)) for t in (self.records, self.relative))
            self._tilted[column] = self.relative.take(drawn_to(here, there))
        return self._tilted[column]

    def counts(self, columns: Sequence[str]) -> tuple[Floats, Floats, tuple[str, ...]] | None:
        """The counts of the cross of ``columns``, the variance of their noise, and the answers they come from.

        Every answer that contains the table, weighted by precision.  None when none does.
        """
        size = self.schema.size(columns)
        above, below, asked = np.zeros(size), np.zeros(size), dict[str, None]()
        for t in self.tables:
            if not t.covers(columns):
                continue
            at = t.places(columns)
            many = np.bincount(at, minlength=size)
            weight = np.divide(1.0, max(t.variance, 1e-9) * many, out=np.zeros(size), where=many > 0)
            above += weight * np.bincount(at, t.counts, size)
            below += weight
            asked[str(t.question)] = None
        if not asked:
            return None
        told = below > 0  # a cell that no answer has is one that no row can be in
        return (
            np.divide(above, below, out=np.zeros(size), where=told),
            np.divide(1.0, below, out=np.zeros(size), where=told),
            tuple(asked),
        )
