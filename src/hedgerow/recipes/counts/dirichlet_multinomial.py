"""``dirichlet_multinomial``: the table of the DM-lecture, drawn exactly. A documented legacy method: see its page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from hedgerow.answers.protocol import Answers
from hedgerow.model.tables.count_table import CountTable
from hedgerow.public import Budget, Marginal, PublicData, Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, TableSettings
from hedgerow.recipes.counts.urn_plan import Alpha, Size, UrnPlan


@final
@dataclass(frozen=True)
class DirichletMultinomial(AbstractRecipe):
    """One draw from the posterior predictive; the draw is the mechanism.

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
        return (self.plan.request(tariff, budget, public),)

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Draw once."""
        return self.plan.fit(gate, public)

    @property
    def plan(self) -> UrnPlan:
        """The table and its urns."""
        order = (*self.groups, *(c for c in self.columns if c not in self.groups))
        return UrnPlan(self.name, Marginal(order), len(self.groups), self.size, self.alpha, self.copies)
