"""How often settings are tried when the best of several runs is kept, and what that costs.

Keeping the best of a *fixed* number k of epsilon-DP runs costs k epsilon.  If the number is drawn at random, and not
told, the whole costs 2 epsilon (logarithmic law) or 3 epsilon (geometric), however many runs there are (PROOFS.md).

    >>> Stopping("logarithmic", Fraction(1, 50)).factor, Stopping("geometric", Fraction(1, 10)).factor
    (2, 3)
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from hedgerow.errors import JobError
from hedgerow.public.costs.accounting import Guarantee, noise_for
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import PricedQuestion, Spend

SCORE_SHARE = Fraction(1, 5)
"""The part of each run's epsilon that its score gets."""


@final
@dataclass(frozen=True)
class Stopping:
    """The law of the number of runs: P(k) in proportion to (1 - gamma)^k / k, or to (1 - gamma)^k."""

    law: Literal["logarithmic", "geometric"] = "logarithmic"
    gamma: Fraction = Fraction(1, 50)

    def __post_init__(self) -> None:
        if self.law not in ("logarithmic", "geometric") or not Fraction(1, 10_000) <= self.gamma < 1:
            raise JobError(
                "The stopping law is logarithmic or geometric, with gamma from 1/10000 to below 1; got\n"
                f"{self.law!r}, {self.gamma}. No confidential row was read and nothing was spent."
            )

    @property
    def factor(self) -> int:
        """The cost of the whole over that of one run."""
        return 2 if self.law == "logarithmic" else 3


@final
@dataclass(frozen=True)
class Choice:
    """A request for the best of a random number of runs.

    Attributes:
        candidates: a name for each setting; one is drawn for every run, all equally likely.
        tables: a run is better the closer its counts are to the true ones, summed over these tables.
        stopping: the law of the number of runs.
    """

    candidates: tuple[str, ...]
    tables: tuple[Marginal, ...]
    stopping: Stopping

    def __post_init__(self) -> None:
        if not self.candidates or not self.tables or len(set(self.tables)) < len(self.tables):
            raise JobError("A choice needs settings to choose among, and tables, each named once. Nothing was spent.")

    def each(self, cost: Fraction) -> tuple[Fraction, Fraction]:
        """Of a total cost, what one run may spend on its answers and on its score."""
        run = cost / self.stopping.factor
        return run * (1 - SCORE_SHARE), run * SCORE_SHARE

    def price(self, guarantee: Guarantee, cost: Fraction) -> Spend:
        """The request: the score is a sum over tables, each of which one unit moves by at most l1."""
        if type(cost) is not Fraction or cost <= 0:
            raise JobError("A choice needs a cost above 0. Nothing was read or spent.")
        noise = noise_for(self.each(cost)[1] / len(self.tables), "laplace", "pure", guarantee)
        tables = ", ".join(map(str, self.tables))
        law = f"{self.stopping.law} law, gamma {self.stopping.gamma}"
        asked = Marginal((f"best of a random number of runs ({law}) over {', '.join(self.candidates)} by {tables}",))
        return Spend("measure", (PricedQuestion(asked, 1, noise, cost),), cost)


def plain(choice: Choice) -> Choice:
    """The choice in copies of the plainest types: no code of its maker runs while rows are in hand."""
    stop, tables = choice.stopping, tuple(Marginal(tuple(t.columns)) for t in choice.tables)
    gamma = Fraction(int(stop.gamma.numerator), int(stop.gamma.denominator))
    made = Choice(tuple(choice.candidates), tables, Stopping(stop.law, gamma))
    words = {type(w) for w in (stop.law, *made.candidates, *(c for t in tables for c in t.columns))}
    if type(choice) is not Choice or words != {str} or any(t.tree or t.only for t in choice.tables):
        raise JobError("This is no choice among settings by plain tables. No row was read and nothing was spent.")
    return made
