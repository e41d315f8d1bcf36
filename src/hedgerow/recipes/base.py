"""What every recipe is: settings, the requests it will make, and how answers become a model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from hedgerow.answers.protocol import Answers
from hedgerow.model.base import Fitted
from hedgerow.public.costs.accounting import Budget, Relation
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.public.table import PublicData


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
