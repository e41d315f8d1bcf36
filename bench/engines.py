"""Counting in DuckDB against plain GROUP BY of the same tables, and in Spark against this process, in one run.

    python bench/engines.py [--rows N] [--spark] [--no-sql] [--repeat N] [--json]

All pairs of 15 columns of text, whole numbers and floats.  CPU time of all threads and processes, the best of
runs that take turns in random order.  DuckDB's counter codes the table and counts it; the plain way groups raw
values, numbers by a bin that it computes.  Spark's start-up is told apart: until its session runs and its workers
have counted once.  Where PySpark or Java is missing, a sentence says so.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

from hedgerow.counting import CountPlan
from hedgerow.engines.duckdb import DuckDb
from hedgerow.engines.sql import SqlCounter
from hedgerow.errors import JobError
from hedgerow.private.local import LocalCounter
from hedgerow.public import CodedColumn, Coding, Guarantee, Marginal, open_source, spark_session

BARS = (("duckdb", "plain GROUP BY", 1), ("spark", "local", 10))
SIZES = {"text": (2, 3, 5, 7, 9, 12, 20, 50), "whole": (2, 4, 6, 8), "float": (10, 16, 30)}
COLUMNS = [(f"{kind} {i}", kind, size) for kind, sizes in SIZES.items() for i, size in enumerate(sizes)]


def table(rows: int) -> pl.DataFrame:
    """Columns of text, of whole numbers and of floats."""
    rng = np.random.default_rng(1)

    def column(kind: str, size: int) -> pl.Series:
        drawn = rng.integers(0, size, rows)
        if kind == "text":
            return pl.Series(np.array([f"value {i}" for i in range(size)])[drawn])
        return pl.Series(drawn * 10 + rng.integers(0, 10, rows) if kind == "whole" else drawn * 10 + rng.random(rows))

    return pl.DataFrame({name: column(kind, size) for name, kind, size in COLUMNS})


def rule(name: str, kind: str, size: int) -> CodedColumn:
    """Listed values, or bins of width 10."""
    if kind == "text":
        values = tuple(f"value {i}" for i in range(size))
        return CodedColumn(name, "text", size + 1, size, size, values, tuple(range(size)))
    edges = tuple(10.0 * i for i in range(1, size))
    return CodedColumn(name, "number", size + 1, size, size, edges=edges, bins=tuple(range(size)))


CODING = Coding(tuple(rule(*c) for c in COLUMNS))
PLAN = CountPlan([Marginal(pair) for pair in combinations(CODING.sizes, 2)], CODING)


def plain(path: Path) -> None:
    """One GROUP BY for every pair, of values as they are; numbers by the bin that one would write."""
    named = {n: f'"{n}"' if k == "text" else f'CAST(floor("{n}" / 10) AS INTEGER)' for n, k, _ in COLUMNS}
    with duckdb.connect(str(path), read_only=True) as db:
        for a, b in combinations(named, 2):
            db.execute(f"SELECT {named[a]} AS a, {named[b]} AS b, count(*) FROM t GROUP BY a, b").fetchnumpy()


def counted_in_spark(parquet: Path, true: Any) -> Callable[[], object]:
    """What counts the file in a session that is begun here; refused where PySpark or Java is missing."""
    frame: Any = spark_session("local[2]").read.parquet(str(parquet))
    from hedgerow.engines.spark import SparkCounter

    def count() -> None:
        assert (SparkCounter(frame, CODING, Guarantee()).count(PLAN) == true).all()

    return count


def spent() -> float:
    """CPU seconds of this process and of all that it started and that still run."""
    parents, used = dict[int, int](), dict[int, float]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(stat.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    mine = {os.getpid()}
    while more := {p for p, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(used.get(p, 0) for p in mine)


def taken(ways: dict[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """The CPU times of each way, least first, in a new order in every round: one that stays favours some."""
    found, rng = {name: list[float]() for name in ways}, np.random.default_rng()
    for _ in range(repeat):
        for name in (list(ways)[i] for i in rng.permutation(len(ways))):
            before = spent()
            ways[name]()
            found[name].append(spent() - before)
    return {name: sorted(times) for name, times in found.items()}


def main() -> None:
    """Measure, and say whether the bars are met."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--spark", action="store_true")
    options.add_argument("--no-sql", action="store_true", help="leave DuckDB out, which takes long at 10^7 rows")
    options.add_argument("--json", action="store_true")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows, path = table(asked.rows), Path(folder) / "t.db"
        parquet = Path(folder) / "t.parquet"
        rows.write_parquet(parquet, row_group_size=1 << 18)
        if not asked.no_sql:
            with duckdb.connect(str(path)) as db:
                db.execute(f"CREATE TABLE t AS SELECT * FROM '{parquet}'")
        promise = Guarantee()
        true = LocalCounter(open_source(parquet), CODING, promise).count(PLAN)

        def in_duckdb() -> None:
            assert (SqlCounter(DuckDb(f"duckdb:{path}#t"), CODING, promise).count(PLAN) == true).all()

        def here() -> None:
            assert (LocalCounter(open_source(parquet), CODING, promise).count(PLAN) == true).all()

        ways: dict[str, Callable[[], object]] = {"local": here}
        if not asked.no_sql:
            ways |= {"duckdb": in_duckdb, "plain GROUP BY": lambda: plain(path)}
        began, left_out = spent(), ""
        if asked.spark:
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # a machine may be known by an address it cannot use
            try:
                ways["spark"] = counted_in_spark(parquet, true)
                ways["spark"]()  # workers start, and load their kernels
            except JobError as missing:
                left_out = " ".join(str(missing).split())
        start_up = spent() - began
        times = taken(ways, asked.repeat)
    show(asked.rows, times, {"start_up": start_up, "left_out": left_out} if asked.spark else {}, as_json=asked.json)


def show(rows: int, times: dict[str, list[float]], spark: dict[str, Any], *, as_json: bool) -> None:
    """What was measured, and whether the bars are met; of ``spark`` what it took to start, or why it is left out."""
    seconds = {name: each[0] for name, each in times.items()}
    ratios = {f"{a} / {b}": (seconds[a] / seconds[b], most) for a, b, most in BARS if a in seconds}
    if as_json:
        print(json.dumps({"rows": rows, "cpu_seconds": seconds, "times": times, "ratios": ratios, **spark}))
        return
    print(f"{rows:,} rows, {len(PLAN.questions)} pairs of {len(COLUMNS)} columns; CPU seconds")
    for name, each in times.items():
        print(f"  {name:16} {each[0]:8.2f} at best, {each[len(each) // 2]:8.2f} in the middle")
    if spark:
        started = f"to start Spark {spark['start_up']:.2f}, not counted above"
        print(f"  {spark['left_out'] or started}")
    for name, (ratio, most) in ratios.items():
        print(f"  {name:26} {ratio:6.2f}  at most {most}: {'met' if ratio <= most else 'MISSED'}")


if __name__ == "__main__":
    main()
