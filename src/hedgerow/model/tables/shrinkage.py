"""Empirical-Bayes shrinkage of noisy tables towards a prior, and smoothing of sampled ones. Free post-processing.

``shrink`` works by the method of moments (after James and Stein): the noise of nearly empty cells goes, what the
noise cannot explain stays.  A true cell x is taken to lie around its prior mean m with variance phi u + kappa u^2, u
= m (1 - m / total): the part phi for chance (that of a sample), kappa for real drift (of the odds of a cell). Both
are found from the noisy table itself, so that nothing is tuned. The estimate of a cell is its posterior mean.

``shrink_by_gaps`` reads its trust in a public prior from absolute gaps. A true count lies around c mu, its prior
count scaled, with variance psi + phi mu + kappa mu^2: something everywhere, something like sampling, something like
drift. All four are fitted to the noisy counts, so a poor prior is found out and hardly used. Three things keep it
from ever doing worse than the better of prior alone and counts alone: the prior is scaled by the cells that know
its scale, not by the noisy sum of all; spread is read from absolute gaps, which a few wild cells cannot rule; and
it must be seen beyond doubt before a prior is left, but in a table of few cells, where doubt never ends, at once.
It is the one for a public prior that may be wrong anywhere. On twelve tables of personnel and seven epsilons its
error is 0.89 of the better of both, at worst 1.03; moments have 0.97 and 6.3 (bench/bake_off.py, small tables). For
pairs around independence moments are better: 0.83 against 0.93 in Illinois.

    >>> noisy = np.array([105.0, 48.0, -3.0, 1.0])
    >>> near = shrink_by_gaps(noisy, np.array([100.0, 50.0, 0.0, 1.0]), 25.0)
    >>> bool(abs(near.mean[0] - 102) < 3), abs(near.mean[2].item()) < 3
    (True, True)

``smoothed`` takes the chance out of a sampled table: what a larger sample of the same people would show. A cell of
a sample has the variance of its mean, so the error that smoothing leaves can be estimated without knowing the truth
(Stein's unbiased estimate), and the width that leaves least is taken; 0, no smoothing, is among the candidates.
Along columns with an order, neighbouring values lend each other strength; what is smoothed is the ratio to
independence, so that heaps (age 40, 40 hours) stay. Where there is no order, singular values are shrunk instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import BLEND, INTEGER_COUNTS, PUBLIC_BLEND
from hedgerow.model.tables.fitting import Floats, inner
from hedgerow.public import Laplace, NoiseLaw

Variance = float | Floats
_FITTED = 4  # figures that ``shrink_by_gaps`` learns from a table


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
    like: "Moments | None" = None,
) -> Drift:
    """The drift that explains how far noisy ``tables`` are from their prior ``means``, beyond the noise.

    Weighted least squares of (y - m)^2 - noise on u and u^2, both coefficients at least 0.  Several tables
    share one drift.  ``caution`` is a standard normal number: what noise alone would exceed as rarely as it is
    taken off, lest noise pass for drift.
    ``least`` is a chance known beforehand; only what it leaves unexplained is looked at.
    ``like`` is what tables like these tell, and counts for ``BLEND.like_cells`` cells: a table of four cells tells
    next to nothing of its own drift.

    >>> drift_of([np.array([100.0, 50.0])], [np.array([100.0, 50.0])], [9.0])
    Drift(chance=0.0, shift=0.0)
    """
    g, h, sums, squares = np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.zeros(2)
    for y, mean, noise in zip(tables, means, variances, strict=True):
        own = _moments(y, mean, noise, least)
        g, h = g + own[0], h + own[1]
        if not caution:
            continue
        open_ = _open(mean)
        weighted = _weighted(open_, noise)[1]
        expected = np.broadcast_to(np.asarray(noise) + least * open_, mean.shape)
        sums += weighted @ expected
        squares += weighted**2 @ expected**2
    if caution:
        h = h - np.array([_rare(caution, a, b) for a, b in zip(sums, squares, strict=True)])
    if like is not None:
        g, h = g + BLEND.like_cells * like[0], h + BLEND.like_cells * like[1]
    chance, shift = _least_squares(g, h)
    return Drift(least + chance, shift)


Moments = tuple[Floats, Floats]
"""The sums of the least squares behind a drift, for one cell on average."""


def moments(seen: Sequence[tuple[Floats, Floats, Variance]]) -> Moments | None:
    """What tables tell together of their drift, each with its mean and the variance of its noise; None if none."""
    if not seen:
        return None
    known, cells = [_moments(*table, 0.0) for table in seen], sum(len(mean) for _, mean, _ in seen)
    return np.sum([g for g, _ in known], axis=0) / cells, np.sum([h for _, h in known], axis=0) / cells


def _weighted(open_: Floats, noise: Variance) -> tuple[Floats, Floats]:
    """u and u^2 of every cell, and the same by their weights in the least squares behind a drift."""
    basis = np.stack([open_, open_**2])
    return basis, basis / (noise + 1 + basis[0] + 0.01 * basis[1]) ** 2  # the 1: a row in a cell that expects none


def _moments(table: npt.ArrayLike, mean: Floats, noise: Variance, least: float) -> Moments:
    """The sums that one table adds to the least squares."""
    open_ = _open(mean)
    basis, weighted = _weighted(open_, noise)
    excess = (np.asarray(table, np.float64) - mean) ** 2 - noise - least * open_
    return weighted @ basis.T, weighted @ excess


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


def shrink(table: npt.ArrayLike, mean: Floats, noise: Variance, like: Moments | None = None) -> Floats:
    """One noisy table shrunk towards ``mean`` by its own drift; the noise may differ from cell to cell."""
    return posterior(table, mean, noise, drift_of([table], [mean], [noise], like=like))


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
        open_, spread = _open(mean), noise + pool.variance(mean)
        doubt = (noise + 1 + open_ + (0.1 * open_) ** 2) ** 2
        for power, one, all_ in ((1, own.chance, pool.chance), (2, own.shift, pool.shift)):
            basis = open_**power
            weighted = basis / doubt
            expected = weighted * spread
            rare = _rare(PUBLIC_BLEND.own_drift_sure, float(expected.sum()), float((expected**2).sum()))
            rare /= max(float((weighted * basis).sum()), 1e-150)
            trust = max(0.0, 1 - rare**2 / max((one - all_) ** 2, 1e-300))
            chance.append(trust * one + (1 - trust) * all_)
        found.append(Drift(max(chance[0], least), chance[1]))
    return tuple(found)


@final
@dataclass(frozen=True, eq=False)
class Shrunk:
    """Counts shrunk towards a prior.

    Attributes:
        mean: the posterior mean of every cell.
        variance: its posterior variance.
        scale: what the prior was multiplied with.
    """

    mean: Floats
    variance: Floats
    scale: float


def shrink_by_gaps(
    noisy: Floats,
    prior: Floats,
    variance: float,
    *,
    law: type[NoiseLaw] = Laplace,
    scale: float | None = None,
) -> Shrunk:
    """The posterior mean and variance of every cell; ``scale`` of the prior where it is known."""
    c, spread = 1.0, np.zeros_like(prior)
    for _ in range(INTEGER_COUNTS.scale_rounds if scale is None else 1):
        c = scale if scale is not None else _scale(noisy, prior, variance + spread)
        spread = prior_spread(np.abs(noisy - c * prior), c * prior, variance, law=law)
    if variance < INTEGER_COUNTS.hidden_noise:
        return Shrunk(noisy, np.full_like(noisy, variance), c)
    doubted = variance * (1 - min(_FITTED, len(prior) - 1) / len(prior))  # what was learnt leans on the same noise
    weight = spread / (spread + doubted)
    return Shrunk(weight * noisy + (1 - weight) * c * prior, weight * variance, c)


def _scale(noisy: Floats, prior: Floats, variance: Floats) -> float:
    """The multiple of the prior that is nearest to the counts, by the precision of the cells."""
    known = float((prior * prior / variance).sum())
    return max(float((prior * noisy / variance).sum()) / known, 0.0) if known > 0 else 0.0


def prior_spread(gaps: Floats, prior: Floats, variance: float, *, law: type[NoiseLaw] = Laplace) -> Floats:
    """How far, in variance, the true counts are from the prior, as the absolute ``gaps`` of noisy counts tell.

    The mean gap is about sqrt(a variance + b spread), so each gap tells the spread of its cell, roughly; these are
    fitted by weighted least squares, with the weights that the fit itself implies.
    """
    a, b, varies = law.gap
    unit = max(float(np.sqrt((prior * prior).mean())), 1e-300)
    powers, spread, trust = prior / unit, np.zeros_like(prior), 1.0
    kept: tuple[int, ...] = (0, 1, 2)
    for turn in range(INTEGER_COUNTS.spread_rounds):
        mean = np.sqrt(a * variance + b * spread)
        told = spread + (gaps - mean) * (2 * mean / b)
        weight = (b / (2 * mean * mean)) ** 2 / varies
        toll = min(INTEGER_COUNTS.spread_doubt, len(prior) / INTEGER_COUNTS.cells_per_doubt) if turn == 0 else 0.0
        found, gain = _nonnegative_fit(powers, told, weight, kept, toll)
        if gain <= 0:
            return np.zeros_like(prior) if turn == 0 else trust * spread
        fitted = found[0] + powers * (found[1] + powers * found[2])
        if turn == 0:  # what must be seen is seen when nothing is assumed; later fits only refine it
            kept, spread = tuple(i for i in kept if found[i] > 0), fitted
            trust = 1 - toll * len(kept) / gain
        else:
            spread = (spread + fitted) / 2
    return np.asarray(trust * spread)


def _nonnegative_fit(
    x: Floats, target: Floats, weight: Floats, kept: tuple[int, ...], toll: float
) -> tuple[Floats, float]:
    """The least-squares coefficients of 1, x, x^2, none below zero, and their gain in squared standard errors.

    Each coefficient must earn ``toll``; the set is chosen that earns most beyond its tolls.
    """
    sums, aim, power = np.zeros(5), np.zeros(3), weight.copy()
    for k in range(5):
        sums[k] = power.sum()
        if k < 3:
            aim[k] = power @ target
        power *= x
    best, most, earned = np.zeros(3), 0.0, 0.0
    for size in range(1, len(kept) + 1):
        for chosen in map(list, combinations(kept, size)):
            gram = np.array([[sums[i + j] for j in chosen] for i in chosen])
            unit = np.sqrt(np.maximum(np.diag(gram), 1e-300))
            found = np.linalg.lstsq(gram / np.outer(unit, unit), aim[chosen] / unit, rcond=1e-10)[0] / unit
            gain = float(aim[chosen] @ found)
            if (found >= 0).all() and gain - toll * size > most:
                best = np.zeros(3)
                best[chosen], most, earned = found, gain - toll * size, gain
    return best, earned


Widths = tuple[int, int]
"""How many neighbours along each column a table is smoothed with; 0 and 0: singular values are shrunk instead."""


def smoothing_widths(table: Floats, unit: float = 1.0, *, steps: tuple[int, int] = (0, 0)) -> Widths:
    """The widths with the least estimated error for a sampled table; see ``smoothed``."""
    alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(float(table.sum()), 1e-300)
    return _kernel_smoothed(table, alone, unit * alone, steps)[1]


def smoothed(
    table: Floats, unit: float = 1.0, *, steps: tuple[int, int] = (0, 0), widths: Widths | None = None
) -> Floats:
    """The two-way table with its chance taken out, same total; ``unit`` is what one sampled row counts for.

    Args:
        table: sampled counts, each row of the sample worth ``unit`` on average.
        unit: the variance of a cell over its mean.
        steps: how many of the first values of each column stand in order; 0 or 1: none.
        widths: of the smoothing, where they were chosen before on a table like this; None: chosen on this one.
    """
    total = float(table.sum())
    if widths == (0, 0):
        return shrink_singular_values(table, unit)
    alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(total, 1e-300)
    best, chosen = _kernel_smoothed(table, alone, unit * alone, steps, widths)
    if not any(chosen):
        return shrink_singular_values(table, unit)
    trace = PUBLIC_BLEND.smoothing_trace  # so that no cell is impossible
    mean = ((1 - trace) * np.maximum(best, 0.0) + trace * alone).ravel()
    kept = np.maximum(shrink(table.ravel(), mean, unit * mean), 0.0).reshape(table.shape)
    return np.asarray(kept * (total / kept.sum()))


def smoothed_line(counts: Floats, unit: float = 1.0, *, steps: int = 0) -> Floats:
    """A one-way table with its chance taken out along its first ``steps`` values, which stand in order.

    >>> smoothed_line(np.array([9.0, 11.0, 10.0, 10.0, 9.0, 11.0]), steps=6).round(1).tolist()
    [9.9, 9.9, 10.0, 10.0, 10.1, 10.1]
    >>> smoothed_line(np.array([9.0, 900.0, 10.0]), steps=3).round().tolist()
    [9.0, 900.0, 10.0]
    """
    if steps < 3 or counts[:steps].sum() <= 0:
        return counts.copy()
    line = counts[:steps, None]
    near = _kernel(steps, steps, 2)
    variance = unit * (near @ line) / near.sum(axis=1, keepdims=True)
    best, width = _kernel_smoothed(line, np.ones_like(line), variance, (steps, 0))
    if not any(width):
        return counts.copy()
    mean = np.maximum(best.ravel(), 1e-3)
    kept = np.maximum(shrink(line.ravel(), mean, unit * mean), 0.0)
    return np.concatenate([kept * (line.sum() / kept.sum()), counts[steps:]])


def shrink_singular_values(table: Floats, unit: float = 1.0) -> Floats:
    """A sampled table with the singular values of its association shrunk, same total: singular-value shrinkage.

    The scaled residuals (x - e) / sqrt(e) around independence have variance 1 where there is no association
    (correspondence analysis).  A singular value that chance could make is dropped, a larger one is shrunk by
    what chance added to it (the optimal shrinkage of a noisy matrix; Gavish and Donoho, 2017).

    >>> even = np.random.default_rng(0).poisson(20.0, (8, 9)).astype(float)
    >>> alone = np.outer(even.sum(axis=1), even.sum(axis=0)) / even.sum()
    >>> bool(np.allclose(shrink_singular_values(even), alone))
    True
    """
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), float(table.sum())
    sizes = int((rows > 0).sum()) - 1, int((columns > 0).sum()) - 1
    if total <= 0 or min(sizes) < 1:
        return table.copy()
    alone = np.outer(rows, columns) / total
    root = np.sqrt(np.maximum(alone, 1e-300))
    left, values, right = np.linalg.svd(np.where(alone > 0, (table - alone) / root, 0.0), full_matrices=False)
    kept = shrunk_values(values, float(np.sqrt(unit * max(sizes))), min(sizes) / max(sizes))
    found = np.maximum(alone + (left * kept) @ right * root, 0.0)
    return np.asarray(found * (total / found.sum()))


def shrunk_values(values: Floats, scale: float, ratio: float) -> Floats:
    """Singular values less what noise of this scale adds; 0 where noise alone could make them."""
    y = values / scale
    inside = np.maximum((y**2 - ratio - 1) ** 2 - 4 * ratio, 0.0)
    return np.where(y > 1 + np.sqrt(ratio), np.sqrt(inside) / np.maximum(y, 1e-300), 0.0) * scale


def _kernel_smoothed(
    table: Floats, alone: Floats, variance: Floats, steps: tuple[int, int], only: Widths | None = None
) -> tuple[Floats, Widths]:
    """The smoothing of the ratio to ``alone`` with the least estimated error, and its widths.

    ``alone`` is the product of its margins, so that smoothing it takes no more than smoothing these.
    """
    first, second = _least_widths(table, alone, variance, steps) if only is None else only
    moved, high, wide = table - alone, alone.sum(axis=1), alone.sum(axis=0) / max(float(alone.sum()), 1e-300)
    if first:
        near = _kernel(table.shape[0], steps[0], first)
        moved, high = near @ moved, near @ high
    if second:
        near = _kernel(table.shape[1], steps[1], second)
        moved, wide = moved @ near, wide @ near
    own = np.outer(high, wide)
    np.divide(alone, np.maximum(own, 1e-300, out=own), out=own)  # how much of a smoothed count is its own
    return alone + own * moved, (first, second)


def _least_widths(table: Floats, alone: Floats, variance: Floats, steps: tuple[int, int]) -> Widths:
    """The widths with the least estimated error, by Stein's estimate; the narrower ones of two that are equal."""
    tried = [np.array([w for w in PUBLIC_BLEND.smoothing_widths if w == 0 or w < s]) for s in steps]
    weight, total = 1 / (variance + 1), max(float(alone.sum()), 1e-300)
    errors = np.zeros((len(tried[0]), len(tried[1])))
    if errors.size == 1:
        return 0, 0
    margins = np.ascontiguousarray(alone.sum(axis=1)), alone.sum(axis=0) / total
    cells = (np.ascontiguousarray(t, np.float64) for t in (table - alone, alone, weight, 2 * weight * variance))
    _add_smoothing_errors(*cells, *margins, *tried, *steps, errors)
    first, second = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return int(tried[0][first]), int(tried[1][second])


