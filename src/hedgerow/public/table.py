"""Tables in the terms of a schema: the public relative, a target, synthetic records or counts.

>>> schema = Schema.loads('[columns.sex]\\nkind = "categorical"\\nvalues = ["F", "M"]\\nother = "?"')
>>> table = CodedTable.read(pl.DataFrame({"sex": ["M", "F", "X"]}), schema)
>>> table.codes(["sex"])["sex"].tolist(), table.outside()
([1, 0, 2], {'sex': 1})
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import NOTHING, JobError, TableMismatch
from hedgerow.public.aggregates import expanded_public
from hedgerow.public.coding import Codes, as_text, records
from hedgerow.public.files import Source
from hedgerow.public.formula import Formula
from hedgerow.public.frames import open_public
from hedgerow.public.pieces import file_hash
from hedgerow.public.schema import LISTED, Column, Schema, nearest
from hedgerow.public.schema.column import NO, YES
from hedgerow.public.schema.fit import ColumnFit, TableFit
from hedgerow.public.servers import is_address, is_spark

Role = Literal["public", "relative", "target", "synthetic"]
Floats = npt.NDArray[np.float64]
Shares = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
_CROSSES = 4  # crosses of columns whose cells a table keeps: eight bytes a row each


@final
@dataclass(frozen=True, eq=False, repr=False)
class CodedTable:
    """Rows in the terms of a schema: each column is coded once, and rows taken from it take their codes along.

    A table knows nothing of trust.  One that is public, a target or synthetic is passed about as it is; the steward's
    own lies in an ``InsideOnly``, and nothing that is shown of a table tells of its rows.

    Attributes:
        schema: what its columns mean; completed from this table where it leaves that to a public one.
        frame: a row per record, in the types of the schema where no value is lost by that; or, of a table of counts,
            a row per cell, with labels where records have values.
        name: its path, or "frame".
        sha256: of the bytes of its file, or of the frame; of a table that was brought here, of its values.
        counts: how often each row counts; None: once.
        away: where it was sent to another machine, the columns whose values were not.
        memo: what others have worked out of it and need again, such as fitted models, under keys of their own.
    """

    schema: Schema
    frame: pl.DataFrame
    name: str = "frame"
    sha256: str = ""
    counts: Floats | None = None
    away: tuple[str, ...] = ()
    memo: dict[Any, Any] = field(default_factory=dict)
    _codes: dict[str, Codes] = field(default_factory=dict)
    _cells: dict[tuple[str, ...], Places] = field(default_factory=dict)
    _departs: dict[str, bool] = field(default_factory=dict)
    _taken: "tuple[CodedTable, Places] | None" = None

    @classmethod
    def read(
        cls, table: Any, schema: Schema, role: Role = "public", count: str = "", *, outside: float | None = None
    ) -> "CodedTable":
        """A file of any format, a table of a database or of Spark, or a polars, pandas, pyarrow or Spark frame.

        A public or synthetic table has all columns of the schema.  A target may lack those that it is to be
        given, and keeps the columns that the schema does not describe, as a relative does: a public table that is
        read with what it has beside the schema, such as names of people.  ``count`` names the column that says how
        many records a line stands for: they are written out.  ``outside`` is the share of its rows that may stand
        outside a column; None: any.

        Raises:
            TableMismatch: the table lacks columns, or it has no rows, or too many stand outside the schema.
        """
        lines = open_public(table)
        source, described = expanded_public(lines, count), {c.name: c for c in schema.columns}
        wanted = list(source.columns) if role in ("target", "relative") else list(described)
        called = "public" if role == "relative" else role
        if lacking := [n for n in wanted if n not in source.columns]:
            raise TableMismatch(_lacking(source, called, lacking))
        by_lines = bool(count) and isinstance(table, str | Path) and not (role == "public" and schema.unresolved)
        read = lines.batches([*wanted, count]) if by_lines else source.batches(wanted)
        frame = pl.concat(batches, how="vertical_relaxed") if (batches := list(read)) else pl.DataFrame()
        many = records(frame[count]) if by_lines and batches else np.ones(frame.height, np.int64)
        if not many.any():
            raise TableMismatch(f"The {called} table {source.name} has no rows. Give another table.\n{NOTHING}")
        if by_lines:  # values are read once a line, and records take them from there
            frame, many = frame.filter(pl.Series(many > 0)).drop(count), many[many > 0]
        typed = frame.with_columns(typed_as(described[n], frame[n]) for n in wanted if n in described)
        settled = schema.resolved(frame) if role == "public" else schema
        made = cls(settled, typed, source.name)
        made = made.take(np.repeat(np.arange(len(many)), many)) if by_lines else made
        made = replace(made, sha256=_fingerprint(table, made.frame))
        if outside is not None:
            replace(made.fit, limit=outside, target=True).refuse(called)  # what it lacks was looked at above
        return made

    @classmethod
    def of_counts(cls, schema: Schema, frame: pl.DataFrame) -> "CodedTable":
        """A table of counts: label columns, and ``count``."""
        return cls(schema, frame.drop("count"), counts=frame["count"].cast(pl.Float64).to_numpy())

    def __repr__(self) -> str:
        return f"CodedTable({self.name!r}, {len(self.frame.columns)} columns)"

    @property
    def rows(self) -> int:
        """The number of rows; of a table of counts, of cells."""
        return self.frame.height

    @property
    def total(self) -> float:
        """How many records it stands for."""
        return float(self.rows if self.counts is None else self.counts.sum())

    def take(self, rows: Places, columns: Sequence[str] | None = None) -> "CodedTable":
        """These rows, in this order, as a table: its codes are those of this one, which works them out once."""
        assert self.counts is None, "cells of a table of counts are not taken apart"
        frame = (self.frame if columns is None else self.frame.select(columns))[rows]
        whole, places = (self, rows) if self._taken is None else (self._taken[0], self._taken[1][rows])
        return CodedTable(self.schema, frame, self.name, self.sha256, _taken=(whole, places))

    def part(self, low: int, high: int) -> "CodedTable":
        """The rows from ``low`` to before ``high`` as a table that does not hold the others.

        What is said of a column as a whole, that it departs from the schema, is said of the part too.
        """
        columns = [c.name for c in self.schema.columns if c.name in self.frame.columns]
        counts = None if self.counts is None else self.counts[low:high]
        made = CodedTable(self.schema, self.frame[low:high], self.name, self.sha256, counts)
        made._departs.update({n: self.departs(n) for n in columns})
        made._codes.update({n: codes[low:high] for n, codes in self._codes.items()})
        return made

    def sent(self, values: Sequence[str], coded: Iterable[str]) -> "CodedTable":
        """These rows as another machine gets them: with the values of these columns and these codes, and no more."""
        away = tuple(n for n in self.frame.columns if n not in values)
        frame = self.frame.select(values) if values else pl.DataFrame({"": pl.repeat(None, self.rows, eager=True)})
        return replace(self, frame=frame, away=away, memo={}, _codes=self.codes(coded), _cells={}, _taken=None)

    def with_frame(self, frame: pl.DataFrame) -> "CodedTable":
        """The same table with other values; nothing that was worked out of it is kept."""
        return CodedTable(self.schema, frame, self.name, self.sha256, self.counts)

    def codes(self, names: Iterable[str]) -> dict[str, Codes]:
        """The code of every row in columns of the schema, plain or joined. Worked out once."""
        names = tuple(names)
        if new := [n for n in names if n not in self._codes]:
            self._codes.update(self._encoded(new) if self.counts is None else self._labelled(new))
        return {n: self._codes[n] for n in names}

    def _encoded(self, names: list[str]) -> dict[str, Codes]:
        if lacking := [n for n in self.schema.coding.needs(names) if n not in self.frame.columns]:
            raise TableMismatch(
                f"The table {self.name} has no column {', '.join(lacking)}, which is needed here.\n"
                "Give it that column, or take the column out of the schema. Nothing was spent."
            )
        if self._taken is None:
            self._must_be_known(self.schema.coding.needs(names))
            return self.schema.coding.encode(self.frame, names)
        whole, rows = self._taken
        return {n: codes[rows] for n, codes in whole.codes(names).items()}

    def _must_be_known(self, names: Iterable[str]) -> None:
        """Refuse values that the schema does not know, of columns that have no place for them."""
        for column in (c for c in map(self.schema.column, names) if not c.places_unknown):
            found = ColumnFit(column.name).plus(column, self.frame[column.name].unique())
            if found.outside or found.missing:
                shown = ", ".join(map(repr, found.strangers)) or "a missing value"
                raise TableMismatch(
                    f"The column {column.name} of {self.name} has {shown}, which the schema does not know, and the\n"
                    f'schema has no place for it. List it, or add missing = true or other = "other" to\n'
                    f"[columns.{column.name}] of the schema. {NOTHING}"
                )

    def _labelled(self, names: list[str]) -> dict[str, Codes]:
        """The codes of a table of counts, which has labels where records have values."""
        described, found = {c.name for c in self.schema.columns}, {}
        for name in names:
            if name not in self.frame.columns:
                raise JobError(
                    f"An intended use needs the column {name!r}, which the table of counts does not have. It has: "
                    f"{', '.join(c for c in self.frame.columns if c in described)}.\n"
                    f"Change the use or the recipe's columns. {NOTHING}"
                )
            text, words = self.frame[name].cast(pl.String).fill_null(""), self._words(name)
            code = text.replace_strict(words, default=max(words.values()), return_dtype=pl.UInt32)
            found[name] = np.asarray(code.to_numpy())
        return found

    def _words(self, name: str) -> dict[str, int]:
        """What may stand in a table of counts for each code: the value as in the file, or else its label."""
        labels = {word: code for code, word in enumerate(self.schema.cell_labels(name))}
        if any(j.name == name for j in self.schema.joined):
            return labels
        return {**labels, **{word: code for code, word in enumerate(self.schema.column(name).cell_texts)}}

    def cells(self, columns: Sequence[str]) -> Places:
        """The place of every row in the cross of ``columns``, last column fastest. The latest few are kept."""
        columns = tuple(columns)
        if not columns:
            return np.zeros(self.rows, np.int64)
        if columns not in self._cells:
            codes = self.codes(columns)
            lines = [np.asarray(codes[c], np.int64) for c in columns]
            while len(self._cells) >= _CROSSES:
                self._cells.pop(next(iter(self._cells)))
            self._cells[columns] = np.asarray(np.ravel_multi_index(lines, self.schema.shape(columns)))
        return self._cells[columns]

    def numbers(self, name: str) -> Floats:
        """The values of a column as numbers, NaN where there is none; of counts, the middle of each bin."""
        column = self.schema.column(name)
        if self.counts is not None and column.bin_count:
            return np.asarray(column.code_numbers[np.asarray(self.codes((name,))[name], np.int64)])
        values = self.frame[name]
        if column.kind == "yes-no" and values.dtype != pl.Boolean:
            code = np.asarray(self.codes((name,))[name], np.float64)
            return np.where(code <= 1, code, np.nan)
        return values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()

    def has(self, name: str, values: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which rows have one of ``values`` in a column, as the schema codes them."""
        wanted = pl.DataFrame({name: pl.Series(values, dtype=pl.String)})
        return np.isin(self.codes((name,))[name], self.schema.coding.encode(wanted, [name])[name])

    def departs(self, name: str) -> bool:
        """Whether a column has a value that the schema does not name, or names cut, or beyond its outer edges."""
        if name not in self._departs:  # each value is looked at once
            column, values = self.schema.column(name), self.frame[name].unique()
            longer = as_text(values).str.len_chars() > column.prefix if column.prefix else pl.Series([False])
            self._departs[name] = bool(longer.any()) or ColumnFit(name).plus(column, values).departs > 0
        return self._departs[name]

    def outside(self) -> dict[str, int]:
        """How many rows of a column have a value that the schema does not name, or beyond its outer edges."""
        columns = {c.name for c in self.schema.columns}
        return {f.name: f.departs for f in self.fit.columns if f.departs and f.name in columns}

    @cached_property
    def fit(self) -> TableFit:
        """What it holds that the schema does not know, and where that is counted."""
        return TableFit.of(self.schema, self.frame, name=self.name)


