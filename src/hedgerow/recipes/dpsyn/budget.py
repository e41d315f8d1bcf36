"""How the DPSyn paper divides a budget: which of its three methods is used, and what each part gets.

The rule is the paper's ("Choosing Among the Three Methods"), in its own terms: epsilon, delta, theta (the
most rows of one person, its sensitivity) and a noisy number of rows.  It is arithmetic on public numbers.

    >>> split = split_budget(1.0, delta=2.5e-5, theta=1, rows=1_000_000)
    >>> split.regime, split.group, round(split.tables, 6), split.round_to
    ('two_way', 0.04, 0.959286, 100)
    >>> {name: round(scale, 2) for name, scale in split.scales(1, 2.5e-5).items()}
    {'total_laplace': 1400.0, 'group_laplace': 25.0, 'two_way_gaussian': 78.02}
"""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Literal, final

from hedgerow.errors import JobError

Regime = Literal["public_only", "one_way", "two_way"]
ONE_WAYS, PAIRS = 23, 253
"""How many tables of each kind the paper's file has, without its two group columns."""


@final
@dataclass(frozen=True)
class Rule:
    """The paper's constants. Its authors tuned them on the public file of one challenge: 1.3 million rows.

    Attributes:
        total: theta / total is spent on the noisy number of rows (epsilon 0).
        low: theta / low is the least worth spending on the group table before anything else (epsilon 1).
        middle: below theta / middle, all goes to the group table (epsilon 2).
        high: theta / high is the most spent on the group table once other tables are asked (epsilon 3).
        one_way: one-way tables are worth it from one_way * theta / rows on (tau 1).
        two_way: two-way tables from two_way times that (tau 2).
        round_public: group sizes are multiples of this (K) when only public tables are used.
        round_measured: and of this when tables were measured.
    """

    total: float = 1400
    low: float = 50
    middle: float = 35
    high: float = 25
    one_way: float = 1500
    two_way: float = 6
    round_public: int = 10
    round_measured: int = 100

    def __post_init__(self) -> None:
        if min(self.total, self.low, self.middle, self.high, self.one_way, self.two_way) <= 0:
            raise JobError("Every constant of the dpsyn rule must be above 0. Nothing was read or spent.")
        if self.round_public < 1 or self.round_measured < 1:
            raise JobError("Group sizes are rounded to a multiple of 1 or more. Nothing was read or spent.")

    def thresholds(self, theta: int) -> tuple[float, float, float, float]:
        """The paper's epsilon 0, 1, 2 and 3: for the number of rows; least, middle and most for the group table.

        >>> [round(e, 6) for e in PAPER.thresholds(7)]
        [0.005, 0.14, 0.2, 0.28]
        """
        return theta / self.total, theta / self.low, theta / self.middle, theta / self.high


PAPER = Rule()


@final
@dataclass(frozen=True)
class Split:
    """What each part of the method gets, in epsilon: total + group + tables is the whole.

    Attributes:
        regime: which of the three methods is used.
        total: for the noisy number of rows; 0 when it is not asked.
        group: for the table of group sizes.
        tables: for all one-way tables, or all two-way tables; 0 when only public tables are used.
        round_to: group sizes are rounded to a multiple of this.
        reason: why only public tables are used.
        tau1: the least that one-way tables are worth asking for; None when that was not worked out.
        tau2: the least that two-way tables are worth asking for; None when that was not worked out.
    """

    regime: Regime
    total: float
    group: float
    tables: float
    round_to: int
    reason: str = ""
    tau1: float | None = None
    tau2: float | None = None

    def scales(self, theta: int, delta: float, *, one_ways: int = ONE_WAYS, pairs: int = PAIRS) -> dict[str, float]:
        """The noise of every part as the paper sets it: Laplace scales, and the sigma of Gaussian noise.

        Keys, each there only when that part is asked: ``total_laplace`` theta / total; ``group_laplace`` theta /
        group; ``one_way_laplace`` one_ways theta / tables, and beside it ``one_way_gaussian``, what Gaussian noise
        would need (not with delta 0); ``two_way_gaussian``.  The Gaussian footnote: sqrt(rho) = sqrt(epsilon + L) -
        sqrt(L) with L = log(1 / delta), divided equally over the tables, sigma = theta sqrt(tables / (2 rho)).
        """
        found = {"total_laplace": theta / self.total} if self.total else {}
        found["group_laplace"] = theta / self.group
        if self.regime == "one_way":
            found["one_way_laplace"] = one_ways * theta / self.tables
            if delta > 0:
                found["one_way_gaussian"] = theta * sqrt(one_ways / (2 * paper_rho(self.tables, delta)))
        if self.regime == "two_way":
            found["two_way_gaussian"] = theta * sqrt(pairs / (2 * paper_rho(self.tables, delta)))
        return found


