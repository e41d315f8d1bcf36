"""Weights that whole records can honour: a row that is worth a little more than others is taken once, like them.

Where a file has about as many records as there are public rows, taking each row once is exact, and taking some twice
and leaving some out adds the error of a sample: more than small differences of weight are worth, which record descent
makes up for value by value.  Large differences (another mix of people) stay: changing values would break what a row
knows.  Equal rows are one row that is worth all of them, and where a row is worth much more or much less than one
record, it is rounded anyway: there weights cost nothing and stay as they are.
"""

import numpy as np
import numpy.typing as npt

from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records import Records
from hedgerow.model.tables import Floats


def evened(rows: Records, weights: Floats) -> Floats:
    """The weights, small differences taken out: how many records each of ``rows`` stands for. They keep their sum.

    >>> rows = np.arange(5, dtype=np.uint16)[:, None]
    >>> evened(rows, np.array([0.8, 1.3, 0.9, 1.0, 1.0])).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    >>> evened(rows, np.array([4.0, 0.2, 0.2, 0.3, 0.3])).round(1).tolist()
    [4.0, 0.2, 0.2, 0.3, 0.3]
    """
    mean = max(float(weights.mean()), 1e-300)
    worth = _copies(rows) * mean
    near = np.minimum(worth, 1 / worth)
    zone = PUBLIC_BLEND.even_zone * near * float(near.mean())
    off = np.log(np.maximum(weights, 1e-300) / mean)
    beyond = np.clip(2 * (np.abs(off) - zone), 0, np.abs(off))
    even = np.exp(np.sign(off) * beyond)
    return np.asarray(even * (float(weights.sum()) / float(even.sum())))


def _copies(rows: Records) -> npt.NDArray[np.int64]:
    """How often each row is there."""
    mark = np.zeros(len(rows), np.uint64)
    for i in range(rows.shape[1]):  # equal rows have equal marks, and different ones different marks almost surely
        mark = (mark + rows[:, i].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mark ^= mark >> np.uint64(29)
    _, place, many = np.unique(mark, return_inverse=True, return_counts=True)
    return np.asarray(many[place], np.int64)
