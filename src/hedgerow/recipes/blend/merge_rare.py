"""Rare categories as one: what a pair says of them together, shared out by the one-way tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.model.shrinkage import Floats, shrink


@final
@dataclass(frozen=True, eq=False)
class Merged:
    """The values of one column, the rare ones in one group.

    Attributes:
        group: the group of every value; each frequent value is a group of its own.
        part: what share of its group each value is.
    """

    group: npt.NDArray[np.intp]
    part: Floats

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.group.max()) + 1


def merged(margin: Floats, least: float) -> Merged:
    """The column with these one-way counts, values that count less than ``least`` in one group.

    >>> merged(np.array([50.0, 1.0, 3.0, 40.0]), 5.0).group.tolist()
    [0, 2, 2, 1]
    >>> merged(np.array([50.0, 1.0, 3.0, 40.0]), 5.0).part.tolist()
    [1.0, 0.25, 0.75, 1.0]
    """
    rare = margin < least
    group = np.where(rare, int((~rare).sum()), np.cumsum(~rare) - 1)
    sums = np.bincount(group, margin)[group]
    even = 1 / np.bincount(group)[group]
    return Merged(group, np.divide(margin, sums, out=even.astype(np.float64), where=sums > 0))


def shrunk_together(table: Floats, mean: Floats, noise: float, columns: Sequence[Merged]) -> Floats:
    """A noisy pair drawn towards ``mean`` with its rare values as one each, shared out by the one-way tables."""
    first, second = columns
    cell = (first.group[:, None] * second.size + second.group[None, :]).ravel()
    size = first.size * second.size
    count, expected = np.bincount(cell, minlength=size), np.bincount(cell, mean, size).astype(np.float64)
    drawn = shrink(np.bincount(cell, table, size), expected, noise * np.maximum(count, 1.0))
    return np.asarray(drawn[cell] * np.outer(first.part, second.part).ravel())
