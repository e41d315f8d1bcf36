"""Recorded answers: a run is taken up again after a crash, or sampled later without the data.

A recipe is deterministic given its seed and the answers, so fitting it on the same answers repeats the first run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

from hedgerow.answers.protocol import Measures
from hedgerow.counting import relabel
from hedgerow.counting.relabel import LabelLaw
from hedgerow.errors import Refused
from hedgerow.public import Budget, Counts, Law, Marginal, Measurement, Spend, Statement, Tariff, Urn, price_urn

DrawUrn = Callable[[Marginal, Urn, Fraction], tuple[Measurement, ...]]
"""How the gate draws from urns."""
Relabel = Callable[[Sequence[Marginal], Sequence[LabelLaw], Fraction], tuple[Measurement, ...]]
"""How the gate counts rows whose labels are drawn first."""


@dataclass(frozen=True, eq=False)
class Reply:
    """What came back to one request: noisy tables, or the chosen question."""

    spend: Spend
    measurements: tuple[Measurement, ...] = ()
    chosen: Marginal | None = None


def _with_trees(answers: Sequence[Measurement], questions: Sequence[Marginal]) -> tuple[Measurement, ...]:
    """On record a tree is its hash alone; the question that was asked just now is equal and has the whole tree."""
    return tuple(replace(m, question=q) for m, q in zip(answers, questions, strict=True))


def _quiet(phase: str) -> None:
    """Nobody is watching."""


@final
@dataclass
class RecordedAnswers:
    """Answers requests from a record while it lasts, then from ``live``, keeping what comes back.

    Attributes:
        tariff: how requests are priced.
        budget: the promise.
        record: what has been answered so far; grows.
        live: who answers what is not on record; None when nobody may be asked.
        urns: how ``live`` draws from urns.
        relabel: how ``live`` counts rows whose labels are drawn first.
        keep: called with each new answer before anything is done with it, to save it.
        table: the steward's name of the confidential table.
        run: the run's name in the ledger.
        tell: told what is being done now, in words that follow from requests: they are public before they are asked.
    """

    tariff: Tariff
    budget: Budget
    record: list[Reply]
    live: Measures | None = None
    urns: DrawUrn | None = None
    relabel: Relabel | None = None
    keep: Callable[[Reply], None] | None = None
    table: str = ""
    run: str = ""
    tell: Callable[[str], None] = _quiet
    _position: int = field(default=0, init=False)

    @property
    def left(self) -> Fraction:
        """What the recipe may still spend: as at this point of the first run."""
        return self.budget.total - sum((a.spend.cost for a in self.record[: self._position]), Fraction(0))

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """The noisy counts: on record, or asked now and kept."""
        spend = self.tariff.measure_all(questions, cost, weights=weights, law=law)

        def ask(live: Measures) -> Reply:
            return Reply(spend, live.measure(questions, cost, weights=weights, law=law))

        return _with_trees(self._answer(spend, ask).measurements, questions)

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The chosen question: on record, or chosen now and kept."""
        spend = self.tariff.select_one(list(estimates), cost)

        def ask(live: Measures) -> Reply:
            return Reply(spend, chosen=live.select(estimates, cost))

        chosen = self._answer(spend, ask).chosen
        if chosen is None:
            raise Refused("The record holds no choice for this selection: it belongs to another request.")
        return chosen

    def measure_relabelled(
        self, questions: Sequence[Marginal], laws: Sequence[LabelLaw], cost: Fraction
    ) -> tuple[Measurement, ...]:
        """The noisy counts of relabelled rows: on record, or asked now and kept."""
        laws, spend = relabel.price(self.tariff, questions, laws, cost)

        def ask(live: Measures) -> Reply:
            if self.relabel is None:
                raise Refused(f"This gate relabels no rows: {spend}. Nobody was asked and nothing was spent.")
            return Reply(spend, self.relabel(questions, laws, cost))

        return _with_trees(self._answer(spend, ask).measurements, questions)

    def draw_urn(self, question: Marginal, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
        """The drawn tables: on record, or drawn now and kept."""
        spend = price_urn(self.tariff, question, urn, cost)

        def ask(live: Measures) -> Reply:
            if self.urns is None:
                raise Refused(f"This gate draws from no urn: {spend}. Nobody was asked and nothing was spent.")
            return Reply(spend, self.urns(question, urn, cost))

        return self._answer(spend, ask).measurements

    def statement(self, **more: Any) -> Statement:
        """What has been answered so far, as it is published; ``more`` are further fields of the statement."""
        return Statement(
            table=self.table,
            guarantee=self.tariff.guarantee,
            budget=self.budget,
            spends=tuple(a.spend for a in self.record),
            run=self.run,
            choices=tuple((i, a.chosen) for i, a in enumerate(self.record) if a.chosen is not None),
            **more,
        )

    def _answer(self, spend: Spend, ask: Callable[[Measures], Reply]) -> Reply:
        if self._position < len(self.record):
            known = self.record[self._position]
            if known.spend != spend:
                raise Refused(
                    f"The record answers another request ({known.spend}) than the one made now ({spend}).\n"
                    "The job, the schema or a public table has changed since. Restore them, or start a new run.\n"
                    "No confidential row was read and nothing was spent."
                )
        else:
            if self.live is None:
                raise Refused(f"There is no recorded answer to: {spend}. Nobody was asked and nothing was spent.")
            self.tell(f"request {self._position + 1}: counting {spend} behind the gate and adding noise")
            known = ask(self.live)
            if self.keep is not None:
                self.keep(known)
            self.record.append(known)
            self.tell(f"request {self._position + 1} is answered and saved; working on what it says")
        self._position += 1
        return known
