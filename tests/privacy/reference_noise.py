"""The readable reference: Canonne, Kamath and Steinke 2020, Algorithms 2 and 3, on exact fractions."""

from fractions import Fraction
from math import isqrt

from hedgerow.private import entropy
from hedgerow.private.noise import Below, bernoulli_exp


def discrete_laplace(scale: Fraction, below: Below = entropy.below) -> int:
    """A whole number k with probability proportional to exp(-|k| / scale)."""
    while True:
        u, v = below(scale.numerator), 0
        if bernoulli_exp(Fraction(u, scale.numerator), below):
            while bernoulli_exp(Fraction(1), below):
                v += 1
            size, negative = (u + scale.numerator * v) // scale.denominator, below(2)
            if size or not negative:
                return -size if negative else size


def discrete_gaussian(variance: Fraction, below: Below = entropy.below) -> int:
    """A whole number k with probability proportional to exp(-k^2 / (2 variance))."""
    t = isqrt(int(variance)) + 1
    while True:
        y = discrete_laplace(Fraction(t), below)
        if bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance), below):
            return y
