"""Whole records from shares: systematic rounding, which adds at most one record of error to a cell."""

import numpy as np
import numpy.typing as npt


def systematic_counts(shares: npt.NDArray[np.float64], n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Whole counts that sum to ``n``: each is ``n`` times its share rounded up or down, right on average.

    One random start and equal steps along the cumulated shares; independent draws would add an error as
    large as that of a sample of ``n`` records.
    """
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    ticks = np.floor(edges / edges[-1] * n + rng.random())
    ticks[0], ticks[-1] = 0, n
    return np.asarray(np.diff(np.clip(ticks, 0, n)), np.int64)
