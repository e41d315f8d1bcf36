"""Random decision trees (Fan, Wang, Yu and Ma 2003; the RDT papers): how one is drawn, and what filled ones give.

Every node draws its own attribute by lot and has one child for every label.  Several filled trees give a row the
mean of their shares, or of what the caller prefers; a leaf with few rows falls back on the split above it.

Built level by level: one sweep over the public rows that are in a split moves each to its child and counts it.
No sort, no recursion.  A node is split while at least ``n_b`` public rows are in it and depth is left.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.model.constants import RANDOM_TREES
from hedgerow.public import Codes, Tree

_CHUNK = 1024

Combine = Literal["mean", "pooled", "precision"]
Floats = npt.NDArray[np.float64]
Shares = npt.NDArray[np.float32]


def sketch_tree(
    code_rows: npt.NDArray[Any],
    columns: Mapping[str, int],
    weights: Sequence[float],
    *,
    n_b: int,
    depth: int,
    rng: np.random.Generator,
) -> Tree:
    """A random tree on public rows: ``code_rows`` has the codes of each of ``columns``, a mapping from name to size.

    It has no hash yet: ``number_reached`` and ``with_hash`` give it one.
    """
    sizes, weight = np.array(list(columns.values()), np.int64), np.array(weights, np.float64)
    wanted = int(sum(1 << a for a in np.flatnonzero(weight > 0).tolist()))
    rows = code_rows.shape[1]
    live, slot, moving = np.arange(rows, dtype=np.uint32), np.zeros(rows, np.uint32), rows
    looks, children, leaves, splits, slots = list[Any](), list[Any](), 0, 0, 0
    masks, child = np.zeros(1, np.int64), np.full(1, 0 if rows >= n_b and wanted else -1, np.int32)
    open_ones = np.zeros(int(child[0] == 0), np.int64)  # what the slots that become splits have used on their path
    for level in range(depth):
        if not len(open_ones):
            break
        masks, look = open_ones, np.empty(len(open_ones), np.int32)
        _choose(masks, weight, rng.random(len(masks)), look)  # one number a split: the same on every machine
        wide = sizes[look]
        first = np.cumsum(wide) - wide
        if slots + wide.sum() > RANDOM_TREES.most_slots:
            raise JobError(
                f"A random tree with n_B = {n_b} has more than {RANDOM_TREES.most_slots:,} nodes. "
                "Raise n_b, or lower depth.\nNo confidential row was read and nothing was spent."
            )
        count = np.zeros(int(wide.sum()), np.int32)
        moving = _advance(code_rows, look, first.astype(np.uint32), child, splits, live, slot, moving, count)
        splits += len(look)
        child, open_ones = np.empty(len(count), np.int32), np.empty(int((count >= n_b).sum()), np.int64)
        last = n_b if level + 1 < depth else np.iinfo(np.int64).max
        used = masks | (1 << look.astype(np.int64))
        opened, leaves = _split_or_end(count, used, wide, wanted, last, splits, leaves, child, open_ones)
        open_ones = open_ones[:opened]
        looks.append(look)
        children.append(child)
        slots += len(child)
    whole = np.concatenate(looks) if looks else np.zeros(0, np.int32)
    every = np.concatenate(children) if children else np.zeros(0, np.int32)
    wide = sizes[whole]
    return Tree(tuple(columns), max(leaves, 1), "", (whole, np.asarray(np.cumsum(wide) - wide, np.int32), every))


def with_hash(tree: Tree) -> Tree:
    """The tree under its hash, as a question needs it."""
    return Tree.of(tree.columns, tree.leaves, *tree.arrays)


def number_reached(tree: Tree, *tables: Mapping[str, Codes]) -> Tree:
    """The tree with those leaves numbered in which a row of ``tables`` falls; all others are one, the last.

    What is drawn for the others would never be looked at, so taking them together changes no law of what is drawn.
    """
    look, first, child = tree.arrays
    seen = np.zeros(tree.leaves, np.bool_)
    for codes in tables:
        _mark(seen, leaf_of(tree, codes))
    fresh = np.empty_like(child)
    return Tree.of(tree.columns, _renumber(seen, child, fresh), look, first, fresh)


def join_trees(column: str, trees: Sequence[Tree], size: int) -> Tree:
    """One tree whose root looks at ``column``: code c goes on in ``trees[c % len(trees)]``.

    A row falls in one leaf of one tree, so all of them together cost what one costs.
    """
    columns = trees[0].columns if column in trees[0].columns else (*trees[0].columns, column)
    looks, firsts, children, heads = [], [], [], []
    splits, slots, leaves = 1, size, 0
    for tree in trees:
        look, first, child = (a.astype(np.int64) for a in tree.arrays)
        heads.append(splits if len(look) else -1 - leaves)
        looks.append(look)
        firsts.append(first + slots)
        children.append(np.where(child < 0, child - leaves, child + splits))
        splits, slots, leaves = splits + len(look), slots + len(child), leaves + tree.leaves
    root = np.array([heads[c % len(trees)] for c in range(size)])
    arrays = (
        np.concatenate([[columns.index(column)], *looks]),
        np.concatenate([[0], *firsts]),
        np.concatenate([root, *children]),
    )
    return Tree(columns, leaves, "", tuple(np.asarray(a, np.int32) for a in arrays))


def parents(tree: Tree) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The split above each leaf, and above each split; -1 for the root, and for a leaf below several splits."""
    look, first, child = tree.arrays
    owner = np.repeat(np.arange(len(look)), np.diff(first, append=len(child)))
    of_leaf, of_split = np.full(tree.leaves, -1), np.full(len(look), -1)
    leaf, above = -1 - child[child < 0], owner[child < 0]
    of_leaf[leaf] = above
    of_leaf[leaf[of_leaf[leaf] != above]] = -1
    of_split[child[child >= 0]] = owner[child >= 0]
    return of_leaf, of_split


