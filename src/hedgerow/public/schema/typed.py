"""The values of a public table in the types that its schema says, where nothing is lost by that."""

import polars as pl

from hedgerow.public.coding import as_text
from hedgerow.public.schema.column import LISTED, NO, YES, Column


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
