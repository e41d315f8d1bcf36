"""What a confidential table may not be: a view, whose rows are made of others while they are read."""

from pathlib import Path
from typing import Any

from hedgerow.errors import TableMismatch
from hedgerow.public.files import Source, open_source


def open_confidential(table: Any) -> Source:
    """The source of confidential rows; a view is refused, as it may make one row of many: a join, a window."""
    source = open_source(table)
    if source.name.startswith("duckdb:") and _is_view(source.name):
        raise TableMismatch(
            f"{source.name} is a view: it may join rows, or look at some to say others, and what is protected is\n"
            "one row of what is read. Write it out as a table whose rows are the units to protect\n"
            "(CREATE TABLE t AS ...), and name that table. No row was read, and nothing was spent."
        )
    return source


def _is_view(name: str) -> bool:
    import duckdb

    path, _, table = name.removeprefix("duckdb:").rpartition("#")
    *schema, last = table.lower().split(".")
    query = "SELECT lower(schema_name) FROM duckdb_views() WHERE lower(view_name) = ?"
    with duckdb.connect(path, read_only=True) as db:
        found = [name for (name,) in db.execute(query, [last]).fetchall()]
    return bool(found) and (not schema or schema[-1] in found)


def duckdb_tables(path: Path) -> list[str]:
    """The names of the tables of a DuckDB file; none when it cannot be opened. No row is read."""
    try:
        import duckdb

        with duckdb.connect(str(path), read_only=True) as db:
            return [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
    except Exception:  # not installed, or in use, or no DuckDB file
        return []
