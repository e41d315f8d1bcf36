"""The confidential table as the steward sees it: all rows, in memory, coded by the schema of the release."""

from typing import Any

import polars as pl

from hedgerow.errors import TableMismatch
from hedgerow.public.files.sources import open_source
from hedgerow.public.fit import typed_as
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.steward.inside import InsideOnly


def exact_table(table: Any, schema: Schema) -> InsideOnly[CodedTable]:
    """The confidential ``table``, a path or a frame. Costs no budget, because nothing of it may leave.

    All rows of the file are in it, also those beyond ``rows_per_person`` that the gate did not count: the steward
    wants to know how close the release is to the table, not to the part of it that was paid for.
    """
    source = open_source(table)
    described = {c.name: c for c in schema.columns if c.name in source.columns}
    if not described:
        raise TableMismatch("The confidential table has none of the schema's columns. Only its header was read.")
    batches = list(source.batches(list(source.columns)))
    if not batches:
        raise TableMismatch("The confidential table has no rows to compare with. Nothing was spent.")
    frame = pl.concat(batches, how="vertical_relaxed")
    typed = frame.with_columns(typed_as(column, frame[name]) for name, column in described.items())
    return InsideOnly(CodedTable(schema, typed, "confidential"))
