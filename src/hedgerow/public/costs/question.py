"""Questions to a table, from public knowledge or from earlier answers, and noisy answers: both public, data, no code.

>>> str(Marginal(("sex", "race"))), str(TOTAL)
('sex x race', 'total')
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Law = Literal["laplace", "gaussian", "urn"]
Shares = Sequence[Fraction] | None  # how a cost is divided among questions: equally when None


@dataclass(frozen=True)
class Tree:
    """A tree over coded columns, decided from public knowledge: every row of any table falls in one of its leaves.

    Split s looks at column ``look[s]`` of ``columns``; code c leads to ``child[first[s] + c]``: a later split, or x
    below 0, which is leaf -1 - x.  Without splits all is leaf 0.  One read back from a release is its hash alone.
    """

    columns: tuple[str, ...]
    leaves: int
    sha256: str
    arrays: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, columns: tuple[str, ...], leaves: int, *arrays: Any) -> "Tree":
        """The tree of ``look``, ``first`` and ``child``, copied as whole numbers of 32 bits."""
        held = tuple(np.array(a, np.int32) for a in arrays)
        whole = repr((columns, leaves, *map(len, held))).encode() + b"".join(a.tobytes() for a in held)
        return cls(columns, leaves, hashlib.sha256(whole).hexdigest(), held)


@dataclass(frozen=True)
class Marginal:
    """How many rows fall in each cell of the cross of ``columns``; no columns: how many rows in all.

    With a ``tree`` the cross is taken in each of its leaves, leaf by leaf.  With ``only``, a column, rows count only
    if their code there is 0.  In any case one row adds one to at most one cell.
    """

    columns: tuple[str, ...]
    tree: Tree | None = None
    only: str = ""

    @property
    def leaves(self) -> int:
        """In how many leaves the cross is taken."""
        return self.tree.leaves if self.tree else 1

    def __str__(self) -> str:
        leaves = f"{self.leaves:,} lea{'f' if self.leaves == 1 else 'ves'}" * bool(self.tree)
        leaves += f" of {', '.join(self.tree.columns)}" if self.tree and not (self.columns or self.only) else ""
        return " x ".join(filter(None, (leaves, *self.columns, f"first {self.only}" * bool(self.only)))) or "total"


TOTAL = Marginal(())  # the number of rows, a question like any other: under add-remove it is never free


@dataclass(frozen=True)
class Noise:
    """The law of the noise on every cell of one answer, by name; its mathematics: ``noise_laws.py``."""

    law: Law  # laplace: P(k) proportional to exp(-|k| / scale); gaussian: to exp(-k^2 / (2 scale)); or costs/urn.py
    scale: Fraction  # of Laplace; the variance parameter of the discrete Gaussian; an urn's least weight. Exact.


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy answer: whole numbers, possibly negative, not consistent with other answers."""

    question: Marginal  # what was asked
    counts: Counts  # the noisy count of every cell, flat, last column fastest
    noise: Noise  # the law of what was added
