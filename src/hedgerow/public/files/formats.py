"""How tables of each format are opened: the columns with their types from the header, and a way to read some."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl
from polars import selectors as cs

from hedgerow.errors import MissingExtra
from hedgerow.public.files.csv_text import read_header, read_rows

Read = Callable[[list[str], int], Iterable[pl.DataFrame]]
"""Gives frames of some columns, about so many rows each."""
Opened = tuple[Mapping[str, Any], Read]


def open_duckdb(path: str, table: str) -> Opened:
    """A table or view of a DuckDB file."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra(needed_for="A DuckDB table", extra="sql") from None

    def quoted(names: Iterable[str], between: str) -> str:
        return between.join('"' + n.replace('"', '""') + '"' for n in names)

    def read(names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        with duckdb.connect(path, read_only=True) as db:
            query = f"SELECT {quoted(names, ', ')} FROM {origin}"
            yield from pl.read_database(query, db, iter_batches=True, batch_size=rows)

    origin = quoted(table.split("."), ".")
    with duckdb.connect(path, read_only=True) as db:
        return pl.read_database(f"SELECT * FROM {origin} LIMIT 0", db).schema, read


def _csv(name: str) -> Opened:
    names = read_header(name)[0]
    unique = dict.fromkeys(names, pl.String)
    return unique if len(unique) == len(names) else {}, lambda names, n: read_rows(name, names)


def _scan(scan: Callable[..., pl.LazyFrame], name: str) -> Opened:
    lazy = scan(name, glob=False)
    return lazy.collect_schema(), _paged(lambda names, at, n: lazy.select(cs.by_name(*names)).slice(at, n).collect())


def _statistical(kind: str, name: str) -> Opened:
    import pyreadstat

    reader = partial(getattr(pyreadstat, f"read_{kind}"), name, output_format="polars")

    def page(names: list[str], at: int, rows: int) -> pl.DataFrame:
        frame: pl.DataFrame = reader(usecols=names, row_offset=at, row_limit=rows)[0]
        return frame.with_columns((cs.numeric() | cs.by_dtype(pl.Null)).cast(pl.Float64))  # on every page

    return reader(metadataonly=True)[0].schema, _paged(page)


def _paged(page: Callable[[list[str], int, int], pl.DataFrame]) -> Read:
    """Reads pages of (columns, first row, number of rows) until one is empty."""

    def read(names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        at = 0
        while (frame := page(names, at, rows)).height:
            yield frame
            at += rows

    return read


OPENERS: Mapping[str, Callable[[str], Opened]] = {
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), _csv),
    ".parquet": partial(_scan, pl.scan_parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), partial(_scan, pl.scan_ipc)),
    **{f".{kind}": partial(_statistical, kind) for kind in ("dta", "sav", "por", "sas7bdat")},
    ".zsav": partial(_statistical, "sav"),
    ".xpt": partial(_statistical, "xport"),
}
"""How to open a file with this suffix."""
