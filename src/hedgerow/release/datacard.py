"""What the data card says beside what all pages share: the files, how it was made, limits, cells in CSV files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hedgerow.figures import many
from hedgerow.public import Column, formulas, line_ends
from hedgerow.release.contents import Contents, count_tables
from hedgerow.release.manifest import Facts
from hedgerow.release.origin import kind_of, listed, match_words, row_words, synthetic_columns, target_name

_FILES = {
    "records.parquet": "",
    "counts.csv": "the synthetic counts, one row per cell",
    "counts.parquet": "the same, with standard errors and 95 % intervals where noise was added",
    "counts-wide.csv": "the same, with one column per label of the last column",
    "counts-wide.parquet": "the wide form as Parquet",
    "margins.csv": "totals, one-way and two-way sums of the counts",
    "margins.parquet": "the sums as Parquet",
    "report.html": "what was released, for which uses, under which promise; start here",
    "codebook.html": "every column with its values and labels",
    "privacy-statement.md": "the promise in plain words, and what it does not protect",
    "statement.json": "the promise and every request with its noise and cost, for machines",
    "measurements.parquet": "the noisy answers with the scale of their noise",
    "schema.toml": "columns, values and bins, as fixed before any confidential row was read",
    "datapackage.json": "the tables described for Frictionless tools",
    "job.toml": "what was asked for",
    "MANIFEST.json": "size and hash of every file",
}


def card(contents: Contents, tables: Mapping[str, Facts]) -> dict[str, Any]:
    """The names that the card's template uses; ``tables`` are the table files of the release."""
    others = sorted(set(tables) - set(_FILES))
    files = [(n, w) for n, w in _FILES.items() if n in tables or not n.startswith(("records", "counts", "margins"))]
    files += [(n, "a further copy of the synthetic counts" if n.startswith("counts-") else "") for n in others]
    return {
        "cells": _cells(contents),
        "files": [(n, w or _records_words(contents, n)) for n, w in files],
        "how_made": _how_made(contents),
        "limits": _limits(contents),
        "row_words": row_words(contents),
    }


def _records_words(contents: Contents, name: str) -> str:
    one = "" if name.startswith("records.") else ", one copy"
    if kind_of(contents) == "attach":
        return f"the rows of {target_name(contents)} with synthetic {listed(synthetic_columns(contents))}{one}"
    return f"the synthetic records{one}"


def _how_made(contents: Contents) -> str:
    s = contents.statement
    asked = (
        f"{many(len(contents.answers), 'table')} with {many(sum(len(m.counts) for _, m in contents.answers), 'cell')}"
    )
    public = [i.name for i in s.public_inputs if i.role == "public"]
    with_help = f" and the public table {listed(public)}" if public else ""
    said = f"The recipe {s.recipe or 'unnamed'} asked for {asked} in all. "
    kind = kind_of(contents)
    if kind == "draws":
        help_of = f", with the help of the public {listed(public)}" if public else ""
        return (
            f"{said}The counts were drawn from urns that hold the true counts and public prior weights{help_of}; "
            "they are published as they were drawn."
        )
    said += "Each cell was answered with whole-number noise. "
    if kind == "attach":
        return (
            f"{said}From the noisy answers{with_help} came, for every row of {target_name(contents)}, how likely "
            f"each value of {listed(synthetic_columns(contents))} is; one was drawn. All else is the row's own."
        )
    if kind == "records":
        return f"{said}From the noisy answers{with_help} a model was made; records were drawn from it and decoded."
    return (
        f"{said}From the noisy answers{with_help} possible counts were made: whole, 0 or more, with sums that agree."
    )


def _limits(contents: Contents) -> tuple[str, ...]:
    asked = sorted({len(m.question.columns) for _, m in contents.answers} - {0})
    deepest = asked[-1] if asked else 0
    kept = {
        0: "No table of the columns was measured.",
        1: "Only single columns were measured: how columns go together is not kept unless a public table brought it.",
    }.get(
        deepest, f"Relations among more than {deepest} columns at a time were not measured; they come from the model."
    )
    cap = contents.statement.guarantee.rows_per_person
    counted = "one was" if cap == 1 else f"{cap} were"
    dropped = f"Of anyone with more than {many(cap, 'row')}, only {counted} counted; the others leave no trace here."
    return (
        kept,
        *([dropped] if contents.statement.guarantee.unit == "person" else []),
        "Small cells carry noise as large as themselves. Look at the 95 % figures in the report before using one.",
        "Standard errors from ordinary formulas are too small: they know neither the noise nor the drawing.",
        *_unknown(contents.schema.columns),
        match_words(contents),
    )


def _unknown(columns: Sequence[Column]) -> Iterator[str]:
    """Where values are counted that the schema does not know, and numbers beyond its bins."""
    apart = {"missing": [c.name for c in columns if c.knows_unknown and c.other is None]}
    for c in columns:
        if c.knows_unknown and c.other is not None:
            apart.setdefault(repr(c.other), []).append(c.name)
    told = [f"{where} in {listed(names)}" for where, names in apart.items() if names]
    if told:
        yield f"Values that the schema does not know are in a cell of their own: {'; '.join(told)}."
    merged = [
        f"{c.cell_labels[c.unknown]!r} in {c.name}" for c in columns if c.unknown is not None and not c.knows_unknown
    ]
    if merged:
        yield (
            f"As the schema declares, values that it does not know were counted as {listed(merged)}: nothing tells "
            "them from true ones."
        )
    if clamped := [c.name for c in columns if c.bin_count and c.beyond == "outer"]:
        yield f"Values of {listed(clamped)} beyond the bins of the schema were counted in the outer bins."


def _cells(contents: Contents) -> str:
    """How cells stand in CSV files, where a spreadsheet could do something with them; else nothing."""
    frames = (*contents.records, *count_tables(contents.counts, contents.margins, contents.copies).values())
    if "csv" not in contents.formats and contents.counts is None:
        return ""
    begin = list(dict.fromkeys(n for frame in frames for n in formulas(frame)))
    lines = list(dict.fromkeys(n for frame in frames for n in line_ends(frame)))
    if contents.for_spreadsheets and (begin or lines):
        return (
            "In the CSV files an apostrophe stands before a cell that a spreadsheet would take for a formula, and a "
            f"space where a value has an end of line: so in {listed(list(dict.fromkeys([*begin, *lines])))}. The "
            "Parquet files have the values as they are."
        )
    said = []
    if begin:
        said.append(
            f"Cells of {listed(begin)} begin with =, +, - or @ and stand in the CSV files as they are: a spreadsheet "
            "may take them for formulas and carry them out. Import these columns as text, or ask the publisher for "
            'CSV files that are safe to open (csv = "spreadsheet" in the job).'
        )
    if lines:
        said.append(
            f"Values of {listed(lines)} have an end of line within: in a CSV file a row may be several lines."
        )
    return " ".join(said)
