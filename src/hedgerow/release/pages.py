"""The pages of a bundle: every text file in it, each a function of the contents and of no clock.

After the pages comes the view behind ``report.html``, from public values alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hedgerow.figures import (
    Dot,
    LinePoint,
    Range,
    Shade,
    Trace,
    estimates,
    heat,
    lines,
    log_scatter,
    many,
    percent,
    printable,
    render,
    scatter,
    small,
)
from hedgerow.public import CodedTable, Places, Schema, Statement, law_of, pieces, violations, whole
from hedgerow.release import commands, figures, origin, package, words
from hedgerow.release.contents import Contents, EstimateTable
from hedgerow.release.manifest import Facts
from hedgerow.release.rehearsal_folder import curves, groups, rehearsal_words
from hedgerow.release.words import Promise, of_100, promise_of, urn_words
from hedgerow.uses import AbstractUse

RENDERED = ("report.html", "codebook.html", "privacy-statement.md", "DATACARD.md", package.NAME)
"""The pages that say nothing of their own: each can be written again from the other files of a bundle."""


COMBINE = "combine.R"
"""Reads and combines copies in R; releases of records have it, those of versions before it did not."""


def pages(contents: Contents, tables: Mapping[str, Facts]) -> dict[str, str]:
    """The text of every text file but the manifest; ``tables`` are the table files already written."""
    promise = promise_of(contents.statement)
    shared = _shared(contents, promise)
    return {
        "statement.json": contents.statement.dumps(),
        "schema.toml": contents.schema.dumps(),
        "job.toml": contents.job,
        package.NAME: package.dumps(contents, tables),
        "report.html": _render("report.html.j2", {**shared, **view(contents, promise)}),
        "codebook.html": _render("codebook.html.j2", {**shared, **package.codebook(contents)}),
        "privacy-statement.md": _render("privacy-statement.md.j2", shared),
        "DATACARD.md": _render("DATACARD.md.j2", {**shared, **_card(contents, tables)}),
        **({COMBINE: _script()} if contents.records else {}),
    }


def _card(contents: Contents, tables: Mapping[str, Facts]) -> dict[str, Any]:
    return origin.card(contents, tables) | {"opening": commands.opening(tables, contents.records)}


@cache
def _script() -> str:
    return files("hedgerow.release").joinpath("templates", COMBINE).read_text("utf-8")


def _shared(contents: Contents, promise: Promise) -> dict[str, Any]:
    statement = contents.statement
    in_epsilon = statement.budget.measure in ("pure", "basic")
    return {
        "citation": words.citation(contents, promise),
        "draws": urn_words(statement),
        "events": words.event_rows(statement),
        "facts": words.facts(contents, promise),
        "job": contents.job,
        "head": origin.head_words(contents),
        "kind": origin.kind_of(contents),
        "made": origin.made_sentence(contents),
        "measure": "epsilon" if in_epsilon else "rho",
        "measure_words": words.MEASURES[statement.budget.measure],
        "estimating": commands.estimating(contents),
        "more_copies": commands.more_copies(contents),
        "mostly_unknown": figures.mostly_unknown(contents),
        "few_runs": any(v.has_few_runs for v in contents.verdicts),
        "foretold": any(v.error is not None for v in contents.verdicts),
        "of_100": of_100,
        "please_say": origin.please_say(contents),
        "findings": contents.findings,
        "promise": promise,
        "promise_more": words.promise_more(promise),
        "promise_sentence": words.promise_sentence(promise),
        "replicates": commands.replicates(contents),
        "release_id": words.release_id(statement),
        "spent": words.spent_words(statement),
        "statement": statement,
        "title": contents.title,
        "uses": words.use_rows(contents.verdicts),
        "verifying": commands.verifying(contents),
    }


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
        "`" + printable(str(text)).replace("`", "'").replace("\n", " ").replace("|", "/") + "`"
    )
    env.filters["indented"] = lambda text: Markup(printable(str(text)).replace("\n", " "))
    return env


def _render(template: str, names: Mapping[str, Any]) -> str:
    if template.endswith(".md.j2"):
        return _markdown().get_template(template).render(names)
    return render("hedgerow.release", template, names)


def _as_markdown(value: object) -> object:
    """Text that cannot become markup: what a steward typed is shown, not obeyed."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    flat = " ".join(printable(value).split())
    for mark in "\\`*_[]<>|#":
        flat = flat.replace(mark, "\\" + mark)
    return flat


