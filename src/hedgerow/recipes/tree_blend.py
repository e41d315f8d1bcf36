"""``tree_blend``: whole records without a public relative."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, final

from hedgerow.errors import JobError
from hedgerow.model.blend import BlendModel
from hedgerow.model.descent import MOST
from hedgerow.public.accounting import Budget
from hedgerow.public.coding import Coding
from hedgerow.public.question import Marginal
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData
from hedgerow.recipes.evidence import Evidence, outer
from hedgerow.recipes.memory import pair_records_memory
from hedgerow.recipes.pairs import Price, shares_by_gain, worth_measuring


@final
@dataclass(frozen=True)
class TreeBlend(AbstractRecipe):
    """One-way tables, the pairs worth their noise, a second look where it helps most; records by descent.

    Attributes:
        rows: the number of records when it is public; otherwise the noisy tables tell.
        one_way_share: the part of the budget for one-way tables.
        first_share: the part for the first look at pairs; the rest goes where it lowers the error most.
        bearable: a pair is measured when its noise is expected to move less than this share of the rows.
        one_way_worth: how much of an error in a one-way table shows in each pair of its column.
    """

    name: ClassVar[str] = "tree_blend"
    rows: int | None = None
    one_way_share: float = 0.10
    first_share: float = 0.25
    bearable: float = 0.5
    one_way_worth: float = 0.5

    def __post_init__(self) -> None:
        shares = (self.one_way_share, self.first_share)
        if min(shares) <= 0 or sum(shares) >= 1 or self.bearable <= 0 or (self.rows is not None and self.rows < 1):
            raise JobError(
                "[tree_blend] one_way_share and first_share must be above 0 and together below 1; bearable above 0;\n"
                f"rows 1 or more. Got {shares}, {self.bearable}, {self.rows}. Nothing was read or spent."
            )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first request: one-way tables. What follows depends on the answers."""
        names = self._attributes(public)
        share = self._part(self.one_way_share) if len(names) > 1 else Fraction(1)
        weights = one_way_weights(tariff.coding, names)
        return (tariff.measure_all([Marginal((a,)) for a in names], budget.total * share, weights=weights),)

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, and the records that are fitted to them."""
        names = public.schema.attributes
        return pair_records_memory(public.schema, names, records=self.rows or rows)

    def fit(self, gate: Answers, public: PublicData) -> BlendModel:
        """Ask in up to three requests, and fit records to what came back."""
        names, coding, total = self._attributes(public), gate.tariff.coding, gate.budget.total
        first = self.requests(gate.tariff, gate.budget, public)[0]
        ones = gate.measure(
            [a.question for a in first.asked], first.cost, weights=[a.cost / first.cost for a in first.asked]
        )
        evidence = Evidence(names, coding, {(i,): [m] for i, m in enumerate(ones)}, self.rows, public.schema)
        price = Price(gate.tariff)
        cost = total * self._part(self.first_share)
        margins = evidence.margins()
        independent = {(i, j): outer(margins, i, j) for i, j in combinations(range(len(names)), 2)}
        chosen = worth_measuring(independent, price, float(cost), bearable=self.bearable)
        if not chosen:
            if gate.left > 0:
                again = gate.measure([m.question for m in ones], gate.left, weights=one_way_weights(coding, names))
                evidence = evidence.plus({(i,): m for i, m in enumerate(again)})
            return evidence.model()
        answers = gate.measure([evidence.question(p) for p in chosen], cost)
        evidence = evidence.plus(dict(zip(chosen, answers, strict=True)))
        return self._second_look(gate, evidence).model()

    def _second_look(self, gate: Answers, evidence: Evidence) -> Evidence:
        """What is left of the budget, spent where it lowers the predicted error of all pairs most.

        An error in a one-way table is an error in every pair of its column.
        """
        pairs = evidence.pairs()
        singles = [(i,) for i in range(len(evidence.names))]
        spread = [m**2 for m in evidence.margins()] + evidence.spread(pairs)
        noise = [v for _, v in evidence.noisy_margins()] + [evidence.pooled(p)[1] for p in pairs]
        worth = [self.one_way_worth * len(singles)] * len(singles) + [1.0] * len(pairs)
        shares = shares_by_gain(spread, noise, Price(gate.tariff), float(gate.left), worth=worth)
        weights = [Fraction(float(s)).limit_denominator(10**6) for s in shares]
        asked = [(k, w) for k, w in zip([*singles, *pairs], weights, strict=True) if w > 0]
        answers = gate.measure([evidence.question(k) for k, _ in asked], gate.left, weights=[w for _, w in asked])
        return evidence.plus({k: m for (k, _), m in zip(asked, answers, strict=True)})

    @staticmethod
    def _part(share: float) -> Fraction:
        return Fraction(str(share))

    @staticmethod
    def _attributes(public: PublicData) -> tuple[str, ...]:
        names = public.schema.attributes
        values = sum(public.schema.shape(names))
        if values > MOST:
            raise JobError(
                f"The attributes have {values:,} values together; tree_blend fits records to at most {MOST:,}.\n"
                "Give columns fewer bins or values in the schema. No confidential row was read, nothing was spent."
            )
        return names


def one_way_weights(coding: Coding, names: Sequence[str]) -> list[Fraction]:
    """Larger tables get more: with cells^(2/3) the summed error of all tables is least."""
    return [Fraction(round(1000 * coding.sizes[n] ** (2 / 3))) for n in names]
