"""Eighteen million personnel rows, end to end: the published cells of the federal personnel file, written out.

    python -m bench.population {attach,records} [--rows 18174524] [--json]

Six columns: year, age, grade, occupational category, years of education, and pay as the mean of the cell, in bins.
``attach`` gives all rows a synthetic age and education (143 labels) by ``guided_tree``, with pay as an outcome; the
public table has the rows of 1988 to 1990.  ``records`` draws as many whole records by ``tree_blend`` without a public
table.  ``hedgerow run --no-forecast`` in a process of its own, kernels in the cache; CPU seconds of all threads, peak
memory.  Bar: minutes, and 4 GB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

CELLS = Path(__file__).parents[2] / "shared" / "data" / "opm" / "cpdf_population_cells.parquet"
PRIVATE = ("age", "yearsEd")
JOB = """
[job]
recipe = "{recipe}"
seed = 1
out = "out"
[schema]
file = "schema.toml"
[confidential]
table = "all.parquet"
name = "population"
relation = "{relation}"
[budget]
epsilon = 1
{delta}[ledger]
url = "ledger.db"
"""
ATTACH = '[public]\ntable = "public.parquet"\nprovenance = "published cells of 1988 to 1990"\n'
ATTACH += '[target]\ntable = "target.parquet"\n[guided_tree]\noutcomes = ["pay"]\n'


def tables(folder: Path, rows: int) -> None:
    """The cells written out, every so manieth of ``n`` where fewer rows are wanted; and a schema."""
    cells = pl.read_parquet(CELLS).with_columns(pay=(pl.col("sumPay") / pl.col("n")).round(0).cast(pl.Int64))
    parts = cells.with_columns(pl.col("n").cast(pl.Float64) * (rows / cells["n"].sum()))
    parts = parts.with_columns(
        n=(pl.col("n").cum_sum().round() - pl.col("n").cum_sum().shift(1, fill_value=0).round())
    )
    known = ["fy", "age", "grade", "occCat", "yearsEd", "pay"]
    frame = parts.select(pl.col(known).repeat_by(pl.col("n").cast(pl.UInt32)).explode())
    frame.write_parquet(folder / "all.parquet", row_group_size=1 << 20)
    frame.drop(PRIVATE).write_parquet(folder / "target.parquet", row_group_size=1 << 20)
    frame.filter(pl.col("fy") <= 1990).write_parquet(folder / "public.parquet")
    listed = {c: json.dumps([str(v) for v in cells[c].unique().sort()]) for c in known[:5]}
    kinds = {c: "categorical" if c == "occCat" else "ordered" for c in listed}
    text = "".join(
        f'[columns.{c}]\nkind = "{kinds[c]}"\nvalues = {v}\nother = {json.loads(v)[0]!r}\n'
        + ("" if c == "occCat" else 'type = "integer"\n')
        for c, v in listed.items()
    )
    bins = '[columns.pay]\nkind = "integer"\nbins = { low = 0, high = 200000, width = 2000 }\nother = 50000\n'
    (folder / "schema.toml").write_text(text.replace("'", '"') + bins, "utf-8")


def run(kind: str, rows: int) -> dict[str, float]:
    """CPU seconds, wall seconds and peak memory."""
    with tempfile.TemporaryDirectory() as place:
        folder, began = Path(place), time.monotonic()
        tables(folder, rows)
        attach = kind == "attach"
        text = JOB.format(
            recipe="guided_tree" if attach else "tree_blend",
            relation="label-change" if attach else "add-remove",
            delta="" if attach else 'delta = "1e-9"\n',
        )
        (folder / "job.toml").write_text(text + (ATTACH if attach else ""), "utf-8")
        began = time.monotonic()
        command = [sys.executable, "-m", "hedgerow", "run", "job.toml", "--yes", "--no-forecast"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        _, code, used = os.wait4(process.pid, 0)
    assert code == 0, code
    wall = time.monotonic() - began
    return {"rows": rows, "cpu": used.ru_utime + used.ru_stime, "wall": wall, "mb": used.ru_maxrss / 1024}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("attach", "records"))
    parser.add_argument("--rows", type=int, default=18_174_524)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = run(asked.kind, asked.rows)
    if asked.json:
        print(json.dumps(found))
        return
    print(
        f"{asked.kind}, {asked.rows:,} rows: {found['cpu']:.0f} CPU-s, {found['wall']:.0f} s by the clock,"
        f" {found['mb']:,.0f} MB"
    )


if __name__ == "__main__":
    main()
