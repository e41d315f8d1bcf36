"""Utility of the attach recipes on real tables, at equal total epsilon and the same relation, through the real gate.

python -m bench.attach_utility [--seeds 3] [SPLIT ...]

Error of a method: the mean total-variation distance of all (attribute, labels) tables of the target rows from the
truth, and the mean distance of the labels' coefficients in a least-squares model of the outcome.  Beside
the recipes: "public as it is", labels drawn independently from the boosted model of the public table, and the same
with our balanced draws, which is the harder thing to beat.
"""

import argparse
import resource
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.attach_splits import NAMES, Split, load
from hedgerow import pipeline
from hedgerow.model.base import AbstractAttachment
from hedgerow.model.trees import boosted_trees
from hedgerow.model.trees.row_shares import RowShares
from hedgerow.public.costs.accounting import Budget
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import GuidedTree, RandomTrees
from hedgerow.recipes.trees import guided_tree
from hedgerow.recipes.trees.attach import cells_of, code_rows, is_ordered

EPSILONS = ("0.1", "0.25", "1", "3", "10")
Errors = tuple[float, float]


class Judge:
    """The truth of one split, and how far a frame of attached rows is from it."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.truth = CodedTable.read(split.confidential, split.schema, role="target")
        self.target = CodedTable.read(split.confidential.select(split.given), split.schema, role="target")
        self.public = PublicData(split.schema, CodedTable.read(split.public, split.schema), self.target)
        self.x, self.y = design(split, self.truth)
        self.counted = [common(self.truth.codes([p])[p]) for p in split.private]
        self.beta = self.coefficients(self.truth)

    def errors(self, frame: pl.DataFrame) -> Errors:
        """Of tables, and of coefficients."""
        got, far, schema = CodedTable.read(frame, self.split.schema, role="synthetic"), [], self.split.schema
        for a in self.split.given:
            names = (a, *self.split.private)
            t, g = (np.bincount(cells_of(x, names), minlength=schema.size(names)) for x in (self.truth, got))
            far.append(np.abs(t - g).sum() / 2 / len(frame))
        return float(np.mean(far)), float(np.abs(self.coefficients(got) - self.beta).mean())

    def coefficients(self, table: CodedTable) -> Any:
        """Of every label that one in a hundred true rows has, beside all given columns but the outcome."""
        labels = [
            table.codes([p])[p] == v for p, held in zip(self.split.private, self.counted, strict=True) for v in held
        ]
        x = np.column_stack([self.x, *labels]).astype(np.float64)
        ridge = 1e-6 * len(x) * np.eye(x.shape[1])
        return np.linalg.solve(x.T @ x + ridge, x.T @ self.y)[-len(labels) :]


def common(codes: Any) -> Any:
    """The codes that one in a hundred rows has, but for the most frequent."""
    held = np.bincount(codes)
    return np.array([c for c in np.flatnonzero(held >= 0.01 * len(codes)) if c != held.argmax()], np.int64)


def design(split: Split, table: CodedTable) -> tuple[Any, Any]:
    """The given columns (ordered: code and square; others: an indicator per common code), and the outcome."""
    y = table.codes([split.outcome])[split.outcome].astype(float)
    columns = [np.ones(len(y))]
    for a in (g for g in split.given if g != split.outcome):
        code = table.codes([a])[a]
        if a in split.ordered:
            part = code / max(split.schema.size([a]) - 1, 1)
            columns += [part, part**2]
        else:
            columns += [(code == v).astype(float) for v in common(code)]
    return np.column_stack(columns), (y - y.mean()) / y.std()


def modelled(judge: Judge, table: CodedTable) -> Any:
    """The shares that a boosted model of ``table`` and its labels gives to the target's rows."""
    split, schema = judge.split, judge.split.schema
    form = schema.size(split.private), schema.shape(split.given), [is_ordered(schema, a) for a in split.given]
    labels, rng = cells_of(table, split.private), np.random.Generator(np.random.PCG64(0))
    model = guided_tree.fit_boosted_trees(code_rows(table, split.given), labels, *form, rng)
    return model.shares(code_rows(judge.target, split.given))


