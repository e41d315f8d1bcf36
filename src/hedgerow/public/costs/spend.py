"""A request at the gate, priced: what is asked, with which noise, at what cost. Decided before a row is read."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from hedgerow.errors import JobError
from hedgerow.public.coding import Coding
from hedgerow.public.costs.accounting import Guarantee, Measure, noise_for, priced, selection_rate
from hedgerow.public.costs.question import Law, Marginal, Noise, Shares


@dataclass(frozen=True)
class PricedQuestion:
    """One question of a request: its cells, the noise on each of them, and its part of the cost."""

    question: Marginal
    cells: int
    noise: Noise
    cost: Fraction


@dataclass(frozen=True)
class Spend:
    """One request. ``measure``: every question answered with noise; ``select``: one candidate chosen, at ``rate``.

    Any other verb is that of a further mechanism, whose public settings are its ``detail`` (JSON).
    """

    verb: str
    asked: tuple[PricedQuestion, ...]
    cost: Fraction
    candidates: tuple[Marginal, ...] = ()
    rate: Fraction = Fraction(0)
    detail: str = ""
    delta: Fraction = field(default=Fraction(0), repr=False)  # booked beside the cost, in the measure "basic"

    @property
    def digest(self) -> str:
        """A name for this request: the hash of what it asks."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def __str__(self) -> str:
        tables = [str(q) for q in (*(a.question for a in self.asked), *self.candidates)]
        many = f"{'one of ' * (self.verb == 'select')}{len(tables)} table{'s' * (len(tables) != 1)}"
        return f"{self.verb} {many}: {', '.join(tables[:3])}{', ...' * (len(tables) > 3)}"


@dataclass(frozen=True)
class Tariff:
    """Under what promise, and in what measure, requests on a coded table are priced."""

    coding: Coding
    guarantee: Guarantee
    measure: Measure
    delta: Fraction = Fraction(0)  # of the promise; only "basic" looks at it

    def measure_all(
        self, questions: Sequence[Marginal], cost: Fraction, *, weights: Shares = None, law: Law | None = None
    ) -> Spend:
        """Every question answered; the cost is divided by ``weights`` (equally by default) and adds up.

        One unit moves every table at once, so the costs of the tables add: sum of epsilons or of rhos.
        """
        questions = tuple(questions)
        shares = [Fraction(1)] * len(questions) if weights is None else [Fraction(w) for w in weights]
        fits = {type(q) for q in questions} == {Marginal} and len(questions) == len(shares) and min(shares) > 0
        if not (fits and type(cost) is Fraction and cost > 0):
            raise JobError(
                f"Cannot price {len(questions)} questions at cost {cost} with {len(shares)} weights: ask at least\n"
                "one, with one weight each; cost and weights must be above 0. Nothing was read or spent."
            )
        asked, whole = list[PricedQuestion](), sum(shares)
        price, measure, delta = priced(cost, law, self.measure, self.delta)
        for question, share in zip(questions, shares, strict=True):
            noise = noise_for(price * share / whole, law, measure, self.guarantee_of(question))
            cells = question.leaves * self.coding.cells(question.columns)
            asked.append(PricedQuestion(question, cells, noise, cost * share / whole))
        return Spend("measure", tuple(asked), cost, delta=delta)

    def guarantee_of(self, question: Marginal) -> Guarantee:
        """By what promise a table is priced: add-remove, when its cells are public and labels say only who counts."""
        g, names = self.guarantee, (*question.columns, *(question.tree.columns if question.tree else ()))
        g = replace(g, rows_per_person=self.coding.most((*names, question.only), g.rows_per_person))
        fixed = g.relation == "label-change" and set(self.coding.needs(names)) <= set(g.public_columns)
        return replace(g, relation="add-remove", public_columns=()) if fixed and question.only else g

    def select_one(self, candidates: Sequence[Marginal], cost: Fraction) -> Spend:
        """One of ``candidates`` chosen: the one whose estimate is furthest from the truth in L1, with noise."""
        if type(cost) is not Fraction or {type(c) for c in candidates} != {Marginal} or cost <= 0:
            raise JobError("A selection needs a candidate and a cost above 0. Nothing was read or spent.")
        return Spend("select", (), cost, tuple(candidates), selection_rate(cost, self.measure, self.guarantee))
