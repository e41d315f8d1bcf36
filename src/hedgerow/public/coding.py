"""From values to codes: one fixed rule per column, applied row by row.

A ``Coding`` is plain data compiled from a schema before any row is seen.  Encoding never fails on a
value and never looks at other rows: what is missing gets the missing code, what is outside the schema
gets the ``other`` code, numbers beyond the outer edges fall into the outer bins.

    >>> sex = CodedColumn("sex", "text", 3, missing=2, other=2, values=("F", "M"), codes=(0, 1))
    >>> Coding((sex,)).encode(pl.DataFrame({"sex": ["M", None, "?", "F"]}), ["sex"])["sex"].tolist()
    [1, 2, 2, 0]
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import SchemaError

Codes = npt.NDArray[np.unsignedinteger[Any]]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CodedColumn:
    """The rule of one column of the file.

    Attributes:
        name: the column in the file, and of the codes.
        reading: how a value is read: as text, number, or date (days since 1970).
        size: the number of codes; every code is below it.
        missing: the code of a missing value.
        other: the code of everything the rule does not name.
        values: texts that have a code of their own, each once, trimmed (after cutting to ``prefix``).
        codes: the code of each of ``values``.
        edges: increasing inner bin edges; a number's code is how many of them are at or below it.
        prefix: keep only this many leading characters of a text; 0 keeps all.
        date_format: how a date is written when it is text.
    """

    name: str
    reading: Literal["text", "number", "date"]
    size: int
    missing: int
    other: int
    values: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    edges: tuple[float, ...] | None = None
    prefix: int = 0
    date_format: str = "%Y-%m-%d"

    @cached_property
    def _lookup(self) -> tuple[pl.Enum, npt.NDArray[np.int64]]:
        return pl.Enum(self.values), np.array((*self.codes, -1), np.int64)

    @cached_property
    def _numbers_named(self) -> list[tuple[float, int]]:
        number = pl.Series(self.values if self.reading == "number" else (), dtype=pl.String)
        return list(zip(number.cast(pl.Float64, strict=False).to_list(), self.codes, strict=False))

    def encode(self, series: pl.Series) -> Codes:
        """The code of every value."""
        codes = np.full(len(series), -1)
        if self.edges is not None:
            number = self.numbers(series)
            codes = _bins(np.array(self.edges), number)
            for named, code in self._numbers_named:
                codes[number == named] = code
            codes[np.isnan(number)] = -1
        elif series.dtype == pl.String:
            codes = self._named(series)
        elif series.dtype.is_numeric():  # write each distinct number out once
            distinct = series.unique()
            each = pl.Series(self._spelt(distinct), dtype=pl.Int64)
            codes = series.replace_strict(distinct, each, return_dtype=pl.Int64).to_numpy(writable=True)
        rest = np.flatnonzero(codes < 0)
        if len(rest):  # not named as it stands: trim it, see whether it is missing
            codes[rest] = self._spelt(series.gather(rest))
        return codes.astype(code_type(self.size))

    def numbers(self, series: pl.Series) -> Floats:
        """The values as numbers, dates as days since 1970; NaN where they are neither."""
        number = self._parsed(series)
        bad = (number.is_null() & series.is_not_null()).arg_true()
        if len(bad):
            number = number.scatter(bad, self._parsed(_as_text(series.gather(bad))))
        return number.fill_null(float("nan")).to_numpy(writable=True)

    def _parsed(self, series: pl.Series) -> pl.Series:
        kind = series.dtype
        if self.reading == "date" and kind == pl.String:
            series = series.str.to_date(self.date_format, strict=False)
        if self.reading == "date" and series.dtype in (pl.Date, pl.Datetime):
            return series.cast(pl.Date).to_physical().cast(pl.Float64)
        if self.reading == "number" and (kind.is_numeric() or kind in (pl.String, pl.Boolean)):
            return series.cast(pl.Float64, strict=False)
        return pl.Series([None], dtype=pl.Float64).new_from_index(0, len(series))

    def _named(self, text: pl.Series) -> npt.NDArray[np.int64]:
        """The codes of texts that are named; -1 for the others."""
        enum, codes = self._lookup
        cut = text.str.slice(0, self.prefix).str.strip_chars_end() if self.prefix else text
        found = cut.cast(enum, strict=False).to_physical().fill_null(len(self.values))
        return codes.take(found.to_numpy())

    def _spelt(self, series: pl.Series) -> npt.NDArray[np.int64]:
        """The codes of values written out as trimmed text, by which every value is settled."""
        text = _as_text(series)
        codes = self._named(text)
        codes[codes < 0] = self.other
        codes[text.is_null().to_numpy()] = self.missing
        return codes


@dataclass(frozen=True)
class JoinedColumn:
    """Several coded columns as one, with only the allowed combinations.

    Attributes:
        name: the name of the joined column.
        parts: the coded columns it joins.
        shape: the sizes of the parts.
        codes: the code of every combination of parts, last part fastest; one not allowed has another's.
        size: the number of codes.
    """

    name: str
    parts: tuple[str, ...]
    shape: tuple[int, ...]
    codes: tuple[int, ...]
    size: int

    def encode(self, parts: Iterable[Codes]) -> Codes:
        """The joined code of every row."""
        flat = np.ravel_multi_index([p.astype(np.intp) for p in parts], self.shape)
        return self._lookup.take(flat)

    @cached_property
    def _lookup(self) -> Codes:
        return np.array(self.codes, code_type(self.size))


@dataclass(frozen=True)
class Coding:
    """The rules of all columns, plain and joined."""

    columns: tuple[CodedColumn, ...]
    joined: tuple[JoinedColumn, ...] = ()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many codes each column has, joined ones included."""
        return {c.name: c.size for c in (*self.columns, *self.joined)}

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """How many codes each of ``names`` has: known before anything is counted."""
        names = tuple(names)
        for name in names:
            if name not in self.sizes:
                raise SchemaError(f"There is no column {name!r}. The schema has: {', '.join(self.sizes)}.")
        return tuple(self.sizes[n] for n in names)

    def cells(self, names: Iterable[str]) -> int:
        """How many cells the cross of ``names`` has."""
        return prod(self.shape(names))

    def needs(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of the file that must be read to code ``names``."""
        joins = {j.name: j.parts for j in self.joined}
        return tuple(dict.fromkeys(p for n in names for p in joins.get(n, (n,))))

    def encode(self, frame: pl.DataFrame, names: Iterable[str]) -> dict[str, Codes]:
        """The codes of ``names`` for every row of ``frame``."""
        names = tuple(names)
        rules = {c.name: c for c in self.columns}
        plain = {n: rules[n].encode(frame[n]) for n in self.needs(names)}
        joined = {j.name: j.encode([plain[p] for p in j.parts]) for j in self.joined if j.name in names}
        return {n: joined[n] if n in joined else plain[n] for n in names}


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """The smallest whole-number type that holds codes below ``size``."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def _as_text(series: pl.Series) -> pl.Series:
    """The values as trimmed text, whole floats as whole numbers; null when missing, NaN or blank."""
    kind = series.dtype
    if kind.is_float() or kind.is_decimal():
        number = series.cast(pl.Float64).fill_nan(None)
        whole = number.cast(pl.Int64, strict=False)
        same = (whole.cast(pl.Float64) == number).fill_null(False)
        return whole.cast(pl.String).zip_with(same, number.cast(pl.String))
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration, pl.Unknown):  # nothing to read
        return pl.Series([None, "\0"]).gather(series.is_not_null().cast(pl.UInt32))
    text = series.cast(pl.String).str.strip_chars()
    return text.set(text == "", None)


def _bins(edges: Floats, number: Floats) -> npt.NDArray[np.int64]:
    """How many of the sorted edges are at or below each number (any count for NaN)."""
    return np.searchsorted(edges, number, side="right")
