"""A request of ``guided_tree``, and how what comes back corrects a starting point."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import leaf_of
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.label_counts import (
    LabelCounts,
    apply_drift,
    label_totals,
    merge_groups,
    posterior_mode,
    to_target,
)
from hedgerow.model.trees.regression_tree import BinaryTree, Shares, above
from hedgerow.public import Marginal, Measurement, Tree, law_of
from hedgerow.recipes.trees.attach import AttachInputs, cross


@final
@dataclass(frozen=True, eq=False)
class TreeRequest:
    """One request.

    Attributes:
        questions, weights: what is asked, and how its cost is divided; the leaves, if any, come first.
        grown, ends: the tree that was grown, and which of its nodes the leaves are.
        expected: the mean error of (attribute, labels) tables that public knowledge expects.
    """

    questions: tuple[Marginal, ...]
    weights: tuple[Fraction, ...]
    grown: BinaryTree | None = None
    ends: npt.NDArray[np.int64] | None = None
    expected: float = float("nan")

    @property
    def tree(self) -> Tree:
        """The tree whose leaves are asked."""
        first = self.questions[0]
        assert first.tree is not None
        return first.tree


def uniform(inputs: AttachInputs) -> Shares:
    """Equal shares of all labels, for every target row."""
    return np.full((inputs.code_rows.shape[1], inputs.label_count), 1 / inputs.label_count, np.float32)


def label_counts(inputs: AttachInputs, answers: Sequence[Measurement]) -> list[LabelCounts]:
    """What came back, brought to the target's rows."""
    counts, schema = [], inputs.target.schema
    codes = np.unravel_index(np.arange(inputs.label_count), schema.shape(inputs.private))
    cells = dict(zip(inputs.private, codes, strict=True))
    for a in answers:
        if a.question.tree is not None:
            group = leaf_of(a.question.tree, inputs.codes(inputs.code_rows))
        else:
            given = [c for c in a.question.columns if c not in inputs.private]
            group = cross(schema, given, inputs.lines.codes, inputs.code_rows.shape[1])
        counted = tuple(c for c in a.question.columns if c in inputs.private)
        one = None if counted == inputs.private else cells[counted[0]]
        noisy, variance = a.counts.reshape(-1, schema.size(counted)), law_of(a.noise).variance
        counts.append(to_target(group, noisy, variance, one, inputs.lines.many))
    return counts


def corrected(start: Shares, counts: Sequence[LabelCounts], request: TreeRequest, least: float = 0.0) -> Shares:
    """Drift first, from the totals over tables and bands and the tree's upper levels to its leaves; then chance.

    ``least`` is the drift that is known beforehand.
    """
    treed = [i for i, q in enumerate(request.questions) if q.tree is not None]
    leaves, bands = counts[0], [counts[i] for i in treed[1:]]
    tables = [e for i, e in enumerate(counts) if i not in treed]
    joint, apart = [e for e in tables if e.label is None], [e for e in tables if e.label is not None]
    parts = [[label_totals([e for e in counts if e.label is None])], *([joint] if joint else [])]
    parts += [[e] for e in (*apart, *bands)]  # an outcome strays by itself
    assert request.grown is not None and request.ends is not None
    deepest = int(request.grown.depth[request.ends].max())
    levels = [above(request.grown, request.ends, n) for n in GUIDED_TREE.drift_levels if n < deepest]
    parts += [[merge_groups(leaves, of_leaf)] for of_leaf in levels]
    return posterior_mode(apply_drift(start, *parts, [leaves], least=least), [*tables, *bands, leaves])


def public_shares(inputs: AttachInputs, shares: Shares, tree: Tree) -> npt.NDArray[np.float64]:
    """The public rows' shares of each label in each leaf, smoothed additively by the mix of all leaves."""
    leaf = leaf_of(tree, inputs.codes(inputs.public))
    counts = np.stack([np.bincount(leaf, weights=s, minlength=tree.leaves) for s in shares.T], axis=1)
    counts += GUIDED_TREE.leaf_smoothing * counts.sum(axis=0) / max(float(counts.sum()), 1.0) + 1e-4
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
