"""Trees whose splits are drawn by lot: every node its own attribute, one child for every label.

Built level by level: one sweep over the public rows that are in a split moves each to its child and counts it.
No sort, no recursion.  A node is split while at least ``n_b`` public rows are in it and depth is left.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.public.coding import Codes
from hedgerow.public.costs.question import Tree

_MOST_SLOTS = 1 << 27
_CHUNK = 1024


def sketch_tree(
    lines: npt.NDArray[Any],
    columns: Mapping[str, int],
    weights: Sequence[float],
    *,
    n_b: int,
    depth: int,
    rng: np.random.Generator,
) -> Tree:
    """A random tree on public rows: ``lines`` has the codes of each of ``columns``, a mapping from name to size.

    It has no hash yet: ``reached`` and ``named`` give it one.
    """
    sizes, weight = np.array(list(columns.values()), np.int64), np.array(weights, np.float64)
    wanted = int(sum(1 << a for a in np.flatnonzero(weight > 0).tolist()))
    rows = lines.shape[1]
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
        if slots + wide.sum() > _MOST_SLOTS:
            raise JobError(
                f"A random tree with n_B = {n_b} has more than {_MOST_SLOTS:,} nodes. Raise n_b, or lower depth.\n"
                "No confidential row was read and nothing was spent."
            )
        count = np.zeros(int(wide.sum()), np.int32)
        moving = _advance(lines, look, first.astype(np.uint32), child, splits, live, slot, moving, count)
        splits += len(look)
        child, open_ones = np.empty(len(count), np.int32), np.empty(int((count >= n_b).sum()), np.int64)
        last = n_b if level + 1 < depth else np.iinfo(np.int64).max
        used = masks | (1 << look.astype(np.int64))
        opened, leaves = _settle(count, used, wide, wanted, last, splits, leaves, child, open_ones)
        open_ones = open_ones[:opened]
        looks.append(look)
        children.append(child)
        slots += len(child)
    whole = np.concatenate(looks) if looks else np.zeros(0, np.int32)
    every = np.concatenate(children) if children else np.zeros(0, np.int32)
    wide = sizes[whole]
    return Tree(tuple(columns), max(leaves, 1), "", (whole, np.asarray(np.cumsum(wide) - wide, np.int32), every))


def named(tree: Tree) -> Tree:
    """The tree under its hash, as a question needs it."""
    return Tree.of(tree.columns, tree.leaves, *tree.arrays)


def reached(tree: Tree, *tables: Mapping[str, Codes]) -> Tree:
    """The tree with those leaves numbered in which a row of ``tables`` falls; all others are one, the last.

    What is drawn for the others would never be looked at, so taking them together changes no law of what is drawn.
    """
    look, first, child = tree.arrays
    seen = np.zeros(tree.leaves, np.bool_)
    for codes in tables:
        _mark(seen, leaf_of(tree, codes))
    fresh = np.empty_like(child)
    return Tree.of(tree.columns, _renumber(seen, child, fresh), look, first, fresh)


def joined(column: str, trees: Sequence[Tree], size: int) -> Tree:
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
    lines: Any, look: Any, first: Any, child: Any, base: int, live: Any, slot: Any, moving: int, count: Any
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
            s = first[at[i]] + np.uint32(lines[np.uint32(look[at[i]]), row[i]])
            count[s] += 1
            live[out] = row[i]
            slot[out] = s
            out += np.uint32(1)
    return np.int64(out)


@compiled
def _settle(  # noqa: PLR0913  compiled: plain arrays only
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
