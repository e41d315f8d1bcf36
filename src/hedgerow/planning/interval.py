"""The interval of a synthetic share: how far the share of a label in a leaf may come out from the true one.

Given the true share p among the n records of a leaf and the epsilon spent on its count, an interval holds the share
of the label among n synthetic labels with probability ``level``.  It is a *prediction* interval of the synthetic
share, not a confidence interval of anything in the population.  Two kinds, both in whole counts and then
interpolated to reach the level exactly:

    symmetric      grow [x - d, x + d] from x = n p (rounded), cut at 0 and n, until it holds the level; interpolate
                   linearly in the mass of the last ring (RDT-2018, section 5)
    equal-tailed   the (1 - level) / 2 and (1 + level) / 2 points of the linearly interpolated distribution function

    >>> found = interval(0.25, 0.4, 1000)
    >>> round(found.low, 4), round(found.high, 4)
    (0.2272, 0.2728)
    >>> least_n(0.25, 0.4, width=0.05)
    874
    >>> round(least_epsilon(0.25, 1000, width=0.05), 4)
    0.2124

``epsilon`` is what one count gets: the total divided by trees and columns, and by what one unit moves the counts.
"""

from dataclasses import asdict, dataclass
from math import ceil, floor, sqrt
from typing import Any, Literal, final, get_args

import numpy as np

from hedgerow.errors import JobError
from hedgerow.planning.laplace_binomial import LaplaceBinomial, laplace_binomial

Kind = Literal["symmetric", "equal-tailed"]
MOST = 10_000_000
EPSILONS = (1e-6, 1e6)
_NOTHING = "No table was read and nothing was spent."


@final
@dataclass(frozen=True)
class Interval:
    """An interval of the synthetic share, and the law it was taken from.

    Attributes:
        p: the true share of the label in the leaf.
        epsilon: what is spent on the count of the label.
        n: records in the leaf, and synthetic labels drawn from it.
        level: the probability that the interval holds.
        kind: how the interval was chosen.
        low: its lower end.
        high: its upper end.
        mean: of the synthetic share; away from ``p`` when noisy counts are often cut at 0 or n.
        sd: of the synthetic share.
        counts: the whole counts around the interval.
        mass: the probability of these counts, ends included: the level or a little more.
    """

    p: float
    epsilon: float
    n: int
    level: float
    kind: Kind
    low: float
    high: float
    mean: float
    sd: float
    counts: tuple[int, int]
    mass: float

    @property
    def width(self) -> float:
        """From the lower to the upper end."""
        return self.high - self.low

    def to_json(self) -> dict[str, Any]:
        """The interval as plain data."""
        return {**asdict(self), "width": self.width, "counts": list(self.counts)}


def interval(p: float, epsilon: float, n: int, *, level: float = 0.9, kind: Kind = "symmetric") -> Interval:
    """The interval that holds the synthetic share of a label with probability ``level``."""
    _check(p=p, level=level, kind=kind, epsilon=epsilon, n=n)
    law = laplace_binomial(p, epsilon, n)
    low, high, counts = _symmetric(law, p, level) if kind == "symmetric" else _equal_tailed(law, level)
    i, j = counts[0] - law.first, counts[1] - law.first + 1
    mass = min(1.0, float(law.mass[max(i, 0) : j].sum()))
    return Interval(p, epsilon, n, level, kind, low / n, high / n, law.mean, law.sd, counts, mass)


def least_n(p: float, epsilon: float, *, width: float, level: float = 0.9, kind: Kind = "equal-tailed") -> int:
    """The least n such that a leaf of n records, or of any larger number, has an interval of at most ``width``.

    Any larger number, because the symmetric interval of a rare label may be narrow at some n by luck of rounding and
    too wide again at the next.  Counted in labels, n * width grows with n but for a jitter of rounding (see
    ``_spare``).  So one n that holds with the jitter to spare lets many below it be skipped.
    """
    _check(p=p, level=level, kind=kind, epsilon=epsilon, width=width)

    def at(n: int) -> Interval:
        return interval(p, epsilon, n, level=level, kind=kind)

    n = 1
    while _spare(found := at(n)) > width * n:
        if n == MOST:
            raise JobError(
                f"No leaf of up to {MOST:,} records has an interval of width {width:g} at p {p:g} and epsilon "
                f"{epsilon:g}.\nAsk for a larger --width, or spend a larger --epsilon. {_NOTHING}"
            )
        n = min(2 * n, MOST)
    while n > 1:
        found = at(min(n - 1, int(_spare(found) / width)))
        if found.width > width:
            return found.n + 1
        n = found.n
    return 1