def total_share(epsilon: float, theta: int, rule: Rule = PAPER) -> float:
    """What the noisy number of rows gets: theta / 1400, or nothing when all goes to the group table."""
    first, _, middle, _ = rule.thresholds(theta)
    return 0.0 if epsilon < middle else first


def split_budget(epsilon: float, *, delta: float, theta: int, rows: float, rule: Rule = PAPER) -> Split:
    """The paper's choice of method and division of epsilon, given a noisy (or assumed) number of rows.

    Args:
        epsilon: the whole budget, above 0.
        delta: 0, or between 0 and 1.  It decides nothing but whether there may be Gaussian noise: two-way tables
            have no pure epsilon, so with 0 the rule stops at one-way.  The split does not depend on it otherwise;
            ``Split.scales`` does.
        theta: the most that one person moves a table, a whole number from 1: ``rows_per_person`` when a person is
            added or removed, twice that when replaced.
        rows: the noisy number of rows, or an assumed one; any number.  Noise may leave it at zero or below, where
            the paper's thresholds would turn negative and choose the richest method for the emptiest table: it is
            taken as at least 1.  Not looked at (so tau1 and tau2 are None) when epsilon is below theta / 35.
        rule: the constants; by default the paper's.

    An epsilon equal to a threshold belongs to the regime above it.  The floor of 300 records and the rounding
    to multiples of ``round_to`` (10 or 100) are applied to the noisy group sizes later, and cost nothing.

    >>> split_budget(1.0, delta=2.5e-5, theta=1, rows=-500).regime
    'public_only'
    >>> at_the_edge = split_budget(1 / 35, delta=2.5e-5, theta=1, rows=1_000_000)
    >>> at_the_edge.regime, round(at_the_edge.group, 6), at_the_edge.tau1, at_the_edge.round_to
    ('one_way', 0.023179, 0.0015, 100)
    """
    if not (0 < epsilon < inf and 0 <= delta < 1 and theta >= 1):
        raise JobError(
            f"Cannot divide epsilon = {epsilon}, delta = {delta} with theta = {theta}: epsilon must be above 0\n"
            "and finite, delta 0 or between 0 and 1, theta 1 or more. Nothing was read and nothing was spent."
        )
    first, least, middle, most = rule.thresholds(theta)
    if epsilon < middle:
        reason = f"eps<theta/{rule.middle:g}"
        return Split("public_only", 0.0, epsilon, 0.0, rule.round_public, reason)
    tau1 = rule.one_way * theta / (rows if rows >= 1 else 1.0)
    tau2 = rule.two_way * tau1
    if epsilon < first + least + tau1:
        return Split("public_only", first, epsilon - first, 0.0, rule.round_public, "eps<e0+e1+tau1", tau1)
    regime: Regime = "one_way" if epsilon < first + least + tau2 or delta == 0 else "two_way"
    spare = epsilon - first - least - (tau1 if regime == "one_way" else tau2)
    group = min(most, least + spare / 2)
    return Split(regime, first, group, epsilon - first - group, rule.round_measured, "", tau1, tau2)


def paper_rho(epsilon: float, delta: float) -> float:
    """The rho the paper's footnote gives to (epsilon, delta): Bun and Steinke 2016, Proposition 1.3, solved."""
    return (sqrt(epsilon + log(1 / delta)) - sqrt(log(1 / delta))) ** 2
