"""A trial of public labels: do they go with the given columns as those of the confidential table do?

A tree grown on public rows says for which rows each label is likely: for it the likelier half of the target's rows,
leaf by leaf.  How many rows have a label that is likely for them is one number, told by a question of two counts.
If labels go with no given column it is half of all rows, whatever the label totals are, because every label has its
half; if they go as in the public table it is more by a part that public rows tell, which is slope 1.  Exchanged
labels have a slope below 0, and where given columns mean something else it is about 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import leaf_of
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.regression_tree import as_tree, grow, prune
from hedgerow.public import Budget, Marginal, Measurement, Spend, Tariff, Tree, law_of, shares, total_variation
from hedgerow.recipes.blend.trial import Slope
from hedgerow.recipes.trees.attach import AttachInputs, one_hot
from hedgerow.recipes.trees.requests import count_variance

Sides = npt.NDArray[np.bool_]  # for each leaf and label, whether the label is likely there
Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class LabelTrial:
    """One question of two counts: rows whose label is likely for them, and the others.

    Attributes:
        question: the two counts.
        even: the share of rows with a likely label if labels went with no given column.
        strength: by how much it is more if they go as in the public table.
        sample: how many public rows say so.
        rows: how many rows the confidential table is taken to have.
        cost: what the trial takes.
    """

    question: Marginal
    even: float
    strength: float
    sample: int
    rows: int
    cost: Fraction = Fraction(0)

    @classmethod
    def of(cls, inputs: AttachInputs, tariff: Tariff) -> "LabelTrial | None":
        """The trial of public labels that decide what is asked; None where there are none, or they tell nothing.

        None either but under label-change: there the confidential rows have the target's given columns, so that half
        of the target is half of them.
        One half of the rows says which labels are likely where, and the other half how likely: in its own half,
        chance passes for a relation.
        """
        if inputs.labels is None or tariff.guarantee.relation != "label-change":
            return None
        some = slice(None, None, -(-len(inputs.labels) // GUIDED_TREE.trial_rows))
        rows, labels = inputs.public[:, some], inputs.labels[some]
        one, other = slice(0, None, 2), slice(1, None, 2)
        charge = max(GUIDED_TREE.leaf_charges)  # a label in a small leaf is chance
        limits = {"smallest": GUIDED_TREE.smallest_leaf, "deepest": GUIDED_TREE.deepest_leaf}
        hot = one_hot(labels[one], inputs.label_count)
        grown = grow(rows[:, one], hot, inputs.sizes, inputs.ordered, **limits, worth=3 * charge)
        tree, _ = as_tree(grown, prune(grown, noise=charge, over=1.0), inputs.given)
        here, there = (_counts(tree, inputs, rows[:, half], labels[half]) for half in (one, other))
        target = np.bincount(
            leaf_of(tree, inputs.codes(inputs.code_rows)), inputs.lines.many, minlength=tree.leaves
        ).astype(np.float64)
        target /= max(float(target.sum()), 1.0)
        likely = _likely(here, target)
        even, strength = _expected(likely, there, target)
        if tree.leaves == 1 or strength <= 0:
            return None
        question = Marginal((), sided(tree, inputs.private, inputs.target.schema.shape(inputs.private), likely))
        return cls(question, even, strength, int(there.sum()), inputs.rows)

    def priced(self, tariff: Tariff, budget: Budget) -> "LabelTrial | None":
        """The same at the least part of the budget with which noise leaves it telling; None if none does."""
        for part in GUIDED_TREE.trial_parts:
            noise = sqrt(count_variance(tariff, budget.total * part) / 2) / self.rows
            if GUIDED_TREE.trial_least * noise <= self.strength:
                return replace(self, cost=budget.total * part)
        return None

    def spend(self, tariff: Tariff) -> Spend:
        """The request."""
        return tariff.measure_all([self.question], self.cost, law="laplace")

    def remarks(self, budget: Budget) -> tuple[str, ...]:
        """What a plan says of it."""
        return (
            f"A trial of public labels, by two counts, takes {float(self.cost / budget.total):.1%} of the budget.",
            "If it refutes them, all goes on as without: attribute tables first, then a tree by what they say.",
        )

    def slope(self, answer: Measurement) -> Slope:
        """What part of the public relations the two counts bear out."""
        likely, others = (float(n) for n in answer.counts)
        rows = max(likely + others, 1.0)
        inside = (1 + (likely - others) / rows) / 2
        doubt = law_of(answer.noise).variance / 2 / rows**2 + 1 / (4 * self.sample)
        return Slope((inside - self.even) / self.strength, sqrt(doubt) / self.strength)


def are_foreign(rows: npt.NDArray[Any], target: npt.NDArray[Any], many: Floats | None, sizes: Sequence[int]) -> bool:
    """Whether the given columns of public rows mean something else than the target's, by their one-way tables.

    That is so where they are too far apart, by total variation in the mean column.  Both are public, so it costs
    nothing.  ``many`` is how often each line of the target counts.
    """
    apart = 0.0
    for here, there, size in zip(rows, target, sizes, strict=True):
        apart += total_variation(shares(np.bincount(here, minlength=size)), shares(np.bincount(there, many, size)))
    return apart > GUIDED_TREE.foreign_distance * len(sizes)


def _counts(tree: Tree, inputs: AttachInputs, rows: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> Floats:
    """How often each label occurs in each leaf."""
    cell = leaf_of(tree, inputs.codes(rows)).astype(np.int64) * inputs.label_count + labels
    held = np.bincount(cell, minlength=tree.leaves * inputs.label_count)
    return held.reshape(tree.leaves, inputs.label_count).astype(np.float64)


def _likely(counts: Floats, target: Floats) -> Sides:
    """For each label the leaves with the largest shares of it, as many as hold about half of the ``target``.

    >>> _likely(np.array([[9.0, 1], [4, 6], [1, 9], [2, 8]]), np.array([0.25, 0.25, 0.25, 0.25])).astype(int)
    array([[1, 0],
           [1, 0],
           [0, 1],
           [0, 1]])
    """
    mix = counts.sum(axis=0) / max(float(counts.sum()), 1.0)
    few = GUIDED_TREE.leaf_smoothing
    smooth = (counts + few * mix) / (counts.sum(axis=1, keepdims=True) + few)
    order = np.argsort(-smooth, axis=0, kind="stable")
    up_to = np.cumsum(target[order], axis=0)
    many = np.abs(up_to - 0.5).argmin(axis=0) + 1
    found = np.zeros(counts.shape, np.bool_)
    np.put_along_axis(found, order, np.arange(len(counts))[:, None] < many, axis=0)
    return found


def _expected(likely: Sides, counts: Floats, target: Floats) -> tuple[float, float]:
    """The share of ``target`` rows with a likely label if labels go with no column, and what more by ``counts``.

    Leaves without a public row tell nothing: there labels come as everywhere.
    """
    rows = counts.sum(axis=1, keepdims=True)
    known = np.where(rows[:, 0] > 0, target, 0.0)
    told = counts / np.maximum(rows, 1.0)
    mix = known @ told / max(float(known.sum()), 1e-300)
    told = np.where(rows > 0, told, mix)
    even = float(mix @ (target @ likely))
    return even, float(target @ (told * likely).sum(axis=1)) - even


def sided(tree: Tree, private: Sequence[str], shape: Sequence[int], likely: Sides) -> Tree:
    """The tree that goes on below each leaf to the labels: a row whose label is likely there is in leaf 0."""
    look, first, child = tree.arrays
    splits, leaf = len(look), child < 0
    above = np.cumprod([1, *shape])[:-1]  # how many nodes look at each private column below one leaf
    start = np.cumsum(above) - above
    below, joined, looks, wide = int(above.sum()), [], [], []
    inner = np.concatenate(
        [start[i + 1] + np.arange(n * s) for i, (n, s) in enumerate(zip(above[:-1], shape[:-1], strict=True))]
        or [np.zeros(0, np.int64)]
    )
    for sides, root in zip(likely, splits + below * np.arange(tree.leaves), strict=True):
        joined.append(np.concatenate([root + inner, np.where(sides, -1, -2)]))
        looks.append(np.repeat(len(tree.columns) + np.arange(len(shape)), above))
        wide.append(np.repeat(shape, above))
    child = np.where(leaf, splits + below * (-1 - child), child)
    sizes = np.concatenate(wide)
    return Tree.of(
        (*tree.columns, *private),
        2,
        np.concatenate([look, *looks]),
        np.concatenate([first, len(child) + np.cumsum(sizes) - sizes]),
        np.concatenate([child, *joined]),
    )
