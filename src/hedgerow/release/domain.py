"""Whether a table of records is one that the schema allows: its columns, every value, zeros and rules."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.model.tables.count_table import ALL
from hedgerow.public.files.sources import open_source
from hedgerow.public.schema import BINNED, Column, Schema, violations
from hedgerow.public.schema.column import as_float
from hedgerow.release.contents import FIGURES, label_columns

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
    """The first thing in a table of counts that the schema does not allow; empty if there is none."""
    names, figures = label_columns(counts), [c for c in counts.columns if c in FIGURES]
    if (
        not names
        or counts.columns != [*names, *figures]
        or figures not in (["count"], list(FIGURES))
        or not set(names) <= {c.name for c in schema.columns}
    ):
        return "its columns must be columns of the schema, then count and, if there is one, its interval."
    if counts["count"].dtype != pl.Int64 or not (counts["count"] >= 0).fill_null(False).all():
        return "it has a count that is not a whole number, 0 or more."
    for column in (schema.column(n) for n in names):
        known = [*column.cell_texts, *column.cell_labels]
        if not counts[column.name].cast(pl.String).fill_null("").unique().is_in(known).all():
            return f"a label of {column.name} is not among those of the schema."
    return ""


def margins_outside_counts(counts: pl.DataFrame, margins: pl.DataFrame) -> str:
    """The first margin that is not the sum of its counts; empty if there is none."""
    names = label_columns(counts)
    if label_columns(margins) != names or margins["count"].dtype != pl.Int64 or margins["count"].has_nulls():
        return "its columns must be those of the counts."
    summed = margins.select((pl.col(n) != ALL).alias(n) for n in names)
    for kept in summed.unique().rows():
        over = [n for n, k in zip(names, kept, strict=True) if k]
        here = margins.filter(pl.all_horizontal(pl.col(n).ne(ALL) == k for n, k in zip(names, kept, strict=True)))
        true = counts.group_by(over).agg(pl.col("count").sum()) if over else counts.select(pl.col("count").sum())
        true = true.with_columns(pl.col(n).cast(pl.String) for n in over)
        met = (
            here.select(*over, "count")
            .sort(over or "count")
            .equals(true.select(*over, "count").sort(over or "count"))
        )
        if not met:
            return f"the margin of {', '.join(over) or 'everything'} is not the sum of its counts."
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
