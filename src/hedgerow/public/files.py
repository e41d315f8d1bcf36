"""Tables as streams of batches: files of many formats, DuckDB tables, frames.

Confidential tables pass through here, so nothing but the batches may depend on a row: CSV is read as text, types come
from the header, errors name tables and columns.  Opening reads no row.  A batch has to fit in memory, not the table.

In CSV a line is a row: if a quote could reach over a line end, one person's would change how other people's lines
are read, and no bound on what a person can move would hold.  So quotes count within their line, and an odd number of
them, as a value with a line end begins, stops the reading.  Short lines end in missing values, long ones are cut.
"""

import csv
import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl
from polars import selectors as cs

from hedgerow.errors import HedgerowError, JobError, MissingExtra, TableMismatch

Read = Callable[[list[str], int], Iterable[pl.DataFrame]]  # gives frames of some columns, about so many rows each
Opened = tuple[Mapping[str, Any], Read]
_FAULTS = (Exception, pl.exceptions.PanicException)
_BLOCK, _LONGEST = 1 << 23, 100_000  # bytes of a CSV file that are read at a time, and of a header or odd line
_GROUP = 1 << 20  # rows of a Parquet row group that may be held as a whole
_ODD = r"List|Array|Struct|Map|Binary|Duration|Ext|Dat.*:[1-5]|Dec.*n=(39|[4-7]\d)|"
_ODD += (
    r"(?!d(ec|ate64|ict)|null).*\[pyarrow]$|"  # of pandas, and its dictionaries of what is neither text nor number:
)
_ODD += r"dict.*s=(?!(large_)?string,|u?int|half|float|double|bool|date|time|dec|null)"
_ALIKE = {pl.String, pl.Boolean, pl.Date, pl.Int32, pl.Int64, pl.Float64}  # of which two libraries make the same


@final
@dataclass(frozen=True, eq=False)
class Source:
    """A table that can be read in batches: its name in messages, its columns, and how to read some of them."""

    name: str
    columns: tuple[str, ...]
    read: Read

    def batches(self, columns: Sequence[str], rows: int = 1 << 18) -> Iterator[pl.DataFrame]:
        """All rows in order, at most ``rows`` at a time; of the first column when none is asked for."""
        if absent := [c for c in columns if c not in self.columns]:
            raise TableMismatch(
                f"{self.name} has no column of text, numbers or dates named {', '.join(absent)}.\n"
                "Columns need the same name in the schema and in the table. Only the header was read."
            )
        return self._stream(list(dict.fromkeys(columns)) or list(self.columns[:1]), rows)

    def _stream(self, columns: list[str], rows: int) -> Iterator[pl.DataFrame]:
        days = (cs.date() | cs.datetime()).cast(pl.Date, strict=False).to_physical()
        dates = days.clip(-719_162, 2_932_896).cast(pl.Date)  # years 1 to 9999: polars panics on some beyond
        try:
            for frame in self.read(columns, rows):
                plain = frame.select(cs.by_name(*columns)).with_columns(dates, cs.decimal().cast(pl.Float64))
                yield from plain.iter_slices(rows)
            return
        except _FAULTS:
            text = f"{self.name} cannot be read to its end: damaged, changed, or CSV with line ends. Use Parquet."
        raise TableMismatch(text)  # outside of `except`: the library's own error may quote a row


def open_source(table: Any) -> Source:
    """A path, ``duckdb:PATH#TABLE``, or a polars, pandas or pyarrow frame as a source. No row is read."""
    if isinstance(table, Source):
        return table
    name = str(table) if isinstance(table, str | Path) else "frame"
    try:
        kinds, read = _file(name) if isinstance(table, str | Path) else _frame(table)
    except HedgerowError:
        raise
    except _FAULTS:
        kinds = {}
    if not kinds:
        raise TableMismatch(
            f"The header of {name} cannot be read: it is damaged, empty, names a column twice, or is not of the\n"
            "kind that its suffix says. Open it and see. No row was read, and nothing was spent."
        )
    return Source(name, tuple(n for n, kind in kinds.items() if not re.match(_ODD, str(kind))), read)


