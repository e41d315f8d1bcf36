"""``guided_tree``: private columns for public rows, by one tree that the public table grows and noisy leaves fill."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.model.attached import Attached
from hedgerow.model.boosted import boost
from hedgerow.model.growing import Binary, as_tree, grow, pruned
from hedgerow.model.leaf_shares import Nodes, fit_leaves, shrink
from hedgerow.model.raked_shares import rake, totals
from hedgerow.public.accounting import Budget, Relation
from hedgerow.public.question import Marginal, Measurement
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes.attach import Columns, cells_of, columns_of, is_ordered, lines_of, target_of
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData

_MOST = 400_000  # public rows that a tree or a boosted model is grown on
Shares = npt.NDArray[np.float32]


@final
@dataclass(frozen=True)
class GuidedTree(AbstractRecipe):
    """One tree grown on the public table and pruned for the noise to come; joint noisy leaves correct a public model.

    Attributes:
        private: the attributes to attach; those the target lacks by default.
        analyses: further tables to get right, each a list of given attributes (an outcome): they are
            measured together with all private ones, and raked in.
        share: the part of the budget that goes to ``analyses`` when there are any.
        prior: ``boosted``, ``leaves`` (the public shares of each leaf), or ``none`` (labels of the public table grow
            the tree and are not used as values).
        rows: a public guess of how many rows the confidential table has; the target's number by default.
        seed: of the public sample and the held-out rows; not of any noise.
    """

    name: ClassVar[str] = "guided_tree"
    relation: ClassVar[Relation] = "label-change"
    private: Sequence[str] = ()
    analyses: Sequence[Sequence[str]] = ()
    share: float = 0.5
    prior: str = "boosted"
    rows: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "private", tuple(self.private))
        object.__setattr__(self, "analyses", tuple(tuple(a) for a in self.analyses))
        if self.prior not in ("boosted", "leaves", "none") or not 0 < self.share < 1 or (self.rows or 1) < 1:
            raise JobError(
                f"[guided_tree] takes prior = 'boosted', 'leaves' or 'none', a share between 0 and 1, and rows of 1 "
                f"or more; got {self.prior!r}, {self.share}, {self.rows}. Nothing was read or spent."
            )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One request: the leaves with all labels, and the declared tables."""
        questions, weights = _Work(self, tariff, budget, public).questions
        return (tariff.measure_all(questions, budget.total, weights=weights, law="laplace"),)

    def fit(self, gate: Answers, public: PublicData) -> Attached:
        """Ask once, then correct the public starting point by what came back."""
        work = _Work(self, gate.tariff, gate.budget, public)
        questions, weights = work.questions
        return work.attached(gate.measure(questions, gate.left, weights=weights, law="laplace"))


