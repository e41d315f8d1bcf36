"""Whole records from a tree of columns, fitted to two-way tables that the tree alone would miss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from hedgerow.model.base import AbstractModel, Expected
from hedgerow.model.descent import PairTargets, Records, descend
from hedgerow.model.junction import JunctionModel
from hedgerow.model.tree import TreeModel
from hedgerow.public.coding import Codes, Coding, code_type
from hedgerow.public.costs.question import Marginal

_SHOWN = 200_000  # the most records from which expected counts are worked out


@final
@dataclass(frozen=True, eq=False)
class BlendModel(AbstractModel):
    """Records drawn from ``tree``, then moved until their pairs count what ``targets`` say.

    Attributes:
        total: the estimated number of records.
        attributes: the names of the columns, in the order of the tree.
        coding: what the columns are made of, joined ones included.
        tree: where records start.
        targets: the two-way tables that were measured, denoised.
        sweeps: how often every record is looked at.
    """

    total: int
    attributes: tuple[str, ...]
    coding: Coding
    tree: TreeModel | JunctionModel
    targets: PairTargets
    sweeps: int = 4

    def expected(self, question: Marginal) -> Expected:
        """The counts of one draw with a fixed stream, scaled to ``total``."""
        return counts_of(self._shown, question, self.coding, self.total)

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records in random order."""
        fitted = descend(self.tree.draw(n, rng), self.targets, rng, sweeps=self.sweeps)
        return coded(rng.permutation(fitted), self.attributes, self.coding)

    @cached_property
    def _shown(self) -> dict[str, Codes]:
        drawn = dict(self.draw(min(max(self.total, 1000), _SHOWN), fixed_stream()))
        return with_parts(drawn, self.coding)


def fixed_stream() -> np.random.Generator:
    """The same random numbers every time: what a recipe asks next may depend on the answers alone."""
    return np.random.Generator(np.random.PCG64(0))


def counts_of(codes: Mapping[str, Codes], question: Marginal, coding: Coding, total: int) -> Expected:
    """The table of drawn records, scaled to ``total``."""
    flat = np.zeros(len(next(iter(codes.values()))), np.int64)
    for name in question.columns:
        flat = flat * coding.sizes[name] + codes[name].astype(np.int64)
    counts = np.bincount(flat, minlength=coding.cells(question.columns))
    return np.asarray(counts * (total / len(flat)))


def coded(records: Records, names: Sequence[str], coding: Coding) -> dict[str, Codes]:
    """Each column of ``records`` under its name, in the type of its codes."""
    return {n: records[:, i].astype(code_type(coding.sizes[n])) for i, n in enumerate(names)}


def with_parts(codes: Mapping[str, Codes], coding: Coding) -> dict[str, Codes]:
    """The codes, and those of the columns that a joined one is made of."""
    out = dict(codes)
    for join in coding.joined:
        if join.name in codes:
            first = np.zeros(join.size, np.int64)
            first[np.array(join.codes)[::-1]] = np.arange(len(join.codes))[::-1]
            for part, code in zip(join.parts, np.unravel_index(first[codes[join.name]], join.shape), strict=True):
                out[part] = code.astype(code_type(coding.sizes[part]))
    return out
