"""A stranger's bundle is opened in a process of its own, which may use so much memory and time and no more.

A few kilobytes of Parquet can stand for more rows than any memory holds, or for days of decoding; and so can a job, a
schema or a statement.  Which of them do is known only by trying.  So it is tried where it does no harm: what passes
may then be opened here, and what does not is refused in a sentence.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import polars as pl

from hedgerow.errors import HedgerowError, JobError, VerifyFailed
from hedgerow.public import is_address, open_public
from hedgerow.release.bundle import BundleReader
from hedgerow.release.redraw import OtherTable, Redrawing
from hedgerow.release.signature import public_key
from hedgerow.release.verify import Check, Verification, verify


@final
@dataclass(frozen=True)
class Limits:
    """What may be used to open a bundle: bytes of memory beyond the program's own, and seconds of CPU."""

    memory: int
    seconds: int

    @classmethod
    def of(cls, folder: Path) -> "Limits":
        """So much for any bundle, and more for a large one: honest files do not grow a hundredfold when opened."""
        try:
            size = sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder))
        except OSError:
            size = 0
        return cls(3 * 10**9 + 100 * size, 300 + size // 10**5)


def verify_confined(
    folder: Path | str, *, public: Any = None, target: Any = None, key: Any = None, limits: Limits | None = None
) -> Verification:
    """The outcome of every check on a bundle, made in a process of its own."""
    if key is not None:
        public_key(Path(key))  # a mistake of who asks shows before anything is opened
    with TemporaryDirectory() as lent:
        given = {"public": _sent(public, Path(lent) / "public"), "target": _sent(target, Path(lent) / "target")}
        place = None if key is None else str(Path(key).absolute())
        told = _do({"do": "verify", "key": place, **given}, folder, limits)
    if isinstance(told, str):
        return Verification((Check("can be opened within bounds", False, told),))
    return Verification(tuple(Check(*c) for c in told))


def must_open(folder: Path | str, limits: Limits | None = None) -> None:
    """Refuse a folder of tables, a release among them, that cannot be read whole within bounds."""
    told = _do({"do": "open"}, folder, limits)
    if isinstance(told, str):
        raise VerifyFailed(f"{folder} cannot be opened. {told} Nothing confidential was read or spent.")


def _sent(table: Any, place: Path) -> list[str] | None:
    """A table for another process: its path, or that of a copy of the frame. Servers are asked by this one."""
    if table is None:
        return None
    if isinstance(table, str | Path) and not is_address(table):
        named = str(table)
        return [named if named.startswith("duckdb:") else str(Path(named).absolute()), "path"]
    source = open_public(table)
    pl.concat(source.batches(source.columns)).write_ipc(place)
    return [str(place), "frame"]


def _received(sent: list[str] | None) -> Any:
    return None if sent is None else sent[0] if sent[1] == "path" else pl.read_ipc(sent[0])


def _do(task: dict[str, Any], folder: Path | str, limits: Limits | None) -> Any:
    """What the other process found, as plain data; a sentence when it could not end its work."""
    place = Path(folder).absolute()
    limits = limits or Limits.of(place)
    told = _elsewhere({**task, "folder": str(place), **asdict(limits)})
    if "refused" in told:
        raise JobError(told["refused"])
    return told.get("found") or (
        f"Its files ask for more than {limits.memory / 1e9:.2g} GB of memory or {limits.seconds:,} seconds, or make "
        "the libraries that read them break. Files that Hedgerow writes do neither: do not rely on them."
    )


def _elsewhere(task: dict[str, Any]) -> dict[str, Any]:
    """What ``find`` tells in a process of its own; nothing when that broke or took too long."""
    ours = str(Path(__file__).parents[2])
    paths = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    # -P: no module is ever taken from the folder we stand in, which may be the stranger's
    command = [sys.executable, "-P", "-c", "from hedgerow.release.confined import work; work()"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            timeout=4 * task["seconds"] + 60,
            check=False,
        )
        return dict(json.loads(done.stdout)) if done.returncode == 0 else {}
    except (subprocess.TimeoutExpired, ValueError):
        return {}


def work() -> None:
    """The other process: do what is asked on the standard input, within bounds, and write what was found."""
    task = json.loads(sys.stdin.buffer.read())
    _confine(Limits(task["memory"], task["seconds"]))
    sys.stdout.write(json.dumps(find(task)))
    sys.stdout.flush()
    os._exit(0)  # threads of a library that is still at work have nothing to add


def find(task: dict[str, Any]) -> dict[str, Any]:
    """Open a bundle, or verify it: what was found, or why it could not be, as plain data."""
    folder = Path(task["folder"])
    try:
        if task["do"] == "open":
            open_all(folder)
            return {"found": True}
        given = {what: _received(task[what]) for what in ("public", "target")}
        return {"found": [[c.name, c.held, c.detail] for c in verify(folder, **given, key=task["key"])]}
    except OtherTable as wrong:
        return {"refused": str(wrong)}
    except HedgerowError as wrong:
        return {"found": str(wrong)}


def open_all(folder: Path) -> None:
    """Read all that ``sample`` and ``compare`` read of a folder."""
    bundle = BundleReader(folder)
    bundle.read_all()
    if bundle.statement_name in bundle.names:
        _ = Redrawing(bundle).published


def _confine(limits: Limits) -> None:
    """Let this process use so much and no more, where the operating system can be told so."""
    try:
        import resource
    except ImportError:  # Windows: the time that the parent waits is the only bound
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds))
    try:
        used = int(Path("/proc/self/statm").read_text("ascii").split()[5]) * resource.getpagesize()  # data and stack
        # what can be written to; not the address space, which threads and allocators reserve without using it
        resource.setrlimit(resource.RLIMIT_DATA, (used + limits.memory, used + limits.memory))
    except (OSError, ValueError):  # no such count here
        return
