"""Whole runs, killed: at every call on a file or a ledger, and at any time. ``python -m tests.privacy.kills 1000``.

A process carries out a small job of three requests (measure, select, measure) and sends itself SIGKILL just before or
just after its n-th call that touches the disk or the ledger, for every n; or is killed from outside after some
milliseconds, which also falls into SQLite's own calls.  A second process goes on as a steward would and is killed as
well; a third goes on to the end.  Then the release must hold, with one promise, each request paid once and drawn
once, no saved answer replaced, and nothing left behind.

The process that forks never works with a table itself: the threads of the libraries would not survive a fork.
"""

import builtins
import fcntl
import hashlib
import io
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np

import hedgerow as hr
import hedgerow.api.release
import hedgerow.pipeline  # now, not in every process
from hedgerow.api.job import Job
from hedgerow.counting.kernel import count_tile
from hedgerow.ledger.book import Ledger
from hedgerow.model.records.models import fit_product
from hedgerow.public import Budget, Marginal, Schema
from hedgerow.recipes import AbstractRecipe
from hedgerow.release import measurements
from hedgerow.release.verify import verify
from hedgerow.run_gate import Journal, is_finished
from hedgerow.steward import ledger_book
from tests.privacy.world import COLUMNS, SCHEMA

ROWS = "sex,race,pay,area\n" + "F,A,5,n\nM,B,12,s\nM,C,33,w\n" * 20
TOUCHES = ("open", "rename", "replace", "mkdir", "rmdir", "unlink", "remove", "fsync", "close")


@dataclass(frozen=True)
class ThreeRequests(AbstractRecipe):
    """A table, a choice, and another table that follows from it."""

    name: ClassVar[str] = "three_requests"

    def requests(self, tariff: Any, budget: Budget, public: Any) -> Any:
        return (tariff.measure_all([Marginal((c,)) for c in COLUMNS], budget.total / 2),)

    def fit(self, gate: Any, public: Any) -> Any:
        third = gate.left / 3
        answers = gate.measure([Marginal((c,)) for c in COLUMNS], third)
        chosen = gate.select({m.question: m.counts for m in answers}, third)
        gate.measure([chosen], gate.left)
        return fit_product(gate.tariff.coding, answers, total=20)


def job_in(folder: Path) -> Job:
    """The job, in a folder of its own; its cap admits one run and no more."""
    return Job(
        confidential=hr.Confidential(folder / "secret.csv", name="toy"),
        schema=Schema.loads(SCHEMA),
        budget=Budget("1.5"),
        recipe=ThreeRequests(),
        ledger=str(folder / "ledger.db"),
        out=folder / "release",
        formats=(),
    )


