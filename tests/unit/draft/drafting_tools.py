"""What the tests of drafts share: a draft of a frame, and the schema it reads back to."""

from pathlib import Path
from typing import Any

import polars as pl

from hedgerow.public.schema import Schema
from hedgerow.public.schema.drafting.draft import draft
from hedgerow.public.schema.drafting.sketch import Draft, Sketch
from hedgerow.public.schema.file import write
from hedgerow.public.schema.fit import ColumnFit
from hedgerow.public.schema.structure import Reason

DATA = Path(__file__).parents[4] / "shared" / "data"


def drafted(frame: pl.DataFrame, folder: Path, name: str = "public.csv") -> Draft:
    """The draft of a frame written to a file."""
    path = folder / name
    frame.write_csv(path) if name.endswith("csv") else frame.write_parquet(path)
    return draft(str(path))


def column(frame: pl.DataFrame, folder: Path, name: str) -> Sketch:
    """The sketch of one column of a frame."""
    found = {c.name: c for c in drafted(frame, folder).columns}[name]
    assert isinstance(found, Sketch), found
    return found


def left_out(frame: pl.DataFrame, folder: Path, name: str) -> Reason:
    """The reason why one column of a frame is left out."""
    found = {c.name: c for c in drafted(frame, folder).columns}[name]
    assert isinstance(found, Reason), found
    return found


def written(drawn: Draft) -> str:
    """The schema file of a draft."""
    return write(drawn.declaration, drawn.reasons)


def fits(drawn: Draft, table: Any) -> tuple[Schema, dict[str, ColumnFit]]:
    """The drafted schema, resolved on a table, and how the table fits it."""
    found = Schema.loads(written(drawn)).check(table)
    assert isinstance(found.schema, Schema)
    return found.schema, {f.name: f for f in found.columns}
