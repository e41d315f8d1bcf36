"""Carry out the commands of one job with everything on tape that differs from run to run: noise, names, clocks.

    PYTHONPATH=TREE/src python -P bench/on_tape.py TREE FOLDER

FOLDER has ``commands.json``, a list of command lines without ``hedgerow``.  They run in this process, in FOLDER,
through the entry point that TREE's pyproject.toml names.  Of hedgerow nothing is patched: only the operating system's
random bits, and the ``datetime`` and ``time`` modules as hedgerow imports them.  ``record.json`` tells the exit
codes, how much noise was drawn, and how often each method called ``fit`` of hedgerow's classes was entered.
"""

import builtins
import datetime
import hashlib
import importlib
import json
import os
import random
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import wraps
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = "hedgerow"
NOW = datetime.datetime(2020, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
_BETWEEN = ("uuid", "random", "secrets")  # who asks the operating system on somebody else's behalf
_BLOCK = 1 << 16


class Tapes:
    """Random bytes that are the same in every run: a stream for each who asks, so that nobody shifts another's.

    What hedgerow asks for itself is noise; what it asks through ``uuid`` or ``secrets`` are names and keys, and what
    libraries ask is theirs.  A stream does not depend on the portions in which it is taken.
    """

    def __init__(self, seed: str) -> None:
        self.taken: Counter[str] = Counter()
        self._seed, self._lock = seed, threading.Lock()
        self._left: dict[str, bytearray] = {}
        self._blocks: Counter[str] = Counter()

    def urandom(self, n: int) -> bytes:
        """The next ``n`` bytes for whoever asks; stands in for ``os.urandom``."""
        with self._lock:
            name = _who_asks()
            left = self._left.setdefault(name, bytearray())
            while len(left) < n:
                key = f"{self._seed}/{name}/{self._blocks[name]}"
                left += hashlib.shake_128(key.encode()).digest(_BLOCK)
                self._blocks[name] += 1
            found = bytes(left[:n])
            del left[:n]
            self.taken[name] += n
            return found


def _who_asks() -> str:
    frame, through = sys._getframe(2), ""  # noqa: SLF001  there is no other way to see who calls
    while (name := str(frame.f_globals.get("__name__"))) in _BETWEEN and frame.f_back is not None:
        frame, through = frame.f_back, through or name
    root = name.split(".")[0]
    return f"{root} through {through}" if through else "noise" if root == PACKAGE else root


class _Kind(type):
    def __instancecheck__(cls, found: object) -> bool:
        return isinstance(found, datetime.datetime)


class _Stopped(datetime.datetime, metaclass=_Kind):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        """Always the same."""
        return NOW.astimezone(tz) if tz else NOW.replace(tzinfo=None)

    today = utcnow = now


def _stand_in(module: ModuleType, **changed: object) -> ModuleType:
    found = ModuleType(module.__name__, module.__doc__)
    found.__dict__.update({**vars(module), **changed})
    return found


def stop_clocks() -> None:
    """Let hedgerow, and nobody else, import clocks that stand still."""
    seconds, real = NOW.timestamp(), builtins.__import__

    def still(work: Callable[..., Any]) -> Callable[..., Any]:
        return lambda at=None: work(seconds if at is None else at)

    clocks = {
        "datetime": _stand_in(datetime, datetime=_Stopped),
        "time": _stand_in(
            time,
            time=lambda: seconds,
            time_ns=lambda: int(seconds * 1e9),
            gmtime=still(time.gmtime),
            localtime=still(time.localtime),
            ctime=still(time.ctime),
            strftime=lambda form, at=None: time.strftime(form, at or time.gmtime(seconds)),
        ),
    }

    def imported(name: str, place: Mapping[str, object] | None = None, *rest: Any, **named: Any) -> Any:
        ours = place is not None and str(place.get("__name__")).split(".")[0] == PACKAGE
        return clocks[name] if ours and name in clocks else real(name, place, *rest, **named)

    builtins.__import__ = imported  # type: ignore[assignment]  # it passes on whatever it is given


def count_fits() -> Counter[str]:
    """Count how often each method called ``fit`` of a class of hedgerow's is entered, from now on."""
    fits: Counter[str] = Counter()
    build: Callable[..., Any] = builtins.__build_class__

    def counted(work: FunctionType) -> Callable[..., Any]:
        @wraps(work)
        def fit(*args: Any, **named: Any) -> Any:
            fits[work.__qualname__] += 1
            return work(*args, **named)

        return fit

    def built(*args: Any, **named: Any) -> Any:
        made = build(*args, **named)
        fit = vars(made).get("fit")
        ours = str(made.__module__).split(".")[0] == PACKAGE
        if ours and isinstance(fit, FunctionType) and not getattr(fit, "__isabstractmethod__", False):
            made.fit = counted(fit)
        return made

    builtins.__build_class__ = built
    return fits


def entry_of(tree: Path) -> Callable[[], object]:
    """The function behind the command ``hedgerow``, of ``tree`` and of no other checkout."""
    named = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["project"]["scripts"][PACKAGE]
    module, _, function = named.partition(":")
    package = Path(str(importlib.import_module(PACKAGE).__file__)).resolve()
    if not package.is_relative_to(tree):
        raise SystemExit(f"{PACKAGE} was imported from {package}, not from {tree}: set PYTHONPATH={tree / 'src'}")
    main: Callable[[], object] = getattr(importlib.import_module(module), function)
    return main


def exit_code(main: Callable[[], object], command: list[str]) -> int:
    """What the command line ends with."""
    sys.argv = [PACKAGE, *command]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def carry_out(tree: Path, folder: Path) -> int:
    """All commands of the job in ``folder``; the first exit code that is not 0, or 0."""
    commands = json.loads((folder / "commands.json").read_text("utf-8"))
    tapes = Tapes(folder.name)
    os.urandom = random._urandom = tapes.urandom  # type: ignore[attr-defined]  # noqa: SLF001
    stop_clocks()
    fits, main = count_fits(), entry_of(tree)
    os.chdir(folder)
    codes = []
    with Path("said.txt").open("w", encoding="utf-8") as said, redirect_stdout(said), redirect_stderr(said):
        for command in commands:
            codes.append(exit_code(main, command))
    record = {
        "exit codes": codes,
        "fits": dict(sorted(fits.items())),
        "random bytes": dict(sorted(tapes.taken.items())),
    }
    Path("record.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return next((c for c in codes if c), 0)


if __name__ == "__main__":
    sys.exit(carry_out(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
