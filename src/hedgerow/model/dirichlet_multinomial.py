"""The Dirichlet-multinomial synthesizer: prior weight for an epsilon, epsilon of a prior weight, exact law.

Counts y with prior weights alpha give synthetic counts z that sum to a public size S.  One row replaced
multiplies the chance of any z by at most 1 + S / min(alpha), and that is reached; with a public S the same
holds for one row added or removed.  So epsilon = log(1 + S / min(alpha)), and only the smallest alpha matters.

    >>> round(float(alpha_for(5, size=994)), 6), round(epsilon_of([6.742953] * 6, size=994), 6)
    (6.742953, 5.0)
    >>> {z: str(p) for z, p in pmf([2, 1], [1, 1], size=3).items()}
    {(0, 3): '4/35', (1, 2): '9/35', (2, 1): '12/35', (3, 0): '2/7'}
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, comb, expm1, log, prod, sqrt
from typing import Literal

from hedgerow.errors import JobError
from hedgerow.public.costs.urn import exp_floor

Number = int | float | str | Fraction
Table = tuple[int, ...]
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


def probability(outcome: Sequence[int], counts: Sequence[int], alphas: Sequence[Number]) -> Fraction:
    """The exact chance of one synthetic table."""
    size = sum(outcome)
    weights = [y + exact(a) for y, a in zip(counts, alphas, strict=True)]
    ways, left = 1, size
    for z in outcome:
        ways, left = ways * comb(left, z), left - z
    total = sum(weights, Fraction(0))
    return (
        ways
        * prod((rising(w, z) for w, z in zip(weights, outcome, strict=True)), start=Fraction(1))
        / rising(total, size)
    )


def pmf(counts: Sequence[int], alphas: Sequence[Number], size: int) -> dict[tuple[int, ...], Fraction]:
    """The exact chance of every synthetic table of a small one, as fractions."""
    return {z: probability(z, counts, alphas) for z in tables(len(counts), size)}


def neighbour_ratio(
    outcome: Sequence[int], counts: Sequence[int], alphas: Sequence[Number], i: int, k: int
) -> Fraction:
    """p(outcome | counts) / p(outcome | counts with one row moved from cell i to cell k): equation (10) set right.

    With r = counts + alpha:  r_k / (r_i - 1)  (z_i + r_i - 1) / (z_k + r_k).  The lecture has i and k exchanged.

    >>> str(neighbour_ratio((0, 3), (1, 0), (1, 1), 0, 1))
    '1/4'
    """
    if counts[i] < 1 or i == k:
        raise JobError("neighbour_ratio needs a row in cell i, and another cell k. Nothing was read or spent.")
    one, other = exact(alphas[i]) + counts[i] - 1, exact(alphas[k]) + counts[k]
    return other / one * (outcome[i] + one) / (outcome[k] + other)


def printed_equation_10(
    outcome: Sequence[int], counts: Sequence[int], alphas: Sequence[Number], i: int, k: int
) -> Fraction:
    """Equation (10) of the lecture as it is printed, which is not that ratio."""
    one, other = exact(alphas[i]) + counts[i], exact(alphas[k]) + counts[k] - 1
    return one / other * (outcome[k] + other) / (outcome[i] + one)


def worst_neighbours(
    alphas: Sequence[Number], size: int, rows: int, *, relation: Literal["replace-one", "add-remove"] = "replace-one"
) -> tuple[Fraction, tuple[Table, Table, Table]]:
    """By trying all: the largest p(z | y) / p(z | x) over neighbours and outcomes, and a (x, y, z) that reaches it.

    Tables of ``rows`` rows, and one of them replaced; or, for add-remove, tables of ``rows`` and of ``rows`` - 1.
    For small tables: the work grows with the number of tables squared.
    """
    cells, best, at = len(alphas), Fraction(1), ((0,) * len(alphas),) * 3
    sizes = (rows, rows) if relation == "replace-one" else (rows - 1, rows)
    laws = {y: pmf(y, alphas, size) for n in set(sizes) for y in tables(cells, n)}
    for x in tables(cells, sizes[0]):
        for y in tables(cells, sizes[1]):
            if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == (2 if relation == "replace-one" else 1):
                for one, two in ((x, y), (y, x)):
                    z = max(laws[one], key=lambda z: laws[two][z] / laws[one][z])  # noqa: B023  used at once
                    if (ratio := laws[two][z] / laws[one][z]) > best:
                        best, at = ratio, (one, two, z)
    return best, at


def tables(cells: int, size: int) -> Iterator[tuple[int, ...]]:
    """Every table of ``cells`` counts that sum to ``size``."""
    if cells == 1:
        yield (size,)
        return
    for z in range(size + 1):
        yield from ((z, *rest) for rest in tables(cells - 1, size - z))


def rising(w: Fraction, z: int) -> Fraction:
    """w (w + 1) ... (w + z - 1)."""
    return prod((w + k for k in range(z)), start=Fraction(1))
