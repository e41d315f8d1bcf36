"""Empirical-Bayes shrinkage of noisy tables towards a prior by the method of moments (after James and Stein).

The noise of nearly empty cells goes, what the noise cannot explain stays.
A true cell x is taken to lie around its prior mean m with variance phi u + kappa u^2, u = m (1 - m / total): the
part phi for chance (that of a sample), kappa for real drift (of the odds of a cell).  Both are found by the method
of moments from the noisy table itself, so that nothing is tuned.  The estimate of a cell is its posterior mean.
This is post-processing and costs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.model.tables.constants import PUBLIC_BLEND

Floats = npt.NDArray[np.float64]
Variance = float | Floats


@final
@dataclass(frozen=True)
class Drift:
    """How far true counts lie from a prior mean m: variance ``chance`` u + ``shift`` u^2; u is m (1 - m/total)."""

    chance: float
    shift: float

    def variance(self, mean: Floats) -> Floats:
        """The variance of the true cells around ``mean``, which is a whole table."""
        open_ = _open(mean)
        return np.asarray(self.chance * open_ + self.shift * open_**2)


def _open(mean: Floats) -> Floats:
    """m (1 - m / total): what of a cell is open to chance. A cell that has nearly every record hardly varies."""
    return np.asarray(mean * (1 - mean / max(float(mean.sum()), 1e-300)))


def drift_of(
    tables: Sequence[npt.ArrayLike],
    means: Sequence[Floats],
    variances: Sequence[Variance],
    *,
    caution: float = 0.0,
    least: float = 0.0,
) -> Drift:
    """The drift that explains how far noisy ``tables`` are from their prior ``means``, beyond the noise.

    Weighted least squares of (y - m)^2 - noise on u and u^2, both coefficients at least 0.  Several tables
    share one drift.  ``caution`` is a standard normal number: what noise alone would exceed as rarely as it is
    taken off, lest noise pass for drift.
    ``least`` is a chance known beforehand; only what it leaves unexplained is looked at.

    >>> drift_of([np.array([100.0, 50.0])], [np.array([100.0, 50.0])], [9.0])
    Drift(chance=0.0, shift=0.0)
    """
    g, h, sums, squares = np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.zeros(2)
    for y, mean, noise in zip(tables, means, variances, strict=True):
        excess = (np.asarray(y, np.float64) - mean) ** 2 - noise - least * _open(mean)
        basis = np.stack([_open(mean), _open(mean) ** 2])
        weighted = basis / (noise + 1 + basis[0] + 0.01 * basis[1]) ** 2  # the 1: a row in a cell that expects none
        g += weighted @ basis.T
        h += weighted @ excess
        expected = np.broadcast_to(np.asarray(noise) + least * _open(mean), mean.shape)
        sums += weighted @ expected
        squares += weighted**2 @ expected**2
    if caution:
        h = h - np.array([_rare(caution, a, b) for a, b in zip(sums, squares, strict=True)])
    chance, shift = _least_squares(g, h)
    return Drift(least + chance, shift)


def _rare(sure: float, total: float, squares: float) -> float:
    """How far a weighted sum of squared normal numbers exceeds its mean as rarely as one of them exceeds ``sure``.

    ``total`` is its mean, ``squares`` the sum of the squares of its terms' means.  Few terms have a long tail: the
    sum is like chi-square with total^2 / squares degrees of freedom (Satterthwaite; Wilson and Hilferty).

    >>> round(1 + _rare(1.645, 1.0, 1.0), 1), round(10 + _rare(1.645, 10.0, 10.0), 1)  # 5 % of chi-square, 1 and 10
    (3.7, 18.3)
    """
    if total <= 0 or squares <= 0:
        return 0.0
    freedom = total**2 / squares
    return float(total * ((1 - 2 / (9 * freedom) + sure * np.sqrt(2 / (9 * freedom))) ** 3 - 1))


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


def posterior(table: npt.ArrayLike, mean: Floats, noise: Variance, drift: Drift) -> Floats:
    """The posterior mean of every cell: between the noisy count and its prior mean, by their precision."""
    spread = drift.variance(mean)
    return np.asarray(mean + (np.asarray(table, np.float64) - mean) * spread / (spread + np.maximum(noise, 1e-12)))


def shrink(table: npt.ArrayLike, mean: Floats, noise: Variance) -> Floats:
    """One noisy table shrunk towards ``mean`` by its own drift; the noise may differ from cell to cell."""
    return posterior(table, mean, noise, drift_of([table], [mean], [noise]))


def pooled_drifts(
    tables: Sequence[npt.ArrayLike], means: Sequence[Floats], variances: Sequence[float], *, least: float = 0.0
) -> tuple[Drift, ...]:
    """The drift of each table: that of all together, unless its own differs from it by more than chance would.

    The weight of a table's own figure is 1 - (what noise makes once in 10^5 / its distance from the pooled one)^2,
    at least 0: a table that the noise does not tell apart from the others has their drift.
    ``least`` is the smallest ``chance``: 1 when the true counts are themselves a sample.
    """
    pool = drift_of(tables, means, variances, caution=PUBLIC_BLEND.pool_drift_sure, least=least)
    found = []
    for y, mean, noise in zip(tables, means, variances, strict=True):
        own, chance = drift_of([y], [mean], [noise], least=least), []
        for power, one, all_ in ((1, own.chance, pool.chance), (2, own.shift, pool.shift)):
            basis = _open(mean) ** power
            weighted = basis / (noise + 1 + _open(mean) + (0.1 * _open(mean)) ** 2) ** 2
            expected = weighted * (noise + pool.variance(mean))
            rare = _rare(PUBLIC_BLEND.own_drift_sure, float(expected.sum()), float((expected**2).sum()))
            rare /= max(float((weighted * basis).sum()), 1e-150)
            trust = max(0.0, 1 - rare**2 / max((one - all_) ** 2, 1e-300))
            chance.append(trust * one + (1 - trust) * all_)
        found.append(Drift(max(chance[0], least), chance[1]))
    return tuple(found)
