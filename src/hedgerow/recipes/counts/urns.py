"""Tables drawn from urns, the draw being the mechanism: ``dirichlet_multinomial`` and its two relatives.

The prior weights are as small as the budget allows, from public knowledge alone (``hedgerow.model.urns``).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar, final

import numpy as np

from hedgerow.answers import Answers
from hedgerow.errors import NOTHING, JobError
from hedgerow.model.tables import CountTable, check_columns
from hedgerow.model.urns import odds_of, pi_of
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
from hedgerow.recipes.base import AbstractRecipe, TableSettings
from hedgerow.recipes.counts.integer_counts import public_counts, zero_cells

_Number = int | float | str
Size = int | str | Sequence[int]
Alpha = str | Sequence[_Number]


class AbstractUrnRecipe(AbstractRecipe):
    """One draw from the posterior predictive, with the whole budget."""

    groups: Sequence[str] = ()
    size: Size
    alpha: Alpha
    copies: int

    @property
    def table_settings(self) -> TableSettings:
        """What a plan needs to set it beside the other recipes for tables."""
        return TableSettings(len(self.groups), self.size, self.alpha, self.copies)

    @property
    def draws_from_public(self) -> bool:
        """The answers are the release, but a size or weights may be the public table's."""
        return "public" in (self.size, self.alpha)

    @property
    def paid_copies(self) -> int:
        """Each copy of a drawn table has its price."""
        return self.copies

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One draw, the whole budget."""
        plan = self._plan(public)
        return (price_urn(tariff, plan.table, plan.urn(tariff, budget.total, public), budget.total),)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """The prior weights, which are all that protects a draw."""
        urn = self._plan(public).urn(tariff, budget.total, public)
        least, most = (f"{end(urn.alphas) / urn.grain:.{6 if urn.grain >= 10**6 else 0}f}" for end in (min, max))
        each = f"alpha = {least} for every cell" if least == most else f"alpha from {least} to {most}"
        why = ", the least that this epsilon allows" if self.alpha == "equal" else ""
        sizes = f"{urn.sizes[0]:,}" if len(urn.sizes) == 1 else f"{min(urn.sizes):,} to {max(urn.sizes):,}"
        drawn = f"{self.copies} copies of S = {sizes}" if self.copies > 1 else f"S = {sizes}"
        return (f"prior weight {each}{why} for {drawn} counts drawn",)

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Draw once. What was drawn is the release: there is nothing to estimate."""
        plan, cost = self._plan(public), gate.left
        drawn = gate.draw_urn(plan.table, plan.urn(gate.tariff, cost, public), cost)
        first, *further = (d.counts.astype(np.float64) for d in drawn)
        return CountTable(public.schema, plan.table.columns, first, plan.groups, further=tuple(further), drawn=True)

    def _plan(self, public: PublicData) -> "UrnPlan":
        table = Marginal(self._columns(public))
        return UrnPlan(self.name, table, len(self.groups), self.size, self.alpha, self.copies)

    @abstractmethod
    def _columns(self, public: PublicData) -> tuple[str, ...]:
        """The columns of the table, groups first; settings that the schema does not allow are refused."""


@final
@dataclass(frozen=True)
class DirichletMultinomial(AbstractUrnRecipe):
    """The table of the DM-lecture, drawn exactly. A documented legacy method: see its page.

    Attributes:
        columns: the label columns of the table.
        groups: columns that come first and divide it; each group has an urn and a size of its own.
        size: how many counts are drawn (S), a public number; one, one per group, or ``public``.
        alpha: ``equal`` (the least the budget allows), ``public``, or a prior weight per cell.
        copies: how many tables are drawn; m copies need m times the prior weight of one.
    """

    name: ClassVar[str] = "dirichlet_multinomial"
    columns: Sequence[str] = ()
    groups: Sequence[str] = ()
    size: Size = 0
    alpha: Alpha = "equal"
    copies: int = 1

    def _columns(self, public: PublicData) -> tuple[str, ...]:
        return (*self.groups, *(c for c in self.columns if c not in self.groups))


