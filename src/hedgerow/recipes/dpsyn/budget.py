"""How the DPSyn paper divides a budget: which of its three methods is used, what each part gets, what it costs here.

The rule is the paper's ("Choosing Among the Three Methods"), in its own terms: epsilon, delta, theta (the
most rows of one person, its sensitivity) and a noisy number of rows.  It is arithmetic on public numbers.

    >>> split = split_budget(1.0, delta=2.5e-5, theta=1, rows=1_000_000)
    >>> split.regime, split.group, round(split.tables, 6), split.round_to
    ('two_way', 0.04, 0.959286, 100)
    >>> {name: round(scale, 2) for name, scale in split.scales(1, 2.5e-5).items()}
    {'total_laplace': 1400.0, 'group_laplace': 25.0, 'two_way_gaussian': 78.02}

The paper adds up epsilons: Laplace noise at epsilon a and b, Gaussian noise at (c, delta), a + b + c in all.
As written, a job books exactly that sum: epsilons add up, and the Gaussian part has the delta (the measure "basic").
So it runs at the paper's own noise.  The paper's footnote has more Gaussian noise than (c, delta) asks for: that
part of c stays unspent.  Repaired, a job with a delta books rho: noise of the paper's scale for epsilon a costs
a^2 / 2, k tables at a / k each cost a^2 / (2 k), and all noise is Gaussian, half the variance at that price.  Then

* the tables usually cost less together than the promise buys, and what is left goes to them;
* where large shares cost more than the promise buys (a small epsilon, a large theta), noise has to grow; a
  price is a square, so the group sizes would take nearly all: they take at most the share of rho that the paper
  gives them of epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, inf, log, sqrt
from typing import Literal, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.public import Budget, Law, Spend, Tariff, epsilon_of, law_of

Regime = Literal["public_only", "one_way", "two_way"]
_GRAIN = 10**15
ONE_WAYS, PAIRS = 23, 253
"""How many tables of each kind the paper's file has, without its two group columns."""


@final
@dataclass(frozen=True)
class PaperRule:
    """The paper's constants. It does not say how they were found; they are for the files of one challenge.

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


PAPER = PaperRule()


@final
@dataclass(frozen=True)
class BudgetSplit:
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


def total_share(epsilon: float, theta: int, rule: PaperRule = PAPER) -> float:
    """What the noisy number of rows gets: theta / 1400, or nothing when all goes to the group table."""
    first, _, middle, _ = rule.thresholds(theta)
    return 0.0 if epsilon < middle else first


def split_budget(epsilon: float, *, delta: float, theta: int, rows: float, rule: PaperRule = PAPER) -> BudgetSplit:
    """The paper's choice of method and division of epsilon, given a noisy (or assumed) number of rows.

    Args:
        epsilon: the whole budget, above 0.
        delta: 0, or between 0 and 1.  It decides nothing but whether there may be Gaussian noise: two-way tables
            have no pure epsilon, so with 0 the rule stops at one-way.  The split does not depend on it otherwise;
            ``BudgetSplit.scales`` does.
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
        return BudgetSplit("public_only", 0.0, epsilon, 0.0, rule.round_public, reason)
    tau1 = rule.one_way * theta / (rows if rows >= 1 else 1.0)
    tau2 = rule.two_way * tau1
    if epsilon < first + least + tau1:
        return BudgetSplit("public_only", first, epsilon - first, 0.0, rule.round_public, "eps<e0+e1+tau1", tau1)
    regime: Regime = "one_way" if epsilon < first + least + tau2 or delta == 0 else "two_way"
    spare = epsilon - first - least - (tau1 if regime == "one_way" else tau2)
    group = min(most, least + spare / 2)
    return BudgetSplit(regime, first, group, epsilon - first - group, rule.round_measured, "", tau1, tau2)


def paper_rho(epsilon: float, delta: float) -> float:
    """The rho the paper's footnote gives to (epsilon, delta): Bun and Steinke 2016, Proposition 1.3, solved."""
    return (sqrt(epsilon + log(1 / delta)) - sqrt(log(1 / delta))) ** 2


@dataclass(frozen=True)
class Prices:
    """What the group table and the other tables cost, in the measure of the job."""

    group: Fraction
    tables: Fraction


def first_price(share: float, budget: Budget) -> Fraction:
    """The price of the noisy number of rows, which the paper gives ``share`` of epsilon."""
    return _down(share**2 / 2 if budget.measure == "zcdp" else share)


def table_law(budget: Budget) -> Law:
    """Noise on a table of counts: in rho, Gaussian noise has half the variance of Laplace noise of equal price."""
    return "gaussian" if budget.measure == "zcdp" else "laplace"


def prices_of(split: BudgetSplit, budget: Budget, left: Fraction, *, as_written: bool) -> Prices:
    """The prices of the group table and of the others, together at most ``left``.

    Where epsilons add up, the paper's, Gaussian noise for what the paper's is worth; unless ``as_written``, group
    sizes get half at most.  In rho, all of ``left`` is given out.
    """
    if split.regime == "public_only":
        return Prices(left, Fraction(0))
    if budget.measure == "zcdp":
        most = left * Fraction(split.group / (split.group + split.tables)).limit_denominator(10**6)
        group = min(_down(split.group**2 / 2), most)
        return Prices(group, left - group)
    group = _down(split.group) if as_written else min(_down(split.group), left / 2)
    if split.regime == "one_way":
        return Prices(group, left - group)
    worth = epsilon_of(Fraction(paper_rho(split.tables, float(budget.delta))), budget.delta)
    return Prices(group, min(_down(worth), left - group))


