"""The exact law of the Dirichlet-multinomial synthesizer, beside its calculators.

>>> {z: str(p) for z, p in pmf([2, 1], [1, 1], size=3).items()}
{(0, 3): '4/35', (1, 2): '9/35', (2, 1): '12/35', (3, 0): '2/7'}
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb, prod
from typing import Literal

from hedgerow.errors import JobError
from hedgerow.model.urns import Number as Number
from hedgerow.model.urns import alpha_for as alpha_for
from hedgerow.model.urns import alpha_min as alpha_min
from hedgerow.model.urns import epsilon_of as epsilon_of
from hedgerow.model.urns import exact as exact
from hedgerow.model.urns import largest_ratio as largest_ratio
from hedgerow.model.urns import predictive as predictive
from hedgerow.model.urns import prior_weight as prior_weight
from hedgerow.model.urns import tables as tables

Table = tuple[int, ...]


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


def rising(w: Fraction, z: int) -> Fraction:
    """w (w + 1) ... (w + z - 1)."""
    return prod((w + k for k in range(z)), start=Fraction(1))
