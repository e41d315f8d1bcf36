"""What a tree will look like when it is filled, worked out on public tables alone.

Every number here comes from the tree, the public table, the target and a public guess of the confidential size.  No
confidential row is read for any of them.
"""

from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.planning.interval import EPSILONS, MOST, least_n
from hedgerow.public.costs import PricedQuestion, Tree, law_of
from hedgerow.public.table import CodedTable, PublicData

_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Wanted:
    """The interval a leaf should keep: the synthetic share of a label of share ``p`` within ``width``."""

    p: float = 0.25
    width: float = 0.1
    level: float = 0.9


@dataclass(frozen=True)
class TreeReport:
    """One tree before it is filled. Distributions are quantiles at 0, .1, .25, .5, .75, .9 and 1; None: not known.

    Attributes:
        labels: the columns counted in its leaves.
        epsilon: what the tree gets of the budget; under a delta, the pure epsilon of this tree alone.
        noise_sd: of one count.
        splits: how many nodes are split.
        leaves: how many leaves are asked for.
        other_leaves: how many more no target row can reach; they are asked for as one.
        empty_leaves: how many of those asked for have no public row; they get noise all the same.
        depth: splits above a leaf, over leaves.
        columns_per_path: columns that decide the leaf of a target row (a public one without a target), on average.
        public_rows: public rows per leaf.
        expected_rows: confidential rows per leaf, if they lie as the rows of ``expected_from`` do: the public table,
            or the target when that has the confidential table's own rows, or when most of its rows are in leaves
            without a public one (a year that the public table does not have).
        target_rows: target rows per leaf.
        se: standard error that noise gives a label's share in the leaf of a target row: median.
        least_rows: how many rows a leaf needs for the wanted interval; None when no size is enough.
        below: share of leaves expected to have fewer.
        rows_below: share of target rows in such leaves.
    """

    labels: tuple[str, ...]
    epsilon: float
    noise_sd: float
    splits: int
    leaves: int
    other_leaves: int
    empty_leaves: int | None
    depth: tuple[float, ...]
    columns_per_path: float | None
    public_rows: tuple[float, ...] | None
    expected_rows: tuple[float, ...] | None
    expected_from: str
    target_rows: tuple[float, ...] | None
    se: float | None
    least_rows: int | None
    below: float | None
    rows_below: float | None

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def tree_report(
    asked: PricedQuestion, public: PublicData, *, rows: int | None, wanted: Wanted, own: bool = False
) -> TreeReport:
    """The report of one question that has a tree; ``own``: the target has the confidential table's own rows."""
    question, tree = asked.question, asked.question.tree
    assert tree is not None
    here, there = _per_leaf(tree, public.relative), _target_per_leaf(tree, public)
    reached = np.ones(tree.leaves, np.bool_) if there is None else there > 0
    depth, masks = _paths(tree)
    like, source = _alike(here, there, own=own)
    size = public.target.rows if own and public.target else rows
    expected = None if like is None or not size else like * (size / max(like.sum(), 1))
    need, variance = _least(1 / float(asked.noise.scale), wanted), law_of(asked.noise).variance
    weights = there if there is not None else here
    small = None if expected is None or need is None else expected < need
    return TreeReport(
        labels=question.columns or (question.only,),
        epsilon=float(asked.cost),
        noise_sd=sqrt(variance),
        splits=len(tree.arrays[0]),
        leaves=tree.leaves,
        other_leaves=max(int((tree.arrays[2] < 0).sum()) - int(reached.sum()), 0),
        empty_leaves=None if here is None else int((here[reached] == 0).sum()),
        depth=_spread(depth[reached]),
        columns_per_path=None if weights is None else float(np.average(masks, weights=weights + 1e-12)),
        public_rows=None if here is None else _spread(here[reached]),
        expected_rows=None if expected is None else _spread(expected[reached]),
        expected_from=source,
        target_rows=None if there is None else _spread(there[reached]),
        se=None if expected is None or weights is None else _typical_se(expected, weights, variance),
        least_rows=need,
        below=None if small is None else float(small[reached].mean()),
        rows_below=None if small is None or there is None else float(there[small].sum() / max(there.sum(), 1)),
    )


def is_banded(tree: Tree) -> bool:
    """Whether leaves are bands of a sum, each reached from several splits: then depth and size say nothing.

    A tree that was drawn or grown has at most one such leaf: the one of all that no target row can reach.
    """
    look, first, child = tree.arrays
    owner = np.repeat(np.arange(len(look)), np.diff(first, append=len(child)))
    pairs = np.unique(np.stack([child, owner])[:, child < 0], axis=1)
    return int((np.unique(pairs[0], return_counts=True)[1] > 1).sum()) > 1


