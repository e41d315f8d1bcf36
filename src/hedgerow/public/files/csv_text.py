"""CSV as text, line by line: a line is a row, whatever stands in other lines.

Confidential tables pass through here.  If a quote could reach over a line end, one person's stray quote would
change how other people's lines are read, and no bound on what a person can move would hold.  So quotes count
within their line only, and a line with an odd number of them, as a value with a line end in it begins, stops the
reading: such a table cannot be told from a damaged one, and Parquet holds it better.  Every value is text.
Short lines end in missing values, long ones are cut, bytes that are not UTF-8 become replacement marks.
The rows come in blocks of some 8 MB, so files of any size and compressed ones can be read.
"""

import csv
import gzip
from collections.abc import Iterator
from io import BufferedReader

import numpy as np
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
    text = block.replace(b"\r", b"").decode("utf-8", "replace")
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
    order = np.argsort(pl.concat([regular["line"], odd["line"]]).to_numpy())
    return pl.concat(read)[order]


def _parsed(lines: str, separator: str, width: int, places: dict[str, int], quote: str | None) -> pl.DataFrame:
    header = separator.join(f"_{i}" for i in range(width))  # tells polars how many values to expect
    lazy = pl.scan_csv(
        f"{header}\n{lines}".encode(),
        separator=separator,
        quote_char=quote,
        infer_schema=False,
        truncate_ragged_lines=True,
    )
    return lazy.select(pl.col(f"_{i}").alias(c) for c, i in places.items()).collect(engine="streaming")


def _one_by_one(texts: pl.Series, separator: str, places: dict[str, int]) -> pl.DataFrame:
    rows = [next(csv.reader([t[:_LONGEST]], delimiter=separator), []) for t in texts]
    values = {c: [r[i] if i < len(r) else None for r in rows] for c, i in places.items()}
    return pl.DataFrame(values, schema=dict.fromkeys(places, pl.String))
