"""What counting all pairs of 15 columns of a Parquet file costs, against its rows: reading, coding and counting.

    python -m bench.rows [--most 10000000] [--one-group] [--json]

Each size is a process of its own: CPU seconds of all threads, start of Python included, and peak memory.  The file
is made in row groups of 2^18 rows, or as one (``--one-group``); at 10^8 rows it takes about 2 GB of disk while it
stands, and the bar is 20 CPU seconds and 4 GB.

Seconds of another machine say little, so the same file is counted by the prototype too after which that bar was set
(13 CPU seconds there): PyArrow's lists of texts, a lookup table for each column, our kernel, no code kept.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from pyarrow.parquet import ParquetFile

from bench.counter import CODING, NAMES, PLAN, table
from hedgerow.counting.encode import encode
from hedgerow.private.local import LocalCounter
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.files import open_source

PIECE = 1 << 20


def written(rows: int, path: Path, *, one_group: bool) -> None:
    """A table of so many rows; beyond 2^20 the same ones again, which counting cannot know."""
    first = table(min(rows, PIECE)).select(NAMES)
    parts = [first[: min(PIECE, rows - low)] for low in range(0, rows, PIECE)]
    lazy = pl.concat([part.lazy() for part in parts], rechunk=False)
    lazy.sink_parquet(path, row_group_size=rows if one_group else 1 << 18)


def one(path: str) -> None:
    """Count, in this process."""
    print(int(LocalCounter(open_source(path), CODING, Guarantee()).count(PLAN).sum()))


def prototype(path: str) -> None:
    """Count, in this process, by lists and lookup tables alone: every column is known to need no more."""
    rules = {c.name: c for c in CODING.columns}
    texts = [n for n in NAMES if rules[n].values and n.startswith("t")]
    total = np.zeros(PLAN.size, np.int64)
    for batch in ParquetFile(path, read_dictionary=texts).iter_batches(1 << 18, columns=NAMES, use_threads=False):
        codes = {}
        for name, rule in rules.items():
            column = batch.column(name)
            if rule.edges:
                codes[name] = encode(rule, pl.Series(column.to_numpy()))
                continue
            listed = column.dictionary.to_pylist() if name in texts else [*range(len(rule.values))]
            place = column.indices if name in texts else column
            codes[name] = rule.encode(pl.Series(listed)).take(place.to_numpy())
        total += PLAN.count(codes)
    print(int(total.sum()))


def measured(rows: int, *, one_group: bool = False) -> dict[str, float]:
    """CPU seconds and peak memory of counting so many rows, and the prototype's."""
    found: dict[str, float] = {"rows": rows}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        written(rows, path, one_group=one_group)
        for way, before in (("--one", ""), ("--prototype", "prototype ")):
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.rows", way, str(path)], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            said = process.stdout.read()
            _, code, used = os.wait4(process.pid, 0)
            assert code == 0 and int(said) == rows * len(PLAN.questions), said
            found |= {f"{before}cpu": used.ru_utime + used.ru_stime, f"{before}mb": used.ru_maxrss / 1024}
    return found


def main() -> None:
    """Every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000_000)
    parser.add_argument("--least", type=int, default=10_000)
    parser.add_argument("--one-group", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--prototype", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one or asked.prototype:
        one(asked.one) if asked.one else prototype(asked.prototype)
        return
    sizes = [n for n in (10**k for k in range(4, 9)) if asked.least <= n <= asked.most]
    found = [measured(n, one_group=asked.one_group) for n in sizes]
    if asked.json:
        print(json.dumps(found))
        return
    for line in found:
        both = f"{line['cpu']:8.1f} CPU-s {line['mb']:8,.0f} MB; prototype {line['prototype cpu']:8.1f} CPU-s"
        print(f"{line['rows']:>12,} rows {both} {line['prototype mb']:8,.0f} MB")


if __name__ == "__main__":
    main()
