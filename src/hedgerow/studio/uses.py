"""Screen 3: what the file must get right, each use with a tolerance in words; suggestions from the PUBLIC table."""

import json
import shlex
from collections.abc import Iterator, Mapping
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.public import BINNED, CodedTable, Column, Schema
from hedgerow.studio.page import Visit, command, page, prepared_of
from hedgerow.studio.tables import kind_of, recipe_of
from hedgerow.studio.use_forms import filled, forms, number
from hedgerow.uses import AbstractUse, use_from_toml

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

    from hedgerow.pipeline import PreparedJob

_SAMPLE, _MOST_CELLS, _MOST = 50_000, 60, 8
_FEW = 12  # different values up to which a number is taken for a code


def screen(visit: Visit) -> Response:
    """The intended uses of a job."""
    return _save(visit) if visit.method == "POST" else _show(visit)


def _show(visit: Visit) -> Response:
    uses, problem, suggested = list[dict[str, Any]](), "", list[dict[str, Any]]()
    columns: tuple[Column, ...] = ()
    for data in visit.tables.get("use", []):
        try:
            use = use_from_toml(data)
            uses.append(
                {"name": use.name, "what": use.what, "tolerance": tolerance_words(use), "said": use.tolerance}
            )
        except HedgerowError as wrong:
            uses.append({"name": str(data.get("name", "?")), "what": str(wrong), "tolerance": "", "said": ""})
    try:
        prepared = prepared_of(visit)
        columns = _usable(visit, prepared.schema)
        known = {u["name"] for u in uses}
        suggested = [s for s in suggestions(visit, prepared) if s["use"].name not in known]
    except HedgerowError as refusal:
        problem = str(refusal)
    return page(
        visit,
        "uses.html.j2",
        "uses",
        uses=uses,
        suggested=suggested,
        person=_people(visit)["person"],
        forms=forms(columns, **_people(visit)) if columns else [],
        problem=problem,
        same=f"$EDITOR {shlex.quote(visit.name)}   # [[use]]: docs/uses.md\n{command('plan', visit.name)}",
        python="\n".join(["import hedgerow as hr", f"job = hr.Job.load({visit.name!r})", "job.uses", "job.plan()"]),
    )


def _usable(visit: Visit, schema: Schema) -> tuple[Column, ...]:
    """The columns that a use can be about: a table of counts has those that were chosen for it."""
    chosen = visit.part(recipe_of(visit)).get("columns", []) if kind_of(visit) == "counts" else []
    return tuple(c for c in schema.columns if not chosen or c.name in chosen)


def _people(visit: Visit) -> dict[str, Any]:
    """By which column the release will say whose each row is, and whether it is a table of counts."""
    kind = kind_of(visit)
    named = visit.part("confidential" if kind == "careers" else "target").get("person", "")
    return {"person": str(named) if kind in ("careers", "attach") else "", "counts": kind == "counts"}


def tolerance_words(use: AbstractUse) -> str:
    """A tolerance as people say it.

    >>> tolerance_words(use_from_toml({"name": "sex", "columns": ["sex"], "tolerance": 0.02}))
    'within 2 in 100'
    """
    if use.within in ("total-variation", "relative"):
        return f"within {100 * use.tolerance:g} in 100"
    return f"within {use.size_in_words(use.tolerance)}"


def suggestions(visit: Visit, prepared: "PreparedJob") -> list[dict[str, Any]]:
    """Uses that the public table suggests, each with its reason."""
    settings = visit.part(recipe_of(visit))
    chosen, outcomes = ([str(c) for c in settings.get(key, [])] for key in ("columns", "outcomes"))
    table = prepared.public.relative
    if table is None:
        return [{"use": use, "why": "one of the columns", "data": json.dumps(use.to_toml())}
                for use in _plain(prepared.schema, chosen)]  # fmt: skip
    found = list[dict[str, Any]]()
    for data, why in _told(table, chosen, outcomes, counts=kind_of(visit) == "counts"):
        try:
            use = use_from_toml(data)
            use.check(prepared.schema)
        except HedgerowError:
            continue
        if not any(set(f["use"].groups) == set(use.groups) and f["use"].kind == use.kind for f in found):
            found.append({"use": use, "why": why, "data": json.dumps(data), "within": tolerance_words(use)})
    return found[:_MOST]


