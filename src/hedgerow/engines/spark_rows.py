"""How rows come to a function on Spark's workers: from Spark, or from Parquet files that the worker reads itself.

Spark writes rows one by one for Python, which takes several times as long as to count them.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl
from polars import selectors as cs

ROWS = 1 << 17  # that are read at a time, and of one piece of codes
PART = 1 << 20  # rows of a file that one task reads
_KINDS = {"string": pl.String, "int": pl.Int32, "bigint": pl.Int64, "double": pl.Float64, "boolean": pl.Boolean}
Part = tuple[str, int, int, str]  # of a file: its path, the first row, how many, and what its footer says


def plain_files(frame: Any, columns: Sequence[str]) -> list[Part]:
    """The parts of a frame that is nothing but plain Parquet files, all whole; none where it is or may be more.

    Spark may see something else than the rows of files in a table of a catalog, in folders that name a column, with
    options or extensions, and in types of which two readers may make two things.  Footers are read, no row.
    """
    try:
        plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  the only way to see it
        if plan.nodeName() != "LogicalRelation" or not plan.catalogTable().isEmpty():
            return []
        of = plan.relation()
        made = [x.getClass().getSimpleName() for x in (of, of.location(), of.fileFormat())]
        plain = made == ["HadoopFsRelation", "InMemoryFileIndex", "ParquetFileFormat"]
        plain = plain and of.partitionSchema().isEmpty() and of.bucketSpec().isEmpty()
        plain = plain and {*of.options().keys().mkString(",").split(",")} <= {"", "path", "paths"}
        if not plain or frame.sparkSession.conf.get("spark.sql.extensions", ""):
            return []
        kinds = {n: _KINDS[frame.schema[n].dataType.simpleString()] for n in columns}
        return [part for address in frame.inputFiles() for part in _parts(address, kinds)]
    except Exception:  # of many kinds: then Spark reads, and tells what is wrong
        return []


def _parts(address: str, kinds: Mapping[str, Any]) -> list[Part]:
    """Whole groups of rows of a file, as many at a time as a task reads; an error if it is not what is expected."""
    from pyarrow import parquet

    where, found = urlsplit(address), list[Part]()
    path = unquote(where.path)
    if where.scheme != "file" or where.netloc or kinds.items() - pl.read_parquet_schema(path).items():
        raise ValueError(address)
    said = _footer(path)
    about, low, end = parquet.read_metadata(path), 0, 0
    for rows in (about.row_group(g).num_rows for g in range(about.num_row_groups)):
        if rows > PART:  # a reader would hold it whole for each of its parts
            raise ValueError(rows)
        if end + rows - low > PART:
            found.append((path, low, end - low, said))
            low = end
        end += rows
    return [*found, (path, low, end - low, said)] if end > low else found


def _footer(path: str) -> str:
    """A hash of what the footer of a Parquet file says of its groups of rows: the same of every copy of it."""
    with open(path, "rb") as file:
        file.seek(-8, os.SEEK_END)
        size = int.from_bytes(file.read(4), "little")
        file.seek(-8 - size, os.SEEK_END)
        return hashlib.sha256(file.read(size)).hexdigest()


def opened(parts: Sequence[Part], batches: Iterator[Any], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows of the parts whose numbers Spark gives; of a file that changed meanwhile none counts."""
    for path, low, rows, said in (parts[i] for batch in batches for i in batch.column(0).to_pylist()):
        wanted = pl.scan_parquet(path, glob=False).slice(low, rows).select(cs.by_name(*columns))
        for batch in wanted.collect_batches(chunk_size=ROWS):
            rows -= len(batch)
            yield batch
        if rows or _footer(path) != said:  # as in files.py: a panic in a thread of Polars ends them without a word
            raise ValueError("not as many rows as the footer says, or a file that was written to meanwhile")


def merged(batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
    """Arrow batches as frames of many rows each: Spark's are small."""
    import pyarrow as pa

    held, rows = list[Any](), 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS:
            yield pl.DataFrame(pa.Table.from_batches(held))
            held, rows = [], 0
    if rows:
        yield pl.DataFrame(pa.Table.from_batches(held))
