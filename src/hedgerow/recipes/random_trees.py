"""``random_trees``: the variable-depth random decision trees of the RDT papers, with their true cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError, Refused
from hedgerow.model.attached import draw_stratified, with_columns
from hedgerow.model.base import AbstractAttachment, Expected
from hedgerow.model.forest import Combine, combine, leaf_counts
from hedgerow.model.random_tree import draw_tree, joined, reached
from hedgerow.public.accounting import Budget, Guarantee, Relation
from hedgerow.public.coding import Codes
from hedgerow.public.question import Leaves, Marginal, Measurement, Tree
from hedgerow.public.spend import Spend, Tariff
from hedgerow.public.table import PublicTable
from hedgerow.recipes.attach import columns_of, lines_of, target_of
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData

_NOTHING = "No confidential row was read and nothing was spent."


@final
@dataclass(frozen=True)
class RandomTrees(AbstractRecipe):
    """An ensemble of random trees split by public counts, its leaves filled with noisy label counts.

    Attributes:
        private: the attributes to attach, in order; those the target lacks by default.
        trees: how many; the total epsilon is divided among them.
        n_b: a node is split while it has at least this many public rows.
        depth: the most splits on a path.
        weights: how likely an attribute is drawn, against 1 for those not named.
        leaf_min: a leaf whose noisy total is below this takes the counts of the split above it.
        combine: ``mean`` of proportions (the papers'), ``pooled`` counts, or ``precision``.
        sequence: ``joint`` leaves of all private columns; ``chain``: each trained on the authentic ones before it and
            routed on the synthetic ones; the papers' own two, see the docs.
        by: a given attribute, such as the year: one set of trees for each of its values.
        partition: a given attribute whose code, modulo ``trees``, says in which one tree a row is counted; then every
            tree has the whole epsilon.
        seed: of the trees' structure; not of any noise.
    """

    name: ClassVar[str] = "random_trees"
    relation: ClassVar[Relation] = "label-change"
    private: Sequence[str] = ()
    trees: int = 3
    n_b: int = 500
    depth: int = 12
    weights: Mapping[str, float] = field(default_factory=dict)
    leaf_min: float = 0.0
    combine: str = "mean"
    sequence: str = "joint"
    by: str = ""
    partition: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "private", tuple(self.private))
        wrong = [
            *(["trees must be 1 or more"] if self.trees < 1 else []),
            *(["n_b must be 1 or more"] if self.n_b < 1 else []),
            *(["depth must be between 1 and 60"] if not 1 <= self.depth <= 60 else []),
            *(["weights must be 0 or more"] if any(w < 0 for w in self.weights.values()) else []),
            *(
                ["combine is mean, pooled or precision"]
                if self.combine not in ("mean", "pooled", "precision")
                else []
            ),
            *(
                ["sequence is joint, chain, papers-2018 or papers-2019"]
                if self.sequence not in ("joint", "chain", "papers-2018", "papers-2019")
                else []
            ),
            *(["by and partition exclude each other"] if self.by and self.partition else []),
        ]
        if wrong:
            raise JobError(f"[random_trees] {'; '.join(wrong)}. {_NOTHING}")

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One request: every tree of every step, at equal cost."""
        steps = plan_steps(self, tariff.guarantee, public)
        return (tariff.measure_all(_questions(steps), budget.total, law="laplace"),)

    def fit(self, gate: Answers, public: PublicData) -> "Forest":
        """Draw the trees, ask for their leaves, and keep what came back."""
        steps = plan_steps(self, gate.tariff.guarantee, public)
        answers = iter(gate.measure(_questions(steps), gate.left, law="laplace"))
        filled = tuple((s, tuple(next(answers) for _ in s.trees)) for s in steps)
        return Forest(self, public, filled)


@dataclass(frozen=True)
class Step:
    """One draw: ``labels`` by ``trees`` over the columns that are known by then."""

    labels: tuple[str, ...]
    trees: tuple[Tree, ...]


def _questions(steps: Sequence[Step]) -> list[Leaves]:
    return [Leaves(t, s.labels) for s in steps for t in s.trees]


def plan_steps(recipe: RandomTrees, guarantee: Guarantee, public: PublicData) -> tuple[Step, ...]:
    """Which columns are drawn from which trees, decided from public knowledge alone."""
    leaky = recipe.sequence == "papers-2019"
    if leaky and (len(recipe.private) != 2 or recipe.private[1] not in guarantee.public_columns):
        raise Refused(
            "sequence = 'papers-2019' sends each row down a tree by its own authentic value of the second private\n"
            "column, which no epsilon covers. It runs only when relation = 'label-change' declares that column\n"
            f"in public_columns, and private names two columns. Use sequence = 'joint' or 'chain'. {_NOTHING}"
        )
    found = columns_of(public, guarantee, recipe.private[:1] if leaky else recipe.private)
    rng = np.random.Generator(np.random.PCG64(recipe.seed))
    if leaky:
        first, second = recipe.private
        rest = tuple(g for g in found.given if g != second)
        return (
            _step(recipe, public, (first,), (*rest, second), (), rng),
            _step(recipe, public, (second,), (*rest, first), (first,), rng),
        )
    if recipe.sequence == "joint":
        return (_step(recipe, public, found.private, found.given, (), rng),)
    steps, known = [], tuple[str, ...]()
    for label in found.private:
        drawn = known if recipe.sequence == "chain" else ()
        steps.append(_step(recipe, public, (label,), (*found.given, *drawn), drawn, rng))
        known = (*known, label)
    return tuple(steps)


def _step(
    recipe: RandomTrees,
    public: PublicData,
    labels: tuple[str, ...],
    given: tuple[str, ...],
    drawn: tuple[str, ...],
    rng: np.random.Generator,
) -> Step:
    """The trees of one step; only leaves that a target row can reach, whatever its drawn columns, are numbered."""
    relative = public.relative or target_of(public)
    schema = public.schema
    if wrong := [
        a for a in (*recipe.weights, recipe.by, recipe.partition) if a and a not in (*given, *recipe.private)
    ]:
        raise JobError(f"[random_trees] {', '.join(wrong)} is not a given attribute. {_NOTHING}")
    if public.relative is None and drawn:
        raise JobError(f"[random_trees] sequence = 'chain' needs [public] table = '...' with labels. {_NOTHING}")
    inside = tuple(a for a in given if a not in (recipe.by, recipe.partition))
    lines, sizes = lines_of(relative, inside), dict(zip(inside, schema.shape(inside), strict=True))
    if len(sizes) > 60:
        raise JobError(f"random_trees takes up to 60 attributes, got {len(sizes)}. {_NOTHING}")
    weights = [float(recipe.weights.get(a, 1.0)) for a in inside]

    def drawn_tree(rows: npt.NDArray[Any] | slice) -> Tree:
        return draw_tree(lines[:, rows], sizes, weights, n_b=recipe.n_b, depth=recipe.depth, rng=rng)

    everyone = slice(None)
    if recipe.partition:
        trees = [
            joined(
                recipe.partition, [drawn_tree(everyone) for _ in range(recipe.trees)], schema.size([recipe.partition])
            )
        ]
    elif recipe.by:
        group, size = relative.codes([recipe.by])[recipe.by], schema.size([recipe.by])
        enough = [np.flatnonzero(group == c) for c in range(size)]
        trees = [
            joined(recipe.by, [drawn_tree(r if len(r) >= recipe.n_b else everyone) for r in enough], size)
            for _ in range(recipe.trees)
        ]
    else:
        trees = [drawn_tree(everyone) for _ in range(recipe.trees)]
    tables = list(_possible(target_of(public), schema, trees[0].columns, drawn))
    if recipe.partition:
        tables = [
            {**t, recipe.partition: np.full_like(t[recipe.partition], c)} for t in tables for c in range(recipe.trees)
        ]
    return Step(labels, tuple(reached(t, *tables) for t in trees))


def _possible(target: PublicTable, schema: Any, columns: tuple[str, ...], drawn: tuple[str, ...]) -> Any:
    """The target's codes, once for every combination of the columns that are not drawn yet."""
    codes = target.codes([c for c in columns if c not in drawn])
    for cell in np.ndindex(*schema.shape(drawn)):
        yield codes | {d: np.full(target.rows, c, np.uint16) for d, c in zip(drawn, cell, strict=True)}


@final
@dataclass(frozen=True, eq=False)
class Forest(AbstractAttachment):
    """Filled trees, and the target rows that were planned for."""

    recipe: RandomTrees
    public: PublicData
    steps: tuple[tuple[Step, tuple[Measurement, ...]], ...]

    def shares(
        self, step: Step, answers: Sequence[Measurement], codes: Mapping[str, Codes]
    ) -> npt.NDArray[np.float32]:
        """The share of each label of a step for rows of these codes."""
        schema, recipe = self.public.schema, self.recipe
        kinds = schema.size(step.labels)
        counts, leaves = [], []
        for tree, answer in zip(step.trees, answers, strict=True):
            noisy = answer.counts.reshape(-1, kinds).astype(np.float64)
            held = leaf_counts(tree, schema.shape(tree.columns), noisy, recipe.leaf_min)
            ways = [codes]
            if recipe.partition:
                column = codes[recipe.partition]
                ways = [{**codes, recipe.partition: np.full_like(column, c)} for c in range(recipe.trees)]
            counts += [held] * len(ways)
            leaves += [leaf_of(tree, w) for w in ways]
        return combine(
            cast(Combine, recipe.combine),
            counts,
            leaves,
            [a.variance for a in answers] * (len(counts) // len(answers)),
        )

    def expected(self, question: Marginal) -> Expected:
        """The counts of one drawing, which is what these trees give for several columns drawn in turn."""
        target = target_of(self.public)
        cells = self._drawn(target, np.arange(target.rows), np.random.Generator(np.random.PCG64(self.recipe.seed)))
        codes = {c: cells[c] if c in cells else target.codes([c])[c] for c in question.columns}
        at = np.zeros(target.rows, np.int64)
        for c in question.columns:
            at = at * self.public.schema.size([c]) + codes[c]
        return np.bincount(at, minlength=self.public.schema.size(question.columns)).astype(np.float64)

    def attach(self, target: PublicTable, rng: np.random.Generator) -> pl.DataFrame:
        """The rows of ``target``, in order, with synthetic private columns."""
        return with_columns(target, self.public.schema, lambda rows: self._drawn(target, rows, rng), rng)

    def _drawn(self, target: PublicTable, rows: npt.NDArray[Any], rng: np.random.Generator) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        for step, answers in self.steps:
            names = step.trees[0].columns
            codes = {c: cells[c] if c in cells else target.codes([c])[c][rows] for c in names}
            shares = self.shares(step, answers, codes)
            picked = draw_stratified(shares, np.zeros(len(rows), np.int8), rng)
            made = np.unravel_index(picked, self.public.schema.shape(step.labels))
            cells |= {a: m.astype(np.uint16) for a, m in zip(step.labels, made, strict=True)}
        return cells
