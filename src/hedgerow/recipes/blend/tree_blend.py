"""``tree_blend``: whole records without a public relative."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, final

from hedgerow.answers import Answers
from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel
from hedgerow.model.records.descent import MOST
from hedgerow.model.records.models import CrossedModel
from hedgerow.model.tables.fitting import Key
from hedgerow.public import Budget, PublicData, Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.blend.allocation import Price, shares_by_gain, worth_measuring
from hedgerow.recipes.blend.axes import Axes, axes_of
from hedgerow.recipes.blend.extra_tables import (
    quiet_paths,
    tables_of_uses,
    uses_remark,
    with_tables,
    with_worst_triples,
    worth_their_noise,
)
from hedgerow.recipes.blend.memory import noise_on_total, pair_records_memory
from hedgerow.recipes.blend.noisy_tables import NoisyTables, outer


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
        tables: tables that must be right, by the names of their columns.
        uses: whether the tables that intended uses are read from are measured like ``tables``, if bearable.
        rare: in pairs, values that count less than this many standard deviations of the noise are one; 0: none are.
        triples: how many paths of three columns in the tree are measured besides, the worst first, if they are quiet.
        table_share: the part of the last look for ``tables`` and ``uses``, if there are any.
        triple_share: its part for ``triples``, if their noise is small enough.
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
    uses: bool = True
    rare: float = 1.0
    triples: int = 3
    table_share: float = 0.2
    triple_share: float = 0.03

    def __post_init__(self) -> None:
        super().__post_init__()
        shares = (self.one_way_share, self.first_share)
        if (
            min(shares) <= 0
            or sum(shares) >= 1
            or not (self.bearable > 0 and min(self.table_share, self.triple_share) > 0)
            or self.table_share + self.triple_share >= 1
            or min(self.triples, self.rare) < 0
            or (self.rows is not None and self.rows < 1)
        ):
            raise JobError(
                "[tree_blend] one_way_share and first_share must be above 0 and together below 1; bearable above 0;\n"
                "table_share and triple_share above 0, together below 1; triples, rare 0 or more; rows 1 or more.\n"
                f"Got {shares}, {self.bearable}, {self.table_share}, {self.triple_share}, {self.triples}, "
                f"{self.rare}, {self.rows}. Nothing was read or spent."
            )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first request: one-way tables. What follows depends on the answers."""
        axes = self._axes(public)
        share = self._part(self.one_way_share) if len(axes.names) > 1 else Fraction(1)
        questions = [axes.question((i,)) for i in range(len(axes.names))]
        return (tariff.measure_all(questions, budget.total * share, weights=one_way_weights(axes)),)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """Which tables the intended uses make it measure."""
        return uses_remark(self._axes(public), public) if self.uses else ()

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
        axes.keys(self.tables, self.name)  # a mistake in them is told before anything is asked
        first = self.requests(gate.tariff, gate.budget, public)[0]
        ones = gate.measure(
            [a.question for a in first.asked], first.cost, weights=[a.cost / first.cost for a in first.asked]
        )
        noisy = NoisyTables(axes, {(i,): [m] for i, m in enumerate(ones)}, self.rows, self.rare)
        price = Price(gate.tariff)
        cost = total * self._part(self.first_share)
        margins = noisy.margins()
        independent = {(i, j): outer(margins, i, j) for i, j in combinations(range(len(axes.names)), 2)}
        chosen = worth_measuring(independent, price, float(cost), bearable=self.bearable)
        if chosen:
            answers = gate.measure([noisy.question(p) for p in chosen], cost)
            noisy = noisy.plus(dict(zip(chosen, answers, strict=True)))
        required = self._required(gate, noisy, public)
        left = gate.left
        kept = self._part(self.table_share) * left if required else Fraction(0)
        each = self._part(self.triple_share) * left / max(self.triples, 1)
        triples = self.triples if quiet_paths(noisy, price, each) else 0
        rest = left - kept - triples * each
        if chosen:
            noisy = self._second_look(gate, noisy, rest)
        elif rest > 0:
            again = gate.measure([m.question for m in ones], rest, weights=one_way_weights(axes))
            noisy = noisy.plus({(i,): m for i, m in enumerate(again)})
        if required:
            answers = gate.measure([noisy.question(k) for k in required], kept)
            noisy = noisy.plus(dict(zip(required, answers, strict=True)))
        model = with_worst_triples(gate, noisy, triples, each)
        return self._split(with_tables(model, noisy, [k for k in required if len(k) > 2]), axes)

    def _required(self, gate: Answers, noisy: NoisyTables, public: PublicData) -> tuple[Key, ...]:
        """The tables that must be right; those of uses only if their noise is bearable."""
        cost = float(self._part(self.table_share) * gate.left)
        used = tables_of_uses(noisy.axes, public) if self.uses and cost else ()
        used = worth_their_noise(used, noisy, Price(gate.tariff), cost, bearable=self.bearable)
        return tuple(dict.fromkeys((*noisy.axes.keys(self.tables, self.name), *used)))

    @staticmethod
    def _split(model: AbstractModel, axes: Axes) -> AbstractModel:
        return model if axes.crossed is None else CrossedModel(model, axes.crossed, axes.coding)

    def _second_look(self, gate: Answers, noisy: NoisyTables, cost: Fraction) -> NoisyTables:
        """What is left of the budget, spent where it lowers the predicted error of all pairs most.

        An error in a one-way table is an error in every pair of its column.
        """
        pairs = noisy.pairs()
        singles = [(i,) for i in range(len(noisy.names))]
        spread = [m**2 for m in noisy.margins()] + noisy.spread(pairs)
        noise = [v for _, v in noisy.noisy_margins] + [noisy.pooled(p)[1] for p in pairs]
        worth = [self.one_way_worth * len(singles)] * len(singles) + [1.0] * len(pairs)
        shares = shares_by_gain(spread, noise, Price(gate.tariff), float(cost), worth=worth)
        weights = [Fraction(float(s)).limit_denominator(10**6) for s in shares]
        asked = [(k, w) for k, w in zip([*singles, *pairs], weights, strict=True) if w > 0]
        asked.sort(key=lambda a: a[1])  # like scales of noise together: each is prepared once
        answers = gate.measure([noisy.question(k) for k, _ in asked], cost, weights=[w for _, w in asked])
        return noisy.plus({k: m for (k, _), m in zip(asked, answers, strict=True)})

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
