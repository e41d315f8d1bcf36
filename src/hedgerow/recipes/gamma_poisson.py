"""``gamma_poisson``: counts by area with exposures, drawn exactly given their sum (after Quick 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from hedgerow.errors import JobError
from hedgerow.model.gamma_poisson import odds_of, pi_of
from hedgerow.model.tabulation import CountTable
from hedgerow.public.accounting import Budget
from hedgerow.public.question import Marginal
from hedgerow.public.schema import Schema
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData
from hedgerow.recipes.urn_plan import Alpha, UrnPlan

_Number = int | float | str


@final
@dataclass(frozen=True)
class GammaPoisson(AbstractRecipe):
    """One draw of all areas' counts given their sum; the draw is the mechanism.

    Attributes:
        columns: the columns whose cells are the areas.
        size: what the synthetic counts sum to (S), a public number.
        exposures: a public exposure per cell (population, time); empty: all alike.
        b: a prior rate per cell; empty: proportional to the exposures, which is exact at no extra cost.
        alpha: ``equal`` (the least the budget allows), ``public``, or a prior weight a per cell.
    """

    name: ClassVar[str] = "gamma_poisson"
    columns: tuple[str, ...] = ()
    size: int = 0
    exposures: Sequence[_Number] = ()
    b: Sequence[_Number] = ()
    alpha: Alpha = "equal"

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
        odds: tuple[int, ...] = ()
        if self.b:  # without b it is proportional to the exposures, and all pi are alike
            exposures = self.exposures or (1,) * cells
            odds = odds_of([pi_of(m, b) for m, b in zip(exposures, self.b, strict=True)])
        return UrnPlan(self.name, Marginal(tuple(self.columns)), 0, self.size, self.alpha, odds)
