"""Tables in a PostgreSQL database, counted by PostgreSQL."""

from collections.abc import Iterator, Mapping
from typing import Any, cast, final
from weakref import finalize

import polars as pl

from hedgerow.engines.sql import Kind
from hedgerow.errors import NOTHING, JobError, MissingExtra, TableMismatch
from hedgerow.public import POSTGRES_DAYS, has_text, postgres_header, postgres_rows, quoted

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("smallint", "integer", "bigint"), "whole"),
    **dict.fromkeys(("real", "double precision"), "float"),
    **dict.fromkeys(("text", "character varying", "character", "bpchar", "name", "citext"), "text"),
}
_TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END,
    a.attname, format_type(a.atttypid, NULL)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND n.nspname NOT LIKE 'pg\\_%' AND c.relname !~ '[.#]' AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, a.attnum"""
"""Every table that may be read, its columns and their types: from the catalog alone."""


@final
class PostgreSql:
    """A table of a PostgreSQL database: what is made of it are temporary tables, which end with the connection.

    Rows of PostgreSQL stand in no order, so people can be capped by a declared one only.
    """

    place, double = "", "DOUBLE PRECISION"

    def __init__(self, name: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra(needed_for="Counting in PostgreSQL", extra="postgres") from None
        address, _, table = name.rpartition("#")
        self.name, self.table, header, kind = table, ".".join(map(quoted, table.split("."))), [], ""
        try:
            self._db: Any = cast(Any, psycopg.connect(address))
            finalize(self, self._db.close)
            self._db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # one state, whatever others write
            self._db.execute("SET LOCAL TIME ZONE 'UTC'")
            self._db.execute("SET LOCAL client_min_messages = error")
            kind = self._db.execute("SELECT relkind FROM pg_class WHERE oid = %s::regclass", [self.table]).fetchone()[
                0
            ]
            header = postgres_header(self._db, f"SELECT * FROM {self.table}")
        except psycopg.Error:
            pass
        if not header:
            raise JobError(f"PostgreSQL does not answer, or has no table {table}. Check both. {NOTHING}")
        if kind == "v":
            raise TableMismatch(
                f"{table} is a view: it may join rows, or look at some to say others, and what is protected is one\n"
                "row of what is read. Write it out as a table whose rows are the units to protect\n"
                "(CREATE TABLE t AS ...), and name that table. No row was read, and nothing was spent."
            )
        there = {n: k for n, k in header if has_text(k)}
        self.kinds: Mapping[str, Kind] = {n: _KINDS.get(k, "other") for n, k in there.items()}
        self._days = {n for n, k in there.items() if k in POSTGRES_DAYS}

    def whole(self, size: int) -> str:
        """The smallest type that holds whole numbers below ``size``."""
        fits = {1 << 15: "SMALLINT", 1 << 31: "INTEGER"}
        return next((name for most, name in fits.items() if size <= most), "BIGINT")

    def value(self, column: str) -> str:
        """A column as values are told apart."""
        name = column.removeprefix("t.")[1:-1].replace('""', '"')
        if self.kinds[name] == "text":
            return f'({column}::text COLLATE "C")'
        return f"({column}::date)" if name in self._days else column

    def run(self, statement: str) -> None:
        """Carry a statement out; of a table that it makes, the planner is told how many rows there are."""
        self._db.execute(statement)
        if statement.startswith("CREATE TEMPORARY TABLE"):
            self._db.execute(f"ANALYZE {statement.split()[3]}")

    def rows(self, query: str) -> Iterator[pl.DataFrame]:
        """What a query finds, in batches."""
        return postgres_rows(self._db, query)

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Make a temporary table of whole numbers."""
        self._db.execute(f"CREATE TEMPORARY TABLE {name} ({', '.join(f'{quoted(c)} BIGINT' for c in frame.columns)})")
        with self._db.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as lines:
            for part in frame.iter_slices(1 << 16):
                lines.write(part.write_csv(include_header=False))
        self._db.execute(f"ANALYZE {name}")


def headers(address: str) -> dict[str, tuple[str, ...]]:
    """The tables of a database that its user may read, and their columns that have a text. No row is read."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra(needed_for="Counting in PostgreSQL", extra="postgres") from None
    try:
        with psycopg.connect(address, connect_timeout=20) as db:
            rows = db.execute(_TABLES).fetchall()
    except psycopg.Error:  # its text may hold the address, and who may write there
        rows = None
    if rows is None:
        raise JobError(f"PostgreSQL does not answer, or does not let you in. Check the address. {NOTHING}")
    found = dict[str, tuple[str, ...]]()
    for table, column, kind in rows:
        found[table] = (*found.get(table, ()), *([column] if has_text(kind) else []))
    return found
