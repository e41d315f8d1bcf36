"""Answers: what a recipe may ask, and who answers.

The gate, or one of these in its place: answers on record, then the gate's, kept as they come (runs, resumed runs,
later samples); a public table in the confidential one's place (rehearsals, experiments, plans, attacks).
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from hedgerow.counting import relabel
from hedgerow.counting.plan import CountPlan
from hedgerow.counting.relabel import LabelLaw, columns_of, relabelled
from hedgerow.errors import Refused
from hedgerow.public import (
    Budget,
    CareerCoding,
    CodedTable,
    Counts,
    Law,
    Marginal,
    Measurement,
    Spend,
    Statement,
    Tariff,
    Urn,
    asked_of,
    career_codes,
    career_time,
    law_of,
    people_facts,
    price_urn,
)


@runtime_checkable
class Measures(Protocol):
    """Who answers the two kinds of questions that every recipe may ask."""

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """The noisy counts of ``questions``."""

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The question whose estimate is furthest from the truth, chosen with noise."""


@runtime_checkable
class Answers(Measures, Protocol):
    """What a recipe may ask. Recorded answers, and a public stand-in, are among those who give them."""

    tariff: Tariff
    budget: Budget

    @property
    def left(self) -> Fraction:
        """What may still be spent, in the measure of the budget."""

    def measure_relabelled(
        self, questions: Sequence[Marginal], laws: Sequence[LabelLaw], cost: Fraction
    ) -> tuple[Measurement, ...]:
        """The noisy counts of ``questions`` over rows whose labels were drawn by ``laws`` first."""

    def draw_urn(self, question: Marginal, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
        """Synthetic counts of ``question``, drawn from urns: one table per copy."""


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


def digest_of(answers: "Answers") -> str | None:
    """A hash of all answers that are on record, with their prices; None of those that keep no record."""
    if not isinstance(answers, RecordedAnswers):
        return None
    found = hashlib.sha256()
    for reply in answers.record:
        found.update(f"{reply.spend.cost} {reply.chosen} {len(reply.measurements)}\0".encode())
        for m in reply.measurements:
            found.update(f"{m.question.columns} {m.noise} {m.counts.dtype} {m.counts.shape}\0".encode())
            found.update(np.ascontiguousarray(m.counts).tobytes())
    return found.hexdigest()


def quiet(phase: str) -> None:
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
    tell: Callable[[str], None] = quiet
    heard: list[Measurement] = field(default_factory=list, init=False)
    """What was answered so far, each question with its whole tree."""
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

        answers = _with_trees(self._answer(spend, ask).measurements, questions)
        self.heard += answers
        return answers

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
            facts=people_facts(self.tariff.coding),
            careers=career_time(self.tariff.coding),
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


@final
@dataclass
class NoisierAnswers:
    """The answers that ``known`` gives, with fresh noise of the same law on top; for replicates.

    They lie as far from the known answers, in law, as these lie from the truth.  A recipe whose questions depend on
    answers asks ``known``, and passes what it heard through ``noisier`` before it makes anything of it.
    """

    known: Answers
    rng: np.random.Generator
    tariff: Tariff = field(init=False)
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.tariff, self.budget = self.known.tariff, self.known.budget

    @property
    def left(self) -> Fraction:
        """What of the budget has not been used."""
        return self.known.left

    def noisier(self, m: Measurement) -> Measurement:
        """One answer with fresh noise on top."""
        return replace(m, counts=m.counts + law_of(m.noise).sample(self.rng, len(m.counts)))

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """Known counts, noisier."""
        return tuple(map(self.noisier, self.known.measure(questions, cost, weights=weights, law=law)))

    def measure_relabelled(
        self, questions: Sequence[Marginal], laws: Sequence[LabelLaw], cost: Fraction
    ) -> tuple[Measurement, ...]:
        """Known counts, noisier; what drawing labels added to them is not drawn again."""
        return tuple(map(self.noisier, self.known.measure_relabelled(questions, laws, cost)))

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The known choice."""
        return self.known.select(estimates, cost)

    def draw_urn(self, question: Marginal, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
        """Refused: a drawn table has no noise that could be drawn again without its true counts."""
        raise Refused(
            f"A table that was drawn from urns has no replicates: {question}. Its own copies, which the budget pays\n"
            "for, show how far drawing goes. Nothing confidential was read or spent."
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
        if isinstance(self.tariff.coding, CareerCoding):
            return tuple(self._of_careers(q, self.tariff.coding) for q in questions)
        plan = CountPlan(questions, self.tariff.coding)
        codes, rows = self.stand_in.codes(columns_of(laws, plan.columns)), self.stand_in.rows
        words = [self.rng.integers(0, 1 << 32, 2 * rows, np.uint32) for _ in laws]
        counted = plan.split(plan.count(relabelled(laws, codes, words)))
        return tuple(np.rint(c * (self.rows / self.stand_in.rows)).astype(np.int64) for c in counted)

    def _of_careers(self, question: Marginal, coding: CareerCoding) -> Counts:
        """The stand-in's people, or steps, in the cells of a question, scaled up."""
        names, promise = asked_of(question), self.tariff.guarantee
        part, most = coding.kind(names), coding.most(names, promise.rows_per_person)
        codes = career_codes(self.stand_in, coding, promise.person, part, most)
        counted = CountPlan([question], coding.only(part)).count(codes)
        return np.asarray(np.rint(counted * (self.rows / self.stand_in.rows)), np.int64)

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
