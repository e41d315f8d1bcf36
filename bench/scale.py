"""Whole records end to end against rows and columns: CPU seconds and peak memory of every recipe.

    python bench/scale.py [--quick | --sizes 100000x15,100000x120] [--figure docs/figures/scale.svg] [--json]

A simulated table whose columns all lean on a few hidden ones, written as Parquet; the public relative is a tenth as
many rows of the same law (at least 5,000).  Each run has a process of its own: real gate, real noise, epsilon 1,
delta 1e-6, records drawn and decoded.  Compiled kernels are in the cache.  Bars: 10^6 x 15 under 30 CPU-s and 2 GB;
10^5 x 60 works.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

RECIPES = ("tree_blend", "public_blend", "dpsyn")
SIZES = ((10_000, 15), (100_000, 15), (1_000_000, 15), (100_000, 30), (100_000, 60))


def simulated(rows: int, columns: int, seed: int) -> pl.DataFrame:
    """Columns of 2 to 31 values that lean on three hidden ones."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((3, rows))
    out = {}
    for i in range(columns):
        mixed = 0.6 * hidden[i % 3] + 0.4 * rng.random(rows)
        out[f"c{i}"] = ((2 + 7 * i % 30) * mixed).astype(np.int16)
    return pl.DataFrame(out)


def schema_text(columns: int) -> str:
    """The schema of such a table."""
    return "\n".join(
        f'[columns.c{i}]\nkind = "categorical"\nvalues = {json.dumps([str(v) for v in range(2 + 7 * i % 30)])}'
        for i in range(columns)
    )


def one(recipe: str, folder: str) -> None:
    """One run in this process; says what it took."""
    from hedgerow.pipeline import draw_copies, open_gate
    from hedgerow.public.costs.accounting import Budget
    from hedgerow.public.schema import Schema
    from hedgerow.public.table import CodedTable, PublicData
    from hedgerow.recipes import RECIPES as KNOWN

    schema = Schema.load(f"{folder}/schema.toml")
    relative = None if recipe == "tree_blend" else CodedTable.read(f"{folder}/public.parquet", schema)
    free = PublicData(schema, relative)
    with tempfile.TemporaryDirectory() as place:
        gate = open_gate(f"{folder}/table.parquet", schema, Budget(1, "1e-6"), ledger=f"{place}/ledger.db")
        fitted = KNOWN[recipe]().fit(gate, free)
        records = draw_copies(fitted, free, copies=1, seed=0).records[0]
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([time.process_time(), used.ru_maxrss / 1024, len(records)]))


def figure(found: dict[str, list[tuple[int, int, float, float]]], path: Path) -> None:
    """Time against rows at 15 columns, and against columns at 10^5 rows."""
    from hedgerow.figures import Key, LinePoint, Section, Trace, log_lines, number, series, sheet, write_sheet

    def chart(words: str, fixed: int, at: int, along: int) -> Any:
        traces = [
            Trace(series(i), tuple(LinePoint(r[along], r[2]) for r in sorted(runs) if r[at] == fixed))
            for i, runs in enumerate(found.values())
        ]
        kept = [t for t in traces if t.points]
        return log_lines(kept, said=words, show=number, axes=(words, "CPU seconds, end to end"), wide=400)

    charts = [("", chart("rows (15 columns)", 15, 1, 0)), ("", chart("columns (100,000 rows)", 100_000, 0, 1))]
    keys = [Key(recipe, f"curve {series(i)}") for i, recipe in enumerate(found)]
    write_sheet(path, sheet([Section("Time against rows and columns", charts, across=2, keys=keys)]))


def main() -> None:
    """Every recipe at every size."""
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--quick", action="store_true", help="the two smallest sizes")
    said.add_argument("--figure", type=Path)
    said.add_argument("--sizes", help="ROWSxCOLUMNS, ... instead of those of docs/scale.md")
    said.add_argument("--json", action="store_true")
    said.add_argument("--recipes", nargs="+", default=list(RECIPES))
    said.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = said.parse_args()
    if given.one:
        one(*given.one)
        return
    found: dict[str, list[tuple[int, int, float, float]]] = {r: [] for r in given.recipes}
    sizes = [tuple(map(int, s.split("x"))) for s in given.sizes.split(",")] if given.sizes else SIZES
    tell = sys.stderr if given.json else sys.stdout
    print(f"{'rows':>10} {'columns':>8} {'recipe':<13} {'CPU s':>7} {'MB':>7} {'records':>10}", file=tell)
    for rows, columns in SIZES[:2] if given.quick else sizes:
        with tempfile.TemporaryDirectory() as folder:
            simulated(rows, columns, 1).write_parquet(f"{folder}/table.parquet", row_group_size=250_000)
            simulated(max(rows // 10, 5000), columns, 2).write_parquet(f"{folder}/public.parquet")
            Path(folder, "schema.toml").write_text(schema_text(columns), "utf-8")
            for recipe in given.recipes:
                asked = [sys.executable, __file__, "--one", recipe, folder]
                done = subprocess.run(asked, capture_output=True, text=True, check=False)
                if done.returncode:
                    last = done.stderr.strip().splitlines()[-1]
                    print(f"{rows:>10,} {columns:>8} {recipe:<13} failed: {last}", file=tell)
                    continue
                cpu, memory, drawn = json.loads(done.stdout)
                found[recipe].append((rows, columns, cpu, memory))
                print(f"{rows:>10,} {columns:>8} {recipe:<13} {cpu:7.1f} {memory:7,.0f} {drawn:>10,}", file=tell)
    if given.figure:
        figure(found, given.figure)
    if given.json:
        print(json.dumps([{"recipe": r, "rows": n, "columns": d, "cpu": c, "mb": m} for r, runs in found.items()
                          for n, d, c, m in runs]))  # fmt: skip
        return
    large = [(cpu, mb) for runs in found.values() for n, d, cpu, mb in runs if (n, d) == (1_000_000, 15)]
    met = (
        given.quick
        or bool(given.sizes)
        or (len(large) == len(given.recipes) and all(c < 30 and m < 2048 for c, m in large))
    )
    print(f"\n10^6 x 15 under 30 CPU-s and 2 GB in every recipe: {met}")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
