"""Records in pieces: a table that may be larger than the memory is written, and looked at, a piece at a time."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

import polars as pl

from hedgerow.errors import JobError, VerifyFailed

PIECE = 1 << 18
"""Rows of a piece, and of a row group of a Parquet file."""


@final
@dataclass(frozen=True)
class RecordFile:
    """Records in a Parquet file. What is read of it is a piece, or some of its columns; never all, unless asked."""

    path: Path

    def __len__(self) -> int:
        return self._rows

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The type of each column."""
        return dict(self._read(pl.scan_parquet(self.path).limit(0)).schema)

    @cached_property
    def _rows(self) -> int:
        return int(self._read(pl.scan_parquet(self.path).select(pl.len())).item())

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """All rows of these columns, of all when None."""
        found = pl.scan_parquet(self.path)
        return self._read(found if columns is None else found.select(columns))

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows in order, so many at a time; one piece without rows of a table without rows."""
        found = pl.scan_parquet(self.path)
        wanted = found if columns is None else found.select(columns)
        for start in range(0, max(len(self), 1), PIECE):
            yield self._read(wanted.slice(start, PIECE))

    def put(self, place: Path) -> None:
        """Let the same file stand at ``place`` too."""
        try:
            os.link(self.path, place)
        except OSError:  # another disk, or one without links
            shutil.copyfile(self.path, place)

    def _read(self, found: pl.LazyFrame) -> pl.DataFrame:
        try:
            return found.collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            raise VerifyFailed(f"{self.path.name} is not a table of its kind, or it is damaged.") from None


Table = pl.DataFrame | RecordFile
"""Records: in memory, or in a file."""


def pieces(table: Table, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """The rows of a table in order, some at a time: at least one piece, each of these columns.

    >>> [len(p) for p in pieces(pl.DataFrame({"a": range(PIECE + 1)}))]
    [262144, 1]
    """
    if isinstance(table, RecordFile):
        yield from table.pieces(columns)
        return
    wanted = table if columns is None else table.select(columns)
    yield from wanted.iter_slices(PIECE) if len(wanted) else (wanted,)


def whole(table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The table in memory, or these columns of it."""
    if isinstance(table, RecordFile):
        return table.read(columns)
    return table if columns is None else table.select(columns)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths, or the files of two DuckDB tables, are one and the same."""
    first, second = file_of(one), file_of(other)
    return first == second or (first.exists() and second.exists() and first.samefile(second))


def file_of(table: Path) -> Path:
    """The file of a table: the path itself, or the FILE of ``duckdb:FILE#TABLE``."""
    name = str(table)
    return Path(name.removeprefix("duckdb:").rpartition("#")[0]) if name.startswith("duckdb:") else table


def file_hash(path: Path) -> str:
    """The sha256 of a file's bytes."""
    try:
        with file_of(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as wrong:
        raise JobError(
            f"Cannot read the public file {path}: {wrong.strerror}. Check the path.\n"
            "No confidential row was read and nothing was spent."
        ) from None
