"""What a job calls public or target is another table than the confidential one: told by names and files, not by rows.

Two tables that only their rows show to be one are found by the ledger, which has fingerprints of both.
"""

import filecmp
import re
from pathlib import Path
from typing import Any

from hedgerow.errors import JobError
from hedgerow.job.places import on_this_disk
from hedgerow.job.values import JobValues
from hedgerow.public import file_of, is_address, is_spark, same_file, spark_files


def tables_apart(job: JobValues) -> None:
    """Refuse a job whose public table or target is the confidential one, a part, or a copy of it."""
    secret = job.confidential.table
    for role, other in (("public", job.public), ("target", job.target)):
        if other is None or other.is_frame:
            continue
        if isinstance(secret, str | Path):
            must_differ(on_this_disk(secret), on_this_disk(other.table), role)
        if is_address(other.table) and not other.table.startswith("postgres"):
            _share_no_file(secret, other.table, role, job.engine.master)


def must_differ(secret: Path | str, other: Path | str, role: str) -> None:
    """Refuse a table that is called public or target and is the confidential one, a part, or a copy of it."""
    files = isinstance(secret, Path) and isinstance(other, Path) and same_file(secret, other)
    addresses = isinstance(secret, str) and isinstance(other, str) and _bare(secret) == _bare(other)
    if addresses or files:
        shared = str(secret) != str(other) and all(str(x).startswith("duckdb:") for x in (secret, other))
        what = "a table in the DuckDB file of the confidential one" if shared else "the confidential table itself"
        raise JobError(
            f"[{role}] names {what}. What a job calls public is read freely and the\nhash of its file is published. "
            "Name a table in another file. No confidential row was read and nothing was spent."
        )
    if not isinstance(secret, Path) or not isinstance(other, Path):
        return
    if secret.resolve() in other.resolve().parents or other.resolve() in secret.resolve().parents:
        raise JobError(
            f"[{role}] and the confidential table lie in one another: a folder of Parquet files is one table. Name\n"
            "a table that lies elsewhere. No confidential row was read and nothing was spent."
        )
    if _equal_bytes(secret, other):
        raise JobError(
            f"[{role}] names a copy of the confidential table: the two files are equal byte by byte. What a\n"
            "job calls public is read freely and its hash is published. Name another table. The files were\n"
            "compared as they lie on the disk; no row was looked at, nothing was booked or spent."
        )


def _equal_bytes(one: Path, other: Path) -> bool:
    """Whether two files are equal; their sizes are compared first, so almost never is anything read."""
    first, second = file_of(one), file_of(other)
    return first.is_file() and second.is_file() and filecmp.cmp(first, second, shallow=False)


def _bare(address: str) -> str:
    """An address by which two are compared: whoever asks, with whatever options, in whatever case."""
    bare = re.sub(r"^postgres://", "postgresql://", address.lower())
    return re.sub(r"(?<=://)(?:[^/#]*@)?([^?#]*)[^#]*", r"\1", bare).replace("#public.", "#").rstrip("/")


def _share_no_file(secret: Any, other: str, role: str, master: str) -> None:
    """Refuse a table of Spark, whatever its name, that is read from a file of the confidential one."""
    theirs = set[str]()
    if is_spark(secret) or (is_address(secret) and not secret.startswith("postgres")):
        theirs = spark_files(secret, master)
    elif isinstance(secret, Path):
        theirs = {str(p) for p in (secret, *secret.rglob("*"))}
    if theirs & spark_files(other, master):
        raise JobError(
            f"[{role}] names a table that Spark reads from a file of the confidential one. What a job calls public\n"
            "is read freely and its hash is published. Name another table. No confidential row was read and nothing\n"
            "was spent."
        )
