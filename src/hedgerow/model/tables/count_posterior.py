"""Noisy counts of a table made likely: an empirical-Bayes posterior median, where it helps. Free post-processing.

Cutting noisy counts at zero puts people into every empty cell; projection onto the simplex mends that and pulls down
middling cells of tables that have no empty ones.  The posterior median does neither: the cells of a table are taken
for draws from one law, which is estimated from all of them (the maximum-likelihood prior of Kiefer and Wolfowitz 1956
in bins, by expectation-maximisation), and the median of each cell's posterior is least wrong in absolute error.

None of the three is best on all tables, so ``likely_counts`` tries them: each plausible table (an estimate whose sum
the noisy total does not rule out) is taken for the truth, noise of the same law is added, and the method that comes
nearest to it is taken; cutting at zero, the plain method, unless another is clearly better.

    >>> from fractions import Fraction
    >>> from hedgerow.public import Laplace
    >>> noisy = np.array([9, 12, 8, 10, 11, 10, 31, 9, 10, 0, 12, 10])
    >>> posterior_median(noisy, Laplace(Fraction(5))).astype(int).tolist()
    [10, 10, 10, 10, 10, 10, 30, 10, 10, 2, 10, 10]
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from hedgerow.model.constants import INTEGER_COUNTS
from hedgerow.model.tables.fitting import Floats, project
from hedgerow.public import NoiseLaw

_STEPS = 8  # of a standard deviation that one unit of the grid is at most; noise is followed to six deviations
_MOST = 1 << 17  # different noisy counts that are told apart: what is kept of each takes a kilobyte


def posterior_median(noisy: npt.ArrayLike, law: NoiseLaw) -> Floats:
    """The median of each cell's posterior under the prior that the whole table tells, at least 0."""
    counts = np.rint(noisy).astype(np.int64)
    deviation = law.variance**0.5
    unit = max(round(deviation / _STEPS), 1)
    while int(np.ptp(counts)) // unit > _MOST and len(counts) > _MOST:
        unit *= 2
    values, place, cells = np.unique(np.rint(counts / unit).astype(np.int64), return_inverse=True, return_counts=True)
    reach = int(np.ceil(6 * deviation / unit)) + 2
    low = np.where(values < 0, 0, values - reach)
    true = np.maximum(low[:, None] + np.arange(2 * reach + 1), 0)
    real = low[:, None] + np.arange(2 * reach + 1) >= 0
    bins = _bin_edges(int(true.max()), deviation / unit)
    width = np.diff(bins)
    home = np.searchsorted(bins, true, side="right") - 1
    likely = law.log_weights((values[:, None] - true) * unit)
    likely = np.exp(likely - likely.max(axis=1, keepdims=True)) * real
    start = width / (1 + (bins[:-1] + bins[1:]) / 2)  # about equal odds for each order of magnitude
    start /= start.sum()
    prior = start
    for _ in range(INTEGER_COUNTS.prior_rounds):
        posterior = likely * (prior / width)[home]
        posterior *= (cells / posterior.sum(axis=1))[:, None]
        prior = np.bincount(home.ravel(), posterior.ravel(), len(width)) + INTEGER_COUNTS.prior_cells * start
        prior /= prior.sum()
    posterior = likely * (prior / width)[home]
    below = posterior.cumsum(axis=1) < posterior.sum(axis=1, keepdims=True) / 2
    median = np.take_along_axis(true, below.sum(axis=1)[:, None], axis=1)[:, 0]
    moved = counts + ((median - values) * unit)[place]
    return np.asarray(np.where(median[place] == 0, 0, np.maximum(moved, 0)), np.float64)


def _bin_edges(top: int, deviation: float) -> npt.NDArray[np.int64]:
    """Bins of the prior from 0 to ``top``: as wide as a sixth of the noise, or an eighth to the left of them."""
    edges = [0]
    while edges[-1] <= top:
        edges.append(edges[-1] + max(round(deviation / 6), edges[-1] // 12, 1))
    return np.array(edges)


def _clipped(noisy: npt.ArrayLike, law: NoiseLaw) -> Floats:
    return np.maximum(np.asarray(noisy, np.float64), 0.0)


def _projected(noisy: npt.ArrayLike, law: NoiseLaw) -> Floats:
    return project(noisy, max(float(np.sum(noisy)), 1.0))


Method = Callable[[npt.ArrayLike, NoiseLaw], Floats]
METHODS: Mapping[str, Method] = {
    "clipped": _clipped,
    "projected": _projected,
    "posterior median": posterior_median,
}
"""The ways to make noisy counts possible, by their names; the first is the plain one."""


Noised = Callable[[npt.NDArray[np.int64], np.random.Generator], Floats]
"""What noise makes of true counts."""


def likely_counts(
    noisy: npt.ArrayLike,
    law: NoiseLaw,
    shape: tuple[int, ...],
    methods: Mapping[str, Method] = METHODS,
    noised: Noised | None = None,
) -> tuple[str, Floats]:
    """The name of the method that such a table is best served by, and what it makes of the table.

    Cells and one-way margins of ``shape`` count alike.  All tables that ``methods`` make are tried as truths, but
    those whose sum is further from the noisy total than its standard error, unless nothing else is left.
    ``noised`` tells what becomes of a truth where that is more than noise of ``law`` on every cell: counts that were
    made one with noisy margins.
    """
    counts = np.asarray(noisy, np.float64) if noised else np.rint(noisy).astype(np.int64)
    made = {name: method(counts, law) for name, method in methods.items()}
    total, spread = float(counts.sum()), (law.variance * len(counts)) ** 0.5
    filled = [np.rint(t) for t in made.values() if np.rint(t).any()]
    truths = [t for t in filled if abs(float(t.sum()) - total) <= spread] or filled[1:]
    runs = int(np.clip(INTEGER_COUNTS.trial_cells // max(len(counts), 1), *INTEGER_COUNTS.trial_runs))
    rng, losses = np.random.default_rng(0), []  # noqa: TID251 - the same table is served in the same way again
    for truth in truths:
        for _ in range(runs):
            whole = truth.astype(np.int64)
            again = noised(whole, rng) if noised else whole + law.sample_whole(rng, len(counts))
            errors = np.array([_distances(method(again, law), truth, shape) for method in methods.values()])
            losses.append((errors / np.where(errors[0] > 0, errors[0], np.inf) + (errors[0] == 0)).mean(axis=1))
    mean = np.mean(losses, axis=0) if losses else np.ones(len(methods))
    best = int(mean.argmin()) if mean.min() < INTEGER_COUNTS.clearly_better else 0
    return list(made.items())[best]


def _distances(a: Floats, b: Floats, shape: tuple[int, ...]) -> tuple[float, float]:
    """Half the summed difference of shares: of cells, and of one-way margins on average; 1 without people."""
    if a.sum() <= 0:
        return 1.0, 1.0
    gap = a / a.sum() - b / b.sum()
    axes = range(len(shape))
    sides = [np.abs(gap.reshape(shape).sum(axis=tuple(j for j in axes if j != i))).sum() for i in axes]
    return float(np.abs(gap).sum() / 2), float(np.mean(sides) / 2) if len(shape) > 1 else float(np.abs(gap).sum() / 2)
