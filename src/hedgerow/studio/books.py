"""Screen 7, the ledger; and beside the road: two files compared."""

import json
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.responses import Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.studio.page import Visit, command, page
from hedgerow.studio.tables import kind_of, protects


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
    return page(
        visit,
        "ledger.html.j2",
        "ledger",
        same=_same(names["table"] or "TABLE", names["place"], there=names["there"]),
        decimal=_decimal,
        python=f"import hedgerow as hr\nfound = hr.Job.load({visit.name!r}).prepare()\nfound.books, found.left()",
        **names,
    )


def _same(table: str, place: str, *, there: bool) -> str:
    """The commands. An address is named by what holds it whole: who may write there is not on the page."""
    served, new = "://" in place, [] if there else ["--new"]
    url = ["--url", place] if place and not served else []
    lines = [command("ledger", "cap", table, "--epsilon", "3", *new, *url)]
    if there:
        lines = [command("ledger", "show", *url), *lines, command("ledger", "verify", *url)]
    if served:
        lines.insert(0, "export HEDGEROW_LEDGER=...   # the whole address: user and password are not shown here")
    return "\n".join(lines)


def _decimal(said: Any) -> str:
    """A number of the ledger, which keeps fractions, as people write it.

    >>> _decimal("1/2"), _decimal("3")
    ('0.5', '3')
    """
    try:
        return f"{float(Fraction(str(said))):g}"
    except (ValueError, ZeroDivisionError):
        return str(said)


def _shown_place(url: str) -> str:
    """The address of a ledger without who may write there: no user, no password, no options that could hold one.

    >>> _shown_place("postgresql://me:secret@host/books?password=secret"), _shown_place("/here/ledger.db")
    ('postgresql://host/books', '/here/ledger.db')
    """
    scheme, mark, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if mark else url


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
    public = str(visit.part("public").get("table", ""))
    named = bool(visit.part("confidential").get("table"))
    tables = [t for t in visit.folder.tables() if named and not protects(visit.folder, visit.folder.place(t))]
    stands = (visit.folder.root / release / "statement.json").exists()
    if kind_of(visit) == "counts":  # a line of these is no record
        tables = [t for t in tables if not t.startswith(f"{release}-copies/")]
    others = [*([release] if stands and kind_of(visit) != "counts" else []), *tables]
    asked = task.facts.get("asked") if task else None
    first = next((t for t in others if t != public), "")
    asked = asked or {"a": public, "b": first, "model": _usual_model(visit)}
    same = shlex.join(["hedgerow", *_words(visit, **asked)]) if public and asked["b"] else "hedgerow compare --help"
    inside = f"\n{command('steward', 'compare', visit.name)}   # against the confidential table; inside only"
    return page(
        visit,
        "compare.html.j2",
        "compare",
        tables=tables,
        others=others,
        asked=asked,
        task=task,
        drawn=task.facts["drawn"] if task and task.state == "done" else "",
        same=same + inside * stands,
        python=f"import hedgerow as hr\nhr.Release.read({release!r}).compare({public!r}{_model_in_python(asked)})"
        if public and stands
        else "",
        stands=stands,
        named=named,
        counted=stands and release not in others,
    )


def _usual_model(visit: Visit) -> str:
    """The model of a use, as the one that most likely is to be compared."""
    uses = visit.tables.get("use", [])
    return next((str(u["formula"]) for u in uses if isinstance(u, dict) and "formula" in u), "")


def _model_in_python(asked: dict[str, str]) -> str:
    return f", model={asked['model']!r}" if asked["model"] else ""


def _drawn(visit: Visit) -> str:
    return f"{Path(visit.name).stem}-comparison.html"


def _words(visit: Visit, a: str, b: str, model: str) -> list[str]:
    return ["compare", a, b, "--out", _drawn(visit), *(["--model", model] if model else [])]


def _compare(visit: Visit) -> Response:
    a, b, model = visit.said("a"), visit.said("b"), visit.said("model")
    if not visit.part("confidential").get("table"):
        raise JobError(f"{visit.name} does not say yet which table is confidential, so none is compared. {NOTHING}")
    offered = [*visit.folder.tables(), str(visit.part("job").get("out", "release"))]
    for name in (a, b):
        if name not in offered or protects(visit.folder, visit.folder.place(name)):
            raise JobError(
                f"{name or 'Nothing'} cannot be compared here: this page takes PUBLIC and synthetic files, and shows "
                f"them exactly. Against the confidential table: hedgerow steward compare {visit.name}. {NOTHING}"
            )
    if (visit.folder.root / _drawn(visit)).is_symlink():
        raise JobError(
            f"{_drawn(visit)} is a link, and no link is followed where a page is written. Take it away. {NOTHING}"
        )
    asked = {"a": a, "b": b, "model": model}
    visit.work.start("compare", visit.name, _words(visit, **asked), drawn=_drawn(visit), asked=asked)
    return visit.go("compare")
