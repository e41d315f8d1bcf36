"""Whole records: error, CPU and memory of the two blends on real tables, beside lines that anyone can draw.

    python -m bench.synthesize                     every table, every epsilon, three runs
    python -m bench.synthesize adult 1 10          one table, some epsilons
Error is the mean over all 2-way (3-way) tables of the L1 distance of shares, 0 to 2, full domain, worked out by
shared/tools/scorer.py.  Every run goes through the gate with exact noise; CPU includes counting, noise, fitting and
drawing, not reading the file.  Each recipe runs in a process of its own, whose peak memory is shown.
"measured only" is tree_blend with the same budget; "ratio" is public_blend over the better of it and the public
table as it is.
"""

import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import polars as pl

from bench.real_tables import DATA, load, schema_of
from hedgerow import pipeline
from hedgerow.public.costs.gaussian import budget_for
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES

EPSILONS = ("0.1", "0.25", "1", "3", "10")
NAMES = ("adult", "adult_halves", "adult_shifted", "adult_coarse", "acs_ma", "census", "acs_by_state")
RUNS = 3
Codes = dict[str, Any]


def codes(frame: pl.DataFrame, domain: dict[str, int]) -> Codes:
    """The columns as whole numbers."""
    return {c: frame[c].cast(pl.Int64).to_numpy() for c in domain}


def error(real: Codes, made: Codes, domain: dict[str, int], k: int) -> float:
    """The mean L1 distance of all k-way tables, by the common scorer."""
    sys.path.insert(0, str(DATA.parent / "tools"))
    scorer: Any = importlib.import_module("scorer")
    return float(np.mean(list(scorer.marginal_l1(real, made, domain, k).values())))


def runs(name: str, recipe: str, epsilons: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every run of one recipe, measured in this process; the first, which loads compiled code, is not counted."""
    public, secret, domain = load(name)
    schema = schema_of(domain)
    relative = None if public is None or recipe != "public_blend" else CodedTable.read(public, schema)
    known, real, found = PublicData(schema, relative), codes(secret, domain), []
    for epsilon, seed in [(epsilons[0], -1), *((e, s) for e in epsilons for s in range(RUNS))]:
        budget = budget_for(epsilon, "1e-9" if name == "adult" else "1e-6", RECIPES[recipe]().accounting)
        with tempfile.TemporaryDirectory() as folder:
            started = time.process_time()
            gate = pipeline.open_gate(secret, schema, budget, ledger=f"{folder}/ledger.db", name=name)
            model = RECIPES[recipe]().fit(gate, known)
            drawn = pipeline.draw_copies(model, known, copies=1, seed=abs(seed)).records[0]
            spent = time.process_time() - started
        if seed >= 0:
            made = codes(drawn, domain)
            errors = {f"l{k}": error(real, made, domain, k) for k in (2, 3)}
            found.append({"epsilon": epsilon, **errors, "cpu": spent})
    return [r | {"mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024} for r in found]


def lines(name: str) -> float:
    """What anyone can draw without a method; the 2-way error of the public table as it is."""
    public, secret, domain = load(name)
    rng, real = np.random.default_rng(0), codes(secret, domain)
    n, best = len(secret), np.inf
    drawn = {
        "uniform": {c: rng.integers(0, k, n) for c, k in domain.items()},
        "independent (no noise)": {c: rng.permutation(v) for c, v in real.items()},
        "resample of the truth": {c: v[i] for i in [rng.integers(0, n, n)] for c, v in real.items()},
    }
    if public is not None:
        drawn["public as it is"] = codes(public, domain)
        best = error(real, drawn["public as it is"], domain, 2)
    for line, made in drawn.items():
        print(f"  {line:<30} 2-way {error(real, made, domain, 2):.4f}  3-way {error(real, made, domain, 3):.4f}")
    return best


def report(name: str, epsilons: tuple[str, ...]) -> None:
    """The lines, then every recipe at every epsilon."""
    public, secret, domain = load(name)
    print(f"{name}: {len(secret):,} rows, {len(domain)} columns, {sum(domain.values())} values", flush=True)
    as_it_is, measured = lines(name), {}
    labels = {
        "independent": "independent",
        "tree_blend": "measured only (tree_blend)",
        "public_blend": "public_blend",
    }
    for recipe in list(labels)[: 2 + (public is not None)]:
        asked = [sys.executable, "-m", "bench.synthesize", "--runs", name, recipe, *epsilons]
        found = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
        for epsilon in epsilons:
            at = {k: [r[k] for r in found if r["epsilon"] == epsilon] for k in ("l2", "l3", "cpu", "mb")}
            two = float(np.mean(at["l2"]))
            if recipe == "tree_blend":
                measured[epsilon] = two
            ratio = f"  ratio {two / min(as_it_is, measured[epsilon]):.3f}" if recipe == "public_blend" else ""
            print(
                f"  {labels[recipe]:<30} epsilon {epsilon:>4}"
                f"  2-way {two:.4f} ({min(at['l2']):.4f}-{max(at['l2']):.4f})"
                f"  3-way {np.mean(at['l3']):.4f}  CPU {np.mean(at['cpu']):.1f} s  {max(at['mb']):.0f} MB{ratio}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--runs"]:
        print(json.dumps(runs(sys.argv[2], sys.argv[3], tuple(sys.argv[4:]))))
    else:
        for table_name in sys.argv[1:2] or NAMES:
            report(table_name, tuple(sys.argv[2:]) or EPSILONS)
