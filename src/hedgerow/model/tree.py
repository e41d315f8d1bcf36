"""A tree of columns: each depends on its parent alone, so records are drawn column by column in closed form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]


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

    def order(self) -> list[tuple[int, int | None]]:
        """Every column once, parents before children: (column, parent or None)."""
        near: dict[int, list[int]] = {i: [] for i in range(len(self.margins))}
        for a, b in self.tables:
            near[a].append(b)
            near[b].append(a)
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
        near: dict[int, list[int]] = {}
        for a, b in self.tables:
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
        found, stack = {column: np.diag(self.margins[column])}, [column]
        while stack:
            at = stack.pop()
            for child in near.get(at, ()):
                if child not in found:
                    found[child] = found[at] @ self.conditional(child, at)
                    stack.append(child)
        return found

    def draw(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.uint16]:
        """``n`` records. Uniform numbers are stratified within each value of the parent, in random order.

        So each table of the tree is met almost exactly, and brothers remain independent given their parent.
        """
        records = np.zeros((n, len(self.margins)), np.uint16)
        for child, parent in self.order():
            if parent is None:
                records[:, child] = stratified(self.margins[child], n, rng)
                continue
            shares = self.conditional(child, parent)
            by_parent = np.argsort(records[:, parent], kind="stable")
            bounds = np.searchsorted(records[by_parent, parent], np.arange(len(shares) + 1))
            for value in range(len(shares)):
                rows = by_parent[bounds[value] : bounds[value + 1]]
                if len(rows):
                    records[rows, child] = stratified(shares[value], len(rows), rng)
        return records


def stratified(shares: Floats, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """``n`` values with these shares: one uniform number in each of n equal steps, in random order."""
    steps = np.cumsum(shares)
    at = (rng.permutation(n) + rng.random(n)) / n * steps[-1]
    last = int(np.flatnonzero(shares > 0)[-1])
    return np.asarray(np.minimum(np.searchsorted(steps, at, side="right"), last))
