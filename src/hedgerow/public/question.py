"""Questions that may be put to a table, and the noisy answers that come back.

Both are public: a question is decided from public knowledge or from earlier answers, and an answer is
public by the time it exists.  A question is data, never code: the gate interprets it.

    >>> str(Marginal(("sex", "race"))), str(TOTAL)
    ('sex x race', 'total')
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Law = Literal["laplace", "gaussian", "urn"]


@dataclass(frozen=True, order=True)
class Marginal:
    """How many rows fall in each cell of the cross of ``columns``; no columns: how many rows in all."""

    columns: tuple[str, ...]

    def __str__(self) -> str:
        return " x ".join(self.columns) or "total"


TOTAL = Marginal(())
"""The number of rows. A question like any other: under add-remove it is never free."""


@dataclass(frozen=True)
class Noise:
    """The law of the noise on every cell of one answer.

    Attributes:
        law: ``laplace``: P(k) proportional to exp(-|k| / scale); ``gaussian``: to exp(-k^2 / (2 scale));
            ``urn``: nothing is added, the counts themselves are drawn (``public/urn.py``).
        scale: the Laplace scale, the variance parameter of the discrete Gaussian, or the urn's least prior weight.
    """

    law: Law
    scale: Fraction

    @property
    def variance(self) -> float:
        """The variance of the noise: exact for Laplace, an upper bound (tight above 1/2) for Gaussian, else NaN."""
        if self.law == "urn":
            return float("nan")
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

    question: Marginal
    counts: Counts
    noise: Noise

    @property
    def variance(self) -> float:
        """The variance of the noise on each cell."""
        return self.noise.variance