def _spare(found: Interval) -> float:
    """The width in labels that no smaller n exceeds: this one's, and the jitter that rounding to labels makes.

    The jitter was measured for levels 0.5 to 0.99: at most 1.3 (symmetric) and 0.6 (equal-tailed) labels, and at
    most 4 / sd with sd in labels; half as much again and more is allowed for.
    """
    most = 2.0 if found.kind == "symmetric" else 1.0
    return found.width * found.n + most * min(1.0, 6 / max(found.sd * found.n, 1e-9))


def least_epsilon(p: float, n: int, *, width: float, level: float = 0.9, kind: Kind = "equal-tailed") -> float:
    """The least epsilon for which a leaf of ``n`` records has an interval of at most ``width``, to seven digits.

    Rounded up, so that the interval at the epsilon that is given does keep the width.
    """
    _check(p=p, level=level, kind=kind, n=n, width=width)

    def width_at(epsilon: float) -> float:
        return interval(p, epsilon, n, level=level, kind=kind).width

    low, high = EPSILONS
    if (alone := width_at(high)) > width:
        raise JobError(
            f"No epsilon is large enough: drawing {n:,} labels without any noise already has an interval of width "
            f"{alone:.6g} at p {p:g}, wider than {width:g}.\nAsk for a larger --width or a larger --n "
            f"(hedgerow interval --p {p:g} --epsilon 1 --width {width:g} gives the least). {_NOTHING}"
        )
    if (widest := width_at(low)) <= width:
        raise JobError(
            f"Every epsilon keeps this width: with nothing but noise the interval of {n:,} labels at p {p:g} has "
            f"width {widest:.6g}.\nAsk for a --width below that. {_NOTHING}"
        )
    while high > low * (1 + 1e-7):
        middle = sqrt(low * high)
        low, high = (middle, high) if width_at(middle) > width else (low, middle)
    return high


def _symmetric(law: LaplaceBinomial, p: float, level: float) -> tuple[float, float, tuple[int, int]]:
    """The ends, in labels, of the interval that grows by rings around the true count; and the last ring's counts."""
    n, x = law.n, round(law.n * p)
    below = np.concatenate([[0.0], np.cumsum(law.mass)])  # the mass of all counts under first + i
    end = len(law.mass)
    d = np.arange(max(x - law.first, law.first + end - 1 - x) + 1)
    held = below[np.clip(x + d + 1 - law.first, 0, end)] - below[np.clip(x - d - law.first, 0, end)]
    ring = min(int(np.searchsorted(held, level)), len(d) - 1)
    if ring == 0:
        return float(x), float(x), (x, x)
    reach = ring - 1 + min(1.0, float((level - held[ring - 1]) / (held[ring] - held[ring - 1])))
    return max(0.0, x - reach), min(float(n), x + reach), (max(0, x - ring), min(n, x + ring))


def _equal_tailed(law: LaplaceBinomial, level: float) -> tuple[float, float, tuple[int, int]]:
    """The ends, in labels, that leave the same mass on both sides; and the whole counts around them."""
    ends = np.interp([(1 - level) / 2, (1 + level) / 2], np.cumsum(law.mass), law.counts)
    low, high = float(ends[0]), float(ends[1])
    return low, high, (floor(low), ceil(high))


def _check(
    *,
    p: float,
    level: float,
    kind: str,
    epsilon: float = 1.0,
    n: int = 1,
    width: float = 0.5,
) -> None:
    """Refuse what is not a share, a level, a kind, an epsilon, a number of records or a width."""
    for name, value, good, allowed in (
        ("p", p, 0 <= p <= 1, "a share from 0 to 1, e.g. 0.25"),
        ("level", level, 0 < level < 1, "a probability above 0 and below 1, e.g. 0.9"),
        ("kind", kind, kind in get_args(Kind), " or ".join(get_args(Kind))),
        ("epsilon", epsilon, EPSILONS[0] <= epsilon <= EPSILONS[1], "a number from 0.000001 to 1000000, e.g. 0.4"),
        ("n", n, 1 <= n <= MOST, f"a whole number from 1 to {MOST}, e.g. 1000"),
        ("width", width, 0 < width < 1, "a number above 0 and below 1, e.g. 0.05"),
    ):
        if not good:
            raise JobError(f"--{name} is {value}: it must be {allowed}. {_NOTHING}")
