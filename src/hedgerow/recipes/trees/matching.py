"""Columns that mean nearly the same in two tables, made to match from public knowledge alone.

The papers have basic pay in the public table and adjusted pay in the others.  A *ratio* multiplies the numbers of the
public table: a number that the job declares, or one taken from the public table and the target, group by group.
A *mapping* renames values.  Nothing here looks at the confidential table, so nothing here costs anything.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hedgerow.errors import JobError
from hedgerow.public import CodedTable, Column, ColumnFit

_NOTHING = "No confidential row was read and nothing was spent."


def matched(
    table: CodedTable, target: CodedTable, ratio: Mapping[str, Any], mapping: Mapping[str, Mapping[str, str]]
) -> CodedTable:
    """``table`` with the numbers named in ``ratio`` multiplied, and the values named in ``mapping`` renamed."""
    frame = table.frame
    for name in (*ratio, *mapping):
        if name not in frame.columns:
            raise JobError(f"[random_trees] ratio and mapping: the public table has no column {name!r}. {_NOTHING}")
    for name, names in mapping.items():
        if not isinstance(names, Mapping) or not all(isinstance(v, str) for v in names.values()):
            raise JobError(f"[random_trees] mapping.{name} must give a text for each value. {_NOTHING}")
        _check_names(table, name, names)
        frame = frame.with_columns(frame[name].cast(pl.String).replace(dict(names)))
    for name, by in ratio.items():
        if not frame[name].dtype.is_numeric():
            raise JobError(f"[random_trees] ratio.{name}: the public table has no numbers there. {_NOTHING}")
        factor = (
            _declared(name, by) if not isinstance(by, list | tuple) else _taken(name, list(by), frame, target.frame)
        )
        frame = frame.with_columns((frame[name].cast(pl.Float64) * factor).alias(name))
    return table.with_frame(frame) if ratio or mapping else table


def _check_names(table: CodedTable, name: str, names: Mapping[str, str]) -> None:
    """Refuse to rename what the public table does not have, or into what the schema does not name."""
    had = set(table.frame[name].cast(pl.String).unique())
    column = table.schema.column(name)
    odd = {old: new for old, new in names.items() if old not in had or _outside(column, new)}
    if odd:
        told = ", ".join(f"{old!r} -> {new!r}" for old, new in odd.items())
        raise JobError(
            f"[random_trees] mapping.{name}: {told}. On the left goes a value that the public table has there,\n"
            f"on the right one that the schema names. {_NOTHING}"
        )


def _outside(column: Column, value: str) -> bool:
    found = ColumnFit(column.name).plus(column, pl.Series([value]))
    return found.outside + found.clamped > 0


def _declared(name: str, ratio: Any) -> float:
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < 1e9:
        raise JobError(
            f"[random_trees] ratio.{name} is {ratio!r}: give a number above 0, or a list of columns by which\n"
            f"the ratio is taken from the public table and the target. {_NOTHING}"
        )
    return float(ratio)


def _taken(name: str, by: list[str], table: pl.DataFrame, target: pl.DataFrame) -> pl.Series:
    """For each public row the ratio of means, target over public table, of its group; of all in an unseen group."""
    if lacking := [c for c in (*by, name) if c not in table.columns or c not in target.columns]:
        raise JobError(
            f"[random_trees] ratio.{name}: both the public table and the target need {', '.join(lacking)}. {_NOTHING}"
        )
    overall = _mean(target[name]) / max(_mean(table[name]), 1e-12)
    if not by:
        return pl.Series([overall]).new_from_index(0, table.height)
    keys = [pl.col(c).cast(pl.String).fill_null("").alias(f"key{i}") for i, c in enumerate(by)]
    labels = [f"key{i}" for i in range(len(by))]
    means = [f.select(*keys, pl.col(name).cast(pl.Float64).alias("x")) for f in (table, target)]
    here, there = (m.group_by(labels).agg(pl.col("x").mean()) for m in means)
    found = means[0].join(here, labels, how="left", suffix="_here", maintain_order="left")
    found = found.join(there, labels, how="left", suffix="_there", maintain_order="left")
    ratio = found["x_there"] / found["x_here"]
    good = ratio.is_finite() & (ratio > 0)
    return ratio.zip_with(good.fill_null(False), pl.Series([overall]).new_from_index(0, len(ratio)))


def _mean(numbers: pl.Series) -> float:
    found = numbers.cast(pl.Float64).mean()
    return float(found) if isinstance(found, float) else 0.0
