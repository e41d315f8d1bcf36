"""The confidential table as the steward sees it: all rows, in memory, coded by the schema of the release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import polars as pl

from hedgerow.errors import TableMismatch
from hedgerow.public.coding import Codes
from hedgerow.public.files.sources import open_source
from hedgerow.public.fit import typed_as
from hedgerow.public.schema import Schema
from hedgerow.steward.inside import InsideOnly


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExactTable:
    """Confidential rows with the face of a table that metrics can measure. It never leaves an ``InsideOnly``.

    All rows of the file are here, also those beyond ``rows_per_person`` that the gate did not count: the steward
    wants to know how close the release is to the table, not to the part of it that was paid for.
    """

    schema: Schema
    frame: pl.DataFrame
    name: str = "confidential"
    _codes: dict[str, Codes] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows, which is confidential too."""
        return self.frame.height

    def codes(self, names: Sequence[str]) -> Mapping[str, Codes]:
        """The code of every row in columns of the schema."""
        if new := [n for n in names if n not in self._codes]:
            self._codes.update(self.schema.coding.encode(self.frame, new))
        return {n: self._codes[n] for n in names}

    def __repr__(self) -> str:
        return "ExactTable(hidden)"


def exact_table(path: str | Path, schema: Schema) -> InsideOnly[ExactTable]:
    """The confidential table in ``path``. Costs no budget, because nothing of it may leave."""
    source = open_source(path)
    described = {c.name: c for c in schema.columns if c.name in source.columns}
    if not described:
        raise TableMismatch("The confidential table has none of the schema's columns. Only its header was read.")
    batches = list(source.batches(list(source.columns)))
    if not batches:
        raise TableMismatch("The confidential table has no rows to compare with. Nothing was spent.")
    frame = pl.concat(batches, how="vertical_relaxed")
    typed = frame.with_columns(typed_as(column, frame[name]) for name, column in described.items())
    return InsideOnly(ExactTable(schema, typed))
