"""First records of careers as a table of their own, so that a recipe for tables can make them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

from hedgerow.answers import Answers
from hedgerow.public import (
    Budget,
    Counts,
    Law,
    Marginal,
    Measure,
    Measurement,
    PublicData,
    Spend,
    Tariff,
    Tree,
    first_names,
)
from hedgerow.recipes.blend.public_blend import PublicBlend
from hedgerow.recipes.blend.tree_blend import TreeBlend


@final
class PartOfBudget(Budget):
    """A part of a promise, as a recipe within a recipe sees it."""

    def __init__(self, whole: Budget, part: Fraction) -> None:
        super().__init__(whole.epsilon, whole.delta)
        object.__setattr__(self, "_whole", whole)
        object.__setattr__(self, "_part", part)

    @property
    def measure(self) -> Measure:
        """That of the whole."""
        return self._whole.measure  # type: ignore[attr-defined,no-any-return]

    @property
    def total(self) -> Fraction:
        """The part of the whole."""
        return self._whole.total * self._part  # type: ignore[attr-defined,no-any-return]


@final
@dataclass(frozen=True, eq=False)
class FirstRecords:
    """First records as a table of their own: who makes them, at what price, with which part of the budget."""

    recipe: PublicBlend | TreeBlend
    tariff: Tariff
    budget: Budget
    public: PublicData

    def renamed(self, spend: Spend, tariff: Tariff) -> Spend:
        """A request about first records as the gate of careers knows it."""
        return tariff.measure_all(
            [_first(a.question) for a in spend.asked], spend.cost, weights=[a.cost for a in spend.asked]
        )

    def asking(self, gate: Answers) -> "_Answers":
        """The gate of careers as one of a table of first records."""
        return _Answers(gate, self.tariff, self.budget)


def _first(question: Marginal) -> Marginal:
    tree = question.tree
    assert not question.only, "blends ask for tables of all rows"
    if tree is not None:  # a pair in bands
        tree = Tree.of(first_names(tree.columns), tree.leaves, *tree.arrays)
    return Marginal(first_names(question.columns), tree)


@final
@dataclass
class _Answers:
    """Answers about first records, from a gate of careers."""

    gate: Answers
    tariff: Tariff
    budget: Budget
    spent: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What of the part is left."""
        return self.budget.total - self.spent

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """The noisy counts of people by their first records."""
        self.spent += cost
        found = self.gate.measure([_first(q) for q in questions], cost, weights=weights, law=law)
        return tuple(replace(m, question=q) for m, q in zip(found, questions, strict=True))

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The question whose estimate is furthest off."""
        self.spent += cost
        names = {_first(q): q for q in estimates}
        return names[self.gate.select({_first(q): e for q, e in estimates.items()}, cost)]

    def measure_relabelled(self, *given: Any) -> tuple[Measurement, ...]:
        """Refused: no blend asks for it."""
        raise TypeError("First records are not relabelled.")

    def draw_urn(self, *given: Any) -> tuple[Measurement, ...]:
        """Refused: no blend asks for it."""
        raise TypeError("First records are not drawn from urns.")
