"""Tables that are not here, but in Spark or PostgreSQL: how they are opened, and how public ones are brought.

Engines count confidential tables where they are; of here they take how Spark is begun, and how PostgreSQL's answers
are read.  A public table or a target is brought into the memory of this process, whole.  Rows there stand in no
order, so they are put in one: by all columns, the first column first, missing values before numbers by size or text
by its bytes.  Equal tables are then equal here, however they were divided, and however often they are brought.
"""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl
from polars import selectors as cs

from hedgerow.errors import NOTHING, JobError, MissingExtra, TableMismatch
from hedgerow.public.files import Source, open_source

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",  # from the start on
    "spark.io.encryption.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a row's folder would decide for all
}

POSTGRES_DAYS = ("date", "timestamp without time zone", "timestamp with time zone")
"""Types of PostgreSQL whose values are read as days."""
_WHOLE = dict.fromkeys(("smallint", "integer", "bigint"), pl.Int64)
_TYPES = {"real": pl.Float32, "double precision": pl.Float64, "numeric": pl.Float64}
_READ: dict[str, Any] = {**_TYPES, **_WHOLE, **dict.fromkeys(POSTGRES_DAYS, pl.Int32)}  # all else is text
_BLOCK = 1 << 23  # bytes of an answer that are read at a time


def is_address(table: Any) -> bool:
    """Whether a table is named by an address, ``spark:TABLE`` or ``KIND://...``, not by a path."""
    return isinstance(table, str) and (table.startswith("spark:") or "://" in table)


def is_spark(table: Any) -> bool:
    """Whether a table is a Spark frame."""
    return type(table).__module__.startswith("pyspark.")


def shown_address(address: str) -> str:
    """An address as a release and messages have it: no machine, no user, no password.

    >>> shown_address("postgresql://me@db.office/census#public.people"), shown_address("hdfs://name/a/people")
    ('postgresql://#public.people', 'hdfs://people')
    """
    return re.sub(r"://.*(#.*)$" if "#" in address else r"://.*?([^/]*)/*$", r"://\1", address)


def brought(table: Any, master: str = "") -> pl.DataFrame:
    """The rows of a PUBLIC table at an address, or of a Spark frame, in their order; ``master`` is Spark's."""
    if not is_spark(table) and table.startswith("postgres"):
        return _in_order(_from_postgresql(table))
    return _in_order(_from_spark(table if is_spark(table) else spark_table(spark_session(master), table)))


def columns_at(address: str, master: str = "") -> tuple[str, ...]:
    """The columns of a table at an address that have a text. No row is read."""
    if not address.startswith("postgres"):
        return spark_columns(spark_table(spark_session(master), address))
    with _asked(address) as (db, query):
        return tuple(name for name, kind in postgres_header(db, query) if has_text(kind))


def brought_source(frame: pl.DataFrame, address: str) -> Source:
    """What was brought from an address as a source, under the name that may be shown."""
    return replace(open_source(frame), name=shown_address(address))


def as_brought(source: Source) -> Source:
    """The rows of a table that is here in the order of one that was brought."""
    return replace(open_source(_in_order(source)), name=source.name)


def _in_order(source: Source) -> pl.DataFrame:
    """All rows, read as those of every table, in order. A number that has two writings, as -0.0, has one here."""
    if not (batches := [*source.batches(source.columns)]):
        raise TableMismatch(f"A public table or target has no rows. Give another table. {NOTHING}")
    found = pl.concat(batches, how="vertical_relaxed")
    numbers = (x.set((x == 0).fill_null(False), 0.0).fill_nan(float("nan")) for x in found.select(cs.float()))
    return found.with_columns(numbers).sort(pl.all()).rechunk()


