"""Real processes that use one ledger at once, and are killed. Reads tasks on stdin, answers on stdout.

One process imports the library and forks a child per actor. A child tells what it has done through a pipe, one
line after each call that returned; whatever it wrote there before it was killed had been promised to be on disk.
"""

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import HedgerowError
from hedgerow.ledger.book import BudgetExhausted, Ledger
from hedgerow.public.costs.accounting import Budget, Guarantee

with suppress(ImportError):
    import psycopg  # noqa: F401  so that no child spends its short life on this

Say = Callable[[str], object]


class Child(NamedTuple):
    pid: int
    pipe: int

    def said(self) -> list[str]:
        """Everything it says until it ends."""
        with open(self.pipe, "rb") as lines:
            told = lines.read().decode().split("\n")[:-1]
        os.waitpid(self.pid, 0)
        return told

    def killed(self, after_lines: int, seconds: float) -> list[str]:
        """What it says until it is killed, some time after it has said a number of lines."""
        told = b""
        while told.count(b"\n") < after_lines and (more := os.read(self.pipe, 1)):
            told += more
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGKILL)
        return (told.decode() + "\n".join([*self.said(), ""])).split("\n")[:-1]


def fork(act: Callable[[Say], None]) -> Child:
    read, write = os.pipe()
    if pid := os.fork():
        os.close(write)
        return Child(pid, read)
    try:
        os.close(read)
        act(lambda line: os.write(write, f"{line}\n".encode()))
    except BaseException as fault:
        os.write(write, f"fault {type(fault).__name__}: {fault}".replace("\n", " ").encode() + b"\n")
    finally:
        os._exit(0)


def hammer(url: str, processes: int, runs: int, epsilon: str, cost: str) -> list[list[str]]:
    """Each process promises ``runs`` runs, then spends on the common run ``shared``; refusals are part of it."""

    def act(me: int) -> Callable[[Say], None]:
        def work(say: Say) -> None:
            ledger = Ledger.open(url)
            for i in range(runs):
                try:
                    ledger.promise("pay", f"{me}-{i}", Budget(epsilon), Guarantee())
                    say("promised")
                except BudgetExhausted:
                    say("no promise")
                try:
                    ledger.spend("shared", f"{me}-{i}", Fraction(cost), "measure something")
                    say("spent")
                except BudgetExhausted:
                    say("no spend")

        return work

    return [child.said() for child in [fork(act(me)) for me in range(processes)]]


def same_request(url: str, processes: int) -> list[list[str]]:
    """All take the same request of the same run: it is paid once, and drawn once."""

    def work(say: Say) -> None:
        ledger = Ledger.open(url)
        ledger.spend("shared", "one", Fraction(1, 2), "measure something")
        try:
            ledger.mark_drawn("shared", "one")
            say("drawn")
        except HedgerowError:
            say("refused")

    return [child.said() for child in [fork(work) for _ in range(processes)]]


def storm(url: str, kills: int, seed: int) -> dict[str, list[str]]:
    """One process after the other works through a run and is killed; every second one resumes the run before."""
    rng, told = np.random.default_rng(seed), dict[str, list[str]]()

    def act(run: str, start: int) -> Callable[[Say], None]:
        def work(say: Say) -> None:
            ledger = Ledger.open(url)
            ledger.promise("pay", run, Budget(1), Guarantee())
            say("promise")
            for i in range(start, 1000):
                ledger.spend(run, f"q{i}", Fraction(1, 1000), f"measure q{i}")
                say(f"spend q{i}")
                ledger.mark_drawn(run, f"q{i}")
                say(f"draw q{i}")

        return work

    for k in range(kills):
        heard = told.setdefault(f"run{k // 2}", [])
        child = fork(act(f"run{k // 2}", sum(line.startswith("draw") for line in heard)))
        heard.extend(child.killed(int(rng.integers(0, 8)), rng.uniform(0, 0.01)))
    return told


def killed_while_made(urls: list[str], seed: int) -> None:
    """A process that opens a new ledger for the first time, killed early, for each of ``urls``."""
    rng = np.random.default_rng(seed)
    for url in urls:
        child = fork(lambda say, url=url: Ledger.open(url) and None)  # type: ignore[misc]
        child.killed(0, rng.uniform(0, 0.012))


def fill(url: str, largest_file: int, spends: int) -> list[str]:
    """Spend until the disk is full; ``largest_file`` above 0 stands for the size of the disk."""

    def work(say: Say) -> None:
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        ledger = Ledger.open(url)
        ledger.promise("pay", "long", Budget(1), Guarantee())
        for i in range(spends):
            ledger.spend("long", f"q{i}", Fraction(1, 10**6), "x" * 1000)
            say(f"spend q{i}")

    return fork(work).said()


def as_nobody(url: str) -> list[str]:
    """Open a ledger as a user without rights."""

    def work(say: Say) -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        Ledger.open(url).promise("pay", "mine", Budget(1), Guarantee())
        say("promised")

    return fork(work).said()


def main() -> None:
    tasks: dict[str, Callable[..., Any]] = {
        "hammer": hammer,
        "same_request": same_request,
        "storm": storm,
        "killed_while_made": killed_while_made,
        "fill": fill,
        "as_nobody": as_nobody,
    }
    for line in sys.stdin:
        given = json.loads(line)
        answer = tasks[given.pop("task")](**given)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