def _plain(schema: Schema, chosen: list[str]) -> Iterator[AbstractUse]:
    for c in schema.columns:
        if (not chosen or c.name in chosen) and c.size_known and c.size <= _MOST_CELLS:
            yield use_from_toml({"name": c.name, "columns": [c.name], "tolerance": 0.02})


def _told(
    table: CodedTable, chosen: list[str], outcomes: list[str], *, counts: bool
) -> Iterator[tuple[dict[str, Any], str]]:
    """Which columns go together in the public table, strongest first, as uses."""
    schema, rows = table.schema, min(table.rows, _SAMPLE)
    some = table.take(np.linspace(0, table.rows - 1, rows).astype(np.int64)) if table.rows > rows else table
    groups = [
        c for c in schema.columns if c.size_known and 2 <= c.size <= _MOST_CELLS and c.name in some.frame.columns
    ]
    if counts and chosen:
        groups = [c for c in groups if c.name in chosen]
    codes = {c.name: np.asarray(v, np.int64) for c in groups for v in some.codes((c.name,)).values()}
    groups = [c for c in groups if np.ptp(codes[c.name])]  # one value in all rows tells nothing
    private = [c for c in groups if c.name in chosen] or [c for c in groups if c.kind not in BINNED and c.size <= 12]
    if counts and len(chosen) > 1:
        yield {"name": " by ".join(chosen), "columns": chosen, "tolerance": 0.05}, "the table itself"
    for c in sorted(private, key=lambda c: c.size)[:2]:
        yield (
            {"name": c.name, "columns": [c.name], "tolerance": 0.02},
            ("a column of the table" if counts else "it is one of the columns to be written")
            if c.name in chosen
            else f"a column of few values, {c.size} cells in all",
        )
    pairs = [(_cramer(codes[a.name], codes[b.name], a.size, b.size), a, b)
             for a in private for b in groups if a.name != b.name]  # fmt: skip
    pairs.sort(key=lambda p: -p[0])
    for i, (v, a, b) in enumerate(pairs[: 3 if counts else 1]):
        most = "next to those above" if i else "most"
        yield (
            {"name": f"{b.name} by {a.name}", "columns": [b.name, a.name], "tolerance": 0.05},
            f"of the pairs looked at these go together {most} in the public table (Cramér's V {v:.2f})",
        )
    if not counts:
        yield from _of_numbers(some, private, codes, outcomes, given=bool(chosen))


def _of_numbers(
    some: CodedTable, private: list[Column], codes: Mapping[str, Any], outcomes: list[str], *, given: bool
) -> Iterator[tuple[dict[str, Any], str]]:
    """Means, a median and a coefficient of one number: an outcome that was named, or the finest, such as pay.

    ``given``: numbers stand in the target and are published as they are; what is attached tells groups apart.
    """
    numbers = [c for c in some.schema.columns if c.kind in ("integer", "real") and c.name in some.frame.columns]
    values = {c.name: some.numbers(c.name) for c in numbers}
    finest = {name: len(np.unique(v[np.isfinite(v)])) for name, v in values.items()}
    numbers = sorted((c for c in numbers if finest[c.name] > _FEW), key=lambda c: -finest[c.name])
    if not numbers:
        return
    y = next((c for c in numbers if c.name in outcomes), numbers[0])
    shares = {g.name: _explained(values[y.name], codes[g.name], g.size) for g in private if g.name != y.name}
    groups = sorted((g for g in private if g.name in shares), key=lambda g: -shares[g.name])
    for g in groups[:2]:
        yield (
            {"name": f"mean {y.name} by {g.name}", "kind": "mean", "of": y.name, "by": [g.name],
             "within": "relative", "tolerance": 0.03},
            f"{g.name} explains {100 * shares[g.name]:.1f} in 100 of the variance of {y.name} in the public table",
        )  # fmt: skip
    if not given:  # else it is not synthetic: its own figures are exact
        yield (
            {"name": f"median {y.name}", "kind": "quantile", "of": y.name, "at": 0.5, "within": "relative",
             "tolerance": 0.05},
            f"{y.name} is the number with the most different values in the public table",
        )  # fmt: skip
    listed = [g for g in groups if g.kind == "categorical" and len(g.values) >= 2]
    if listed and float(np.nanmin(values[y.name])) > 0:
        yield from _gap(
            y, min(listed, key=lambda c: len(c.values)), codes, [c.name for c in numbers if c is not y][:1]
        )


