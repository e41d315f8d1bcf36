"""How well a public table fits a schema: what of each column has a cell of its own, and what has not."""

from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.public.coding import as_text
from hedgerow.public.files.sources import Source
from hedgerow.public.schema import Schema
from hedgerow.public.schema.column import BINNED, Column


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
