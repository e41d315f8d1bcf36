"""What a recipe may ask: of the gate, of a record of its answers, or of a public stand-in."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

from hedgerow.counting.relabel import LabelLaw
from hedgerow.public import Budget, Counts, Law, Marginal, Measurement, Tariff, Urn


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