def as_it_is(judge: Judge, *, balanced: bool) -> Callable[[int], pl.DataFrame]:
    """Labels drawn from the boosted model of the public table alone."""
    split, schema = judge.split, judge.split.schema
    assert judge.public.relative is not None
    shares = modelled(judge, judge.public.relative)
    made = RowShares(schema, split.private, shares, tuple(code_rows(judge.target, split.given)), judge.target)

    def drawn(seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        if balanced:
            return made.attach(judge.target, rng)
        cells = (rng.random(len(shares))[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
        codes = np.unravel_index(cells, schema.shape(split.private))
        values = [np.array(schema.cell_labels(p))[c] for p, c in zip(split.private, codes, strict=True)]
        return judge.target.frame.with_columns(pl.Series(p, v) for p, v in zip(split.private, values, strict=True))

    return drawn


def by_recipe(judge: Judge, recipe: Any, epsilon: str) -> Callable[[int], pl.DataFrame]:
    """A recipe through the gate: exact noise from the operating system, the same total and relation for all."""
    split = judge.split

    def drawn(seed: int) -> pl.DataFrame:
        with tempfile.TemporaryDirectory() as folder:
            gate = pipeline.open_gate(
                split.confidential,
                split.schema,
                Budget(epsilon),
                relation="label-change",
                public_columns=split.given,
                ledger=Path(folder) / "ledger.db",
                name=uuid.uuid4().hex,
            )
            made: AbstractAttachment = recipe(seed).fit(gate, judge.public)
            return made.attach(judge.target, np.random.default_rng(seed))

    return drawn


def methods(judge: Judge) -> Iterator[tuple[str, str, Callable[[int], pl.DataFrame]]]:
    """What is compared: epsilon, name, and what draws."""
    private, outcome = judge.split.private, judge.split.outcome
    yield "-", "public as it is", as_it_is(judge, balanced=False)
    yield "-", "public, balanced draws", as_it_is(judge, balanced=True)
    for epsilon in EPSILONS:
        for name, recipe in {
            "random_trees": lambda seed: RandomTrees(columns=private, trees=3, n_b=500, seed=seed),
            "guided_tree": lambda seed: GuidedTree(columns=private),
            "guided_tree + outcome": lambda seed: GuidedTree(columns=private, outcomes=[outcome]),
        }.items():
            yield epsilon, name, by_recipe(judge, recipe, epsilon)


def remembered(boost: Callable[..., boosted_trees.BoostedTrees]) -> Callable[..., boosted_trees.BoostedTrees]:
    """The public model of a split does not depend on the run: fitted once here, and its time told apart."""
    held: dict[tuple[Any, ...], boosted_trees.BoostedTrees] = {}

    def once(lines: Any, labels: Any, kinds: int, *rest: Any) -> boosted_trees.BoostedTrees:
        key = (lines.shape, kinds, int(labels.sum()), int(lines[0].sum()))
        if key not in held:
            begun = time.process_time()
            held[key] = boost(lines, labels, kinds, *rest)
            print(
                f"  the public model: {time.process_time() - begun:.1f} CPU-s, {len(held[key].trees)} rounds",
                flush=True,
            )
        return held[key]

    return once


def compare(name: str, seeds: int) -> None:
    """All methods on one split, and how they stand to each other."""
    judge = Judge(load(name))
    rows, true = judge.target.rows, float(np.abs(judge.beta).mean())
    print(
        f"\n{name}: {rows:,} target rows, {judge.public.relative.rows:,} public ones, "  # type: ignore[union-attr]
        f"{judge.split.schema.size(judge.split.private)} labels; mean |coefficient| {true:.3f}"
    )
    print(f"{'epsilon':>8}  {'method':24}{'tables':>8}{'+-':>8}{'coef':>8}{'+-':>8}{'CPU s':>8}")
    found: dict[tuple[str, str], Any] = {}
    for epsilon, method, drawn in methods(judge):
        begun = time.process_time()
        errors = np.array([judge.errors(drawn(seed)) for seed in range(seeds)])
        took = (time.process_time() - begun) / seeds
        mean, error = errors.mean(axis=0), errors.std(axis=0, ddof=1) / seeds**0.5
        found[epsilon, method] = (mean, error)
        print(
            f"{epsilon:>8}  {method:24}{mean[0]:8.4f}{error[0]:8.4f}{mean[1]:8.4f}{error[1]:8.4f}{took:8.1f}",
            flush=True,
        )
    base, hard = (found["-", m][0] for m in ("public as it is", "public, balanced draws"))
    print("ratios: epsilon  tables/random_trees  /public  /balanced | outcome: coef/random_trees  /public  /balanced")
    for epsilon in EPSILONS:
        ours, trees, also = (found[epsilon, m][0] for m in ("guided_tree", "random_trees", "guided_tree + outcome"))
        to = (*(ours[0] / x[0] for x in (trees, base, hard)), *(also[1] / x[1] for x in (trees, base, hard)))
        print(f"{epsilon:>16}{to[0]:21.3f}{to[1]:9.2f}{to[2]:11.2f} |{to[3]:32.2f}{to[4]:9.2f}{to[5]:11.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB", flush=True)


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("--seeds", type=int, default=3)
    reader.add_argument("splits", nargs="*", default=NAMES)
    asked = reader.parse_args()
    guided_tree.fit_boosted_trees = remembered(boosted_trees.fit_boosted_trees)
    for wanted in asked.splits:
        compare(wanted, asked.seeds)
