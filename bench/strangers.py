"""Public tables that are no relatives: what do they cost?

    python -m bench.strangers [--tables adult_halves acs_ma] [--epsilons 0.1 1 10] [--seeds 3] [--stand-in]
                              [--strangers shuffled ...] [--csv folder, for the tables of bench/packaged.py]

Strangers are made of a good public table.  *shuffled*: every column in an order of its own (right one-way tables, no
association).  *relabelled*: the values of every column exchanged for others.  *uniform*: as many rows, every value
equally likely.  *few*: 300 of the rows.  *one column*: the widest column alone is relabelled.  *half*: every second
column is.  *crossed*: right one-way tables and relations of other columns.  "without" is what the same budget gives
without a public table (``tree_blend``), and a figure is the error with the stranger over the error without; the bar
is 1.02, on the mean of all pairs (2) and of triples (3; eighty of them, the same for all).  Runs go through the gate
with exact noise, each recipe with the accounting that a job gives it; ``--stand-in`` takes seeded noise in floating
point instead, while exploring.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from bench import packaged
from bench.real_tables import load, schema_of
from bench.synthesize import Codes, codes
from hedgerow import pipeline
from hedgerow.answers import StandInGate
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.gaussian import budget_for
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES

TUNED, REPORTED = ("adult_halves", "acs_ma"), ("census", "acs_by_state")
EPSILONS, BAR = ("0.1", "1", "10"), 1.02
MOST = {2: 1000, 3: 80}
Domain = dict[str, int]


def shuffled(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """Each column in an order of its own."""
    return pl.DataFrame({c: rng.permutation(public[c].to_numpy()) for c in domain})


def relabelled(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """The values of each column exchanged for others."""
    return pl.DataFrame({c: rng.permutation(k)[public[c].to_numpy()] for c, k in domain.items()})


def uniform(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """Every value equally likely."""
    return pl.DataFrame({c: rng.integers(0, k, len(public)) for c, k in domain.items()})


def few(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """A sample of 300 rows."""
    return public[rng.choice(len(public), 300, replace=False)]


def one_column(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """The widest column relabelled, the others as they are."""
    widest = max(domain, key=lambda c: domain[c])
    values = rng.permutation(domain[widest])[public[widest].to_numpy()]
    return public.with_columns(pl.Series(widest, values))


def half(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """Every second column relabelled, the others as they are."""
    odd = list(domain)[1::2]
    return public.with_columns(pl.Series(c, rng.permutation(domain[c])[public[c].to_numpy()]) for c in odd)


def crossed(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """The values of each column in the order of the next one, whose values are relabelled first."""
    names, found = list(domain), {}
    for c, other in zip(names, [*names[1:], names[0]], strict=True):
        key = rng.permutation(domain[other])[public[other].to_numpy()] + 0.9 * rng.random(len(public))
        found[c] = np.empty(len(public), np.int64)
        found[c][np.argsort(key)] = np.sort(public[c].to_numpy())
    return pl.DataFrame(found)


def as_it_is(public: pl.DataFrame, domain: Domain, rng: np.random.Generator) -> pl.DataFrame:
    """The good public table, for comparison."""
    return public


STRANGERS: dict[str, Callable[[pl.DataFrame, Domain, np.random.Generator], pl.DataFrame]] = {
    "shuffled": shuffled,
    "relabelled": relabelled,
    "uniform": uniform,
    "few": few,
    "one column": one_column,
    "half": half,
    "crossed": crossed,
    "as it is": as_it_is,
}


class Run:
    """One confidential table, and the errors of runs on it."""

    def __init__(self, name: str, *, stand_in: bool, csv: Path | None = None) -> None:
        fresh = csv is not None and name in packaged.PAIRS
        public, self.secret, self.domain = packaged.load(name, csv) if csv is not None and fresh else load(name)
        assert public is not None
        self.name, self.public, self.stand_in = name, public, stand_in
        self.schema: Schema = schema_of(self.domain, packaged.PAIRS[name].ordered if fresh else ())
        self.coded, self.real = CodedTable.read(self.secret, self.schema), codes(self.secret, self.domain)

    def errors(
        self, recipe: str, relative: pl.DataFrame | None, epsilon: str, seed: int
    ) -> tuple[float, float, float]:
        """The mean L1 distance of pairs and of triples, and CPU seconds."""
        made, begun = RECIPES[recipe](), time.process_time()
        budget = budget_for(Fraction(epsilon), Fraction("1e-6"), made.accounting)
        known = PublicData(self.schema, None if relative is None else CodedTable.read(relative, self.schema))
        with tempfile.TemporaryDirectory() as folder:
            if self.stand_in:
                tariff = Tariff(self.schema.coding, Guarantee(), budget.measure)
                rng = np.random.default_rng([seed, 7])
                model = made.fit(StandInGate(tariff, budget, self.coded, self.coded.rows, rng), known)
            else:
                gate = pipeline.open_gate(
                    self.secret, self.schema, budget, ledger=f"{folder}/ledger.db", name=self.name
                )
                model = made.fit(gate, known)
            drawn = pipeline.draw_copies(model, known, copies=1, seed=seed).records[0]
        spent = time.process_time() - begun
        records = codes(drawn, self.domain)
        return self.distance(records, 2), self.distance(records, 3), spent

    def distance(self, made: Codes, k: int) -> float:
        """The mean over k-way tables of the L1 distance of shares, 0 to 2; only full cells are looked at."""
        keys = list(combinations(self.domain, k))
        if len(keys) > MOST[k]:
            chosen = np.random.default_rng(5).choice(len(keys), MOST[k], replace=False)
            keys = [keys[i] for i in chosen]
        return float(np.mean([l1(self.real, made, [(c, self.domain[c]) for c in key]) for key in keys]))


def l1(real: Codes, made: Codes, sizes: list[tuple[str, int]]) -> float:
    """The L1 distance of one table of shares: 2 less twice what both have."""
    sides = []
    for table in (real, made):
        cell = np.zeros(len(table[sizes[0][0]]), np.int64)
        for c, k in sizes:
            cell = cell * k + table[c]
        sides.append(np.unique(cell, return_counts=True))
    (here, a), (there, b) = sides
    _, i, j = np.intersect1d(here, there, return_indices=True, assume_unique=True)
    return float(2 - 2 * np.minimum(a[i] / a.sum(), b[j] / b.sum()).sum())


def compare(run: Run, epsilons: list[str], strangers: list[str], seeds: int) -> None:
    """Every stranger at every epsilon, beside no public table; with the standard error of a ratio, run by run."""
    alone = [run.distance(codes(run.public, run.domain), k) for k in (2, 3)]
    print(f"{run.name}: {len(run.secret):,} rows, {len(run.domain)} columns; error over that without a public table")
    print(f"        {'public itself':<12} 2 {alone[0]:.4f}  3 {alone[1]:.4f}")
    for epsilon in epsilons:
        without = np.array([run.errors("tree_blend", None, epsilon, s) for s in range(seeds)])
        base = without.mean(axis=0)
        print(f"  {epsilon:>4}  {'without':<12} 2 {base[0]:.4f}  3 {base[1]:.4f}  CPU {base[2]:.1f} s")
        for stranger in strangers:
            found = []
            for s in range(seeds):
                relative = STRANGERS[stranger](run.public, run.domain, np.random.default_rng(s))
                found.append(run.errors("public_blend", relative, epsilon, s))
            mean = np.mean(found, axis=0)
            ratio = mean / base
            doubt = (np.array(found) / base - without / base).std(axis=0, ddof=1) / seeds**0.5
            mark = "  above the bar" if ratio[:2].max() > BAR else ""
            print(
                f"  {epsilon:>4}  {stranger:<12} 2 {mean[0]:.4f} {ratio[0]:.3f} ({doubt[0]:.3f})"
                f"  3 {mean[1]:.4f} {ratio[1]:.3f} ({doubt[1]:.3f})  CPU {mean[2]:.1f} s{mark}",
                flush=True,
            )


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("--tables", nargs="*", default=[*TUNED, *REPORTED])
    reader.add_argument("--epsilons", nargs="*", default=list(EPSILONS))
    reader.add_argument("--strangers", nargs="*", default=list(STRANGERS))
    reader.add_argument("--seeds", type=int, default=3)
    reader.add_argument("--stand-in", action="store_true")
    reader.add_argument("--csv", type=Path)
    asked = reader.parse_args()
    for wanted in asked.tables:
        compare(Run(wanted, stand_in=asked.stand_in, csv=asked.csv), asked.epsilons, asked.strangers, asked.seeds)
