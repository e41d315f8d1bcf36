"""The trees of ``random_trees``, planned from public knowledge, and what their noisy leaves become."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.plan import leaf_of
from hedgerow.counting.relabel import TICKETS, LabelLaw
from hedgerow.errors import JobError, Refused, TableMismatch
from hedgerow.model.attached import draw_each, with_columns
from hedgerow.model.base import AbstractAttachment, Expected
from hedgerow.model.mixed_leaves import Combine, as_shares, combine, leaf_counts
from hedgerow.model.random_tree import joined, reached, sketch_tree
from hedgerow.public.coding import Codes
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal, Measurement, Tree
from hedgerow.public.table import PublicData, PublicTable
from hedgerow.recipes.blend.matching import matched
from hedgerow.recipes.trees.attach import columns_of, lines_of, target_of

_NOTHING = "No confidential row was read and nothing was spent."


Settings = Any
"""The recipe, whose fields decide its trees: see ``RandomTrees``."""


@dataclass(frozen=True)
class Step:
    """One draw: ``labels`` by ``trees`` over the columns that are known by then; ``halved``: one count a leaf."""

    labels: tuple[str, ...]
    trees: tuple[Tree, ...]
    halved: bool = False


def questions(steps: Sequence[Step]) -> list[Marginal]:
    """What is asked of the confidential table: the labels in every leaf of every tree."""
    return [Marginal((), t, s.labels[0]) if s.halved else Marginal(s.labels, t) for s in steps for t in s.trees]


def plan_steps(recipe: Settings, guarantee: Guarantee, public: PublicData) -> tuple[Step, ...]:
    """Which columns are drawn from which trees, decided from public knowledge alone."""
    leaky = recipe.sequence == "papers-2019"
    declared = guarantee.public_columns if guarantee.relation == "label-change" else ()
    if leaky and (len(recipe.columns) != 2 or recipe.columns[1] not in declared):
        raise Refused(
            "sequence = 'papers-2019' sends each row down a tree by its own authentic value of the second private\n"
            "column, which no epsilon covers. It runs only when relation = 'label-change' declares that column\n"
            f"in public_columns, and columns names two. Use sequence = 'joint' or 'chain'. {_NOTHING}"
        )
    if recipe.leaf_sizes == "public" and guarantee.relation != "label-change":
        raise Refused(
            f"leaf_sizes = 'public' needs relation = 'label-change'; under {guarantee.relation} the number of rows\n"
            f"in a leaf is not public. Change one of the two. {_NOTHING}"
        )
    found = columns_of(public, guarantee, recipe.columns[:1] if leaky else recipe.columns)
    grower = _Grower(recipe, guarantee, public)
    if leaky:
        first, second = recipe.columns
        rest = tuple(g for g in found.given if g != second)
        return grower.step((first,), (*rest, second), ()), grower.step((second,), (*rest, first), (first,))
    if recipe.sequence == "joint":
        return (grower.step(found.private, found.given, ()),)
    turns = enumerate(found.private)
    return tuple(grower.step((label,), (*found.given, *found.private[:i]), found.private[:i]) for i, label in turns)


@final
class _Grower:
    """Draws the trees of one plan, all from one seed."""

    def __init__(self, recipe: Settings, guarantee: Guarantee, public: PublicData) -> None:
        self.recipe, self.schema, self.target = recipe, public.schema, target_of(public)
        self.open = set(guarantee.public_columns) if guarantee.relation == "label-change" else set[str]()
        self.relative = matched(public.relative or self.target, self.target, recipe.ratio, recipe.mapping)
        self.rng = np.random.Generator(np.random.PCG64(recipe.seed))

    def step(self, labels: tuple[str, ...], given: tuple[str, ...], drawn: tuple[str, ...]) -> Step:
        """One step; only leaves that a target row can reach, whatever its drawn columns, are numbered."""
        self._check(given, drawn)
        trees = self._trees(tuple(a for a in given if a not in (self.recipe.by, self.recipe.partition)))
        tables = list(self._possible(trees[0].columns, drawn))
        known = set(self.schema.coding.needs(trees[0].columns)) <= self.open and self.recipe.leaf_sizes == "public"
        halved = known and len(labels) == 1 and self.schema.size(labels) == 2
        return Step(labels, tuple(reached(t, *tables) for t in trees), halved)

    def _check(self, given: tuple[str, ...], drawn: tuple[str, ...]) -> None:
        named = (*self.recipe.weights, self.recipe.by, self.recipe.partition)
        own = [a for a in (self.recipe.by, self.recipe.partition) if a in drawn or a in self.recipe.columns]
        if wrong := own + [a for a in named if a and a not in (*given, *self.recipe.columns)]:
            raise JobError(
                f"[random_trees] {', '.join(wrong)} is not a given attribute: {', '.join(given)}.\n{_NOTHING}"
            )
        part = self.recipe.partition
        if part and self.recipe.trees > self.schema.size([part]):
            raise JobError(f"[random_trees] partition = {part!r} has fewer values than there are trees.\n{_NOTHING}")
        lacking = [c for c in self.schema.coding.needs(given) if c not in self.relative.frame.columns]
        if drawn and set(lacking) & set(self.schema.coding.needs(drawn)):
            raise JobError(
                f"[random_trees] sequence = {self.recipe.sequence!r} splits by {', '.join(drawn)}, which the public"
                f" table lacks.\nUse sequence = 'joint', or a public table with labels. {_NOTHING}"
            )
        if lacking:
            raise TableMismatch(
                f"[random_trees] the public table lacks {', '.join(lacking)}, by which trees split.\n"
                f"Give it that column, or take the column out of the schema. {_NOTHING}"
            )
        if len(given) > 60:
            raise JobError(f"random_trees takes up to 60 attributes, got {len(given)}. {_NOTHING}")

    def _trees(self, inside: tuple[str, ...]) -> list[Tree]:
        recipe, schema = self.recipe, self.schema
        lines, sizes = lines_of(self.relative, inside), dict(zip(inside, schema.shape(inside), strict=True))
        weights = [float(recipe.weights.get(a, 1.0)) for a in inside]

        def tree(rows: Any = slice(None)) -> Tree:
            return sketch_tree(lines[:, rows], sizes, weights, n_b=recipe.n_b, depth=recipe.depth, rng=self.rng)

        if recipe.partition:
            return [joined(recipe.partition, [tree() for _ in range(recipe.trees)], schema.size([recipe.partition]))]
        if not recipe.by:
            return [tree() for _ in range(recipe.trees)]
        group, size = self.relative.codes([recipe.by])[recipe.by], schema.size([recipe.by])
        members = [np.flatnonzero(group == c) for c in range(size)]
        parts = [m if len(m) >= recipe.n_b else slice(None) for m in members]  # a small group: the shape of all
        return [joined(recipe.by, [tree(p) for p in parts], size) for _ in range(recipe.trees)]

    def _possible(self, columns: tuple[str, ...], drawn: tuple[str, ...]) -> Iterator[Mapping[str, Codes]]:
        """The target's codes, once for every combination of what is not drawn yet and every part of a partition."""
        codes, rows = self.target.codes([c for c in columns if c not in drawn]), self.target.rows
        for cell in np.ndindex(*self.schema.shape(drawn)):
            table = codes | {d: np.full(rows, c, np.uint16) for d, c in zip(drawn, cell, strict=True)}
            yield from in_every_tree(table, self.recipe)


