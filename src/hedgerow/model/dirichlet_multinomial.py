"""The Dirichlet-multinomial synthesizer: prior weight for an epsilon, epsilon of a prior weight.

Counts y with prior weights alpha give synthetic counts z that sum to a public size S.  One row replaced
multiplies the chance of any z by at most 1 + S / min(alpha), and that is reached; with a public S the same
holds for one row added or removed.  So epsilon = log(1 + S / min(alpha)), and only the smallest alpha matters.

    >>> round(float(alpha_for(5, size=994)), 6), round(epsilon_of([6.742953] * 6, size=994), 6)
    (6.742953, 5.0)
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, expm1, log, sqrt

from hedgerow.errors import JobError
from hedgerow.public import exp_floor

Number = int | float | str | Fraction
GRAIN = 10**6


def exact(x: Number) -> Fraction:
    """The number as typed: 0.1 is one tenth."""
    return x if isinstance(x, Fraction) else Fraction(str(x))


def alpha_min(epsilon: Number, size: int, *, copies: int = 1, shared: bool = True) -> float:
    """The least alpha, S / (exp(epsilon) - 1); for m copies of one shared draw m S / (exp(epsilon) - 1), and for
    copies drawn apart S / (exp(epsilon / m) - 1), which is more."""
    e = float(exact(epsilon))
    return copies * size / expm1(e) if shared else size / expm1(e / copies)


def alpha_for(epsilon: Number, size: int, *, grain: int = GRAIN) -> Fraction:
    """The least alpha that is a multiple of 1 / grain, rounded up in exact arithmetic: what the gate accepts."""
    e = exact(epsilon)
    if e <= 0 or size < 0:
        raise JobError("alpha_for needs epsilon above 0 and a size of 0 or more. Nothing was read or spent.")
    return Fraction(max(1, ceil(size * grain / (exp_floor(e) - 1))), grain)


def largest_ratio(alphas: Sequence[Number], size: int) -> Fraction:
    """The most one row can multiply the chance of an outcome: 1 + S / min(alpha), exact."""
    return 1 + size / min(exact(a) for a in alphas)


def epsilon_of(alphas: Sequence[Number], size: int, *, copies: int = 1, shared: bool = True) -> float:
    """The epsilon of these prior weights: log(1 + S / min(alpha)), replace-one and (S public) add-remove."""
    return log(largest_ratio(alphas, copies * size)) if shared else copies * log(largest_ratio(alphas, size))


def prior_weight(alphas: Sequence[Number], rows: int) -> float:
    """The share of the posterior that is prior: sum(alpha) / (n + sum(alpha))."""
    total = sum(exact(a) for a in alphas)
    return float(total / (rows + total))


def predictive(counts: Sequence[int], alphas: Sequence[Number], size: int) -> tuple[list[float], list[float]]:
    """The mean and the standard deviation of every synthetic count."""
    weights = [y + exact(a) for y, a in zip(counts, alphas, strict=True)]
    total = sum(weights)
    share = [float(w / total) for w in weights]
    grown = size * float((total + size) / (total + 1))
    return [size * p for p in share], [sqrt(grown * p * (1 - p)) for p in share]


def tables(cells: int, size: int) -> Iterator[tuple[int, ...]]:
    """Every table of ``cells`` counts that sum to ``size``."""
    if cells == 1:
        yield (size,)
        return
    for z in range(size + 1):
        yield from ((z, *rest) for rest in tables(cells - 1, size - z))
