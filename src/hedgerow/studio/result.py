"""Screen 6: the release. The report, the files to publish, verify, more copies; the steward's page behind a switch.

A release is anybody's files: it is opened by commands in processes of their own, and its pages are shown in a frame
with an origin of its own.  Only what its manifest lists is shown or packed, and never a confidential table.
"""

import json
import tempfile
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.figures import script_hash
from hedgerow.studio.guard import file_policy
from hedgerow.studio.page import Visit, command, page
from hedgerow.studio.tables import URNS, kind_of, protects

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".csv": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".toml": "text/plain; charset=utf-8",
}
_SUFFIX, _INSIDE = "-INSIDE-ONLY", "uses.html"


def screen(visit: Visit) -> Response:
    """The release of a job."""
    return _act(visit) if visit.method == "POST" else _show(visit)


def _out(visit: Visit) -> Path:
    return visit.folder.place(str(visit.part("job").get("out", "release")))


def _show(visit: Visit) -> Response:
    out = _out(visit)
    name = visit.folder.name(out)
    there, given = (out / "statement.json").is_file(), _tables_of(visit, drawing=True)
    facts = _facts(out) if there else {}
    stated = [str(u.get("name", "")) for u in visit.tables.get("use", [])]
    names: dict[str, Any] = {
        "there": there,
        "needs": " who has " + " and ".join(f"the {part} table" for part, _ in given) if given else "",
        "out": name,
        "drawn": "counts" if kind_of(visit) == "counts" else "records",
        "facts": facts,
        "urn": facts.get("urn", False),
        "files": [(p.name, _size(p)) for p in published(visit)] if there else [],
        "verified": visit.work.latest("verify", visit.name),
        "sampled": visit.work.latest("sample", visit.name),
        "estimated": visit.work.latest("estimate", visit.name),
        "asked": _asked(visit),
        "figure": figure,
        "uses": stated if not facts.get("urn") and not facts.get("careers") else [],
        "exact": visit.work.latest("steward", visit.name),
        "switch": visit.memory.__dict__.get("inside") == visit.name,
        "exact_there": (out.with_name(out.name + _SUFFIX) / _INSIDE).is_file(),
        "rehearsal_there": (out.with_name(out.name + "-rehearsal") / "rehearsal.html").is_file(),
    }
    lines = [
        command("verify", name, *_needed(visit)),
        *([] if facts.get("urn") else [command("sample", name, "--copies", "1", "--seed", "1", *_needed(visit))]),
    ]
    if not there:
        lines = [f"{command('run', visit.name)}   # it asks first, unless --yes is added"]
    elif names["uses"]:
        use = names["asked"] if names["asked"] in names["uses"] else names["uses"][0]
        lines.append(command(*_estimate(visit, name, use)))
    if there:
        lines.append(f"{command('steward', 'report', visit.name)}   # against the confidential table; inside only")
    said = "".join(f", {part}={table!r}" for part, table in given)
    read = f"release = hr.Release.read({name!r})\nrelease.verify({said[2:]})\nrelease.{names['drawn']}\n"
    read += "" if facts.get("urn") else f"release.sample(1, seed=1{said})"
    return page(
        visit,
        "result.html.j2",
        "result",
        same="\n".join(lines),
        python=f"import hedgerow as hr\n{read if there else f'release = hr.Job.load({visit.name!r}).run()'}",
        **names,
    )


def _tables_of(visit: Visit, *, drawing: bool) -> list[tuple[str, str]]:
    """The public tables of the run; ``drawing``: those alone that drawing and estimating again take."""
    try:
        leans = visit.job.recipe.draws_from_public or bool(visit.job.uses)
    except HedgerowError:
        leans = True
    parts = [(p, visit.part(p).get("table")) for p in ("public", "target") if leans or not drawing or p == "target"]
    return [(part, str(table)) for part, table in parts if table]


def _needed(visit: Visit, *, drawing: bool = True) -> list[str]:
    """The same as options."""
    return [word for part, table in _tables_of(visit, drawing=drawing) for word in (f"--{part}", table)]


def _facts(out: Path) -> dict[str, Any]:
    """The promise that the statement names; read as plain JSON, shown as text."""
    try:
        said = json.loads((out / "statement.json").read_text("utf-8")[: 1 << 24])
        epsilon = f"{float(Fraction(said['promised']['epsilon'])):g}"
        shown = {"recipe": str(said["recipe"]), "epsilon": epsilon, "table": str(said["table"])}
        return shown | {"urn": shown["recipe"] in URNS, "careers": "careers" in said}
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        return {}


