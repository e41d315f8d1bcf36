"""The DPSyn method on real survey files, by group: the challenge's score in every regime.

    python -m bench.dpsyn [--seeds 3] [--pairs acs_by_state acs_by_year] [--variants repaired paper] [--epsilons ...]

Score = 1000 (1 - half the mean L1 distance of three-way shares within a group), over sampled triples of file columns.
Every run goes through a real gate with real noise.  Both variants can be shown: ours, and the paper's plain method.
The paper adds Laplace epsilons; where it uses Laplace noise only, its variant runs with delta 0, so that its noise is
its own.  ``acs_state_reversed`` (Illinois public, Ohio confidential) and ``acs_ma`` were kept aside while choosing.
Reference lines: the public table as it is (all of it for every group), its rows of the same PUMA where it has them,
as many public rows at random as each group has, and a resample of the truth as large as the groups.  The bar is the
third: records of ours are as many as rows, and so few cannot be as smooth as the whole public table.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from bench.real_tables import DATA, load, schema_of
from hedgerow.pipeline import draw_copies, open_gate
from hedgerow.public.costs.accounting import Budget
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes.dpsyn.budget import split_budget
from hedgerow.recipes.dpsyn.dpsyn import DPSyn

ACS = DATA / "acs_il_oh" / "il_oh_decoded.parquet"
JOINS = {
    "SEX_MARST": ["SEX", "MARST"],
    "INSURANCE": ["HCOVANY", "HCOVPRIV", "HINSEMP", "HINSCAID", "HINSCARE"],
    "EMP": ["EMPSTATD", "WORKEDYR", "WRKLSTWK"],
    "ABSENT_LOOKING": ["ABSENT", "LOOKING"],
    "AVAILBLE_WRKRECAL": ["AVAILBLE", "WRKRECAL"],
}
DETERMINED = {"EMPSTAT": "EMPSTATD", "LABFORCE": "EMPSTATD"}
EPSILONS = (0.01, 0.03, 0.05, 0.1, 0.3, 1, 3, 10)
DELTA = "2.5e-5"
PAIRS = ("acs_by_state", "acs_by_year", "acs_state_reversed", "acs_ma")
TRIPLES = 60
Variant = Literal["repaired", "paper"]
VARIANTS: tuple[Variant, ...] = ("repaired", "paper")
Matrix = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class Case:
    """A pair of tables, by ``groups``."""

    public: pl.DataFrame
    confidential: pl.DataFrame
    groups: tuple[str, ...]
    schema: Schema


def case(name: str) -> Case:
    """Ohio and Illinois, the reverse, 2012-2014 and 2015-2018, or Massachusetts in 2018 and 2019."""
    if name == "acs_ma":
        public, confidential, domain = load(name)
        assert public is not None
        return Case(public, confidential, ("PUMA",), schema_of(domain))
    first = {
        "acs_by_state": pl.col("STATE") == "OH",
        "acs_state_reversed": pl.col("STATE") == "IL",
        "acs_by_year": pl.col("YEAR") <= 2014,
    }[name]
    table = pl.read_parquet(ACS)
    public, confidential = table.filter(first).drop("STATE"), table.filter(~first).drop("STATE")
    groups = ("PUMA", "YEAR")
    return Case(public, confidential, groups, paper_encoding(public, confidential, groups))


def paper_encoding(public: pl.DataFrame, confidential: pl.DataFrame, groups: Sequence[str]) -> Schema:
    """The paper's encoding: values and combinations of the public table; groups from the code book.

    The code book's list of groups is that of the published file, so it is read off the groups' names here.
    """
    lines = []
    for name in public.columns:
        seen = (confidential if name in groups else public)[name].unique().sort().to_list()
        lines += [
            f"[columns.{name}]",
            'kind = "categorical"',
            f"values = {[str(v) for v in seen]}",
            f"other = '{seen[-1]}'",
        ]
        if name in DETERMINED:
            lines.append(f'determined_by = ["{DETERMINED[name]}"]')
    for name, parts in JOINS.items():
        lines += ["[[joined]]", f'name = "{name}"', f"columns = {parts}", 'keep = "public"']
    return Schema.loads("\n".join(lines).replace("'", '"')).resolved(public)


class Scorer:
    """Scores synthetic tables against one confidential table."""

    def __init__(self, confidential: pl.DataFrame, groups: Sequence[str], rng: np.random.Generator) -> None:
        self.groups = list(groups)
        self.columns = [c for c in confidential.columns if c not in groups]
        every = list(combinations(range(len(self.columns)), 3))
        self.triples = [every[i] for i in rng.choice(len(every), TRIPLES, replace=False)]
        self.keys = {k: i for i, k in enumerate(self._keys(confidential).unique().sort().to_list())}
        self.true, self.group = self._matrix(confidential), self._groups(confidential)

    def score(self, table: pl.DataFrame, *, pooled: bool = False) -> float:
        """The challenge's score of ``table``; ``pooled``: all of it stands for every group."""
        x = self._matrix(table)
        where = np.zeros(len(x), np.int64) if pooled else self._groups(table)
        x, where = x[where >= 0], where[where >= 0]  # rows of groups that the confidential table lacks
        return 1000 * (1 - float(np.mean([self._distance(t, x, where, pooled) for t in self.triples])) / 2)

    def _distance(self, triple: tuple[int, ...], x: Matrix, where: Matrix, pooled: bool) -> float:
        both = np.concatenate([self.true[:, triple], x[:, triple]])
        code = (both[:, 0] * 1000 + both[:, 1]) * 1000 + both[:, 2]
        cells, code = np.unique(code, return_inverse=True)
        n, size = len(self.true), len(cells)
        a = self._shares(self.group * size + code[:n], len(self.keys), size)
        b = self._shares(where * size + code[n:], 1 if pooled else len(self.keys), size)
        return float(np.abs(a - b).sum(axis=1).mean())

    @staticmethod
    def _shares(code: Matrix, groups: int, size: int) -> npt.NDArray[np.float64]:
        counts = np.bincount(code, minlength=groups * size).reshape(groups, size)
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))

    def _keys(self, table: pl.DataFrame) -> pl.Series:
        return table.select(pl.concat_str(pl.col(self.groups).cast(pl.String), separator="|")).to_series()

    def _groups(self, table: pl.DataFrame) -> Matrix:
        return np.array([self.keys.get(k, -1) for k in self._keys(table).to_list()], np.int64)

    def _matrix(self, table: pl.DataFrame) -> Matrix:
        return table.select(pl.col(self.columns).cast(pl.Int64)).to_numpy()


