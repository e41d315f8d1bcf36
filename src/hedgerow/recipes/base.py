"""What every recipe is: settings, the requests it will make, and how answers become a model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, runtime_checkable

from hedgerow.counting.relabel import LabelLaw
from hedgerow.model.base import Fitted
from hedgerow.public.accounting import Budget, Relation
from hedgerow.public.question import Counts, Law, Marginal, Measurement
from hedgerow.public.schema import Schema
from hedgerow.public.spend import Spend, Tariff
from hedgerow.public.table import PublicTable
from hedgerow.public.urn import Urn


@dataclass(frozen=True)
class PublicData:
    """What a recipe may use freely.

    Attributes:
        schema: what the columns mean, settled.
        relative: the public relative of the confidential table, if there is one.
        target: the rows that receive private columns, if the job has them.
        assumed_rows: a public guess of the confidential table's number of rows, for plans only.
    """

    schema: Schema
    relative: PublicTable | None = None
    target: PublicTable | None = None
    assumed_rows: int | None = None


@runtime_checkable
class Measures(Protocol):
    """Who answers the two kinds of questions that every recipe may ask."""

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


@runtime_checkable
class Answers(Measures, Protocol):
    """What a recipe may ask. Recorded answers, and a public stand-in, are among those who give them."""

    tariff: Tariff
    budget: Budget

    @property
    def left(self) -> Fraction:
        """What may still be spent, in the measure of the budget."""

    def measure_relabelled(
        self, questions: Sequence[Marginal], laws: Sequence[LabelLaw], cost: Fraction
    ) -> tuple[Measurement, ...]:
        """The noisy counts of ``questions`` over rows whose labels were drawn by ``laws`` first."""

    def draw_urn(self, question: Marginal, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
        """Synthetic counts of ``question``, drawn from urns: one table per copy."""


class AbstractRecipe(ABC):
    """A named way to spend a budget. Settings are fields; the plan is the body; it never holds a table."""

    name: ClassVar[str]
    relation: ClassVar[Relation] = "add-remove"
    """The relation of a job that does not say one."""
    attaches: ClassVar[bool] = False
    """Whether it writes private columns onto the rows of a target, which the job must name.

    The public table may lack those columns then.
    """

    @property
    def stated(self) -> str:
        """The recipe as a statement names it."""
        return self.name

    @abstractmethod
    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """What will be asked, as far as it is known before the first answer."""

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What a plan should say of this recipe besides its requests, in lines for people."""
        return ()

    def memory(self, public: PublicData, rows: int) -> int:
        """About how many bytes the recipe holds at its widest, for a table of ``rows`` rows; from public facts."""
        return 24 * len(public.schema.columns) * rows

    def surplus(self, requests: Sequence[Spend]) -> int:
        """How many records more than the table has rows the noise of ``requests`` may make; 0 if it makes none."""
        return 0

    def lighter(self, public: PublicData, rows: int) -> str:
        """Which of the recipe's own settings make it need less memory, if any do; for a refusal."""
        return ""

    def seconds(self, public: PublicData, rows: int) -> float:
        """About how many CPU seconds the recipe takes for a table of ``rows`` rows; from public facts."""
        return 2e-7 * rows * len(public.schema.columns)

    @abstractmethod
    def fit(self, gate: Answers, public: PublicData) -> Fitted:
        """Ask until the plan is done, and return what the answers become."""
