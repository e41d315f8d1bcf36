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
from math import asin, ceil, exp, floor, log, pi, sqrt
from typing import Any, Literal, final, get_args

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError

Floats = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_SCALES = 13.0  # a panel spans at most so many scales of the noise, and so many standard deviations of the
_DEVIATIONS = 5.0  # binomial: 16 nodes are then exact to the last digits of a float
_PANELS = 3  # on each side: exp(-39) of the noise is left out, less than a float can tell from nothing


@final
@dataclass(frozen=True)
class LaplaceBinomial:
    """The Laplace-binomial law: how often a label is drawn from a leaf whose count was published with noise.

    A leaf holds n records, a share p of them with the label.  Its count is published as
    C = n p + Laplace(scale 1 / epsilon) and cut to P = C / n within [0, 1]; then n synthetic labels are drawn, and
    X | P is Binomial(n, P).  So

        P(X = k) = integral of Bin(k; n, p) f(p) dp over (0, 1), and the masses that the cut puts at p = 0 and p = 1.

    These are the probabilities of the counts ``first``, ``first + 1``, ...; all others have none worth a float.

    >>> law = laplace_binomial(0.25, 0.4, 1000)
    >>> round(law.at(250), 9)
    0.028236868
    >>> abs(float(law.mass.sum()) - 1) < 1e-12
    True

    Attributes:
        n: how many labels are drawn.
        first: the least count with a probability of its own here.
        mass: the probabilities, from ``first`` on.
    """

    n: int
    first: int
    mass: Floats

    @property
    def counts(self) -> Floats:
        """The counts that ``mass`` is about."""
        return self.first + np.arange(len(self.mass), dtype=np.float64)

    @property
    def mean(self) -> float:
        """The mean of the share X / n."""
        return float(self.mass @ self.counts) / self.n

    @property
    def sd(self) -> float:
        """The standard deviation of the share X / n."""
        away = self.counts / self.n - self.mean
        return sqrt(float(self.mass @ (away * away)))

    def at(self, count: int) -> float:
        """The probability of one count."""
        i = count - self.first
        return float(self.mass[i]) if 0 <= i < len(self.mass) else 0.0


def laplace_binomial(p: float, epsilon: float, n: int) -> LaplaceBinomial:
    """The law of the count of a label with share ``p`` among ``n`` records, ``epsilon`` spent on the count."""
    if p > 0.5:
        other = laplace_binomial(1 - p, epsilon, n)  # the labels change places; small shares are exact in a float
        return LaplaceBinomial(n, n + 1 - other.first - len(other.mass), other.mass[::-1])
    rate = epsilon * n
    edges = _edges(p, rate, n)
    first, last = _least(p + edges[0], n), _most(p + edges[-1], n)
    centre = _log_odds((round(n * p) + 0.5) / (n + 1))
    k = np.arange(first, last, dtype=np.float64)
    shape = np.concatenate([[0.0], np.cumsum(np.log((n - k) / (k + 1)) + centre)])
    mass = np.zeros(last - first + 1)
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        offsets = (low + high) / 2 + (high - low) / 2 * _NODES
        weights = _WEIGHTS * ((high - low) / 2 * rate / 2) * np.exp(-rate * np.abs(offsets))
        odds = np.log((p + offsets) / (1 - p - offsets)) - centre
        i, j = _least(p + low, n) - first, _most(p + high, n) - first + 1
        mass[i:j] += _mixture(shape[i:j], odds, weights)
    mass[0] += exp(-rate * p) / 2 if first == 0 else 0.0
    mass[-1] += exp(-rate * (1 - p)) / 2 if last == n else 0.0
    return LaplaceBinomial(n, first, mass)


def _edges(p: float, rate: float, n: int) -> Floats:
    """Where panels begin and end, as offsets from ``p``: the kink of the noise at 0 is one of them.

    On the scale asin(sqrt(p)) a binomial share has the standard deviation 1 / (2 sqrt(n)) everywhere.
    """
    reach = _PANELS * _SCALES / rate
    low, high = -min(p, reach), min(1 - p, reach)
    angle, step = asin(sqrt(p)), _DEVIATIONS / (2 * sqrt(n))
    before, after = (ceil(abs(asin(sqrt(min(1.0, p + end))) - angle) / step) for end in (low, high))
    turns = np.clip(angle + step * np.arange(-before, after + 1), 0, pi / 2)
    by_binomial = np.sin(turns - angle) * np.sin(turns + angle)  # sin^2 a - sin^2 b, without cancellation
    by_noise = np.arange(-_PANELS, _PANELS + 1) * (_SCALES / rate)
    edges: Floats = np.unique(np.clip(np.concatenate([[low, 0.0, high], by_binomial, by_noise]), low, high))
    apart = np.diff(edges) > 1e-12 * (high - low)  # others are the same edge, but for rounding
    return np.asarray(edges[np.append(apart, True)])


def _mixture(shape: Floats, odds: Floats, weights: Floats) -> Floats:
    """Binomial laws with these log-odds, each summing to 1 over the counts in sight, mixed with ``weights``."""
    logs = shape + odds[:, None] * np.arange(len(shape))
    logs -= logs.max(axis=1, keepdims=True)
    laws = np.exp(logs, out=logs)
    mixed: Floats = (weights / laws.sum(axis=1)) @ laws
    return mixed


def _log_odds(p: float) -> float:
    return log(p / (1 - p))


def _least(p: float, n: int) -> int:
    """Fewer labels than this have a probability below 1e-16."""
    return max(0, int(n * p - 8.5 * sqrt(n * p * (1 - p)) - 30))


def _most(p: float, n: int) -> int:
    """More labels than this have a probability below 1e-16."""
    return min(n, ceil(n * p + 8.5 * sqrt(n * p * (1 - p)) + 30))


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
                f"{epsilon:g}.\nAsk for a larger --width, or spend a larger --epsilon (in Python: width=,\n"
                f"epsilon=). {_NOTHING}"
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
            f"{alone:.6g} at p {p:g}, wider than {width:g}.\n"
            "Ask for a larger --width or a larger --n (in Python: width=, n=);\n"
            f"hedgerow interval --p {p:g} --epsilon 1 --width {width:g} (in Python: least_n) gives the least n.\n"
            f"{_NOTHING}"
        )
    if (widest := width_at(low)) <= width:
        raise JobError(
            f"Every epsilon keeps this width: with nothing but noise the interval of {n:,} labels at p {p:g} has "
            f"width {widest:.6g}.\nAsk for a --width below that (in Python: width=). {_NOTHING}"
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