@final
@dataclass(frozen=True)
class Result:
    """What one run gave."""

    regime: str
    score: float
    records: int
    cpu: float


def run(recipe: DPSyn, tables: Case, free: PublicData, budget: Budget, seed: int) -> tuple[str, pl.DataFrame]:
    """The regime that was chosen, and the records."""
    with tempfile.TemporaryDirectory() as folder:
        gate = open_gate(tables.confidential, free.schema, budget, ledger=f"{folder}/ledger.db", name=f"acs{seed}")
        records = draw_copies(recipe.fit(gate, free), free, copies=1, seed=seed).records[0]
    asked = [len(a.spend.asked[0].question.columns) for a in gate.record if len(a.spend.asked) > 1]
    return {0: "public_only", 1: "one_way", 2: "two_way"}[asked[0] if asked else 0], records


def references(scorer: Scorer, tables: Case) -> tuple[float, float]:
    """Prints the lines to compare with; the scores of the public table as it is, and of as few rows of it."""
    public, confidential, groups = tables.public, tables.confidential, list(tables.groups)
    base = scorer.score(public, pooled=True)
    there = confidential.select(groups).unique(maintain_order=True)
    local = there.join(public.drop(groups[1:]), on=groups[0])
    parts = confidential.partition_by(groups)
    few = pl.concat([public.drop(groups).sample(len(g), seed=i) for i, g in enumerate(parts)])
    few = few.with_columns(pl.concat([g.select(groups) for g in parts]))
    again = pl.concat([g.sample(fraction=1, with_replacement=True, seed=1) for g in parts])
    lines = {
        "public as it is": base,
        f"public rows of the same {groups[0]}": scorer.score(local) if len(local) else None,
        "as many public rows at random": scorer.score(few),
        "the truth without groups": scorer.score(confidential, pooled=True),
        "resample of the truth in each group": scorer.score(again),
    }
    for name, score in lines.items():
        if score is not None:
            print(f"  {name:<40} {score:6.1f} {score - base:+7.1f}")
    return base, scorer.score(few)


def one(tables: Case, free: PublicData, scorer: Scorer, variant: Variant, epsilon: float, seed: int) -> Result:
    """One run, scored; its CPU seconds without the scoring."""
    rule = split_budget(epsilon, delta=float(DELTA), theta=1, rows=len(tables.confidential))
    delta = DELTA if variant == "repaired" or rule.regime == "two_way" else "0"
    began = time.process_time()
    regime, records = run(DPSyn(groups=tables.groups, variant=variant), tables, free, Budget(epsilon, delta), seed)
    cpu = time.process_time() - began
    return Result(regime, scorer.score(records), len(records), cpu)


def bench(name: str, epsilons: Sequence[float], seeds: int, variants: Sequence[Variant]) -> int:
    """Prints the scores of one pair of tables; how many runs of ours are below as many public rows at random."""
    tables = case(name)
    scorer = Scorer(tables.confidential, tables.groups, np.random.default_rng(0))
    free = PublicData(tables.schema, CodedTable.read(tables.public, tables.schema))
    there = f"{len(tables.confidential):,} rows, {len(scorer.keys)} groups, {len(tables.public):,} public rows"
    print(f"\n{name}: {there}; delta {DELTA}, {seeds} seeds")
    base, bar = references(scorer, tables)
    print("  variant   epsilon  regime(s)               score   above public: mean   worst   records  CPU s     MB")
    below = 0
    for variant in variants:
        for epsilon in epsilons:
            got = [one(tables, free, scorer, variant, epsilon, seed) for seed in range(seeds)]
            scores = np.array([r.score for r in got])
            below += int((scores < bar).sum()) if variant == "repaired" else 0
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"  {variant:<9} {epsilon:<8g} {'+'.join(sorted({r.regime for r in got})):<22} {scores.mean():6.1f} "
                f"{scores.mean() - base:+19.1f} {scores.min() - base:+7.1f} "
                f"{got[0].records:9,} {np.mean([r.cpu for r in got]):6.1f} {memory:6.0f}",
                flush=True,
            )
    return below


def main() -> None:
    """Runs the pairs of tables."""
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--seeds", type=int, default=3)
    said.add_argument("--pairs", nargs="+", choices=PAIRS, default=PAIRS[:2])
    said.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    said.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    given = said.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is not on this machine")
    below = sum(bench(name, given.epsilons, given.seeds, given.variants) for name in given.pairs)
    print(f"\n{below} runs of the default fell below as many public rows at random")
    sys.exit(1 if below else 0)


if __name__ == "__main__":
    main()