_MOST_TABLES, _MOST_CELLS, _MOST_LISTED = 200, 200, 200
_MOST_JOINTS, _MOST_ROWS, _MOST_DOTS, _MOST_GROUPS = 12, 60, 400, 40
_STEPS = (0.02, 0.05, 0.1, 0.25, 0.5)
"""From which share on the noise of a cell makes its field darker."""


def view(contents: Contents, promise: Promise) -> dict[str, Any]:
    """The names that the report's template uses beside those all pages share."""
    statement = contents.statement
    ones = figures.one_way_tables(contents)
    measured = _measured(contents)
    total = statement.budget.total
    parts = [(f"request {i + 1}", float(s.cost / total)) for i, s in enumerate(statement.spends)]
    return {
        "chances": figures.chances(promise.odds),
        "copies": len(contents.records),
        "count_figures": figures.count_figures(contents),
        "counts_drawn": contents.drawn,
        "bars": origin.bars_words(contents),
        "average_of": many(_rows(contents), _row_name(contents)),
        "events_many": many(len(statement.spends), "request"),
        "measured": measured[:_MOST_TABLES],
        "measured_many": many(len(measured), "table"),
        "measured_more": f"{len(measured) - _MOST_TABLES:,}" if len(measured) > _MOST_TABLES else "",
        "notes": words.notes(contents.verdicts),
        "ones": tuple(_column_panel(contents, one) for one in ones),
        "relative": _relative_sentence(contents),
        "settings": _settings(contents),
        "spending": figures.spending(parts, float(1 - statement.spent / total)),
        "spent_sentence": _spent_sentence(statement),
        "total_note": _total_note(contents, ones),
        **_sections(contents),
    }


def _measured(contents: Contents) -> tuple[dict[str, Any], ...]:
    spends = contents.statement.spends
    costs = {(i, a.question): a.cost for i, s in enumerate(spends) for a in s.asked}
    spent, rows = contents.statement.spent, _rows(contents)
    known = {*contents.counted_schema.coding.sizes}  # steps of careers are no rows and no people
    return tuple(
        {
            "request": i + 1,
            "table": str(m.question),
            "cells": f"{len(m.counts):,}",
            "noise": law_of(m.noise).words,
            "plus_minus": f"{law.half_width():,.0f}" if (law := law_of(m.noise)).added else "-",
            "average": small_count(rows / len(m.counts)) if {*m.question.columns} <= known else "-",
            "share": percent(float(costs[i, m.question] / spent)) if (i, m.question) in costs else "-",
        }
        for i, m in contents.answers
    )


def _rows(contents: Contents) -> int:
    """How many records the release has, or stands for; where people were counted, how many people."""
    if contents.counted:
        return contents.counted[0].rows
    return len(contents.records[0]) if contents.counts is None else int(contents.counts["count"].sum())


def _row_name(contents: Contents) -> str:
    """What one unit that was counted is called."""
    if contents.counts is not None:
        return "drawn count" if contents.drawn else "counted record"
    return "person" if contents.counted else "row" if contents.given else "synthetic record"