def _from_spark(frame: Any) -> Source:
    names, found = spark_columns(frame), None
    try:
        with spark_remarks_off():
            found = pl.DataFrame(frame.select(*map(spark_name, names)).toArrow())
    except Exception:  # of many kinds, and with long texts of Spark's
        pass
    if found is None or not names:
        raise JobError(
            "A public table or target of Spark is brought to this machine, and this one could not be: it has no\n"
            "column of text, numbers or dates, or is larger than spark.driver.maxResultSize and spark.driver.memory\n"
            "allow, or workers were lost. Raise these, or name a smaller table, or a folder of Parquet files on a\n"
            f"disk of this machine. {NOTHING}"
        )
    return open_source(found.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC")))


def spark_files(table: Any, master: str = "") -> set[str]:
    """The files that a Spark table is read from, those of this machine by their paths; none where it is no file's.

    No row is read.
    """
    frame = table if is_spark(table) else spark_table(spark_session(master), table)
    places = map(urlsplit, frame.inputFiles())
    return {unquote(p.path) if p.scheme in ("", "file") else p.geturl() for p in places}


def spark_session(master: str = "") -> Any:
    """The Spark session of this process, or a new one: no pages, no logs of events, files on disks encrypted."""
    try:
        with spark_remarks_off():
            from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra(needed_for="A table in Spark", extra="spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of workers on this machine
    asked = SparkSession.builder.appName("hedgerow")
    for name, value in _SETTINGS.items():
        asked = asked.config(name, value)
    try:
        with spark_remarks_off():
            made = (asked.master(master) if master else asked).getOrCreate()
        made.sparkContext.setLogLevel("OFF")
    except Exception:  # of many kinds, and with long texts about the machine
        made = None
    if made is None:
        raise JobError(
            f"Spark cannot be started{f' at {master}' if master else ''}. See that there is Java 17 (java -version)\n"
            f"and that [engine] master is 'local[2]' or the address of a cluster that runs. {NOTHING}"
        )
    return made


def spark_table(spark: Any, table: str | Path) -> Any:
    """The frame of ``spark:TABLE``, or of a file or folder of Parquet wherever Spark can read it. No row is read."""
    name = str(table)
    try:
        return spark.table(name[6:]) if name.startswith("spark:") else spark.read.parquet(name)
    except Exception:  # of many kinds; a text of Spark's goes no further
        pass
    raise JobError(
        f"Spark finds no table or Parquet at {shown_address(name)}. Check the name and who may read it. {NOTHING}"
    )


def spark_columns(frame: Any) -> tuple[str, ...]:
    """The columns of a Spark frame that have a text."""
    odd = r"array|map|struct|binary|variant|.*interval"  # of months, of days, of both
    return tuple(f.name for f in frame.schema.fields if not re.match(odd, f.dataType.typeName()))


def spark_name(column: str) -> str:
    """A name as Spark's statements write it."""
    return "`" + column.replace("`", "``") + "`"


@contextmanager
def spark_remarks_off() -> Iterator[None]:
    """PySpark warns about versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _from_postgresql(address: str) -> Source:
    with _asked(address) as (db, query):
        return open_source(pl.concat(postgres_rows(db, query)))


@contextmanager
def _asked(address: str) -> Iterator[tuple[Any, str]]:
    """A connection to a PostgreSQL server, and the query for all rows of the table that an address names."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra(needed_for="A table in PostgreSQL", extra="postgres") from None
    place, _, table = address.rpartition("#")
    try:
        with psycopg.connect(place, connect_timeout=20) as db:
            db.execute("SET LOCAL TIME ZONE 'UTC'")
            yield db, f"SELECT * FROM {'.'.join(map(quoted, table.split('.')))}"
        return
    except psycopg.Error:  # its text may hold the address
        pass
    raise JobError(f"PostgreSQL does not answer, or has no table {table} that you may read. Check both. {NOTHING}")


def postgres_header(db: Any, query: str) -> list[tuple[str, str]]:
    """The names and types of what a query finds in PostgreSQL, without a row of it."""
    found = db.execute(f"SELECT * FROM ({query}) AS q LIMIT 0").description
    kinds = [db.execute("SELECT format_type(%s, NULL)", [c.type_code]).fetchone()[0] for c in found]
    return [(c.name, k) for c, k in zip(found, kinds, strict=True)]


def has_text(kind: str) -> bool:
    """Whether values of a type of PostgreSQL have a text that readers know."""
    shapes = ("point", "line", "lseg", "box", "path", "polygon", "circle")  # of which none can be told apart
    return not kind.endswith("[]") and kind not in ("bytea", "interval", "json", "jsonb", "xml", *shapes)


def postgres_rows(db: Any, query: str) -> Iterator[pl.DataFrame]:
    """What a query finds in PostgreSQL, in batches; of columns that have a text."""
    header = [(n, k) for n, k in postgres_header(db, query) if has_text(k)]
    kinds = {n: _READ.get(k, pl.String) for n, k in header}
    listed = ", ".join(f"{_written(n, k)} AS {quoted(n)}" for n, k in header)
    days, held = [n for n, k in header if k in POSTGRES_DAYS], bytearray()

    def frame() -> pl.DataFrame:
        read = pl.read_csv(bytes(held), has_header=False, schema=kinds)
        return read.with_columns(pl.col(days).cast(pl.Date))

    with db.cursor().copy(f"COPY (SELECT {listed} FROM ({query}) AS q) TO STDOUT (FORMAT csv)") as lines:
        for line in lines:
            held += line
            if len(held) > _BLOCK:
                yield frame()
                held.clear()
    yield frame() if held else pl.DataFrame(schema=kinds).with_columns(pl.col(days).cast(pl.Date))


def _written(column: str, kind: str) -> str:
    """A column as it is written out: dates as days since 1970, what is no number as text."""
    name = quoted(column)
    if kind in POSTGRES_DAYS:
        day = f"least(greatest({name}::date, DATE '0001-01-01'), DATE '9999-12-31') - DATE '1970-01-01'"
        return f"CASE WHEN {name} IS NOT NULL THEN {day} END"
    if kind == "boolean":
        return f"CASE {name} WHEN true THEN 'true' WHEN false THEN 'false' END"
    return name if kind in _READ else f"{name}::text"


def quoted(name: str) -> str:
    """A name as statements of SQL write it."""
    return '"' + name.replace('"', '""') + '"'
