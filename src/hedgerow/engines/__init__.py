"""Engines: counters of tables that are not read into this process. Each gives the counts that files and frames give.

sql.py          coding and counting in SQL, the same for every database
duckdb.py       how DuckDB is spoken to
postgresql.py   how PostgreSQL is spoken to
spark.py        coding and counting on the workers of Spark, by the kernel of files
shards.py       records drawn on the workers of Spark; no confidential row is touched
"""

from pathlib import Path
from typing import Any

from hedgerow.public import open_confidential


def open_engine(name: str, table: Any, master: str = "") -> tuple[Any, Any]:
    """A table that ``name`` is to count, opened, and the class that counts it. No row is read."""
    if name == "spark":
        from hedgerow.engines.spark import SparkCounter, must_be_rows, session, table_of

        frame = table_of(session(master), table) if isinstance(table, str | Path) else table
        return must_be_rows(frame), SparkCounter
    from hedgerow.engines.sql import SqlCounter

    if name == "postgresql":
        from hedgerow.engines.postgresql import PostgreSql

        return PostgreSql(str(table)), SqlCounter
    from hedgerow.engines.duckdb import DuckDb

    open_confidential(table)  # refuses a view
    return DuckDb(str(table)), SqlCounter


def shard_map(name: str, master: str = "") -> Any:
    """Who draws shards of records: as ``map`` does, here or on the executors of Spark."""
    if name != "spark":
        return map
    from hedgerow.engines.shards import on_executors
    from hedgerow.engines.spark import session

    return on_executors(session(master))