def _file(name: str) -> Opened:
    path, _, table = name[7:].rpartition("#") if name.startswith("duckdb:") else (name, "", "")
    suffix = next((s for s in OPENERS if name.lower().endswith(s)), ".parquet" if Path(path).is_dir() else "")
    if not (Path(path).is_file() or (suffix == ".parquet" and any(Path(path).rglob("*.parquet")))):
        raise JobError(f"There is no file {path}. Check the path. Nothing was read or spent.")
    if not table and not suffix:
        raise JobError(f"{name} has none of the suffixes {' '.join(OPENERS)}. Nothing was read or spent.")
    kinds, read = _duckdb(path, table) if table else OPENERS[suffix](name)
    return kinds, partial(_steady, path, read)


def _steady(path: str, read: Read, names: list[str], rows: int) -> Iterator[pl.DataFrame]:
    """What is read of files, if nobody wrote to them meanwhile: else a row may come twice, from before and after."""
    before = _written(path)
    yield from read(names, rows)
    if _written(path) != before:
        raise ValueError("written to while it was read")


def _written(path: str) -> list[tuple[int, ...]]:
    """Which files these are, how long, and when they were written to last; of a folder all that is in it."""
    stats = [p.stat() for p in (Path(path), *sorted(Path(path).rglob("*"))) if p.exists()]
    return [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in stats]