def _gap(y: Column, g: Column, codes: Mapping[str, Any], equal: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """What two groups differ by in a number, where they are alike in another, as a use.

    One of the two most frequent is what the model compares with, and that one has no coefficient: both are tried.
    """
    often = np.bincount(codes[g.name], minlength=g.size)[: len(g.values)].argsort()
    left = f"what is left of the difference in {y.name} among rows of equal {equal[0]}" if equal else ""
    for level in (g.values[int(i)] for i in (often[-2], often[-1])):
        yield (
            {"name": f"{y.name} gap of {g.name} {level}", "kind": "coefficient",
             "formula": f"ln({y.name}) ~ {' + '.join([g.name, *equal])}", "term": f"{g.name}[{level}]",
             "tolerance": 0.03},
            left or f"the difference in {y.name} as a logarithm, about a share",
        )  # fmt: skip


def _cramer(a: Any, b: Any, m: int, n: int) -> float:
    seen = np.bincount(a * n + b, minlength=m * n).reshape(m, n).astype(float)
    total = seen.sum()
    expected = np.outer(seen.sum(1), seen.sum(0)) / max(total, 1)
    chi = float((((seen - expected) ** 2) / np.maximum(expected, 1e-12))[expected > 0].sum())
    return sqrt(chi / max(total, 1) / max(min(m, n) - 1, 1))


def _explained(values: Any, group: Any, size: int) -> float:
    known = np.isfinite(values)
    v, g = values[known], group[known]
    rows = np.bincount(g, minlength=size)
    means = np.bincount(g, v, size) / np.maximum(rows, 1)
    whole = float(((v - v.mean()) ** 2).sum()) if len(v) else 0.0
    return float((rows * (means - v.mean()) ** 2).sum()) / whole if whole > 0 else 0.0


def _suggested(visit: Visit) -> dict[str, Any]:
    try:
        return dict(json.loads(visit.said("data")))
    except (ValueError, TypeError):
        raise JobError(f"This is no suggestion of the page. {NOTHING}") from None


def _save(visit: Visit) -> Response:
    file, act = visit.shown_file(), visit.said("act")
    place = int(visit.said("place")) if visit.said("place").isdigit() else -1
    had = visit.tables.get("use", [])
    if act in ("remove", "change"):
        if not 0 <= place < len(had):
            raise JobError(f"There is no such use any more. {NOTHING}")
        changed = (
            {**had[place], "tolerance": number(visit.said("tolerance"), "tolerance")} if act == "change" else None
        )
        if changed is not None:
            use_from_toml(changed)
    else:
        schema = prepared_of(visit).schema
        changed = _suggested(visit) if act == "suggested" else filled(visit, _usable(visit, schema), **_people(visit))
        use = use_from_toml(changed)
        use.check(schema)
        if use.name in {u.get("name") for u in had}:
            raise JobError(f"There is a use called {use.name!r} already. Give this one another name. {NOTHING}")

    def change(document: "TOMLDocument") -> None:
        import tomlkit

        if act == "remove":
            uses: Any = document["use"]
            del uses[place]
            if not len(uses):
                del document["use"]
        elif act == "change":
            document["use"][place]["tolerance"] = changed["tolerance"]  # type: ignore[index]
        else:
            if "use" not in document:
                document.append("use", tomlkit.aot())
            added = tomlkit.item(changed)
            added.trivia.indent = "\n"  # a blank line before it
            document["use"].append(added)

    visit.folder.edit(file, change)
    return visit.go("uses")