class Killer:
    """Counts the calls that touch the disk or the ledger, before and after each, and kills at one of them."""

    def __init__(self, folder: Path, at: int) -> None:
        self.folder, self.at, self.calls = str(folder), at, list[str]()

    def tick(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            here = not given or not isinstance(given[0], str | Path) or str(given[0]).startswith(self.folder)
            if here:
                self.tick(f"before {name}")
            made = call(*given, **named)
            if here:
                self.tick(f"after {name}")
            return made

        return watched

    def install(self) -> None:
        for name in TOUCHES:
            setattr(os, name, self.watch(name, getattr(os, name)))
        builtins.open = io.open = self.watch("open", io.open)
        fcntl.flock = self.watch("flock", fcntl.flock)
        tick, connect = self.tick, sqlite3.connect

        class Connection(sqlite3.Connection):
            def execute(self, text: str, *given: Any) -> sqlite3.Cursor:
                tick(f"before {text[:24]}")
                made = super().execute(text, *given)
                tick(f"after {text[:24]}")
                return made

        sqlite3.connect = lambda *given, **named: connect(*given, factory=Connection, **named)  # type: ignore[assignment]


class Ended(NamedTuple):
    killed: bool
    said: dict[str, Any]


def process(work: Callable[[], dict[str, Any]], seconds: float | None = None) -> Ended:
    """Do ``work`` in a process of its own, killed after so many seconds; what it says when it ends by itself."""
    read, write = os.pipe()
    if not (pid := os.fork()):
        try:
            os.close(read)
            said = work()
        except BaseException as fault:
            said = {"fault": f"{type(fault).__name__}: {fault}"}
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    return Ended(killed, json.loads(told) if told else {})


def carry_out(folder: Path, at: int = 0) -> dict[str, Any]:
    """Run the job, or go on with it, as a steward would who finds the folder so; killed at call ``at``, if any."""
    killer, job, place = Killer(folder, at), job_in(folder), folder / "release"
    killer.install()
    job.run(resume=Journal.beside(place).exists or is_finished(place), forecast=False)
    return {"calls": killer.calls}


def answers_in(folder: Path) -> dict[str, str]:
    """The answers that are saved, by the name of the file."""
    files = sorted((folder / "release.run").glob("answer-*.json"))
    return {f.name: f.read_text("utf-8") for f in files}


def check(folder: Path) -> dict[str, Any]:
    """What stands at the end, looked at in a process of its own: the first thing that is wrong, or none."""
    place, url = folder / "release", str(folder / "ledger.db")
    entries = Ledger.open(url).entries()
    kinds = Counter(e.kind for e in entries)
    drawn = [e.facts["answer"] for e in entries if e.kind == "draw"]
    ledger_book.verify(url)
    wrong = [c.detail for c in verify(place) if c.held is False]  # a recipe of the tests cannot be drawn again
    ledger_book.booking_of(url, hr.Release.read(place).statement)
    assert not wrong, f"broken: {wrong}"
    assert kinds["promise"] == 1, f"lost: {kinds['promise']} promises"
    assert kinds["spend"] == kinds["draw"] == 3, f"paid {kinds['spend']}, drawn {kinds['draw']} times"
    assert sum(Fraction(e.facts["cost"]) for e in entries if e.kind == "spend") <= Fraction("1.5"), "over the cap"
    there = sorted(p.name for p in folder.iterdir())
    assert there == ["ledger.db", "release", "secret.csv"], f"left behind: {there}"
    assert len(measurements.load(place / "measurements.parquet")) == 5
    return {"drawn": drawn}


@dataclass
class Tally:
    """What came of all kills."""

    runs: int = 0
    kills: int = 0
    after_paying: int = 0
    wrong: list[str] = field(default_factory=list)


def new_folder(room: str) -> Path:
    folder = Path(tempfile.mkdtemp(dir=room))
    (folder / "secret.csv").write_text(ROWS, "utf-8")
    Ledger.open(str(folder / "ledger.db")).cap("toy", Budget("1.5"))
    return folder


def trial(room: str, at: int, rng: Random, tally: Tally, calls: int) -> None:
    """One run, killed at call ``at`` (0: at any time), killed again while it goes on, and carried to its end."""
    folder = new_folder(room)
    saved = dict[str, str]()
    try:
        for first in (True, False):
            by_clock = rng.uniform(0.0, 0.5) if first and not at else None
            n = at if first else rng.randrange(1, calls)
            ended = process(lambda n=n: carry_out(folder, n), by_clock)  # type: ignore[misc]
            tally.kills += ended.killed
            assert "fault" not in ended.said, ended.said["fault"]
            booked = Ledger.open(str(folder / "ledger.db")).entries()
            tally.after_paying += ended.killed and any(e.kind == "spend" for e in booked)
            now = answers_in(folder)
            assert all(now.get(name, text) == text for name, text in saved.items()), "a saved answer was replaced"
            saved |= now
        last = process(lambda: carry_out(folder))
        assert "fault" not in last.said, f"lost: {last.said['fault']}"
        seen = process(lambda: check(folder))
        assert "fault" not in seen.said, seen.said["fault"]
        hashes = {hashlib.sha256(text.encode()).hexdigest() for text in saved.values()}
        assert hashes <= set(seen.said["drawn"]), "drawn twice: a saved answer is not the one that is marked"
    except AssertionError as wrong:
        tally.wrong.append(f"killed at {at}: {wrong}")
    tally.runs += 1
    shutil.rmtree(folder, ignore_errors=True)


def warm_up() -> None:
    """Load compiled loops once, without a table: every process forked from here has them."""
    count_tile(
        np.zeros((1, 3), np.uint8), np.array([[0, 1]]), np.array([0, 1]), np.array([0, 2]), np.zeros(2, np.int64)
    )


def killed(kills: int, seed: int = 1) -> Iterator[tuple[Tally, list[str]]]:
    """Runs until so many processes were killed, spread over every call; the tally so far, and the calls of a run."""
    rng, tally = Random(seed), Tally()
    warm_up()
    quick = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=quick) as room:
        folder = new_folder(room)
        whole = process(lambda: carry_out(folder))
        assert "fault" not in whole.said, whole.said["fault"]
        calls = whole.said["calls"]
        trials = max(kills * 5 // 9, 1)
        for i in range(10 * trials):
            if tally.kills >= kills:
                break
            at = 0 if i % 5 == 4 else 1 + (i * len(calls) // trials + i) % len(calls)
            trial(room, at, rng, tally, len(calls))
            yield tally, calls


def main() -> int:
    """Kill as often as is asked for, and say what came of it."""
    tally, moments = Tally(), 0
    for tally, calls in killed(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        moments = len(calls)
        if tally.runs % 50 == 0:
            sys.stdout.write(f"{tally.kills} kills, {len(tally.wrong)} wrong\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{tally.kills} kills of {tally.runs} runs, over {moments} moments of a run; {tally.after_paying} of them "
        f"after something was paid.\nLost, drawn twice, over the cap, broken or left behind: {len(tally.wrong)}.\n"
    )
    sys.stdout.write("\n".join(tally.wrong) + "\n" if tally.wrong else "")
    return len(tally.wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
