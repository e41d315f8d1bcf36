"""``public_blend``: whole records with the help of a public relative."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, final

from hedgerow.answers import Answers
from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel
from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records.descent import MOST
from hedgerow.model.records.models import CrossedModel
from hedgerow.model.tables.fitting import Key
from hedgerow.public import Budget, PublicData, Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.blend.allocation import Price, shares_by_error
from hedgerow.recipes.blend.axes import Axes, Records, axes_of
from hedgerow.recipes.blend.extra_tables import (
    strong_triples,
    tables_of_uses,
    uses_remark,
    with_tables,
    worth_their_noise,
)
from hedgerow.recipes.blend.memory import noise_on_total, pair_cells, pair_records_memory
from hedgerow.recipes.blend.noisy_tables import NoisyTables
from hedgerow.recipes.blend.public_prior import PublicPrior


@final
@dataclass(frozen=True)
class PublicBlend(AbstractRecipe):
    """All pairs, a second look where the public table is furthest off, each shrunk towards the public table.

    Attributes:
        rows: the number of records when it is public; otherwise the noisy tables tell.
        first_share: the part of the budget for the first look at all pairs.
        one_way_share: the part of the first look that goes to one-way tables.
        tail: extra rows, drawn from a tree of the estimated pairs, as a share of the public rows.
        groups: columns whose cross makes the groups; with two or more, the cross is one column of the model.
        tables: tables that must be right, by the names of their columns.
        uses: whether the tables that intended uses are read from are measured like ``tables``, if worth their noise.
        triples: how many tables of three columns are measured besides, where the public table shows interaction.
        table_share: the part of the second look for ``tables``, ``uses`` and ``triples``, if there are any.
        refine: whether drawn records are moved off the support towards the estimated pairs.
    """

    name: ClassVar[str] = "public_blend"
    rows: int | None = None
    first_share: float = 0.3
    one_way_share: float = 0.5
    tail: float = 0.2
    refine: bool = True
    groups: Sequence[str] = ()
    tables: Sequence[Sequence[str]] = ()
    uses: bool = True
    triples: int = 0
    table_share: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            not all(0 < s < 1 for s in (self.first_share, self.one_way_share, self.table_share))
            or min(self.tail, self.triples) < 0
            or (self.rows is not None and self.rows < 1)
        ):
            raise JobError(
                "[public_blend] first_share, one_way_share and table_share must lie between 0 and 1, tail and\n"
                "triples must be 0 or more, rows 1 or more. "
                f"Got {self.first_share}, {self.one_way_share}, {self.table_share}, "
                f"{self.tail}, {self.triples}, {self.rows}. Nothing was read or spent."
            )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first look: all one-way and two-way tables. The second depends on the answers."""
        axes = self._axes(public)
        keys = _tables(len(axes.names))
        cost = budget.total * Fraction(str(self.first_share))
        alone = [s ** (2 / 3) for s in axes.shape]
        pairs = max(len(keys) - len(axes.names), 1)
        weights = [
            self.one_way_share * alone[k[0]] / sum(alone) if len(k) == 1 else (1 - self.one_way_share) / pairs
            for k in keys
        ]
        questions = [axes.question(k) for k in keys]
        return (tariff.measure_all(questions, cost, weights=[Fraction(w).limit_denominator(10**6) for w in weights]),)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """Which tables the intended uses make it measure."""
        return uses_remark(self._axes(public), public) if self.uses else ()

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, and the records that are fitted to them; the public rows and their tail are weighed."""
        names = public.schema.attributes
        known = public.relative.rows if public.relative is not None else 0
        support = max(round(known * (1 + self.tail)), self.rows or rows)
        allocating = 60 * pair_cells(public.schema, names)
        weighing = support * (8 * len(names) + 40)
        return pair_records_memory(public.schema, names, records=self.rows or rows) + allocating + weighing

    def surplus(self, requests: Sequence[Spend]) -> int:
        """The number of records is a noisy one, unless it is declared."""
        return 0 if self.rows else noise_on_total(requests)

    def fit(self, gate: Answers, public: PublicData) -> AbstractModel:
        """Ask twice, estimate every table, and weigh the public rows and a tail accordingly."""
        axes = self._axes(public)
        assert public.relative is not None
        rows = axes.rows(public.relative)
        required = axes.keys(self.tables, self.name)
        first = self.requests(gate.tariff, gate.budget, public)[0]
        weights = [a.cost / first.cost for a in first.asked]
        answers = gate.measure([a.question for a in first.asked], first.cost, weights=weights)
        noisy = NoisyTables(axes, {k: [m] for k, m in zip(_tables(len(axes.names)), answers, strict=True)}, self.rows)
        used = tables_of_uses(axes, public) if self.uses else ()
        kept = float(gate.left) * self.table_share
        used = worth_their_noise(used, noisy, Price(gate.tariff), kept, bearable=PUBLIC_BLEND.bearable)
        chosen = tuple(dict.fromkeys((*required, *used, *strong_triples(rows, axes.shape, self.triples))))
        again = self._shares(gate, noisy, rows, chosen)
        second = gate.measure([axes.question(k) for k in again], gate.left, weights=list(again.values()))
        noisy = noisy.plus(dict(zip(again, second, strict=True)))
        wide = [k for k in chosen if len(k) > 2]
        model = with_tables(PublicPrior(noisy, rows).model(self.tail, refine=self.refine), noisy, wide)
        return model if axes.crossed is None else CrossedModel(model, axes.crossed, axes.coding)

    def _shares(self, gate: Answers, noisy: NoisyTables, rows: Records, chosen: Sequence[Key]) -> dict[Key, Fraction]:
        """What part of the second look each table gets; like shares together: each scale of noise takes preparing."""
        keys, part = list(noisy.tables), Fraction(str(self.table_share)) if chosen else Fraction(0)
        known = {k: 1 / noisy.pooled(k)[1] for k in keys}
        cost = float(gate.left * (1 - part))
        shares = shares_by_error(PublicPrior(noisy, rows).stakes(), known, Price(gate.tariff), cost, keys=keys)
        rounded = [Fraction(float(s)).limit_denominator(10**6) * (1 - part) for s in shares]
        weight = dict(zip(keys, rounded, strict=True))
        weight |= {k: weight.get(k, Fraction(0)) + part / len(chosen) for k in chosen}
        return {k: w for k, w in sorted(weight.items(), key=lambda asked: asked[1]) if w > 0}

    def _axes(self, public: PublicData) -> Axes:
        if public.relative is None:
            raise JobError(
                "public_blend needs a public relative: add [public] table = '...' to the job, or use tree_blend.\n"
                "No confidential row was read and nothing was spent."
            )
        axes = axes_of(public.schema, self.groups, recipe=self.name)
        if (values := sum(axes.shape)) > MOST:
            raise JobError(
                f"The attributes have {values:,} values together; public_blend fits at most {MOST:,}.\n"
                "Give columns fewer bins or values in the schema. No confidential row was read, nothing was spent."
            )
        return axes


def _tables(columns: int) -> list[Key]:
    """Every column and every pair."""
    return [*((i,) for i in range(columns)), *combinations(range(columns), 2)]
