"""The Laplace-binomial law: how often a label is drawn from a leaf whose count was published with noise.

A leaf holds n records, a share p of them with the label.  Its count is published as
C = n p + Laplace(scale 1 / epsilon) and cut to P = C / n within [0, 1]; then n synthetic labels are drawn, and
X | P is Binomial(n, P).  So

    P(X = k) = integral of Bin(k; n, p) f(p) dp over (0, 1), and the masses that the cut puts at p = 0 and p = 1.

    >>> law = laplace_binomial(0.25, 0.4, 1000)
    >>> round(law.at(250), 9)
    0.028236868
    >>> abs(float(law.mass.sum()) - 1) < 1e-12
    True
"""

from dataclasses import dataclass
from math import asin, ceil, exp, log, pi, sqrt
from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_SCALES = 13.0  # a panel spans at most so many scales of the noise, and so many standard deviations of the
_DEVIATIONS = 5.0  # binomial: 16 nodes are then exact to the last digits of a float
_PANELS = 3  # on each side: exp(-39) of the noise is left out, less than a float can tell from nothing


@final
@dataclass(frozen=True)
class LaplaceBinomial:
    """The probabilities of the counts ``first``, ``first + 1``, ...; all other counts have none worth a float.

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
