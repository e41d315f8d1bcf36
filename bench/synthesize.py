"""Whole records: error, CPU and memory of the two blends on real tables, beside lines that anyone can draw.

    python bench/synthesize.py                     every table, three seeds
    python bench/synthesize.py adult 1 10          one table, some epsilons
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
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow import pipeline
from hedgerow.public.accounting import Budget
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicTable
from hedgerow.recipes import RECIPES, PublicData

DATA = Path("/work/shared/data")
EPSILONS = ("0.1", "0.25", "1", "3", "10")
NAMES = ("adult", "adult_halves", "adult_shifted", "acs_ma", "census", "acs_by_state")
ACS_MA = "PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT INDP_CAT EDU PINCP_DECILE POVPIP DVET DREM DPHY"
CENSUS = "age sex race education marital_stat major_industry_code major_occupation_code class_of_worker wage_per_hour"
Codes = dict[str, Any]


def load(name: str) -> tuple[pl.DataFrame | None, pl.DataFrame, dict[str, int]]:
    """Public rows, confidential rows, both in codes, and the number of codes of each column."""
    if name == "adult":
        domain = json.loads((DATA / "adult/adult-domain.json").read_text())
        return None, pl.read_parquet(DATA / "adult/adult.parquet").select(list(domain)), domain
    sys.path.insert(0, str(DATA))
    import splits  # type: ignore[import-not-found]

    base = "adult_halves" if name == "adult_shifted" else name
    parts = getattr(splits, base)()
    public, secret = parts["public"], parts["confidential"]
    if base == "adult_halves":
        domain = json.loads((DATA / "adult/adult-domain.json").read_text())
        if name == "adult_shifted":  # one sex is over-sampled threefold
            public = public[(public["sex"] == 1) | (np.arange(len(public)) % 3 == 0)]
        return pl.from_pandas(public[list(domain)]), pl.from_pandas(secret[list(domain)]), domain
    skip = {"PUMA", "YEAR", "STATE", "HHWT", "PERWT", "GQ", "sim_individual_id"}
    wanted = {"acs_ma": ACS_MA.split(), "census": CENSUS.split()}.get(
        name, [c for c in public.columns if c not in skip][:18]
    )
    return _coded(public, secret, [c for c in wanted if c in public.columns])


def _coded(public: Any, secret: Any, columns: list[str]) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """Numbers with many values cut at twenty quantiles of the public table; then codes of all values seen."""
    out: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    domain: dict[str, int] = {}
    for c in columns:
        both = []
        for table in (public, secret):
            column = table[c]
            if public[c].dtype.kind in "if" and public[c].nunique() > 20:
                edges = np.unique(np.nanquantile(public[c], np.linspace(0, 1, 21)[1:-1]))
                column = np.where(column.isna(), -1, np.searchsorted(edges, column.fillna(0), side="right"))
            both.append(np.asarray(column, str))
        values = sorted(set(both[0]) | set(both[1]))
        if len(values) > 1:
            domain[c] = len(values)
            for made, column in zip(out, both, strict=True):
                made[c] = np.searchsorted(values, column)
    return pl.DataFrame(out[0]), pl.DataFrame(out[1]), domain


def schema_of(domain: dict[str, int]) -> Schema:
    """A schema of plain codes."""
    parts = (
        f'[columns."{c}"]\nkind = "categorical"\nvalues = {json.dumps([*map(str, range(k))])}\n'
        for c, k in domain.items()
    )
    return Schema.loads("".join(parts))


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
