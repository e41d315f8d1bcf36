"""Where public tables lie: the file of a table, whether two are the same, and the hash of one."""

import hashlib
from pathlib import Path

from hedgerow.errors import JobError


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
