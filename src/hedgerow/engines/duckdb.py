"""Tables in a DuckDB file, counted by DuckDB."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, final
from weakref import finalize

import polars as pl

from hedgerow.engines.sql import Kind
from hedgerow.errors import JobError, MissingExtra
from hedgerow.public import quoted

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "whole"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    "VARCHAR": "text",
}
_NESTED = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "INTERVAL", "BIGNUM", "VARIANT")  # of which no reader has a text


@final
class DuckDb:
    """A table of a DuckDB file, opened for reading: what is made of it is in memory, or in a folder of ours."""

    place, double = "t.rowid", "DOUBLE"

    def __init__(self, name: str) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtra(needed_for="Counting in DuckDB", extra="sql") from None
        path, _, table = name.removeprefix("duckdb:").rpartition("#")
        spill = tempfile.mkdtemp(prefix="hedgerow-")  # for its owner alone; never beside the database or the release
        finalize(self, _removed, spill, _watched(spill))
        self.name, self.table = name, "confidential." + ".".join(map(quoted, table.split(".")))
        self._db: Any = duckdb.connect(config={"temp_directory": spill, "autoinstall_known_extensions": False})
        try:
            self._db.execute(f"ATTACH '{path.replace(chr(39), chr(39) * 2)}' AS confidential (READ_ONLY)")
            self._db.execute("SET perfect_ht_threshold = 20")  # codes are small: cells are counted in an array
            self._db.execute("BEGIN TRANSACTION")  # one state of the table, whatever others write
            header = self._db.execute(f"DESCRIBE SELECT * FROM {self.table}").fetchall()
        except duckdb.Error:
            header = []
        if not header:
            raise JobError(f"There is no table {table} in {path}, or it is in use. Check the name. No row was read.")
        full = {str(name): str(kind) for name, kind, *_ in header}
        self.kinds: Mapping[str, Kind] = {
            n: _KINDS.get(k, "other") for n, k in full.items() if not k.endswith("]") and not k.startswith(_NESTED)
        }
        self._days = {n for n, k in full.items() if k.startswith("TIMESTAMP") and not k.endswith("ZONE")}

    def whole(self, size: int) -> str:
        """The smallest type that holds whole numbers below ``size``."""
        fits = {1 << 8: "UTINYINT", 1 << 16: "USMALLINT", 1 << 32: "UINTEGER"}
        return next((name for most, name in fits.items() if size <= most), "BIGINT")

    def value(self, column: str) -> str:
        """A column as values are told apart."""
        name = column.removeprefix("t.")[1:-1].replace('""', '"')
        if self.kinds[name] == "text":
            return f'({column} COLLATE "C")'
        return f"({column}::DATE)" if name in self._days else column

    def run(self, statement: str) -> None:
        """Carry a statement out."""
        self._db.execute(statement)

    def rows(self, query: str) -> Iterator[pl.DataFrame]:
        """What a query finds, in batches."""
        reader = self._db.sql(query).to_arrow_reader(1 << 18)
        yield pl.DataFrame(reader.schema.empty_table())
        yield from map(pl.DataFrame, reader)

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Make a temporary table of whole numbers."""
        self._db.register("incoming", frame.to_arrow())
        self._db.execute(f"CREATE TEMPORARY TABLE {name} AS SELECT * FROM incoming")
        self._db.unregister("incoming")


def _watched(folder: str) -> Any:
    """A process that removes ``folder`` when this one ends, even if it is killed; none where there is no shell.

    It waits for the end of its input, which this process holds open as long as it lives.
    """
    with suppress(OSError):
        line = ["/bin/sh", "-c", 'cat; rm -rf -- "$1"', "sh", folder]
        none = subprocess.DEVNULL
        return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=none, stderr=none, start_new_session=True)
    return None


def _removed(folder: str, watcher: Any) -> None:
    if watcher is not None:
        watcher.communicate()
    shutil.rmtree(folder, ignore_errors=True)
