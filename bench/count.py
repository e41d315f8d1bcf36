"""How fast counting is: ratios to other ways of counting and to the limits of this machine, all in one run.

Everything is CPU time of all threads, the best of a few repetitions, so that other work on the machine does not
matter much.  The unit is millions of row-marginals per CPU second: one row counted in one table.  The table is
simulated: 25 columns like those of a census extract, 300 pairs with about 105,000 cells.

    python bench/count.py [--rows 1000000] [--quick] [--json]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from hedgerow.counting import CountPlan
from hedgerow.counting.kernel import TILE, count_tile
from hedgerow.private.local import LocalCounter
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.files import open_source

SIZES = [100, 52, 40, 34, 27, 25, 22, 20, 20, 17, 15, 13, 12, 11, 10, 9, 9, 8, 8, 7, 6, 5, 4, 3, 2]
NAMES = [f"c{i:02}" for i in range(len(SIZES))]
OF = dict(zip(NAMES, SIZES, strict=True))
CODING = Coding(
    tuple(
        CodedColumn(n, "text", s, missing=0, other=0, values=tuple(map(str, range(s))), codes=tuple(range(s)))
        for n, s in OF.items()
    )
)
Pair = tuple[str, ...]
Table = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Line:
    """One line of the report.

    Attributes:
        name: what was measured.
        rate: millions of row-marginals per CPU second, unless the name says otherwise.
        ratio: ours against it.
        goal: what the ratio should be at least; None where no goal is set.
    """

    name: str
    rate: float
    ratio: float
    goal: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        return (
            "" if self.goal is None else f"goal {self.goal:g}x: " + ("met" if self.ratio >= self.goal else "MISSED")
        )


def simulated(rows: int) -> dict[str, npt.NDArray[np.uint8]]:
    """Skewed columns that share a common cause."""
    rng = np.random.default_rng(25)
    cause = rng.random(rows)
    table = {}
    for name, size in OF.items():
        weight = 1 / np.arange(1, size + 1)
        edges = np.cumsum(weight / weight.sum())[:-1]
        own = np.where(rng.random(rows) < 0.3, cause, rng.random(rows))
        table[name] = rng.permutation(size).astype(np.uint8)[np.searchsorted(edges, own)]
    return table


def cpu_seconds(work: Callable[[], object], repeat: int) -> float:
    """CPU time of all threads, the best of ``repeat`` after one that warms up."""
    work()
    taken = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


# ---- other ways of counting: each gives the counts of one pair


def numpy_whole(table: Table, pair: Pair) -> Any:
    """NumPy on whole columns, as most of our field does it."""
    code = table[pair[0]].astype(np.int64) * OF[pair[1]] + table[pair[1]]
    return np.bincount(code, minlength=OF[pair[0]] * OF[pair[1]])


def numpy_blocks(table: Table, pair: Pair) -> Any:
    """NumPy on 16k rows at a time, so that its temporaries stay in cache."""
    a, b = (table[c] for c in pair)
    counts = np.zeros(OF[pair[0]] * OF[pair[1]], np.int64)
    for low in range(0, len(a), 1 << 14):
        code = a[low : low + (1 << 14)].astype(np.int64) * OF[pair[1]] + b[low : low + (1 << 14)]
        counts += np.bincount(code, minlength=len(counts))
    return counts


def mbi_recipe(table: Table, pair: Pair) -> Any:
    """What mbi 2.0 does: ravel_multi_index, then a weighted bincount."""
    shape = tuple(OF[c] for c in pair)
    cell = np.ravel_multi_index([table[c] for c in pair], shape)
    return np.bincount(cell, weights=np.ones(len(cell)), minlength=prod(shape))


def privsyn_recipe(records: npt.NDArray[np.int64], pair: Pair) -> Any:
    """What PrivSyn and DPSyn do with their matrix of records: a product, np.unique, then np.isin."""
    code = np.matmul(records[:, [NAMES.index(c) for c in pair]], np.array([OF[pair[1]], 1]))
    found, times = np.unique(code, return_counts=True)
    counts = np.zeros(OF[pair[0]] * OF[pair[1]], np.int64)
    counts[np.isin(np.arange(len(counts)), found)] = times
    return counts


def rivals(table: Table) -> dict[str, tuple[Callable[[Pair], object], int, float | None]]:
    """Name -> (counts one pair, how many pairs to time it on, the goal of SPEED.md 9.1)."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    lazy, frame, arrow = pl.DataFrame(dict(table)).lazy(), pd.DataFrame(dict(table)), pa.table(dict(table))
    records = np.stack([table[n] for n in NAMES], axis=1).astype(np.int64)
    db = duckdb.connect()
    db.register("incoming", arrow)
    db.execute("CREATE TABLE t AS SELECT * FROM incoming")
    return {
        "NumPy bincount, 16k-row blocks": (lambda p: numpy_blocks(table, p), 30, 6),
        "NumPy bincount, int64 columns": (lambda p: numpy_whole(table, p), 30, None),
        "mbi recipe": (lambda p: mbi_recipe(table, p), 30, 20),
        "PrivSyn recipe": (lambda p: privsyn_recipe(records, p), 10, 60),
        "pyarrow group_by": (lambda p: arrow.group_by(list(p)).aggregate([([], "count_all")]), 30, 15),
        "DuckDB GROUP BY": (
            lambda p: db.execute(f"SELECT {p[0]}, {p[1]}, count(*) FROM t GROUP BY ALL").fetchnumpy(),
            30,
            15,
        ),
        "Polars group_by": (lambda p: lazy.group_by(p).len().collect(), 30, 40),
        "pandas groupby.size": (lambda p: frame.groupby(list(p)).size(), 10, None),
        "pandas crosstab": (lambda p: pd.crosstab(frame[p[0]], frame[p[1]]), 5, 200),
    }


