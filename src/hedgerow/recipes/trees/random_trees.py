"""``random_trees``: the variable-depth random decision trees of the RDT papers, with their true cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import inf
from typing import Any, ClassVar, Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.counting.plan import leaf_of
from hedgerow.counting.relabel import TICKETS, LabelLaw, check_lines
from hedgerow.errors import JobError, Refused, TableMismatch
from hedgerow.model.base import AbstractAttachment, Expected, row_ranges
from hedgerow.model.trees.given_rows import sent_rows, with_columns
from hedgerow.model.trees.random_tree import (
    Combine,
    clip_to_shares,
    combine,
    join_trees,
    leaf_counts,
    number_reached,
    sketch_tree,
)
from hedgerow.model.trees.row_shares import draw_each
from hedgerow.public import (
    Budget,
    CodedTable,
    Codes,
    Column,
    ColumnFit,
    Guarantee,
    Marginal,
    Measurement,
    PublicData,
    Relation,
    Spend,
    Tariff,
    Tree,
    floor_sqrt,
    law_of,
)
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.trees.attach import NOTHING, by_person, code_rows, columns_of, cross, open_columns, target_of

_SEQUENCES = {
    "papers-2018": "the 2018 paper's sequence, trained on synthetic labels: private, but the association between the "
    "private columns is lost",
    "papers-2019": "the 2019 paper's sequence: routes rows by a private column, which is declared public here",
}


@dataclass(frozen=True)
class TreeStep:
    """One draw: ``labels`` by ``trees`` over the columns that are known by then; ``halved``: one count a leaf."""

    labels: tuple[str, ...]
    trees: tuple[Tree, ...]
    halved: bool = False


@final
@dataclass(frozen=True)
class RandomTrees(AbstractRecipe):
    """An ensemble of random trees split by public counts, its leaves filled with noisy label counts.

    Attributes:
        columns: the private attributes to attach, in order; those the target lacks by default.
        trees: how many; the total epsilon is divided among them.
        n_b: a node is split while it has at least this many public rows.
        depth: the most splits on a path.
        weights: how likely an attribute is drawn, against 1 for those not named.
        leaf_min: a leaf whose noisy total is below this takes the counts of the split above it.
        leaf_sizes: ``public`` says that the target has the confidential table's own rows, so that under label-change
            the size of every leaf is known; a private column with two values then needs one count a leaf.
        combine: ``mean`` of proportions (Jagannathan and others 2012), ``pooled`` counts, or ``precision``.
        sequence: ``joint`` leaves of all private columns; ``chain``: each trained on the authentic ones before it and
            routed on the synthetic ones; the papers' own two, see the docs.
        by: a given attribute, such as the year: one set of trees for each of its values.
        partition: a given attribute whose code, modulo ``trees``, says in which one tree a row is counted; then every
            tree has the whole epsilon.
        ratio: by which numbers of the public table are multiplied before they are compared, or the columns by which
            that ratio is taken from the public table and the target.
        mapping: other names for values of the public table, column by column.
        seed: of the trees' structure; not of any noise.
    """

    name: ClassVar[str] = "random_trees"
    relation: ClassVar[Relation] = "label-change"
    attaches: ClassVar[bool] = True
    columns: Sequence[str] = ()
    trees: int = 3
    n_b: int = 500
    depth: int = 12
    weights: Mapping[str, float] = field(default_factory=dict)
    leaf_min: float = 0.0
    leaf_sizes: Literal["noisy", "public"] = "noisy"
    combine: Combine = "mean"
    sequence: Literal["joint", "chain", "papers-2018", "papers-2019"] = "joint"
    by: str = ""
    partition: str = ""
    ratio: Mapping[str, Any] = field(default_factory=dict)
    mapping: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seed: int = 0

    def rules(self) -> dict[str, bool]:
        """Numbers are possible ones, and settings that exclude each other are not both given."""
        plain = self.combine == "mean" and not self.partition
        return {
            "columns has each name once": len(set(self.columns)) == len(self.columns),
            "trees is between 1 and 1000": 1 <= self.trees <= 1000,
            "n_b is 1 or more": self.n_b >= 1,
            "depth is between 1 and 60": 1 <= self.depth <= 60,
            "seed is 0 or more": self.seed >= 0,
            "weights are numbers of 0 or more": all(w >= 0 for w in self.weights.values()),
            "leaf_min is 0 or more": self.leaf_min >= 0,
            "either by or partition is given, not both": not (self.by and self.partition),
            "papers-2018 goes with combine = 'mean' and no partition": self.sequence != "papers-2018" or plain,
        }

    @property
    def private_columns(self) -> tuple[str, ...]:
        """The attributes to attach, as far as they are named."""
        return tuple(self.columns)

    @property
    def own_rows(self) -> bool:
        """Public leaf sizes are those of the confidential table's own rows."""
        return self.leaf_sizes == "public"

    @property
    def stated(self) -> str:
        """The recipe as a statement names it: the papers' own sequences are marked as what they are."""
        return f"{self.name} ({_SEQUENCES[self.sequence]})" if self.sequence in _SEQUENCES else self.name

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """Every tree of every step, at equal cost, in one request; those of the 2018 paper's sequence one by one."""
        parts = self._parts(plan_steps(self, tariff.guarantee, public), budget.total)
        spends = [tariff.measure_all(questions(steps), cost, law="laplace") for steps, cost in parts]
        if len(spends) > 1:
            check_lines(tariff.guarantee)
        return (spends[0], *(replace(s, verb="relabel") for s in spends[1:]))

    def _parts(self, steps: Sequence[TreeStep], total: Fraction) -> list[tuple[tuple[TreeStep, ...], Fraction]]:
        """Which steps are asked together, and at what cost."""
        if self.sequence != "papers-2018":
            return [(tuple(steps), total)]
        many = sum(len(s.trees) for s in steps)
        return [((s,), total * len(s.trees) / many) for s in steps]

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What the budget is divided into, and what it amounts to for a person."""
        steps = plan_steps(self, tariff.guarantee, public)
        many = sum(len(s.trees) for s in steps)
        lines = [f"every one of {many} leaf tables gets 1/{many} of the budget, on each of the columns drawn with it"]
        if self.partition:
            lines.append(
                f"a row is counted in one of {self.trees} trees, by {self.partition}: each has the whole budget"
            )
        if self.by and public.relative is not None:
            held = np.bincount(public.relative.codes([self.by])[self.by], minlength=public.schema.size([self.by]))
            if few := int((held < self.n_b).sum()):
                lines.append(
                    f"{few} of {len(held)} groups have fewer than n_b public rows: trees drawn on all of them"
                )
        if self.by:
            lines += by_person(self.by, public.schema.size([self.by]), tariff.guarantee, budget)
        pure = float(many * floor_sqrt(2 * budget.total / many)) if budget.measure == "zcdp" else inf
        if pure < budget.epsilon:
            lines.append(f"the same noise is worth epsilon {pure:.4g} with delta = 0: a delta buys nothing here")
        if said := _SEQUENCES.get(self.sequence):
            lines.append(f"sequence = {self.sequence!r}: {said}")
        return tuple(lines)

    def labels(self, public: PublicData) -> int:
        """The cells of all private columns together, unless they are drawn in turn."""
        return super().labels(public) if self.sequence == "joint" else 0

    def memory(self, public: PublicData, rows: int) -> int:
        """The same as of others; of columns drawn in turn the shares of the widest are held for every row."""
        sizes = [] if self.sequence == "joint" else [public.schema.size([a]) for a in self.attached(public)]
        return super().memory(public, rows) + 40 * max(sizes, default=0) * rows

    def seconds(self, public: PublicData, rows: int) -> float:
        """Leaves are looked for by every combination of the columns drawn before; as measured by bench/cost.py."""
        names = [] if self.sequence == "joint" else self.attached(public)
        combinations = sum(public.schema.size(names[:i]) for i in range(1, len(names)))
        return super().seconds(public, rows) + 2.2e-7 * self.trees * rows * combinations

    def fit(self, gate: Answers, public: PublicData) -> "Forest":
        """Draw the trees, ask for their leaves, and keep what came back."""
        filled = Forest(self, public, open_columns(gate.tariff.guarantee), ())
        for steps, cost in self._parts(plan_steps(self, gate.tariff.guarantee, public), gate.left):
            asked, laws = questions(steps), filled.laws() if filled.steps else ()
            told = gate.measure_relabelled(asked, laws, cost) if laws else gate.measure(asked, cost, law="laplace")
            answers = iter(told)
            more = ((s, tuple(next(answers) for _ in s.trees)) for s in steps)
            filled = replace(filled, steps=(*filled.steps, *more))
        return filled

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> "Forest":
        """The same trees and questions, whose labels were drawn by the answers as they were; noisier answers."""
        filled = self.fit(gate.known, public)
        return replace(filled, steps=tuple((s, tuple(map(gate.noisier, a))) for s, a in filled.steps), leaves=())


def questions(steps: Sequence[TreeStep]) -> list[Marginal]:
    """What is asked of the confidential table: the labels in every leaf of every tree."""
    return [Marginal((), t, s.labels[0]) if s.halved else Marginal(s.labels, t) for s in steps for t in s.trees]


def plan_steps(recipe: RandomTrees, guarantee: Guarantee, public: PublicData) -> tuple[TreeStep, ...]:
    """Which columns are drawn from which trees, decided from public knowledge alone."""
    leaky = recipe.sequence == "papers-2019"
    if leaky and (len(recipe.columns) != 2 or recipe.columns[1] not in open_columns(guarantee)):
        raise Refused(
            "sequence = 'papers-2019' sends each row down a tree by its own authentic value of the second private\n"
            "column, which no epsilon covers. It runs only when relation = 'label-change' declares that column\n"
            f"in public_columns, and columns names two. Use sequence = 'joint' or 'chain'. {NOTHING}"
        )
    if recipe.own_rows and guarantee.relation != "label-change":
        raise Refused(
            f"leaf_sizes = 'public' needs relation = 'label-change'; under {guarantee.relation} the number of rows\n"
            f"in a leaf is not public. Change one of the two. {NOTHING}"
        )
    columns = columns_of(public, guarantee, recipe.columns[:1] if leaky else recipe.columns)
    grower = _Grower(recipe, guarantee, public)
    if leaky:
        first, second = recipe.columns
        rest = tuple(g for g in columns.given if g != second)
        return grower.step((first,), (*rest, second), ()), grower.step((second,), (*rest, first), (first,))
    if recipe.sequence == "joint":
        return (grower.step(columns.private, columns.given, ()),)
    given, private = columns.given, columns.private
    return tuple(grower.step((a,), (*given, *private[:i]), private[:i]) for i, a in enumerate(private))


@final
class _Grower:
    """Draws the trees of one plan, all from one seed."""

    def __init__(self, recipe: RandomTrees, guarantee: Guarantee, public: PublicData) -> None:
        self.recipe, self.schema, self.target = recipe, public.schema, target_of(public)
        self.open = set(open_columns(guarantee))
        self.relative = matched(public.relative or self.target, self.target, recipe.ratio, recipe.mapping)
        self.rng = np.random.Generator(np.random.PCG64(recipe.seed))

    def step(self, labels: tuple[str, ...], given: tuple[str, ...], drawn: tuple[str, ...]) -> TreeStep:
        """One step; only leaves that a target row can reach, whatever its drawn columns, are numbered."""
        self._check(given, drawn)
        trees = self._trees(tuple(a for a in given if a not in (self.recipe.by, self.recipe.partition)))
        tables = list(self._possible(trees[0].columns, drawn))
        known = set(self.schema.coding.needs(trees[0].columns)) <= self.open and self.recipe.own_rows
        halved = known and len(labels) == 1 and self.schema.size(labels) == 2
        return TreeStep(labels, tuple(number_reached(t, *tables) for t in trees), halved)

    def _check(self, given: tuple[str, ...], drawn: tuple[str, ...]) -> None:
        named = (*self.recipe.weights, self.recipe.by, self.recipe.partition)
        own = [a for a in (self.recipe.by, self.recipe.partition) if a in drawn or a in self.recipe.columns]
        if wrong := own + [a for a in named if a and a not in (*given, *self.recipe.columns)]:
            raise JobError(
                f"[random_trees] {', '.join(wrong)} is not a given attribute: {', '.join(given)}.\n{NOTHING}"
            )
        part = self.recipe.partition
        if part and self.recipe.trees > self.schema.size([part]):
            raise JobError(f"[random_trees] partition = {part!r} has fewer values than there are trees.\n{NOTHING}")
        lacking = [c for c in self.schema.coding.needs(given) if c not in self.relative.frame.columns]
        if drawn and set(lacking) & set(self.schema.coding.needs(drawn)):
            raise JobError(
                f"[random_trees] sequence = {self.recipe.sequence!r} splits by {', '.join(drawn)}, which the public"
                f" table lacks.\nUse sequence = 'joint', or a public table with labels. {NOTHING}"
            )
        if lacking:
            raise TableMismatch(
                f"[random_trees] the public table lacks {', '.join(lacking)}, by which trees split.\n"
                f"Give it that column, or take the column out of the schema. {NOTHING}"
            )
        if len(given) > 60:
            raise JobError(f"random_trees takes up to 60 attributes, got {len(given)}. {NOTHING}")

    def _trees(self, inside: tuple[str, ...]) -> list[Tree]:
        recipe, schema = self.recipe, self.schema
        codes, sizes = code_rows(self.relative, inside), dict(zip(inside, schema.shape(inside), strict=True))
        weights = [float(recipe.weights.get(a, 1.0)) for a in inside]

        def tree(rows: Any = slice(None)) -> Tree:
            return sketch_tree(codes[:, rows], sizes, weights, n_b=recipe.n_b, depth=recipe.depth, rng=self.rng)

        if recipe.partition:
            return [
                join_trees(recipe.partition, [tree() for _ in range(recipe.trees)], schema.size([recipe.partition]))
            ]
        if not recipe.by:
            return [tree() for _ in range(recipe.trees)]
        group, size = self.relative.codes([recipe.by])[recipe.by], schema.size([recipe.by])
        members = [np.flatnonzero(group == c) for c in range(size)]
        parts = [m if len(m) >= recipe.n_b else slice(None) for m in members]  # a small group: the shape of all
        return [join_trees(recipe.by, [tree(p) for p in parts], size) for _ in range(recipe.trees)]

    def _possible(self, columns: tuple[str, ...], drawn: tuple[str, ...]) -> Iterator[Mapping[str, Codes]]:
        """The target's codes, once for every combination of what is not drawn yet and every part of a partition."""
        codes, rows = self.target.codes([c for c in columns if c not in drawn]), self.target.rows
        for cell in np.ndindex(*self.schema.shape(drawn)):
            table = codes | {d: np.full(rows, c, np.uint16) for d, c in zip(drawn, cell, strict=True)}
            yield from in_every_tree(table, self.recipe)


