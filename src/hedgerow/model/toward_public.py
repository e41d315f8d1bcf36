"""Noisy tables drawn towards a public relative's, as far as their own noise recommends (empirical Bayes).

A cell is taken as y = truth + noise, and the truth as scattered around the public share m with variance
f m + k m^2; f and k are estimated from how far all the noisy tables are from the public ones.  The
posterior mean is in between.  A relative that is far off gets little weight, a noisy table too.
"""

from collections.abc import Sequence

import numpy as np

from hedgerow.model.simplex import Floats


def drawn_toward(noisy: Sequence[Floats], public: Sequence[Floats], variance: float) -> list[Floats]:
    """Each noisy table of shares moved towards its public one; ``variance`` is that of the noise on a share.

    >>> near = drawn_toward([np.array([0.52, 0.48])], [np.array([0.5, 0.5])], variance=1.0)
    >>> near[0].round(2).tolist()
    [0.5, 0.5]
    """
    y, m = np.concatenate([t.ravel() for t in noisy]), np.concatenate([t.ravel() for t in public])
    scatter = (y - m) ** 2 - variance
    linear, square = _moments(scatter, m, variance)
    out = []
    for t, prior in zip(noisy, public, strict=True):
        spread = linear * prior + square * prior**2
        own = _own_scale((t - prior) ** 2 - variance, spread, variance)
        weight = own * spread / (own * spread + variance)
        out.append(np.asarray(prior + weight * (t - prior)))
    return out


def _moments(scatter: Floats, m: Floats, variance: float) -> tuple[float, float]:
    """The non-negative f and k that fit the scatter best; cells count by how well they show it."""
    weight = 1 / (variance + np.mean(np.maximum(scatter, 0)) + 1e-30)
    a = np.array([[np.sum(m**2), np.sum(m**3)], [np.sum(m**3), np.sum(m**4)]]) * weight
    b = np.array([np.sum(m * scatter), np.sum(m**2 * scatter)]) * weight
    if abs(np.linalg.det(a)) > 1e-12 * a[0, 0] * a[1, 1]:
        linear, square = np.linalg.solve(a, b)
        if linear >= 0 and square >= 0:
            return float(linear), float(square)
    linear, square = b[0] / a[0, 0], b[1] / a[1, 1]
    left = [(-linear * b[0], (max(linear, 0.0), 0.0)), (-square * b[1], (0.0, max(square, 0.0)))]
    return min(left)[1]


def _own_scale(scatter: Floats, spread: Floats, variance: float) -> float:
    """How much wider one table scatters than all together, itself drawn towards 1 by half its noise."""
    expected = float(np.sum(spread))
    doubt = variance * float(np.sqrt(2 * spread.size))
    return max(float(np.sum(scatter)) + doubt, 0.0) / (expected + doubt) if expected + doubt > 0 else 0.0
