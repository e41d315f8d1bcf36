"""What ``codebook.html`` shows: every column, its values and labels, and what holds between columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hedgerow.public.schema import Column, Condition, Zero
from hedgerow.release.contents import Contents
from hedgerow.release.words import percent

_MOST_ROWS = 500
_TYPES = {pl.Int64: "whole number", pl.Float64: "number", pl.Date: "date", pl.Boolean: "yes or no", pl.String: "text"}


@dataclass(frozen=True)
class CodebookRow:
    """One value of a column."""

    code: int
    value: str
    label: str
    count: str
    share: str


@dataclass(frozen=True)
class CodebookColumn:
    """One column of the codebook."""

    name: str
    kind: str
    type: str
    cells: str
    description: str
    value_name: str
    about: tuple[tuple[str, str], ...]
    rows: tuple[CodebookRow, ...]
    more: str


def view(contents: Contents) -> dict[str, Any]:
    """The names that the codebook's template uses beside those all pages share."""
    schema = contents.schema
    return {
        "columns": tuple(_column(contents, c) for c in schema.columns),
        "shares": bool(contents.records),
        "joined": tuple((j.name, " x ".join(j.columns)) for j in schema.joined),
        "zeros": tuple(_zero(z) for z in schema.zeros),
        "rules": tuple(str(r) for r in schema.rules),
        "schema_source": f"Where the schema comes from: {schema.source}." if schema.source else "",
    }


def _column(contents: Contents, column: Column) -> CodebookColumn:
    first = contents.records[0] if contents.records else None
    counts = np.zeros(column.size, np.int64)
    drawn = first is not None and column.name in first.columns
    if first is not None and drawn:
        counts = np.bincount(column.coded.encode(first[column.name]), minlength=column.size)
    shown = zip(column.cell_texts[:_MOST_ROWS], column.cell_labels, counts.tolist(), strict=False)
    total = max(int(counts.sum()), 1)
    return CodebookColumn(
        name=column.name,
        kind=column.kind,
        type=_TYPES.get(type(first[column.name].dtype), "text") if first is not None and drawn else "-",
        cells=f"{column.size:,}",
        description=column.description,
        value_name="begins at" if column.bin_count else "value",
        about=_about(column),
        rows=tuple(
            CodebookRow(i, text or "(empty)", label, f"{n:,}", percent(n / total) if n else "0")
            for i, (text, label, n) in enumerate(shown)
        ),
        more=f"{column.size - _MOST_ROWS:,}" if column.size > _MOST_ROWS else "",
    )


def _about(column: Column) -> tuple[tuple[str, str], ...]:
    """What must be known to read the column, where it is not the usual."""
    said = []
    if column.bin_count:
        said.append(
            (
                "within a cell",
                {"uniform": "every value equally likely", "midpoint": "the middle value"}.get(
                    column.decode, "values of the public table"
                ),
            )
        )
    if column.unit is not None:
        said.append(("multiples of", str(column.unit)))
    if column.prefix:
        said.append(("cut to", f"the first {column.prefix} characters"))
    if column.missing:
        said.append(("missing", "is a value of its own"))
    if column.missing_values:
        said.append(("read as missing", ", ".join(repr(v) for v in column.missing_values)))
    if column.other is not None:
        said.append(("anything else", f"was put under {column.other}"))
    if column.determined_by:
        said.append(("determined by", ", ".join(column.determined_by) + " (looked up, not measured)"))
    return tuple(said)


def _zero(zero: Zero) -> str:
    return " and ".join(f"{name} {_condition(c)}" for name, c in zero.where)


def _condition(c: Condition) -> str:
    if c.values:
        return "is " + " or ".join(v or "missing" for v in c.values)
    said = [f"below {c.below}"] if c.below is not None else []
    return " and ".join([*said, *([f"above {c.above}"] if c.above is not None else [])])
