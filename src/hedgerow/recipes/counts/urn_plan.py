"""How the urn recipes set their prior weights: as small as the budget allows, from public knowledge alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import final

import numpy as np

from hedgerow.answers.protocol import Answers
from hedgerow.errors import JobError
from hedgerow.model.tables.count_table import CountTable, check_columns
from hedgerow.public import (
    Budget,
    Marginal,
    PublicData,
    Spend,
    Tariff,
    Urn,
    exp_floor,
    floor_sqrt,
    price_urn,
    row_epsilon,
    rows_cross,
)
from hedgerow.recipes.counts.integer_counts import public_counts, zero_cells

Size = int | str | Sequence[int]
Alpha = str | Sequence[int | float | str]


@final
@dataclass(frozen=True)
class UrnPlan:
    """A table that is drawn from urns.

    Attributes:
        recipe: the name of the recipe, for messages.
        table: the table, groups first.
        groups: the first so many columns divide it.
        size: how many counts each group gets (S): one number, one per group, or ``public``: as the public table has.
        alpha: ``equal``, ``public`` (in proportion to the public table) or a prior weight per cell.
        copies: how many synthetic tables are drawn from the same urns; they cost as one of all their counts.
    """

    recipe: str
    table: Marginal
    groups: int
    size: Size
    alpha: Alpha = "equal"
    copies: int = 1

    def request(self, tariff: Tariff, budget: Budget, public: PublicData) -> Spend:
        """The one request: the whole budget on one draw."""
        return price_urn(tariff, self.table, self.urn(tariff, budget.total, public), budget.total)

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Draw once. What was drawn is the release: there is nothing to estimate."""
        cost = gate.left
        drawn = gate.draw_urn(self.table, self.urn(gate.tariff, cost, public), cost)
        first, *further = (d.counts.astype(np.float64) for d in drawn)
        return CountTable(public.schema, self.table.columns, first, self.groups, further=tuple(further), drawn=True)

    def urn(self, tariff: Tariff, cost: Fraction, public: PublicData) -> Urn:
        """The urn with the least prior weights that ``cost`` covers."""
        check_columns(self.recipe, public.schema, self.table.columns)
        if zero_cells(public.schema, self.table.columns).any():
            raise JobError(
                f"[{self.recipe}] gives every cell a prior weight, and the schema declares structural zeros here.\n"
                "Use integer_counts, which keeps them empty. No confidential row was read and nothing was spent."
            )
        by, within = self.table.columns[: self.groups], self.table.columns[self.groups :]
        groups, cells = tariff.coding.cells(by), tariff.coding.cells(within)
        sizes = self._sizes(public, groups)
        if type(self.copies) is not int or not 1 <= self.copies <= 1000:
            raise JobError(
                f"[{self.recipe}] copies must be a whole number from 1 to 1,000. Each has its price: all copies\n"
                "together cost as one table of all their counts. No confidential row was read and nothing was spent."
            )
        if not isinstance(self.alpha, str):
            return self._given(sizes)
        room = looseness(row_epsilon(tariff, cost), cells, crosses=rows_cross(tariff, by) and groups > 1)
        return self._least(sizes, self._shape(public, groups, cells), room, cells)

    def _sizes(self, public: PublicData, groups: int) -> tuple[int, ...]:
        size = self.size
        if size == "public" and public.relative is not None:
            by = Marginal(self.table.columns[: self.groups])
            return tuple(int(n) for n in public_counts(public.relative, by))
        listed = (size,) if isinstance(size, int) else () if isinstance(size, str) else tuple(size)
        if len(listed) not in (1, groups) or not all(type(s) is int and s >= 0 for s in listed) or not sum(listed):
            raise JobError(
                f"[{self.recipe}] needs size, the public number of counts to draw: one number, one for each of the\n"
                f"{groups} groups, or 'public' with a [public] table. The true number of rows is not public.\n"
                "No confidential row was read and nothing was spent."
            )
        return listed

    def _shape(self, public: PublicData, groups: int, cells: int) -> list[list[int]]:
        """Whole-number prior weights relative to the least in their group, or [] for all alike."""
        if self.alpha == "equal":
            return []
        if self.alpha != "public" or public.relative is None:
            raise JobError(
                f"[{self.recipe}] alpha is 'equal', 'public' (which needs a [public] table) or a list with one\n"
                "weight per cell. No confidential row was read and nothing was spent."
            )
        counted = public_counts(public.relative, self.table).astype(np.int64).reshape(groups, cells) + 1
        return [list(map(int, row)) for row in counted]

    def _least(self, sizes: tuple[int, ...], shape: list[list[int]], room: Fraction, cells: int) -> Urn:
        grain = 10**6
        heaviest = ceil(self.copies * max(sizes) / room) * cells * max(len(shape), len(sizes), 1)
        heaviest *= max((max(row) // min(row) + 1 for row in shape), default=1)
        while grain > 1 and (heaviest + self.copies * sum(sizes) * max(len(shape), 1)) * grain >= 1 << 60:
            grain //= 10
        base = [max(1, ceil(self.copies * s * grain / room)) for s in sizes]
        if not shape:
            alphas = base if len(base) == 1 else [b for b in base for _ in range(cells)]
        else:
            every = base * len(shape) if len(base) == 1 else base
            alphas = [-(-b * w // min(row)) for b, row in zip(every, shape, strict=True) for w in row]
        return Urn(sizes, tuple(alphas), grain, self.groups, self.copies)

    def _given(self, sizes: tuple[int, ...]) -> Urn:
        grain = 10**6
        weights = [Fraction(str(a)) for a in self.alpha]
        return Urn(sizes, tuple(ceil(w * grain) for w in weights), grain, self.groups, self.copies)


def looseness(epsilon: Fraction, cells: int, *, crosses: bool) -> Fraction:
    """The largest S / alpha that epsilon covers: e^epsilon - 1, or less when a row may come from another group.

    Then (1 + t)(1 + t / cells) <= e^epsilon must hold: what one group loses and another gains.
    """
    grown = exp_floor(epsilon)
    if not crosses:
        return grown - 1
    half = (cells + 1) / Fraction(2)
    room = floor_sqrt(half**2 + cells * (grown - 1)) - half
    if room <= 0:
        raise JobError(f"epsilon = {float(epsilon):g} is too small for an urn of {cells} cells. Nothing was spent.")
    return room
