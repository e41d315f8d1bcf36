"""``public_blend``: whole records with the help of a public relative."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.model.descent import MOST, Records
from hedgerow.model.support import SupportModel
from hedgerow.public.accounting import Budget
from hedgerow.public.question import Marginal
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes.allocation import shares_by_error
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData
from hedgerow.recipes.evidence import Evidence
from hedgerow.recipes.memory import pair_records_memory
from hedgerow.recipes.pairs import Price
from hedgerow.recipes.relative import Relative


@final
@dataclass(frozen=True)
class PublicBlend(AbstractRecipe):
    """All pairs, a second look where the public table is furthest off, each drawn towards the public table.

    Attributes:
        rows: the number of records when it is public; otherwise the noisy tables tell.
        first_share: the part of the budget for the first look at all pairs.
        one_way_share: the part of the first look that goes to one-way tables.
        tail: extra rows, drawn from a tree of the estimated pairs, as a share of the public rows.
        refine: whether drawn records are moved off the support towards the estimated pairs.
    """

    name: ClassVar[str] = "public_blend"
    rows: int | None = None
    first_share: float = 0.3
    one_way_share: float = 0.5
    tail: float = 0.2
    refine: bool = True

    def __post_init__(self) -> None:
        if (
            not (0 < self.first_share < 1 and 0 < self.one_way_share < 1)
            or self.tail < 0
            or (self.rows is not None and self.rows < 1)
        ):
            raise JobError(
                "[public_blend] first_share and one_way_share must lie between 0 and 1, tail must be 0 or more,\n"
                f"rows 1 or more. Got {self.first_share}, {self.one_way_share}, {self.tail}, {self.rows}. "
                "Nothing was read or spent."
            )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first look: all one-way and two-way tables. The second depends on the answers."""
        names = self._attributes(public)
        keys = _tables(len(names))
        cost = budget.total * Fraction(str(self.first_share))
        alone = [s ** (2 / 3) for s in public.schema.shape(names)]
        pairs = max(len(keys) - len(names), 1)
        weights = [
            self.one_way_share * alone[k[0]] / sum(alone) if len(k) == 1 else (1 - self.one_way_share) / pairs
            for k in keys
        ]
        questions = [Marginal(tuple(names[i] for i in k)) for k in keys]
        return (tariff.measure_all(questions, cost, weights=[Fraction(w).limit_denominator(10**6) for w in weights]),)

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, and the records that are fitted to them; the public rows and their tail are weighed."""
        names = public.schema.attributes
        known = public.relative.rows if public.relative is not None else 0
        return pair_records_memory(
            public.schema, names, records=self.rows or rows, support=round(known * (1 + self.tail))
        )

    def fit(self, gate: Answers, public: PublicData) -> SupportModel:
        """Ask twice, estimate every table, and weigh the public rows and a tail accordingly."""
        names, keys = self._attributes(public), _tables(len(public.schema.attributes))
        first = self.requests(gate.tariff, gate.budget, public)[0]
        weights = [a.cost / first.cost for a in first.asked]
        answers = gate.measure([a.question for a in first.asked], first.cost, weights=weights)
        tables = {k: [m] for k, m in zip(keys, answers, strict=True)}
        evidence = Evidence(names, gate.tariff.coding, tables, self.rows, public.schema)
        relative = Relative(evidence, _codes(public, names))
        left = gate.left
        known = {k: 1 / evidence.pooled(k)[1] for k in keys}
        shares = shares_by_error(relative.stakes(), known, Price(gate.tariff), float(left), keys=keys)
        fractions = [Fraction(float(s)).limit_denominator(10**6) for s in shares]
        again = [(k, s) for k, s in zip(keys, fractions, strict=True) if s > 0]
        questions = [Marginal(tuple(names[i] for i in k)) for k, _ in again]
        second = gate.measure(questions, left, weights=[s for _, s in again])
        evidence = evidence.plus({k: m for (k, _), m in zip(again, second, strict=True)})
        return Relative(evidence, relative.rows).model(self.tail, refine=self.refine)

    @staticmethod
    def _attributes(public: PublicData) -> tuple[str, ...]:
        names = public.schema.attributes
        if public.relative is None:
            raise JobError(
                "public_blend needs a public relative: add [public] table = '...' to the job, or use tree_blend.\n"
                "No confidential row was read and nothing was spent."
            )
        if (values := sum(public.schema.shape(names))) > MOST:
            raise JobError(
                f"The attributes have {values:,} values together; public_blend fits at most {MOST:,}.\n"
                "Give columns fewer bins or values in the schema. No confidential row was read, nothing was spent."
            )
        return names


def _tables(columns: int) -> list[tuple[int, ...]]:
    """Every column and every pair."""
    return [*((i,) for i in range(columns)), *combinations(range(columns), 2)]


def _codes(public: PublicData, names: Sequence[str]) -> Records:
    """The public rows in codes."""
    assert public.relative is not None
    codes = public.relative.codes(names)
    return np.stack([codes[n].astype(np.uint16) for n in names], axis=1)
