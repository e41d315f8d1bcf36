"""What every recipe is: settings, the requests it will make, and how answers become a model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Protocol, runtime_checkable

from hedgerow.model.base import AbstractModel
from hedgerow.public.accounting import Budget
from hedgerow.public.question import Counts, Law, Marginal, Measurement
from hedgerow.public.schema import Schema
from hedgerow.public.spend import Spend, Tariff
from hedgerow.public.table import PublicTable


@runtime_checkable
class Answers(Protocol):
    """What a recipe may ask. The gate is one; recorded answers, or a public stand-in, are others."""

    schema: Schema
    tariff: Tariff
    budget: Budget

    @property
    def left(self) -> Fraction:
        """What may still be spent, in the measure of the budget."""

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """The noisy counts of ``questions``."""

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The question whose estimate is furthest from the truth, chosen with noise."""


class AbstractRecipe(ABC):
    """A named way to spend a budget. Settings are fields; the plan is the body; it never holds a table."""

    name: ClassVar[str]

    @abstractmethod
    def requests(self, schema: Schema, budget: Budget, tariff: Tariff) -> tuple[Spend, ...]:
        """What will be asked, as far as it is known before the first answer."""

    @abstractmethod
    def fit(self, gate: Answers, public: PublicTable | None = None) -> AbstractModel:
        """Ask until the plan is done, and return the model."""
