"""What a bundle knows of any figure: its answers with their trees, its file, its relative; for estimates."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from hedgerow.inference import Estimate, EstimateTable, Evidence, estimates
from hedgerow.public import CodedTable, Measurement, PublicData, Schema, Statement, Table, decode, whole
from hedgerow.release.contents import AbstractUse, Contents
from hedgerow.release.redraw import Redrawing

LEVEL = 0.95
"""Of the intervals in a report."""
_MOST_GROUPS, _MOST_CELLS, _MOST_SHOWN, _MOST_ROWS = 60, 20_000, 40, 100_000
"""Figures of a use that are worked out one by one, cells of a table, those that are kept, and public rows used for
a report: ``estimate`` has no such bounds."""


def evidence_of(again: Redrawing) -> Evidence:
    """The evidence of a bundle.

    Where questions have trees, the recipe is fitted again to its answers: a tree is on record by its hash.  That
    takes the public table, and the target, of the run; without them such answers are left aside.
    """
    bundle = again.bundle
    answers = tuple(m for _, m in bundle.answers)
    counts_rows = not (bundle.statement.facts or bundle.statement.careers)
    if counts_rows and any(m.question.tree for m in answers):
        if again.lacks("public") or again.lacks("target"):
            answers = tuple(m for m in answers if m.question.tree is None)
        else:
            _ = again.fitted
            answers = tuple(again.answers.heard)
    records = _rows(bundle.schema, bundle.counts, bundle.records)
    return _evidence(bundle.statement, bundle.schema, answers, records, again.data)


def with_estimates(
    contents: Contents, heard: Sequence[Measurement], data: PublicData, uses: Iterable[AbstractUse]
) -> Contents:
    """The contents of a bundle with every intended use estimated from what its run has ``heard``.

    A figure that cannot be told is kept with the reason.
    """
    wanted = tuple(uses)
    if not wanted:
        return contents
    relative = data.relative
    if relative is not None and relative.rows > _MOST_ROWS:
        some = np.linspace(0, relative.rows - 1, _MOST_ROWS).astype(np.int64)
        data = replace(data, relative=relative.take(some))
    records = _rows(contents.schema, contents.counts, contents.records)
    evidence = _evidence(contents.statement, contents.schema, tuple(heard), records, data)
    return replace(contents, estimates=EstimateTable(e for use in wanted for e in _of_use(evidence, use)))


def _of_use(evidence: Evidence, use: AbstractUse) -> Sequence[Estimate]:
    """The estimates of one use that a report shows; of a wide table its largest cells."""
    figures = evidence.schema.size(use.groups) * max(len(use.repeats), 1)
    if figures > (_MOST_CELLS if use.figures_are_counts else _MOST_GROUPS):
        said = f"{figures:,} figures: too many for the report. hedgerow estimate says them all."
        return (Estimate(use.name, "", None, None, None, LEVEL, {}, said),)
    found = estimates(evidence, use, level=LEVEL)
    if len(found) <= _MOST_GROUPS:
        return found
    largest = sorted(range(len(found)), key=lambda i: -(found[i].estimate or 0.0))[:_MOST_SHOWN]
    return tuple(found[i] for i in sorted(largest))


def _evidence(
    statement: Statement, schema: Schema, answers: tuple[Measurement, ...], records: CodedTable, data: PublicData
) -> Evidence:
    if statement.facts or statement.careers:  # answers about people, each counted once, or about steps tell no row
        answers = ()
    relative = data.relative
    usable = relative is not None and set(_columns(schema, records)) <= set(relative.frame.columns)
    target = any(i.role == "target" for i in statement.public_inputs)
    given = statement.guarantee.public_columns if target else ()
    return Evidence(schema, answers, records, relative if usable else None, tuple(given))


def _rows(schema: Schema, counts: pl.DataFrame | None, records: Sequence[Table]) -> CodedTable:
    """The first copy of the records; of a table of counts, so many rows of each cell."""
    if counts is None:
        return CodedTable(schema, whole(records[0]))
    return rows_of_counts(CodedTable.of_counts(schema, counts))


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
