"""A table written to a file, in the format that its suffix names, whole or not at all.

Parquet and CSV files are written piece by piece as rows come; the other formats take a table whole.  Equal tables
give equal files, byte for byte and in whatever pieces they come, so that a release can be made again and compared.
Stata, SPSS and SAS files carry the descriptions and labels that the schema gives: whole numbers are stored as such
and yes-no as 0 and 1.  Values that are whole numbers written as text become numbers, because Stata has labels for
numbers only; labels of other text stand in its description instead.  SAS files have descriptions only.  Names that a
program does not take are changed as little as possible.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, final

import polars as pl
from polars.io.plugins import register_io_source

from hedgerow.errors import JobError, MissingExtra
from hedgerow.public.pieces import PIECE, Table, pieces
from hedgerow.public.schema import LISTED, Column, Schema
from hedgerow.public.schema.column import written_days

Pieces = Iterator[pl.DataFrame]
Write = Callable[[Pieces, Path, Schema | None], None]


def write_table(table: Table, path: str | Path, schema: Schema | None = None) -> None:
    """Writes a table to ``path``, with labels from ``schema`` where the format has room for them."""
    write_pieces(pieces(table), path, schema)


def write_pieces(rows: Pieces, path: str | Path, schema: Schema | None = None) -> None:
    """Writes the table that ``rows`` are the pieces of, at least one, to ``path``.

    Raises:
        JobError: the suffix is unknown, or the disk refuses. What stood at ``path`` before is untouched.
    """
    path = Path(path)
    if (suffix := path.suffix.lower()) not in WRITERS:
        raise JobError(f"Cannot write {path}: choose one of the suffixes {' '.join(WRITERS)}.")
    try:
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as folder:
            part = Path(folder) / path.name
            WRITERS[suffix](rows, part, schema)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(path)
    except (OSError, pl.exceptions.PolarsError) as wrong:
        why = getattr(wrong, "strerror", None) or wrong
        raise JobError(f"Cannot write {path}: {why}. Make room or choose another place, and try again.") from None


_FORMULA = r"^[=+\-@\t\r]"
_LINE_ENDS = r"[\r\n]+"
_NUMBER = r"^[+-]?[0-9]+([.,][0-9]+)*$"


def formulas(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns with a text that a spreadsheet would take for a formula, in a cell or as their name.

    >>> formulas(pl.DataFrame({"pay": ["-9", "5"], "code": ["=1+2", "a"], "@x": ["", None]}))
    ('code', '@x')
    """
    return tuple(s.name for s in _texts(frame) if _begins_a_formula(s.extend_constant(s.name, 1)).any())


def line_ends(frame: pl.DataFrame) -> tuple[str, ...]:
    """The columns with an end of line in a cell or in their name.

    >>> line_ends(pl.DataFrame({"a": ["two\\nlines"], "b": ["one"]}))
    ('a',)
    """
    return tuple(s.name for s in _texts(frame) if s.extend_constant(s.name, 1).str.contains(_LINE_ENDS).any())


def for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as a spreadsheet may open it: before what would be a formula stands an apostrophe; no cell has lines.

    >>> for_spreadsheets(pl.DataFrame({"=n": ["=1+2", "two\\nlines", "-9", None]})).to_dict(as_series=False)
    {"'=n": ["'=1+2", 'two lines', '-9', None]}
    """
    cells = frame.with_columns(_as_text_cell(s) for s in _texts(frame) if s.len())
    names = _as_text_cell(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return cells.rename(dict(zip(frame.columns, names, strict=True)))


def _texts(frame: pl.DataFrame) -> list[pl.Series]:
    """The columns of text; of others the name alone, as a column without cells."""
    kinds = (pl.String, pl.Categorical, pl.Enum)
    return [s.cast(pl.String) if s.dtype in kinds else s.clear().cast(pl.String) for s in frame.iter_columns()]


def _begins_a_formula(cells: pl.Series) -> pl.Series:
    return cells.str.contains(_FORMULA).fill_null(False) & ~cells.str.contains(_NUMBER).fill_null(False)


def _as_text_cell(cells: pl.Series) -> pl.Series:
    marked = pl.select(pl.when(_begins_a_formula(cells)).then("'" + cells).otherwise(cells)).to_series()
    return marked.str.replace_all(_LINE_ENDS, " ").alias(cells.name)


def _csv(rows: Pieces, path: Path, schema: Schema | None) -> None:
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("wb") as file:
        for i, frame in enumerate(rows):
            _dated(frame, schema).write_csv(file, separator=separator, include_header=i == 0)


def _dated(frame: pl.DataFrame, schema: Schema | None) -> pl.DataFrame:
    """The table with dates written as the schema says."""
    formats = {c.name: c.format for c in schema.columns if c.kind == "date"} if schema is not None else {}
    dates = [n for n, kind in frame.schema.items() if kind == pl.Date and n in formats]
    return frame.with_columns(written_days(frame[n], formats[n]) for n in dates)


def _parquet(rows: Pieces, path: Path, schema: Schema | None) -> None:
    """Row group by row group, as pieces come: they need not be of the size of a row group."""
    first, failed = next(rows), list[BaseException]()

    def source(*_: Any) -> Pieces:
        try:
            yield from chain([first], rows)
        except BaseException as wrong:  # the writer would tell it in words of its own
            failed.append(wrong)
            raise

    made = register_io_source(source, schema=first.schema)
    try:
        made.sink_parquet(path, compression="zstd", compression_level=3, row_group_size=PIECE)
    except pl.exceptions.PolarsError:
        if failed:
            raise failed[0] from None
        raise


def _arrow(rows: Pieces, path: Path, schema: Schema | None) -> None:
    pl.concat(rows).write_ipc(path, compression="zstd")


_SHEET = 1_048_575
"""The most rows of a sheet besides its header."""


def _write_excel(rows: Pieces, path: Path, schema: Schema | None) -> None:
    """Sheets of records, as many as they need, and one of descriptions and labels; no text is a formula or a link."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra(needed_for="An Excel file", extra="excel") from None
    options = {"constant_memory": True, "tmpdir": str(path.parent), "default_date_format": "yyyy-mm-dd"}
    options |= dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
    try:
        with xlsxwriter.Workbook(str(path), options) as book:
            _fill(book, rows, schema)
    except xlsxwriter.exceptions.XlsxWriterException as wrong:
        raise OSError(str(wrong)) from None


