"""``beta_binomial``: a yes/no column by group, each group's answers drawn exactly (McClure and Reiter 2012)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from hedgerow.answers.protocol import Answers
from hedgerow.errors import JobError
from hedgerow.model.tables.count_table import CountTable
from hedgerow.public import Budget, Marginal, PublicData, Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, TableSettings
from hedgerow.recipes.counts.urn_plan import Alpha, Size, UrnPlan


@final
@dataclass(frozen=True)
class BetaBinomial(AbstractRecipe):
    """One draw per group from the posterior predictive of a column with two values.

    Attributes:
        column: the column; it must have exactly two cells.
        groups: the columns that divide the table.
        size: how many answers are drawn in each group (S), public: one number, one per group, or ``public``.
        alpha: ``equal``, ``public``, or prior weights (no, yes) group by group in cell order.
        copies: how many tables are drawn; m copies need m times the prior weight of one.
    """

    name: ClassVar[str] = "beta_binomial"
    column: str = ""
    groups: Sequence[str] = ()
    size: Size = 0
    alpha: Alpha = "equal"
    copies: int = 1

    @property
    def table_settings(self) -> TableSettings:
        """What a plan needs to set it beside the other recipes for tables."""
        return TableSettings(len(self.groups), self.size, self.alpha, self.copies)

    @property
    def paid_copies(self) -> int:
        """Each copy of a drawn table has its price."""
        return self.copies

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One draw, the whole budget."""
        return (self._plan(public).request(tariff, budget, public),)

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Draw once."""
        return self._plan(public).fit(gate, public)

    def _plan(self, public: PublicData) -> UrnPlan:
        if not self.column:
            raise JobError(
                "[beta_binomial] needs column = '...', a column of the schema with two cells.\n"
                "No confidential row was read and nothing was spent."
            )
        if public.schema.column(self.column).size != 2:
            raise JobError(
                f"[beta_binomial] column = {self.column!r} must have two cells, and has "
                f"{public.schema.column(self.column).size}: for more use dirichlet_multinomial.\n"
                "No confidential row was read and nothing was spent."
            )
        table = Marginal((*self.groups, self.column))
        return UrnPlan(self.name, table, len(self.groups), self.size, self.alpha, self.copies)
