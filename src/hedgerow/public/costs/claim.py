"""A claim about one coefficient of a linear model, as plain data, and whether given counts bear it out.

All columns are coded, so the sums of products that least squares needs follow from the counts of pairs of columns.
Design columns are whole numbers, so the sums are exact in any order of rows; what follows is plain operations in a
fixed order, never a library routine.  So ``holds`` is a function of the counts: equal counts, equal answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.public.coding import Coding
from hedgerow.public.costs.accounting import Guarantee, noise_for
from hedgerow.public.costs.question import Counts, Marginal
from hedgerow.public.costs.spend import PricedQuestion, Spend, Tariff

Floats = npt.NDArray[np.float64]
_ALIASED = 1e-9  # of a column's own sum of squares: less is left when the others already say all that it says


@final
@dataclass(frozen=True, eq=False)
class Claim:
    """That a coefficient lies between ``low`` and ``high``.

    Attributes:
        text: the claim as it was written, with its model.
        columns: the columns of the model; the response is the last.
        designs: for every column a whole number for each code (down) and design column (across).
        usable: for every column the codes that have a number; rows with another are left out.
        places: for every column where its design columns stand among all: the ``interest`` first ones are of
            interest, ``which`` is that of the coefficient that is claimed; the response is last.
        scale: what turns the coefficient of the whole numbers into that of the model.
        low, high: the claim's bounds, not included.
    """

    text: str
    columns: tuple[str, ...]
    designs: tuple[Counts, ...]
    usable: tuple[npt.NDArray[np.bool_], ...]
    places: tuple[Counts, ...]
    interest: int
    which: int
    scale: float
    low: float
    high: float

    @property
    def questions(self) -> tuple[Marginal, ...]:
        """The pairs of columns whose counts decide the claim, and the response alone."""
        return (*map(Marginal, combinations(self.columns, 2)), Marginal(self.columns[-1:]))

    def coefficient(self, counts: Sequence[Counts]) -> float:
        """The claimed coefficient, from the counts of ``questions``; NaN when they do not determine it."""
        size = sum(len(p) for p in self.places)
        sums = np.zeros((size, size), np.int64)
        alone: dict[int, Counts] = {len(self.designs) - 1: counts[-1]}
        for (a, b), table in zip(combinations(range(len(self.columns)), 2), counts, strict=False):
            cells = table.reshape(len(self.designs[a]), -1)
            alone.setdefault(a, cells.sum(axis=1))
            block = self.designs[a].T @ (cells @ self.designs[b])
            sums[np.ix_(self.places[a], self.places[b])] = block
            sums[np.ix_(self.places[b], self.places[a])] = block.T
        for a, n in alone.items():
            sums[np.ix_(self.places[a], self.places[a])] = self.designs[a].T @ (n[:, None] * self.designs[a])
        return float(fit_sums(sums.astype(np.float64), self.interest)[self.which]) * self.scale

    def holds(self, counts: Sequence[Counts]) -> bool:
        """Whether the coefficient is determined and lies where it is claimed to lie."""
        return self.low < self.coefficient(counts) < self.high

    def price(self, tariff: Tariff, parts: int, cost: Fraction) -> Spend:
        """A noisy count of the parts that agree: one unit is in one part, so it moves the count by at most one."""
        if type(cost) is not Fraction or cost <= 0 or type(parts) is not int or not 2 <= parts <= 10_000:
            raise JobError(f"A check needs a cost above 0 and 2 to 10,000 parts; got {parts}. Nothing was spent.")
        if tariff.guarantee.count:
            said = "A check deals records out into parts; a line that stands for several (count) is in one only."
            raise JobError(f"{said}\nWrite one line per record and leave count out. Nothing was read or spent.")
        noise = noise_for(cost, None, tariff.measure, Guarantee())  # sensitivity 1, under every relation
        question = Marginal((f"parts of {parts} in which {self.text}",))
        return Spend("measure", (PricedQuestion(question, 1, noise, cost),), cost)


def plain(claim: Claim, coding: Coding) -> Claim:
    """The claim in copies of the plainest types, checked to fit: no code of its maker runs while rows are in hand."""
    kinds = (claim.designs, np.int64), (claim.usable, np.bool_), (claim.places, np.int64)
    arrays: Any = (tuple(np.array(x, kind) for x in held) for held, kind in kinds)
    numbers: Any = *map(int, (claim.interest, claim.which)), *map(float, (claim.scale, claim.low, claim.high))
    made = Claim(claim.text, tuple(claim.columns), *arrays, *numbers)
    every, columns = sorted(p for places in made.places for p in places.tolist()), made.columns
    sizes = [(coding.cells((c,)), len(p)) for c, p in zip(columns, made.places, strict=True)]
    fits = sizes == [d.shape for d in made.designs] and [s[:1] for s in sizes] == [u.shape for u in made.usable]
    fits = fits and every == [*range(len(every))] and 0 <= made.which < made.interest < len(every) - 1
    fits = fits and all(np.abs(d).max(initial=0) <= 1 << 18 for d in made.designs)  # sums of 2^27 rows stay exact
    if not fits or type(claim) is not Claim or {type(x) for x in (made.text, *columns)} != {str}:
        raise JobError("This is no claim about columns of the table. No row was read and nothing was spent.")
    return made


def fit_sums(products: Floats, interest: int) -> Floats:
    """Least squares from sums of products, the response's last: the first ``interest`` coefficients.

    NaN if undetermined: columns of no interest come first, and of two that say the same the second is given up.
    """
    p, left, held = len(products) - 1, np.array(products, np.float64), list[int]()
    for k in (*range(interest, p), *range(interest)):
        pivot = left[k, k]
        if pivot > _ALIASED * products[k, k]:
            held.append(k)
            row, column = left[k] / pivot, left[:, k].copy()  # sweep: row k then holds what column k is worth to all
            left -= column[:, None] * row[None, :]
            left[k], left[:, k], left[k, k] = row, -column / pivot, 1 / pivot
    coefficients = np.full(interest, np.nan)
    known = [k for k in held if k < interest]
    coefficients[known] = left[known, p]
    return coefficients
