"""From a formula and tables to the numbers a model is fitted to: the same columns, in one order, for each table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError
from hedgerow.evaluate.base import CodedTable, DoesNotApply
from hedgerow.public import BINNED, Formula, Schema, Term, as_text

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class CategoricalTerm:
    """A column by its levels: the place of each row's level, and which levels have a coefficient."""

    column: str
    codes: Places
    labels: tuple[str, ...]
    reference: int

    @cached_property
    def kept(self) -> Places:
        """The levels with a coefficient: all but the reference."""
        return np.delete(np.arange(len(self.labels)), self.reference)


@final
@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """What a model is fitted to, rows with something missing left out.

    Attributes:
        response: of each row.
        numbers: named numeric terms.
        factors: terms by level.
        absorbed: for each absorbed column, the place of each row's level.
        origin: which row of the table each row is.
    """

    response: Floats
    numbers: tuple[tuple[str, Floats], ...]
    factors: tuple[CategoricalTerm, ...]
    absorbed: tuple[Places, ...]
    origin: Places

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.response)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the coefficients are called, levels first; there is no intercept among them."""
        levels = (f"{f.column}[{f.labels[k]}]" for f in self.factors for k in f.kept)
        return (*levels, *(name for name, _ in self.numbers))

    def block(self, part: slice) -> Floats:
        """Some rows of the model matrix, without an intercept."""
        wide = [(f.codes[part, None] == f.kept[None, :]).astype(np.float64) for f in self.factors]
        wide += [x[part, None] for _, x in self.numbers]
        size = len(self.response[part])
        return np.concatenate(wide, axis=1) if wide else np.zeros((size, 0))

    def where(self, keep: npt.NDArray[np.bool_]) -> "DesignMatrix":
        """The same design on some of the rows."""
        return DesignMatrix(
            self.response[keep],
            tuple((n, x[keep]) for n, x in self.numbers),
            tuple(CategoricalTerm(f.column, f.codes[keep], f.labels, f.reference) for f in self.factors),
            tuple(a[keep] for a in self.absorbed),
            self.origin[keep],
        )


def designs(formula: Formula, tables: Sequence[CodedTable], schema: Schema) -> list[DesignMatrix]:
    """The design of each table; levels are the same in all, and a reference is the most frequent of the first."""
    for table in tables:
        if absent := [c for c in formula.columns if c not in table.frame.columns]:
            raise DoesNotApply(f"{table.name} has no column {', '.join(absent)}, which the model {formula} needs")
    made = [_Making(t, schema) for t in tables]
    parts: list[list[tuple[str, Floats] | CategoricalTerm]] = [[] for _ in tables]
    for term in formula.terms:
        if _is_number(term, tables[0], schema):
            for part, making in zip(parts, made, strict=True):
                part.append((str(term), making.number(term)))
        else:
            for part, factor in zip(parts, _factors(term, made), strict=True):
                part.append(factor)
    return [
        _complete(
            making.number(formula.response),
            part,
            [making.levels(c)[0] for c in formula.absorbed],
        )
        for part, making in zip(parts, made, strict=True)
    ]


@final
@dataclass(frozen=True, eq=False)
class _Making:
    """Reads terms off one table."""

    table: CodedTable
    schema: Schema

    def number(self, term: Term) -> Floats:
        """A term as numbers; NaN where it is missing or has none."""
        series = self.table.frame[term.column]
        column = next((c for c in self.schema.columns if c.name == term.column), None)
        if term.form == "equals":
            return self._equal(term)
        if column is not None and column.kind in BINNED:
            x = column.coded.numbers(series)
            x = np.where(column.coded.encode(series) < column.bin_count, x, np.nan)
        elif column is not None and column.kind == "yes-no":
            x = np.asarray(self.table.codes([term.column])[term.column], np.float64)
            x[x > 1] = np.nan
        else:
            x = as_text(series).cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        return term.of(x)

    def _equal(self, term: Term) -> Floats:
        codes, labels = self.levels(term.column)
        texts = next((c.cell_texts for c in self.schema.columns if c.name == term.column), labels)
        named = [i for i, pair in enumerate(zip(labels, texts, strict=True)) if term.level in pair]
        if not named:
            raise JobError(
                f"The column {term.column} has no value {term.level!r}. It has: {', '.join(labels[:20])}.\n"
                "Name one of them in the formula. No confidential row was read for this and nothing was spent."
            )
        return np.isin(codes, named).astype(np.float64)

    def levels(self, column: str) -> tuple[Places, tuple[str, ...]]:
        """The level of every row, and what levels are called."""
        if any(c.name == column for c in self.schema.columns):
            return self.table.codes([column])[column].astype(np.int64), self.schema.cell_labels(column)
        text = as_text(self.table.frame[column]).fill_null("missing")
        labels = text.unique().sort()
        place = text.replace_strict(labels, np.arange(len(labels)), return_dtype=pl.Int64)
        return place.to_numpy(), tuple(labels)


def _is_number(term: Term, table: CodedTable, schema: Schema) -> bool:
    if term.form != "plain":
        return term.form != "labels"
    kind = next((c.kind for c in schema.columns if c.name == term.column), None)
    return kind in BINNED if kind else table.frame[term.column].dtype.is_numeric()


def _factors(term: Term, made: Sequence[_Making]) -> list[CategoricalTerm]:
    """The term by levels in every table, levels in one common order."""
    read = [m.levels(term.column) for m in made]
    labels = list(dict.fromkeys(label for _, names in read for label in names))
    place = {label: i for i, label in enumerate(labels)}
    codes = [np.array([place[n] for n in names], np.int64)[c] for c, names in read]
    reference = int(np.bincount(codes[0], minlength=len(labels)).argmax())
    if term.reference:
        column = next((c for c in made[0].schema.columns if c.name == term.column), None)
        texts = list(column.cell_texts) if column else labels
        named = [i for i, label in enumerate(labels) if term.reference == label]
        named += [i for i, text in enumerate(texts) if term.reference == text]
        if not named:
            raise JobError(f"The column {term.column} has no level {term.reference!r} to refer to.")
        reference = named[0]
    return [CategoricalTerm(term.column, c, tuple(labels), reference) for c in codes]


def _complete(
    response: Floats, parts: list[tuple[str, Floats] | CategoricalTerm], absorbed: list[Places]
) -> DesignMatrix:
    """The rows with nothing missing."""
    numbers = tuple(p for p in parts if isinstance(p, tuple))
    factors = tuple(p for p in parts if isinstance(p, CategoricalTerm))
    keep = np.isfinite(response)
    for _, x in numbers:
        keep &= np.isfinite(x)
    whole = DesignMatrix(response, numbers, factors, tuple(absorbed), np.arange(len(keep)))
    return whole if keep.all() else whole.where(keep)
