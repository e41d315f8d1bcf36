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
    """The non-negative f and k that fit the scatter best; a cell counts by how precisely it shows its own.

    A squared difference has a standard deviation in proportion to its mean, f m + k m^2 + variance, so cells
    are weighted by one over its square, found in a few rounds.  Errs towards the public tables.
    """
    best = (0.0, 0.0)
    for _ in range(8):
        weight = 1 / (best[0] * m + best[1] * m**2 + variance) ** 2
        a = [float(np.sum(weight * m**power)) for power in (2, 3, 4)]
        b = [float(np.sum(weight * m**power * scatter)) for power in (1, 2)]
        b = [b[0] - (2 * a[0]) ** 0.5, b[1] - (2 * a[2]) ** 0.5]  # less a standard error: in doubt, public
        det = a[0] * a[2] - a[1] ** 2
        both = ((b[0] * a[2] - b[1] * a[1]) / det, (b[1] * a[0] - b[0] * a[1]) / det) if det > 0 else (-1.0, -1.0)
        alone = [(max(b[0] / a[0], 0.0), 0.0), (0.0, max(b[1] / a[2], 0.0))] if a[2] > 0 else [(0.0, 0.0)]
        gains = [b[0] * f + b[1] * k - (a[0] * f * f + 2 * a[1] * f * k + a[2] * k * k) / 2 for f, k in alone]
        best = both if min(both) >= 0 else alone[int(np.argmax(gains))]
    return best


def _own_scale(scatter: Floats, spread: Floats, variance: float) -> float:
    """How much wider one table scatters than all together, itself drawn towards 1 by half its noise."""
    expected = float(np.sum(spread))
    doubt = variance * float(np.sqrt(2 * spread.size))
    return max(float(np.sum(scatter)) + doubt, 0.0) / (expected + doubt) if expected + doubt > 0 else 0.0
