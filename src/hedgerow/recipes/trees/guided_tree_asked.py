"""What ``guided_tree`` asks: the tree, the tables, and how the budget is divided, all from public knowledge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.model.attach_error import Partition, expected_error
from hedgerow.model.growing import Binary, as_tree, grow, pruned
from hedgerow.public.costs.question import TOTAL, Marginal, Tree
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.table import PublicData, PublicTable
from hedgerow.recipes.trees.attach import cells_of, columns_of, is_ordered, lines_of, target_of
from hedgerow.recipes.trees.outcome import declared, outcome_of

Shares = npt.NDArray[np.float32]
_MOST = 400_000  # public rows that a tree or a boosted model is grown on
_SMALLEST, _DEEPEST = 8, 24
_PARTS = tuple(Fraction(i, 4) for i in range(4))  # of the budget, for attribute x private tables: the ones considered
_CHARGES = (8.0, 64.0)  # how many times its noise a leaf is charged when a model tells rows apart: trees considered
_SMOOTH = 5.0  # rows of the whole table's mix that the public labels of a leaf are given


@final
@dataclass(frozen=True)
class Wishes:
    """The settings of GuidedTree that decide what is asked. ``modelled``: a public model tells rows apart."""

    private: tuple[str, ...]
    analyses: tuple[tuple[str, ...], ...]
    outcomes: tuple[str, ...]
    share: Fraction | None
    tables: Fraction | None
    priorities: Mapping[str, float]
    modelled: bool
    rows: int | None
    seed: int

    def weights(self, names: Sequence[str]) -> dict[str, Fraction]:
        """How much the table of each attribute matters."""
        return {a: Fraction(str(self.priorities.get(a, 1))) for a in names}


@final
@dataclass(frozen=True, eq=False)
class Known:
    """The public side of a job, in codes.

    Attributes:
        private, given: the attributes that are drawn, and those they may depend on.
        kinds: how many cells the private attributes have together.
        target: the rows that receive columns, and ``lines`` their codes, one line for each given attribute.
        public: the codes of public rows, and ``labels`` their private cells; None when nobody knows them.
        rows: how many rows the confidential table is taken to have.
    """

    private: tuple[str, ...]
    given: tuple[str, ...]
    kinds: int
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    target: PublicTable
    lines: npt.NDArray[Any]
    public: npt.NDArray[Any]
    labels: npt.NDArray[np.int64] | None
    rows: int

    def codes(self, lines: npt.NDArray[Any]) -> dict[str, Any]:
        """The codes of ``lines`` by name."""
        return dict(zip(self.given, lines, strict=True))


def known(wishes: Wishes, tariff: Tariff, public: PublicData) -> Known:
    """What the recipe knows before it asks: from the public table, or from the target when there is none."""
    target, schema = target_of(public), public.schema
    found = columns_of(public, tariff.guarantee, wishes.private)
    given = tuple(a for a in found.given if wishes.priorities.get(a, 1.0) > 0)
    tables = [a for t in wishes.analyses for a in t]
    if wrong := [a for a in (*tables, *wishes.outcomes, *wishes.priorities) if a not in found.given]:
        raise JobError(
            f"[guided_tree] analyses, outcomes or priorities name {', '.join(wrong)}, which is no given attribute.\n"
            f"The given attributes are {', '.join(found.given)}. Nothing was read or spent."
        )
    if out := [a for a in wishes.outcomes if a not in given]:
        raise JobError(
            f"[guided_tree] {', '.join(out)} has priority 0 and is an outcome too. Take it out of one of the two.\n"
            "Nothing was read or spent."
        )
    if not given:
        raise JobError("[guided_tree] priorities leave no attribute to depend on. Nothing was read or spent.")
    labels = schema.coding.needs(found.private)
    relative = public.relative
    if relative is None or not set(labels) <= set(relative.frame.columns):
        relative, labelled = target, False  # then the rows to be filled are the public table
    else:
        labelled = True
    some = np.random.Generator(np.random.PCG64(wishes.seed)).permutation(relative.rows)[:_MOST]
    return Known(
        found.private,
        given,
        schema.size(found.private),
        schema.shape(given),
        tuple(is_ordered(schema, a) for a in given),
        target,
        lines_of(target, given),
        lines_of(relative, given)[:, np.sort(some)] if labelled else lines_of(target, given),
        cells_of(relative, found.private)[np.sort(some)] if labelled else None,
        wishes.rows or public.assumed_rows or target.rows,
    )


@final
@dataclass(frozen=True, eq=False)
class Asked:
    """One request.

    Attributes:
        questions, weights: what is asked, and how its cost is divided; the leaves, if any, come first.
        grown, ends: the tree that was grown, and which of its nodes the leaves are.
        expected: the mean error of (attribute, labels) tables that public knowledge expects.
    """

    questions: tuple[Marginal, ...]
    weights: tuple[Fraction, ...]
    grown: Binary | None = None
    ends: npt.NDArray[np.int64] | None = None
    expected: float = float("nan")

    @property
    def tree(self) -> Tree:
        """The tree whose leaves are asked."""
        first = self.questions[0]
        assert first.tree is not None
        return first.tree


def first_tables(wishes: Wishes, have: Known) -> tuple[Asked, Fraction]:
    """Without public labels: every attribute's own table, and its part of the budget."""
    weights = wishes.weights(have.given)
    asked = Asked(tuple(Marginal((a, *have.private)) for a in weights), tuple(weights.values()))
    return asked, wishes.tables or Fraction(1, 2)