def in_every_tree(codes: Mapping[str, Codes], recipe: RandomTrees) -> Iterator[Mapping[str, Codes]]:
    """Codes that lead to the leaf of a row in every tree: with a partition, through each of its parts."""
    if not recipe.partition:
        yield codes
        return
    for c in range(recipe.trees):
        yield {**codes, recipe.partition: np.full_like(codes[recipe.partition], c)}


@final
@dataclass(frozen=True, eq=False)
class Forest(AbstractAttachment):
    """Filled trees, and the target rows that were planned for: noisy answers and public inputs, nothing else.

    Attributes:
        recipe: the settings.
        public: what anyone may know.
        open_columns: what is declared public row by row.
        steps: the draws in order, each with the noisy leaves of its trees.
        leaves: what the leaves of each step's trees hold; worked out of the target where it is not given.
    """

    recipe: RandomTrees
    public: PublicData
    open_columns: tuple[str, ...]
    steps: tuple[tuple[TreeStep, tuple[Measurement, ...]], ...]
    leaves: tuple[list[npt.NDArray[np.float64]], ...] = ()

    @cached_property
    def _leaves(self) -> tuple[list[npt.NDArray[np.float64]], ...]:
        filled = ([(s, t, a) for t, a in zip(s.trees, given, strict=True)] for s, given in self.steps)
        least = self.recipe.leaf_min
        return self.leaves or tuple([leaf_counts(t, self._noisy(s, t, a), least) for s, t, a in f] for f in filled)

    def shares(self, number: int, codes: Mapping[str, Codes]) -> npt.NDArray[np.float32]:
        """The share of each label of a step for rows of these codes."""
        counts, leaves, noise = [], [], []
        step, answers = self.steps[number]
        for tree, answer, held in zip(step.trees, answers, self._leaves[number], strict=True):
            for way in in_every_tree(codes, self.recipe):
                counts.append(held)
                leaves.append(leaf_of(tree, way))
                noise.append(law_of(answer.noise).variance)
        return combine(self.recipe.combine, counts, leaves, noise)

    def laws(self) -> tuple[LabelLaw, ...]:
        """By which law each step draws its label for a row: a tree by lot, then a label by the shares of its leaf.

        That is the mean of the trees' proportions.  Shares are whole numbers here, the largest taking up the rest.
        """
        out = []
        for (step, _), filled in zip(self.steps, self._leaves, strict=True):
            weights = []
            for held in filled:
                whole = np.floor(clip_to_shares(held).astype(np.float64) * TICKETS).astype(np.int64)
                whole[np.arange(len(whole)), whole.argmax(axis=1)] += TICKETS - whole.sum(axis=1)
                weights.append(whole)
            out.append(LabelLaw(step.labels[0], step.trees, tuple(weights)))
        return tuple(out)

    def _noisy(self, step: TreeStep, tree: Tree, answer: Measurement) -> npt.NDArray[np.float64]:
        """The noisy counts, leaf by label; where the sizes of leaves are public they add up to them."""
        schema, label_count = self.public.schema, self.public.schema.size(step.labels)
        held = answer.counts.astype(np.float64).reshape(tree.leaves, -1)
        fixed = set(schema.coding.needs(tree.columns)) <= set(self.open_columns)
        if not (fixed and self.recipe.own_rows):
            return held
        leaf = leaf_of(tree, target_of(self.public).codes(tree.columns))
        size = np.bincount(leaf, minlength=tree.leaves)[:, None]
        if step.halved:
            return np.concatenate([held, size - held], axis=1)
        return np.asarray(held + (size - held.sum(axis=1, keepdims=True)) / label_count)

    def expected(self, question: Marginal) -> Expected:
        """The counts of one drawing, which is what these trees give for several columns drawn in turn."""
        target, schema = target_of(self.public), self.public.schema
        cells = self._drawn(target, np.random.Generator(np.random.PCG64(self.recipe.seed)), np.arange(target.rows))
        codes = {c: cells[c] if c in cells else target.codes([c])[c] for c in question.columns}
        at = cross(schema, question.columns, codes, target.rows)
        return np.bincount(at, minlength=schema.size(question.columns)).astype(np.float64)

    def attach(self, target: CodedTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of ``target``, in order, with synthetic private columns."""
        return with_columns(target, self.public.schema, partial(self._drawn, target, rng), rng)

    def shards(self, target: CodedTable, most: int) -> Sequence[tuple["Forest", CodedTable]]:
        """Parts of the target: each row is drawn by itself, from leaves that are worked out once."""
        alone = replace(self, public=PublicData(self.public.schema), leaves=self._leaves)
        return [(alone, target.part(*rows)) for rows in row_ranges(target.rows, most)]

    def sent(self, target: CodedTable) -> tuple["Forest", CodedTable]:
        """Labels are drawn by the codes that trees look at."""
        drawn, seen = list[str](), list[str]()
        for step, _ in self.steps:
            seen += [c for c in step.trees[0].columns if c not in drawn]
            drawn += step.labels
        return self, sent_rows(target, self.public.schema, drawn, seen)

    def _drawn(self, target: CodedTable, rng: np.random.Generator, rows: npt.NDArray[Any]) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        for number, (step, _) in enumerate(self.steps):
            names = step.trees[0].columns
            codes = {c: cells[c] if c in cells else target.codes([c])[c][rows] for c in names}
            picked = draw_each(self.shares(number, codes), rng)
            made = np.unravel_index(picked, self.public.schema.shape(step.labels))
            cells |= {a: m.astype(np.uint16) for a, m in zip(step.labels, made, strict=True)}
        return cells


def matched(
    table: CodedTable, target: CodedTable, ratio: Mapping[str, Any], mapping: Mapping[str, Mapping[str, str]]
) -> CodedTable:
    """``table`` with columns that mean nearly the same in the target made to match, from public knowledge alone.

    The papers have basic pay in the public table and adjusted pay in the others.  A ``ratio`` multiplies the numbers
    of the public table: a number that the job declares, or one taken from the public table and the target, group by
    group.  A ``mapping`` renames values.  It costs nothing.
    """
    frame = table.frame
    for name in (*ratio, *mapping):
        if name not in frame.columns:
            raise JobError(f"[random_trees] ratio and mapping: the public table has no column {name!r}. {NOTHING}")
    for name, names in mapping.items():
        if not isinstance(names, Mapping) or not all(isinstance(v, str) for v in names.values()):
            raise JobError(f"[random_trees] mapping.{name} must give a text for each value. {NOTHING}")
        _check_names(table, name, names)
        frame = frame.with_columns(frame[name].cast(pl.String).replace(dict(names)))
    for name, by in ratio.items():
        if not frame[name].dtype.is_numeric():
            raise JobError(f"[random_trees] ratio.{name}: the public table has no numbers there. {NOTHING}")
        factor = _taken(name, list(by), frame, target.frame) if isinstance(by, list | tuple) else _declared(name, by)
        frame = frame.with_columns((frame[name].cast(pl.Float64) * factor).alias(name))
    return table.with_frame(frame) if ratio or mapping else table


def _check_names(table: CodedTable, name: str, names: Mapping[str, str]) -> None:
    """Refuse to rename what the public table does not have, or into what the schema does not name."""
    had = set(table.frame[name].cast(pl.String).unique())
    if odd := {o: n for o, n in names.items() if o not in had or _outside(table.schema.column(name), n)}:
        told = ", ".join(f"{old!r} -> {new!r}" for old, new in odd.items())
        raise JobError(
            f"[random_trees] mapping.{name}: {told}. On the left goes a value that the public table has there,\n"
            f"on the right one that the schema names. {NOTHING}"
        )


def _outside(column: Column, value: str) -> bool:
    found = ColumnFit(column.name).plus(column, pl.Series([value]))
    return found.outside + found.clamped > 0


def _declared(name: str, ratio: Any) -> float:
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < 1e9:
        raise JobError(
            f"[random_trees] ratio.{name} is {ratio!r}: give a number above 0, or a list of columns by which\n"
            f"the ratio is taken from the public table and the target. {NOTHING}"
        )
    return float(ratio)


def _taken(name: str, by: list[str], table: pl.DataFrame, target: pl.DataFrame) -> pl.Series:
    """For each public row the ratio of means, target over public table, of its group; of all in an unseen group."""
    if lacking := [c for c in (*by, name) if c not in table.columns or c not in target.columns]:
        raise JobError(
            f"[random_trees] ratio.{name}: both the public table and the target need {', '.join(lacking)}. {NOTHING}"
        )
    overall = _mean(target[name]) / max(_mean(table[name]), 1e-12)
    if not by:
        return pl.Series([overall]).new_from_index(0, table.height)
    keys = [pl.col(c).cast(pl.String).fill_null("").alias(f"key{i}") for i, c in enumerate(by)]
    labels = [f"key{i}" for i in range(len(by))]
    means = [f.select(*keys, pl.col(name).cast(pl.Float64).alias("x")) for f in (table, target)]
    here, there = (m.group_by(labels).agg(pl.col("x").mean()) for m in means)
    found = means[0].join(here, labels, how="left", suffix="_here", maintain_order="left")
    found = found.join(there, labels, how="left", suffix="_there", maintain_order="left")
    ratio = found["x_there"] / found["x_here"]
    good = ratio.is_finite() & (ratio > 0)
    return ratio.zip_with(good.fill_null(False), pl.Series([overall]).new_from_index(0, len(ratio)))


def _mean(numbers: pl.Series) -> float:
    found = numbers.cast(pl.Float64).mean()
    return float(found) if isinstance(found, float) else 0.0
