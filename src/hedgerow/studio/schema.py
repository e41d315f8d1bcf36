"""Screen 2: what the columns mean, a card each, over the PUBLIC table; saved key by key, comments kept."""

import math
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import polars as pl
from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.figures import Axis, Drawing, line, svg, text
from hedgerow.public import (
    BINNED,
    LISTED,
    CodedColumn,
    Column,
    Schema,
    TableFit,
    as_text,
    file_of,
    open_public,
    unknown_rule,
)
from hedgerow.studio.folder import is_served, reasons_in
from hedgerow.studio.page import Visit, command, page
from hedgerow.studio.tables import (
    absolute,
    drafted_from,
    drafted_in_python,
    needs_columns,
    own_header,
    protects,
    several_rows,
)

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_BARS, _WIDE, _HIGH, _LEFT = 60, 520, 96, 8
_MOST_VALUES, _MOST_HANDLES, _NAMED = 60, 40, 8


def screen(visit: Visit) -> Response:
    """The schema of a job."""
    return _save(visit) if visit.method == "POST" else _show(visit)


def _show(visit: Visit) -> Response:
    file, public = visit.folder.read(visit.schema_name), str(visit.part("public").get("table", ""))
    draft = visit.work.latest("draft", visit.name)
    names: dict[str, Any] = {
        "schema_name": visit.schema_name,
        "schema_digest": file.digest,
        "there": file.there,
        "public": public,
        "tables": visit.folder.tables(),
        "secret": str(visit.part("confidential").get("table", "")),
        "books": visit.folder.books(),
        "draft": draft,
        "cards": [],
        "problem": "",
        "unread": [],
        "wrong": "",
        "target": str(visit.part("target").get("table", "")),
        "unsaid": needs_columns(visit),
        "several": several_rows(visit),
    }
    if file.there:
        try:
            names |= _cards(visit, Schema.loads(file.text, visit.schema_name), file.text)
        except HedgerowError as refusal:
            names["problem"] = str(refusal)
    same, python = _same(visit, public, there=file.there)
    return page(visit, "schema.html.j2", "schema", same=same, python=python, **names)


def _same(visit: Visit, public: str, *, there: bool) -> tuple[str, str]:
    """The commands and the Python of this screen: for a schema that is there, or one to be drafted."""
    name = visit.schema_name
    lines, code = [f"$EDITOR {shlex.quote(name)}   # what these cards write"] * there, ["import hedgerow as hr"]
    if public:
        draft = command("schema", "init", *drafted_from(visit), "--out", name)
        again = [f"{draft} --force   # drafts it again: your changes go"]
        check = command("schema", "check", name, public)
        lines += [check, *again] if there else [draft, check]
        code += [] if there else [drafted_in_python(visit)]
    code.append(f"schema = hr.Schema.load({name!r})")
    code += [f"schema.check({public!r})"] if public else []
    return "\n".join(lines), "\n".join(code) if there or public else ""


@final
@dataclass(frozen=True)
class Glance:
    """What a public column shows: bars over a line of numbers, or how often each value stands."""

    low: float = 0.0
    high: float = 1.0
    bars: tuple[int, ...] = ()
    values: tuple[tuple[str, int], ...] = ()


