"""The pages of a bundle: every text file in it, each a function of the contents and of no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hedgerow.figures import render
from hedgerow.public import Column, Condition, Zero
from hedgerow.release import package, report, words
from hedgerow.release.contents import Contents
from hedgerow.release.manifest import Facts
from hedgerow.release.words import Promise, of_100, percent, promise_of, urn_words

RENDERED = ("report.html", "codebook.html", "privacy-statement.md", "DATACARD.md", package.NAME)
"""The pages that say nothing of their own: each can be written again from the other files of a bundle."""

_MOST_ROWS = 500
_TYPES = {pl.Int64: "whole number", pl.Float64: "number", pl.Date: "date", pl.Boolean: "yes or no", pl.String: "text"}
_FILES = {
    "records.parquet": "the synthetic records",
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


def pages(contents: Contents, tables: Mapping[str, Facts]) -> dict[str, str]:
    """The text of every text file but the manifest; ``tables`` are the table files already written."""
    promise = promise_of(contents.statement)
    shared = _shared(contents, promise)
    return {
        "statement.json": contents.statement.dumps(),
        "schema.toml": contents.schema.dumps(),
        "job.toml": contents.job,
        package.NAME: package.dumps(contents, tables),
        "report.html": _render("report.html.j2", {**shared, **report.view(contents, promise)}),
        "codebook.html": _render("codebook.html.j2", {**shared, **_codebook(contents)}),
        "privacy-statement.md": _render("privacy-statement.md.j2", shared),
        "DATACARD.md": _render("DATACARD.md.j2", {**shared, **_card(contents, tables)}),
    }


def _shared(contents: Contents, promise: Promise) -> dict[str, Any]:
    statement = contents.statement
    pure = statement.budget.measure == "pure"
    return {
        "citation": words.citation(contents, promise),
        "draws": urn_words(statement),
        "events": words.event_rows(statement),
        "facts": words.facts(contents, promise),
        "job": contents.job,
        "made": words.made_sentence(contents),
        "measure": "epsilon" if pure else "rho",
        "measure_words": "pure epsilon" if pure else "booked as zero-concentrated differential privacy, rho",
        "of_100": of_100,
        "promise": promise,
        "promise_more": words.promise_more(promise),
        "promise_sentence": words.promise_sentence(promise),
        "release_id": words.release_id(statement),
        "spent": words.spent_words(statement),
        "statement": statement,
        "title": contents.title,
        "uses": words.use_rows(contents.verdicts),
    }


def _card(contents: Contents, tables: Mapping[str, Facts]) -> dict[str, Any]:
    others = sorted(set(tables) - set(_FILES))
    files = [(n, w) for n, w in _FILES.items() if n in tables or not n.startswith(("records", "counts", "margins"))]
    files += [(n, _copy_words(n)) for n in others]
    return {
        "files": files,
        "how_made": _how_made(contents),
        "limits": _limits(contents),
        "row_words": _row_words(contents),
    }


def _copy_words(name: str) -> str:
    if name.startswith("counts-"):
        return "a further copy of the synthetic counts"
    return "the synthetic records" + ("" if name.startswith("records.") else ", one copy")


def _how_made(contents: Contents) -> str:
    s = contents.statement
    tables, cells = len(contents.answers), sum(len(m.counts) for _, m in contents.answers)
    many = f"{tables} table{'s' * (tables != 1)} with {cells:,} cell{'s' * (cells != 1)} in all"
    public = [i.name for i in s.public_inputs if i.role in ("public", "target")]
    with_help = f" with the help of the public {', '.join(public)}" if public else ""
    if contents.drawn:
        return (
            f"The recipe {s.recipe or 'unnamed'} asked for {many}. The counts were drawn from urns that hold the "
            f"true counts and public prior weights{with_help}; they are published as they were drawn."
        )
    return (
        f"The recipe {s.recipe or 'unnamed'} asked for {many}. Each cell was answered with whole-number noise. "
        f"From the noisy answers alone{with_help} " + _what_came_of_it(contents)
    )


def _what_came_of_it(contents: Contents) -> str:
    if contents.records:
        return "a model was made, and records were drawn from it and decoded by the schema."
    return "possible counts were made: whole numbers, none negative, with sums that agree."


def _row_words(contents: Contents) -> str:
    described = contents.schema.title or contents.statement.table
    if not contents.records:
        return f"One combination of labels of {described}, and a synthetic count of it."
    return f"One synthetic record in the form of {described}. It stands for no real one."


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
    dropped = f"Of anyone with more than {cap} rows, only {cap} were counted; the others leave no trace here."
    return (
        kept,
        *([dropped] if contents.statement.guarantee.unit == "person" else []),
        "Small cells carry noise as large as themselves. Look at the 95 % figures in the report before using one.",
        "Standard errors from ordinary formulas are too small: they know neither the noise nor the drawing.",
        "Do not look for real people in it: any match is an accident.",
    )


@cache
def _markdown() -> Environment:
    env = Environment(
        loader=PackageLoader("hedgerow.release"),
        autoescape=False,
        finalize=_as_markdown,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    env.filters["code"] = lambda text: Markup(
        "`" + str(text).replace("`", "'").replace("\n", " ").replace("|", "/") + "`"
    )
    env.filters["indented"] = lambda text: Markup(str(text).replace("\n", " "))
    return env


def _render(template: str, names: Mapping[str, Any]) -> str:
    if template.endswith(".md.j2"):
        return _markdown().get_template(template).render(names)
    return render("hedgerow.release", template, names)


def _as_markdown(value: object) -> object:
    """Text that cannot become markup: what a steward typed is shown, not obeyed."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    flat = " ".join(value.split())
    for mark in "\\`*_[]<>|#":
        flat = flat.replace(mark, "\\" + mark)
    return flat


