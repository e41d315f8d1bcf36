"""Engines: counters of tables that are not read into this process. Each gives the counts that files and frames give.

sql.py          coding and counting in SQL, the same for every database
duckdb.py       how DuckDB is spoken to
postgresql.py   how PostgreSQL is spoken to
spark.py        coding and counting on the workers of Spark, by the kernel of files
frames.py       which Spark frames are taken: those whose rows are read each by itself
shards.py       records drawn on the workers of Spark; no confidential row is touched
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from hedgerow.errors import NOTHING, JobError
from hedgerow.public import open_confidential, spark_columns, spark_name, spark_session, spark_table

_MOST = 500
"""Tables of a catalog that are listed."""


def open_engine(name: str, table: Any, master: str = "") -> tuple[Any, Any]:
    """A table that ``name`` is to count, opened, and the class that counts it. No row is read."""
    if name == "spark":
        from hedgerow.engines.spark import SparkCounter, must_be_rows

        frame = spark_table(spark_session(master), table) if isinstance(table, str | Path) else table
        return must_be_rows(frame), SparkCounter
    from hedgerow.engines.sql import SqlCounter

    if name == "postgresql":
        from hedgerow.engines.postgresql import PostgreSql

        return PostgreSql(str(table)), SqlCounter
    from hedgerow.engines.duckdb import DuckDb

    open_confidential(table)  # refuses a view
    return DuckDb(str(table)), SqlCounter


def headers_at(address: str, master: str = "") -> dict[str, tuple[str, ...]]:
    """The tables at an address, each by the address that a job names it with, and its columns. No row is read.

    ``address`` is that of a PostgreSQL database, ``spark:`` for all tables of Spark's catalog, or that of one table.
    """
    if address.startswith(("postgresql://", "postgres://")):
        from hedgerow.engines.postgresql import headers

        place, _, table = address.partition("#")
        found = headers(place)
        if table and table not in found:
            raise JobError(f"PostgreSQL has no table {table} there that you may read. {NOTHING}")
        return {f"{place}#{name}": columns for name, columns in found.items() if table in ("", name)}
    from hedgerow.engines.frames import must_be_rows

    spark = spark_session(master)
    if address != "spark:":
        return {address: spark_columns(must_be_rows(spark_table(spark, address)))}
    found = dict[str, tuple[str, ...]]()
    for name in _in_catalog(spark)[:_MOST]:
        with suppress(Exception):  # what cannot be opened is not listed; a text of Spark's goes no further
            found[f"spark:{name}"] = spark_columns(spark.table(_quoted(name)))
    return found


def _in_catalog(spark: Any) -> list[str]:
    """The tables of Spark's catalog that have a plain name; no view, which may join rows."""
    try:
        bases = [b.name for b in spark.catalog.listDatabases()]
        there = [(b, t) for b in bases for t in spark.catalog.listTables(b)]
        return [
            f"{b}.{t.name}" for b, t in there if not t.isTemporary and t.tableType != "VIEW" and "." not in t.name
        ]
    except Exception:  # of many kinds; a text of Spark's goes no further
        pass
    raise JobError(f"Spark's catalog cannot be read. Check who may read it. {NOTHING}")


def _quoted(name: str) -> str:
    base, _, table = name.partition(".")
    return ".".join(map(spark_name, (base, table)))


def shard_map(name: str, master: str = "") -> Any:
    """Who draws shards of records: as ``map`` does, here or on the executors of Spark."""
    if name != "spark":
        return map
    from hedgerow.engines.shards import on_executors

    return on_executors(spark_session(master))
