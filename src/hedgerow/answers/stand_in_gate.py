"""A public table in the confidential one's place: the same requests, the same noise laws, cost zero."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from hedgerow.counting import relabel
from hedgerow.counting.plan import CountPlan
from hedgerow.counting.relabel import LabelLaw, columns_of, relabelled
from hedgerow.public import (
    Budget,
    CodedTable,
    Counts,
    Law,
    Marginal,
    Measurement,
    Spend,
    Tariff,
    Urn,
    law_of,
    price_urn,
)


@final
@dataclass
class StandInGate:
    """Answers as the gate would if ``stand_in``, scaled up to ``rows`` rows, were the confidential table.

    The noise is ordinary seeded floating point: nothing is protected here, because nothing is confidential.

    Attributes:
        tariff: how requests are priced.
        budget: the promise.
        stand_in: the public rows that are counted: those that a gate would count (``person_cap``).
        rows: how many rows they stand for.
        rng: draws the noise.
    """

    tariff: Tariff
    budget: Budget
    stand_in: CodedTable
    rows: int
    rng: np.random.Generator
    _spent: Fraction = field(default=Fraction(0), init=False)

    @property
    def left(self) -> Fraction:
        """What of the budget has not been used."""
        return self.budget.total - self._spent

    def truth(self, questions: Sequence[Marginal], laws: Sequence[LabelLaw] = ()) -> tuple[Counts, ...]:
        """The stand-in's own counts, scaled up; with ``laws``, after labels were drawn."""
        plan = CountPlan(questions, self.tariff.coding)
        codes, rows = self.stand_in.codes(columns_of(laws, plan.columns)), self.stand_in.rows
        words = [self.rng.integers(0, 1 << 32, 2 * rows, np.uint32) for _ in laws]
        counted = plan.split(plan.count(relabelled(laws, codes, words)))
        return tuple(np.rint(c * (self.rows / self.stand_in.rows)).astype(np.int64) for c in counted)

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """The stand-in's counts with noise of the law and scale the gate would use."""
        spend = self.tariff.measure_all(questions, cost, weights=weights, law=law)
        return self._noisy(spend, self.truth(questions))

    def measure_relabelled(
        self, questions: Sequence[Marginal], laws: Sequence[LabelLaw], cost: Fraction
    ) -> tuple[Measurement, ...]:
        """The same of the stand-in's rows after labels were drawn."""
        laws, spend = relabel.price(self.tariff, questions, laws, cost)
        return self._noisy(spend, self.truth(questions, laws))

    def _noisy(self, spend: Spend, counts: Sequence[Counts]) -> tuple[Measurement, ...]:
        self._spent += spend.cost
        return tuple(
            Measurement(a.question, true + law_of(a.noise).sample(self.rng, a.cells), a.noise)
            for a, true in zip(spend.asked, counts, strict=True)
        )

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """A choice with the probabilities the gate would use."""
        spend = self.tariff.select_one(list(estimates), cost)
        self._spent += cost
        true = self.truth(list(estimates))
        far = [float(np.abs(t - e).sum()) for t, e in zip(true, estimates.values(), strict=True)]
        noisy = np.array(far) * float(spend.rate) + self.rng.gumbel(size=len(far))
        return list(estimates)[int(np.argmax(noisy))]

    def draw_urn(self, question: Marginal, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
        """Counts drawn by the law the gate would draw by, from the stand-in's own."""
        spend = price_urn(self.tariff, question, urn, cost)
        self._spent += cost
        (true,) = self.truth([question])
        groups = self.tariff.coding.cells(question.columns[: urn.groups])
        alphas = np.broadcast_to(np.array(urn.alphas, np.float64) / urn.grain, true.shape)
        sizes = np.broadcast_to(urn.sizes, groups)
        shares = [self.rng.dirichlet(weight) for weight in (true + alphas).reshape(groups, -1)]
        return tuple(
            Measurement(question, np.concatenate(list(map(self.rng.multinomial, sizes, shares))), a.noise)
            for a in spend.asked
        )