# ---- limits of the machine


@njit(nogil=True)
def _increments(words: npt.NDArray[np.uint64], even: Any, odd: Any, rounds: int) -> None:
    mask, one = np.uint64(0xFFFF), np.uint64(1)
    for _ in range(rounds):
        for word in words:
            even[word & mask] += one
            odd[(word >> np.uint64(16)) & mask] += one
            even[(word >> np.uint64(32)) & mask] += one
            odd[word >> np.uint64(48)] += one


def increment_rate(repeat: int) -> float:
    """Millions of increments per second into histograms in the first cache, cell numbers given: the best of two ways.

    One histogram of 32 bits, and two of 16 bits that take turns, each of 4,096 cells, on uniform cell numbers.
    """
    words = np.random.default_rng(1).integers(0, 4096, 8192).astype(np.uint16).view(np.uint64)
    rates = []
    for kind, histograms in ((np.int32, 1), (np.uint16, 2)):
        store = [np.zeros(4096, kind) for _ in range(histograms)]
        taken = cpu_seconds(lambda s=store: _increments(words, s[0], s[-1], 2000), 2 * repeat)  # type: ignore[misc]
        rates.append(8192 * 2000 / taken / 1e6)
    return max(rates)


def kernel_rate(plan: CountPlan, table: Table, repeat: int) -> float:
    """Millions of increments per second that our kernel makes, cell numbers and all."""
    places, design = plan._layout  # noqa: SLF001
    rows = np.stack([table[c][:TILE] for c in plan.columns])
    tally = np.zeros(max(p.stop for p in places.values()), np.int64)
    taken = cpu_seconds(lambda: count_tile(rows, *design, tally), 20 * repeat)
    return float(rows.shape[1] * len(places) / taken / 1e6)


def bandwidth(rows: int, repeat: int) -> float:
    """GB per second of reading half a GB, which no cache holds (less in a trial run of few rows)."""
    array = np.ones(min(1 << 26, 100 * rows), np.int64)
    return array.nbytes / cpu_seconds(array.max, repeat) / 1e9


# ---- the report


