"""Empirical-Bayes shrinkage of noisy counts towards a public prior, its trust learnt from the noisy counts.

The true count of a cell is taken to lie around its prior count mu with variance psi + phi mu + kappa mu^2:
something everywhere, something like sampling, something like drift.  The three are fitted to the noisy
counts themselves by moments, which is free, so a poor prior is found out and hardly used.

    >>> noisy = np.array([105.0, 48.0, -3.0, 1.0])
    >>> near, _ = shrink(noisy, np.array([100.0, 50.0, 0.0, 1.0]), 25.0)
    >>> bool(abs(near[0] - 100) < 5), near[2].item() == 0.0
    (True, True)
"""

from itertools import combinations
from math import log1p

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_ROUNDS = 4
_KURTOSIS = 5.0  # the variance of a squared Laplace variate, relative to its squared mean


def shrink(noisy: Floats, prior: Floats, variance: float) -> tuple[Floats, Floats]:
    """The posterior mean of every cell, and its variance."""
    spread = prior_spread(noisy, prior, variance)
    weight = spread / (spread + variance)
    return weight * noisy + (1 - weight) * prior, weight * variance


def prior_spread(noisy: Floats, prior: Floats, variance: float) -> Floats:
    """How far, in variance, the true counts are from the prior, as the noisy counts tell."""
    excess = (noisy - prior) ** 2 - variance
    basis = np.stack([np.ones_like(prior), prior, prior**2])
    spread = np.zeros_like(prior)
    for _ in range(_ROUNDS):  # a squared gap varies with the square of its mean: weigh by that
        weight = 1 / (variance + spread) ** 2
        spread = _nonnegative_fit(basis, excess, weight) @ basis
    return np.asarray(spread)


def _nonnegative_fit(basis: Floats, target: Floats, weight: Floats) -> Floats:
    """The weighted least-squares coefficients, none below zero: the best of the few possible sets of them.

    Each must earn its place beyond what noise alone would give it (more so in large tables, where a spread
    too small to be seen matters little): without that, a good prior would be spoilt by what noise suggests.
    """
    scale = np.maximum(np.sqrt((basis**2 * weight).sum(axis=1)), 1e-300)
    scaled = basis / scale[:, None]
    gram, aim = (scaled * weight) @ scaled.T, (scaled * weight) @ target
    best, least, toll = np.zeros(len(basis)), 0.0, _KURTOSIS * (1 + log1p(len(target) / 100))
    for k in range(1, len(basis) + 1):
        for chosen in map(list, combinations(range(len(basis)), k)):
            found = np.linalg.lstsq(gram[np.ix_(chosen, chosen)], aim[chosen], rcond=1e-10)[0]
            gain = float(found @ gram[np.ix_(chosen, chosen)] @ found - 2 * found @ aim[chosen])
            if (found >= 0).all() and gain + toll * k < least:
                best = np.zeros(len(basis))
                best[chosen], least = found, gain + toll * k
    return np.asarray(best / scale)
