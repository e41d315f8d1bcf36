"""CSV as text, with no line refused: whatever the bytes are, the same rows come out and no error.

Every value is text.  Short lines end in missing values, long ones are cut, bytes that are not UTF-8 become
replacement marks.  A line end between quotes belongs to the value; where quotes do not match, each line is
a row again.  The rows come in blocks of some 8 MB, so files of any size and compressed ones can be read.
"""

import csv
import gzip
from collections.abc import Iterator
from io import BufferedReader

import polars as pl

_BLOCK = 1 << 23
_LONGEST = 100_000


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
            try:
                yield _well_formed(lines, separator, len(header), places)
            except pl.exceptions.PolarsError:
                yield _line_by_line(lines, separator, places)


def _opened(name: str) -> gzip.GzipFile | BufferedReader:
    return gzip.open(name, "rb") if name.lower().endswith(".gz") else open(name, "rb")


def _blocks(file: gzip.GzipFile | BufferedReader, size: int) -> Iterator[bytes]:
    """Whole rows: cut after a line end with an even number of quotes before it, if one is near."""
    rest = b""
    while piece := file.read(size):
        rest += piece
        cut, tries = rest.rfind(b"\n") + 1, 100
        while rest.count(b'"', 0, cut) % 2 and (tries := tries - 1):
            cut = rest.rfind(b"\n", 0, cut - 1) + 1
        yield rest[:cut]
        rest = rest[cut:]
    yield rest


def _well_formed(lines: bytes, separator: str, width: int, places: dict[str, int]) -> pl.DataFrame:
    header = separator.join(f"_{i}" for i in range(width)).encode()  # tells polars how many values to expect
    lazy = pl.scan_csv(
        header + b"\n" + lines,
        separator=separator,
        quote_char='"' if b'"' in lines else None,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )
    return lazy.select(pl.col(f"_{i}").alias(c) for c, i in places.items()).collect(engine="streaming")


def _line_by_line(lines: bytes, separator: str, places: dict[str, int]) -> pl.DataFrame:
    texts = lines.decode("utf-8", "replace").replace("\r", "").removesuffix("\n").split("\n")
    rows = [next(csv.reader([t[:_LONGEST]], delimiter=separator), []) for t in texts]
    values = {c: [r[i] if i < len(r) else None for r in rows] for c, i in places.items()}
    return pl.DataFrame(values, schema=dict.fromkeys(places, pl.String))
