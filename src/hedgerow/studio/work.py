"""Long work: a command in a process of its own, which goes on when the page is closed or the server ends.

What a command is, how far it is and how it ended lies in a folder of its own, so a server that starts anew knows it:

    task.json  the words of the command        progress  its phases, a line each, and why it ended
    said       what it said on stderr          result    what it gave on stdout; not kept of the steward's own looks
    cancel     it is to stop                   code      its exit code;  lock: held while anybody is at work
"""

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any, Literal, final

from hedgerow.errors import NOTHING, JobError
from hedgerow.studio.folder import Folder

State = Literal["running", "done", "failed", "stopped", "lost"]
_SAID = 20_000


@final
@dataclass(frozen=True)
class StartedCommand:
    """One command that was started; all else is looked up when it is asked for."""

    folder: Path

    @property
    def kind(self) -> str:
        """What it is for: the name of a kind of work, such as ``rehearse``."""
        return self.folder.name.partition("@")[0]

    @property
    def facts(self) -> dict[str, Any]:
        """The words of the command, and what the page that started it noted."""
        return dict(json.loads((self.folder / "task.json").read_text("utf-8")))

    @property
    def command(self) -> str:
        """What to type for the same; of what is no command, what it does."""
        return str(self.facts.get("does") or shlex.join(["hedgerow", *self.facts["words"]]))

    @property
    def began(self) -> float:
        """When it was started, in seconds since 1970."""
        return (self.folder / "task.json").stat().st_mtime

    @property
    def code(self) -> int | None:
        """Its exit code; None while it has none."""
        try:
            return int((self.folder / "code").read_text("utf-8"))
        except (OSError, ValueError):
            return None

    @property
    def state(self) -> State:
        """Whether somebody is at work, or how it ended; 5 and 7 are results: a use missed, not all checked."""
        if self._is_held():
            return "running"
        if (code := self.code) is None or code < 0:  # by a signal, such as that of a machine short of memory
            return "lost"
        return "done" if code in (0, 5, 6, 7) else "stopped" if code == 130 else "failed"

    def _is_held(self) -> bool:
        try:
            handle = os.open(self.folder / "lock", os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who look at once do not see each other
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    @property
    def phases(self) -> list[str]:
        """The phases so far, the present one last."""
        return [line["phase"] for line in self._lines() if "phase" in line]

    @property
    def step(self) -> str:
        """How far the present phase is, where it says so."""
        last = next(reversed(self._lines()), {})
        return str(last.get("step", ""))

    def _lines(self) -> list[dict[str, str]]:
        try:
            lines = (self.folder / "progress").read_text("utf-8").split("\n")[:-1]
        except OSError:
            return []
        return [json.loads(line) for line in lines]

    @property
    def said(self) -> str:
        """Why it ended, such as a refusal; else what it said on stderr, unless it was cut off."""
        ended = [line["ended"] for line in self._lines() if "ended" in line]
        return ended[-1] if ended else "" if self.state == "lost" else self._text("said")

    @property
    def result(self) -> str:
        """What it gave on stdout."""
        return self._text("result")

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text("utf-8", "replace")[-_SAID:].strip()
        except OSError:
            return ""

    def json(self) -> Any:
        """Its result where that is JSON; None otherwise."""
        try:
            return json.loads((self.folder / "result").read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def cancel(self) -> None:
        """Ask it to stop, as Ctrl-C does: what was paid for is kept."""
        (self.folder / "cancel").touch(0o600)

    def to_json(self) -> dict[str, Any]:
        """What a page shows of it."""
        return {"kind": self.kind, "state": self.state, "phases": self.phases[-12:], "step": self.step}


@final
@dataclass(frozen=True)
class Work:
    """All work of a folder: of every kind and job the latest."""

    folder: Folder

    def _place(self, kind: str, job: str) -> Path:
        return self.folder.own / "work" / f"{kind}@{job}"

    @property
    def _environment(self) -> dict[str, str]:
        """The server's own; but no path of imports leads into the folder, nor hangs on where a command starts."""
        said = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        kept = [p for p in map(os.path.realpath, said) if not Path(p).is_relative_to(self.folder.root)]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(kept), "PYTHONSAFEPATH": "1"}  # for Spark's workers too

    def latest(self, kind: str, job: str) -> StartedCommand | None:
        """The latest work of a kind for a job."""
        place = self._place(kind, job)
        return StartedCommand(place) if (place / "task.json").exists() else None

    def all(self, job: str) -> list[StartedCommand]:
        """The latest work of every kind for a job."""
        found = sorted((self.folder.own / "work").glob(f"*@{job}/task.json"))
        return [StartedCommand(p.parent) for p in found]

    def ask(self, words: list[str], **environment: str) -> tuple[int, str, str]:
        """A short command, waited for: its exit code, what it gave, what it said. An address goes by environment."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "hedgerow", *words],
            cwd=self.folder.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**self._environment, **environment},
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace").strip()

    def start(self, kind: str, job: str, words: list[str], *, keep: bool = True, **noted: Any) -> StartedCommand:
        """Start ``hedgerow`` with these words, unless such work is under way."""
        place = self._place(kind, job)
        before = self.latest(kind, job)
        if before is not None and before.state == "running":
            raise JobError(f"This is under way already: {before.command}. Wait for it, or stop it first. {NOTHING}")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(0o700, parents=True)
        facts = {"words": words, "at": str(self.folder.root), "keep": keep, **noted}
        (place / "task.json").write_text(json.dumps(facts), "utf-8")
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "hedgerow.studio.worker", str(place)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )
        Thread(target=worker.wait, daemon=True).start()  # nobody else asks how it ended
        end = monotonic() + 20
        while not (place / "begun").exists() and monotonic() < end:
            sleep(0.02)
        return StartedCommand(place)
