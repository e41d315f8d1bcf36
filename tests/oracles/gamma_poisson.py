"""The exact law of the gamma-Poisson synthesizer given the sum, beside its calculators; and its cost without it."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import log, prod

from hedgerow.model.urns import _coefficient
from hedgerow.model.urns import _worst_shift as _worst_shift
from hedgerow.model.urns import bound as bound
from hedgerow.model.urns import nu as nu
from hedgerow.model.urns import odds_of as odds_of
from hedgerow.model.urns import pi_of as pi_of
from tests.oracles.dirichlet_multinomial import Number, exact, rising, tables


def probability(
    outcome: Sequence[int], counts: Sequence[int], a: Sequence[Number], pis: Sequence[Number]
) -> Fraction:
    """The exact chance of one synthetic table, given its sum."""
    r, odds = [y + exact(x) for y, x in zip(counts, a, strict=True)], odds_of(pis) or (1,) * len(pis)
    return _weight(outcome, r, odds) / _coefficient(r, odds, sum(outcome))


def pmf(
    counts: Sequence[int], a: Sequence[Number], pis: Sequence[Number], size: int
) -> dict[tuple[int, ...], Fraction]:
    """The exact chance of every synthetic table of a small one."""
    return {z: probability(z, counts, a, pis) for z in tables(len(counts), size)}


def largest_ratio(a: Sequence[Number], pis: Sequence[Number], size: int, rows: int) -> Fraction:
    """The exact largest ratio over all tables of ``rows`` rows, one of them moved: for small tables only.

    For given (y, j, k) the ratio (z_j + r_j - 1) / (r_j - 1) (r_k) / (z_k + r_k) c_S(r - e_j + e_k) / c_S(r) is
    largest when all S fall in cell j.
    """
    odds, parts, best = odds_of(pis) or (1,) * len(pis), [exact(x) for x in a], Fraction(1)
    whole = {
        y: _coefficient([n + x for n, x in zip(y, parts, strict=True)], odds, size) for y in tables(len(parts), rows)
    }
    for y, own in whole.items():
        for j, k in permutations(range(len(parts)), 2):
            if y[j]:
                other = tuple(n - (i == j) + (i == k) for i, n in enumerate(y))
                r = y[j] + parts[j] - 1
                best = max(best, (size + r) / r * whole[other] / own)
    return best


def unconditional_log_ratio(z: int, count: int, a: Number, pi: Number) -> float:
    """The log-ratio at z of counts ``count`` and one less, drawn without a condition: it has no bound."""
    r = count + exact(a)
    return log((z + r - 1) / (r - 1) * (1 - exact(pi)))


def truncated_epsilon(count: int, a: Number, pi: Number, most: int) -> float:
    """The epsilon between ``count`` and one less when the drawn count is cut off at ``most``: finite, per cell."""
    r, p = count + exact(a), exact(pi)

    def law(shape: Fraction) -> list[Fraction]:
        weights = [rising(shape, z) / prod(range(1, z + 1)) * p**z for z in range(most + 1)]
        total = sum(weights, Fraction(0))
        return [w / total for w in weights]

    pairs = list(zip(law(r), law(r - 1), strict=True))
    return max(log(max(x / y, y / x)) for x, y in pairs)


def _weight(outcome: Sequence[int], r: Sequence[Fraction], odds: Sequence[int]) -> Fraction:
    each = (rising(w, z) / prod(range(1, z + 1)) * o**z for w, z, o in zip(r, outcome, odds, strict=True))
    return prod(each, start=Fraction(1))
