"""The beta-binomial synthesizer of a yes/no column: the Dirichlet-multinomial with two cells (yes, no).

Of n rows y say yes; prior weights a (yes) and b (no); S answers are drawn.  One answer changed multiplies the
chance of any outcome by at most 1 + S / min(a, b), which is reached: epsilon = log(1 + S / min(a, b)).  With
n = S = 1 it is Warner's randomized response.

    >>> [str(p) for p in pmf(0, rows=3, a=1, b=1, size=3)], round(epsilon_of(2, 5, size=5), 6)
    (['4/7', '2/7', '4/35', '1/35'], 1.252763)
"""

from fractions import Fraction
from math import exp

from tests.oracles import dirichlet_multinomial as dm
from tests.oracles.dirichlet_multinomial import Number, alpha_for, alpha_min

__all__ = ["alpha_for", "alpha_min", "epsilon_of", "largest_ratio", "pmf", "truth_chance"]


def largest_ratio(a: Number, b: Number, size: int) -> Fraction:
    """The most one row can multiply the chance of an outcome: 1 + S / min(a, b), exact."""
    return dm.largest_ratio([a, b], size)


def epsilon_of(a: Number, b: Number, size: int) -> float:
    """The epsilon of these prior weights."""
    return dm.epsilon_of([a, b], size)


def pmf(yes: int, rows: int, a: Number, b: Number, size: int) -> list[Fraction]:
    """The exact chance that 0, 1, ..., S of the synthetic answers are yes."""
    return [dm.probability((z, size - z), (yes, rows - yes), (a, b)) for z in range(size + 1)]


def truth_chance(epsilon: float) -> float:
    """For n = S = 1: how often the synthetic answer is the true one: Warner's e^epsilon / (1 + e^epsilon)."""
    alpha = alpha_min(epsilon, 1)
    return (1 + alpha) / (1 + 2 * alpha) if alpha else exp(epsilon) / (1 + exp(epsilon))