def published(visit: Visit) -> list[Path]:
    """What the manifest of the release lists, itself and its signature; no links, nothing confidential."""
    out = _out(visit)
    try:
        names = [*json.loads((out / "MANIFEST.json").read_text("utf-8"))["files"], "MANIFEST.json", "MANIFEST.sig"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    found = []
    for name in dict.fromkeys(names):
        path = out / name
        if path.parent == out and path.is_file() and not path.is_symlink() and not protects(visit.folder, path):
            found.append(path)
    return found


def _size(path: Path) -> str:
    n = path.stat().st_size
    return f"{n / 1e6:,.1f} MB" if n >= 1e5 else f"{n / 1e3:,.1f} kB"


def package(visit: Visit) -> Response:
    """The files to publish as one zip. The steward's own folder lies elsewhere and is never in it."""
    files, name = published(visit), _out(visit).name
    if not files:
        raise JobError(f"There is no release to pack in {name}. {NOTHING}")
    held = tempfile.TemporaryFile()  # noqa: SIM115  it is closed when all was sent
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as pack:
        for path in files:
            pack.write(path, f"{name}/{path.name}")
    size = held.tell()
    held.seek(0)

    def pieces() -> Iterator[bytes]:
        with held:
            while piece := held.read(1 << 16):
                yield piece

    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    heads = {"content-disposition": f'attachment; filename="{safe}.zip"', "content-length": str(size)}
    return StreamingResponse(pieces(), media_type="application/zip", headers=heads)


def file(visit: Visit) -> Response:
    """A file of the release, of its rehearsal, of a comparison or of a study, in a frame of its own origin."""
    name = visit.path["name"]
    path, out = visit.folder.place(name), _out(visit)
    beside = out.with_name(out.name + "-rehearsal")
    known = [*published(visit), *(beside / n for n in ("rehearsal.html", "rehearsal.json")), *shown_elsewhere(visit)]
    allowed = {p for p in known if p.resolve() == p}  # a link may lead to what is shown to nobody
    if path not in allowed or path.suffix not in _KINDS or not path.is_file() or protects(visit.folder, path):
        raise JobError(f"{name} is not among the files that the studio shows. {NOTHING}")
    return _framed(path)


def shown_elsewhere(visit: Visit) -> list[Path]:
    """Pages and figures that commands of this job have drawn: of a comparison, and of an experiment."""
    found = []
    for kind in ("compare", "experiment"):
        task = visit.work.latest(kind, visit.name)
        if task and (drawn := str(task.facts.get("drawn", ""))):
            place = visit.folder.place(drawn)
            found += sorted(place.glob("*.svg")) if place.is_dir() else [place]
    return found


def _framed(path: Path) -> Response:
    heads = {"content-security-policy": file_policy(script_hash())}
    return FileResponse(path, media_type=_KINDS[path.suffix], headers=heads)


def _act(visit: Visit) -> Response:
    act, name = visit.said("act"), visit.folder.name(_out(visit))
    tables = _needed(visit)
    if act == "verify":
        visit.work.start("verify", visit.name, ["verify", name, "--json", *tables])
    elif act == "sample":
        copies, seed = visit.said("copies", "1"), visit.said("seed", "1")
        if not copies.isdigit() or not seed.isdigit() or not 1 <= int(copies) <= 1000:
            raise JobError(f"Copies and seed are whole numbers, copies 1 to 1000. {NOTHING}")
        visit.work.start("sample", visit.name, ["sample", name, "--copies", copies, "--seed", seed, *tables])
    elif act == "estimate":
        use = visit.said("use")
        visit.work.start("estimate", visit.name, [*_estimate(visit, name, use), "--json"], use=use)
    elif act == "folder":
        return _other_folder(visit)
    elif act == "inside":
        visit.memory.__dict__["inside"] = visit.name if visit.said("switch") == "on" else None
    elif act == "exact":
        if visit.memory.__dict__.get("inside") != visit.name:
            raise JobError(f"The steward's page is behind its switch. Turn it on first. {NOTHING}")
        visit.work.start("steward", visit.name, ["steward", "report", visit.name], keep=False)
    return visit.go("result")


def figure(value: Any) -> str:
    """An estimate as people read it.

    >>> figure(46739.95), figure(58.6235), figure(0.0000977), figure(None)
    ('46,740', '58.62', '0.0001', '-')
    """
    if not isinstance(value, int | float):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"


def _asked(visit: Visit) -> str:
    """The use that the latest estimate is of."""
    task = visit.work.latest("estimate", visit.name)
    return str(task.facts.get("use", "")) if task else ""


def _estimate(visit: Visit, name: str, use: str) -> list[str]:
    """An estimate of a use, with its interval."""
    if use not in [str(u.get("name", "")) for u in visit.tables.get("use", [])]:
        raise JobError(f"There is no use {use!r} in the job. {NOTHING}")
    return ["estimate", name, "--use", use, *_needed(visit, drawing=False)]


def _other_folder(visit: Visit) -> Response:
    """The next release goes to a folder of its own."""
    from hedgerow.studio.folder import set_key

    name = visit.said("out")
    place = visit.folder.place(name)
    if place.exists() or place.parent != visit.folder.root:
        raise JobError(f"{name!r} is there already, or is not a plain name. Choose another. {NOTHING}")
    visit.folder.edit(visit.shown_file(), lambda document: set_key(document, "job", "out", name))
    return visit.go("run")


def inside(visit: Visit) -> Response:
    """The steward's exact page: only behind the switch, which is off whenever the studio starts."""
    out = _out(visit)
    path = out.with_name(out.name + _SUFFIX) / _INSIDE
    if visit.memory.__dict__.get("inside") != visit.name:
        raise JobError(f"The steward's page is behind its switch, on the page of the result. {NOTHING}")
    try:
        real = visit.folder.place(visit.folder.name(path))
        text = real.read_text("utf-8")
    except (OSError, UnicodeDecodeError, HedgerowError):
        raise JobError(f"There is no exact page of this release yet. {NOTHING}") from None
    if real != path or "INSIDE ONLY" not in text:
        raise JobError(f"{path.name} is not a page of the steward's. {NOTHING}")
    return HTMLResponse(text, headers={"content-security-policy": file_policy(script_hash())})
