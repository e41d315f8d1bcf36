"""Noisy tables drawn towards a prior: the noise of nearly empty cells goes, what the noise cannot explain stays.

A true cell x is taken to lie around its prior mean m with variance phi m + kappa m^2: the part phi for chance,
kappa for real drift.  Both are found by the method of moments from the noisy table itself, so that nothing is
tuned.  The estimate of a cell is its posterior mean.  This is post-processing and costs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class Drift:
    """How far true counts lie from their prior mean m: with variance ``chance`` m + ``shift`` m^2."""

    chance: float
    shift: float

    def variance(self, mean: Floats) -> Floats:
        """The variance of the true cells around ``mean``."""
        return np.asarray(self.chance * mean + self.shift * mean**2)


def drift_of(tables: Sequence[npt.ArrayLike], means: Sequence[Floats], variances: Sequence[float]) -> Drift:
    """The drift that explains how far noisy ``tables`` are from their prior ``means``, beyond the noise.

    Weighted least squares of (y - m)^2 - noise on m and m^2, both coefficients at least 0.  Several tables
    share one drift.

    >>> drift_of([np.array([100.0, 50.0])], [np.array([100.0, 50.0])], [9.0])
    Drift(chance=0.0, shift=0.0)
    """
    g, h = np.zeros((2, 2)), np.zeros(2)
    for y, mean, noise in zip(tables, means, variances, strict=True):
        excess = (np.asarray(y, np.float64) - mean) ** 2 - noise
        basis = np.stack([mean, mean**2])
        weighted = basis / (noise + mean + (0.1 * mean) ** 2) ** 2
        g += weighted @ basis.T
        h += weighted @ excess
    return Drift(*_least_squares(g, h))


def _least_squares(g: Floats, h: Floats) -> tuple[float, float]:
    """The non-negative (a, b) that minimises the quadratic form with matrix ``g`` and right side ``h``."""
    alone = [max(0.0, float(h[i])) / max(float(g[i, i]), 1e-300) for i in (0, 1)]
    determinant = float(g[0, 0] * g[1, 1] - g[0, 1] ** 2)
    if determinant > 1e-12 * float(g[0, 0] * g[1, 1]):
        a = float(g[1, 1] * h[0] - g[0, 1] * h[1]) / determinant
        b = float(g[0, 0] * h[1] - g[0, 1] * h[0]) / determinant
        if a >= 0 and b >= 0:
            return a, b
    gain = [alone[i] * float(h[i]) for i in (0, 1)]
    return (alone[0], 0.0) if gain[0] >= gain[1] else (0.0, alone[1])


def posterior(table: npt.ArrayLike, mean: Floats, noise: float, drift: Drift) -> Floats:
    """The posterior mean of every cell: between the noisy count and its prior mean, by their precision."""
    spread = drift.variance(mean)
    return np.asarray(mean + (np.asarray(table, np.float64) - mean) * spread / (spread + max(noise, 1e-12)))


def shrink(
    table: npt.ArrayLike, mean: Floats, noise: float, *, pool: Drift | None = None, worth: float = 0.0
) -> Floats:
    """One noisy table drawn towards ``mean`` by its own drift, pooled with the drift of all tables.

    ``worth`` says how many cells of evidence the pooled drift counts for.
    """
    own = drift_of([table], [mean], [noise])
    if pool is not None and worth > 0:
        share = worth / (worth + mean.size)
        own = Drift(*(share * p + (1 - share) * o for p, o in ((pool.chance, own.chance), (pool.shift, own.shift))))
    return posterior(table, mean, noise, own)


def fit_margins(table: Floats, margins: Sequence[Floats], *, sweeps: int = 20) -> Floats:
    """The table scaled until its one-way sums are ``margins`` (iterative proportional fitting).

    >>> fit_margins(np.ones((2, 2)), [np.array([3.0, 1.0]), np.array([2.0, 2.0])]).tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    """
    fitted = np.maximum(table, 0.0)
    for _ in range(sweeps):
        for axis, margin in enumerate(margins):
            others = tuple(i for i in range(fitted.ndim) if i != axis)
            now = fitted.sum(axis=others)
            scale = np.divide(margin, now, out=np.zeros_like(now), where=now > 0)
            fitted = fitted * scale.reshape([-1 if i == axis else 1 for i in range(fitted.ndim)])
    return np.asarray(fitted)