@dataclass(frozen=True)
class Statistic:
    """A figure of an intended use that a recipe may measure for itself.

    Attributes:
        by: the columns that make groups, each with a figure of its own.
        of: the column whose mean or quantile it is; empty for a coefficient.
        at: which quantiles.
        formula: the model of a coefficient.
        term: the coefficient.
    """

    by: tuple[str, ...]
    of: str = ""
    at: tuple[float, ...] = ()
    formula: Formula | None = None
    term: str = ""

    @property
    def in_words(self) -> str:
        """What is measured for it."""
        by = f" by {' x '.join(self.by)}" if self.by else ""
        if self.formula is None:
            return f"bands of {self.of}{by}"
        return f"bands of what the model leaves of {self.term} and {self.formula.response}{by}"


@dataclass(frozen=True)
class PublicData:
    """What a recipe may use freely.

    Attributes:
        schema: what the columns mean, settled.
        relative: the public relative of the confidential table, if there is one.
        target: the rows that receive private columns, if the job has them.
        assumed_rows: a public guess of the confidential table's number of rows, for plans only.
        wanted: the columns of each table that an intended use is read from.
        figures: the figures of intended uses that are told by less than a table.
        predicted: the columns that intended uses predict from all others.
        read_by: the columns by which figures of intended uses are read, those that most uses name first.
        memo: what a recipe has worked out of all this and needs again, under keys of its own.
    """

    schema: Schema
    relative: CodedTable | None = None
    target: CodedTable | None = None
    assumed_rows: int | None = None
    wanted: tuple[tuple[str, ...], ...] = ()
    figures: tuple[Statistic, ...] = ()
    predicted: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise JobError(f"PublicData needs a Schema; schema is a {_kind(self.schema)}. {NOTHING}")
        for role in ("relative", "target"):
            given = getattr(self, role)
            if given is not None and not isinstance(given, CodedTable):
                how = "" if role == "relative" else ", role='target'"
                raise JobError(
                    f"PublicData needs a table that the schema has coded; {role} is a {_kind(given)}.\n"
                    f"Read it first: {role}=CodedTable.read(table, schema{how}). {NOTHING}"
                )