def _fill(book: Any, rows: Pieces, schema: Schema | None) -> None:
    book.set_properties({"created": datetime(1970, 1, 1)})  # equal tables give equal files
    sheet, place = None, 1
    for frame in rows:
        for row in _dated(frame, schema).fill_nan(None).iter_rows():
            if sheet is None or place > _SHEET:
                sheet, place = _sheet(book, frame.columns), 1
            sheet.write_row(place, 0, row)
            place += 1
        sheet = sheet or _sheet(book, frame.columns)
    about = book.add_worksheet("columns")
    for i, line in enumerate([("column", "description", "value", "label"), *_described(schema)]):
        about.write_row(i, 0, line)


def _sheet(book: Any, names: Iterable[str]) -> Any:
    known = len(book.worksheets())
    sheet = book.add_worksheet("records" if not known else f"records {known + 1}")
    sheet.write_row(0, 0, names)
    return sheet


def _described(schema: Schema | None) -> Iterator[tuple[str, ...]]:
    """What the schema says of columns and values, a line for each."""
    for column in schema.columns if schema is not None else ():
        yield column.name, column.description, "", ""
        for value, label in _labels(column).items():
            yield column.name, "", value, label


_RESERVED = re.compile(
    r"byte|int|long|float|double|strl|str\d+|if|in|using|with|all|and|by|eq|ge|gt|le|lt|ne|not|or|to", re.IGNORECASE
)
_LARGEST = 2_147_483_620
"""The largest whole number that is not a missing value in Stata."""


@final
@dataclass(frozen=True)
class Labelled:
    """A table as statistical programs want it.

    Attributes:
        frame: columns of text, numbers and dates under names that are allowed.
        title: of the table.
        descriptions: of the columns.
        labels: of the values of some columns.
        ordered: the columns whose values have an order.
    """

    frame: pl.DataFrame
    title: str
    descriptions: dict[str, str]
    labels: dict[str, dict[int | str, str]]
    ordered: frozenset[str]

    @classmethod
    def of(cls, frame: pl.DataFrame, schema: Schema | None) -> "Labelled":
        """The table with the words that the schema has for it."""
        columns = {c.name: c for c in schema.columns} if schema is not None else {}
        names = dict(zip(frame.columns, legal_names(frame.columns), strict=True))
        labels = {n: _labels(columns[n]) for n in frame.columns if n in columns}
        series = [_plain(frame[n], labels.get(n, {})) for n in frame.columns]
        words = {n: columns[n].description if n in columns else "" for n in frame.columns}
        return cls(
            frame=pl.DataFrame(series).rename(names),
            title=schema.title if schema is not None else "",
            descriptions={new: words[n] or (n if n != new else "") for n, new in names.items()},
            labels={
                names[s.name]: {int(v) if s.dtype.is_integer() else v: text for v, text in labels[s.name].items()}
                for s in series
                if labels.get(s.name)
            },
            ordered=frozenset(names[n] for n in frame.columns if n in columns and columns[n].kind == "ordered"),
        )


def _write_stata(rows: Pieces, path: Path, schema: Schema | None) -> None:
    table = Labelled.of(pl.concat(rows), schema)
    texts = {n: label for n, label in table.labels.items() if not table.frame[n].dtype.is_integer()}
    keys = {n: "; ".join(f"{v} = {text}" for v, text in label.items()) for n, label in texts.items()}
    longer = {n: f"{words} ({keys[n]})" if words else keys[n] for n, words in table.descriptions.items() if n in keys}
    table = replace(table, descriptions=table.descriptions | longer)
    labels = {n: label for n, label in table.labels.items() if n not in texts}
    # Version 14 is what every Stata since 14 opens; pyreadstat's default asks for Stata/MP.
    _write_and_look("dta", table, path, 80, 80, version=14, variable_value_labels=labels)
    head = path.read_bytes()[:4096]
    _forget_time(path, [head.index(b"<timestamp>") + len("<timestamp>") + 1], b"01 Jan 1970 00:00")


