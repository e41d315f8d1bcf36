"""The table files of a bundle: synthetic records in every format asked for, or synthetic counts.

Counts stand in ``counts.csv`` (a column per label column, and ``count``), with their intervals in
``counts.parquet``, with one column per label of the last column in ``counts-wide``, and summed in ``margins``;
further copies in ``counts-2``, ``counts-3``, ...
"""

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path

import polars as pl

from hedgerow.public.write import write_table
from hedgerow.release.contents import Contents, label_columns

COUNTS = re.compile(r"(counts(-wide|-[1-9][0-9]*)?|margins)\.(csv|parquet)")
"""Every file that a table of counts may have."""
_WIDEST = 1000


def write_tables(folder: Path, contents: Contents) -> tuple[str, ...]:
    """Write records and counts into ``folder``; gives the names of the files."""
    frames = {
        f"{stem}.{suffix}": frame
        for stem, frame in zip(contents.record_names, contents.records, strict=True)
        for suffix in ("parquet", *contents.formats)
    }
    frames |= count_tables(contents.counts, contents.margins, contents.copies)
    for name, frame in frames.items():
        write_table(frame, folder / name, contents.schema)
    return tuple(frames)


def count_tables(
    counts: pl.DataFrame | None, margins: pl.DataFrame | None, copies: Sequence[pl.DataFrame] = ()
) -> dict[str, pl.DataFrame]:
    """The files of a table of counts, by name."""
    if counts is None:
        return {}
    made: dict[str, pl.DataFrame] = {}
    for stem, frame in (("counts", counts), *((f"counts-{i}", c) for i, c in enumerate(copies, 2))):
        made |= {f"{stem}.csv": frame.select(*label_columns(frame), "count"), f"{stem}.parquet": frame}
    if (wide := wide_form(counts)) is not None:
        made |= {"counts-wide.csv": wide, "counts-wide.parquet": wide}
    if margins is not None:
        made |= {"margins.csv": margins, "margins.parquet": margins}
    return made


def wide_form(counts: pl.DataFrame) -> pl.DataFrame | None:
    """One column per label of the last label column, and their sum; None if that would be too wide to read."""
    *rows, last = label_columns(counts)
    labels = counts[last].unique(maintain_order=True).cast(pl.String).to_list()
    whole = prod(counts[c].n_unique() for c in (*rows, last)) == len(counts)  # every combination, once
    if not whole or len(labels) > _WIDEST or set(labels) & set(rows):
        return None
    block = counts["count"].to_numpy().reshape(-1, len(labels))
    total = "total"
    while total in (*rows, *labels):
        total += "_"
    made = [counts[r].gather_every(len(labels)) for r in rows]
    made += [pl.Series(label, block[:, i]) for i, label in enumerate(labels)]
    return pl.DataFrame([*made, pl.Series(total, block.sum(axis=1))])