@final
@dataclass(frozen=True)
class BetaBinomial(AbstractUrnRecipe):
    """A yes/no column by group, each group's answers drawn exactly (McClure and Reiter 2012).

    Attributes:
        column: the column; it must have exactly two cells.
        groups: the columns that divide the table.
        size, copies: as in ``dirichlet_multinomial``; S is the number of answers in each group.
        alpha: ``equal``, ``public``, or prior weights (no, yes) group by group in cell order.
    """

    name: ClassVar[str] = "beta_binomial"
    column: str = ""
    groups: Sequence[str] = ()
    size: Size = 0
    alpha: Alpha = "equal"
    copies: int = 1

    def _columns(self, public: PublicData) -> tuple[str, ...]:
        if not self.column:
            raise JobError(f"[beta_binomial] needs column = '...', a column of the schema with two cells.\n{NOTHING}")
        column = public.schema.column(self.column)
        if column.size != 2:
            listed = ", ".join(column.cell_labels[:12]) + ", ..." * (column.size > 12)
            raise JobError(
                f"[beta_binomial] column = {self.column!r} must have two cells, and has {column.size}: {listed}.\n"
                "For more use dirichlet_multinomial. A column of two values needs no cell of its own for what is\n"
                f"unknown or missing: in the schema name one of the values, other = {column.cell_texts[0]!r}, and\n"
                f"leave missing out. {NOTHING}"
            )
        return (*self.groups, self.column)


@final
@dataclass(frozen=True)
class GammaPoisson(AbstractUrnRecipe):
    """Counts by area with exposures, all drawn exactly given their sum (after Quick 2019).

    Attributes:
        columns: the columns whose cells are the areas.
        size: what the synthetic counts sum to (S), a public number; or ``public``.
        exposures: a public exposure per cell (population, time); empty: all alike.
        b: a prior rate per cell; it must be proportional to the exposures, as it is when left out.
        alpha: ``equal`` (the least the budget allows), ``public``, or a prior weight a per cell.
        copies: as in ``dirichlet_multinomial``.
    """

    name: ClassVar[str] = "gamma_poisson"
    columns: Sequence[str] = ()
    size: Size = 0
    exposures: Sequence[_Number] = ()
    b: Sequence[_Number] = ()
    alpha: Alpha = "equal"
    copies: int = 1

    def _columns(self, public: PublicData) -> tuple[str, ...]:
        cells = public.schema.size(self.columns)
        for name, given in (("exposures", self.exposures), ("b", self.b)):
            if given and (len(given) != cells or min(float(x) for x in given) <= 0):
                raise JobError(
                    f"[gamma_poisson] {name} must be one number above 0 for each of the {cells} cells.\n{NOTHING}"
                )
        pis = [pi_of(m, b) for m, b in zip(self.exposures or (1,) * cells, self.b, strict=bool(self.b))]
        if self.b and odds_of(pis):
            raise JobError(
                "[gamma_poisson] b must be proportional to the exposures: then all pi = m / (b + 2 m) are alike and\n"
                "the draw costs what it says. Leave b out, or give b = k * exposures. (hedgerow.model.urns\n"
                f"works out what unequal pi would cost.) {NOTHING}"
            )
        return tuple(self.columns)


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

    def urn(self, tariff: Tariff, cost: Fraction, public: PublicData) -> Urn:
        """The urn with the least prior weights that ``cost`` covers."""
        check_columns(self.recipe, public.schema, self.table.columns)
        if zero_cells(public.schema, self.table.columns).any():
            raise JobError(
                f"[{self.recipe}] gives every cell a prior weight, and the schema declares structural zeros here.\n"
                f"Use integer_counts, which keeps them empty. {NOTHING}"
            )
        by, within = self.table.columns[: self.groups], self.table.columns[self.groups :]
        groups, cells = tariff.coding.cells(by), tariff.coding.cells(within)
        sizes = self._sizes(public, groups)
        if type(self.copies) is not int or not 1 <= self.copies <= 1000:
            raise JobError(
                f"[{self.recipe}] copies must be a whole number from 1 to 1,000. Each has its price: all copies\n"
                f"together cost as one table of all their counts. {NOTHING}"
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
            each = f" one for each of the {groups} groups," * (groups > 1)
            raise JobError(
                f"[{self.recipe}] needs size, the public number of counts to draw: one number (size = 5000),{each}\n"
                f"or 'public' with a [public] table. The true number of rows is not public.\n{NOTHING}"
            )
        return listed

    def _shape(self, public: PublicData, groups: int, cells: int) -> list[list[int]]:
        """Whole-number prior weights relative to the least in their group, or [] for all alike."""
        if self.alpha == "equal":
            return []
        if self.alpha != "public" or public.relative is None:
            raise JobError(
                f"[{self.recipe}] alpha is 'equal', 'public' (which needs a [public] table) or a list with one\n"
                f"weight per cell. {NOTHING}"
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
