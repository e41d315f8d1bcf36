"""What every screen shows besides its own: the road, the work under way, the same as a command, and refusals."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, final
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.figures import render, template_text
from hedgerow.studio.folder import ChangedMeanwhile, Folder, TextFile
from hedgerow.studio.work import Work

if TYPE_CHECKING:
    from hedgerow.api.job import Job
    from hedgerow.pipeline import PreparedJob
    from hedgerow.planning import Plan

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
    refused: Mapping[str, list[str]] = field(default_factory=dict)

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

    @cached_property
    def state(self) -> str:
        """What the page depends on as it was when it was asked for: what changes while it is drawn is news to it."""
        return state_of(self) if self.path.get("job") else ""

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
    with visit.memory.__dict__.setdefault("preparing", Lock()):  # two pages at once: the second waits, and has it
        if key not in cache:
            while len(cache) >= 4:
                cache.pop(next(iter(cache)), None)
            cache[key] = visit.job.prepare()
        return cache[key]


PATIENCE = 1.5  # seconds that a page waits for an outline; where loops are compiled first, it takes many more
_OUTLINING = Lock()


def outline_of(prepared: "PreparedJob") -> "Plan | None":
    """What a job will ask and need; None while that is being worked out, which goes on without the page."""
    refused: list[Exception] = []

    def work() -> None:
        try:
            with _OUTLINING:
                prepared.outline  # noqa: B018  it is kept
        except Exception as refusal:  # told by the page; a thread would write it to the terminal
            refused.append(refusal)

    if "outline" not in prepared.__dict__:
        worker = Thread(target=work, daemon=True)
        worker.start()
        worker.join(PATIENCE)
        if refused:
            raise refused[0]
    return prepared.__dict__.get("outline")


def _prepare_meanwhile(visit: Visit) -> None:
    """Prepare the job for the top of the page, which does not wait for it; a refusal is told where it matters."""

    def work() -> None:
        with suppress(HedgerowError, OSError):
            outline_of(prepared_of(visit))  # what the run's page will show is worked out while others are read

    if (
        visit.folder.read(visit.schema_name).there
        and not visit.memory.__dict__.setdefault("preparing", Lock()).locked()
    ):
        Thread(target=work, daemon=True).start()


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


def entries_of(prepared: "PreparedJob") -> tuple[Any, ...]:
    """What stands in the ledger of a job; looking begins none."""
    there = "://" in prepared.job.ledger or Path(prepared.job.ledger).exists()
    return tuple(prepared.ledger().entries()) if there else ()


def is_booked(prepared: "PreparedJob") -> bool:
    """Whether the promise of the run into the job's folder stands in the ledger: it has ended, or was begun."""
    from hedgerow.pipeline import Journal, is_finished

    if is_finished(prepared.job.out):
        return True
    try:
        run = json.loads((Journal.beside(prepared.job.out).folder / "run.json").read_text("utf-8"))["run"]
        return any(e.kind == "promise" and e.facts.get("run") == run for e in entries_of(prepared))
    except (OSError, ValueError, KeyError, TypeError, HedgerowError):
        return False


def spending(visit: Visit) -> dict[str, Any]:
    """What the ledger leaves and what the next run takes, for the bar on every page; no ledger far away is asked."""
    prepared = _known(visit)
    if prepared is None or "://" in prepared.job.ledger:
        return {}
    takes = f"{float(prepared.job.budget.epsilon):g}"
    done = is_booked(prepared)
    try:
        left = prepared.left()
        cap = prepared.ledger().account(prepared.job.table)[0] if left else None
    except HedgerowError:
        return {}
    if left is None or cap is None or not cap.epsilon:
        return {
            "said": f"epsilon {takes} {'promised' if done else 'planned'}; no cap is set",
            "spent": 0,
            "planned": 0,
        }
    now, after = (float(x / cap.epsilon) for x in left)
    said = f"epsilon {float(left[0]):g} of {float(cap.epsilon):g} left"
    if left[0] < 0:
        said = f"past the cap of epsilon {float(cap.epsilon):g} by {-float(left[0]):g}"
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
        return _drawn(screen, visit)
    except HedgerowError as refusal:
        if visit.method == "POST" and visit.path.get("job"):
            kept = {} if isinstance(refusal, ChangedMeanwhile) else visit.form  # else what the file says now is shown
            again = Visit(visit.folder, visit.root, "GET", visit.path, {}, {}, visit.memory, str(refusal), kept)
            try:
                found = _drawn(screen, again)
                found.status_code = 409 if found.status_code == 200 else found.status_code
                return found
            except HedgerowError:
                pass
        return _bare(visit, str(refusal))