def small_count(value: float) -> str:
    """An average of counts.

    >>> small_count(1234.5), small_count(3.21), small_count(0.004)
    ('1,234', '3.2', 'below 0.1')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else "below 0.1"


def _column_panel(contents: Contents, one: figures.OneWayTable) -> dict[str, Any]:
    about = next((c.description for c in contents.counted_schema.columns if c.name == one.name), "")
    if one.name in contents.given:
        about = f"{about.rstrip('.')}. Given, not synthetic: the bars are the target's own rows.".removeprefix(". ")
    if one.source != one.name:
        about = f"{about.rstrip('.')}. Added up from the measured table {one.source}.".removeprefix(". ")
    rows = tuple(
        (label, f"{n:,}", f"{s:,.0f}", f"{s - n:+,.0f}")
        for label, n, s in zip(one.labels[:_MOST_CELLS], one.noisy.tolist(), one.synthetic.tolist(), strict=False)
    )
    more = f"{len(one.labels) - _MOST_CELLS:,}" if len(one.labels) > _MOST_CELLS else ""
    note = figures.omission_note(one)
    return {
        "one": one,
        "figure": figures.noise_bars(one),
        "note": f"Shown: {note}." if note else "",
        "about": about,
        "within": percent(one.within) if one.within < 0.995 else "all" if one.within == 1 else "over 99 %",
        "rows": rows,
        "rows_more": more,
    }


def _total_note(contents: Contents, ones: tuple[figures.OneWayTable, ...]) -> str:
    """Said when the records are not about as many as the noisy counts add up to, so bars cannot match dots."""
    if not ones:
        return ""
    measured, drawn = int(ones[0].noisy.sum()), float(ones[0].synthetic.sum())
    if abs(measured - drawn) <= 0.02 * max(abs(measured), drawn):
        return ""
    units = "persons" if contents.counted else "synthetic records"
    return (
        f"There are {drawn:,.0f} {units} in a copy, while the noisy counts of {ones[0].name} add up to "
        f"{measured:,}: compare shapes, not heights."
    )


def _spent_sentence(statement: Statement) -> str:
    if not statement.spends:
        return "Nothing was asked of the confidential table, and nothing was spent."
    asked = many(len(statement.spends), "request")
    unit = {
        "pure": "epsilon",
        "basic": "epsilon",
        "zcdp": "rho (zero-concentrated differential privacy)",
        "gdp": "rho (of normal noise: all noise is Gaussian)",
    }[statement.budget.measure]
    return f"{asked}; costs are in {unit} and add up: {words.spent_words(statement)}."


def _settings(contents: Contents) -> tuple[tuple[str, str], ...]:
    """The recipe and its settings as the job file has them."""
    job = contents.asked
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


def _sections(contents: Contents) -> dict[str, Any]:
    """The names that the template uses for joint tables, uses and what holds of every record."""
    found = figures.joint_tables(contents)
    related = figures.level_pairs(contents.counted_schema, found)
    return {
        "curves": () if contents.rehearsal is None else curves(contents.rehearsal),
        "rehearsed": None if contents.rehearsal is None else rehearsal_words(contents.rehearsal),
        "joints": tuple(_joint(contents, j) for j in found[:_MOST_JOINTS]),
        "joint_maps": any(j.is_mapped for j in found[:_MOST_JOINTS]),
        "joint_many": many(len(found), "table"),
        "joint_rows": tuple(_joint_row(j) for j in found[:_MOST_LISTED]),
        "joints_more": f"{len(found) - _MOST_JOINTS:,}" if len(found) > _MOST_JOINTS else "",
        "relations": _relations(related),
        "groups": groups(contents.verdicts),
        "intervals": tuple(_interval_panel(*use) for use in contents.estimates.by_name.items() if not contents.drawn),
        "replicated": bool(commands.replicates(contents)),
        "use_figures": tuple(_use_figures(contents)),
        "validity": _validity(contents),
    }


def _joint_row(j: figures.JointTable) -> tuple[str, ...]:
    inside = "all" if j.within == 1 else "over 99 %" if j.within >= 0.995 else percent(j.within)
    return (j.name, f"{len(j.noisy):,}", inside, f"{j.band:,.0f}", f"{j.distance:.4f}")


def _joint(contents: Contents, j: figures.JointTable) -> figures.ReportPanel:
    one = j.largest(contents.counted_schema, _MOST_ROWS)
    rows = tuple(
        (label, f"{n:,}", f"{s:,.0f}", f"{s - n:+,.0f}")
        for label, n, s in zip(one.labels, one.noisy.tolist(), one.synthetic.tolist(), strict=True)
    )
    places = _spread(np.argsort(-j.noisy, kind="stable"), _MOST_DOTS)
    dots = [
        Dot(float(n), float(s), f"{label}: noisy {n:,}, synthetic {s:,.0f}")
        for label, n, s in zip(
            j.named(contents.counted_schema, places),
            j.noisy[places].tolist(),
            j.synthetic[places].tolist(),
            strict=True,
        )
    ]
    axes = ("noisy count", "synthetic count")
    extra: list[Markup] = [log_scatter(dots, j.band, said=f"Noisy against synthetic counts of {j.name}", axes=axes)]
    if j.is_mapped:
        extra.append(_noise_map(contents, j))
    return figures.ReportPanel(
        name=j.name,
        about=f"{len(j.noisy):,} cells; a noisy count is within {j.band:,.0f} of the true one 95 times in 100.",
        figure=figures.noise_bars(one),
        head=("cell", "noisy count", "synthetic count", "difference"),
        rows=rows,
        more=f"{len(j.noisy) - len(rows):,}" if len(j.noisy) > len(rows) else "",
        extra=tuple(extra),
    )


def _noise_map(contents: Contents, j: figures.JointTable) -> Markup:
    """How large the noise is against each cell of a table of two columns."""
    down, across = (contents.counted_schema.cell_labels(c) for c in j.columns)
    noisy = j.noisy.reshape(j.shape)

    def field(a: int, b: int) -> Shade:
        share = j.band / max(float(noisy[a, b]), 1e-9) if noisy[a, b] > 0 else float("inf")
        shown = f"{100 * share:.0f}" if share < 1 else "-"
        said = f"{down[a]}, {across[b]}: noisy {noisy[a, b]:,} ± {j.band:,.0f}"
        return Shade(int(np.searchsorted(_STEPS, share, side="right")), shown, said)

    fields = [[field(a, b) for b in range(j.shape[1])] for a in range(j.shape[0])]
    return heat(down, across, fields, said=f"Noise in percent of each cell of {j.name}")


def _spread(order: Any, most: int) -> Any:
    """So many of the places, evenly from first to last."""
    return order if len(order) <= most else order[np.linspace(0, len(order) - 1, most).astype(int)]


def _relations(found: Sequence[figures.LevelPair]) -> tuple[figures.ReportPanel, ...]:
    """The scatters of correlations and slopes between levels, noisy against synthetic."""
    if len(found) < 3:
        return ()
    worst = sorted(found, key=lambda v: -abs(v.correlation - v.noisy_correlation))
    shown = [worst[i] for i in _spread(np.arange(len(worst)), _MOST_DOTS).tolist()]

    def panel(
        name: str, there: Callable[[figures.LevelPair], float], here: Callable[[figures.LevelPair], float]
    ) -> figures.ReportPanel:
        both = np.array([[there(v), here(v)] for v in found])
        r = float(np.corrcoef(both.T)[0, 1]) if both.std(axis=0).min() > 0 else float("nan")
        dots = [Dot(there(v), here(v), f"{v.name}: {there(v):+.4f}, {here(v):+.4f}") for v in shown]
        ranked = sorted(found, key=lambda v: -abs(here(v) - there(v)))[:30]
        rows = tuple((v.name, f"{there(v):+.4f}", f"{here(v):+.4f}", f"{here(v) - there(v):+.4f}") for v in ranked)
        about = f"{len(found):,} pairs of levels; the two sides correlate at {r:.3f}."
        axes = ("from noisy counts", "synthetic")
        figure = scatter(dots, said=f"{name} between levels, noisy against synthetic", axes=axes)
        more = f"{len(found) - len(rows):,}" if len(found) > len(rows) else ""
        return figures.ReportPanel(
            name, about, figure, ("levels", "from noisy counts", "synthetic", "difference"), rows, more
        )

    return (
        panel("Correlations", lambda v: v.noisy_correlation, lambda v: v.correlation),
        panel("Slopes", lambda v: v.noisy_slope, lambda v: v.slope),
    )


def _interval_panel(name: str, found: EstimateTable) -> figures.ReportPanel:
    """The estimates of a use with their intervals; where there is none, why, and what to declare."""
    ranges = [
        Range(e.group or name, e.estimate, e.low, e.high)
        for e in found[:_MOST_GROUPS]
        if e.estimate is not None and e.low is not None and e.high is not None
    ]
    figure = estimates(ranges, said=f"{name}, with intervals", show=small) if ranges else Markup()
    more = f"{len(found) - _MOST_GROUPS:,}" if len(found) > _MOST_GROUPS else ""
    return figures.ReportPanel(
        name, " ".join(found.notes), figure, found.head, tuple(found.rows()[:_MOST_GROUPS]), more
    )


def _use_figures(contents: Contents) -> Iterator[figures.ReportPanel]:
    """What the synthetic copies say of uses that ask for a figure in each group; one copy in memory at a time."""
    uses = [v.use for v in contents.verdicts if v.use.told_by_file and not v.use.figures_are_counts]
    found: dict[int, list[Any]] = {i: [] for i in range(len(uses))}
    for copy in _copies(contents) if uses else ():
        for i, use in enumerate(uses):
            if use.works_on(copy):
                found[i].append(use.figures(copy).values)
    for i, use in enumerate(uses):
        if found[i] and (panel := _says(use, contents.schema, np.array(found[i]))) is not None:
            yield panel


def _copies(contents: Contents) -> Iterator[CodedTable]:
    """The synthetic copies as uses see them, one after another."""
    for records in contents.records:
        yield CodedTable(contents.schema, whole(records))
    for counts in () if contents.counts is None else (contents.counts, *contents.copies):
        yield CodedTable.of_counts(contents.schema, counts)


def _says(use: AbstractUse, schema: Schema, found: Any) -> figures.ReportPanel | None:
    """The figures of a use that were ``found``, a row for each copy, and how much copies differ."""
    places = np.flatnonzero(np.isfinite(found).all(axis=0))[:_MOST_GROUPS]
    if not len(places):
        return None
    named, show = use.labels(schema, places), small
    ranges = [
        Range(n, float(x.mean()), float(x.min()), float(x.max()))
        for n, x in zip(named, found[:, places].T, strict=True)
    ]
    head = ("group", "mean over copies", "lowest copy", "highest copy") if len(found) > 1 else ("group", "estimate")
    rows = tuple((r.label, show(r.value), show(r.low), show(r.high))[: len(head)] for r in ranges)
    figure = _over_time(use, schema, places, ranges)
    if not figure:
        figure = estimates(ranges, said=f"What the synthetic data say of {use.name}", show=show)
    return figures.ReportPanel(use.name, use.what.rpartition(": ")[0] or use.what, figure, head, rows)


def _over_time(use: AbstractUse, schema: Schema, places: Places, ranges: Sequence[Range]) -> Markup:
    """The figure of a use that follows one thing over time; nothing for others."""
    found = use.over_time(schema, places)
    if len({name for name, _ in found}) != 1:
        return Markup()
    times, shown = use.time_labels(schema), sorted(t for _, t in found)
    points = [
        LinePoint(shown.index(t), r.value, r.low, r.high, f"{times[t]}: {small(r.value)}")
        for (_, t), r in zip(found, ranges, strict=True)
    ]
    trace = Trace("made", tuple(sorted(points, key=lambda p: p.at)))
    return lines([times[t] for t in shown], [trace], said=f"{use.name} in the synthetic data", show=small)


def _validity(contents: Contents) -> tuple[tuple[str, str], ...]:
    """What holds of every synthetic record, looked up in the records."""
    if not contents.records:
        return (("labels", "those of the schema and no others"),)
    said = [("schema", f"{many(len(contents.schema.columns), 'column')}, every value one that the schema allows")]
    if kinds := [w for w, x in (("zeros", contents.schema.zeros), ("rules", contents.schema.rules)) if x]:
        broken = sum(int(violations(contents.schema, p).sum()) for r in contents.records for p in pieces(r))
        rows = sum(len(r) for r in contents.records)
        said.append((f"structural {' and '.join(kinds)}", f"{broken:,} of {rows:,} records break one"))
    sizes = [len(r) for r in contents.records]
    same = f"{sizes[0]:,} in each copy" if len(set(sizes)) == 1 else f"{min(sizes):,} to {max(sizes):,}"
    said.append(("records", same if len(sizes) > 1 else f"{sizes[0]:,}"))
    return tuple(said)


def _relative_sentence(contents: Contents) -> str:
    """What a recipe thought of its public table, as the order of its requests shows.

    ``guided_tree`` asks twice, besides a trial, where public labels do not decide what is asked.
    """
    s = contents.statement
    if s.recipe == "guided_tree" and any(i.role == "public" for i in s.public_inputs):
        return words.labels_put_aside(s)
    aside = words.public_put_aside(contents) if s.recipe == "public_blend" else None
    if aside is None:
        return ""
    if not aside:
        return (
            "By the first answers the public table is a relative: tables of two columns lean on it where they agree."
        )
    return (
        "By the first answers, or by its own rows, the public table was worth nothing for tables of two columns: it"
        " is unlike this table, its columns are independent, or it has few rows for this budget. The records were"
        " made as without it, but for one-way tables where these agreed."
    )
