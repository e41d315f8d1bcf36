"""Polya urns: synthetic counts whose drawing is itself the mechanism, and the most that lets one row tell.

In each group the urn holds, for every cell, its count y plus its prior weight a.  A ball is drawn, noted and
put back with one more of its cell, S times.  What was noted follows the Dirichlet-multinomial law of the
posterior predictive; the shares behind it exist nowhere.  With unequal ``odds`` pi the law is that of
independent gamma-Poisson counts given that they sum to S.

    >>> Urn(sizes=(3,), alphas=(1,), grain=1).ratio(1, 2, moves=True, crosses=False)
    Fraction(4, 1)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from hedgerow.errors import JobError

MOST_WORK = 4_000_000  # products of large whole numbers that unequal odds may take


@dataclass(frozen=True)
class Urn:
    """What the urns of one table hold besides the confidential counts. All of it is public."""

    sizes: tuple[int, ...]  # how many are drawn in each group (S); one number: in every group
    alphas: tuple[int, ...]  # the prior weight of each cell, in parts of ``grain``; one number: of every cell
    grain: int = 10**6  # weights are whole multiples of 1 / grain
    groups: int = 0  # the first so many columns of the table divide it into groups
    odds: tuple[int, ...] = ()  # of a table without groups: how pi compares from cell to cell; empty: all alike

    def check(self, groups: int, cells: int) -> None:
        """Refuse an urn that does not fit ``groups`` x ``cells``, or whose law or cost cannot be worked out."""
        sizes, alphas, n = self.sizes, self.alphas, groups * cells
        fits = len(sizes) in (1, groups) and len(alphas) in (1, n) and len(self.odds) in (0, n)
        whole = all(type(x) is int for x in (*sizes, *alphas, self.grain, *self.odds))
        if not (fits and whole and min(sizes) >= 0 and min(*alphas, self.grain, *self.odds) > 0):
            raise JobError(
                "An urn needs a size for each group and a prior weight above 0 for each cell, in whole numbers.\n"
                "No confidential row was read and nothing was spent."
            )
        if self.odds and (groups > 1 or min(alphas) < self.grain or n * sizes[0] ** 2 > MOST_WORK):
            raise JobError(
                "Unequal odds (pi) need one group, prior weights of 1 or more, and cells times size squared at most\n"
                f"{MOST_WORK:,}; elsewhere the true cost is unknown or takes too long. Take b proportional to the\n"
                "exposures, or a smaller size. No confidential row was read and nothing was spent."
            )
        weight = sum(alphas) * (n // len(alphas)) + self.grain * sum(sizes) * (groups // len(sizes))
        if weight >= 1 << 61:
            raise JobError(
                "The urn is too heavy for whole numbers of 64 bits: take a larger epsilon, a smaller size, fewer\n"
                "cells or a coarser grain. No confidential row was read and nothing was spent."
            )

    def ratio(self, groups: int, cells: int, *, moves: bool, crosses: bool) -> Fraction:
        """The most one row multiplies the chance of any outcome; exact when all groups are alike.

        A row more or less in a group, or of another cell (``moves``): 1 + S / min a.  ``crosses``: a row may
        also come from another group, which changes by 1 + S / sum a.  Unequal odds: see ``_shift`` and PROOFS.md.
        """
        leave, enter, each = Fraction(1), Fraction(1), len(self.alphas) > 1
        for g in range(groups if each or len(self.sizes) > 1 else 1):
            own = self.alphas[g * cells : (g + 1) * cells] if each else self.alphas
            size = self.sizes[g % len(self.sizes)] * self.grain
            leave = max(leave, 1 + Fraction(size, min(own)))
            enter = max(enter, 1 + Fraction(size, sum(own) * (cells // len(own))))
        if self.odds:
            return leave * self._shift(cells, moves) if moves else max(leave, self._shift(cells, moves))
        return leave * enter if crosses and groups > 1 else leave

    def _shift(self, cells: int, moves: bool) -> Fraction:
        """The most one row changes the chance that the sum is S: it goes to the largest pi, from the smallest."""
        low, high = (f(range(cells), key=self.odds.__getitem__) for f in (min, max))
        before = list(self.alphas * (cells // len(self.alphas)))
        after = before.copy()
        before[low] += self.grain * moves
        after[high] += self.grain
        return Fraction(self.sums(after)[-1][-1], self.sums(before)[-1][-1])

    def sums(self, weights: Sequence[int]) -> list[list[int]]:
        """For the first 1, 2, ... cells: s! times the chance that they sum to s = 0 to S, up to a common factor^s."""
        made = list[list[int]]()
        for i in range(len(weights)):
            one = self.rising(weights, i)
            made.append(one if not made else [_add(made[-1], one, s) for s in range(len(one))])
        return made

    def rising(self, weights: Sequence[int], cell: int) -> list[int]:
        """z! times the chance that a cell counts z = 0 to S, up to a common factor^z: w (w + grain) ... odds^z."""
        made = [1]
        for z in range(self.sizes[0]):
            made.append(made[-1] * (weights[cell] + z * self.grain) * self.odds[cell])
        return made


def _add(one: Sequence[int], two: Sequence[int], s: int) -> int:
    return sum(comb(s, z) * one[z] * two[s - z] for z in range(s + 1))