@compiled
def _choose(masks: Any, weight: Any, chance: Any, look: Any) -> None:
    """An attribute for every split, by weight among those not used on its path."""
    for i in range(len(masks)):
        total = 0.0
        for a in range(len(weight)):
            if not (masks[i] >> a) & 1:
                total += weight[a]
        left = chance[i] * total
        for a in range(len(weight)):
            if not (masks[i] >> a) & 1 and weight[a] > 0:
                look[i] = a
                left -= weight[a]
                if left < 0:
                    break


@compiled
def _advance(  # noqa: PLR0913  compiled: plain arrays only
    code_rows: Any, look: Any, first: Any, child: Any, base: int, live: Any, slot: Any, moving: int, count: Any
) -> Any:
    """Move the rows whose slot became a split to their child, and count them there; how many still move.

    ``live`` has the rows and ``slot`` where they stand.  A chunk is first thinned out, then moved: no step waits.
    """
    row, at, out = np.empty(_CHUNK, np.uint32), np.empty(_CHUNK, np.uint32), np.uint32(0)
    for low in range(0, moving, _CHUNK):
        k = np.uint32(0)
        for i in range(low, min(low + _CHUNK, moving)):
            split = child[slot[i]]
            row[k] = live[i]
            at[k] = np.uint32(split - base)
            k += np.uint32(split >= 0)
        for i in range(k):
            s = first[at[i]] + np.uint32(code_rows[np.uint32(look[at[i]]), row[i]])
            count[s] += 1
            live[out] = row[i]
            slot[out] = s
            out += np.uint32(1)
    return np.int64(out)


@compiled
def _split_or_end(  # noqa: PLR0913  compiled: plain arrays only
    count: Any, used: Any, wide: Any, wanted: int, n_b: int, splits: int, leaves: int, child: Any, open_ones: Any
) -> Any:
    """Every slot of a level becomes a split, if it has rows and attributes enough, or the next leaf."""
    s = opened = 0
    for i in range(len(used)):
        may = (used[i] & wanted) != wanted
        for _ in range(wide[i]):
            if may and count[s] >= n_b:
                open_ones[opened] = used[i]
                child[s] = splits + opened
                opened += 1
            else:
                leaves += 1
                child[s] = -leaves
            s += 1
    return opened, leaves


@compiled
def _mark(seen: Any, leaf: Any) -> None:
    for at in leaf:
        seen[np.uint32(at)] = True


