"""Tables as streams of batches: files of many formats, DuckDB tables, frames.

Confidential tables pass through here, so nothing but the batches may depend on a row: CSV is read as text
and no line of it is refused, types come from the header, errors name tables and columns only.
Opening reads the header and no row.  One batch has to fit in memory, not the table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import polars as pl
from polars import selectors as cs

from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.public.files.formats import OPENERS, Opened, Read, open_duckdb

_FAULTS = (Exception, pl.exceptions.PanicException)


@final
@dataclass(frozen=True, eq=False)
class Source:
    """A table that can be read in batches: its name in messages, its columns, and how to read some of them."""

    name: str
    columns: tuple[str, ...]
    read: Read

    def batches(self, columns: Sequence[str], rows: int = 1 << 18) -> Iterator[pl.DataFrame]:
        """All rows in order, at most ``rows`` at a time; of the first column when none is asked for."""
        if absent := [c for c in columns if c not in self.columns]:
            raise TableMismatch(
                f"{self.name} has no column of text, numbers or dates named {', '.join(absent)}.\n"
                "Columns need the same name in the schema and in the table. Only the header was read."
            )
        return self._stream(list(dict.fromkeys(columns)) or list(self.columns[:1]), rows)

    def _stream(self, columns: list[str], rows: int) -> Iterator[pl.DataFrame]:
        days = (cs.date() | cs.datetime()).cast(pl.Date, strict=False).to_physical()
        dates = days.clip(-719_162, 2_932_896).cast(pl.Date)  # years 1 to 9999: polars panics on some beyond
        try:
            for frame in self.read(columns, rows):
                plain = frame.select(cs.by_name(*columns)).with_columns(dates, cs.decimal().cast(pl.Float64))
                yield from plain.iter_slices(rows)
            return
        except _FAULTS:
            text = f"{self.name} cannot be read to its end: it is damaged or in use. Restore it or write it again."
        raise TableMismatch(text)  # outside of `except`: the library's own error may quote a row


def open_source(table: Any) -> Source:
    """A path, ``duckdb:PATH#TABLE``, or a polars, pandas or pyarrow frame as a source. No row is read."""
    if isinstance(table, Source):
        return table
    name = str(table) if isinstance(table, str | Path) else "frame"
    try:
        kinds, read = _file(name) if isinstance(table, str | Path) else _frame(table)
    except HedgerowError:
        raise
    except _FAULTS:
        kinds = {}
    if not kinds:
        raise TableMismatch(
            f"The header of {name} cannot be read: it is damaged, empty, names a column twice, or is not of the\n"
            "kind that its suffix says. Open it and see. No row was read, and nothing was spent."
        )
    odd = ("List", "Array", "Struct", "Binary", "Duration")
    return Source(name, tuple(n for n, kind in kinds.items() if not str(kind).startswith(odd)), read)


def _file(name: str) -> Opened:
    path, _, table = name[7:].rpartition("#") if name.startswith("duckdb:") else (name, "", "")
    suffix = next((s for s in OPENERS if name.lower().endswith(s)), "")
    if not Path(path).is_file():
        raise JobError(f"There is no file {path}. Check the path. Nothing was read or spent.")
    if not table and not suffix:
        raise JobError(f"{name} has none of the suffixes {' '.join(OPENERS)}. Nothing was read or spent.")
    return open_duckdb(path, table) if table else OPENERS[suffix](name)


def _frame(table: Any) -> Opened:
    import narwhals as nw

    table = nw.to_native(table, pass_through=True)  # of narwhals' own frames, what they wrap
    if isinstance(table, pl.LazyFrame):
        return table.collect_schema(), lambda names, n: table.select(cs.by_name(*names)).collect_batches(chunk_size=n)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        said = f"A table is the path of a file or a frame (pandas, Polars, PyArrow), not {type(table)}."
        raise JobError(f"{said} Give one of these. Nothing was read or spent.") from None
    if not frame.implementation.is_pandas_like():
        return _frame(frame.to_polars().lazy())

    if loose := [n for n, kind in table.dtypes.items() if str(kind) == "object"]:
        raise TableMismatch(
            f"pandas keeps the columns {', '.join(map(str, loose))} as objects of any type, so that one row decides\n"
            "how all are read. Give them a type, as frame.convert_dtypes() does, or write a file. No row was read."
        )

    def read(names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        mixed = [n for n in names if str(frame.schema[n]) in ("Object", "Categorical", "Unknown")]
        yield frame.select(names).with_columns(nw.col(n).cast(nw.String) for n in mixed).to_polars()

    return frame.schema, read