@final
@dataclass(frozen=True)
class Card:
    """One column on the screen."""

    column: Column
    reasons: tuple[str, ...]
    check: bool
    warnings: tuple[str, ...]
    figure: Drawing | None
    glance: Glance | None
    values: tuple[tuple[str, str, int | None], ...]
    more: int
    edges: tuple[str, ...]
    cells: str
    unknown: str

    @property
    def alone(self) -> str:
        """The one value that is listed, if there is one only: whatever else a table holds is not told apart."""
        return self.column.values[0] if self.listed and len(self.column.values) == 1 else ""

    @property
    def alone_in_public(self) -> bool:
        """Whether the public table holds that value and no other."""
        return self.glance is not None and [v for v, _ in self.glance.values] == [self.alone]

    @property
    def measured(self) -> str:
        """What the one value is besides a word: a kind that bins can be made for; empty where it is a word only."""
        return _kind_of(self.alone)

    @property
    def binned(self) -> bool:
        """Whether it has bins."""
        return self.column.kind in BINNED

    @property
    def listed(self) -> bool:
        """Whether its values are listed."""
        return self.column.kind in LISTED

    @property
    def says(self) -> str:
        """Its values in a line, for a card that is folded."""
        named = [label or value for value, label, _ in self.values[:_NAMED]]
        rest = len(self.column.values) - len(named)
        return ", ".join(named) + (f", and {rest} more" if rest > 0 else "") if self.listed else ""

    @property
    def mode(self) -> str:
        """How the bins are said."""
        bins = self.column.bins
        if bins is None:
            return ""
        return "quantiles" if bins.quantiles else "edges" if bins.edges else "equal"


def _cards(visit: Visit, schema: Schema, text: str) -> dict[str, Any]:
    """A card for every column; with a public table its bars, and what of it falls outside."""
    public = visit.part("public").get("table", "")
    table = _public_path(visit, "public") if public else None
    fits = [fit for role in ("public", "target") if (fit := _fit(visit, schema, role)) is not None]
    reasons, settled = reasons_in(text), _settled(schema, table)
    cards = []
    for c in schema.columns:
        warnings = [
            f"{Path(fit.table).name}: {w}"
            for fit in fits
            for f in fit.columns
            if f.name == c.name
            for w in fit.lines_of(f)
        ]
        cards.append(_card(c, settled.get(c.name, c), reasons.get(c.name, ()), tuple(warnings), table))
    described = {c.name for c in schema.columns}
    secret = visit.part("confidential")
    own = own_header(visit)
    aside = {secret.get("person", ""), secret.get("count", ""), ""}
    absent = [c.name for c in schema.columns if own and c.name not in own]
    return {
        "cards": cards,
        "unread": [n for n in own if n not in described | aside],
        "wrong": f"The confidential table has no column {', '.join(absent)}, by its header; no more was read."
        if absent
        else "",
    }


def _settled(schema: Schema, table: Path | None) -> dict[str, Column]:
    """The columns with what is taken from the public table written out, where that can be done."""
    if schema.is_resolved or table is None:
        return {c.name: c for c in schema.columns}
    source = open_public(str(table))
    names = [c.name for c in schema.columns if c.name in source.columns]
    try:
        return {c.name: c for c in schema.resolved(pl.concat(source.batches(names))).columns}
    except HedgerowError:
        return {c.name: c for c in schema.columns}


def _public_path(visit: Visit, role: str) -> Path | None:
    """A table that the job calls public or target, if it is there, in the folder, and not the confidential one."""
    from hedgerow.job import must_differ

    named, secret = (str(visit.part(p).get("table", "")) for p in (role, "confidential"))
    if not named or not secret:
        return None
    path = Path(absolute(visit.folder, named))
    if not is_served(secret):
        must_differ(Path(absolute(visit.folder, secret)), path, role)
    return path if file_of(path).exists() else None


def _fit(visit: Visit, schema: Schema, role: str) -> TableFit | None:
    table = _public_path(visit, role)
    if table is None:
        return None
    try:
        return _fit_of(schema.dumps(), str(table), _stamp(table), role)
    except HedgerowError:
        return None


def _stamp(table: Path) -> tuple[int, int]:
    facts = file_of(table).stat()
    return facts.st_mtime_ns, facts.st_size


@lru_cache(maxsize=16)
def _fit_of(schema: str, table: str, stamp: tuple[int, int], role: str) -> TableFit:
    return Schema.loads(schema).check(table, target=role == "target", outside=1.0)


