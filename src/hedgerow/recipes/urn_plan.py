"""How the urn recipes set their prior weights: as small as the budget allows, from public knowledge alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.model.tabulation import CountTable, check_columns
from hedgerow.public.accounting import Budget, exp_floor, floor_sqrt
from hedgerow.public.question import Marginal
from hedgerow.public.spend import Spend, Tariff
from hedgerow.public.urn import Urn
from hedgerow.recipes.base import Answers, PublicData
from hedgerow.recipes.integer_counts import public_counts, zero_cells

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
        odds: how pi compares from cell to cell; empty: all alike.
    """

    recipe: str
    table: Marginal
    groups: int
    size: Size
    alpha: Alpha = "equal"
    odds: tuple[int, ...] = ()

    def request(self, tariff: Tariff, budget: Budget, public: PublicData) -> Spend:
        """The one request: the whole budget on one draw."""
        return tariff.draw_urn(self.table, self.urn(tariff, budget.total, public), budget.total)

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Draw once. What was drawn is the release: there is nothing to estimate."""
        cost = gate.left
        drawn = gate.draw_urn(self.table, self.urn(gate.tariff, cost, public), cost)
        return CountTable(public.schema, self.table.columns, drawn.counts.astype(np.float64), self.groups)

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
        sizes, g = self._sizes(public, groups), tariff.guarantee
        epsilon = (cost if tariff.measure == "pure" else floor_sqrt(2 * cost)) / g.rows_per_person
        moves = g.relation != "add-remove"
        fixed = g.relation == "label-change" and set(by) <= set(g.public_columns)
        room = looseness(epsilon, cells, crosses=moves and not fixed and groups > 1)
        if not isinstance(self.alpha, str):
            return self._given(sizes)
        shape = self._shape(public, groups, cells)
        if self.odds:
            return self._scaled(sizes, shape, exp_floor(epsilon), moves)
        return self._least(sizes, shape, room, cells)

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
        heaviest = ceil(max(sizes) / room) * cells * max(len(shape), len(sizes), 1)
        heaviest *= max((max(row) // min(row) + 1 for row in shape), default=1)
        while grain > 1 and (heaviest + sum(sizes) * max(len(shape), 1)) * grain >= 1 << 60:
            grain //= 10
        base = [max(1, ceil(s * grain / room)) for s in sizes]
        if not shape:
            alphas = base if len(base) == 1 else [b for b in base for _ in range(cells)]
        else:
            every = base * len(shape) if len(base) == 1 else base
            alphas = [-(-b * w // min(row)) for b, row in zip(every, shape, strict=True) for w in row]
        return Urn(sizes, tuple(alphas), grain, self.groups)

    def _given(self, sizes: tuple[int, ...]) -> Urn:
        grain = 10**6
        weights = [Fraction(str(a)) for a in self.alpha]
        return Urn(sizes, tuple(ceil(w * grain) for w in weights), grain, self.groups, self.odds)

    def _scaled(self, sizes: tuple[int, ...], shape: list[list[int]], most: Fraction, moves: bool) -> Urn:
        """Unequal odds: the smallest common weight whose exact ratio the budget covers, to a thousandth."""
        if shape:
            raise JobError(f"[{self.recipe}] with unequal odds takes alpha = 'equal' or a list. Nothing was spent.")
        grain, low = 1000, 999
        high = 1000
        while self._odd(sizes, high, grain).ratio(1, len(self.odds), moves=moves, crosses=False) > most:
            low, high = high, 2 * high
            if high > 1 << 50:
                raise JobError(f"[{self.recipe}]: no prior weight is enough for this epsilon. Nothing was spent.")
        while high - low > 1:
            middle = (low + high) // 2
            held = self._odd(sizes, middle, grain).ratio(1, len(self.odds), moves=moves, crosses=False) <= most
            low, high = (low, middle) if held else (middle, high)
        return self._odd(sizes, high, grain)

    def _odd(self, sizes: tuple[int, ...], alpha: int, grain: int) -> Urn:
        urn = Urn(sizes, (alpha,), grain, 0, self.odds)
        urn.check(1, len(self.odds))
        return urn


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
