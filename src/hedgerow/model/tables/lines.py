"""Noisy one-way tables of columns whose values stand in order: what neighbours lend, and tails as tails."""

import numpy as np
import numpy.typing as npt

from hedgerow.model.constants import BLEND, PUBLIC_BLEND
from hedgerow.model.tables.shrinkage import Floats, drift_of, posterior

_BESIDE = 4  # neighbours on each side whose median tells what is usual there


def smoothed_noise(counts: Floats, variance: float, *, steps: int) -> Floats:
    """A noisy table with noise taken out along its first ``steps`` values, which stand in order.

    The width has the least estimated error (Stein's unbiased estimate), if that is clearly less than that of the
    noise.  Values that stand out from their neighbours beyond chance, such as heaps, neither lend nor borrow.  True
    counts are a sample around what is smooth: where the noise is less than their own chance they stay nearly as
    they are.

    >>> noisy = np.array([90.0, 140.0, 60.0, 110.0, 900.0, 80.0, 120.0, 100.0])
    >>> smoothed_noise(noisy, 1600.0, steps=8).round().tolist()
    [100.0, 100.0, 97.0, 100.0, 900.0, 98.0, 99.0, 102.0]
    """
    if steps < _BESIDE + 1:
        return counts
    line = counts[:steps].astype(np.float64)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(line, _BESIDE, constant_values=np.nan), 2 * _BESIDE + 1)
    near = np.nanmedian(np.delete(around, _BESIDE, axis=1), axis=1)
    doubt = np.pi / 4 / _BESIDE + (near / 7) ** 2 / variance  # of a median; and on a slope it says less
    alone, mean = np.zeros(steps, np.bool_), line
    for _ in range(BLEND.heap_rounds):
        alone = np.abs(line - near) > BLEND.heap_sure * np.sqrt(variance * (1 + doubt) + np.maximum(near, 0.0))
        width, least = 0, BLEND.smooth_gain * variance * steps
        for wider in (w for w in PUBLIC_BLEND.smoothing_widths if 0 < w < steps):
            lent, own = _lent(line, alone, wider)
            error = float(((line - lent) ** 2).sum()) + variance * float((2 * own - 1).sum())
            if error < least:
                mean, least, width = lent, error, wider
        if not width:
            return counts
        near, doubt = _beside(line, alone, width)
    rest, found = ~alone, counts.astype(np.float64)
    mean = np.maximum(mean[rest], 1e-3)
    drift = drift_of([line[rest]], [mean], [variance], least=1.0)
    found[:steps][rest] = posterior(line[rest], mean, variance, drift)
    return found


def _lent(line: Floats, alone: npt.NDArray[np.bool_], width: int) -> tuple[Floats, Floats]:
    """The mean of every value's neighbours and itself, the near ones with more weight; and its own weight."""
    summed, weight = (_along(x, _weights(width)) for x in (np.where(alone, 0.0, line), np.where(alone, 0.0, 1.0)))
    return np.where(alone, line, summed / np.maximum(weight, 1.0)), 1 / np.where(alone, 1.0, weight)


def _beside(line: Floats, alone: npt.NDArray[np.bool_], width: int) -> tuple[Floats, Floats]:
    """The mean of every value's neighbours without itself, and its variance over that of one of them."""
    around = _weights(width)
    around[width] = 0.0
    kept, weight = np.where(alone, 0.0, 1.0), np.maximum(_along(np.where(alone, 0.0, 1.0), around), 1e-9)
    return _along(kept * line, around) / weight, _along(kept, around**2) / weight**2


def _weights(width: int) -> Floats:
    return np.asarray(1 - (np.arange(-width, width + 1) / (width + 1)) ** 2)


def _along(line: Floats, weights: Floats) -> Floats:
    """The weighted sum around every value."""
    half = len(weights) // 2
    return np.convolve(line, weights)[half : half + len(line)]


def quiet_tails(counts: Floats, variance: float, *, steps: int, hidden: float = np.inf, most: float = 1.0) -> Floats:
    """A noisy one-way table whose tails, along its first ``steps`` values in order, are those of a table with tails.

    A tail is what lies beyond the outermost values whose counts are beyond chance.  There counts are made to fall
    towards the end (isotonic regression), and the last stretches whose sums chance explains are NaN: nobody is there,
    as far as chance could not hide more than ``hidden`` people in them.  Tails with more than ``most`` of all rows
    are none, nor is one in which chance could hide as many: noise leaves too little to tell them by.

    >>> noisy = np.array([2.0, -3.0, 1.0, 2.0, 9.0, 60.0, 80.0, 31.0, 4.0, 9.0, 4.0, -2.0])
    >>> quiet_tails(noisy, 9.0, steps=12).tolist()
    [nan, nan, nan, nan, nan, 60.0, 80.0, 31.0, 6.5, 6.5, nan, nan]
    >>> quiet_tails(np.array([900.0, 9.0, -20.0, 30.0, 5.0]), 400.0, steps=5, most=0.04).tolist()  # noise hides 80
    [900.0, 9.0, -20.0, 30.0, 5.0]
    """
    found, sd = counts.astype(np.float64), float(np.sqrt(variance))
    sure = np.flatnonzero(found[:steps] > BLEND.tail_sure * sd)
    if steps < 3 or not len(sure) or found[sure[0] : sure[-1] + 1].sum() < (1 - most) * found[:steps].sum():
        return found
    much = most * max(float(found[:steps].sum()), 0.0)
    for tail in (slice(0, int(sure[0])), slice(steps - 1, int(sure[-1]), -1)):  # from the end inwards
        if BLEND.empty_sure * sd * len(found[tail]) ** 0.5 <= much:
            found[tail] = _rising(found[tail], sd, hidden)
    return found


def _rising(counts: Floats, sd: float, hidden: float) -> Floats:
    """The counts made to rise (pool adjacent violators); the first stretches that chance explains are NaN."""
    blocks: list[tuple[float, int]] = []
    for count in counts.tolist():
        blocks.append((count, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [(a + b, m + n)]
    summed, many, levels = 0.0, 0, list[float]()
    for total, size in blocks:
        summed, many = summed + total, many + size
        chance = BLEND.empty_sure * sd * many**0.5
        levels += [np.nan if summed <= chance <= hidden else total / size] * size
    return np.array(levels)