@lru_cache(maxsize=512)
def glance(table: str, stamp: tuple[int, int], name: str, kind: str, form: str) -> Glance | None:
    """What a column of a PUBLIC table shows; None when it does not have the column."""
    source = open_public(table)
    if name not in source.columns:
        return None
    series = pl.concat(source.batches([name]), how="vertical_relaxed")[name]
    if kind in BINNED:
        reading = "date" if kind == "date" else "number"
        found = CodedColumn(name, reading, 1, missing=0, other=0, date_format=form).numbers(series)  # type: ignore[arg-type]
        found = found[np.isfinite(found)]
        if not len(found):
            return Glance()
        if kind == "integer" and (found.max() - found.min()) < 4 * _BARS:  # a bar for each number
            low, high = float(np.floor(found.min())), float(np.floor(found.max()) + 1)
            counts, _ = np.histogram(found, int(high - low), (low, high))
            return Glance(low, high, tuple(counts.tolist()))
        low, high = np.quantile(found, [0.001, 0.999])
        low, high = (float(low), float(high)) if high > low else (float(low) - 1, float(high) + 1)
        counts, _ = np.histogram(np.clip(found, low, high), 4 * _BARS, (low, high))
        return Glance(low, high, tuple(counts.tolist()))
    counted = as_text(series).drop_nulls().value_counts(sort=True)
    return Glance(values=tuple(zip(counted[name].to_list(), counted["count"].to_list(), strict=True)))


def _card(c: Column, settled: Column, notes: tuple[str, ...], warnings: tuple[str, ...], table: Path | None) -> Card:
    seen = None if table is None else glance(str(table), _stamp(table), c.name, c.kind, c.format)
    has_bins = settled.kind in BINNED and settled.bins is not None and settled.bins.quantiles is None
    cuts = settled.cuts.tolist() if has_bins else []
    if cuts and (settled.bins is None or settled.bins.edges or settled.kind == "date"):
        cuts[-1] = math.ceil(cuts[-1]) - 1 if settled.kind != "real" else math.nextafter(cuts[-1], -math.inf)
    often = dict(seen.values) if seen else {}
    labels = dict(zip(c.values, c.labels, strict=True))
    listed = [(v, label, often.get(v) if seen else None) for v, label in labels.items()]
    return Card(
        column=c,
        reasons=notes,
        check=any(
            "CHECK" in note and "one value only" not in note for note in notes
        ),  # that one has words of its own
        warnings=warnings,
        figure=_figure(c, seen, cuts) if seen and seen.bars else None,
        glance=seen,
        values=tuple(listed[:_MOST_VALUES]),
        more=max(0, len(listed) - _MOST_VALUES),
        edges=tuple(_as_written(settled, x) for x in cuts) if len(cuts) <= _MOST_HANDLES else (),
        cells=f"{settled.size:,}" if settled.size_known else "?",
        unknown=unknown_rule(settled) if settled.size_known else "",
    )


def _as_written(c: Column, x: float) -> str:
    """A place on the axis of a column (of dates days since 1970) as a schema file has it: a day, a rounded number.

    >>> _as_written(Column("lat", "real"), 44.971000000000004)
    '44.971'
    >>> _as_written(Column("seen", "date", format="%d.%m.%Y"), 17_000)
    '2016-07-18'
    """
    return date.fromordinal(719_163 + int(x)).isoformat() if c.kind == "date" else c.text_of(float(f"{x:.12g}"))


