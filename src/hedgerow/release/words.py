"""The promise of a statement in plain words, and numbers as people read them.

The odds are computed per relation.  Removing or adding one unit moves the odds of *being in the table* by
e^epsilon at most; but to turn one value of somebody who is in it into another, a unit must go and another
come, which is two steps under add-remove and one under replace-one and label-change.

    >>> [of_100(p) for p in (0.5, 0.731, 0.99999)], one_in(Fraction(1, 10**6)), decimal(Fraction(1, 3))
    (['50', '73', 'nearly 100'], '1 in 1,000,000', '0.33334')
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, exp, floor, log, sqrt

from hedgerow.figures.words import beside as beside
from hedgerow.figures.words import many as many
from hedgerow.figures.words import percent as percent
from hedgerow.figures.words import small as small
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Noise
from hedgerow.public.costs.statement import Statement

PRIORS = (0.5, 0.1)


@dataclass(frozen=True)
class Odds:
    """How often a guess is right, in 100, without the release and at most with it."""

    before: float
    after: float


@dataclass(frozen=True)
class Promise:
    """The guarantee, ready to print.

    Attributes:
        epsilon: the promised epsilon.
        delta: the promised delta; empty when it is 0.
        failing: how often the odds may fail, in words; empty when delta is 0.
        unit: who is protected.
        neighbours: against which change of the table.
        guess: what somebody would like to know, as the end of "thinks that ...".
        odds: how far the release can move that guess.
        value_odds: the same for a value of somebody known to be in the table, where that is two steps.
        unprotected: what the promise does not cover, most important first: a name, and a sentence.
    """

    epsilon: str
    delta: str
    failing: str
    unit: str
    neighbours: str
    guess: str
    odds: tuple[Odds, ...]
    value_odds: tuple[Odds, ...]
    unprotected: tuple[tuple[str, str], ...]


def promise_of(statement: Statement) -> Promise:
    """The promise of ``statement`` in words."""
    g, b = statement.guarantee, statement.budget
    two_steps = g.relation == "add-remove"
    epsilon = float(b.epsilon)
    return Promise(
        epsilon=decimal(b.epsilon),
        delta=decimal(b.delta) if b.delta else "",
        failing=_failing(statement),
        unit=_unit(g),
        neighbours=_neighbours(g),
        guess="you are in the table" if two_steps else _fact(g),
        odds=tuple(Odds(p, grown(p, epsilon)) for p in PRIORS),
        value_odds=tuple(Odds(p, grown(p, 2 * epsilon)) for p in PRIORS) if two_steps else (),
        unprotected=_unprotected(statement),
    )


def _failing(s: Statement) -> str:
    """How often the odds may fail: delta, and e^epsilon + 1 times that over two steps."""
    steps = 1 + ceil(exp(min(float(s.budget.epsilon), 30))) if s.guarantee.relation == "add-remove" else 1
    return one_in(s.budget.delta * steps) if s.budget.delta else ""


def grown(prior: float, epsilon: float) -> float:
    """The chance whose odds are e^epsilon times those of ``prior``."""
    return prior / (prior + (1 - prior) * exp(-epsilon))


def _unit(g: Guarantee) -> str:
    if g.unit == "record":
        return "one record, that is one row of the table"
    rows = "one row" if g.rows_per_person == 1 else f"{g.rows_per_person} rows"
    return f"one person, with at most {rows} of that person counted (people are told apart by {g.person})"


def _neighbours(g: Guarantee) -> str:
    whose = "one record" if g.unit == "record" else "all rows of one person"
    if g.relation == "add-remove":
        return f"the table with {whose}, and the table without"
    if g.relation == "replace-one":
        return f"the table, and the table with {whose} replaced by any other"
    listed = ", ".join(g.public_columns) or "none"
    return f"the table, and the table with other values in {whose}, except in the columns declared public ({listed})"


def _fact(g: Guarantee) -> str:
    which = " in the columns that are not public" if g.relation == "label-change" else ""
    return f"the table says one thing rather than another of you{which}"


def _unprotected(s: Statement) -> tuple[tuple[str, str], ...]:
    g, found = s.guarantee, list[tuple[str, str]]()
    if g.unit == "record":
        times = (
            "k times the epsilon"
            if s.budget.delta == 0
            else "more than k times the epsilon: rho grows with k squared"
        )
        weaker = f"The unit is a record: somebody with k rows in the table is protected with {times}."
        found.append(("People with several rows", weaker))
    groups = "A fact about a group may let somebody draw a conclusion about you, whether or not you are in the table."
    found.append(("What is true of groups", groups))
    found.append(("What was public already", "By declaration: " + "; ".join(s.invariants) + "."))
    if any(i.role in ("public", "target") for i in s.public_inputs):
        on_top = (
            "If one was itself made from the confidential table, the promise holds on top of what it already tells."
        )
        found.append(("The public tables that were used", on_top))
    adding = "Other releases from the same table add their epsilon and delta; the steward's ledger keeps the sum."
    found.append(("The sum of several releases", adding))
    return tuple(found)


def plus_minus(noise: Noise, cells: int = 1) -> float:
    """Within this of the truth lies a noisy count (or a sum of ``cells`` of them) 95 times in 100.

    >>> plus_minus(Noise("laplace", Fraction(10))), round(plus_minus(Noise("gaussian", Fraction(100))), 1)
    (30.0, 19.6)
    """
    if noise.law == "laplace" and cells == 1:  # P(|k| > x) = 2 q^(x+1) / (1 + q), q = exp(-1 / scale)
        scale = float(noise.scale)
        return float(max(0, ceil(scale * (log(2 / 0.05) - log(1 + exp(-1 / scale))) - 1)))
    return 1.96 * sqrt(cells * noise.variance)


def of_100(chance: float) -> str:
    """A chance as "so many in 100"; never 100, which no promise reaches."""
    return f"{100 * chance:.0f}" if chance < 0.995 else f"{100 * chance:.1f}" if chance < 0.9995 else "nearly 100"


def one_in(chance: Fraction) -> str:
    """A small chance as "1 in so many", rounded to the larger chance."""
    return f"1 in {floor(1 / chance):,}" if chance < 1 else "always"


def decimal(value: Fraction, digits: int = 5) -> str:
    """The number in decimals: exact when it is short, else rounded up at the last of ``digits`` that count."""
    whole = Context(prec=max(digits, len(str(int(value)))), rounding=ROUND_CEILING)
    shown = whole.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{shown:,f}" if shown == 0 or shown.adjusted() >= -7 else f"{shown:e}".replace("e-0", "e-")