def joint_epsilon(laplace: Sequence[float], mu: float, delta: float) -> float:
    """The epsilon of Laplace parts and one Gaussian part together, exact for continuous noise of these scales.

    A Gaussian part of mu = sensitivity / sigma has the profile d(t) = F(mu/2 - t/mu) - e^t F(-mu/2 - t/mu)
    (Balle and Wang 2018).  Privacy losses of parts add, so the profile of all is the mean of d(epsilon - L)
    over the Laplace losses L: +a with chance 1/2, -a with e^-a / 2, a (1 - 2 x) with density a e^(-a x) / 2.

    >>> round(joint_epsilon([1 / 1400, 0.04], sqrt(253) / 78.02294280750021, 2.5e-5), 3)
    0.706
    """
    losses, chances = np.zeros(1), np.ones(1)
    node, weight = np.polynomial.legendre.leggauss(24)
    x, w = (node + 1) / 2, weight / 2
    for a in laplace:
        own = np.concatenate([[a, -a], a * (1 - 2 * x)])
        chance = np.concatenate([[0.5, exp(-a) / 2], w * a / 2 * np.exp(-a * x)])
        losses, chances = np.add.outer(losses, own).ravel(), np.multiply.outer(chances, chance).ravel()
    low, high = 0.0, sum(laplace) + mu * mu / 2 + mu * 40
    while high - low > 1e-6:
        middle = (low + high) / 2
        got = float(sum(c * _profile(middle - loss, mu) for loss, c in zip(losses.tolist(), chances, strict=True)))
        low, high = (middle, high) if got > delta else (low, middle)
    return high


def plan_lines(
    split: BudgetSplit, spends: Sequence[Spend], tariff: Tariff, budget: Budget, rows: float
) -> tuple[str, ...]:
    """The regime, the split, the paper's scales, ours, and both sums, in lines for people."""
    theta, delta = tariff.guarantee.l1, float(budget.delta)
    parts = {"rows": split.total, "groups": split.group, split.regime: split.tables}
    shown = " + ".join(f"{name} {e:.6g}" for name, e in parts.items() if e > 0)
    tables = len(spends[-1].asked) if split.tables else 0
    scales = split.scales(theta, delta, one_ways=max(tables, 1), pairs=max(tables, 1))
    ours = ", ".join(f"{s.asked[0].noise.law} sd {law_of(s.asked[0].noise).variance ** 0.5:.4g}" for s in spends)
    why = f" ({split.reason})" if split.reason else ""
    lines = [
        f"regime {split.regime}{why} for {rows:,.0f} assumed rows, theta {theta}, "
        f"group sizes in steps of {split.round_to}",
        f"the paper's split of epsilon: {shown} = {split.total + split.group + split.tables:.6g}",
        "the paper's scales: " + ", ".join(f"{name} {scale:.6g}" for name, scale in scales.items()),
        f"noise here, priced in {budget.measure} and never above the promise: {ours}",
    ]
    sizes = next((a for r in spends for a in r.asked if a.question.columns), spends[-1].asked[0])
    if delta > 0 and law_of(sizes.noise).variance > 2.2 * (theta / split.group) ** 2:
        lines.append(
            "the promise does not bear the paper's noise on group sizes, because so small an epsilon buys little in "
            "zCDP: with delta = 0 the same epsilon does, but buys no two-way tables"
        )
    if delta > 0:
        rho = (split.total**2 + split.group**2) / 2 + (_tables_rho(split, budget, tables) if tables else 0.0)
        joint = min(float(budget.epsilon), epsilon_of(_down(rho), budget.delta))
        if split.regime == "two_way":
            mu = sqrt(tables * tariff.guarantee.l2_squared) / scales["two_way_gaussian"]
            joint = min(joint, joint_epsilon([e for e in (split.total, split.group) if e], mu, delta))
        lines.append(
            f"joint accounting of the paper's noise: epsilon {joint:.4g} "
            f"(the paper's sum: {float(budget.epsilon):.4g})"
        )
    return tuple(lines)


def _tables_rho(split: BudgetSplit, budget: Budget, tables: int) -> float:
    """What the paper's noise on the tables costs in rho."""
    if split.regime == "one_way":
        return split.tables**2 / (2 * tables)
    return paper_rho(split.tables, float(budget.delta)) if split.tables else 0.0


def _profile(t: float, mu: float) -> float:
    upper = erfc((t / mu - mu / 2) / sqrt(2)) / 2
    tail = erfc((t / mu + mu / 2) / sqrt(2)) / 2
    return upper - (exp(min(t, 700.0)) * tail if tail > 0 else 0.0)


def _down(x: float) -> Fraction:
    return Fraction(int(x * _GRAIN), _GRAIN)