def _figure(c: Column, seen: Glance, cuts: list[float]) -> Drawing:
    """The bars of a public column with the edges of its bins above."""
    low, high = min([seen.low, *cuts[:1]]), max([seen.high, *cuts[-1:]])
    x = Axis(low, high, _LEFT, _WIDE - _LEFT)
    step = (seen.high - seen.low) / len(seen.bars)
    most = max(seen.bars) or 1
    out = []
    for i, n in enumerate(seen.bars):
        a, b = x(seen.low + i * step), x(seen.low + (i + 1) * step)
        tall = n / most * (_HIGH - 26)
        out.append(
            f'<rect class="bar" x="{a:.1f}" y="{_HIGH - 18 - tall:.1f}" width="{b - a:.1f}" height="{tall:.1f}"/>'
        )
    out += [line("cut", x(e), 4, x(e), _HIGH - 18) for e in cuts]
    last = high - 1 if c.kind == "integer" and step == 1 else high  # a bar for each number ends where the next begins
    ends = [(low, low, "start"), ((low + high) / 2,) * 2 + ("middle",), (high, last, "end")]
    out += [
        text(x(v), _HIGH - 3, _as_written(c, round(word) if c.kind != "real" else word), "tick", where)
        for v, word, where in ends
    ]
    bins = f", cut into {len(cuts) - 1} bins" if cuts else ""
    drawn = svg("".join(out), _WIDE, _HIGH, f"How often values of {c.name} stand in the public table{bins}")
    return Drawing(
        str(drawn).replace("<svg ", f'<svg data-low="{low!r}" data-high="{high!r}" data-left="{_LEFT}" ', 1)
    )


def _save(visit: Visit) -> Response:
    act = visit.said("act")
    if act == "draft":
        return _draft(visit)
    file, name = visit.shown_file(visit.schema_name), visit.said("column")
    schema = Schema.loads(file.text, visit.schema_name)
    column = schema.column(name)

    def change(document: "TOMLDocument") -> None:
        columns: Any = document["columns"]
        if act == "leave":
            columns.remove(name)
        elif act in ("add", "bins"):
            _widen(columns[name], visit, column, to_bins=act == "bins")
        else:
            _settle(columns[name], visit, column)

    import tomlkit

    document = tomlkit.parse(file.text)
    change(document)
    Schema.loads(tomlkit.dumps(document), visit.schema_name)  # refuses a mistake before anything is written
    visit.folder.edit(file, change)
    return visit.go(f"schema#column-{list(c.name for c in schema.columns).index(name)}")


def _draft(visit: Visit) -> Response:
    """Draft it, from a public table or a code book, in a process of its own."""
    made_from, book, count = visit.said("from"), visit.said("book"), visit.said("count")
    if made_from not in (*visit.folder.tables(), *visit.folder.books()):
        raise JobError(f"Say which PUBLIC table or code book to draft from. {NOTHING}")
    for name in filter(None, (made_from, book)):
        if protects(visit.folder, file_of(Path(absolute(visit.folder, name)))):
            raise JobError(
                f"{name} is the confidential table of a job: what a schema says is published, so it is drafted from\n"
                f"PUBLIC files alone. {NOTHING}"
            )
    words = ["schema", "init", made_from, "--out", visit.schema_name]
    words += ["--codebook", book] if book in visit.folder.books() else []
    words += ["--count", count] if count else []
    if visit.folder.read(visit.schema_name).there:
        if visit.said("over") != "yes":
            raise JobError(f"{visit.schema_name} is there: tick that your changes to it may go. {NOTHING}")
        words.append("--force")
    visit.work.start("draft", visit.name, words)
    return visit.go("schema")


def _settle(block: Any, visit: Visit, column: Column) -> None:
    """Write what the card says into the block of a column; what is as by default is left out."""
    _put(block, "description", visit.said("description"))
    _put(block, "missing", visit.said("missing") == "yes" or None)
    _put(block, "missing_values", _words(visit.said("missing_values")))
    other: Any = visit.said("other")
    _put(block, "other", int(other) if column.type == "integer" and other.lstrip("-").isdigit() else other)
    if column.kind in BINNED:
        _put(block, "beyond", "unknown" if visit.said("beyond") == "unknown" else "")
        _put(block, "bins", _bins(visit, column))
    if column.kind in LISTED:
        _listed(block, visit, column)


def _kind_of(value: str) -> str:
    """What a value may be besides a word.

    >>> _kind_of("2004"), _kind_of("1.5"), _kind_of("2004-05-01"), _kind_of("north"), _kind_of("nan")
    ('integer', 'real', 'date', '', '')
    """
    with suppress(ValueError):
        number = float(value)
        return "" if not math.isfinite(number) else "integer" if value.lstrip("-").isdigit() else "real"
    with suppress(ValueError):
        date.fromisoformat(value)
        return "date"
    return ""