@dataclass(frozen=True)
class CodebookRow:
    """One value of a column."""

    code: int
    value: str
    label: str
    count: str
    share: str


@dataclass(frozen=True)
class CodebookColumn:
    """One column of the codebook."""

    name: str
    kind: str
    type: str
    cells: str
    description: str
    value_name: str
    about: tuple[tuple[str, str], ...]
    rows: tuple[CodebookRow, ...]
    more: str


def _codebook(contents: Contents) -> dict[str, Any]:
    """The names that the codebook's template uses beside those all pages share."""
    schema = contents.schema
    return {
        "columns": tuple(_column(contents, c) for c in schema.columns),
        "shares": bool(contents.records),
        "joined": tuple((j.name, " x ".join(j.columns)) for j in schema.joined),
        "zeros": tuple(_zero(z) for z in schema.zeros),
        "rules": tuple(str(r) for r in schema.rules),
        "schema_source": f"Where the schema comes from: {schema.source}." if schema.source else "",
    }


def _column(contents: Contents, column: Column) -> CodebookColumn:
    first = contents.records[0] if contents.records else None
    counts = np.zeros(column.size, np.int64)
    drawn = first is not None and column.name in first.columns
    if first is not None and drawn:
        counts = np.bincount(column.coded.encode(first[column.name]), minlength=column.size)
    shown = zip(column.cell_texts[:_MOST_ROWS], column.cell_labels, counts.tolist(), strict=False)
    total = max(int(counts.sum()), 1)
    return CodebookColumn(
        name=column.name,
        kind=column.kind,
        type=_TYPES.get(type(first[column.name].dtype), "text") if first is not None and drawn else "-",
        cells=f"{column.size:,}",
        description=column.description,
        value_name="begins at" if column.bin_count else "value",
        about=_about(column),
        rows=tuple(
            CodebookRow(i, text or "(empty)", label, f"{n:,}", percent(n / total) if n else "0")
            for i, (text, label, n) in enumerate(shown)
        ),
        more=f"{column.size - _MOST_ROWS:,}" if column.size > _MOST_ROWS else "",
    )


def _about(column: Column) -> tuple[tuple[str, str], ...]:
    """What must be known to read the column, where it is not the usual."""
    said = []
    if column.bin_count:
        said.append(
            (
                "within a cell",
                {"uniform": "every value equally likely", "midpoint": "the middle value"}.get(
                    column.decode, "values of the public table"
                ),
            )
        )
    if column.unit is not None:
        said.append(("multiples of", str(column.unit)))
    if column.prefix:
        said.append(("cut to", f"the first {column.prefix} characters"))
    if column.missing:
        said.append(("missing", "is a value of its own"))
    if column.missing_values:
        said.append(("read as missing", ", ".join(repr(v) for v in column.missing_values)))
    if column.other is not None:
        said.append(("anything else", f"was put under {column.other}"))
    if column.determined_by:
        said.append(("determined by", ", ".join(column.determined_by) + " (looked up, not measured)"))
    return tuple(said)


def _zero(zero: Zero) -> str:
    return " and ".join(f"{name} {_condition(c)}" for name, c in zero.where)


def _condition(c: Condition) -> str:
    if c.values:
        return "is " + " or ".join(v or "missing" for v in c.values)
    said = [f"below {c.below}"] if c.below is not None else []
    return " and ".join([*said, *([f"above {c.above}"] if c.above is not None else [])])
