"""Whole records: error, CPU and memory of the two blends on real tables, beside lines that anyone can draw.

    python -m bench.synthesize                     every table, three seeds
    python -m bench.synthesize adult 1 10          one table, some epsilons
Error is the mean over all 2-way (3-way) tables of the L1 distance of shares, 0 to 2, full domain.  Each run is a
process of its own through the gate with exact noise; CPU includes counting, noise, fitting and drawing.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from bench.real_tables import load, schema_of
from hedgerow import pipeline
from hedgerow.public.accounting import Budget
from hedgerow.public.table import PublicTable
from hedgerow.recipes import RECIPES, PublicData

EPSILONS = ("0.1", "0.25", "1", "3", "10")
NAMES = ("adult", "adult_halves", "adult_shifted", "acs_ma", "census", "acs_by_state")
Codes = dict[str, Any]


def codes(frame: pl.DataFrame, domain: dict[str, int]) -> Codes:
    """The columns as whole numbers."""
    return {c: frame[c].cast(pl.Int64).to_numpy() for c in domain}


def table(rows: Codes, columns: tuple[str, ...], domain: dict[str, int]) -> Any:
    """The shares of a table."""
    flat = np.zeros(len(rows[columns[0]]), np.int64)
    for c in columns:
        flat = flat * domain[c] + rows[c]
    return np.bincount(flat, minlength=int(np.prod([domain[c] for c in columns]))) / len(flat)


def error(real: Codes, made: Codes, domain: dict[str, int], k: int) -> float:
    """The mean L1 distance of all k-way tables; of a hundred triples where there are many."""
    sets = list(combinations(domain, k))
    sets = sets if k < 3 or len(domain) <= 14 else sets[:: max(1, len(sets) // 100)]
    return float(np.mean([np.abs(table(real, s, domain) - table(made, s, domain)).sum() for s in sets]))


def one(name: str, recipe: str, epsilon: str, seed: int) -> dict[str, Any]:
    """One run, measured in this process."""
    public, secret, domain = load(name)
    schema = schema_of(domain)
    relative = None if public is None or recipe != "public_blend" else PublicTable.read(public, schema)
    budget = Budget(epsilon, "1e-9" if name == "adult" else "1e-6")
    known = PublicData(schema, relative)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        gate = pipeline.open_gate(secret, schema, budget, ledger=f"{folder}/ledger.db", name=name)
        drawn = pipeline.draw_copies(RECIPES[recipe]().fit(gate, known), known, copies=1, seed=seed).records[0]
        spent = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    real, made = codes(secret, domain), codes(drawn, domain)
    return {"l2": error(real, made, domain, 2), "l3": error(real, made, domain, 3), "cpu": spent, "mb": peak}


def lines(name: str) -> None:
    """What anyone can draw without a method."""
    public, secret, domain = load(name)
    rng, real = np.random.default_rng(0), codes(secret, domain)
    n = len(secret)
    drawn = {
        "uniform": {c: rng.integers(0, k, n) for c, k in domain.items()},
        "independent (no noise)": {c: rng.permutation(v) for c, v in real.items()},
        "resample of the truth": {c: v[i] for i in [rng.integers(0, n, n)] for c, v in real.items()},
    }
    if public is not None:
        drawn["public as it is"] = codes(public, domain)
    for line, made in drawn.items():
        print(f"  {line:<36} 2-way {error(real, made, domain, 2):.4f}  3-way {error(real, made, domain, 3):.4f}")


def report(name: str, epsilons: tuple[str, ...], seeds: int = 3) -> None:
    """The lines, then every recipe at every epsilon, each seed in a process of its own."""
    public, secret, domain = load(name)
    print(f"{name}: {len(secret):,} rows, {len(domain)} columns, {sum(domain.values())} values", flush=True)
    lines(name)
    for recipe in ["independent", "tree_blend"] + ["public_blend"] * (public is not None):
        for epsilon in epsilons:
            runs = []
            for seed in range(seeds):
                asked = [sys.executable, __file__, "--one", name, recipe, epsilon, str(seed)]
                runs.append(json.loads(subprocess.run(asked, check=True, capture_output=True).stdout))
            shown = {k: [r[k] for r in runs] for k in runs[0]}
            print(
                f"  {recipe:<20} epsilon {epsilon:>5}"
                f"     2-way {np.mean(shown['l2']):.4f} (worst {max(shown['l2']):.4f})"
                f"  3-way {np.mean(shown['l3']):.4f}  CPU {np.mean(shown['cpu']):.1f} s  {max(shown['mb']):.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        table_name, recipe_name, spent, run = sys.argv[2:6]
        print(json.dumps(one(table_name, recipe_name, spent, int(run))))
    else:
        for table_name in sys.argv[1:2] or NAMES:
            report(table_name, tuple(sys.argv[2:]) or EPSILONS)
