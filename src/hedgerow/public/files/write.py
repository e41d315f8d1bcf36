"""A table written to a file, in the format that its suffix names, whole or not at all.

Statistical formats carry the schema's words with the values; see ``labelled``.  Equal tables give equal
files, byte for byte, so that a release can be made again and compared.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from hedgerow.errors import JobError
from hedgerow.public.files import labelled
from hedgerow.public.schema import Schema

Write = Callable[[pl.DataFrame, Path, Schema | None], None]


def write_table(frame: pl.DataFrame, path: str | Path, schema: Schema | None = None) -> None:
    """Writes ``frame`` to ``path``, with labels from ``schema`` where the format has room for them.

    Raises:
        JobError: the suffix is unknown, or the disk refuses. What stood at ``path`` before is untouched.
    """
    path = Path(path)
    if (suffix := path.suffix.lower()) not in WRITERS:
        raise JobError(f"Cannot write {path}: choose one of the suffixes {' '.join(WRITERS)}.")
    try:
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as folder:
            part = Path(folder) / path.name
            WRITERS[suffix](frame, part, schema)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(path)
    except (OSError, pl.exceptions.PolarsError) as wrong:
        why = getattr(wrong, "strerror", None) or wrong
        raise JobError(f"Cannot write {path}: {why}. Make room or choose another place, and try again.") from None


def _csv(frame: pl.DataFrame, path: Path, schema: Schema | None) -> None:
    columns = schema.columns if schema is not None else ()
    formats = {c.name: c.format for c in columns if c.kind == "date"}
    dates = [n for n, kind in frame.schema.items() if kind == pl.Date and n in formats]
    written = frame.with_columns(pl.col(n).dt.strftime(formats[n]) for n in dates)
    written.write_csv(path, separator="\t" if path.suffix.lower() == ".tsv" else ",")


def _parquet(frame: pl.DataFrame, path: Path, schema: Schema | None) -> None:
    frame.write_parquet(path, compression="zstd", compression_level=3, row_group_size=1 << 18)


def _arrow(frame: pl.DataFrame, path: Path, schema: Schema | None) -> None:
    frame.write_ipc(path, compression="zstd")


WRITERS: Mapping[str, Write] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    **dict.fromkeys((".arrow", ".feather"), _arrow),
    ".dta": labelled.write_stata,
    ".sav": labelled.write_spss,
    ".xpt": labelled.write_sas,
}
"""How to write a file with this suffix."""