def leaves_and_tables(wishes: Wishes, have: Known, shares: Shares, tariff: Tariff, cost: Fraction) -> Asked:
    """The request with the least expected error: which tree, and how much for tables.

    ``shares`` are the labels of the public rows: a 1 each, or a guess.
    """
    over = have.rows / have.public.shape[1]
    analyses = _analyses(wishes, have, shares, lambda part: _variance(tariff, cost * part))
    rest = 1 - sum(analyses.values(), Fraction(0))
    least = _variance(tariff, cost * rest) * have.kinds
    limits = {"smallest": _SMALLEST, "deepest": _DEEPEST}
    grown = grow(have.public, shares, have.sizes, have.ordered, **limits, worth=3 * least / over)
    parts = _PARTS if wishes.tables is None else (wishes.tables,)
    if have.labels is None:
        parts = (Fraction(0),)  # the tables have been asked
    # without a model of the labels the tree itself must tell rows apart: then a leaf is charged its noise, no more
    charges = _CHARGES if wishes.modelled else (1.0,)

    def candidate(part: Fraction, charge: float) -> Asked:
        variance = _variance(tariff, cost * rest * (1 - part))
        stays = pruned(grown, noise=charge * variance * have.kinds, over=over)
        tree, ends = as_tree(grown, stays, have.given)
        asked = _questions(wishes, have, tree, part, analyses)
        noise = {q: _variance(tariff, cost * p) for q, p in asked.items()}
        own = [noise.get(Marginal((a, *have.private))) for a in have.given]
        rows = Partition(leaf_of(tree, have.codes(have.lines)), public_shares(have, shares, tree), variance)
        off = expected_error(rows, have.lines, have.sizes, own)
        return Asked(tuple(asked), tuple(asked.values()), grown, ends, off)

    return min((candidate(p, c) for p, c in product(parts, charges)), key=lambda a: a.expected)


def _analyses(
    wishes: Wishes, have: Known, shares: Shares, variance: Callable[[Fraction], float]
) -> dict[Marginal, Fraction]:
    """The declared analyses and outcomes, each with its part of the budget."""
    schema = have.target.schema
    cross = shares.mean(axis=0, dtype=np.float64).reshape(schema.shape(have.private))
    others = [tuple(j for j in range(cross.ndim) if j != i) for i in range(cross.ndim)]
    labels = {p: np.asarray(cross.sum(axis=o)) for p, o in zip(have.private, others, strict=True)}
    tables = [Marginal((*t, *have.private)) for t in wishes.analyses]
    outcomes = [outcome_of(schema, have.given, have.lines, o) for o in wishes.outcomes]
    return declared(tables, outcomes, labels, wishes.share, variance)


def _questions(
    wishes: Wishes, have: Known, tree: Tree, part: Fraction, analyses: Mapping[Marginal, Fraction]
) -> dict[Marginal, Fraction]:
    """The leaves, the attributes' own tables when they get a ``part``, and the analyses; each with its weight."""
    rest = 1 - sum(analyses.values(), Fraction(0))
    weights = wishes.weights([a for a in have.given if Marginal((a, *have.private)) not in analyses]) if part else {}
    part = part if weights else Fraction(0)
    asked: dict[Marginal, Fraction] = {Marginal(have.private, tree): rest * (1 - part)}
    for a, w in weights.items():
        asked[Marginal((a, *have.private))] = rest * part * w / sum(weights.values())
    return {**asked, **analyses}


def _variance(tariff: Tariff, cost: Fraction) -> float:
    """Of the noise on a count that is asked at ``cost``."""
    return tariff.measure_all([TOTAL], cost, law="laplace").asked[0].noise.variance


def public_shares(have: Known, shares: Shares, tree: Tree) -> npt.NDArray[np.float64]:
    """The public rows' shares of each label in each leaf; a leaf with few of them leans on all."""
    leaf = leaf_of(tree, have.codes(have.public))
    held = np.stack([np.bincount(leaf, weights=s, minlength=tree.leaves) for s in shares.T], axis=1)
    held += _SMOOTH * held.sum(axis=0) / max(float(held.sum()), 1.0) + 1e-4
    return np.asarray(held / held.sum(axis=1, keepdims=True))


def as_shares(labels: npt.NDArray[np.int64], kinds: int) -> Shares:
    """Labels as lines of shares: a 1 each."""
    out = np.zeros((len(labels), kinds), np.float32)
    out[np.arange(len(labels)), labels] = 1
    return out