def _write_spss(rows: Pieces, path: Path, schema: Schema | None) -> None:
    table = Labelled.of(pl.concat(rows), schema)
    _write_and_look(
        "sav",
        table,
        path,
        64,
        255,
        variable_value_labels={n: {v: _cut(t, 120) for v, t in label.items()} for n, label in table.labels.items()},
        variable_measure={n: "ordinal" if n in table.ordered else "nominal" for n in table.labels},
        variable_format={n: "F12.0" for n, kind in table.frame.schema.items() if kind.is_integer()},
    )
    _forget_time(path, [92], b"01 Jan 7000:00:00")


def _write_sas(rows: Pieces, path: Path, schema: Schema | None) -> None:
    _write_and_look("xport", Labelled.of(pl.concat(rows), schema), path, 40, 40)
    _forget_time(path, [144, 160, 464, 480], b"01JAN70:00:00:00")


def _write_and_look(kind: str, table: Labelled, path: Path, title: int, description: int, **words: object) -> None:
    """Writes the file and reads its last row again: on a full disk pyreadstat stops short without a word.

    ``title`` and ``description`` are how many bytes of each the format holds.
    """
    import pyreadstat

    frame, about = table.frame, {n: _cut(w, description) for n, w in table.descriptions.items() if w}
    words |= {"file_label": _cut(table.title, title), "column_labels": about}
    try:
        getattr(pyreadstat, f"write_{kind}")(frame, str(path), **words)
    except Exception as wrong:
        raise OSError(str(wrong)) from None
    last = {"row_offset": max(len(frame) - 1, 0), "row_limit": 1, "output_format": "polars"}
    try:
        whole = len(getattr(pyreadstat, f"read_{kind}")(path, **last)[0]) == min(len(frame), 1)
    except Exception:
        whole = False
    if not whole:
        raise OSError("the disk took only a part of it")


def legal_names(names: Iterable[str]) -> list[str]:
    """Names that all three programs take, no two alike in any case.

    >>> legal_names(["pay", "Pay", "pay (USD)", "2nd job", "long"])
    ['pay', 'Pay_2', 'pay__USD_', 'v2nd_job', 'long_']
    """
    taken: dict[str, str] = {}
    for name in names:
        legal = re.sub(r"[^A-Za-z0-9_]", "_", name)[:28]
        legal = legal if legal[:1].isalpha() else f"v{legal}"
        legal += "_" if _RESERVED.fullmatch(legal) else ""
        more = (f"{legal}_{i}" for i in range(2, len(taken) + 3))
        new = next(n for n in (legal, *more) if n.lower() not in taken)
        taken[new.lower()] = new
    return list(taken.values())


def _labels(column: Column) -> dict[str, str]:
    """The labels that say more than the value does."""
    if column.kind == "yes-no":
        return {} if column.yes or column.no else {"0": "no", "1": "yes"}
    pairs = zip(column.values, column.labels, strict=True) if column.kind in LISTED else column.special
    return {value: label for value, label in pairs if value != label}


def _plain(series: pl.Series, labels: dict[str, str]) -> pl.Series:
    """The column as text, a whole number that Stata can hold, a float or a date."""
    kind = series.dtype
    if kind == pl.Boolean:
        return series.cast(pl.Int32)
    if kind == pl.String and labels:
        number = series.cast(pl.Int64, strict=False)
        if all(re.fullmatch(r"0|-?[1-9]\d{0,8}", v) for v in labels) and (number.cast(pl.String) == series).all():
            return number.cast(pl.Int32)
    if kind.is_integer():
        small = series.is_between(-_LARGEST, _LARGEST).all()
        return series.cast(pl.Int32 if small else pl.Float64)
    if kind.is_float() or kind.is_decimal():
        return series.cast(pl.Float64).fill_nan(None)
    return series if kind.is_temporal() else series.cast(pl.String)


def _cut(text: str, longest: int) -> str:
    """The text, shortened to so many bytes."""
    return text if len(text.encode()) <= longest else text.encode()[: longest - 3].decode("utf-8", "ignore") + "..."


def _forget_time(path: Path, places: list[int], text: bytes) -> None:
    """Writes a fixed time over the time of writing, which is nobody's business and never the same."""
    with path.open("r+b") as file:
        for place in places:
            file.seek(place)
            file.write(text)


WRITERS: Mapping[str, Write] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    **dict.fromkeys((".arrow", ".feather"), _arrow),
    ".dta": _write_stata,
    ".sav": _write_spss,
    ".xpt": _write_sas,
    ".xlsx": _write_excel,
}
"""How to write a file with this suffix."""
