"""What all runs on one table are worth together, and what one more may promise under a cap.

Two ways to add, and the better one counts (PROOFS.md, "The ledger"):

* basic: the epsilons add up, and so do the deltas;
* rho: the rhos add up (a run without a delta has epsilon^2 / 2) and are turned into epsilon at the cap's delta, as
  zCDP; exactly, and then this way alone counts, if all runs promised Gaussian noise only (the measure "gdp").

    >>> cap = Cap(Fraction(2), Fraction(1, 10**5))
    >>> ten = [Promised.of(Budget("0.5", "1e-6"))] * 10
    >>> round(float(cap.worth(ten)), 2), cap.holds(ten), float(cap.left(ten, Fraction(1, 10**6)))
    (1.53, True, 1.336966)
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

from hedgerow.public.costs.accounting import Budget, Measure, floor_sqrt, rho_for
from hedgerow.public.costs.gaussian import epsilon_in, rho_in

_SHOWN = 10**6  # what is left is rounded down to so many parts


class Promised(NamedTuple):
    """One run's promise, the rho that all its requests may cost, and in what they add up."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    measure: str

    @classmethod
    def of(cls, budget: Budget) -> "Promised":
        """The promise of a budget."""
        return cls.stated(budget.measure, budget.epsilon, budget.delta, budget.total)

    @classmethod
    def stated(cls, measure: str, epsilon: Fraction, delta: Fraction, total: Fraction) -> "Promised":
        """A promise as a ledger has it. The rho of a total in epsilon: half its square, and its Gaussian part."""
        if measure in ("zcdp", "gdp"):
            return cls(epsilon, delta, total, measure)
        return cls(epsilon, delta, total**2 / 2 + (rho_for(epsilon, delta) if delta else 0), measure)


class Cap(NamedTuple):
    """The (epsilon, delta) that all runs together may be worth. Delta 0: runs without a delta only, which add up."""

    epsilon: Fraction
    delta: Fraction

    def worth(self, made: Sequence[Promised]) -> Fraction | float:
        """An epsilon with which all runs together keep the cap's delta; infinite when there is none."""
        epsilon, delta, rho = _sums(made)
        together = _together(p.measure for p in made)
        basic = epsilon if delta <= self.delta and (together == "zcdp" or len(made) == 1) else inf
        return min(basic, Fraction(epsilon_in(together, rho, self.delta))) if self.delta and rho else basic

    def holds(self, made: Sequence[Promised]) -> bool:
        """Whether all runs together are worth no more than the cap."""
        return self.worth(made) <= self.epsilon

    def left(self, made: Sequence[Promised], delta: Fraction, measure: Measure = "zcdp") -> Fraction | None:
        """The most epsilon that one more run with ``delta`` may promise in ``measure``; below 0 or None if none.

        Exact where epsilons add up; rounded down where rhos do.
        """
        used = _sums(made)
        together = _together([measure, *(p.measure for p in made)])
        adds_up = used[1] + delta <= self.delta and (together == "zcdp" or not made)
        basic = self.epsilon - used[0] if adds_up else None
        if (
            measure == "basic"
            or not self.delta
            or (rho := rho_in(together, self.epsilon, self.delta) - used[2]) * _SHOWN**2 < 1
        ):
            return basic
        most = Fraction(epsilon_in(measure, rho, delta)) if delta else floor_sqrt(2 * rho)
        found = Fraction(int(most * _SHOWN), _SHOWN)
        return found if basic is None or found > basic else basic

    def around(self, made: Sequence[Promised], budget: Budget) -> tuple[Fraction, Fraction]:
        """The most epsilon left to a run with this delta, before ``budget`` and after; below 0 if it is refused."""
        then = [*made, Promised.of(budget)]
        after = (self.left(then, budget.delta, budget.measure) or Fraction(0)) if self.holds(then) else Fraction(-1)
        return self.left(made, budget.delta, budget.measure) or Fraction(0), after

    def most_left(self, made: Sequence[Promised]) -> tuple[Fraction, Fraction]:
        """A run in zCDP that may still be promised: the most epsilon at the cap's delta, or at what is left of it.

        With less delta it may be more.  Below 0 if a cap was lowered.
        """
        rest = self.delta - sum((p.delta for p in made), Fraction(0))
        tried = [(self.left(made, d), d) for d in (rest, self.delta) if d >= 0]
        found = [(e, d) for e, d in tried if e is not None and e >= 0]
        return max(found, key=lambda p: p[0]) if found else (self.epsilon - sum(p.epsilon for p in made), rest)


def _sums(made: Iterable[Promised]) -> tuple[Fraction, Fraction, Fraction]:
    """Of all epsilons, of all deltas, of all rhos."""
    nothing = Fraction(0)
    return (
        sum((p.epsilon for p in made), nothing),
        sum((p.delta for p in made), nothing),
        sum((p.rho for p in made), nothing),
    )


def _together(measures: Iterable[str]) -> Measure:
    """As what the rhos of such runs add up."""
    return "gdp" if set(measures) == {"gdp"} else "zcdp"
