"""Public labels that are no relatives': what do they cost ``guided_tree``?

    python -m bench.attach_strangers [--tables adult_halves acs_ma census] [--epsilons 0.1 1 10] [--seeds 4]
                                     [--labels swapped ...] [--csv folder, for the tables of bench/packaged.py]

Public tables are made of a good one.  *swapped*: every value of the private columns exchanged for the next; *first*:
of the first of them.  *shuffled*: labels in another order.  *few*: 300 of the rows.  *uniform*: every label equally
likely.  *relabelled*: the values of every given column exchanged for others; *half*: of every second one.  *crossed*:
given columns with their own one-way tables and the relations of another column.  "without" is the same budget
without public labels.  A figure is the mean total-variation distance of (attribute, labels) tables, 0 to 1, then its
ratio to that without, with its standard error over runs with the same noise; the bar is 1.02.
Noise is pretended: seeded, in floating point, the same for a question whoever asks it.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl

from bench import attach_splits, packaged
from bench.real_tables import schema_of
from hedgerow.answers import StandInGate
from hedgerow.public import Counts, Measurement, PricedQuestion, Spend, law_of
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import GuidedTree
from hedgerow.recipes.trees.attach import cells_of

BAR = 1.02
TUNED = ("adult_halves", "acs_ma", "census")
Private = tuple[str, ...]


def good(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """The public table as it is."""
    return public


def swapped(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """Every value of the private columns is the next one."""
    out = public
    for p in private:
        values = list(schema.cell_labels(p))
        out = out.with_columns(pl.col(p).replace_strict(values, [*values[1:], values[0]]))
    return out


def shuffled(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """Labels of the whole row in another order."""
    order = rng.permutation(len(public))
    return public.with_columns(public[p][order] for p in private)


def few(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """A sample of 300 rows."""
    return public[rng.choice(len(public), 300, replace=False)]


def first(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """Every value of the first private column is the next one."""
    return swapped(public, private[:1], schema, rng)


def relabelled(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """The values of every given column exchanged for others."""
    return _exchanged(public, [c for c in schema.attributes if c not in private], schema, rng)


def half(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """The values of every second given column exchanged for others."""
    return _exchanged(public, [c for c in schema.attributes if c not in private][1::2], schema, rng)


def _exchanged(public: pl.DataFrame, names: list[str], schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    out = public
    for c in names:
        values = list(schema.cell_labels(c))
        out = out.with_columns(pl.col(c).replace_strict(values, [values[i] for i in rng.permutation(len(values))]))
    return out


def crossed(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """The values of each given column in the order of the next one, whose values are exchanged first."""
    given = [c for c in schema.attributes if c not in private]
    values = {c: list(schema.cell_labels(c)) for c in given}
    codes = {c: public[c].replace_strict(v, list(range(len(v)))).to_numpy() for c, v in values.items()}
    made = {}
    for c, other in zip(given, [*given[1:], given[0]], strict=True):
        key = rng.permutation(len(values[other]))[codes[other]] + 0.9 * rng.random(len(public))
        at = np.empty(len(public), np.int64)
        at[np.argsort(key)] = np.sort(codes[c])
        made[c] = np.array(values[c])[at]
    return public.with_columns(pl.Series(c, v) for c, v in made.items())


def uniform(public: pl.DataFrame, private: Private, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """Every label equally likely."""
    drawn = {p: rng.integers(0, schema.size([p]), len(public)) for p in private}
    return public.with_columns(pl.Series(p, np.array(schema.cell_labels(p))[d]) for p, d in drawn.items())


LABELS: dict[str, Callable[[pl.DataFrame, Private, Schema, np.random.Generator], pl.DataFrame]] = {
    "good": good,
    "swapped": swapped,
    "shuffled": shuffled,
    "few": few,
    "uniform": uniform,
    "first": first,
    "relabelled": relabelled,
    "half": half,
    "crossed": crossed,
}


@dataclass(frozen=True)
class Tables:
    """A public and a confidential table, what is private in them, and the schema that codes them."""

    public: pl.DataFrame
    confidential: pl.DataFrame
    schema: Schema
    private: Private

    @property
    def given(self) -> Private:
        """What is public row by row."""
        return tuple(c for c in self.schema.attributes if c not in self.private)


def load(name: str, csv: Path | None) -> Tables:
    """Tables by name."""
    if csv is not None and name in packaged.PAIRS:
        pair = packaged.PAIRS[name]
        public, secret, domain = packaged.load(name, csv)
        assert public is not None
        schema = schema_of(domain, pair.ordered)
        return Tables(packaged.texts(public), packaged.texts(secret), schema, pair.private)
    split = attach_splits.load(name)
    return Tables(split.public, split.confidential, split.schema, split.private)


class SameNoise(StandInGate):  # type: ignore[misc]  # final for all but experiments
    """Noise that follows from a seed and the question: runs that ask the same are told the same."""

    def __init__(self, tariff: Tariff, budget: Budget, truth: CodedTable, rows: int, seed: int) -> None:
        super().__init__(tariff, budget, truth, rows, np.random.default_rng(seed))
        self.seed = seed

    def _noisy(self, spend: Spend, counts: Sequence[Counts]) -> tuple[Measurement, ...]:
        self._spent += spend.cost
        return tuple(
            Measurement(a.question, true + self._of(a), a.noise) for a, true in zip(spend.asked, counts, strict=True)
        )

    def _of(self, asked: PricedQuestion) -> Counts:
        name = np.frombuffer(sha256(repr(asked.question).encode()).digest(), np.uint32)
        scale = (law_of(asked.noise).variance / 2) ** 0.5
        drawn = np.random.default_rng([self.seed, *name]).laplace(size=asked.cells)
        return np.asarray(np.rint(scale * drawn), np.int64)


class Judge:
    """The truth of one table, and how far a frame of attached rows is from it."""

    def __init__(self, tables: Tables) -> None:
        self.tables, schema = tables, tables.schema
        self.truth = CodedTable.read(tables.confidential, schema, role="target")
        self.target = CodedTable.read(tables.confidential.select(tables.given), schema, role="target")
        guarantee = Guarantee(relation="label-change", public_columns=tables.given)
        self.tariff = Tariff(schema.coding, guarantee, "pure")

    def public(self, labels: str, seed: int) -> PublicData:
        """The public side, with these labels."""
        t = self.tables
        made = LABELS[labels](t.public, t.private, t.schema, np.random.default_rng(seed))
        return PublicData(t.schema, CodedTable.read(made, t.schema), self.target)

    def without(self) -> PublicData:
        """The public side where nobody knows labels."""
        return PublicData(self.tables.schema, None, self.target)

    def error(self, public: PublicData, epsilon: str, seed: int) -> float:
        """Of one run."""
        gate = SameNoise(self.tariff, Budget(epsilon), self.truth, self.truth.rows, seed)
        made = GuidedTree(columns=self.tables.private).fit(gate, public)
        return self.far(made.attach(self.target, np.random.default_rng(seed)))

    def far(self, frame: pl.DataFrame) -> float:
        """The mean total-variation distance of (attribute, labels) tables."""
        schema, off = self.tables.schema, []
        got = CodedTable.read(frame, schema, role="synthetic")
        for a in self.tables.given:
            names = (a, *self.tables.private)
            t, g = (np.bincount(cells_of(x, names), minlength=schema.size(names)) for x in (self.truth, got))
            off.append(np.abs(t - g).sum() / 2 / len(frame))
        return float(np.mean(off))


def compare(name: str, csv: Path | None, epsilons: list[str], wanted: list[str], seeds: int) -> None:
    """All labels at all epsilons, beside none."""
    judge = Judge(load(name, csv))
    print(f"{name}: {judge.truth.rows:,} rows, {judge.tables.schema.size(judge.tables.private)} labels")
    known = {w: [judge.public(w, s) for s in range(seeds if w != "good" else 1)] for w in wanted}
    nobody = judge.without()
    for epsilon in epsilons:
        without = np.array([judge.error(nobody, epsilon, s) for s in range(seeds)])
        print(f"  {epsilon:>4}  without   {without.mean():.4f} ({without.std(ddof=1) / seeds**0.5:.4f})", flush=True)
        for w in wanted:
            begun = time.process_time()
            found = np.array([judge.error(known[w][s % len(known[w])], epsilon, s) for s in range(seeds)])
            ratio, doubt = found.mean() / without.mean(), (found - without).std(ddof=1) / seeds**0.5 / without.mean()
            mark = "  above the bar" if ratio > BAR else ""
            took = (time.process_time() - begun) / seeds
            print(
                f"  {epsilon:>4}  {w:<9} {found.mean():.4f} {ratio:.3f} ({doubt:.3f}) CPU {took:.1f} s{mark}",
                flush=True,
            )


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("--tables", nargs="*", default=list(TUNED))
    reader.add_argument("--epsilons", nargs="*", default=["0.1", "1", "10"])
    reader.add_argument("--labels", nargs="*", default=list(LABELS))
    reader.add_argument("--seeds", type=int, default=4)
    reader.add_argument("--csv", type=Path)
    asked = reader.parse_args()
    for table in asked.tables:
        compare(table, asked.csv, asked.epsilons, asked.labels, asked.seeds)