def pairs_report(table: Table, repeat: int) -> list[Line]:
    """All pairs, against everything."""
    rows = len(table[NAMES[0]])
    pairs = list(combinations(NAMES, 2))
    plan = CountPlan([Marginal(p) for p in pairs], CODING)
    check(plan, table)
    taken = cpu_seconds(lambda: plan.count(table), 2 * repeat)
    others = {}
    for name, (work, some, goal) in rivals(table).items():
        chosen = pairs[:: len(pairs) // some][:some]
        spent = cpu_seconds(lambda w=work, c=chosen: [w(p) for p in c], repeat)  # type: ignore[misc]
        others[name] = rows * some / spent / 1e6, goal
    taken = min(taken, cpu_seconds(lambda: plan.count(table), 2 * repeat))
    ours, passes = rows * len(pairs) / taken / 1e6, len(plan._layout[0])  # noqa: SLF001
    limit, memory = increment_rate(repeat), bandwidth(rows, repeat)
    done, read = kernel_rate(plan, table, repeat), rows * len(NAMES) / taken / 1e9
    return [
        Line(f"hedgerow, {len(pairs)} pairs in {passes} passes, {plan.size:,} cells", ours, 1),
        *(Line(name, rate, ours / rate, goal) for name, (rate, goal) in others.items()),
        Line(f"first-cache increments (M/s); our kernel makes {done:,.0f}", limit, done / limit, 0.6),
        Line(f"memory read (GB/s); we take in {read:.2f}, so it is no limit", memory, read / memory),
        Line(
            "CPU seconds for 10^8 rows, in proportion; 10 allowed", 1e8 / rows * taken, 10 / (1e8 / rows * taken), 1
        ),
    ]


def triples_report(table: Table, repeat: int) -> list[Line]:
    """All triples of up to 65,536 cells, as one plan."""
    rows = len(table[NAMES[0]])
    triples = [t for t in combinations(NAMES, 3) if CODING.cells(t) <= 1 << 16]
    plan = CountPlan([Marginal(t) for t in triples], CODING)
    taken = cpu_seconds(lambda: plan.count(table), repeat)
    ours = rows * len(triples) / taken / 1e6
    some = triples[:: len(triples) // 20][:20]

    def numpy_triples() -> None:
        for a, b, c in some:
            code = (table[a].astype(np.int64) * OF[b] + table[b]) * OF[c] + table[c]
            np.bincount(code, minlength=CODING.cells((a, b, c)))

    numpy = rows * len(some) / cpu_seconds(numpy_triples, repeat) / 1e6
    whole = 1e7 / rows * taken * 2300 / len(triples)
    return [
        Line(f"hedgerow, {len(triples)} triples in {len(plan._layout[0])} passes, {plan.size:,} cells", ours, 1),  # noqa: SLF001
        Line("NumPy bincount, int64 columns", numpy, ours / numpy),
        Line("CPU seconds for 2,300 triples of 10^7 rows, in proportion; 15 allowed", whole, 15 / whole, 1),
    ]


def file_report(table: Table, repeat: int) -> list[Line]:
    """All pairs of a Parquet file: reading, coding of raw values and counting together."""
    import duckdb
    import polars as pl

    rows, pairs = len(table[NAMES[0]]), list(combinations(NAMES, 2))
    plan, some = CountPlan([Marginal(p) for p in pairs], CODING), pairs[::10]
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as db:
        path = Path(folder) / "table.parquet"
        pl.DataFrame(dict(table)).write_parquet(path, row_group_size=1 << 18)
        db.execute(f"CREATE VIEW t AS SELECT * FROM '{path}'")
        ways: dict[str, tuple[Callable[[], object], int]] = {
            "hedgerow, streamed: read, code and count": (lambda: streamed(plan, path), len(pairs)),
            "  reading and coding alone": (lambda: coded(path), len(pairs)),
            "DuckDB GROUP BY on the file, already coded": (
                lambda: [db.execute(group(p)).fetchall() for p in some],
                30,
            ),
            "Polars group_by on the file, already coded": (
                lambda: [pl.scan_parquet(path).group_by(p).len().collect() for p in some],
                30,
            ),
        }
        rates = {name: rows * n / cpu_seconds(work, max(1, repeat // 2)) / 1e6 for name, (work, n) in ways.items()}
    ours = next(iter(rates.values()))
    return [Line(name, rate, ours / rate) for name, rate in rates.items()]


def streamed(plan: CountPlan, path: Path) -> Any:
    """The counts of a file, read anew."""
    return LocalCounter(open_source(path), CODING, Guarantee()).count(plan)


def coded(path: Path) -> None:
    """Read and code every row of a file, and count nothing."""
    for batch in open_source(path).batches(NAMES):
        CODING.encode(batch, NAMES)


def group(pair: Pair) -> str:
    """The usual query for one pair."""
    return f"SELECT {pair[0]}, {pair[1]}, count(*) FROM t GROUP BY ALL"


def check(plan: CountPlan, table: Table) -> None:
    """Fast and wrong would be worthless."""
    for question, counts in list(zip(plan.questions, plan.split(plan.count(table)), strict=True))[::23]:
        assert np.array_equal(counts, numpy_whole(table, question.columns)), question


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, no triples")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    table, repeat = simulated(asked.rows), 1 if asked.quick else 5
    report = {"pairs": pairs_report(table, repeat)}
    report |= {} if asked.quick else {"triples": triples_report(table, 2)}
    report |= {"file": file_report(table, repeat)}
    if asked.json:
        print(json.dumps({part: [asdict(line) for line in lines] for part, lines in report.items()}, indent=1))
        return
    print(f"{asked.rows:,} rows, {len(NAMES)} columns; millions of row-marginals per CPU second; ours / theirs")
    for part, lines in report.items():
        print(f"\n{part}")
        for line in lines:
            print(f"  {line.name:72} {line.rate:10,.1f} {line.ratio:8.2f}x  {line.verdict}".rstrip())


if __name__ == "__main__":
    main()
