"""Screen 7, the ledger; and beside the road: experiments on the public table, and two files compared."""

import json
from pathlib import Path
from typing import Any

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.job import known_keys
from hedgerow.public import document
from hedgerow.studio.page import Visit, page
from hedgerow.studio.tables import protects, recipe_of
from hedgerow.uses import Coefficient, Table, use_from_toml

_FACTORS = 3
_OUT = "comparison"


def ledger(visit: Visit) -> Response:
    """What was promised on which table, the caps, every entry."""
    if visit.method == "POST":
        return _cap(visit)
    names: dict[str, Any] = {"problem": "", "tables": [], "entries": [], "table": "", "there": False, "place": ""}
    try:
        job = visit.job
        names |= {"table": job.table, "place": _shown_place(job.ledger), "there": _is_there(job.ledger)}
        if names["there"]:
            code, found, said = visit.work.ask(["ledger", "show", "--json"], HEDGEROW_LEDGER=job.ledger)
            names |= json.loads(found) if code == 0 else {"problem": said}
    except HedgerowError as refusal:
        names["problem"] = str(refusal)
    table, url = names["table"] or "TABLE", f" --url {names['place']}" if names["place"] else ""
    return page(
        visit,
        "ledger.html.j2",
        "ledger",
        same=f"hedgerow ledger show{url}\nhedgerow ledger cap {table} --epsilon 3{url}\nhedgerow ledger verify{url}",
        python=f"import hedgerow as hr\nfound = hr.Job.load({visit.name!r}).prepare()\nfound.books, found.left()",
        **names,
    )


def _shown_place(url: str) -> str:
    """The address of a ledger without a password in it."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if mark else url


def _is_there(url: str) -> bool:
    return "://" in url or Path(url).exists()


def _cap(visit: Visit) -> Response:
    """Set the cap of the job's table, as ``hedgerow ledger cap`` does."""
    job = visit.job
    words = ["ledger", "cap", job.table, "--epsilon", visit.said("epsilon"), "--delta", visit.said("delta") or "0"]
    if not visit.said("epsilon") or visit.said("epsilon").startswith("-"):
        raise JobError(f"Say the most that all runs together may promise, such as 3. {NOTHING}")
    code, _, said = visit.work.ask([*words, "--new"], HEDGEROW_LEDGER=job.ledger)
    if code:
        raise JobError(said)
    return visit.go("ledger")


def experiments(visit: Visit) -> Response:
    """Which settings matter, on the public table: a grid by form, its results, its figures."""
    name = f"{Path(visit.name).stem}-grid.toml"
    if visit.method == "POST":
        return _experiment(visit, name)
    file, task = visit.folder.read(name), visit.work.latest("experiment", visit.name)
    recipe = recipe_of(visit)
    keys = known_keys()
    settings = ["budget.epsilon", "job.recipe", *(f"{recipe}.{k}" for k in keys.get(recipe, ()))]
    problem = ""
    try:
        grid = file.tables if file.there else {}
    except HedgerowError as refusal:
        grid, problem = {}, str(refusal)
    out = str(grid.get("experiment", {}).get("out", ""))
    return page(
        visit,
        "experiments.html.j2",
        "experiments",
        grid=grid,
        grid_name=name,
        grid_digest=file.digest,
        there=file.there,
        settings=settings,
        slots=range(_FACTORS),
        uses=[str(u.get("name", "")) for u in visit.tables.get("use", []) if _measured(u)],
        problem=problem,
        task=task,
        found=task.json() if task and task.state == "done" else None,
        figures=_figures(visit, out),
        same=f"hedgerow experiment {name}",
        python=f"from hedgerow.experiment.study import experiment\nstudy = experiment({name!r})\nstudy.to_json()",
    )


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
        return {"name": use.name, "model": use.formula, "terms": [use.term]}
    return {}


def _level(said: str) -> Any:
    try:
        return json.loads(said)
    except ValueError:
        return said


def _experiment(visit: Visit, name: str) -> Response:
    """Write the grid that the form says, and run it; or run the one that is there."""
    file = visit.folder.read(name)
    if visit.said("act") == "write":
        factors = []
        for i in range(_FACTORS):
            setting = visit.said(f"set{i}")
            levels = [_level(x.strip()) for x in visit.said(f"levels{i}").split(",") if x.strip()]
            if setting and len(levels) < 2:
                raise JobError(f"{setting} needs two levels at least, with commas between. {NOTHING}")
            if setting:
                factors.append({"name": setting.partition(".")[2], "set": setting, "levels": levels})
        chosen = visit.listed("measure")
        measures = [m for u in visit.tables.get("use", []) if (m := _measured(u)) and m["name"] in chosen]
        if not factors or not measures:
            raise JobError(f"Choose a setting with its levels, and what is measured. {NOTHING}")
        seeds = visit.said("seeds", "3")
        about = {
            "job": visit.name,
            "out": f"{Path(visit.name).stem}-study",
            "seeds": int(seeds) if seeds.isdigit() else 3,
        }
        drawn: dict[str, Any] = {"lines": factors[0]["name"]}
        if len(factors) > 1:
            drawn["panels"] = factors[1]["name"]
        data = {"experiment": about, "factor": factors, "measure": measures, "figure": [drawn]}
        if visit.said("digest") != file.digest:
            raise JobError(f"{name} was changed meanwhile. Look at it again. {NOTHING}")
        file = visit.folder.write(file, document(data))
    out = str(file.tables.get("experiment", {}).get("out", "study"))
    visit.folder.place(out)
    visit.work.start("experiment", visit.name, ["experiment", name, "--json"], drawn=f"{out}/figures")
    return visit.go("experiments")


def compare(visit: Visit) -> Response:
    """How close a synthetic file is to a PUBLIC one."""
    if visit.method == "POST":
        return _compare(visit)
    task = visit.work.latest("compare", visit.name)
    release = str(visit.part("job").get("out", "release"))
    public = str(visit.part("public").get("table", "PUBLIC"))
    tables = [t for t in visit.folder.tables() if not protects(visit.folder, visit.folder.place(t))]
    others = [*([release] if (visit.folder.root / release / "statement.json").exists() else []), *tables]
    return page(
        visit,
        "compare.html.j2",
        "compare",
        tables=tables,
        others=others,
        public=public,
        task=task,
        drawn=f"{_OUT}/comparison.html" if task and task.state == "done" else "",
        same=f"hedgerow compare {public} {release} --out {_OUT}/comparison.html\n"
        f"hedgerow steward compare {visit.name}   # against the confidential table; inside only",
        python=f"import hedgerow as hr\nhr.Release.read({release!r}).compare({public!r})",
    )


def _compare(visit: Visit) -> Response:
    a, b = visit.said("a"), visit.said("b")
    for name in (a, b):
        if not name or protects(visit.folder, visit.folder.place(name)):
            raise JobError(
                f"{name or 'Nothing'} cannot be compared here: this page takes PUBLIC and synthetic files, and shows "
                f"them exactly. Against the confidential table: hedgerow steward compare {visit.name}. {NOTHING}"
            )
    (visit.folder.root / _OUT).mkdir(exist_ok=True)
    words = ["compare", a, b, "--out", f"{_OUT}/comparison.html"]
    words += ["--model", visit.said("model")] if visit.said("model") else []
    visit.work.start("compare", visit.name, words, drawn=_OUT)
    return visit.go("compare")