@final
class _Work:
    """One job of the recipe: the tree it asks about, and what it makes of the answers."""

    def __init__(self, recipe: GuidedTree, tariff: Tariff, budget: Budget, public: PublicData) -> None:
        self.recipe, self.public, self.target = recipe, public, target_of(public)
        if public.relative is None:
            raise JobError(
                "guided_tree grows its tree on a public table that has the private columns too: name one with\n"
                "[public] table = '...', or use random_trees. No confidential row was read and nothing was spent."
            )
        self.columns: Columns = columns_of(public, tariff.guarantee, recipe.private)
        for wrong in (a for t in recipe.analyses for a in t if a not in self.columns.given):
            raise JobError(
                f"[guided_tree] analyses names {wrong!r}, which is not a given attribute. Nothing was spent."
            )
        self.kinds = public.schema.size(self.columns.private)
        self.sizes = public.schema.shape(self.columns.given)
        self.ordered = [is_ordered(public.schema, a) for a in self.columns.given]
        rng = np.random.Generator(np.random.PCG64(recipe.seed))
        some = rng.permutation(public.relative.rows)[:_MOST]
        self.lines = lines_of(public.relative, self.columns.given)[:, np.sort(some)]
        self.labels = cells_of(public.relative, self.columns.private)[np.sort(some)]
        self.rng = rng
        self._grow(tariff, budget)

    def _grow(self, tariff: Tariff, budget: Budget) -> None:
        """The tree: grown on public rows and labels, pruned for the noise that each leaf will get."""
        part = budget.total * (1 - Fraction(str(self.recipe.share))) if self.recipe.analyses else budget.total
        noise = tariff.measure_all([Marginal(())], part, law="laplace").asked[0].noise.variance * self.kinds
        over = (self.recipe.rows or self.target.rows) / self.lines.shape[1]
        known = np.zeros((len(self.labels), self.kinds), np.float32)
        known[np.arange(len(self.labels)), self.labels] = 1
        grown = grow(self.lines, known, self.sizes, self.ordered, smallest=3, deepest=24, worth=3 * noise / over)
        stays = pruned(grown, noise=noise, over=over)
        self.tree, ends = as_tree(grown, stays, self.columns.given)
        self.nodes = _nodes(grown, ends)

    @property
    def questions(self) -> tuple[list[Marginal], list[Fraction]]:
        """The leaves with all labels, then the declared tables; and how the cost is divided."""
        asked: list[Marginal] = [Marginal(self.columns.private, self.tree)]
        asked += [Marginal((*a, *self.columns.private)) for a in self.recipe.analyses]
        share = Fraction(str(self.recipe.share))
        extra = len(self.recipe.analyses)
        return asked, [1 - share] + [share / extra] * extra if extra else [Fraction(1)]

    def attached(self, answers: Sequence[Measurement]) -> Attached:
        """The public starting point, corrected leaf by leaf and table by table."""
        given = self.target.codes(self.columns.given)
        leaf = leaf_of(self.tree, given)
        first = answers[0]
        noisy = first.counts.reshape(self.tree.leaves, self.kinds).astype(np.float64)
        start = self._start(leaf)
        fitted = fit_leaves(self.nodes, noisy, totals(start, leaf, self.tree.leaves) + 1e-6, first.variance)
        shares = rake(start, [(leaf, fitted)])
        tables = [(leaf, fitted)]
        for outcome, answer in zip(self.recipe.analyses, answers[1:], strict=True):
            group = cells_of(self.target, outcome)
            size = self.public.schema.size(outcome)
            have = totals(shares, group, size) + 1e-6
            counts = answer.counts.reshape(size, self.kinds).astype(np.float64)
            wanted = shrink(counts, have / have.sum(axis=1, keepdims=True), np.full(size, answer.variance))
            tables.append((group, wanted))
        if len(tables) > 1:
            shares = rake(shares, tables)
        return Attached(self.public.schema, self.columns.private, shares, self._strata(leaf), self.target)

    def _start(self, leaf: npt.NDArray[np.int32]) -> Shares:
        """The labels' shares for each target row, from the public table alone."""
        n = self.target.rows
        if self.recipe.prior == "boosted":
            model = boost(self.lines, self.labels, self.kinds, self.sizes, self.ordered, self.rng)
            return model.shares(lines_of(self.target, self.columns.given))
        if self.recipe.prior == "none":
            return np.full((n, self.kinds), 1 / self.kinds, np.float32)
        held = dict(zip(self.columns.given, self.lines, strict=True))
        at = leaf_of(self.tree, held).astype(np.int64) * self.kinds + self.labels
        counts = np.bincount(at, minlength=self.tree.leaves * self.kinds).reshape(-1, self.kinds) + 0.0
        everywhere = counts.sum(axis=0) / counts.sum()
        counts += 5 * everywhere + 1e-4
        return np.asarray(counts / counts.sum(axis=1, keepdims=True), np.float32)[leaf]

    def _strata(self, leaf: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Rows that are drawn together: of one leaf, and of one cell of the first declared outcome."""
        at = leaf.astype(np.int64)
        for outcome in self.recipe.analyses[:1]:
            at = at * self.public.schema.size(outcome) + cells_of(self.target, outcome)
        return at


def _nodes(grown: Binary, ends: npt.NDArray[np.int64]) -> Nodes:
    """The splits that stay and their leaves, as the level-by-level fit walks them."""
    alive = np.zeros(len(grown.look), np.bool_)
    parent = grown.parent
    for end in ends:
        at = int(end)
        while at >= 0 and not alive[at]:
            alive[at] = True
            at = int(parent[at])
    kept = np.flatnonzero(alive)
    number = np.full(len(alive), -1)
    number[kept] = np.arange(len(kept))
    leaf = np.full(len(alive), -1)
    leaf[ends] = np.arange(len(ends))
    up = parent[kept]
    return Nodes(np.where(up >= 0, number[up], -1), grown.depth[kept], leaf[kept])
