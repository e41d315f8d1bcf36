"""The epsilon of Gaussian noise alone: that of the normal law, with a proven allowance for whole numbers (PROOFS.md).

Valid bounds on all of zCDP are 4 to 10 % above it.  Requests may have been chosen in the light of earlier answers.

    >>> from hedgerow.public.costs.accounting import epsilon_of
    >>> rho, delta = Fraction(1, 200), Fraction(1, 10**6)  # one table, add-remove: variance 100
    >>> round(epsilon_of(rho, delta), 4), round(gaussian_epsilon([(rho, Fraction(100))], delta), 4)
    (0.4299, 0.399)
"""

from collections.abc import Iterable
from fractions import Fraction
from math import erfc, exp, inf, sqrt
from sys import float_info

ROUNDING = Fraction(1)  # the variance that is given up for whole numbers,
SHARE = Fraction(1, 10**4)  # and the share of the variance
_SLACK = 1e-5  # more than whole numbers can add to epsilon (times rho) and to delta (times 1 + rho) then


def normal_delta(epsilon: float, rho: float) -> float:
    """The delta of normal noise worth ``rho`` at ``epsilon``, rounded up (Balle and Wang 2018, Theorem 8)."""
    beyond = max(erfc((epsilon - rho) / sqrt(4 * rho)), float_info.min) / 2
    tail = erfc((epsilon + rho) / sqrt(4 * rho))
    back = exp(min(epsilon, 700.0)) * (tail if tail >= float_info.min else 0.0) / 2  # smaller floats lose digits
    return beyond * (1 + 1e-11) - back * (1 - 1e-11)


def gaussian_epsilon(costs: Iterable[tuple[Fraction, Fraction]], delta: Fraction) -> float:
    """An epsilon that tables with discrete Gaussian noise keep together at ``delta``; each has its rho and variance.

    Infinite where a variance is too small for the allowance, or delta for floats.
    """
    rho = Fraction(0)
    for cost, variance in costs:
        smooth = variance * (1 - SHARE) - ROUNDING
        if smooth <= 0:
            return inf
        rho += cost * variance / smooth
    if rho == 0:
        return 0.0
    r, most = float(rho), float(delta) / (1 + _SLACK * (1 + float(rho)))
    if most <= float_info.min:
        return inf
    low, high = 0.0, 1.0
    while normal_delta(high, r) > most:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if normal_delta(middle, r) > most else (low, middle)
    return high + _SLACK * r
