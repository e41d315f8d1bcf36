"""Screen 7, the ledger; and beside the road: two files compared."""

import json
import shlex
from pathlib import Path
from typing import Any

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.studio.page import Visit, page
from hedgerow.studio.tables import protects


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


def compare(visit: Visit) -> Response:
    """How close a synthetic file is to a PUBLIC one."""
    if visit.method == "POST":
        return _compare(visit)
    task = visit.work.latest("compare", visit.name)
    release = str(visit.part("job").get("out", "release"))
    public = str(visit.part("public").get("table", "PUBLIC"))
    tables = [t for t in visit.folder.tables() if not protects(visit.folder, visit.folder.place(t))]
    others = [*([release] if (visit.folder.root / release / "statement.json").exists() else []), *tables]
    asked = task.facts.get("asked") if task else None
    asked = asked or {"a": public, "b": release, "model": _usual_model(visit)}
    return page(
        visit,
        "compare.html.j2",
        "compare",
        tables=tables,
        others=others,
        asked=asked,
        task=task,
        drawn=task.facts["drawn"] if task and task.state == "done" else "",
        same=f"{task.command if task else shlex.join(['hedgerow', *_words(visit, **asked)])}\n"
        f"hedgerow steward compare {visit.name}   # against the confidential table; inside only",
        python=f"import hedgerow as hr\nhr.Release.read({release!r}).compare({public!r})",
    )


def _usual_model(visit: Visit) -> str:
    """The model of a use, as the one that most likely is to be compared."""
    uses = visit.tables.get("use", [])
    return next((str(u["formula"]) for u in uses if isinstance(u, dict) and "formula" in u), "")


def _drawn(visit: Visit) -> str:
    return f"comparison/{Path(visit.name).stem}.html"


def _words(visit: Visit, a: str, b: str, model: str) -> list[str]:
    return ["compare", a, b, "--out", _drawn(visit), *(["--model", model] if model else [])]


def _compare(visit: Visit) -> Response:
    a, b, model = visit.said("a"), visit.said("b"), visit.said("model")
    for name in (a, b):
        if not name or protects(visit.folder, visit.folder.place(name)):
            raise JobError(
                f"{name or 'Nothing'} cannot be compared here: this page takes PUBLIC and synthetic files, and shows "
                f"them exactly. Against the confidential table: hedgerow steward compare {visit.name}. {NOTHING}"
            )
        if name.startswith("-"):
            raise JobError(f"{name!r} is no name of a table. {NOTHING}")
    visit.folder.place(_drawn(visit)).parent.mkdir(exist_ok=True)
    asked = {"a": a, "b": b, "model": model}
    visit.work.start("compare", visit.name, _words(visit, **asked), drawn=_drawn(visit), asked=asked)
    return visit.go("compare")
