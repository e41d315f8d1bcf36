"""Polya urns: synthetic counts whose drawing is itself the mechanism, and the most that lets one row tell.

In each group the urn holds, for every cell, its count y plus its prior weight a.  A ball is drawn, noted and
put back with one more of its cell, S times.  What was noted follows the Dirichlet-multinomial law of the
posterior predictive; the shares behind it exist nowhere.  Further copies are further balls of the same urn.

    >>> Urn(sizes=(3,), alphas=(1,), grain=1).ratio(1, 2, crosses=False)
    Fraction(4, 1)
"""

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from hedgerow.errors import JobError, Refused
from hedgerow.public.costs.accounting import floor_sqrt
from hedgerow.public.costs.question import Marginal, Noise
from hedgerow.public.costs.spend import PricedQuestion, Spend, Tariff


@dataclass(frozen=True)
class Urn:
    """What the urns of one table hold besides the confidential counts. All of it is public."""

    sizes: tuple[int, ...]  # how many are drawn in each group for a copy (S); one number: in every group
    alphas: tuple[int, ...]  # the prior weight of each cell, in parts of ``grain``; one number: of every cell
    grain: int = 10**6  # weights are whole multiples of 1 / grain
    groups: int = 0  # the first so many columns of the table divide it into groups
    copies: int = 1  # how many synthetic tables are drawn, one after the other, from the same urns

    def check(self, groups: int, cells: int) -> None:
        """Refuse an urn that does not fit ``groups`` x ``cells``, or that 64 bits cannot hold."""
        sizes, alphas, n = self.sizes, self.alphas, groups * cells
        fits = len(sizes) in (1, groups) and len(alphas) in (1, n)
        whole = all(type(x) is int for x in (*sizes, *alphas, self.grain, self.copies))
        if not (fits and whole and min(sizes) >= 0 < min(*alphas, self.grain, self.copies) and self.grain <= 10**6):
            raise JobError(
                "An urn needs a size for each group and a prior weight above 0 for each cell, in whole numbers.\n"
                "No confidential row was read and nothing was spent."
            )
        balls = self.copies * sum(sizes) * (groups // len(sizes))
        if sum(alphas) * (n // len(alphas)) + self.grain * balls >= 1 << 61:
            raise JobError(
                "The urn is too heavy for whole numbers of 64 bits: take a larger epsilon, a smaller size, fewer\n"
                "cells or a coarser grain. No confidential row was read and nothing was spent."
            )

    def ratio(self, groups: int, cells: int, *, crosses: bool) -> Fraction:
        """The most one row multiplies the chance of any outcome; exact when all groups are alike.

        A row more or less, or of another cell of its group: 1 + S / min a, S being all balls of all copies.
        ``crosses``: the row may also come from another group, which changes by 1 + S / sum a.
        """
        leave, enter, each = Fraction(1), Fraction(1), len(self.alphas) > 1
        for g in range(groups if each or len(self.sizes) > 1 else 1):
            own = self.alphas[g * cells : (g + 1) * cells] if each else self.alphas
            size = self.copies * self.sizes[g % len(self.sizes)] * self.grain
            leave = max(leave, 1 + Fraction(size, min(own)))
            enter = max(enter, 1 + Fraction(size, sum(own) * (cells // len(own))))
        return leave * enter if crosses and groups > 1 else leave

    def dumps(self) -> str:
        """The urn as the detail of a request."""
        return json.dumps({"urn": asdict(self)}, sort_keys=True)

    @classmethod
    def loads(cls, detail: str) -> "Urn":
        """The urn of a request's detail; ``ValueError`` when it is none."""
        data = json.loads(detail)
        if not isinstance(data, dict) or not isinstance(fields := data.get("urn"), dict):
            raise ValueError("no urn")
        try:
            held: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            urn = cls(**held)
        except TypeError:
            raise ValueError("no urn") from None
        if urn.dumps() != detail:
            raise ValueError("no urn")
        return urn


def price_urn(tariff: Tariff, question: Marginal, urn: Urn, cost: Fraction) -> Spend:
    """The request to draw ``question`` from urns; ``cost`` must cover the most that one unit can tell.

    A unit is at most m rows, and each multiplies the chance of an outcome by ``Urn.ratio`` at most: m times
    its logarithm is the cost in epsilon, epsilon^2 / 2 in rho.  The comparison is in exact fractions.
    """
    fits = type(urn) is Urn and question.tree is None and type(urn.groups) is int
    if not (fits and type(cost) is Fraction and cost > 0 and 0 <= urn.groups < len(question.columns)):
        raise JobError("An urn needs a cost above 0 and a column that is no group. Nothing was read or spent.")
    by, within = question.columns[: urn.groups], question.columns[urn.groups :]
    groups, cells, _ = tariff.coding.cells(by), tariff.coding.cells(within), tariff.guarantee_of(question)
    urn.check(groups, cells)
    epsilon = row_epsilon(tariff, cost)
    if urn.ratio(groups, cells, crosses=rows_cross(tariff, by)) > exp_floor(epsilon):
        raise Refused(
            f"Drawing {question} from this urn tells more than epsilon = {float(epsilon):g} of one row. Give\n"
            "the cells more prior weight, or draw fewer. No confidential row was read and nothing was spent."
        )
    least = Noise("urn", Fraction(min(urn.alphas), urn.grain))
    one = PricedQuestion(question, groups * cells, least, cost / urn.copies)
    return Spend("draw", (one,) * urn.copies, cost, detail=urn.dumps())


def row_epsilon(tariff: Tariff, cost: Fraction) -> Fraction:
    """What one row of a unit may tell when the unit may cost ``cost``: a part of the epsilon it is worth."""
    return (cost if tariff.measure == "pure" else floor_sqrt(2 * cost)) / tariff.guarantee.rows_per_person


def rows_cross(tariff: Tariff, by: tuple[str, ...]) -> bool:
    """Whether a neighbour's row may stand in another group: when replaced, or if a private column decides it."""
    g, decide = tariff.guarantee, {*by, *tariff.coding.needs(by)}
    return g.relation == "replace-one" or (g.relation == "label-change" and not decide <= set(g.public_columns))


def exp_floor(x: Fraction, bits: int = 128) -> Fraction:
    """A lower bound of exp(x), x >= 0, in exact arithmetic: the series at x / 2^h cut off, then squared h times.

    >>> round(float(exp_floor(Fraction(5))), 6)
    148.413159
    """
    h = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 1)
    p, k = bits + 2 * h, 0
    total = term = 1 << p
    while term:
        k += 1
        term = term * x.numerator // (x.denominator * k << h)
        total += term
    for _ in range(h):
        total = total * total >> p
    return Fraction(total, 1 << p)
