"""What a bundle knows of any figure: its answers with their trees, its file, its relative; for estimates."""

import numpy as np

from hedgerow.inference import Evidence
from hedgerow.public import CodedTable, Schema, decode
from hedgerow.release.bundle import BundleReader
from hedgerow.release.redraw import Redrawing


def evidence_of(again: Redrawing) -> Evidence:
    """The evidence of a bundle.

    Where questions have trees, the recipe is fitted again to its answers: a tree is on record by its hash.  That
    takes the public table, and the target, of the run; without them such answers are left aside.
    """
    bundle = again.bundle
    # answers about people, each counted once, or about steps, tell no figure of rows
    answers = () if bundle.statement.facts or bundle.statement.careers else tuple(m for _, m in bundle.answers)
    if any(m.question.tree for m in answers):
        if again.lacks("public") or again.lacks("target"):
            answers = tuple(m for m in answers if m.question.tree is None)
        else:
            _ = again.fitted
            answers = tuple(again.answers.heard)
    records = released_rows(bundle)
    relative = again.data.relative
    whole = relative is not None and set(_columns(bundle.schema, records)) <= set(relative.frame.columns)
    target = any(i.role == "target" for i in bundle.statement.public_inputs)
    given = bundle.statement.guarantee.public_columns if target else ()
    return Evidence(bundle.schema, answers, records, relative if whole else None, tuple(given))


def released_rows(bundle: BundleReader) -> CodedTable:
    """The first copy of the records; of a table of counts, so many rows of each cell."""
    if bundle.counts is None:
        return CodedTable(bundle.schema, bundle.records[0].read())
    return rows_of_counts(CodedTable.of_counts(bundle.schema, bundle.counts))


def rows_of_counts(table: CodedTable) -> CodedTable:
    """So many rows of each cell of a table of counts, a number drawn within its bin."""
    assert table.counts is not None
    schema, names = table.schema, _columns(table.schema, table)
    many = np.maximum(table.counts, 0).astype(np.int64)
    codes = {n: np.repeat(c, many) for n, c in table.codes(names).items()}
    drawn = decode(schema, codes, np.random.Generator(np.random.PCG64(0)), columns=names)
    return CodedTable(schema, drawn)


def _columns(schema: Schema, table: CodedTable) -> tuple[str, ...]:
    return tuple(c.name for c in schema.columns if c.name in table.frame.columns)
