"""Tables of counts: a line stands for as many records as one of its columns says.

The gate counts such lines as they are (``private/local.py``).  Tables that anyone may see, and the confidential one
for the steward's exact look, are written out record by record here, so that all that reads them reads records.

    >>> from hedgerow.public import open_source
    >>> table = pl.DataFrame({"sex": ["F", "M"], "n": [2, 1]})
    >>> next(expanded(open_source(table), "n").batches(["sex"]))["sex"].to_list()
    ['F', 'F', 'M']
    >>> looks_aggregated(open_source(table)), looks_aggregated(open_source(table.with_columns(n=pl.lit(1))))
    ('n', '')
"""

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from hedgerow.errors import NOTHING, TableMismatch
from hedgerow.public.coding import as_text, records
from hedgerow.public.files import Source
from hedgerow.public.toml import value

MOST = 50_000_000
"""Records that are written out."""
_NAMES = re.compile(
    r"(n|num|number)?[_ .]?(of)?[_ .]?(n|counts?|cnt|freq|frequency|num|number|totals?|records?|rows|people|persons"
    r"|population|pop|head_?count|employees|employment|households|cases|obs|observations|births|deaths|arrests|murders"
    r"|accidents|incidents|passengers|students|pupils|enrol?lments?|admissions|victims|survivors)([_ .]count)?",
    re.IGNORECASE,
)
"""What a column of counts is called."""
_MOST_CELL_COLUMNS = 12


def expanded(source: Source, count: str) -> Source:
    """The table with each line written out as often as ``count`` says, by the gate's rule, without that column."""
    if not count:
        return source
    if count not in source.columns:
        raise TableMismatch(
            f"{source.name} has no column {count}, which is to say how many records a line stands for.\n"
            "Correct count = '...' or leave it out. Only the header was read, and nothing was spent."
        )

    def read(names: list[str], rows: int) -> Iterator[pl.DataFrame]:
        for batch in source.batches([*names, count], rows):
            ends = np.cumsum(records(batch[count]))
            total = int(ends.max(initial=0))
            for start in range(0, total, rows):
                yield batch[np.searchsorted(ends, np.arange(start, min(start + rows, total)), side="right")]

    if sum(int(records(b[count]).sum()) for b in source.batches([count])) > MOST:
        raise TableMismatch(
            f"{source.name} stands for more than {MOST:,} records by its column {count}, too many to write out.\n"
            "Check that this is the column of counts, or give a smaller table. Nothing was spent."
        )
    return Source(source.name, tuple(c for c in source.columns if c != count), read)


def expanded_public(source: Source, count: str) -> Source:
    """The same of a table that anyone may see: a line whose count is none is shown and refused."""
    line = 0
    for batch in source.batches([count]) if count in source.columns else ():
        text = as_text(batch[count])
        number = text.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        bad = np.flatnonzero(~((number >= 0) & (number <= 10**9) & (number == np.floor(number))))
        if len(bad):
            raise TableMismatch(
                f"Row {line + int(bad[0]) + 1:,} of {source.name} has {batch[count][int(bad[0])]!r} in {count}: "
                "there must be a whole number from 0 to 1,000,000,000,\n"
                f"without commas or units, for how many records the line stands. Correct it. {NOTHING}"
            )
        line += len(batch)
    return expanded(source, count)


def looks_aggregated(source: Source) -> str:
    """The column that seems to count records; empty when there is none. For public tables: it reads their rows.

    Its name says so, it holds whole numbers of which some are above 1, and no two lines agree in the other columns
    that hold no fractions, a dozen at most: of records with many columns or with measured ones no two agree either.
    """
    named = [c for c in source.columns if _NAMES.fullmatch(c.strip())]
    if not named or len(source.columns) < 2:
        return ""
    table = pl.concat(source.batches(source.columns), how="vertical_relaxed")
    for name in named:
        number = as_text(table[name]).cast(pl.Float64, strict=False)
        whole = bool((number.fill_null(-1) >= 0).all()) and bool((number == number.floor()).all())
        if not (whole and table.height > 1 and (number > 1).any()):
            continue
        cells = [c for c in table.columns if c != name and not _has_fractions(table[c])]
        if 0 < len(cells) <= _MOST_CELL_COLUMNS and table.select(cells).is_unique().all():
            return name
    return ""


def _has_fractions(series: pl.Series) -> bool:
    number = as_text(series).cast(pl.Float64, strict=False)
    return bool((number != number.floor()).any())


def ask_for_counts(public: Source, count: str, confidential: str) -> list[str]:
    """What to ask of a job whose public table is one of counts, or looks like one, and that does not say all of it.

    ``count`` and ``confidential`` are what it says of its public and of its confidential table.
    """
    column, found = count or looks_aggregated(public), list[str]()
    line = f"count = {value(column)}"
    if column and not count:
        found += [
            f"is the public table one of counts? No two of its lines are alike but for {column}. If each stands for",
            f"{column} records, write {line} below [public], and take {column} out of the schema if it is there;",
            "now each line is taken for one record",
        ]
    if column and not confidential:
        found += [
            f"is the confidential table one of counts as well? Then write {line} below [confidential] too;",
            "now each of its lines is counted as one record, and one line is what is protected",
        ]
    return found