def _widen(block: Any, visit: Visit, column: Column, *, to_bins: bool) -> None:
    """A column of which one value was known: more values; or bins, where that value is a number or a day."""
    if not to_bins:
        if not _words(visit.said("more_values")):
            raise JobError(f"Say which other values {column.name} may have, with commas. Nothing was saved.")
        _listed(block, visit, column)
        return
    kind: Any = _kind_of(column.values[0]) if len(column.values) == 1 else ""
    if not kind:
        raise JobError(f"{column.name} is not one number or one day, so it has no bins. Nothing was saved.")
    bins = _bins(visit, replace(column, kind=kind))
    for key in ("values", "labels", "reference", "collapse", "other"):
        _put(block, key, None)
    for key, value in (("kind", kind), ("bins", bins), ("beyond", "unknown"), ("missing", True)):
        _put(block, key, value)


def _put(block: Any, key: str, value: Any) -> None:
    import tomlkit

    if value in (None, "", [], {}):
        if key in block:
            block.remove(key)
        return
    if key in block and block[key] == value:
        return
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        inline.update(value)
        value = inline
    block[key] = value


def _words(said: str) -> list[str]:
    return [w.strip() for w in said.split(",") if w.strip()]


def _edge(said: str, column: Column) -> int | float | date:
    try:
        if column.kind == "date":
            return date.fromisoformat(said.strip())
        number = float(said.replace(" ", ""))
        return int(number) if number.is_integer() else number
    except ValueError:
        what = "a day, such as 2000-01-31" if column.kind == "date" else "a number"
        raise JobError(f"The edge {said!r} of {column.name} is not {what}. Nothing was saved.") from None


def _bins(visit: Visit, column: Column) -> dict[str, Any]:
    how = visit.said("mode")
    if how == "edges":
        edges = sorted({_edge(e, column) for e in _words(visit.said("edges"))})
        if len(edges) < 2:
            raise JobError(f"{column.name} needs two edges at least, with commas between. Nothing was saved.")
        return {"edges": edges}
    if how == "quantiles":
        asked = visit.said("quantiles")
        if not asked.isdigit() or int(asked) < 2:
            raise JobError(f"{column.name}: {asked!r} bins of equal count: give 2 or more. Nothing was saved.")
        return {"quantiles": int(asked)}
    found: dict[str, Any] = {key: _edge(visit.said(key), column) for key in ("low", "high")}
    if column.kind == "date":
        return found | {"unit": visit.said("unit") or "month"}
    return found | {"width": _edge(visit.said("width"), column)}


def _listed(block: Any, visit: Visit, column: Column) -> None:
    """The values that are kept, with their labels; others were merged into ``other``."""
    before: Mapping[str, str] = dict(zip(column.values, column.labels, strict=True))
    on_page = set(visit.listed("on_page"))
    kept = {v: label for v, label in before.items() if v not in on_page or v in visit.listed("keep")}
    for i, value in enumerate(visit.form.get("on_page", [])):
        said = visit.form.get("label", [""] * (i + 1))
        if value in kept and i < len(said):
            kept[value] = said[i].strip() or value
    for value in _words(visit.said("more_values")):
        kept.setdefault(value, value)
    if len(kept) < len(before) and not visit.said("other") and visit.said("missing") != "yes":
        raise JobError(f"Say where the merged values of {column.name} go: other = 'other'. Nothing was saved.")
    if kept != before:
        whole = column.type == "integer" and all(v.lstrip("-").isdigit() for v in kept)
        named = any(v != label for v, label in kept.items())
        for key in ("values", "labels") if named != ("labels" in block) else ():
            _put(block, key, None)
        _put(block, "labels" if named else "values", kept if named else [int(v) if whole else v for v in kept])
    rare = visit.said("rare")
    below = int(rare) if rare.isdigit() and int(rare) else 0
    _put(block, "collapse", {"below": below, "into": visit.said("other") or "other"} if below else None)
