"""``tree_blend``: whole records without a public relative."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import ClassVar, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel
from hedgerow.model.crossed import CrossedModel
from hedgerow.model.descent import MOST
from hedgerow.model.junction import Triple, paths
from hedgerow.public.accounting import Budget
from hedgerow.public.question import Measurement
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes.allocation import Key
from hedgerow.recipes.axes import Axes, axes_of
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData
from hedgerow.recipes.evidence import Evidence, Floats, outer
from hedgerow.recipes.memory import noise_on_total, pair_records_memory
from hedgerow.recipes.pairs import Price, shares_by_gain, worth_measuring
from hedgerow.recipes.triples import MOST_OF_TRIPLE, estimated, with_tables


@final
@dataclass(frozen=True)
class TreeBlend(AbstractRecipe):
    """One-way tables, the pairs worth their noise, a second look where it helps most; records by descent.

    Attributes:
        rows: the number of records when it is public; otherwise the noisy tables tell.
        groups: columns whose cross makes the groups; with two or more, the cross is one column of the model.
        one_way_share: the part of the budget for one-way tables.
        first_share: the part for the first look at pairs; the rest goes where it lowers the error most.
        bearable: a pair is measured when its noise is expected to move less than this share of the rows.
        tables: tables of three or more columns that must be right, by the names of their columns.
        triples: how many paths of three columns in the tree are measured besides, the worst first.
        table_share: the part of the last look for ``tables`` and ``triples``, if there are any.
        one_way_worth: how much of an error in a one-way table shows in each pair of its column.
    """

    name: ClassVar[str] = "tree_blend"
    rows: int | None = None
    groups: Sequence[str] = ()
    one_way_share: float = 0.10
    first_share: float = 0.25
    bearable: float = 0.5
    one_way_worth: float = 0.5
    tables: Sequence[Sequence[str]] = ()
    triples: int = 0
    table_share: float = 0.2

    def __post_init__(self) -> None:
        shares = (self.one_way_share, self.first_share)
        if (
            min(shares) <= 0
            or sum(shares) >= 1
            or not (self.bearable > 0 and 0 < self.table_share < 1)
            or self.triples < 0
            or (self.rows is not None and self.rows < 1)
        ):
            raise JobError(
                "[tree_blend] one_way_share and first_share must be above 0 and together below 1; bearable above 0;\n"
                "table_share between 0 and 1; triples 0 or more; rows 1 or more. "
                f"Got {shares}, {self.bearable}, {self.table_share}, {self.triples}, {self.rows}.\n"
                "Nothing was read or spent."
            )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first request: one-way tables. What follows depends on the answers."""
        axes = self._axes(public)
        share = self._part(self.one_way_share) if len(axes.names) > 1 else Fraction(1)
        questions = [axes.question((i,)) for i in range(len(axes.names))]
        return (tariff.measure_all(questions, budget.total * share, weights=one_way_weights(axes)),)

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, and the records that are fitted to them."""
        names = public.schema.attributes
        return pair_records_memory(public.schema, names, records=self.rows or rows)

    def surplus(self, requests: Sequence[Spend]) -> int:
        """The number of records is a noisy one, unless it is declared."""
        return 0 if self.rows else noise_on_total(requests)

    def fit(self, gate: Answers, public: PublicData) -> AbstractModel:
        """Ask in up to three requests, and fit records to what came back."""
        axes, total = self._axes(public), gate.budget.total
        declared = axes.keys(self.tables, self.name)
        first = self.requests(gate.tariff, gate.budget, public)[0]
        ones = gate.measure(
            [a.question for a in first.asked], first.cost, weights=[a.cost / first.cost for a in first.asked]
        )
        evidence = Evidence(axes, {(i,): [m] for i, m in enumerate(ones)}, self.rows)
        price = Price(gate.tariff)
        cost = total * self._part(self.first_share)
        margins = evidence.margins()
        independent = {(i, j): outer(margins, i, j) for i, j in combinations(range(len(axes.names)), 2)}
        chosen = worth_measuring(independent, price, float(cost), bearable=self.bearable)
        if not chosen:
            if gate.left > 0:
                again = gate.measure([m.question for m in ones], gate.left, weights=one_way_weights(axes))
                evidence = evidence.plus({(i,): m for i, m in enumerate(again)})
            return self._split(evidence.model(), axes)
        answers = gate.measure([evidence.question(p) for p in chosen], cost)
        evidence = evidence.plus(dict(zip(chosen, answers, strict=True)))
        kept = self._part(self.table_share) * gate.left if declared or self.triples else Fraction(0)
        evidence = self._second_look(gate, evidence, gate.left - kept)
        return self._split(self._with_triples(gate, evidence, declared) if kept else evidence.model(), axes)

    def _with_triples(self, gate: Answers, evidence: Evidence, declared: tuple[Key, ...]) -> AbstractModel:
        """The declared tables, and the paths of the tree that the model misses most, one after another."""
        kept, found = gate.left / (len(declared) + self.triples), dict[Key, Measurement]()
        if declared:
            answers = gate.measure([evidence.question(k) for k in declared], kept * len(declared))
            found = dict(zip(declared, answers, strict=True))
            evidence = evidence.plus(found)
        cliques: dict[Triple, Floats] = {}
        model = evidence.model()
        open_ = {k for k in paths(evidence.tree()) if prod(evidence.shape[i] for i in k) <= MOST_OF_TRIPLE} - set(
            found
        )
        for _ in range(min(self.triples, len(open_))):
            guesses = {evidence.question(k): np.rint(model.expected(evidence.question(k))) for k in sorted(open_)}
            worst = gate.select({q: g.astype(np.int64) for q, g in guesses.items()}, kept * self._part(0.2))
            (key,) = (k for k in open_ if evidence.question(k) == worst)
            (found[key],) = gate.measure([worst], kept * self._part(0.8))
            open_.remove(key)
            evidence = evidence.plus({key: found[key]})
            cliques[key] = estimated(evidence.model(cliques), evidence, key)
            model = evidence.model(cliques)
        return with_tables(model, evidence, list(found))

    @staticmethod
    def _split(model: AbstractModel, axes: Axes) -> AbstractModel:
        return model if axes.crossed is None else CrossedModel(model, axes.crossed, axes.coding)

    def _second_look(self, gate: Answers, evidence: Evidence, cost: Fraction) -> Evidence:
        """What is left of the budget, spent where it lowers the predicted error of all pairs most.

        An error in a one-way table is an error in every pair of its column.
        """
        pairs = evidence.pairs()
        singles = [(i,) for i in range(len(evidence.names))]
        spread = [m**2 for m in evidence.margins()] + evidence.spread(pairs)
        noise = [v for _, v in evidence.noisy_margins()] + [evidence.pooled(p)[1] for p in pairs]
        worth = [self.one_way_worth * len(singles)] * len(singles) + [1.0] * len(pairs)
        shares = shares_by_gain(spread, noise, Price(gate.tariff), float(cost), worth=worth)
        weights = [Fraction(float(s)).limit_denominator(10**6) for s in shares]
        asked = [(k, w) for k, w in zip([*singles, *pairs], weights, strict=True) if w > 0]
        answers = gate.measure([evidence.question(k) for k, _ in asked], cost, weights=[w for _, w in asked])
        return evidence.plus({k: m for (k, _), m in zip(asked, answers, strict=True)})

    @staticmethod
    def _part(share: float) -> Fraction:
        return Fraction(str(share))

    def _axes(self, public: PublicData) -> Axes:
        axes = axes_of(public.schema, self.groups, recipe=self.name)
        if (values := sum(axes.shape)) > MOST:
            raise JobError(
                f"The attributes have {values:,} values together; tree_blend fits records to at most {MOST:,}.\n"
                "Give columns fewer bins or values in the schema. No confidential row was read, nothing was spent."
            )
        return axes


def one_way_weights(axes: Axes) -> list[Fraction]:
    """Larger tables get more: with cells^(2/3) the summed error of all tables is least."""
    return [Fraction(round(1000 * size ** (2 / 3))) for size in axes.shape]
