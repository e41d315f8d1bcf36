"""Trees whose splits are drawn by lot: every node its own attribute, one child for every label.

Built level by level: one sweep over the public rows moves each row of a split node to its child and counts it.
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
from hedgerow.public.question import Tree

_MOST_NODES = 1 << 26


def draw_tree(
    lines: npt.NDArray[Any],
    columns: Mapping[str, int],
    weights: Sequence[float],
    *,
    n_b: int,
    depth: int,
    rng: np.random.Generator,
) -> Tree:
    """A random tree on public rows: ``lines`` has the codes of each of ``columns``, a mapping from name to size."""
    sizes, weight = np.array(list(columns.values()), np.int64), np.array(weights, np.float64)
    node, count = np.zeros(lines.shape[1], np.int32), np.array([lines.shape[1]], np.int64)
    look, base, used = np.full(1, -1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int64)
    low, high = 0, 1
    for _ in range(depth):
        chance = rng.random(high - low)  # one number for every node, split or not: the same on every machine
        ahead = _choose(look[low:], base[low:], used[low:], count[low:], sizes, weight, chance, n_b, high)
        if ahead == high:
            break
        if ahead > _MOST_NODES:
            raise JobError(
                f"A random tree with n_B = {n_b} has more than {_MOST_NODES:,} nodes. Raise n_b, or lower depth.\n"
                "No confidential row was read and nothing was spent."
            )
        look, base, used, count = (_longer(a, ahead, f) for a, f in ((look, -1), (base, 0), (used, 0), (count, 0)))
        _mark(look, base, used, sizes, low, high)
        _advance(lines, look, base, node, count)
        low, high = high, ahead
    return _as_tree(look, base, tuple(columns))


def _as_tree(look: Any, base: Any, columns: tuple[str, ...]) -> Tree:
    """Splits and leaves numbered apart: every node but the root stands in its parent's row of children."""
    split = look >= 0
    number = np.where(split, np.cumsum(split) - 1, -np.cumsum(~split))
    return Tree.of(columns, int((~split).sum()), look[split], base[split] - 1, number[1:])


def reached(tree: Tree, *tables: Mapping[str, Codes]) -> Tree:
    """The tree with only those leaves numbered in which a row of ``tables`` falls; all others are nowhere.

    What is drawn for the others would never be looked at, so leaving it out changes no law of what is published.
    """
    assert tree.arrays is not None
    look, first, child = tree.arrays
    seen = np.zeros(tree.leaves + 1, np.bool_)
    for codes in tables:
        seen[leaf_of(tree, codes)] = True
    seen[-1] = False
    number = np.where(seen, np.cumsum(seen) - 1, seen.sum()).astype(np.int32)
    if not len(look):
        return tree
    return Tree.of(tree.columns, int(seen.sum()), look, first, np.where(child < 0, -1 - number[-1 - child], child))


def joined(column: str, trees: Sequence[Tree], size: int) -> Tree:
    """One tree whose root looks at ``column``: code c goes on in ``trees[c % len(trees)]``.

    A row falls in one leaf of one tree, so all of them together cost what one costs.
    """
    columns = trees[0].columns if column in trees[0].columns else (*trees[0].columns, column)
    looks, firsts, children, heads = [], [], [], []
    splits, slots, leaves = 1, size, 0
    for tree in trees:
        assert tree.arrays is not None
        look, first, child = (a.astype(np.int64) for a in tree.arrays)
        heads.append(splits if len(look) else -1 - leaves)
        looks.append(look)
        firsts.append(first + slots)
        children.append(np.where(child < 0, child - leaves, child + splits))
        splits, slots, leaves = splits + len(look), slots + len(child), leaves + tree.leaves
    root = np.array([heads[c % len(trees)] for c in range(size)])
    return Tree.of(
        columns,
        leaves,
        np.concatenate([[columns.index(column)], *looks]),
        np.concatenate([[0], *firsts]),
        np.concatenate([root, *children]),
    )


def parents(tree: Tree, sizes: Sequence[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The split above each leaf, and above each split (-1 for the root)."""
    assert tree.arrays is not None
    look, _, child = tree.arrays
    owner = np.repeat(np.arange(len(look)), np.array([0, *sizes])[look + 1])
    of_leaf, of_split = np.full(tree.leaves + 1, -1), np.full(len(look), -1)
    of_leaf[-1 - child[child < 0]] = owner[child < 0]
    of_split[child[child >= 0]] = owner[child >= 0]
    return of_leaf[:-1], of_split


def _longer(a: Any, n: int, fill: int) -> Any:
    out = np.full(n, fill, a.dtype)
    out[: len(a)] = a
    return out


@compiled
def _choose(  # noqa: PLR0913  compiled: plain arrays only
    look: Any, base: Any, used: Any, count: Any, sizes: Any, weight: Any, chance: Any, n_b: int, ahead: int
) -> int:
    for i in range(len(chance)):
        if count[i] < n_b:
            continue
        total, last = 0.0, -1
        for a in range(len(sizes)):
            if not (used[i] >> a) & 1 and weight[a] > 0:
                total += weight[a]
                last = a
        if last < 0:
            continue
        left, pick = chance[i] * total, last
        for a in range(len(sizes)):
            if not (used[i] >> a) & 1 and weight[a] > 0:
                left -= weight[a]
                if left < 0:
                    pick = a
                    break
        look[i], base[i] = pick, ahead
        ahead += sizes[pick]
    return ahead


@compiled
def _mark(look: Any, base: Any, used: Any, sizes: Any, low: int, high: int) -> None:
    for i in range(low, high):
        if look[i] >= 0:
            for c in range(base[i], base[i] + sizes[look[i]]):
                used[c] = used[i] | (1 << look[i])


@compiled
def _advance(lines: Any, look: Any, base: Any, node: Any, count: Any) -> None:
    for r in range(lines.shape[1]):
        a = look[node[r]]
        if a >= 0:
            node[r] = base[node[r]] + lines[a, r]
            count[node[r]] += 1
