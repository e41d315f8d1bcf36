"""A trial of a public table: do its columns go together as those of the confidential one? A little is paid for it.

Of a pair of columns that go together in the public table, some cells have more rows than they would have if the
columns were independent, and the others fewer.  How many rows lie in the first is one number, told by a question of
two counts; told by a table of a hundred cells, its noise would be ten times as large.  Public rows expect it to be
above independence by so much: which part of that the answer bears out is the slope of the pair.  It is about 1 for a
relative and about 0 for a stranger, whatever its one-way tables are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log, sqrt
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.answers import Answers
from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records import Records, spanning_forest
from hedgerow.model.tables import Floats, Pair, cell_weights
from hedgerow.public import Marginal, Measurement, Tree, law_of
from hedgerow.recipes.blend.allocation import Price
from hedgerow.recipes.blend.axes import Axes
from hedgerow.recipes.blend.public_prior import PublicPrior
from hedgerow.recipes.blend.ranks import with_all_ranks

LEAST = Fraction(1, 10_000)  # of the budget: with millions of rows a trial costs next to nothing, but not nothing
Sides = npt.NDArray[np.bool_]  # the cells of a pair that have more rows than without association


@final
@dataclass(frozen=True)
class Slope:
    """What part of the public relations is borne out, and its standard error."""

    value: float
    error: float

    @property
    def refutes(self) -> bool:
        """Whether the public relations are more likely a stranger's (0) than a relative's (1).

        The odds before the trial are a relative's; so an answer that noise drowns refutes nothing.  Without noise
        it does below one half: then independent columns are nearer to the truth than the public ones.
        """
        return self.is_below(0.5)

    def is_below(self, least: float) -> bool:
        """Whether it is below ``least``, by more than the odds before the trial take off for noise."""
        return self.value < least - log(PUBLIC_BLEND.trial_odds) * self.error**2


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """The questions of a trial.

    Attributes:
        prior: the public rows beside noisy one-way tables.
        sides: for each pair that is asked about, its cells with more rows than without association.
        strength: the share of the rows by which public rows have more in them.
        part: the part of the budget that all questions take together.
        asked: the part of the pairs that could be asked about which is.
    """

    prior: PublicPrior
    sides: Mapping[Pair, Sides]
    strength: Mapping[Pair, float]
    part: Fraction
    asked: float

    @classmethod
    def of(cls, prior: PublicPrior, gate: Answers, most: Fraction) -> "Trial | None":
        """A trial of the strongest public pairs, of as many as noise leaves telling; None if it leaves none.

        It takes the part of the budget that equals the variance that noise gives the slope, where the sum of both is
        least (the variance of Gaussian noise falls as the part grows), and at most ``most``.
        Pairs of a spanning forest: each adds a column.  Columns that are of other people by their one-way tables have
        no public pairs, and a cross of groups cannot be asked about in sides.  Of two columns the pair itself tells.
        """
        axes = prior.noisy.axes
        left = [i for i in range(len(axes.names)) if i not in prior.foreign and len(axes.parts[i]) == 1]
        rows, shape, weights = prior.rows, prior.noisy.shape, prior.weights
        strength = strengths(rows, shape, weights, list(combinations(left, 2)))
        known = {p: s for p, s in strength.items() if s > 0} if len(axes.names) > 2 else {}
        edges = sorted(spanning_forest(len(axes.names), known), key=lambda p: -known[p])
        total = float(prior.noisy.total)

        def told(many: int, part: Fraction) -> list[float]:
            """By how many standard deviations of noise each of so many is above independence, if it holds."""
            noise = Price(gate.tariff).variance(float(gate.budget.total * part / many))
            return [known[p] * total / sqrt(noise / 2) for p in edges[:many]]

        many = next((m for m in range(len(edges), 0, -1) if told(m, most)[-1] >= PUBLIC_BLEND.trial_least), 0)
        if not many:
            return None
        sure = sum(z**2 for z in told(many, most)) / float(most)  # for all of the budget; its inverse is a variance
        part = min(most, max(LEAST, Fraction(1 / sqrt(sure)).limit_denominator(10**6)))
        asked = edges[:many]
        return cls(
            prior, sides_of(rows, shape, weights, asked), {p: known[p] for p in asked}, part, many / len(edges)
        )

    def questions(self) -> list[Marginal]:
        """How many rows of each pair lie in its sides, and how many do not."""
        return [sided_question(self.prior.noisy.axes, p, side) for p, side in self.sides.items()]

    def slope(self, answers: Sequence[Measurement]) -> Slope:
        """What part of the public relations the answers bear out, on average over pairs.

        Pairs differ in how far they hold, besides noise: without a variance for that, the strongest would decide
        alone.  Noise of one-way tables is in what is expected without association; where a column has moved, it also
        puts public values out of place, so that pairs differ by more.  A column of other people is a pair of which
        nothing is borne out.
        """
        prior, spread, moved = self.prior, PUBLIC_BLEND.trial_spread**2, {*self.prior.ranked}
        total, above, weights = float(prior.noisy.total), 0.0, len(prior.foreign) * self.asked / spread
        for (pair, side), answer in zip(self.sides.items(), answers, strict=True):
            strength, shares = self.strength[pair], [prior.margins[i] / total for i in pair]
            alone = float(shares[0] @ side @ shares[1])
            inside = (1 + float(answer.counts[0] - answer.counts[1]) / total) / 2
            doubt = law_of(answer.noise).variance / 2 / total**2 + 1 / (4 * len(prior.public))
            for i, told in zip(pair, (side @ shares[1], shares[0] @ side), strict=True):
                doubt += prior.noisy.noisy_margins[i][1] * float(((told - told.mean()) ** 2).sum()) / total**2
            apart = PUBLIC_BLEND.trial_moved if moved & {*pair} else 1.0
            weight = 1 / (doubt / strength**2 + apart**2 * spread)
            above += weight * (inside - alone) / strength
            weights += weight
        return Slope(above / weights, 1 / sqrt(weights))


def tried(gate: Answers, prior: PublicPrior) -> tuple[Fraction, bool]:
    """What part of the budget a trial of the public table took, and whether it refutes the table.

    Ordered columns that have moved get values of the same rank: raking rows to today's pay would change what a grade
    earns, and ranks keep most of what goes with a column whether it moved as a whole or not.
    """
    trial = Trial.of(with_all_ranks(prior), gate, Fraction(str(PUBLIC_BLEND.trial_part)))
    if trial is None:
        return Fraction(0), False
    answers = gate.measure(trial.questions(), gate.budget.total * trial.part)
    return trial.part, trial.slope(answers).refutes


def strengths(rows: Records, shape: Sequence[int], weights: Floats, pairs: Sequence[Pair]) -> dict[Pair, float]:
    """The share of rows that each pair has in its sides beyond independence.

    The sides of one half of the rows are looked at in the other: in its own half, chance passes for association.  No
    more than one pair is held at a time.

    >>> even = np.random.default_rng(0).integers(0, 5, (4000, 2)).astype(np.uint16)
    >>> alike = np.repeat(even[:, :1], 2, axis=1)
    >>> [round(strengths(rows, (5, 5), np.ones(4000), [(0, 1)])[0, 1], 1) for rows in (even, alike)]
    [0.0, 0.8]
    """
    halves = [slice(0, None, 2), slice(1, None, 2)]
    tables = zip(*(cell_weights(rows[half], shape, pairs, weights[half]) for half in halves), strict=True)
    found = dict[Pair, float]()
    for p, counted in zip(pairs, tables, strict=True):
        one, other = (_beyond(table.reshape(shape[p[0]], shape[p[1]])) for _, table in counted)
        found[p] = float(other[one > 0].sum() + one[other > 0].sum()) / 2
    return found


def sides_of(rows: Records, shape: Sequence[int], weights: Floats, pairs: Sequence[Pair]) -> dict[Pair, Sides]:
    """The sides of each pair, by all rows."""
    counted = cell_weights(rows, shape, pairs, weights)
    return {p: _beyond(t.reshape(shape[p[0]], shape[p[1]])) > 0 for p, (_, t) in zip(pairs, counted, strict=True)}


def _beyond(table: Floats) -> Floats:
    """What the shares of a pair have beyond independence."""
    table = table / max(float(table.sum()), 1e-300)
    found = table - np.outer(table.sum(axis=1), table.sum(axis=0))
    return np.asarray(np.where(np.abs(found) > 1e-12, found, 0.0))  # rounding takes no side


def sided_question(axes: Axes, pair: Pair, side: Sides) -> Marginal:
    """How many rows lie in the cells of ``side``, leaf 0, and how many in the others, leaf 1."""
    first, second = side.shape
    look, leaves = [0] + [1] * first, np.where(side, -1, -2)
    starts = [0, *(first + i * second for i in range(first))]
    child = np.concatenate([1 + np.arange(first), leaves.ravel()])
    return Marginal((), Tree.of(tuple(axes.names[i] for i in pair), 2, look, starts, child))
