"""What every screen shows besides its own: the road, the work under way, the same as a command, and refusals."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, final
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.figures import render, template_text
from hedgerow.studio.folder import Folder, TextFile
from hedgerow.studio.work import Work

if TYPE_CHECKING:
    from hedgerow.api.job import Job
    from hedgerow.pipeline import PreparedJob

ROAD = {
    "tables": "1 Tables",
    "schema": "2 Schema",
    "uses": "3 What for",
    "budget": "4 Budget",
    "run": "5 Run",
    "result": "6 Result",
    "ledger": "7 Ledger",
}
ASIDE = {"experiments": "Experiments", "compare": "Compare"}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .-]{0,80}\.toml")


@final
@dataclass(frozen=True)
class Visit:
    """One request: the folder, the job, what was asked and what was filled in."""

    folder: Folder
    root: str
    method: str
    path: Mapping[str, str]
    query: Mapping[str, list[str]]
    form: Mapping[str, list[str]]
    memory: Any
    refusal: str = ""

    @classmethod
    def of(cls, request: Request, body: bytes) -> "Visit":
        """The visit that a request is."""
        read = {"keep_blank_values": True, "max_num_fields": 5000, "errors": "replace"}
        try:
            form = parse_qs(body.decode("utf-8", "replace"), **read)  # type: ignore[arg-type]
        except ValueError:
            raise JobError(f"The form has too many fields. {NOTHING}") from None
        query = parse_qs(request.url.query, **read)  # type: ignore[arg-type]
        state = request.app.state
        return cls(state.folder, request.scope["root_path"], request.method, request.path_params, query, form, state)

    def said(self, name: str, default: str = "") -> str:
        """What was filled in under a name, or stands in the address."""
        found = self.form.get(name) or self.query.get(name) or [default]
        return found[-1].replace("\r\n", "\n").strip()

    def listed(self, name: str) -> list[str]:
        """All that was chosen under a name."""
        return [v for v in self.form.get(name, []) if v]

    @cached_property
    def name(self) -> str:
        """The job file that the address names."""
        name = self.path.get("job", "")
        if not _NAME.fullmatch(name):
            raise JobError(
                f"{name!r} is not the name of a job file: letters, digits and -, ending in .toml. {NOTHING}"
            )
        return name

    @cached_property
    def file(self) -> TextFile:
        """That job file as it stands on disk."""
        return self.folder.read(self.name)

    def shown_file(self, name: str = "") -> TextFile:
        """A file, if it is as the page that sent this form has shown it."""
        file, seen = (self.folder.read(name) if name else self.file), self.said("digest")
        if seen != file.digest:
            self.folder.write(TextFile(file.path, seen, there=True), "")  # refuses: it was changed meanwhile
        return file

    @property
    def tables(self) -> dict[str, Any]:
        """What the job file says, mistakes and all."""
        return self.file.tables

    def part(self, name: str) -> dict[str, Any]:
        """A table of the job file; empty where it is none."""
        found = self.tables.get(name, {})
        return found if isinstance(found, dict) else {}

    @cached_property
    def job(self) -> "Job":
        """The job, if the file has no mistake and all that it names lies in the folder."""
        from hedgerow.api.job import Job

        job = Job.load(self.file.path)
        parts = [p.table for p in (job.confidential, job.public, job.target) if p is not None]
        for path in (*parts, job.out):
            self.folder.place(str(path))
        return job

    @property
    def schema_name(self) -> str:
        """The schema file that the job names."""
        return str(self.part("schema").get("file", "schema.toml"))

    @property
    def work(self) -> Work:
        """The work of this folder."""
        return Work(self.folder)

    def at(self, screen: str) -> str:
        """The address of a screen of this job."""
        return f"{self.root}/job/{quote(self.name)}/{screen}"

    def go(self, screen: str) -> Response:
        """On to a screen, after a form."""
        return RedirectResponse(self.at(screen), 303)


def prepared_of(visit: Visit) -> "PreparedJob":
    """The job with everything public read and checked; kept while the files it rests on stay as they are."""
    cache: dict[Any, PreparedJob] = visit.memory.__dict__.setdefault("prepared", {})
    key = _rests_on(visit)
    if key not in cache:
        while len(cache) >= 4:
            cache.pop(next(iter(cache)), None)
        cache[key] = visit.job.prepare()
    return cache[key]


def _rests_on(visit: Visit) -> tuple[Any, ...]:
    """All that a prepared job depends on, in short."""
    job, facts = visit.job, list[Any]()
    for part in (job.public, job.target):
        if part is not None:
            path = visit.folder.place(str(part.table))
            facts += [str(path), path.stat().st_mtime_ns if path.exists() else 0]
    out = job.out.with_name(job.out.name + "-rehearsal") / "rehearsal.json"
    facts.append(out.stat().st_mtime_ns if out.exists() else 0)
    return (visit.file.text, visit.folder.read(visit.schema_name).text, *facts)


def _known(visit: Visit) -> "PreparedJob | None":
    """The prepared job if some screen has asked for it: what every page shows must not wait for it."""
    cache = visit.memory.__dict__.get("prepared")
    if not cache:
        return None
    try:
        found: PreparedJob | None = cache.get(_rests_on(visit))
        return found
    except HedgerowError:
        return None


def gone(visit: Visit) -> set[str]:
    """The screens of the road that are behind one: what they are for is there."""
    prepared, out = _known(visit), visit.folder.place(str(visit.part("job").get("out", "release")))
    verified = visit.work.latest("verify", visit.name)
    stands = (out / "MANIFEST.json").is_file()
    there = {
        "tables": _is_whole(visit),
        "schema": visit.folder.read(visit.schema_name).there,
        "uses": bool(visit.tables.get("use")),
        "budget": prepared is not None and prepared.rehearsal is not None,
        "run": stands,
        "result": stands and verified is not None and verified.code == 0 and verified.began >= _time(out),
    }
    return {screen for screen, done in there.items() if done}


def _is_whole(visit: Visit) -> bool:
    """Whether the job says all that a job must."""
    try:
        return visit.job is not None
    except HedgerowError:
        return False


def _time(out: Path) -> float:
    return (out / "MANIFEST.json").stat().st_mtime


def spending(visit: Visit) -> dict[str, Any]:
    """What the ledger leaves and what the next run takes, for the bar on every page; no ledger far away is asked."""
    prepared = _known(visit)
    if prepared is None or "://" in prepared.job.ledger:
        return {}
    takes = f"{float(prepared.job.budget.epsilon):g}"
    done = (prepared.job.out / "MANIFEST.json").is_file()
    try:
        left = prepared.left()
        cap = prepared.ledger().account(prepared.job.table)[0] if left else None
    except HedgerowError:
        return {}
    if left is None or cap is None or not cap.epsilon:
        return {"said": f"no cap on epsilon; {takes} {'promised' if done else 'planned'}", "spent": 0, "planned": 0}
    now, after = (float(x / cap.epsilon) for x in left)
    said = f"epsilon {float(left[0]):g} of {float(cap.epsilon):g} left"
    said += "" if done else f", {takes} planned" + (": too much" if after < 0 else "")
    return {
        "said": said,
        "spent": 100 * max(0.0, 1 - now),
        "planned": 0 if done else 100 * max(0.0, now - max(after, 0.0)),
    }


Screen = Callable[[Visit], Response]


def shown(screen: Screen, visit: Visit) -> Response:
    """What a screen shows; what it refuses is shown on the screen as it stands, in the words of the command line."""
    try:
        return screen(visit)
    except HedgerowError as refusal:
        if visit.method == "POST" and visit.path.get("job"):
            again = Visit(visit.folder, visit.root, "GET", visit.path, {}, {}, visit.memory, str(refusal))
            try:
                found = screen(again)
                found.status_code = 409 if found.status_code == 200 else found.status_code
                return found
            except HedgerowError:
                pass
        return _bare(visit, str(refusal))


def _bare(visit: Visit, refusal: str) -> Response:
    """A refusal alone: the screen cannot be shown."""
    try:
        found = page(visit, "refused.html.j2", "", refusal=refusal)
        found.status_code = 400
        return found
    except HedgerowError:
        return HTMLResponse(render("hedgerow.studio", "lost.html.j2", {"root": visit.root, "refusal": refusal}), 400)


def page(visit: Visit, template: str, screen: str, *, same: str = "", python: str = "", **names: Any) -> Response:
    """A screen of a job.

    ``same`` and ``python`` are the command and the lines of Python that do the same.
    """
    refusal = names.pop("refusal", "") or visit.refusal
    job = visit.name if visit.path.get("job") else ""
    tasks = visit.work.all(job) if job else []
    shared = {
        "root": visit.root,
        "job": job,
        "jobs": visit.folder.jobs(),
        "screen": screen,
        "road": ROAD,
        **(_told(visit) if job and visit.file.there else _NOTHING_TOLD),
        "aside": ASIDE,
        "refusal": refusal,
        "digest": visit.file.digest if job else "",
        "state": state_of(visit) if job else "",
        "tasks": [t for t in tasks if t.state == "running"],
        "same": same,
        "python": python,
        "here": str(visit.folder.root),
    }
    return HTMLResponse(render("hedgerow.studio", template, shared | names))


_NOTHING_TOLD: dict[str, Any] = {"gone": set(), "spending": {}}


def _told(visit: Visit) -> dict[str, Any]:
    """How far the road is gone and what is left; nothing while the file of the job cannot be read."""
    try:
        return {"gone": gone(visit), "spending": spending(visit)}
    except HedgerowError:
        return _NOTHING_TOLD


def state_of(visit: Visit) -> str:
    """What a page depends on, in short: when it changes, the page is no longer true."""
    facts: list[Any] = [visit.file.digest]
    try:
        facts.append(visit.folder.read(visit.schema_name).digest)
        out = visit.folder.place(str(visit.part("job").get("out", "release")))
        for path in (out / "MANIFEST.json", out.with_name(out.name + "-rehearsal") / "rehearsal.json"):
            facts.append(path.stat().st_mtime_ns if path.exists() else 0)
        facts.append(out.with_name(out.name + ".run").exists())
    except HedgerowError:
        pass
    facts += [(t.kind, t.state, t.code) for t in visit.work.all(visit.name)]
    return sha256(json.dumps(facts).encode()).hexdigest()[:16]


def state(visit: Visit) -> Response:
    """For the script: whether the page is still true, and how far the work is."""
    running = [t.to_json() for t in visit.work.all(visit.name) if t.state == "running"]
    return JSONResponse({"state": state_of(visit), "work": running})


def home(visit: Visit) -> Response:
    """The folder: its jobs, and the way to a new one."""
    return page(visit, "home.html.j2", "", tables=visit.folder.tables(), same=f"hedgerow studio {visit.folder.root}")


def new(visit: Visit) -> Response:
    """On to the tables of a job that is not there yet."""
    name = visit.said("name") or "job.toml"
    name = name if name.endswith(".toml") else f"{name}.toml"
    return RedirectResponse(f"{visit.root}/job/{quote(name, safe='')}/tables", 303)


def stop(visit: Visit) -> Response:
    """Stop work that is under way, as Ctrl-C does."""
    task = visit.work.latest(visit.said("kind"), visit.name) if re.fullmatch(r"[a-z]+", visit.said("kind")) else None
    if task is not None:
        task.cancel()
    back = visit.said("back")
    return visit.go(back if back in {**ROAD, **ASIDE} else "run")


def style(visit: Visit) -> Response:
    """The one style sheet: that of the reports, and the studio's own."""
    text = template_text("hedgerow.figures", "style.css.j2") + template_text("hedgerow.studio", "studio.css")
    return Response(text, media_type="text/css")


def icon(visit: Visit) -> Response:
    """The picture in the tab: a hedge."""
    return Response(template_text("hedgerow.studio", "icon.svg"), media_type="image/svg+xml")


def script(visit: Visit) -> Response:
    """The one script."""
    return Response(template_text("hedgerow.studio", "studio.js"), media_type="text/javascript")