def in_every_tree(codes: Mapping[str, Codes], recipe: Settings) -> Iterator[Mapping[str, Codes]]:
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
    """

    recipe: Settings
    public: PublicData
    open_columns: tuple[str, ...]
    steps: tuple[tuple[Step, tuple[Measurement, ...]], ...]

    def plus(self, steps: Iterable[tuple[Step, tuple[Measurement, ...]]]) -> "Forest":
        """The forest with further steps."""
        return replace(self, steps=(*self.steps, *steps))

    def shares(
        self, step: Step, answers: Sequence[Measurement], codes: Mapping[str, Codes]
    ) -> npt.NDArray[np.float32]:
        """The share of each label of a step for rows of these codes."""
        counts, leaves, noise = [], [], []
        for tree, answer in zip(step.trees, answers, strict=True):
            held = leaf_counts(tree, self._noisy(step, tree, answer), self.recipe.leaf_min)
            for way in in_every_tree(codes, self.recipe):
                counts.append(held)
                leaves.append(leaf_of(tree, way))
                noise.append(answer.noise.variance)
        return combine(cast(Combine, self.recipe.combine), counts, leaves, noise)

    def laws(self) -> tuple[LabelLaw, ...]:
        """By which law each step draws its label for a row: a tree by lot, then a label by the shares of its leaf.

        That is the mean of the trees' proportions.  Shares are whole numbers here, the largest taking up the rest.
        """
        out = []
        for step, answers in self.steps:
            weights = []
            for tree, answer in zip(step.trees, answers, strict=True):
                shares = as_shares(leaf_counts(tree, self._noisy(step, tree, answer), self.recipe.leaf_min))
                whole = np.floor(shares.astype(np.float64) * TICKETS).astype(np.int64)
                whole[np.arange(len(whole)), whole.argmax(axis=1)] += TICKETS - whole.sum(axis=1)
                weights.append(whole)
            out.append(LabelLaw(step.labels[0], step.trees, tuple(weights)))
        return tuple(out)

    def _noisy(self, step: Step, tree: Tree, answer: Measurement) -> npt.NDArray[np.float64]:
        """The noisy counts, leaf by label; where the sizes of leaves are public they add up to them."""
        schema, kinds = self.public.schema, self.public.schema.size(step.labels)
        held = answer.counts.astype(np.float64).reshape(tree.leaves, -1)
        fixed = set(schema.coding.needs(tree.columns)) <= set(self.open_columns)
        if not (fixed and self.recipe.leaf_sizes == "public"):
            return held
        leaf = leaf_of(tree, target_of(self.public).codes(tree.columns))
        size = np.bincount(leaf, minlength=tree.leaves)[:, None]
        if step.halved:
            return np.concatenate([held, size - held], axis=1)
        return np.asarray(held + (size - held.sum(axis=1, keepdims=True)) / kinds)

    def expected(self, question: Marginal) -> Expected:
        """The counts of one drawing, which is what these trees give for several columns drawn in turn."""
        target, schema = target_of(self.public), self.public.schema
        cells = self._drawn(target, np.arange(target.rows), np.random.Generator(np.random.PCG64(self.recipe.seed)))
        codes = {c: cells[c] if c in cells else target.codes([c])[c] for c in question.columns}
        at = np.zeros(target.rows, np.int64)
        for c in question.columns:
            at = at * schema.size([c]) + codes[c]
        return np.bincount(at, minlength=schema.size(question.columns)).astype(np.float64)

    def attach(self, target: PublicTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of ``target``, in order, with synthetic private columns."""
        return with_columns(target, self.public.schema, lambda rows: self._drawn(target, rows, rng), rng)

    def _drawn(self, target: PublicTable, rows: npt.NDArray[Any], rng: np.random.Generator) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        for step, answers in self.steps:
            names = step.trees[0].columns
            codes = {c: cells[c] if c in cells else target.codes([c])[c][rows] for c in names}
            picked = draw_each(self.shares(step, answers, codes), rng)
            made = np.unravel_index(picked, self.public.schema.shape(step.labels))
            cells |= {a: m.astype(np.uint16) for a, m in zip(step.labels, made, strict=True)}
        return cells
