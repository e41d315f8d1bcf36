"""What must be said of a plan before anything is paid: a weak promise, and noise that exceeds the table."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, sqrt

from hedgerow.public import Budget, PricedQuestion, Spend, law_of


class PlanWarning(UserWarning):
    """What a plan warns of, said by a run in Python before anything is booked."""


WEAK = 10
"""An epsilon above this may turn a guess held with one chance in 1,000 into near certainty."""


FEW = 100
"""Rows: a table of unknown size is taken to have as many."""


def weak_promise(budget: Budget, unit: str) -> str:
    """What an epsilon above ``WEAK`` means; empty for others.

    >>> weak_promise(Budget("100"), "record")[:37]
    'epsilon 100 is a weak promise: a gues'
    """
    if budget.epsilon <= WEAK:
        return ""
    odds = exp(min(float(budget.epsilon), 700.0)) / 999
    after = f"{100 * odds / (1 + odds):.0f}" if odds < 99 else "more than 99"
    return (
        f"epsilon {float(budget.epsilon):g} is a weak promise: a guess about one {unit} that somebody holds with 1 "
        f"chance in 1,000 may become one with {after} in 100. Choose {WEAK} or less, unless more is what you mean."
    )


def too_noisy(requests: Sequence[Spend], rows: int | None, budget: Budget) -> str:
    """Whether even the clearest table that is asked for gets more noise than a table of ``rows`` rows has counts.

    Where the number of rows is not known it says how many there must be.  Empty where all is well, or nothing
    is measured with noise.  What ``budget`` keeps for later is taken to go to the same tables: the best case.
    """
    tables = _noisy(requests, budget)
    if not tables:
        return ""
    noise, clearest = min(tables, key=lambda t: t[0])
    later = sum((r.cost for r in requests), Fraction(0)) < budget.total
    case = ", if all that is left of the budget goes to the same tables" * later
    said = f"the clearest table asked for, gets about {noise:,.0f} counts of noise over its cells{case}"
    if rows is None and noise < FEW:
        return ""
    if rows is None:
        return (
            f"the number of rows is not declared. {clearest.question}, {said}. Of a table with fewer rows than that, "
            "what is published is mostly noise. Say the number with assumed_rows in [confidential], if it is public."
        )
    if noise < rows:
        return ""
    return (
        f"noise exceeds the table: even {clearest.question}, {said}, and {rows:,} rows are assumed. Ask for fewer or "
        "coarser columns, or allow a larger epsilon."
    )


def mostly_noise(requests: Sequence[Spend], rows: int | None, budget: Budget) -> str:
    """How many of the tables get noise that moves a quarter of the rows, if these are half of them; else empty."""
    tables = _noisy(requests, budget)
    lost = [noise for noise, _ in tables if rows and 2 * noise >= rows]
    if not lost or 2 * len(lost) < len(tables):
        return ""
    return (
        f"in {len(lost):,} of the {len(tables):,} tables asked for, noise moves a quarter of the {rows:,} assumed "
        "rows or more, and no public table makes up for it. Ask for fewer or coarser columns, or allow a larger "
        "epsilon."
    )


def _noisy(requests: Sequence[Spend], budget: Budget) -> list[tuple[float, PricedQuestion]]:
    """The expected sum of all noise on each table, without its sign, as if the whole budget went to these tables."""
    part = float(sum((r.cost for r in requests), Fraction(0)) / budget.total)
    ease = part if budget.measure == "pure" else sqrt(part)
    asked = (a for r in requests for a in r.asked)
    return [(ease * law.mean_absolute * a.cells, a) for a in asked if (law := law_of(a.noise)).added]