def _kind(value: object) -> str:
    """What a value is, with the library it comes from: "pandas DataFrame", "str"."""
    module = type(value).__module__.split(".")[0]
    return f"{'' if module == 'builtins' else module + ' '}{type(value).__name__}"


def _lacking(source: Source, role: str, names: list[str]) -> str:
    close = {n: nearest(n, source.columns) for n in names[:5]}
    hints = ", ".join(f"{n!r} ({hint})" if hint.startswith("did") else repr(n) for n, hint in close.items())
    hints += ", ..." if len(names) > 5 else ""
    listed = ", ".join(source.columns[:30]) + (", ..." if len(source.columns) > 30 else "")
    return (
        f"The {role} table {source.name} lacks {len(names)} of the schema's columns: {hints}.\n"
        f"Its columns are: {listed}.\nCorrect the names, or take the columns out of the schema. {NOTHING}"
    )


def _fingerprint(table: Any, frame: pl.DataFrame) -> str:
    if isinstance(table, Source) or is_address(table) or is_spark(table):
        return _hash_of_values(frame)
    if isinstance(table, str | Path) and not Path(table).is_dir():
        return file_hash(Path(table))
    held = BytesIO()
    frame.write_ipc(held)
    return hashlib.sha256(held.getbuffer()).hexdigest()


