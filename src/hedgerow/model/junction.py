"""A tree of columns in which some have two parents: cliques of three along the tree, drawn in closed form.

The clique {a, b, c} stands where a - b - c is a path of the tree.  Two of its columns are linked already, so the
third is drawn given both: the model stays decomposable (a junction tree with cliques of at most three), and the
table of a clique is met exactly when it agrees with the tree on their common pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.model.tree import TreeModel, stratified

Floats = npt.NDArray[np.float64]
Triple = tuple[int, int, int]


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
                if other not in (child, parent) and linked and self._key(child, parent, other) in self.cliques:
                    found[child] = (parent, other)
                    break
        return list(found.items())

    def conditional(self, child: int, first: int, second: int) -> Floats:
        """The shares of ``child`` given both others, child last; the tree's where these are empty."""
        key = self._key(child, first, second)
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
            order = np.argsort(at, kind="stable")
            values, starts = np.unique(at[order], return_index=True)
            for value, low, high in zip(values, starts, [*starts[1:], n], strict=True):
                rows = order[low:high]
                records[rows, child] = stratified(shares[value], len(rows), rng)
        return records

    @staticmethod
    def _key(*columns: int) -> Triple:
        a, b, c = sorted(columns)
        return a, b, c


def paths(tree: TreeModel) -> list[Triple]:
    """Every path of three columns in the tree, as sorted triples."""
    near: dict[int, set[int]] = {}
    for a, b in tree.tables:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    found = {tuple(sorted((x, middle, y))) for middle, ends in near.items() for x, y in combinations(sorted(ends), 2)}
    return sorted((t[0], t[1], t[2]) for t in found)
