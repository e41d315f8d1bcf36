"""A request of ``guided_tree``, and how what comes back corrects a starting point."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.answers import Answers
from hedgerow.counting.kernel import compiled
from hedgerow.counting.plan import leaf_of
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.label_counts import (
    LabelCounts,
    LeafCells,
    apply_drift,
    cells_error,
    label_totals,
    merge_groups,
    posterior_mode,
    to_target,
)
from hedgerow.model.trees.lanes import add_line
from hedgerow.model.trees.regression_tree import BinaryTree, Shares, above, as_tree
from hedgerow.public import TOTAL, Marginal, Measurement, Tariff, Tree, law_of
from hedgerow.recipes.trees.attach import AttachInputs, cross, told_better


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


def count_variance(tariff: Tariff, cost: Fraction) -> float:
    """Of the noise on a count that is asked at ``cost``."""
    return law_of(tariff.measure_all([TOTAL], cost, law="laplace").asked[0].noise).variance


def without_few(inputs: AttachInputs, request: TreeRequest, tariff: Tariff, cost: Fraction) -> AttachInputs:
    """The inputs; few public rows are put aside where the first answers will tell more than they do."""
    if inputs.few is None:
        return inputs
    noise = {
        q: count_variance(tariff, cost * w / sum(request.weights)) ** 0.5
        for q, w in zip(request.questions, request.weights, strict=True)
    }
    known = [noise[Marginal((a, *inputs.private))] for a in inputs.given]
    better = told_better(inputs, known, GUIDED_TREE.few_noise)
    return replace(inputs, few=None, aside="few") if better else inputs


def own_tables(inputs: AttachInputs) -> set[Marginal]:
    """The tables of one given attribute and all private ones."""
    return {Marginal((a, *inputs.private)) for a in inputs.given}


def measured(gate: Answers, request: TreeRequest, cost: Fraction) -> tuple[Measurement, ...]:
    """What comes back to the request."""
    return gate.measure(request.questions, cost, weights=request.weights, law="laplace")


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


def digest_of(answers: Sequence[Measurement]) -> str:
    """What tells these answers from others: a name for what was worked out of them."""
    heard = sha256(repr([(m.question, m.noise) for m in answers]).encode())
    for m in answers:
        heard.update(np.ascontiguousarray(m.counts).tobytes())
    return heard.hexdigest()


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
    return leaf_shares(leaf_of(tree, inputs.codes(inputs.public)), tree.leaves, shares)


def leaf_shares(leaf: npt.NDArray[Any], leaves: int, shares: Shares) -> npt.NDArray[np.float64]:
    """The same of rows whose leaves are known."""
    counts = np.zeros((leaves, shares.shape[1]))
    _add_by_leaf(leaf, np.ascontiguousarray(shares), counts)
    counts += GUIDED_TREE.leaf_smoothing * counts.sum(axis=0) / max(float(counts.sum()), 1.0) + 1e-4
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


@compiled
def _add_by_leaf(leaf: Any, shares: Any, counts: Any) -> None:
    n, row, total = np.uint64(shares.shape[1]), shares.reshape(-1), counts.reshape(-1)
    for r in range(len(leaf)):
        add_line(total, np.uint64(leaf[r]) * n, row, np.uint64(r) * n, n)


@final
class PrunedTrees:
    """A grown tree that was pruned in several ways: rows fall once, to the leaves of all that is left of it.

    What a pruned tree tells of rows is what these leaves tell, merged.  Counts of rows are whole numbers: however
    they are added up, sums are exact.
    """

    def __init__(
        self, inputs: AttachInputs, grown: BinaryTree, pruned: Sequence[npt.NDArray[np.bool_]], shares: Shares
    ) -> None:
        """``pruned`` has for each way which nodes stay split; ``shares`` are the labels of the public rows."""
        self.inputs, self.grown, self.shares, self.parent = inputs, grown, shares, grown.parent
        tree, self.ends = as_tree(grown, np.logical_or.reduce(pruned), inputs.given)
        self.known = leaf_of(tree, inputs.codes(inputs.public))
        leaf, many = leaf_of(tree, inputs.codes(inputs.code_rows)), inputs.lines.many
        self.cells = [
            LeafCells.of(leaf, tree.leaves, codes, size, many)
            for codes, size in zip(inputs.code_rows, inputs.sizes, strict=True)
        ]

    def expected_error(self, ends: npt.NDArray[np.int64], variance: float, tables: Sequence[float | None]) -> float:
        """Of the pruned tree with these leaves, each count of which has noise of this variance; see the function."""
        is_end, at = np.zeros(len(self.parent), np.bool_), self.ends.copy()
        is_end[ends] = True
        while (above_it := ~is_end[at]).any():
            at[above_it] = self.parent[at[above_it]]
        number = np.zeros(len(self.parent), np.int64)
        number[ends] = np.arange(len(ends))
        of_leaf, sizes = number[at], self.inputs.sizes
        cells = [c.merged(of_leaf, len(ends), size) for c, size in zip(self.cells, sizes, strict=True)]
        return cells_error(cells, leaf_shares(of_leaf[self.known], len(ends), self.shares), variance, sizes, tables)
