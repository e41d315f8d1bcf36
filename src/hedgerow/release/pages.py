"""The pages of a bundle: every text file in it, each a function of the contents and of no clock."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hedgerow.figures import page
from hedgerow.release import codebook, package, report, story
from hedgerow.release.contents import Contents
from hedgerow.release.manifest import Facts
from hedgerow.release.urn_words import urn_words
from hedgerow.release.words import Promise, of_100, promise_of

RENDERED = ("report.html", "codebook.html", "privacy-statement.md", "DATACARD.md", package.NAME)
"""The pages that say nothing of their own: each can be written again from the other files of a bundle."""

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
        "codebook.html": _render("codebook.html.j2", {**shared, **codebook.view(contents)}),
        "privacy-statement.md": _render("privacy-statement.md.j2", shared),
        "DATACARD.md": _render("DATACARD.md.j2", {**shared, **_card(contents, tables)}),
    }


def _shared(contents: Contents, promise: Promise) -> dict[str, Any]:
    statement = contents.statement
    pure = statement.budget.measure == "pure"
    return {
        "citation": story.citation(contents, promise),
        "draws": urn_words(statement),
        "events": story.event_rows(statement),
        "facts": story.facts(contents, promise),
        "job": contents.job,
        "made": story.made_sentence(contents),
        "measure": "epsilon" if pure else "rho",
        "measure_words": "pure epsilon" if pure else "booked as zero-concentrated differential privacy, rho",
        "of_100": of_100,
        "promise": promise,
        "promise_more": story.promise_more(promise),
        "promise_sentence": story.promise_sentence(promise),
        "release_id": story.release_id(statement),
        "spent": story.spent_words(statement),
        "statement": statement,
        "title": contents.title,
        "uses": story.use_rows(contents.verdicts),
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
    return page.render("hedgerow.release", template, names)


def _as_markdown(value: object) -> object:
    """Text that cannot become markup: what a steward typed is shown, not obeyed."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    flat = " ".join(value.split())
    for mark in "\\`*_[]<>|#":
        flat = flat.replace(mark, "\\" + mark)
    return flat
