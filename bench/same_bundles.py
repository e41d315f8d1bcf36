"""Are the bundles of two checkouts equal, byte by byte, when both are given the same noise?

    python bench/same_bundles.py make --tree CHECKOUT --out DIR [--only 'dpsyn*'] [--workers 2]
    python bench/same_bundles.py compare DIR_A DIR_B [--only ...] [--ignore report.html 'chosen/*']

``make`` writes small tables and a job for every recipe and every setting that takes a road of its own
(``bench/bundle_tables.py``, ``bench/bundle_jobs.py``), and carries each out in a process of its own with CHECKOUT's
code and with noise, names and clocks on tape (``bench/on_tape.py``).  It holds on to nothing of hedgerow but its
command line, the formats of jobs and schemas, and that it asks ``os.urandom`` for noise: modules may move, merge and
be renamed.

``compare`` tells for every job which files differ and how, and exits with 1 if any does.  A pattern to ignore is
matched against a file's name and against JOB/PATH.  JSON files that state the hash and size of another file, as a
manifest does, are not held to differ for that alone: the other file is reported, or was to be ignored.

A job that a checkout cannot carry out is kept as it is, with what was said in ``said.txt``.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import polars as pl

HERE = Path(__file__).resolve().parent
NOT_MADE = ("ledger.db", "ledger.db-journal", "said.txt", "record.json", "*.duckdb")
"""Beside the bundles; what a run says has paths in it, and the ledger's file is SQLite's own."""
TEXT = (".json", ".toml", ".md", ".html", ".csv", ".svg", ".txt")
_WIDEST = 160


# ---- make


def make(tree: Path, out: Path, only: str, workers: int) -> int:
    """Every job with the code of ``tree``; how many ended badly."""
    if out.exists():
        raise SystemExit(f"{out} is there already: name another place.")
    began = time.monotonic()
    for script, place in (("bundle_tables.py", out / "tables"), ("bundle_jobs.py", out)):
        subprocess.run([sys.executable, "-P", str(HERE / script), str(place)], check=True)
    jobs = sorted(p.parent for p in out.glob("*/job.toml"))
    for job in jobs:
        if not fnmatch(job.name, only):
            _remove(job)
    jobs = [j for j in jobs if j.is_dir()]
    with ThreadPoolExecutor(workers) as pool:
        codes = dict(zip(jobs, pool.map(lambda job: carry_out(tree, job), jobs), strict=True))
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=tree, capture_output=True, text=True)
    facts = {"tree": str(tree), "commit": commit.stdout.strip(), "jobs": len(jobs), "python": sys.version}
    (out / "made.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    failed = [j for j, code in codes.items() if code]
    for job in failed:
        said = job / "said.txt"
        print(f"{job.name}: exit {codes[job]}\n{_indented(said.read_text('utf-8') if said.exists() else '')}")
    print(f"{len(jobs)} jobs, {len(failed)} of them ended badly, {time.monotonic() - began:.0f} s, in {out}")
    return len(failed)


def _remove(job: Path) -> None:
    for file in job.iterdir():
        file.unlink()
    job.rmdir()


def carry_out(tree: Path, job: Path) -> int:
    """One job in a process of its own; its exit code."""
    settings = {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
        "SOURCE_DATE_EPOCH": "1580702706",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"), "1"),
    }
    command = [sys.executable, "-P", str(HERE / "on_tape.py"), str(tree), str(job)]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    if done.stderr:
        with (job / "said.txt").open("a", encoding="utf-8") as said:
            said.write(done.stderr)
    return done.returncode


# ---- compare


@dataclass
class Found:
    """How the files of one job compare.

    Attributes:
        same: how many files are equal.
        differing: what is to be said of each file that is not.
        ignored: files that differ and were to be ignored.
        notes: what does not count as a difference.
    """

    same: int = 0
    differing: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def compare(a: Path, b: Path, only: str, ignore: Sequence[str], lines: int) -> int:
    """Print how every job compares; how many differ."""
    names = sorted({p.name for folder in (a, b) for p in folder.iterdir() if p.is_dir() and fnmatch(p.name, only)})
    if not names:
        raise SystemExit(f"There are no jobs in {a} and {b}.")
    differing = 0
    for name in names:
        found = compared(a / name, b / name, ignore, lines)
        differing += bool(found.differing)
        word = "DIFFERS" if found.differing else "equal"
        extra = f", ignored: {' '.join(found.ignored)}" if found.ignored else ""
        print(f"{name}: {word} ({found.same} files equal, {len(found.differing)} not{extra})")
        for note in found.notes:
            print(f"    note: {note}")
        for file, how in found.differing.items():
            print(f"  {file}: {how}")
    print(f"\n{len(names) - differing} of {len(names)} folders are equal, {differing} differ")
    return differing


def compared(a: Path, b: Path, ignore: Sequence[str], lines: int) -> Found:
    """How the files of a job in two places compare."""
    here, there, found = made_in(a), made_in(b), Found()
    pairs = {name: (here.get(name), there.get(name)) for name in sorted(here | there)}
    unequal = {name: pair for name, pair in pairs.items() if not _equal(*pair)}
    found.same = len(pairs) - len(unequal)
    found.ignored = [name for name in unequal if _ignored(name, a.name, ignore)]
    for name, (one, two) in unequal.items():
        if name in found.ignored:
            continue
        if one is None or two is None:
            found.differing[name] = f"only in {a.parent if two is None else b.parent}"
            continue
        how = difference(one, two, [n for n in unequal if n != name], lines)
        if how:
            found.differing[name] = how
        else:
            found.notes.append(f"{name} differs only in hashes and sizes of files named here")
    found.notes += list(remarks(a / "record.json", b / "record.json"))
    return found


def _equal(one: Path | None, two: Path | None) -> bool:
    return one is not None and two is not None and one.read_bytes() == two.read_bytes()


def _ignored(name: str, job: str, ignore: Sequence[str]) -> bool:
    return any(fnmatch(text, g) for g in ignore for text in (name, Path(name).name, f"{job}/{name}"))


def made_in(job: Path) -> dict[str, Path]:
    """The files that count, by their path in the folder of the job."""
    files = (p for p in job.rglob("*") if p.is_file() and not any(fnmatch(p.name, n) for n in NOT_MADE))
    return {str(p.relative_to(job)): p for p in files}


def difference(one: Path, two: Path, others: Sequence[str], lines: int) -> str:
    """How two files differ, in a few lines; nothing if it is only in what they state of ``others``."""
    if one.suffix == ".parquet":
        return _tables_differ(one, two)
    if one.suffix not in TEXT:
        return _bytes_differ(one.read_bytes(), two.read_bytes())
    texts = [p.read_text("utf-8", errors="replace") for p in (one, two)]
    if one.suffix == ".json":
        texts = [_without_facts(text, place.parent, others) for text, place in zip(texts, (one, two), strict=True)]
        if texts[0] == texts[1]:
            return ""
    if one.suffix == ".html":
        texts = [re.sub(r"(</?(?:tr|p|h\d|svg|g|li|td|div|path|text)\b)", r"\n\1", text) for text in texts]
    before, after = (text.splitlines() for text in texts)
    told = [line[:_WIDEST] for line in difflib.unified_diff(before, after, n=1, lineterm="")]
    more = [f"... {len(told) - lines - 2} more lines"] if len(told) > lines + 2 else []
    return "\n" + _indented("\n".join([*told[2 : lines + 2], *more]))


def _without_facts(text: str, folder: Path, others: Sequence[str]) -> str:
    """The text without the hashes of files in ``folder`` that are known to differ, and the sizes beside them."""
    for name in others:
        file = folder / Path(name).name
        if file.is_file():
            data = file.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            text = re.sub(rf'"bytes": {len(data)}(,\s*"[\w]+": "(?:sha256:)?{digest}")', r'"bytes": 0\1', text)
            text = re.sub(rf'((?:sha256:)?{digest}",\s*"bytes": ){len(data)}\b', r"\g<1>0", text)
            text = text.replace(digest, f"hash of {Path(name).name}")
    return text


def _tables_differ(one: Path, two: Path) -> str:
    a, b = (pl.read_parquet(p) for p in (one, two))
    if a.schema != b.schema:
        return f"columns {dict(a.schema)} and {dict(b.schema)}"
    if a.height != b.height:
        return f"{a.height} and {b.height} rows"
    unlike = {n: int((~a[n].eq_missing(b[n])).sum()) for n in a.columns}
    told = ", ".join(f"{n} in {k} rows" for n, k in unlike.items() if k)
    return told or "equal tables in other bytes"


def _bytes_differ(a: bytes, b: bytes) -> str:
    first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return f"{len(a)} and {len(b)} bytes, unlike from byte {first}"


def remarks(a: Path, b: Path) -> Iterator[str]:
    """What is worth knowing of how two runs went, besides what they made."""
    one, two = (json.loads(p.read_text("utf-8")) if p.exists() else {} for p in (a, b))
    told: dict[str, tuple[Any, Any]] = {
        key: (one.get(key), two.get(key)) for key in ("exit codes", "fits") if one.get(key) != two.get(key)
    }
    noise = tuple(r.get("random bytes", {}).get("noise", 0) for r in (one, two))
    if noise[0] != noise[1]:
        told["bytes of noise"] = noise
    yield from (f"{key}: {x} and {y}" for key, (x, y) in told.items())


def _indented(text: str) -> str:
    return "\n".join(f"      {line}" for line in text.splitlines())


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="make the bundles of all jobs with a checkout's code")
    making.add_argument("--tree", type=Path, required=True, help="the checkout")
    making.add_argument("--out", type=Path, required=True, help="a folder that is not there yet")
    making.add_argument("--workers", type=int, default=2)
    comparing = commands.add_parser("compare", help="compare the bundles of two such folders")
    comparing.add_argument("folders", type=Path, nargs=2, metavar="DIR")
    comparing.add_argument(
        "--ignore", nargs="+", default=[], metavar="FILE", help="patterns of files that may differ"
    )
    comparing.add_argument("--lines", type=int, default=12, help="the most lines of a difference")
    for command in (making, comparing):
        command.add_argument("--only", default="*", help="a pattern of job names")
    given = parser.parse_args()
    if given.command == "make":
        return int(make(given.tree.resolve(), given.out.resolve(), given.only, given.workers) > 0)
    first, second = given.folders
    return int(compare(first, second, given.only, given.ignore, given.lines) > 0)


if __name__ == "__main__":
    sys.exit(main())
