"""Whether a table of records is one that the schema allows: its columns, every value, zeros and rules."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.column import BINNED, Column, as_float
from hedgerow.public.files import open_source
from hedgerow.public.rules import violations
from hedgerow.public.schema import Schema

_TYPES: tuple[Any, ...] = (pl.Int64, pl.Float64, pl.Date, pl.Boolean, pl.String)


def outside_schema(schema: Schema, frame: pl.DataFrame) -> str:
    """The first thing in ``frame`` that the schema does not allow, in a sentence; empty when there is none."""
    names = [c.name for c in schema.columns]
    if frame.columns != names:
        return f"its columns must be {', '.join(names)}, in this order."
    for column in schema.columns:
        if frame[column.name].dtype not in _TYPES:
            return f"the column {column.name} is of a type that no column of a release has."
        if bad := int((~_allowed(column, frame[column.name])).sum()):
            return f"{bad:,} value{'s' * (bad != 1)} of {column.name} are not among those of the schema."
    if bad := int(violations(schema, frame).sum()):
        return f"{bad:,} record{'s' * (bad != 1)} break a structural zero or a rule of the schema."
    return ""


def counts_outside_schema(schema: Schema, counts: pl.DataFrame) -> str:
    """The first thing in a table of counts, read as text, that the schema does not allow; empty if there is none."""
    *names, last = counts.columns
    if last != "count" or not names or not set(names) <= {c.name for c in schema.columns}:
        return "its columns must be columns of the schema, and count as the last."
    if not (counts["count"].cast(pl.Int64, strict=False) >= 0).fill_null(False).all():
        return "it has a count that is not a whole number, 0 or more."
    for column in (schema.column(n) for n in names):
        known = [*column.cell_texts, *column.cell_labels]
        if not counts[column.name].fill_null("").is_in(known).all():
            return f"a label of {column.name} is not among those of the schema."
    return ""


def holds_the_same(schema: Schema, frame: pl.DataFrame, path: Path) -> bool:
    """Whether the table in ``path`` has the records of ``frame``, each value in the same cell of the schema.

    Formats differ in the names and types they know, so columns are matched by place and values by code.
    """
    source, start = open_source(path), 0
    if len(source.columns) != len(schema.columns):
        return False
    for batch in source.batches(source.columns):
        here, there = (
            batch.rename(dict(zip(source.columns, frame.columns, strict=True))),
            frame[start : start + len(batch)],
        )
        if len(here) != len(there):
            return False
        for column in schema.columns:
            if (column.coded.encode(here[column.name]) != column.coded.encode(there[column.name])).any():
                return False
        start += len(batch)
    return start == len(frame)


def _allowed(column: Column, series: pl.Series) -> npt.NDArray[np.bool_]:
    """Whether each value is one that the column's cells decode to."""
    named = [t for t in column.cell_texts[column.bin_count :] if t]
    text = series.cast(pl.String)
    allowed = np.array(text.is_in(named).fill_null(False)) | (np.array(text.is_null()) & column.missing)
    if column.kind not in BINNED:
        return allowed
    number = column.coded.numbers(series)
    inside = (number >= column.cuts[0]) & (number < column.cuts[-1])
    if column.kind == "integer":
        inside &= number == np.floor(number)
    special = [x for x in (as_float(t) for t in named) if x is not None]
    return np.asarray(allowed | inside | np.isin(number, special))
