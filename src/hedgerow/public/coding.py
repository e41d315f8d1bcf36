"""From values to codes: one fixed rule per column, applied row by row.

A ``Coding`` is plain data compiled from a schema before any row is seen.  Encoding never fails on a value and never
looks at other rows: what is missing gets the missing code, what the schema does not know the ``other`` code.

    >>> sex = CodedColumn("sex", "text", 3, missing=2, other=2, values=("F", "M"), codes=(0, 1))
    >>> Coding((sex,)).encode(pl.DataFrame({"sex": ["M", None, "?", "F"]}), ["sex"])["sex"].tolist()
    [1, 2, 2, 0]
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import SchemaError

Codes = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class CodedColumn:
    """The rule of one column of the file: from a value, read as text, number or date, to a code below ``size``."""

    name: str  # the column in the file, and of the codes
    reading: Literal["text", "number", "date"]  # how a value is read; a date counts days since 1970
    size: int  # the number of codes
    missing: int  # the code of a missing value
    other: int  # the code of everything the rule does not name
    values: tuple[str, ...] = ()  # texts with a code of their own, each once, trimmed, cut to ``prefix``
    codes: tuple[int, ...] = ()  # the code of each of ``values``
    edges: tuple[float, ...] | None = None  # bin edges: a number's bin is how many are at or below it
    bins: tuple[int, ...] = ()  # the code of each bin, where that is not its place
    prefix: int = 0  # keep only this many leading characters of a text; 0 keeps all
    date_format: str = "%Y-%m-%d"  # how a date is written when it is text

    def encode(self, series: pl.Series) -> Codes:
        """The code of every value."""
        codes = self._named(series) if self.edges is None and series.dtype == pl.String else np.full(len(series), -1)
        if self.edges is not None:
            number = self.numbers(series)
            codes = np.take(self.bins or range(len(self.edges) + 1), np.searchsorted(self.edges, number, "right"))
            for named, code in zip(self.numbers(pl.Series(self.values, dtype=pl.String)), self.codes, strict=True):
                codes[number == named] = code
            codes[np.isnan(number)] = -1
        elif series.dtype.is_numeric() or series.dtype == pl.Boolean:
            each = pl.Series(self.encode(as_text(distinct := series.unique())))  # write each out once
            return series.replace_strict(distinct, each).to_numpy().astype(code_type(self.size))
        if len(rest := np.flatnonzero(codes < 0)):  # not named as it stands, or missing
            named = self._named(text := as_text(series.gather(rest)))
            codes[rest] = np.where(text.is_null(), self.missing, np.where(named < 0, self.other, named))
        return codes.astype(code_type(self.size))

    def numbers(self, series: pl.Series) -> npt.NDArray[np.float64]:
        """The values as numbers, dates as days since 1970; NaN where they are neither."""
        if self.reading == "date":
            is_day = series.dtype in (pl.Date, pl.Datetime)
            series = (series if is_day else as_text(series).str.to_date(self.date_format, strict=False)).cast(pl.Date)
        elif not series.dtype.is_numeric():
            series = as_text(series)
        return series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()

    @cached_property
    def _lookup(self) -> tuple[pl.Enum, npt.NDArray[np.int32]]:
        return pl.Enum(self.values), np.array((*self.codes, -1), np.int32)

    def _named(self, text: pl.Series) -> npt.NDArray[Any]:
        """The codes of texts that have one of their own; -1 for the rest."""
        enum, codes = self._lookup
        cut = text.str.slice(0, self.prefix).str.strip_chars_end() if self.prefix else text
        return codes.take(cut.cast(enum, strict=False).to_physical().fill_null(len(self.values)).to_numpy())


@dataclass(frozen=True)
class JoinedColumn:
    """Several coded columns as one: ``codes`` has the code of every combination of ``parts``, last fastest."""

    name: str
    parts: tuple[str, ...]
    shape: tuple[int, ...]
    codes: tuple[int, ...]
    size: int

    def encode(self, parts: Iterable[Codes]) -> Codes:
        """The joined code of every row."""
        return np.array(self.codes, code_type(self.size)).take(np.ravel_multi_index(tuple(parts), self.shape))


@dataclass(frozen=True)
class Coding:
    """The rules of all columns, plain and joined."""

    columns: tuple[CodedColumn, ...]
    joined: tuple[JoinedColumn, ...] = ()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many codes each column has, joined ones included."""
        return {c.name: c.size for c in self.columns} | {j.name: j.size for j in self.joined}

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """How many codes each of ``names`` has: known before anything is counted."""
        try:
            return tuple(self.sizes[n] for n in names)
        except KeyError as name:
            raise SchemaError(f"There is no column {name}. The schema has: {', '.join(self.sizes)}.") from None

    def cells(self, names: Iterable[str]) -> int:
        """How many cells the cross of ``names`` has."""
        return prod(self.shape(names))

    def needs(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of the file that must be read to code ``names``."""
        joins = {j.name: j.parts for j in self.joined}
        return tuple(dict.fromkeys(p for n in names for p in joins.get(n, (n,))))

    def most(self, names: Iterable[str], rows: int) -> int:
        """How often a unit with ``rows`` rows that count may count in a table of ``names``."""
        return rows

    def encode(self, frame: pl.DataFrame, names: Iterable[str]) -> dict[str, Codes]:
        """The codes of ``names`` for every row of ``frame``."""
        needed = self.needs(names := tuple(names))
        return self.join({c.name: c.encode(frame[c.name]) for c in self.columns if c.name in needed}, names)

    def join(self, codes: Mapping[str, Codes], names: Iterable[str]) -> dict[str, Codes]:
        """The codes of ``names``, joined columns included, from those of the columns of the file."""
        joins = {j.name: j for j in self.joined}
        return {n: joins[n].encode([codes[p] for p in joins[n].parts]) if n in joins else codes[n] for n in names}


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """The smallest whole-number type that holds codes below ``size``."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def as_text(series: pl.Series) -> pl.Series:
    """The values as trimmed text, whole floats as whole numbers; null when missing, NaN or blank."""
    kind = series.dtype
    if kind.is_float() or kind.is_decimal():
        number = (series if kind.is_float() else series.cast(pl.Float64)).fill_nan(None)
        whole = number.cast(pl.Int64, strict=False)
        return whole.cast(pl.String).zip_with(whole.cast(number.dtype) == number, number.cast(pl.String))
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):  # present, but without a text
        return pl.Series([None, "\0"]).gather(series.is_not_null().cast(pl.UInt32))
    text = series.cast(pl.String).str.strip_chars()
    return text.set(text == "", None)


def records(series: pl.Series) -> npt.NDArray[np.int64]:
    """How many records each line stands for: 0 if no count, a billion at most; one more moves it by one at most."""
    number = as_text(series).cast(pl.Float64, strict=False).fill_null(0)
    return number.set(number % 1 != 0, 0).clip(0, 10**9).cast(pl.Int64).to_numpy()  # first whole or not, then cut


def person_cap(person: pl.Series, rows: int) -> pl.Series:
    """Which rows count, given whose each is (``as_text``): of a person the first ``rows``, in the order they stand.

    That depends on the person's own rows alone.  Rows that name no person do not count: nobody could cap them.
    """
    first = person.to_frame("p").with_row_index("r").drop_nulls().group_by("p").agg(pl.col("r").head(rows))["r"]
    return pl.repeat(False, len(person), eager=True).scatter(first.explode().drop_nulls(), True)  # noqa: FBT003
