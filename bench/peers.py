"""Published peers beside ``tree_blend``, on one table: CPU seconds, memory, and how near their pairs are.

    python bench/peers.py [--rows 20000] [--columns 10] [--environment .venv-peers] [--minutes 10] [--json]

Each peer is installed in an environment of its own, within so many minutes; what does not install, or does not run,
is said with its own last words and left out.  All get the same simulated rows (``bench/scale.py``), the values of
every column as public knowledge, epsilon 1 and delta 1e-6, and draw as many records; their settings are otherwise
those they come with.  One run each in a process of its own, start of Python included.  Error: the mean
total-variation distance of all two-way tables from the true ones; beside it that of the same columns shuffled.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
EPSILON, DELTA = 1.0, 1e-6


def _dpmm(name: str) -> Callable[[Any, dict[str, list[str]]], Any]:
    def made(frame: Any, values: dict[str, list[str]]) -> Any:
        from dpmm import pipelines  # type: ignore[import-not-found]

        model = getattr(pipelines, name)(epsilon=EPSILON, delta=DELTA)
        model.fit(frame.astype("category"), {c: {"categories": v} for c, v in values.items()})
        return model.generate(n_records=len(frame))

    return made


def _smartnoise(name: str) -> Callable[[Any, dict[str, list[str]]], Any]:
    def made(frame: Any, values: dict[str, list[str]]) -> Any:
        from snsynth import Synthesizer  # type: ignore[import-not-found]

        model = Synthesizer.create(name, epsilon=EPSILON, delta=DELTA)
        return model.fit_sample(frame, categorical_columns=list(values), preprocessor_eps=0.0)

    return made


def _hedgerow(frame: Any, values: dict[str, list[str]]) -> Any:
    from hedgerow.pipeline import draw_copies, open_gate
    from hedgerow.public.costs.accounting import Budget
    from hedgerow.public.schema import Schema
    from hedgerow.public.table import PublicData
    from hedgerow.recipes import TreeBlend

    schema = Schema.loads(
        "\n".join(
            f'[columns.{c}]\nkind = "categorical"\nvalues = {json.dumps(v)}\nother = "{v[0]}"'
            for c, v in values.items()
        )
    )
    with tempfile.TemporaryDirectory() as place:
        gate = open_gate(frame, schema, Budget(EPSILON, str(DELTA)), ledger=f"{place}/ledger.db", name="table")
        fitted = TreeBlend().fit(gate, PublicData(schema))
    return draw_copies(fitted, PublicData(schema), copies=1, seed=0).records[0].to_pandas()


OURS = "hedgerow tree_blend"
PEERS: dict[str, tuple[str, Callable[[Any, dict[str, list[str]]], Any]]] = {
    "dpmm MST": ("dpmm", _dpmm("MSTPipeline")),
    "dpmm AIM": ("dpmm", _dpmm("AIMPipeline")),
    "smartnoise-synth MWEM": ("smartnoise-synth", _smartnoise("mwem")),
    "smartnoise-synth MST": ("smartnoise-synth", _smartnoise("mst")),
}
NAMED = {
    "private-pgm": "its package mbi estimates from noisy tables and chooses none; its mechanisms are not in it",
    "synthcity": "it brings several GB with it",
}
"""Peers that are not tried, and why."""


def one(name: str, folder: Path) -> None:
    """Make a peer's records, in its own environment."""
    import pandas as pd

    frame = pd.read_csv(folder / "table.csv", dtype=str)
    values = json.loads((folder / "values.json").read_text("utf-8"))
    make = _hedgerow if name == OURS else PEERS[name][1]
    make(frame, values).to_csv(folder / "made.csv", index=False)


def python_of(environment: Path, package: str) -> Path:
    """The Python of a package's own environment: what peers need does not agree."""
    return (environment / package / "bin" / "python").absolute()


def installed(environment: Path, package: str, minutes: float) -> str:
    """Install a package; what it said if that failed, or nothing."""
    if not (python := python_of(environment, package)).exists():
        venv.create(environment / package, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--prefer-binary", package, "pandas"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * minutes, check=False)
    except subprocess.TimeoutExpired:
        return f"it was not installed within {minutes:g} minutes"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]


def carried_out(python: Path, name: str, folder: Path, minutes: float) -> dict[str, Any]:
    """One peer on the table in ``folder``: what it took, or what it said last."""
    (folder / "made.csv").unlink(missing_ok=True)
    limit = ["timeout", str(round(60 * minutes))]
    with (folder / "said.txt").open("w", encoding="utf-8") as said:
        command = [*limit, str(python), str(HERE), "--one", name, str(folder)]
        process = subprocess.Popen(command, stdout=said, stderr=said)
        _, code, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    if code or not (folder / "made.csv").exists():
        words = (folder / "said.txt").read_text("utf-8").strip().splitlines()
        return {"failed": (words or ["it was not done in time"])[-1]}
    return {
        "cpu": used.ru_utime + used.ru_stime,
        "mb": used.ru_maxrss / 1024,
        "error": distance(folder / "table.csv", folder / "made.csv"),
    }


def distance(true: Path, made: Path) -> float:
    """The mean total-variation distance of all two-way tables."""
    import polars as pl

    frames = [pl.read_csv(p, infer_schema=False) for p in (true, made)]
    found = []
    for pair in combinations(frames[0].columns, 2):
        one, other = (f.group_by(pair).len().with_columns(pl.col("len") / len(f)) for f in frames)
        both = one.join(other, on=pair, how="full", coalesce=True, suffix="_made").fill_null(0)
        found.append(float((both["len"] - both["len_made"]).abs().sum()) / 2)
    return sum(found) / len(found)


def main() -> None:
    """Install, run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--environment", type=Path, default=Path(".venv-peers"))
    parser.add_argument("--minutes", type=float, default=10, help="for an installation, and for a run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one[0], Path(asked.one[1]))
        return
    sys.path.insert(0, str(HERE.parents[1]))
    from bench.scale import simulated

    table = simulated(asked.rows, asked.columns, 1)
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table.write_csv(folder / "table.csv")
        values = {c: [str(v) for v in table[c].unique().sort()] for c in table.columns}
        (folder / "values.json").write_text(json.dumps(values), "utf-8")
        apart = table.select(c.shuffle(seed=i) for i, c in enumerate(table.iter_columns()))
        apart.write_csv(folder / "apart.csv")
        found["columns shuffled"] = {"error": distance(folder / "table.csv", folder / "apart.csv")}
        found[OURS] = carried_out(Path(sys.executable), OURS, folder, asked.minutes)
        packages = dict.fromkeys(package for package, _ in PEERS.values())
        wrong = {p: installed(asked.environment, p, asked.minutes) for p in packages}
        for name, (package, _) in PEERS.items():
            python, said = python_of(asked.environment, package), wrong[package]
            found[name] = {"failed": said} if said else carried_out(python, name, folder, asked.minutes)
    found |= {name: {"failed": f"not tried: {why}"} for name, why in NAMED.items()}
    if asked.json:
        print(json.dumps({"rows": asked.rows, "columns": asked.columns, "found": found}, indent=1))
        return
    print(f"{asked.rows:,} rows x {asked.columns} columns, epsilon {EPSILON:g}, delta {DELTA:g}")
    for name, got in found.items():
        took = f"{got['cpu']:8.1f} CPU-s {got['mb']:7,.0f} MB" if "cpu" in got else " " * 26
        print(f"  {name:24} {took}   " + (got.get("failed") or f"mean distance of pairs {got['error']:.4f}"))


if __name__ == "__main__":
    main()
