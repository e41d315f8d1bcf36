"""How a public table fits a schema: which values have a cell of their own, and the types that the schema says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.public.coding import as_text
from hedgerow.public.files.sources import Source
from hedgerow.public.schema import BINNED, LISTED, Column, Schema
from hedgerow.public.schema.column import NO, YES


@final
@dataclass(frozen=True)
class ColumnFit:
    """How the rows of a public table fall into the cells of one column.

    Attributes:
        name: the column.
        rows: how many rows were read.
        missing: rows without a value.
        outside: rows with a value that the schema does not name, or cannot read.
        clamped: rows with a number or a date beyond the outer edges.
    """

    name: str
    rows: int = 0
    missing: int = 0
    outside: int = 0
    clamped: int = 0

    def plus(self, column: Column, series: pl.Series) -> "ColumnFit":
        """The same with further rows."""
        text, rule = as_text(series), column.coded
        cut = text.str.slice(0, column.prefix) if column.prefix else text
        named = cut.is_in(list(rule.values)).fill_null(False).to_numpy()
        gap = (text.is_null() | text.is_in(list(column.missing_values))).fill_null(True).to_numpy()
        beyond = np.zeros(len(series), bool)
        if column.kind in BINNED:
            number = rule.numbers(series)
            beyond = ~named & ~gap & ((number < column.cuts[0]) | (number >= column.cuts[-1]))
            named = named | ~np.isnan(number)
        return ColumnFit(
            self.name,
            self.rows + len(series),
            self.missing + int(gap.sum()),
            self.outside + int((~named & ~gap).sum()),
            self.clamped + int(beyond.sum()),
        )


def fit(schema: Schema, source: Source) -> tuple[ColumnFit, ...]:
    """The fit of every column of a resolved schema, in one pass over the table.

    Raises:
        TableMismatch: the table lacks a column of the schema, or cannot be read.
    """
    columns = {c.name: c for c in schema.columns}
    found = {n: ColumnFit(n) for n in columns}
    for batch in source.batches(list(columns)):
        found = {n: f.plus(columns[n], batch[n]) for n, f in found.items()}
    return tuple(found.values())


def resolved_on(schema: Schema, source: Source) -> Schema:
    """The schema with all that it takes from this public table written out."""
    if schema.is_resolved:
        return schema
    names = [c.name for c in schema.columns]
    return schema.resolved(pl.concat(source.batches(names), how="vertical_relaxed"))


Row = dict[str, str | int | None]


def fit_rows(schema: Schema, fits: Sequence[ColumnFit]) -> list[Row]:
    """The cells of every column and, with a table, how many of its rows fall where."""
    by_name = {f.name: f for f in fits}
    rows: list[Row] = []
    for c in schema.columns:
        growing = {"quantile bins", "the collapse of rare labels"} & {*c.unresolved}
        row: Row = {"column": c.name, "kind": c.kind, "cells": None if growing else c.size}
        if f := by_name.get(c.name):
            row |= {"rows": f.rows, "missing": f.missing, "outside": f.outside, "clamped": f.clamped}
        rows.append(row)
    return rows


def fit_table(schema: Schema, fits: Sequence[ColumnFit]) -> list[str]:
    """The same as a table for people, and the verdict."""
    by_name = {f.name: f for f in fits}
    width = max(12, *(len(c.name) for c in schema.columns))
    lines = [f"{'column':<{width}}  {'kind':<12} {'cells':>8}"]
    lines[0] += f" {'missing':>9} {'outside':>9} {'clamped':>9}" if fits else ""
    for r in fit_rows(schema, fits):
        cells = "?" if r["cells"] is None else f"{r['cells']:,}"
        line = f"{r['column']!s:<{width}}  {r['kind']!s:<12} {cells:>8}"
        if f := by_name.get(str(r["column"])):
            line += "".join(f" {_share(part, f.rows):>9}" for part in (f.missing, f.outside, f.clamped))
        lines.append(line)
    if fits:
        lines.append(
            "outside: not in the schema, coded as `other`, missing or the last cell. clamped: in an outer bin."
        )
    lines.append(f"The schema holds: {len(schema.columns)} columns, {len(schema.attributes)} to measure.")
    if schema.unresolved:
        lines.append("It still takes from a public table: " + "; ".join(schema.unresolved) + ".")
    return lines


def _share(part: int, of: int) -> str:
    share = part / max(of, 1)
    return "-" if not part else f"{share:.2%}" if share >= 0.0001 else "<0.01%"


def typed_as(column: Column, series: pl.Series) -> pl.Series:
    """The values as whole numbers, floats, dates, yes-no or text, whichever the column is of.

    Where a value does not fit that type the column stays as it is, so that no code changes.

    >>> typed_as(Column("pay", "integer"), pl.Series(["100", None, "200.0"])).to_list()
    [100, None, 200]
    >>> typed_as(Column("pay", "integer"), pl.Series(["100", "unknown"])).to_list()
    ['100', 'unknown']
    """
    if _fits(column, series):
        return series
    text = as_text(series)
    text = text.set(text.is_in(column.missing_values), None)
    typed = _read(column, text)
    return typed.alias(series.name) if (typed.is_null() == text.is_null()).all() else series


def _fits(column: Column, series: pl.Series) -> bool:
    """Whether the values have the type of their column already."""
    kind = series.dtype
    if column.kind == "yes-no":
        return kind == pl.Boolean or bool(column.yes or column.no)
    if column.kind in LISTED:
        return kind == (pl.Int64 if column.type == "integer" else pl.String)
    return kind == {"integer": pl.Int64, "real": pl.Float64, "date": pl.Date}[column.kind]


def _read(column: Column, text: pl.Series) -> pl.Series:
    """The texts in the column's type; null where one does not fit."""
    if column.kind == "date":
        return text.str.to_date(column.format, strict=False)
    if column.kind == "yes-no":
        meant = dict.fromkeys(YES, True) | dict.fromkeys(NO, False)
        return text.str.to_lowercase().replace_strict(meant, default=None, return_dtype=pl.Boolean)
    if column.kind in LISTED:
        whole = text.cast(pl.Int64, strict=False)
        return text if column.type == "text" else whole.set(whole.cast(pl.String) != text, None)
    number = text.cast(pl.Float64, strict=False).fill_nan(None)
    if column.kind == "real":
        return number
    whole = number.cast(pl.Int64, strict=False)
    return text.cast(pl.Int64, strict=False).fill_null(whole.set(whole.cast(pl.Float64) != number, None))
