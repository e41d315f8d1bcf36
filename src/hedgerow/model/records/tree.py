"""A tree of columns (Chow and Liu 1968): each depends on its parent alone, so records are drawn in closed form.

With cliques of three along the tree it is a junction tree: the clique {a, b, c} stands where a - b - c is a path.
Two of its columns are linked already, so the third is drawn given both: the model stays decomposable, and the table
of a clique is met exactly when it agrees with the tree on their common pair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.model.tables import Floats, Pair

Triple = tuple[int, int, int]


def spanning_forest(columns: int, strength: Mapping[Pair, float]) -> tuple[Pair, ...]:
    """The edges of the maximum spanning forest: the strongest pairs that close no circle.

    >>> spanning_forest(3, {(0, 1): 1.0, (0, 2): 3.0, (1, 2): 2.0})
    ((0, 2), (1, 2))
    """
    part = list(range(columns))
    edges = []
    for a, b in sorted(strength, key=lambda p: (-strength[p], p)):
        if part[a] != part[b]:
            old, new = part[b], part[a]
            part = [new if p == old else p for p in part]
            edges.append((a, b))
    return tuple(edges)


@final
@dataclass(frozen=True, eq=False)
class TreeModel:
    """Columns joined by the edges of a forest; given their parent, children are independent of each other.

    Attributes:
        margins: the shares of every column.
        tables: for each edge (a, b), the joint shares, shape (size of a, size of b).
    """

    margins: Sequence[Floats]
    tables: Mapping[Pair, Floats]

    @cached_property
    def neighbours(self) -> dict[int, list[int]]:
        """The columns that each column shares an edge with."""
        near: dict[int, list[int]] = {i: [] for i in range(len(self.margins))}
        for a, b in self.tables:
            near[a].append(b)
            near[b].append(a)
        return near

    def order(self) -> list[tuple[int, int | None]]:
        """Every column once, parents before children: (column, parent or None)."""
        near = self.neighbours
        found: dict[int, int | None] = {}
        for root in sorted(near, key=lambda i: -len(near[i])):
            stack: list[tuple[int, int | None]] = [] if root in found else [(root, None)]
            while stack:
                child, parent = stack.pop()
                found[child] = parent
                stack.extend((c, child) for c in near[child] if c not in found)
        return list(found.items())

    def conditional(self, child: int, parent: int) -> Floats:
        """The shares of ``child`` given each value of ``parent``; its own shares where the parent has none."""
        table = self.tables[parent, child] if (parent, child) in self.tables else self.tables[child, parent].T
        given = table + 1e-9 * self.margins[child]
        sums = given.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(given, sums, out=np.tile(self.margins[child], (len(given), 1)), where=sums > 0))

    def pairs_of(self, column: int) -> dict[int, Floats]:
        """The joint shares of ``column`` and every column it is linked with, however far: exact, no sampling."""
        found, stack = {column: np.diag(self.margins[column])}, [column]
        while stack:
            at = stack.pop()
            for child in self.neighbours[at]:
                if child not in found:
                    found[child] = found[at] @ self.conditional(child, at)
                    stack.append(child)
        return found

    def draw(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.uint16]:
        """``n`` records. Uniform numbers are stratified within each value of the parent, in random order.

        So each table of the tree is met almost exactly, and brothers remain independent given their parent.
        """
        return JunctionModel(self, {}).draw(n, rng)


def stratified(shares: Floats, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """``n`` values with these shares: one uniform number in each of n equal steps, in random order."""
    steps = np.cumsum(shares)
    at = (rng.permutation(n) + rng.random(n)) / n * steps[-1]
    last = int(np.flatnonzero(shares > 0)[-1])
    return np.asarray(np.minimum(np.searchsorted(steps, at, side="right"), last))


@final
@dataclass(frozen=True, eq=False)
class JunctionModel:
    """``tree``, with the tables of some paths of three columns; given its parents, a child knows nothing else.

    Attributes:
        tree: what links all columns.
        cliques: joint shares by the columns (a < b < c), shape of the three sizes.
    """

    tree: TreeModel
    cliques: Mapping[Triple, Floats]

    def parents(self) -> list[tuple[int, tuple[int, ...]]]:
        """Every column once with its parents: none, that of the tree, or two of a clique drawn before it."""
        found: dict[int, tuple[int, ...]] = {}
        for child, parent in self.tree.order():
            if parent is None:
                found[child] = ()
                continue
            found[child] = (parent,)
            for other in found:
                linked = other in found[parent] or parent in found.get(other, ())
                if other not in (child, parent) and linked and _triple(child, parent, other) in self.cliques:
                    found[child] = (parent, other)
                    break
        return list(found.items())

    def conditional(self, child: int, first: int, second: int) -> Floats:
        """The shares of ``child`` given both others, child last; the tree's where these are empty."""
        key = _triple(child, first, second)
        axes = [key.index(first), key.index(second), key.index(child)]
        table = self.cliques[key].transpose(axes)
        sums = table.sum(axis=2, keepdims=True)
        usual = np.broadcast_to(self.tree.conditional(child, first)[:, None, :], table.shape)
        return np.asarray(np.where(sums > 1e-12, table / np.maximum(sums, 1e-12), usual))

    def draw(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.uint16]:
        """``n`` records; uniform numbers are stratified within each combination of the parents."""
        margins = self.tree.margins
        records = np.zeros((n, len(margins)), np.uint16)
        for child, parents in self.parents():
            if not parents:
                records[:, child] = stratified(margins[child], n, rng)
                continue
            shares = self.tree.conditional(child, parents[0])
            at = records[:, parents[0]].astype(np.int64)
            if len(parents) == 2:
                shares = self.conditional(child, *parents)
                at = at * shares.shape[1] + records[:, parents[1]]
                shares = shares.reshape(-1, shares.shape[2])
            short = at.astype(np.uint16) if len(shares) <= 1 << 16 else at  # 16 bits are sorted by their digits
            order = np.argsort(short, kind="stable")
            sizes = np.bincount(at, minlength=len(shares))
            ends = np.cumsum(sizes)
            for value in np.flatnonzero(sizes).tolist():
                rows = order[ends[value] - sizes[value] : ends[value]]
                records[rows, child] = stratified(shares[value], len(rows), rng)
        return records


def paths(tree: TreeModel) -> list[Triple]:
    """Every path of three columns in the tree, as sorted triples."""
    near = tree.neighbours
    return sorted({_triple(x, middle, y) for middle in near for x, y in combinations(near[middle], 2)})


def _triple(*columns: int) -> Triple:
    a, b, c = sorted(columns)
    return a, b, c
