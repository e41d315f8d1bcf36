"""What all runs on one table are worth together, and what one more may promise under a cap.

Two ways to add, and the better one counts (PROOFS.md, "Several runs"):

* basic: the epsilons add up, and so do the deltas;
* zCDP: the rhos add up (a run without a delta has epsilon^2 / 2) and are turned into epsilon at the cap's delta.

    >>> cap = Cap(Fraction(2), Fraction(1, 10**5))
    >>> ten = [Promised.of(Budget("0.5", "1e-6"))] * 10
    >>> round(float(cap.worth(ten)), 2), cap.holds(ten), float(cap.left(ten, Fraction(1, 10**6)))
    (1.53, True, 1.336966)
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

from hedgerow.public.costs.accounting import Budget, epsilon_of, floor_sqrt, rho_for

_SHOWN = 10**6  # what is left is rounded down to so many parts


class Promised(NamedTuple):
    """One run's promise, and the rho that all its requests may cost."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction

    @classmethod
    def of(cls, budget: Budget) -> "Promised":
        """The promise of a budget."""
        return cls.stated(budget.epsilon, budget.delta, budget.total)

    @classmethod
    def stated(cls, epsilon: Fraction, delta: Fraction, total: Fraction) -> "Promised":
        """A promise as a ledger has it: its total is epsilon without a delta, else rho."""
        return cls(epsilon, delta, total if delta else total**2 / 2)


class Cap(NamedTuple):
    """The (epsilon, delta) that all runs together may be worth. Delta 0: runs without a delta only, which add up."""

    epsilon: Fraction
    delta: Fraction

    def worth(self, made: Sequence[Promised]) -> Fraction | float:
        """An epsilon with which all runs together keep the cap's delta; infinite when there is none."""
        epsilon, delta, rho = (sum((p[i] for p in made), Fraction(0)) for i in range(3))
        basic = epsilon if delta <= self.delta else inf
        return min(basic, Fraction(epsilon_of(rho, self.delta))) if self.delta and rho else basic

    def holds(self, made: Sequence[Promised]) -> bool:
        """Whether all runs together are worth no more than the cap."""
        return self.worth(made) <= self.epsilon

    def left(self, made: Sequence[Promised], delta: Fraction) -> Fraction | None:
        """The most epsilon that one more run with ``delta`` may promise; below 0 or None if there is none.

        Exact where epsilons add up; rounded down where rhos do.
        """
        used = [sum((p[i] for p in made), Fraction(0)) for i in range(3)]
        basic = self.epsilon - used[0] if used[1] + delta <= self.delta else None
        if not self.delta or (rho := rho_for(self.epsilon, self.delta) - used[2]) * _SHOWN**2 < 1:
            return basic
        most = Fraction(epsilon_of(rho, delta)) if delta else floor_sqrt(2 * rho)
        found = Fraction(int(most * _SHOWN), _SHOWN)
        return found if basic is None or found > basic else basic

    def around(self, made: Sequence[Promised], budget: Budget) -> tuple[Fraction, Fraction]:
        """The most epsilon left to a run with this delta, before ``budget`` and after; below 0 if it is refused."""
        then = [*made, Promised.of(budget)]
        after = (self.left(then, budget.delta) or Fraction(0)) if self.holds(then) else Fraction(-1)
        return self.left(made, budget.delta) or Fraction(0), after

    def most_left(self, made: Sequence[Promised]) -> tuple[Fraction, Fraction]:
        """A run that may still be promised: the most epsilon at the cap's delta, or at what is left of it.

        With less delta it may be more.  Below 0 if a cap was lowered.
        """
        rest = self.delta - sum((p.delta for p in made), Fraction(0))
        tried = [(self.left(made, d), d) for d in (rest, self.delta) if d >= 0]
        found = [(e, d) for e, d in tried if e is not None and e >= 0]
        return max(found, key=lambda p: p[0]) if found else (self.epsilon - sum(p.epsilon for p in made), rest)
