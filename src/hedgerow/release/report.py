"""What ``report.html`` shows: the view behind its template, from public values alone."""

import tomllib
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hedgerow.public.costs.question import Noise
from hedgerow.public.costs.statement import Statement
from hedgerow.release import figures, story
from hedgerow.release.contents import Contents
from hedgerow.release.count_figures import count_figures
from hedgerow.release.one_way_tables import OneWayTable, one_way_tables
from hedgerow.release.sections import sections
from hedgerow.release.words import Promise, decimal, percent, plus_minus

_MOST_TABLES = 200
_MOST_CELLS = 200


@dataclass(frozen=True)
class MeasuredRow:
    """One measured table as a row."""

    request: int
    table: str
    cells: str
    noise: str
    plus_minus: str
    total: str
    share: str


@dataclass(frozen=True)
class ColumnPanel:
    """One column with its figure and the table behind it."""

    one: OneWayTable
    figure: Markup
    note: str
    about: str
    within: str
    rows: tuple[tuple[str, str, str, str], ...]
    rows_more: str


def view(contents: Contents, promise: Promise) -> dict[str, Any]:
    """The names that the report's template uses beside those all pages share."""
    statement = contents.statement
    ones = one_way_tables(contents.schema, contents.answers, contents.records)
    measured = _measured(contents)
    total = statement.budget.total
    parts = [(f"request {i + 1}", float(s.cost / total)) for i, s in enumerate(statement.spends)]
    return {
        "chances": figures.chances(promise.odds),
        "copies": len(contents.records),
        "count_figures": count_figures(contents),
        "counts_drawn": contents.drawn,
        "measured": measured[:_MOST_TABLES],
        "measured_more": f"{len(measured) - _MOST_TABLES:,}" if len(measured) > _MOST_TABLES else "",
        "notes": story.notes(contents.verdicts),
        "ones": tuple(_column_panel(contents, one) for one in ones),
        "settings": _settings(contents),
        "spending": figures.spending(parts, float(1 - statement.spent / total)),
        "spent_sentence": _spent_sentence(statement),
        "total_note": _total_note(contents, ones),
        **sections(contents),
    }


def _measured(contents: Contents) -> tuple[MeasuredRow, ...]:
    spends = contents.statement.spends
    costs = {(i, a.question): a.cost for i, s in enumerate(spends) for a in s.asked}
    spent = contents.statement.spent
    return tuple(
        MeasuredRow(
            request=i + 1,
            table=str(m.question),
            cells=f"{len(m.counts):,}",
            noise=_law(m.noise),
            plus_minus="-" if m.noise.law == "urn" else f"{plus_minus(m.noise):,.0f}",
            total=f"{int(m.counts.sum()):,}",
            share=percent(float(costs[i, m.question] / spent)) if (i, m.question) in costs else "-",
        )
        for i, m in contents.answers
    )


def _law(noise: Noise) -> str:
    if noise.law == "urn":
        return f"drawn from an urn, least prior weight {decimal(noise.scale)}"
    if noise.law == "laplace":
        return f"discrete Laplace, scale {decimal(noise.scale)}"
    return f"discrete Gaussian, standard deviation {float(noise.scale) ** 0.5:,.4g}"


def _column_panel(contents: Contents, one: OneWayTable) -> ColumnPanel:
    about = next((c.description for c in contents.schema.columns if c.name == one.name), "")
    if one.source != one.name:
        about = f"{about.rstrip('.')}. Added up from the measured table {one.source}.".removeprefix(". ")
    rows = tuple(
        (label, f"{n:,}", f"{s:,.0f}", f"{s - n:+,.0f}")
        for label, n, s in zip(one.labels[:_MOST_CELLS], one.noisy.tolist(), one.synthetic.tolist(), strict=False)
    )
    more = f"{len(one.labels) - _MOST_CELLS:,}" if len(one.labels) > _MOST_CELLS else ""
    note = figures.omission_note(one)
    return ColumnPanel(
        one=one,
        figure=figures.noise_bars(one),
        note=f"Shown: {note}." if note else "",
        about=about,
        within=percent(one.within) if one.within < 0.995 else "all" if one.within == 1 else "over 99 %",
        rows=rows,
        rows_more=more,
    )


def _total_note(contents: Contents, ones: tuple[OneWayTable, ...]) -> str:
    """Said when the records are not about as many as the noisy counts add up to, so bars cannot match dots."""
    if not ones:
        return ""
    measured, drawn = int(ones[0].noisy.sum()), float(ones[0].synthetic.sum())
    if abs(measured - drawn) <= 0.02 * max(abs(measured), drawn):
        return ""
    return (
        f"There are {drawn:,.0f} synthetic records in a copy, while the noisy counts of {ones[0].name} add up to "
        f"{measured:,}: compare shapes, not heights."
    )


def _spent_sentence(statement: Statement) -> str:
    if not statement.spends:
        return "Nothing was asked of the confidential table, and nothing was spent."
    many = f"{len(statement.spends)} request{'s' * (len(statement.spends) != 1)}"
    if statement.budget.measure == "pure":
        return f"{many}; costs are in epsilon and add up: {story.spent_words(statement)}."
    return (
        f"{many}; costs are in rho (zero-concentrated differential privacy) and add up: "
        f"{story.spent_words(statement)}."
    )


def _settings(contents: Contents) -> tuple[tuple[str, str], ...]:
    """The recipe and its settings as the job file has them."""
    try:
        job = tomllib.loads(contents.job)
    except tomllib.TOMLDecodeError:
        job = {}
    recipe = contents.statement.recipe
    said = [("recipe", recipe or "unnamed")]
    for part in ("job", recipe):
        given = job.get(part)
        kept = given.items() if isinstance(given, dict) else ()
        said += [(key, _plain(value)) for key, value in kept if key not in ("recipe", "out", "title")]
    return (*said, ("version", f"Hedgerow {contents.statement.version}"))


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(v) for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{k} = {_plain(v)}" for k, v in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