def _frame(table: Any) -> Opened:
    import narwhals as nw

    table = nw.to_native(table, pass_through=True)  # of narwhals' own frames, what they wrap
    if isinstance(table, pl.LazyFrame):
        return table.collect_schema(), lambda names, n: table.select(cs.by_name(*names)).collect_batches(chunk_size=n)
    names = [*getattr(table, "columns", ())] if hasattr(table, "dtypes") else []
    if bad := [n for n in names if not isinstance(n, str) or names.count(n) > 1]:
        raise TableMismatch(
            f"The columns of a frame need names, each a text of its own; {bad[0]!r} is no text, or stands twice.\n"
            "Rename it, as frame.columns = ['sex', 'age'] does. No row was read, and nothing was spent."
        )
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        said = f"A table is the path of a file or a frame (pandas, Polars, PyArrow), not {type(table)}."
        raise JobError(f"{said} Give one of these. Nothing was read or spent.") from None
    if not frame.implementation.is_pandas_like():
        return _frame(frame.to_polars().lazy())

    if loose := [n for n, kind in table.dtypes.items() if is_loose(kind)]:
        by_itself = "as frame.convert_dtypes() does, or " * any(str(table.dtypes[n]) == "object" for n in loose)
        raise TableMismatch(
            f"pandas keeps {', '.join(loose)} without one type, so that one row decides how all are read. Give each\n"
            f"a type, {by_itself}as frame.astype({{{loose[0]!r}: 'string'}}); or write a file. No row was read."
        )

    def read(names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        mixed = [n for n in names if str(frame.schema[n]) in ("Object", "Categorical", "Unknown")]
        yield frame.select(names).with_columns(nw.col(n).cast(nw.String) for n in mixed).to_polars()

    return {n: table.dtypes[n] if str(k) in ("Unknown", "Categorical") else k for n, k in frame.schema.items()}, read


def is_loose(kind: Any) -> bool:
    """Whether one row decides how all of a pandas column are read: objects, and categories that are not text."""
    return str(kind) == "object" or (str(kind) == "category" and str(kind.categories.dtype) not in ("str", "string"))


def _duckdb(path: str, table: str) -> Opened:
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
    return dict.fromkeys(names * (len({*names}) == len(names)), pl.String), lambda some, n: read_rows(name, some)


def _scan(scan: Callable[..., pl.LazyFrame], name: str) -> Opened:
    lazy = scan(name, glob=False)
    return lazy.collect_schema(), partial(_slices, lazy)


def _slices(lazy: pl.LazyFrame, names: list[str], rows: int) -> Iterator[pl.DataFrame]:
    """Some columns of a file, a few batches at a time: Polars reads far ahead of whoever takes them."""
    table, height = lazy.select(cs.by_name(*names)), lazy.select(pl.len()).collect().item()
    for at in range(0, height, 4 * rows):
        for batch in table.slice(at, 4 * rows).collect_batches(chunk_size=rows):
            height -= len(batch)
            yield batch
    if height:  # a panic in a thread of Polars ends the batches without a word: one value, and others' rows are lost
        raise ValueError("not as many rows as the header says")


def _parquet(name: str) -> Opened:
    """A Parquet file by row groups, as Polars reads; where one is large, by pages, as PyArrow can if it is there."""
    kinds, by_groups = _scan(partial(pl.scan_parquet, hive_schema=_named_by_folders(name)), name)

    def read(names: list[str], rows: int) -> Iterable[pl.DataFrame]:
        if not find_spec("pyarrow") or Path(name).is_dir() or not {kinds[n] for n in names} <= _ALIKE:
            return by_groups(names, rows)
        from pyarrow import parquet

        about = parquet.read_metadata(name)
        groups = [about.row_group(g) for g in range(about.num_row_groups)]
        if all(g.num_rows <= _GROUP for g in groups) or about.num_columns > len(kinds):
            return by_groups(names, rows)
        bytes_of = {n: sum(g.column(i).total_uncompressed_size for g in groups) for i, n in enumerate(kinds)}
        texts = [n for n in names if kinds[n] == pl.String and bytes_of[n] <= 2 * about.num_rows]  # they repeat
        file = parquet.ParquetFile(name, read_dictionary=texts, buffer_size=1 << 20)
        return map(_by_reference, file.iter_batches(min(rows, 1 << 16), columns=names))

    return kinds, read


def _named_by_folders(name: str) -> dict[str, Any] | None:
    """The columns that folders like ``state=01`` name, as text: else one row's ``state=XX`` makes 01 of others' 1."""
    folders = (p for p in Path(name).rglob("*=*") if p.is_dir())  # below a file there are none
    return {p.name.partition("=")[0]: pl.String for p in folders} or None


def _by_reference(page: Any) -> pl.DataFrame:
    """What PyArrow read, as Polars reads it: a text in a dictionary is referred to."""
    page.validate(full=True)  # a text that is not UTF-8 would break Polars
    held = [(n, line, getattr(line, "dictionary", None)) for n, line in zip(page.schema.names, page, strict=True)]
    return pl.DataFrame({n: x if t is None else pl.Series(t).gather(pl.Series(x.indices)) for n, x, t in held})


def _statistical(kind: str, name: str) -> Opened:
    import pyreadstat

    reader = partial(getattr(pyreadstat, f"read_{kind}"), name, output_format="polars")

    def read(names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        at = 0
        while (page := reader(usecols=names, row_offset=at, row_limit=rows)[0]).height:
            yield page.with_columns((cs.numeric() | cs.by_dtype(pl.Null)).cast(pl.Float64))  # on every page
            at += rows

    return reader(metadataonly=True)[0].schema, read


def _excel(name: str) -> Opened:
    """The first sheet of a workbook, every value as text, so that no row decides how another is read.

    Blank rows are no records, as the last cell decides how many there are; cells below no title are no values.
    """
    try:
        import fastexcel
    except ImportError:
        raise MissingExtra(needed_for="An Excel file", extra="excel") from None

    def sheet(**some: Any) -> tuple[pl.DataFrame, dict[str, str]]:
        cells = pl.DataFrame(fastexcel.read_excel(name).load_sheet(0, header_row=None, dtypes="string", **some))
        return cells, {place: title for place, title in zip(cells.columns, cells.row(0), strict=True) if title}

    def read(names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        cells, titles = sheet()
        table = cells[1:].select(pl.col(place).alias(title) for place, title in titles.items())
        held = table.filter(~pl.all_horizontal(pl.all().fill_null("") == ""))  # whichever columns are asked for
        yield held.select(pl.col(names).str.replace(r"^(\d{4}-\d\d-\d\d) 00:00:00$", "$1"))  # a day, as CSV has it

    titles = [*sheet(n_rows=1)[1].values()]
    return dict.fromkeys(titles, pl.String) if len(set(titles)) == len(titles) else {}, read


STATISTICAL = {f".{kind}": kind for kind in ("dta", "sav", "por", "sas7bdat")} | {".zsav": "sav", ".xpt": "xport"}
"""Suffixes of statistical programs, and what pyreadstat calls their format."""
OPENERS: Mapping[str, Callable[[str], Opened]] = {  # how to open a file with this suffix
    **dict.fromkeys((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), _csv),
    ".xlsx": _excel,
    ".parquet": _parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), partial(_scan, pl.scan_ipc)),
    **{suffix: partial(_statistical, kind) for suffix, kind in STATISTICAL.items()},
}


def read_header(name: str) -> tuple[list[str], str]:
    """The column names, and the separator: whichever of comma, semicolon, tab and bar the header uses most."""
    with _opened(name) as file:
        first = file.readline(_LONGEST).decode("utf-8-sig", "replace").rstrip("\r\n")
    separator = max(",;\t|", key=first.count)
    return next(csv.reader([first], delimiter=separator), []), separator


def read_rows(name: str, columns: list[str], block: int = _BLOCK) -> Iterator[pl.DataFrame]:
    """The values of some columns, block by block."""
    header, separator = read_header(name)
    places = {c: header.index(c) for c in columns}
    with _opened(name) as file:
        file.readline()
        for lines in filter(None, _blocks(file, block)):
            yield _rows(lines, separator, len(header), places)


def _opened(name: str) -> gzip.GzipFile | BufferedReader:
    return gzip.open(name, "rb") if name.lower().endswith(".gz") else open(name, "rb")


def _blocks(file: gzip.GzipFile | BufferedReader, size: int) -> Iterator[bytes]:
    """Whole lines, some ``size`` bytes at a time."""
    rest = b""
    while piece := file.read(size):
        rest += piece
        cut = rest.rfind(b"\n") + 1
        yield rest[:cut]
        rest = rest[cut:]
    yield rest


def _rows(block: bytes, separator: str, width: int, places: dict[str, int]) -> pl.DataFrame:
    """One row per line. Lines are sorted by how they must be read, each by itself, and put back in order."""
    ended = block.removesuffix(b"\n") + b"\n"  # the last is a line, too
    text = ended.replace(b"\r", b"").decode("utf-8", "replace")
    if '"' not in text:
        return _parsed(text, separator, width, places, None)
    lines = pl.DataFrame({"text": text.removesuffix("\n").split("\n")}).with_row_index("line")
    value = rf'(?:"(?:[^"]|"")*"|[^"{separator}]*)'
    lines = lines.with_columns(regular=pl.col("text").str.contains(rf"^{value}(?:[{separator}]{value})*$"))
    if (lines["text"].str.count_matches('"') % 2 == 1).any():
        raise ValueError("a quote is not matched within its line")
    regular, odd = lines.filter("regular"), lines.filter(~pl.col("regular"))
    whole = "\n".join(regular["text"]) + "\n" * bool(regular.height)
    read = [_parsed(whole, separator, width, places, '"'), _one_by_one(odd["text"], separator, places)]
    return pl.concat(read)[np.argsort(pl.concat([regular["line"], odd["line"]]).to_numpy())]


def _parsed(lines: str, separator: str, width: int, places: dict[str, int], quote: str | None) -> pl.DataFrame:
    header = separator.join(f"_{i}" for i in range(width))  # tells polars how many values to expect
    text = f"{header}\n{lines}".encode()
    lazy = pl.scan_csv(text, separator=separator, quote_char=quote, infer_schema=False, truncate_ragged_lines=True)
    return lazy.select(pl.col(f"_{i}").alias(c) for c, i in places.items()).collect(engine="streaming")


def _one_by_one(texts: pl.Series, separator: str, places: dict[str, int]) -> pl.DataFrame:
    rows = [next(csv.reader([t[:_LONGEST]], delimiter=separator), []) for t in texts]
    values = {c: [r[i] if i < len(r) else None for r in rows] for c, i in places.items()}
    return pl.DataFrame(values, schema=dict.fromkeys(places, pl.String))
