"""Does ``plan`` say what a run costs? CPU seconds and peak memory of whole runs, beside what their plans said.

    python -m bench.cost [--cases tree_blend:100000x30,...] [--out bench/cost.csv]
    python -m bench.cost --summary bench/cost.csv
    python -m bench.cost --again bench/cost.csv

A case is a recipe, rows, columns and values a column (the most; a column has 2 to as many); random_trees/chain is one
with that ``sequence``, whose two private columns have a quarter of the values each; guided_tree/narrow and
random_trees/narrow have private columns of 2 and 6 values, however wide the others are; guided_tree/few has a public
table of a 25th of the rows; integer_counts/margins asks for three margins besides.  Each is one
``hedgerow run --no-forecast`` in a process of its own, start of Python included, on a simulated table in Parquet with
a public relative of as many rows.  The factors in ``recipes/base.py`` and in the recipes were fitted to this table.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import hedgerow as hr

CASES = [
    f"{recipe}:{rows}x{columns}x{values}"
    for recipe in ("independent", "tree_blend", "public_blend", "guided_tree")
    for rows, columns, values in ((10_000, 10, 10), (10_000, 30, 10), (100_000, 10, 10), (100_000, 10, 300))
]
SETTINGS = {  # of recipes that need some; tables of counts have the first three columns
    "careers": '[careers]\ntime = "c0"\n',
    "integer_counts": '[integer_counts]\ncolumns = ["c0"]\ngroups = ["c1", "c2"]\n',
    "dirichlet_multinomial": '[dirichlet_multinomial]\ncolumns = ["c0"]\ngroups = ["c1", "c2"]\nsize = {each}\n',
    "beta_binomial": '[beta_binomial]\ncolumn = "c0"\ngroups = ["c1", "c2"]\nsize = {each}\n',
    "gamma_poisson": '[gamma_poisson]\ncolumns = ["c0", "c1", "c2"]\nsize = {rows}\n',
}
FIELDS = ("recipe", "rows", "columns", "values", "cpu", "planned_cpu", "mb", "planned_mb")


def table(rows: int, sizes: list[int], seed: int) -> pl.DataFrame:
    """Columns that hang together."""
    rng, common = np.random.default_rng(seed), np.random.default_rng(seed).normal(size=rows)
    found = {}
    for i, size in enumerate(sizes):
        place = 1 / (1 + np.exp(-(common * (0.3 + i % 3) + rng.normal(size=rows))))
        found[f"c{i}"] = np.minimum((place * size).astype(np.int64), size - 1)
    return pl.DataFrame(found)


def made(case: str, place: Path) -> None:
    """The tables and the job of a case."""
    whole, rows, columns, values = parts(case)
    recipe, _, sequence = whole.partition("/")
    sizes = [max(2, round(values * (1 + i % 4) / 4)) for i in range(columns)]
    if recipe in ("careers", "beta_binomial"):  # the time of a career; a column of two cells
        sizes[0] = 12 if recipe == "careers" else 2
    if sequence == "narrow":
        sizes[:2], sequence = [2, 6], ""
    if sequence in ("chain", "papers-2018"):
        sizes[1] = sizes[0]
    lines = [
        f'[columns.c{i}]\nkind = "integer"\nbins = {{ low = 0, high = {s - 1}, width = 1 }}'
        + ('\nother = "1"' if recipe == "beta_binomial" and i == 0 else "\nmissing = true")
        for i, s in enumerate(sizes)
    ]
    (place / "schema.toml").write_text("\n".join(lines), "utf-8")
    for seed, name in ((1, "secret"), (2, "public")):
        frame = table(rows // 25 if sequence == "few" and name == "public" else rows, sizes, seed)
        if recipe == "careers":  # four records of a person, one after another
            of, step = np.divmod(np.arange(rows), 4)
            frame = frame.with_columns(id=pl.Series(of), c0=pl.Series(of % 9 + step))
        frame.write_parquet(place / f"{name}.parquet")
    attach = recipe in ("guided_tree", "random_trees")
    target = '[target]\ntable = "target.parquet"\n' if attach else ""
    relation = 'relation = "label-change"\n' if attach else ""
    if recipe == "careers":
        relation = 'unit = "person"\nperson = "id"\nrows_per_person = 4\n'
    if attach:
        table(rows, sizes, 1).drop("c0", "c1").write_parquet(place / "target.parquet")
    settings = SETTINGS.get(recipe, "").format(rows=rows, each=rows // (sizes[1] * sizes[2]))
    settings += 'margins = [["c0"], ["c1", "c2"], []]\n' if sequence == "margins" else ""
    settings += (
        f'[random_trees]\nsequence = "{sequence}"\ncolumns = ["c0", "c1"]\n'
        if recipe == "random_trees" and sequence
        else ""
    )
    (place / "job.toml").write_text(
        f'[job]\nrecipe = "{recipe}"\nseed = 1\nout = "release"\n[schema]\nfile = "schema.toml"\n'
        f'[confidential]\ntable = "secret.parquet"\n{relation}[public]\ntable = "public.parquet"\n'
        f'provenance = "simulated"\n{target}{settings}[budget]\nepsilon = 1.0\n'
        + ("" if attach or recipe in SETTINGS and recipe != "careers" else "delta = 1e-6\n")
        + '[ledger]\nurl = "ledger.db"\n',
        "utf-8",
    )


def parts(case: str) -> tuple[str, int, int, int]:
    """The recipe of a case, its rows, columns and values."""
    recipe, _, size = case.partition(":")
    rows, columns, values = (int(n) for n in size.split("x"))
    return recipe, rows, columns, values


def planned(folder: str) -> None:
    """Print what the plan of a job says of its cost; nothing is rehearsed for it."""
    print(json.dumps(hr.Job.load(Path(folder) / "job.toml").prepare().outline.to_json()))


def measured(case: str, *, run: bool = True) -> dict[str, float | str]:
    """One run, and what its plan said.

    Tables are made in another process: the peak memory of a process is at least that of the one that began it.
    """
    with tempfile.TemporaryDirectory() as folder:
        for step in ("--make", "--plan"):
            work = [sys.executable, "-m", "bench.cost", "--cases", case, step, folder]
            said = subprocess.run(work, capture_output=True, text=True, check=True).stdout
        plan, used = json.loads(said), resource.getrusage(resource.RUSAGE_SELF)
        if run:
            command = [sys.executable, "-m", "hedgerow", "run", "job.toml", "--yes", "--no-forecast"]
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, code, used = os.wait4(process.pid, 0)
            assert code == 0, case
    return {
        **dict(zip(FIELDS, parts(case), strict=False)),
        "cpu": round(used.ru_utime + used.ru_stime, 1),
        "planned_cpu": round(plan["cpu_seconds"], 1),
        "mb": used.ru_maxrss // 1024,
        "planned_mb": round(plan["memory_bytes"] / 2**20),
    }


def planned_again(kept: Path) -> None:
    """Write what plans say now beside the runs that are kept, as after a change of the factors."""
    lines = pl.read_csv(kept).to_dicts()
    for line in lines:
        now = measured("{recipe}:{rows}x{columns}x{values}".format(**line), run=False)
        line |= {name: now[name] for name in ("planned_cpu", "planned_mb")}
    pl.DataFrame(lines).select(FIELDS).write_csv(kept)


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """The table with both ratios, run / plan."""
    ratios = ((pl.col(a) / pl.col(f"planned_{a}")).round(2).alias(f"{a} / planned") for a in ("cpu", "mb"))
    return found.with_columns(*ratios)


def main() -> None:
    """Measure cases and append to the file, or sum it up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--out", type=Path, default=Path("bench/cost.csv"))
    parser.add_argument("--summary", type=Path)
    parser.add_argument("--again", type=Path, help="a kept table whose plans are made anew")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--plan", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make or options.plan:
        made(options.cases, Path(options.make)) if options.make else planned(options.plan)
        return
    if options.again:
        planned_again(options.again)
        options.summary = options.again
    for case in [] if options.summary else options.cases.split(","):
        line = measured(case)
        print(line, flush=True)
        with options.out.open("a", encoding="utf-8") as file:
            file.write(pl.DataFrame([line]).select(FIELDS).write_csv(include_header=file.tell() == 0))
    with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True):
        print(summary(pl.read_csv(options.summary or options.out)))


if __name__ == "__main__":
    main()
