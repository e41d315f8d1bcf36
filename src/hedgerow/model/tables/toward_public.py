"""Noisy tables drawn towards a public relative's, as far as the noise itself recommends (empirical Bayes).

A cell is y = truth + noise, and the truth is scattered around the public share m.  How widely is learnt from all
cells at once: in each band of cells with like public shares, the scatter is a mixture of normal laws around m, from
none at all to far wider than the noise, whose shares are those of greatest likelihood (adaptive shrinkage, Stephens
2017).  So cells that plainly differ from the public table stay where they were measured, however many do not.
"""

from collections.abc import Sequence

import numpy as np

from hedgerow.model.tables.projection import Floats

_WIDTHS = 4.0 ** np.arange(-1, 14)  # scatter variances, in units of the noise variance; and 0 before them
_DOUBT = 5.0  # times the root of the cells are counted as no scatter at all before looking: in doubt, public
_BAND = 250  # the fewest cells of a band


def drawn_toward(noisy: Sequence[Floats], public: Sequence[Floats], variance: float) -> list[Floats]:
    """Each noisy table of shares moved towards its public one; ``variance`` is that of the noise on a share.

    >>> near = drawn_toward([np.array([0.52, 0.48])], [np.array([0.5, 0.5])], variance=1.0)
    >>> near[0].round(2).tolist()
    [0.5, 0.5]
    """
    return drawn_and_followed(noisy, public, variance)[0]


def drawn_and_followed(
    noisy: Sequence[Floats], public: Sequence[Floats], variance: float
) -> tuple[list[Floats], float]:
    """The drawn tables; and by how much they follow a change of each noisy cell, summed over the cells.

    The latter tells how much nearer to the noisy tables than to the truth they are (Stein 1981).
    """
    y, m = np.concatenate([t.ravel() for t in noisy]), np.concatenate([t.ravel() for t in public])
    weight, followed = np.zeros(len(y)), 0.0
    bands = int(np.clip(len(y) // _BAND, 1, 12))
    for cells in np.array_split(np.argsort(m, kind="stable"), bands):
        weight[cells], slopes = _kept((y[cells] - m[cells]) ** 2 / variance)
        followed += float(slopes.sum())
    flat = m + weight * (y - m)
    ends = np.cumsum([t.size for t in noisy])[:-1]
    return [part.reshape(t.shape) for part, t in zip(np.split(flat, ends), noisy, strict=True)], followed


def _kept(square: Floats) -> tuple[Floats, Floats]:
    """The part of each difference that is kept, from its square in units of the noise variance; and its slope.

    A cell of law k keeps s_k = 1 - 1 / spread_k.  As the chances of the laws change with the difference z, the kept
    part z E[s] has the slope E[s] + z^2 Var[s].
    """
    spread = np.concatenate([[1.0], 1.0 + _WIDTHS])
    spread = spread[: 2 + int(np.searchsorted(spread, square.max(initial=1.0)))]
    likely = np.exp(-0.5 * square[:, None] / spread + 0.5 * square[:, None] / spread[-1]) / np.sqrt(spread)
    extra = np.zeros(len(spread))
    extra[0] = _DOUBT * len(square) ** 0.5  # a mean square is known to about one over that root
    share = (extra + 1) / (extra + 1).sum()
    for _ in range(40):
        each = likely * share
        each /= np.maximum(each.sum(axis=1, keepdims=True), 1e-300)
        share = each.sum(axis=0) + extra
        share /= share.sum()
    keeps = 1 - 1 / spread
    kept = each @ keeps
    return kept, kept + square * (each @ keeps**2 - kept**2)
