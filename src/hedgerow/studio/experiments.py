"""Beside the road: which settings matter. A grid by form, played on the PUBLIC table; its results and figures."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.job import known_keys
from hedgerow.public import document
from hedgerow.studio.folder import ChangedMeanwhile
from hedgerow.studio.page import Visit, command, page, prepared_of
from hedgerow.studio.tables import recipe_of
from hedgerow.uses import Coefficient, Table, use_from_toml

_FACTORS = 3
_NONE: dict[str, Any] = {"set": "", "levels": []}
_HEADS = {
    "measure": "measured",
    "effect": "setting, or two together",
    "share": "share of the variation",
    "by_chance": "by chance alone",
    "largest_difference": "largest difference in error",
}
"""The columns of the effects that are shown, and what they are called."""


def screen(visit: Visit) -> Response:
    """The experiments of a job."""
    name = f"{Path(visit.name).stem}-grid.toml"
    return _act(visit, name) if visit.method == "POST" else _show(visit, name)


def _show(visit: Visit, name: str) -> Response:
    file, task = visit.folder.read(name), visit.work.latest("experiment", visit.name)
    problem = ""
    try:
        grid = file.tables if file.there else {}
    except HedgerowError as refusal:
        grid, problem = {}, str(refusal)
    about = _part(grid, "experiment")
    found = task.json() if task and task.state == "done" else None
    return page(
        visit,
        "experiments.html.j2",
        "experiments",
        factors=[_NONE | f for f in [*_parts(grid, "factor"), *({} for _ in range(_FACTORS))][:_FACTORS]],
        grid_name=name,
        grid_digest=file.digest,
        there=file.there,
        seeds=about.get("seeds", 3),
        by=next((m.get("by") for m in _parts(grid, "measure") if m.get("by")), "")
        if file.there
        else _usual_by(visit),
        chosen=[m.get("name") for m in _parts(grid, "measure")] if file.there else None,
        settings=list(_settings(visit)),
        columns=_columns(visit),
        uses=[(m["name"], "model" in m) for u in _parts(visit.tables, "use") if (m := _measured(u))],
        left_out=[str(u.get("name", "")) for u in _parts(visit.tables, "use") if not _measured(u)],
        problem=problem,
        task=task,
        found=found,
        stale=task is not None
        and any(p.exists() and p.stat().st_mtime > task.began for p in _rests_on(visit, file.path)),
        heads=_HEADS.values(),
        effects=[_shown(e) for e in found["effects"]] if found else [],
        figures=_figures(visit, str(about.get("out", ""))),
        same=f"$EDITOR {shlex.quote(name)}   # a grid, as the form writes it"
        + f"\n{command('experiment', name)}" * file.there,
        python=f"from hedgerow.experiment.study import experiment\nstudy = experiment({name!r})\nstudy.to_json()"
        if file.there
        else "",
    )


def _rests_on(visit: Visit, grid: Path) -> tuple[Path, ...]:
    """The files by whose words a study is made."""
    return visit.file.path, grid, visit.folder.read(visit.schema_name).path


def _part(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _parts(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = data.get(name)
    return [x for x in found if isinstance(x, dict)] if isinstance(found, list) else []


def _settings(visit: Visit) -> Iterator[tuple[str, str]]:
    """What can be varied, and what it is now."""
    recipe, said = recipe_of(visit), visit.part("budget").get("epsilon", "")
    yield "budget.epsilon", f"{said}"
    yield "job.recipe", recipe
    try:
        settled: Any = visit.job.recipe
    except HedgerowError:
        settled = None
    for key in known_keys().get(recipe, ()):
        now = getattr(settled, key, None)
        yield f"{recipe}.{key}", json.dumps(now) if isinstance(now, bool | int | float | str) and now != "" else ""


def _columns(visit: Visit) -> list[str]:
    """The columns in whose groups a model may be fitted anew."""
    try:
        return [c.name for c in prepared_of(visit).schema.columns if not c.size_known or c.size <= 200]
    except HedgerowError:
        return []


def _usual_by(visit: Visit) -> str:
    """The column by which a use of the job fits its model."""
    by = [u.get("by") for u in _parts(visit.tables, "use") if "formula" in u]
    return next((str(b[0]) for b in by if isinstance(b, list) and b), "")


def _shown(effect: dict[str, Any]) -> list[str]:
    """A line of the effects, as people read it."""
    share = "not known: more than one seed is needed"
    chance = effect["by_chance"]
    return [
        str(effect["measure"]),
        str(effect["effect"]),
        f"{100 * effect['share']:.1f} %",
        share if chance is None or chance != chance else f"{100 * chance:.1f} %",  # NaN is no number
        f"{effect['largest_difference']:.3g}",
    ]


def _figures(visit: Visit, out: str) -> list[str]:
    if not out:
        return []
    try:
        return [visit.folder.name(p) for p in sorted((visit.folder.place(out) / "figures").glob("*.svg"))]
    except HedgerowError:
        return []


def _measured(data: dict[str, Any]) -> dict[str, Any]:
    """A use of the job as a measure of a grid; empty where a grid cannot measure it."""
    try:
        use = use_from_toml(data)
    except HedgerowError:
        return {}
    if isinstance(use, Table):
        return {"name": use.name, "columns": list(use.columns)}
    if isinstance(use, Coefficient):
        against = {"reference": {use.term.partition("[")[0]: use.reference}} if use.reference else {}
        return {"name": use.name, "model": use.formula, "terms": [use.term], **against}
    return {}


def _level(said: str) -> Any:
    try:
        return json.loads(said)
    except ValueError:
        return said


def _act(visit: Visit, name: str) -> Response:
    """Write the grid that the form says, and run it; or run the one that is there."""
    file = visit.folder.read(name)
    if visit.said("act") == "write":
        factors = list(_asked_factors(visit))
        chosen, by = visit.listed("measure"), visit.said("by")
        measures = [m for u in _parts(visit.tables, "use") if (m := _measured(u)) and m["name"] in chosen]
        if not factors or not measures:
            raise JobError(f"Choose a setting with its levels, and what is measured. {NOTHING}")
        measures = [{**m, "by": by} if by and "model" in m else m for m in measures]
        seeds = visit.said("seeds", "3")
        if not seeds.isdigit() or not 1 <= int(seeds) <= 100:
            raise JobError(f"{seeds!r} seeds: give a whole number from 1 to 100. {NOTHING}")
        about = {"job": visit.name, "out": f"{Path(visit.name).stem}-study", "seeds": int(seeds)}
        data = {"experiment": about, "factor": factors, "measure": measures}
        if drawn := list(_drawn(factors, measures)):
            data["figure"] = drawn
        if visit.said("digest") != file.digest:
            raise ChangedMeanwhile(f"{name} was changed meanwhile. Look at it again. {NOTHING}")
        file = visit.folder.write(file, document(data))
    out = str(_part(file.tables, "experiment").get("out", "study"))
    visit.folder.place(out)
    visit.work.start("experiment", visit.name, ["experiment", name, "--json"], drawn=f"{out}/figures")
    return visit.go("experiments")


def _asked_factors(visit: Visit) -> Iterator[dict[str, Any]]:
    for i in range(_FACTORS):
        setting = visit.said(f"set{i}")
        levels = [_level(x.strip()) for x in visit.said(f"levels{i}").split(",") if x.strip()]
        if setting and len(levels) < 2:
            raise JobError(f"{setting} needs two levels at least, with commas between. {NOTHING}")
        if setting:
            yield {"name": setting.partition(".")[2], "set": setting, "levels": levels}


def _drawn(factors: list[dict[str, Any]], measures: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The papers' figures: the error against a number; and coefficients by group, a line for each level."""
    numbers = [f["name"] for f in factors if all(type(x) in (int, float) and x > 0 for x in f["levels"])]
    others = [f["name"] for f in factors if f["name"] not in numbers[:1]]
    for m in measures:
        if numbers:
            lines = {"lines": others[0]} if others else {}
            yield {"measure": m["name"], "against": numbers[0], **lines}
        if m.get("by"):
            panels = {"panels": factors[1]["name"]} if len(factors) > 1 else {}
            yield {"measure": m["name"], "lines": factors[0]["name"], **panels}
