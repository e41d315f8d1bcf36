"""Questions that may be put to a table, and the noisy answers that come back.

Both are public: a question is decided from public knowledge or from earlier answers, and an answer is
public by the time it exists.  A question is data, never code: the gate interprets it.

    >>> str(Marginal(("sex", "race"))), str(TOTAL)
    ('sex x race', 'total')
"""

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Law = Literal["laplace", "gaussian"]


@dataclass(frozen=True, order=True)
class Marginal:
    """How many rows fall in each cell of the cross of ``columns``; no columns: how many rows in all."""

    columns: tuple[str, ...]
    leaves: ClassVar[int] = 1

    def __str__(self) -> str:
        return " x ".join(self.columns) or "total"


TOTAL = Marginal(())
"""The number of rows. A question like any other: under add-remove it is never free."""


@dataclass(frozen=True)
class Tree:
    """A tree over coded columns, decided from public knowledge: every row of any table falls in at most one leaf.

    Split s looks at column ``look[s]`` of ``columns``; code c leads to ``child[first[s] + c]``, which is a later
    split, or x below 0: the leaf -1 - x.  Leaf number ``leaves`` is nowhere: its rows are not counted.
    A tree is known by its hash; one read back from a release has no arrays and cannot be counted again.
    """

    columns: tuple[str, ...]
    leaves: int
    sha256: str
    arrays: tuple[Any, Any, Any] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, columns: tuple[str, ...], leaves: int, *arrays: Any) -> "Tree":
        """The tree of ``look``, ``first`` and ``child``, whole numbers of 32 bits."""
        held = [np.ascontiguousarray(a, np.int32) for a in arrays]
        name = hashlib.sha256(repr((columns, leaves, [len(a) for a in held])).encode())
        for a in held:
            a.setflags(write=False)
            name.update(a.tobytes())
        return cls(columns, leaves, name.hexdigest(), (held[0], held[1], held[2]))


@dataclass(frozen=True)
class Leaves:
    """How many rows fall in each leaf of ``tree`` and each cell of the cross of ``columns``, the labels."""

    tree: Tree
    columns: tuple[str, ...]

    @property
    def leaves(self) -> int:
        """How many leaves are counted."""
        return self.tree.leaves

    def __str__(self) -> str:
        return f"{self.leaves:,} leaves x {' x '.join(self.columns)}"


Question = Marginal | Leaves
"""Either way one row adds one to at most one cell; there are ``leaves`` times the cross of ``columns`` of them."""


@dataclass(frozen=True)
class Noise:
    """The law of the noise on every cell of one answer.

    Attributes:
        law: ``laplace``: P(k) proportional to exp(-|k| / scale); ``gaussian``: to exp(-k^2 / (2 scale)).
        scale: the Laplace scale, or the variance parameter of the discrete Gaussian. Exact.
    """

    law: Law
    scale: Fraction

    @property
    def variance(self) -> float:
        """The variance of the noise: exact for Laplace, an upper bound (tight above 1/2) for Gaussian."""
        if self.law == "gaussian":
            return float(self.scale)
        q = np.exp(-1 / float(self.scale))
        return float(2 * q / (1 - q) ** 2)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy answer: whole numbers, possibly negative, not consistent with other answers.

    Attributes:
        question: what was asked.
        counts: the noisy count of every cell, flat, last column fastest.
        noise: the law of what was added.
    """

    question: Question
    counts: Counts
    noise: Noise

    @property
    def variance(self) -> float:
        """The variance of the noise on each cell."""
        return self.noise.variance
