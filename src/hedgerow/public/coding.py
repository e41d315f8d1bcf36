"""From values to codes: one fixed rule per column, applied row by row.

A ``Coding`` is plain data compiled from a schema before any row is seen.  Encoding never fails on a
value and never looks at other rows: what is missing gets the missing code, what is outside the schema
gets the ``other`` code, numbers beyond the outer edges fall into the outer bins.

    >>> import polars as pl
    >>> sex = CodedColumn("sex", "text", 3, missing=2, other=2, values=("F", "M"), codes=(0, 1))
    >>> Coding((sex,)).encode(pl.DataFrame({"sex": ["M", None, "?", "F"]}), ["sex"])["sex"].tolist()
    [1, 2, 2, 0]
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import SchemaError

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class CodedColumn:
    """The rule of one column of the file.

    Attributes:
        name: the column in the file, and of the codes.
        reading: how a value is read: as text, number, or date (days since 1970).
        size: the number of codes; every code is below it.
        missing: the code of a missing value.
        other: the code of everything the rule does not name.
        values: texts that have a code of their own, each once (after cutting to ``prefix``).
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
        return pl.Enum(self.values), np.array(self.codes, np.int64)

    def encode(self, series: pl.Series) -> Codes:
        """The code of every value."""
        text = _as_text(series)
        out = np.full(len(series), self.other, np.int64)
        if self.edges is not None:
            number = _as_number(series, text, self.date_format if self.reading == "date" else None)
            bins = np.searchsorted(np.array(self.edges, np.float64), number, side="right")
            out = np.where(np.isnan(number), out, bins)
        if self.values:
            enum, codes = self._lookup
            cut = text.str.slice(0, self.prefix) if self.prefix else text
            found = cut.cast(enum, strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            out = np.where(found >= 0, codes[found], out)
        out = np.where(text.is_null().to_numpy(), self.missing, out)
        return out.astype(code_type(self.size))


@dataclass(frozen=True)
class JoinedColumn:
    """Several coded columns as one, with only the allowed combinations.

    Attributes:
        name: the name of the joined column.
        parts: the coded columns it joins.
        shape: the sizes of the parts.
        codes: the code of every combination of parts, last part fastest; those not allowed share one.
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
        return np.asarray(np.array(self.codes, code_type(self.size))[flat])


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


def code_type(size: int) -> npt.DTypeLike:
    """The smallest whole-number type that holds codes below ``size``."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def _as_text(series: pl.Series) -> pl.Series:
    """The values as trimmed text, whole floats as whole numbers; null when missing, NaN or empty."""
    if series.dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        kept = series.fill_nan(None)
        text = kept.cast(pl.String)
        return text.zip_with((kept != whole.cast(series.dtype)).fill_null(True), whole.cast(pl.String))
    text = series.cast(pl.String, strict=False).str.strip_chars()
    return text.zip_with((text != "").fill_null(True), pl.Series([None], dtype=pl.String))


def _as_number(series: pl.Series, text: pl.Series, date_format: str | None) -> npt.NDArray[np.float64]:
    """The values as floats, dates as days since 1970; NaN where they cannot be read as such."""
    if date_format is not None:
        day = series if series.dtype.is_temporal() else text.str.to_date(date_format, strict=False)
        number = day.cast(pl.Date, strict=False).to_physical().cast(pl.Float64)
    else:
        number = (series if series.dtype.is_numeric() else text).cast(pl.Float64, strict=False)
    return number.fill_null(float("nan")).to_numpy()
