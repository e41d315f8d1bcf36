"""When people are there: the part of public careers that is like the confidential ones."""

from math import log

import numpy as np
import numpy.typing as npt

from hedgerow.model.career_constants import CAREERS
from hedgerow.model.tables import Floats
from hedgerow.public import Window

Ints = npt.NDArray[np.int64]


def best_window(noisy: npt.ArrayLike, noise: float, known: npt.ArrayLike) -> Window | None:
    """Through which window a public table looks most like a noisy one: both are of first time (down) and span.

    The latest part of the public careers of every length, moved to every time; None: all of them as they are.  Among
    many windows noise makes one look a little nearer: the nearest must be so by more than it does in so many.
    """
    counts, careers = np.asarray(noisy, np.float64), np.asarray(known, np.float64)
    size = len(counts)
    first, span = np.nonzero(careers)
    weight, last = careers[first, span], first + span
    late, whole = int(last.max()), int(last.max() - first.min()) + 1
    windows = [Window(late - n + 1, n, to) for n in range(whole, 0, -1) for to in range(size - n + 1)]
    best, least = None, _misfit(counts, noise, careers) - CAREERS.window_toll * 2 * log(len(windows))
    for window in windows if size <= CAREERS.window_times else ():
        low, high, seen = window.cut(first, last)
        cells = (low[seen] * size + high[seen] - low[seen]).astype(np.int64)
        table = np.bincount(cells, weight[seen], size * size).astype(np.float64).reshape(size, size)
        if (off := _misfit(counts, noise, table)) < least:
            best, least = window, off
    return best


def _misfit(counts: Floats, noise: float, expected: Floats) -> float:
    """How far noisy counts are from expected ones, of whatever scale, in squared deviations of noise and drift."""
    scaled = expected * max(float((counts * expected).sum() / (expected**2).sum()), 0.0)
    return float(((counts - scaled) ** 2 / (noise + scaled + (CAREERS.window_drift * scaled) ** 2)).sum())
