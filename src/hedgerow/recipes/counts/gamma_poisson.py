"""``gamma_poisson``: counts by area with exposures, drawn exactly given their sum (after Quick 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from hedgerow.answers.protocol import Answers
from hedgerow.errors import JobError
from hedgerow.model.gamma_poisson import odds_of, pi_of
from hedgerow.model.tables.count_table import CountTable
from hedgerow.public import Budget, Marginal, PublicData, Schema, Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, TableSettings
from hedgerow.recipes.counts.urn_plan import Alpha, UrnPlan

_Number = int | float | str


@final
@dataclass(frozen=True)
class GammaPoisson(AbstractRecipe):
    """One draw of all areas' counts given their sum; the draw is the mechanism.

    Attributes:
        columns: the columns whose cells are the areas.
        size: what the synthetic counts sum to (S), a public number.
        exposures: a public exposure per cell (population, time); empty: all alike.
        b: a prior rate per cell; it must be proportional to the exposures, as it is when left out.
        alpha: ``equal`` (the least the budget allows), ``public``, or a prior weight a per cell.
        copies: how many tables are drawn; m copies need m times the prior weight of one.
    """

    name: ClassVar[str] = "gamma_poisson"
    columns: Sequence[str] = ()
    size: int = 0
    exposures: Sequence[_Number] = ()
    b: Sequence[_Number] = ()
    alpha: Alpha = "equal"
    copies: int = 1

    @property
    def table_settings(self) -> TableSettings:
        """What a plan needs to set it beside the other recipes for tables."""
        return TableSettings(0, self.size, self.alpha, self.copies)

    @property
    def paid_copies(self) -> int:
        """Each copy of a drawn table has its price."""
        return self.copies

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One draw, the whole budget."""
        return (self._plan(public.schema).request(tariff, budget, public),)

    def fit(self, gate: Answers, public: PublicData) -> CountTable:
        """Draw once."""
        return self._plan(public.schema).fit(gate, public)

    def _plan(self, schema: Schema) -> UrnPlan:
        cells = schema.size(self.columns)
        for name, given in (("exposures", self.exposures), ("b", self.b)):
            if given and (len(given) != cells or min(float(x) for x in given) <= 0):
                raise JobError(
                    f"[gamma_poisson] {name} must be one number above 0 for each of the {cells} cells.\n"
                    "No confidential row was read and nothing was spent."
                )
        pis = [pi_of(m, b) for m, b in zip(self.exposures or (1,) * cells, self.b, strict=bool(self.b))]
        if self.b and odds_of(pis):
            raise JobError(
                "[gamma_poisson] b must be proportional to the exposures: then all pi = m / (b + 2 m) are alike and\n"
                "the draw costs what it says. Leave b out, or give b = k * exposures. (hedgerow.model.gamma_poisson\n"
                "works out what unequal pi would cost.) No confidential row was read and nothing was spent."
            )
        return UrnPlan(self.name, Marginal(tuple(self.columns)), 0, self.size, self.alpha, self.copies)