@compiled
def _renumber(seen: Any, child: Any, fresh: Any) -> Any:
    """Leaves that were seen in order, the others all the last one; how many there are then."""
    number, size = np.empty(len(seen), np.int32), 0
    for i in range(len(seen)):
        number[i] = size
        size += seen[i]
    for i in range(len(child)):
        c = child[i]
        fresh[i] = c if c >= 0 else -1 - (number[-1 - c] if seen[-1 - c] else size)
    return size + (size < len(seen))


def leaf_counts(tree: Tree, noisy: Floats, least: float) -> Floats:
    """The counts that speak for each leaf: its own, or those of the nearest split above that has enough.

    A split has the sum of its leaves that the target reaches.  ``least`` is compared with noisy totals, so falling
    back reveals nothing; a leaf always has counts.
    """
    if not len(tree.arrays[0]) or least <= 0:
        return noisy
    of_leaf, of_split = parents(tree)
    out = noisy.copy()
    above = np.zeros((len(of_split), noisy.shape[1]))
    np.add.at(above, of_leaf[of_leaf >= 0], noisy[of_leaf >= 0])
    for s in range(len(of_split) - 1, 0, -1):
        above[of_split[s]] += above[s]
    at = of_leaf.copy()
    short = np.flatnonzero((noisy.sum(axis=1) < least) & (of_leaf >= 0))
    while len(short):
        out[short] = above[at[short]]
        short = short[(out[short].sum(axis=1) < least) & (of_split[at[short]] >= 0)]
        at[short] = of_split[at[short]]
    return out


def clip_to_shares(counts: npt.NDArray[Any]) -> Shares:
    """Counts cut at zero (the papers are silent on that) over their sum; equal shares where nothing is left."""
    out = np.array(counts, np.float32)
    _normalise(out)
    return out


def combine(
    rule: Combine, counts: Sequence[Floats], leaves: Sequence[npt.NDArray[Any]], variances: Sequence[float]
) -> Shares:
    """The shares of each row from the counts of the leaf it has in each tree.

    ``mean``: of the trees' shares (Jagannathan and others 2012). ``pooled``: of the summed counts. ``precision``: of
    shares weighted by 1 / (noise variance + spread between the trees), the spread estimated over all rows: the bias
    term without which the largest leaf, which is the least like the row, would decide.
    """
    rows, label_count = len(leaves[0]), counts[0].shape[1]
    total = np.zeros((rows, label_count), np.float32)
    if rule == "pooled":
        for c, leaf in zip(counts, leaves, strict=True):
            _add_leaf(total, c, leaf, np.ones(len(c)))
    else:
        shares = [clip_to_shares(c) for c in counts]
        for s, leaf in zip(shares, leaves, strict=True):
            _add_leaf(total, s, leaf, np.ones(len(s)))
        if rule == "precision":
            middle = np.asarray(total / len(counts), np.float32)
            total = np.zeros_like(middle)
            for s, leaf, c, v in zip(shares, leaves, counts, variances, strict=True):
                noise = v * label_count / np.maximum(c.sum(axis=1), 1.0) ** 2
                apart = _apart(s, leaf, middle) / max(len(leaf), 1) - (noise[leaf].mean() if len(leaf) else 0.0)
                _add_leaf(total, s, leaf, 1 / (noise + max(apart, RANDOM_TREES.spread_floor)))
    _normalise(total)
    return total


@compiled
def _add_leaf(total: Any, table: Any, leaf: Any, weight: Any) -> None:
    """Add to each row the line of its leaf, times the leaf's weight."""
    for r in range(len(leaf)):
        at = np.uint32(leaf[r])
        for k in range(total.shape[1]):
            total[r, k] += table[at, k] * weight[at]


@compiled
def _apart(table: Any, leaf: Any, middle: Any) -> Any:
    """The summed squared distance of the rows' code_rows from ``middle``."""
    out = 0.0
    for r in range(len(leaf)):
        at = np.uint32(leaf[r])
        for k in range(middle.shape[1]):
            out += (table[at, k] - middle[r, k]) ** 2
    return out


@compiled
def _normalise(shares: Any) -> None:
    for r in range(shares.shape[0]):
        total = 0.0
        for k in range(shares.shape[1]):
            shares[r, k] = max(shares[r, k], np.float32(0))
            total += shares[r, k]
        for k in range(shares.shape[1]):
            shares[r, k] = shares[r, k] / total if total > 0 else 1 / shares.shape[1]