def _drawn(screen: Screen, visit: Visit) -> Response:
    """A screen, after its state: work that ends while it is drawn must not leave it at "running" for good."""
    if visit.method == "GET":
        with suppress(HedgerowError):
            _ = visit.state
    return screen(visit)


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
    refusal = in_lines(names.pop("refusal", "") or visit.refusal)
    names |= {key: in_lines(names[key]) for key in ("problem", "wrong") if key in names}
    filled = names.pop("filled", {})
    kept = {k: v for k, v in (visit.refused or filled).items() if k != "digest"}
    job = visit.name if visit.path.get("job") else ""
    tasks = visit.work.all(job) if job else []
    begun = not job or visit.file.there or screen in ("", "tables")
    if not begun:
        names["problem"] = ""  # that there is no job is said once, with the way to it
    shared = {
        "root": visit.root,
        "job": job,
        "jobs": visit.folder.jobs(),
        "screen": screen,
        "road": ROAD,
        **(_told(visit) if job and visit.file.there else _NOTHING_TOLD),
        "aside": ASIDE,
        "refusal": refusal,
        "refused": json.dumps(kept) if kept else "",
        "waiting": bool(filled) and not visit.refused,
        "posted": bool(visit.refusal) or visit.method == "POST",
        "begun": begun,
        "digest": visit.file.digest if job else "",
        "state": visit.state,
        "tasks": [t for t in tasks if t.state == "running"],
        "same": same,
        "python": python,
        "here": str(visit.folder.root),
    }
    return HTMLResponse(render("hedgerow.studio", template, shared | names))


def in_lines(refusal: str) -> str:
    """The words of the command line for a page, which breaks lines by itself: a list keeps its lines.

    >>> in_lines("What is read is\\npublished. Two mistakes:\\n  line 1: no.\\n  line 2: no.")
    'What is read is published. Two mistakes:\\n  line 1: no.\\n  line 2: no.'
    """
    return re.sub(r"(?<=[^\s.:])\n(?=\S)", " ", refusal)


def command(*words: str) -> str:
    """A command of hedgerow as a shell takes it: names with blanks are quoted.

    >>> command("run", "my job.toml")
    "hedgerow run 'my job.toml'"
    """
    return shlex.join(["hedgerow", *words])


_NOTHING_TOLD: dict[str, Any] = {"gone": set(), "spending": {}, "known": True}


def _told(visit: Visit) -> dict[str, Any]:
    """How far the road is gone and what is left; nothing while the file of the job cannot be read."""
    try:
        known = _known(visit) is not None
        if not known and _is_whole(visit):
            _prepare_meanwhile(visit)
        return {"gone": gone(visit), "spending": spending(visit), "known": known}
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
    """For the script: whether the page is still true, how far the work is; the top, if the page had none."""
    running = [t.to_json() for t in visit.work.all(visit.name) if t.state == "running"]
    found: dict[str, Any] = {"state": state_of(visit), "work": running}
    if visit.said("top") and _known(visit) is not None:
        about = {"root": visit.root, "job": visit.name, "road": ROAD, "aside": ASIDE, "screen": visit.said("top")}
        found["top"] = render("hedgerow.studio", "top.html.j2", about | _told(visit))
    return JSONResponse(found)


def home(visit: Visit) -> Response:
    """The folder: its jobs, and the way to a new one."""
    return page(visit, "home.html.j2", "", tables=visit.folder.tables())


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
