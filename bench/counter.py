"""What reading, coding, fingerprinting and capping cost beside counting, from a Parquet file of text and numbers.

Ratios of CPU time of all threads, each the best of some rounds in which all ways take turns, so that other work on
the machine meets all of them.  Operation counts come first: how often the file is read, and how many values of a
column are coded by its rule, as a share of the rows, in a run of nine requests.

    python bench/counter.py [--rows 1000000] [--rounds 5] [--json]
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.counting import CountPlan
from hedgerow.counting.encode import Lookup, encode
from hedgerow.private import local
from hedgerow.private.local import LocalCounter
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.files import open_source

LABELS = [100, 52, 40, 34, 27, 20, 15, 12, 9]
WHOLE = [90, 20, 8]
KEY = b"k" * 32
BARS = {
    "readings of the file in a run": 1,
    "codings of a column in a run": 1,
    "streamed count / kernel alone": 4,
    "integer coding / take": 2,
    "fingerprint / one count of all pairs": 0.5,
    "count with a person cap / without": 3,
}


def _rule(name: str, values: tuple[str, ...]) -> CodedColumn:
    many = len(values)
    return CodedColumn(name, "text", many + 1, many, many, values, tuple(range(many)))


CODING = Coding(
    (
        *(_rule(f"t{i}", tuple(f"label {i} of {k}" for k in range(s))) for i, s in enumerate(LABELS)),
        *(_rule(f"i{i}", tuple(map(str, range(s)))) for i, s in enumerate(WHOLE)),
        *(CodedColumn(f"f{i}", "number", 12, 11, 11, edges=tuple(1e4 * k for k in range(10))) for i in range(3)),
    )
)
NAMES = [c.name for c in CODING.columns]
PLAN = CountPlan([Marginal(pair) for pair in combinations(NAMES, 2)], CODING)
PERSON = Guarantee(unit="person", person="id", rows_per_person=3)


def table(rows: int) -> pl.DataFrame:
    """Skewed labels, whole numbers, amounts, and a person for every four rows."""
    rng, columns = np.random.default_rng(1), dict[str, Any]()
    for i, size in enumerate(LABELS):
        weight = 1 / np.arange(1, size + 1)
        place = rng.choice(size, rows, p=weight / weight.sum())
        columns[f"t{i}"] = pl.Series([f"label {i} of {k}" for k in range(size)]).gather(place)
    columns |= {f"i{i}": rng.integers(0, size, rows) for i, size in enumerate(WHOLE)}
    columns |= {f"f{i}": np.round(rng.lognormal(10, 1, rows), 2) for i in range(3)}
    return pl.DataFrame(columns | {"id": rng.integers(0, rows // 4 + 1, rows)})


def operations(path: Path) -> dict[str, float]:
    """How often the file is read, and the most often that a column is coded, in a run of nine requests."""
    read, coded, source, plain = list[int](), dict[str, int](), open_source(path), local.encode

    class Read:
        columns = source.columns

        def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
            read.append(1)
            return source.batches(columns, rows)

    def watched(rule: CodedColumn, column: pl.Series) -> Any:
        coded[rule.name] = coded.get(rule.name, 0) + len(column)
        return plain(rule, column)

    local.encode = watched
    try:
        counter = LocalCounter(Read(), CODING, PERSON)
        counter.fingerprint(KEY)
        for _ in range(9):
            counter.count(PLAN)
    finally:
        local.encode = plain
    rows = sum(len(batch) for batch in source.batches(["id"]))
    return {"readings of the file in a run": len(read), "codings of a column in a run": max(coded.values()) / rows}


def taking_turns(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best CPU time of each way, in a new order in every round: one that stays favours some by a fifth."""
    best, rng = dict.fromkeys(ways, float("inf")), np.random.default_rng()
    for _ in range(rounds + 1):  # one to warm up
        for name, way in (list(ways.items())[i] for i in rng.permutation(len(ways))):
            start = time.process_time()
            way()
            best[name] = min(best[name], time.process_time() - start)
    return best


def measured(path: Path, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of each way, and the ratios that have bars."""
    source, kept = open_source(path), LocalCounter(open_source(path), CODING, Guarantee())
    kept.count(PLAN)
    codes = {name: np.concatenate([part[name] for part in kept._kept or []]) for name in NAMES}  # noqa: SLF001
    whole = pl.read_parquet(path, columns=["i0"])["i0"].rechunk()  # as batches are: in one piece
    numbers, lookup, line = whole.to_numpy(), np.arange(WHOLE[0], dtype=np.uint8), np.empty(len(whole), np.uint8)
    known = Lookup(lambda values: encode(CODING.columns[len(LABELS)], values))

    def code_often() -> None:
        for _ in range(20):
            known.writer(whole)(0, 0, line)

    def run(guarantee: Guarantee, *, hashed: bool = False) -> None:
        counter = LocalCounter(source, CODING, guarantee)
        if hashed:
            counter.fingerprint(KEY)
        counter.count(PLAN)

    taken = taking_turns(
        {
            "kernel alone": lambda: PLAN.count(codes),
            "count": lambda: run(Guarantee()),
            "fingerprint and count": lambda: run(Guarantee(), hashed=True),
            "count with a person cap": lambda: run(PERSON),
            "take, 20 times": lambda: [lookup.take(numbers) for _ in range(20)],  # a millisecond each
            "integer coding, 20 times": code_often,
        },
        rounds,
    )
    ratios = {
        "streamed count / kernel alone": taken["count"] / taken["kernel alone"],
        "integer coding / take": taken["integer coding, 20 times"] / taken["take, 20 times"],
        "fingerprint / one count of all pairs": (taken["fingerprint and count"] - taken["count"]) / taken["count"],
        "count with a person cap / without": taken["count with a person cap"] / taken["count"],
    }
    return taken, ratios


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        table(asked.rows).write_parquet(path, row_group_size=1 << 18)
        counts, (taken, ratios) = operations(path), measured(path, asked.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = counts | ratios
    if asked.json:
        print(
            json.dumps(
                {"rows": asked.rows, "found": found, "bars": BARS, "seconds": taken, "peak_mb": peak}, indent=1
            )
        )
        return
    print(f"{asked.rows:,} rows, {len(NAMES)} columns, {len(PLAN.questions)} pairs; peak memory {peak:,.0f} MB")
    for name, value in found.items():
        print(f"  {name:40} {value:8.3f}   at most {BARS[name]:g}: {'met' if value <= BARS[name] else 'MISSED'}")
    for name, seconds in taken.items():
        print(f"  {name:40} {seconds:8.3f} CPU-s")


if __name__ == "__main__":
    main()
