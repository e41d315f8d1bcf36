"""The urns' arithmetic: what a prior weight costs and an epsilon needs, of counts drawn given their public sum S.

Dirichlet-multinomial: counts y with prior weights alpha give synthetic counts z that sum to S.  One row replaced
multiplies the chance of any z by at most 1 + S / min(alpha), and that is reached; with a public S the same
holds for one row added or removed.  So epsilon = log(1 + S / min(alpha)), and only the smallest alpha matters.

    >>> round(float(alpha_for(5, size=994)), 6), round(epsilon_of([6.742953] * 6, size=994), 6)
    (6.742953, 5.0)

Gamma-Poisson: area i has exposure m_i and prior Gamma(a_i, b_i); then r_i = y_i + a_i and pi_i = m_i / (b_i + 2 m_i).
Counts drawn without a condition have *no* finite epsilon: the log-ratio grows like log z.  Given that they
sum to S the law is p(z) proportional to prod C(z_i + r_i - 1, z_i) pi_i^z_i, and

    epsilon <= log( nu (1 + S / min a) ),    nu = max c_S(r - e_j + e_k) / c_S(r),

with c_S(r) the coefficient of t^S in prod (1 - pi_i t)^-r_i.  If b_i is proportional to m_i all pi are equal,
nu = 1, and this *is* the Dirichlet-multinomial with alpha = a.  Otherwise nu is worked out in whole numbers.

    >>> str(nu([1, 1, 1], ["2/5", "4/9", "8/17"], size=4, rows=4))
    '29876015207/27122499884'
    >>> round(bound([1, 1, 1], ["2/5", "4/9", "8/17"], size=4, rows=4), 6)
    1.70613
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from math import ceil, comb, expm1, lcm, log, prod, sqrt

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


_MOST_TRIED = 20_000


def pi_of(exposure: Number, b: Number) -> Fraction:
    """pi = m / (b + 2 m)."""
    m = exact(exposure)
    return m / (exact(b) + 2 * m)


def odds_of(pis: Sequence[Number]) -> tuple[int, ...]:
    """How the pi compare, in the smallest whole numbers; empty when they are all equal."""
    parts = [exact(p) for p in pis]
    common = lcm(*(p.denominator for p in parts))
    return () if len(set(parts)) == 1 else tuple(int(p * common) for p in parts)


def nu(a: Sequence[Number], pis: Sequence[Number], size: int, *, rows: int | None = None) -> Fraction:
    """The most one row moved from one area to another changes the chance that the sum is S; exact.

    Reached when all ``rows`` (a public number; by default any number, of which 1 is the worst) are in the area of
    least pi and one moves to that of largest pi.  That is proved for a_i >= 1 (docs); below, all tables of ``rows``
    rows are tried if they are few, else it is refused.
    """
    odds, parts = odds_of(pis), [exact(x) for x in a]
    if not odds:
        return Fraction(1)
    if min(parts) < 1:
        if rows is None or comb(rows + len(parts) - 1, rows) * size > _MOST_TRIED:
            raise JobError(
                "nu is known for prior weights a of 1 or more, for equal pi (b proportional to the exposures), or\n"
                "by trying all tables of so many rows when they are few. Nothing was read or spent."
            )
        return _worst_shift(parts, odds, size, rows)
    low, high, n = odds.index(min(odds)), odds.index(max(odds)), 1 if rows is None else rows
    before, after = list(parts), list(parts)
    before[low], after[low] = before[low] + n, after[low] + n - 1
    after[high] += 1
    return _coefficient(after, odds, size) / _coefficient(before, odds, size)


def _worst_shift(parts: Sequence[Fraction], odds: Sequence[int], size: int, rows: int) -> Fraction:
    whole = {
        y: _coefficient([n + x for n, x in zip(y, parts, strict=True)], odds, size) for y in tables(len(parts), rows)
    }
    moved = (
        whole[tuple(n - (i == j) + (i == k) for i, n in enumerate(y))] / own
        for y, own in whole.items()
        for j, k in permutations(range(len(parts)), 2)
        if y[j]
    )
    return max(moved, default=Fraction(1))


def bound(a: Sequence[Number], pis: Sequence[Number], size: int, *, rows: int | None = None) -> float:
    """The epsilon that the gate books: log( nu (1 + S / min a) )."""
    return log(nu(a, pis, size, rows=rows) * (1 + size / min(exact(x) for x in a)))


def _coefficient(r: Sequence[Fraction], odds: Sequence[int], size: int) -> Fraction:
    """The coefficient c_S(r), with pi replaced by odds: a common factor to the power S."""
    grain, made = lcm(*(x.denominator for x in r)), [1] + [0] * size
    for weight, own in zip((int(x * grain) for x in r), odds, strict=True):
        one = [1]  # z! times the chance that this area counts z, up to a common factor^z: w (w + grain) ... odds^z
        for z in range(size):
            one.append(one[-1] * (weight + z * grain) * own)
        made = [sum(comb(s, z) * one[z] * made[s - z] for z in range(s + 1)) for s in range(size + 1)]
    return Fraction(made[-1], grain**size * prod(range(1, size + 1)))
