"""Does a limit of memory hold? Peak memory of counting a table, by the kind of file, with and without a person cap.

    python -m bench.memory [--rows 1000000,10000000] [--gb 0.5] [--kinds one,folder,csv] [--caps none,number]

Each line is a process of its own: the fingerprint and all pairs of 10 columns (8 texts of 100 values, 2 numbers), as
a run does it, from a file with three columns more.  Kinds: ``groups``, a Parquet file in row groups of 2^18; ``one``,
the same rows in one group; ``folder``, a folder with that file; ``csv``.  Caps: ``none``; ``number`` and ``text``,
people named so, with five rows each of which three count; the same in a declared ``order``.  ``--gb`` is the
``memory_gb`` of a job.  Beyond 2^20 rows what is counted repeats itself.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.counting import CountPlan
from hedgerow.private.local import LocalCounter
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.files import open_source

PIECE = 1 << 20
TEXTS, NUMBERS = [f"t{i}" for i in range(8)], ["x", "y"]
VALUES = tuple(f"a rather long label, number {i:04}" for i in range(100))
CODING = Coding(
    (
        *(CodedColumn(n, "text", 101, 100, 100, VALUES, tuple(range(100))) for n in TEXTS),
        *(CodedColumn(n, "number", 52, 51, 51, edges=tuple(map(float, range(50)))) for n in NUMBERS),
    )
)
PLAN = CountPlan([Marginal(pair) for pair in combinations(TEXTS + NUMBERS, 2)], CODING)
KINDS = ("groups", "one", "folder", "csv")
CAPS = ("none", "number", "text", "number order", "text order")


def written(rows: int, kind: str, place: Path) -> Path:
    """A table of so many rows, of one kind."""
    rng, labels = np.random.default_rng(1), pl.Series(VALUES)
    first = pl.DataFrame(
        {n: labels.gather(rng.integers(0, 100, min(rows, PIECE))) for n in TEXTS}
        | {n: rng.normal(25, 10, min(rows, PIECE)) for n in NUMBERS}
    )
    people = np.random.default_rng(2).permutation(rows) // 5
    day = pl.Series(np.random.default_rng(3).integers(0, 20_000, rows)).cast(pl.Int32).cast(pl.Date)
    parts = [first[: min(PIECE, rows - low)] for low in range(0, rows, PIECE)]
    known = pl.DataFrame({"number": people, "day": day}).with_columns(text="person " + pl.col("number").cast(str))
    whole = pl.concat(parts, rechunk=False).hstack(known)
    if kind == "csv":
        whole.write_csv(place / "table.csv")
        return place / "table.csv"
    (place / "folder").mkdir(exist_ok=True)
    path = place / "folder" / "table.parquet"
    whole.write_parquet(path, row_group_size=1 << 18 if kind == "groups" else rows)
    return path.parent if kind == "folder" else path


def one(path: str, cap: str, gb: float | None) -> None:
    """Fingerprint and count, in this process."""
    person, _, order = cap.partition(" ")
    unit: dict[str, Any] = {} if cap == "none" else {"unit": "person", "person": person, "rows_per_person": 3}
    counter = LocalCounter(open_source(path), CODING, Guarantee(**unit), "day" if order else "", **limit(gb))
    counter.fingerprint(b"k" * 32)
    print(int(counter.count(PLAN).sum()))


def limit(gb: float | None) -> dict[str, Any]:
    """The setting of a counter."""
    return {} if gb is None else {"most": int(gb * 1e9) // 4}


def main() -> None:
    """Every kind of file and cap."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1000000,10000000")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--caps", default=",".join(CAPS))
    parser.add_argument("--gb", type=float)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one[0], asked.one[1], asked.gb)
        return
    if asked.make:
        print(written(int(asked.make[0]), asked.make[1], Path(asked.make[2])))
        return
    gb = [] if asked.gb is None else ["--gb", str(asked.gb)]
    this = [sys.executable, "-m", "bench.memory"]
    for rows in map(int, asked.rows.split(",")):
        for kind in asked.kinds.split(","):
            with tempfile.TemporaryDirectory() as folder:
                made = subprocess.run([*this, "--make", str(rows), kind, folder], capture_output=True, check=True)
                for cap in asked.caps.split(","):
                    work = [*this, *gb, "--one", made.stdout.decode().strip(), cap]
                    process = subprocess.Popen(work, stdout=subprocess.DEVNULL)
                    _, code, used = os.wait4(process.pid, 0)
                    assert code == 0, work
                    cpu, mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
                    print(f"{rows:>12,} {kind:8} {cap:14} {cpu:8.1f} CPU-s {mb:8,.0f} MB", flush=True)


if __name__ == "__main__":
    main()
