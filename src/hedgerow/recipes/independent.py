"""``independent``: measure every attribute on its own, once. The floor every other recipe must beat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from hedgerow.answers import Answers
from hedgerow.model.records import ProductModel, fit_product
from hedgerow.public import Budget, Marginal, Measure, PublicData, Schema, Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, drawable, noise_on_total


@final
@dataclass(frozen=True)
class Independent(AbstractRecipe):
    """One-way tables with equal noise, projected, and records drawn from their product.

    Attributes:
        rows: the number of records when it is public; otherwise the noisy tables tell.
    """

    name: ClassVar[str] = "independent"
    rows: int | None = None

    def rules(self) -> dict[str, bool]:
        """The number of records is one that a table can have."""
        return {"rows is 1 or more": self.rows is None or self.rows >= 1}

    @property
    def draws_from_public(self) -> bool:
        """Records come from the answers alone."""
        return False

    @property
    def accounting(self) -> Measure:
        """All its noise is Gaussian."""
        return "gdp"

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One request: all one-way tables, the whole budget."""
        return (tariff.measure_all(self._one_ways(public.schema), budget.total),)

    def surplus(self, requests: Sequence[Spend]) -> int:
        """The number of records is a noisy one, unless it is declared."""
        return 0 if self.rows else noise_on_total(requests)

    def fit(self, gate: Answers, public: PublicData) -> ProductModel:
        """Ask for every attribute's table, and let each stand for itself."""
        answers = gate.measure(self._one_ways(public.schema), gate.left)
        fitted = fit_product(gate.tariff.coding, answers, total=self.rows)
        drawable(fitted.total)
        return fitted

    @staticmethod
    def _one_ways(schema: Schema) -> list[Marginal]:
        return [Marginal((a,)) for a in schema.attributes]