def _hash_of_values(frame: pl.DataFrame) -> str:
    """The sha256 of names, types and values in order, whatever made the table and however it lies in memory."""
    digest = hashlib.sha256()
    for series in frame:
        known = series.to_physical() if series.dtype.is_numeric() or series.dtype in (pl.Date, pl.Boolean) else None
        digest.update(f"{series.name}\0{series.dtype}\0{len(series)}\0".encode())
        digest.update(series.is_null().to_numpy().tobytes())
        if known is not None:
            digest.update(known.fill_null(strategy="zero").to_numpy().tobytes())
            continue
        text = series.cast(pl.String).fill_null("")
        digest.update(text.str.len_bytes().to_numpy().tobytes())
        for part in text.to_frame().iter_slices(1 << 18):
            digest.update("".join(part.to_series()).encode())
    return digest.hexdigest()


def resolved_on(schema: Schema, source: Source) -> Schema:
    """The schema with all that it takes from this public table written out."""
    if schema.is_resolved:
        return schema
    names = [c.name for c in schema.columns]
    return schema.resolved(pl.concat(source.batches(names), how="vertical_relaxed"))


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


def shares(counts: npt.NDArray[Any]) -> Shares:
    """Counts as shares of their sum; all 0 where there is nothing."""
    total = counts.sum()
    return counts / total if total > 0 else np.zeros(counts.shape)


def total_variation(p: Shares, q: Shares) -> float:
    """Half the sum of the differences: the share of rows that must move to make one table the other.

    >>> total_variation(shares(np.array([3, 1])), shares(np.array([5, 5])))
    0.25
    """
    return float(np.abs(p - q).sum() / 2)