def _per_leaf(tree: Tree, table: CodedTable | None) -> npt.NDArray[np.float64] | None:
    """How many rows of a table are in each leaf; None when it lacks a column that the tree looks at."""
    if table is None or not set(table.schema.coding.needs(tree.columns)) <= set(table.frame.columns):
        return None
    return np.bincount(leaf_of(tree, table.codes(tree.columns)), minlength=tree.leaves).astype(np.float64)


def _target_per_leaf(tree: Tree, public: PublicData) -> npt.NDArray[np.float64] | None:
    """How many target rows are expected in each leaf: labels they do not have yet come as in the public table."""
    target, schema = public.target, public.schema
    if target is None:
        return None
    drawn = [c for c in tree.columns if not set(schema.coding.needs([c])) <= set(target.frame.columns)]
    if not drawn:
        return _per_leaf(tree, target)
    codes = target.codes([c for c in tree.columns if c not in drawn])
    total = np.zeros(tree.leaves)
    for cell, share in _mix(public, drawn):
        held = {c: np.full(target.rows, code, np.uint16) for c, code in zip(drawn, cell, strict=True)}
        total += share * np.bincount(leaf_of(tree, {**codes, **held}), minlength=tree.leaves)
    return total


def _mix(public: PublicData, names: list[str]) -> list[tuple[tuple[int, ...], float]]:
    """Every combination of these columns and its share of the public rows; equal shares when it lacks them."""
    shape = public.schema.shape(names)
    counts, relative = np.ones(shape), public.relative
    if relative is not None and set(public.schema.coding.needs(names)) <= set(relative.frame.columns):
        codes = relative.codes(names)
        np.add.at(counts, tuple(codes[n] for n in names), 1)
    shares = counts / counts.sum()
    return [(cell, float(shares[cell])) for cell in np.ndindex(*shape)]


def _alike(
    here: npt.NDArray[np.float64] | None, there: npt.NDArray[np.float64] | None, *, own: bool
) -> tuple[npt.NDArray[np.float64] | None, str]:
    """Which table the confidential rows are taken to lie like, row counts per leaf, and its name."""
    if there is not None and (own or here is None or 2 * there[here == 0].sum() > there.sum()):
        return there, "target"
    return here, "public"


def _paths(tree: Tree) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """How many splits, and how many different columns, lie above each leaf; of several places the last."""
    look, first, child = tree.arrays
    if not len(look):
        return np.zeros(1, np.int64), np.zeros(1)
    owner = np.repeat(np.arange(len(look)), np.diff(first, append=len(child)))
    above = np.full(len(look), -1)
    above[child[child >= 0]] = owner[child >= 0]
    seen = np.zeros((len(look), len(tree.columns)), np.bool_)
    depth = np.zeros(len(look), np.int64)
    level = np.zeros(1, np.int64)
    while len(level):
        seen[level, look[level]] = True
        after = np.flatnonzero(np.isin(above, level))
        seen[after] |= seen[above[after]]
        depth[after] = depth[above[after]] + 1
        level = after
    ends, columns = np.zeros(tree.leaves, np.int64), np.zeros(tree.leaves)
    leaf, over = -1 - child[child < 0], owner[child < 0]
    ends[leaf], columns[leaf] = depth[over] + 1, seen[over].sum(axis=1)
    return ends, columns


def _least(epsilon: float, wanted: Wanted) -> int | None:
    """The rows a leaf needs for the wanted interval; None when no leaf of up to ten million has it."""
    try:
        held = min(max(epsilon, EPSILONS[0]), EPSILONS[1])
        return least_n(wanted.p, held, width=wanted.width, level=wanted.level, kind="symmetric")
    except JobError as wrong:
        if f"{MOST:,}" in str(wrong):
            return None
        raise


def _typical_se(expected: npt.NDArray[Any], weights: npt.NDArray[Any], variance: float) -> float:
    """The median over rows of the noise's standard deviation over the rows of their leaf; at most 1."""
    se = np.minimum(sqrt(variance) / np.maximum(expected, 1e-9), 1.0)
    order = np.argsort(se)
    half = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
    return float(se[order][min(int(half), len(se) - 1)])


def _spread(numbers: npt.NDArray[Any]) -> tuple[float, ...]:
    return tuple(float(q) for q in np.quantile(numbers, _QUANTILES)) if len(numbers) else ()