@inner
def _smooth_line(line, steps, width, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    """``found`` becomes ``line`` times ``_kernel``, by the few weights of it that are not 0."""
    for j in range(len(line)):
        found[j] = line[j]
    for d in range(1, width + 1):
        near = 1 - (d / (width + 1)) ** 2
        for j in range(d, steps):
            found[j] += near * line[j - d]
        for j in range(steps - d):
            found[j] += near * line[j + d]


@compiled
def _add_smoothing_errors(  # type: ignore[no-untyped-def]  # noqa: PLR0913  # pragma: no cover
    apart, alone, weight, doubt, rows, columns, downs, alongs, steps_down, steps_along, errors
):
    """Add Stein's estimate of the error to ``errors`` for every width down and along, line by line of the table."""
    n, m = apart.shape
    wide, high, part, moved = np.empty((len(alongs), m)), np.empty(n), np.empty(m), np.empty(m)
    for b in range(len(alongs)):
        _smooth_line(columns, steps_along, alongs[b], wide[b])
    for a in range(len(downs)):
        _smooth_line(rows, steps_down, downs[a], high)
        for i in range(n):
            for j in range(m):
                part[j] = apart[i, j]
            for other in range(max(i - downs[a], 0), min(i + downs[a] + 1, steps_down) if i < steps_down else 0):
                if other != i:
                    near = 1 - (abs(i - other) / (downs[a] + 1)) ** 2
                    for j in range(m):
                        part[j] += near * apart[other, j]
            for b in range(len(alongs)):
                _smooth_line(part, steps_along, alongs[b], moved)
                found = 0.0
                for j in range(m):
                    own = alone[i, j] / max(high[i] * wide[b, j], 1e-300)
                    gap = apart[i, j] - own * moved[j]
                    found += weight[i, j] * gap * gap + doubt[i, j] * own
                errors[a, b] += found


@lru_cache(maxsize=256)
def _kernel(size: int, steps: int, width: int) -> Floats:
    """Weights that fall with the distance between ordered values; other values stand alone."""
    far = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    near = np.maximum(1 - (far / (width + 1)) ** 2, 0.0) if width else np.eye(size)
    near[steps:] = near[:, steps:] = 0.0
    near[np.arange(steps, size), np.arange(steps, size)] = 1.0
    return near
