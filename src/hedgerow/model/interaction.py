"""What a three-way table shows beyond its pairs."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def fit_pairs(table: Floats, pairs: Mapping[tuple[int, int], Floats], *, sweeps: int = 12) -> Floats:
    """The table scaled until its two-way sums are ``pairs``, given by their axes (iterative proportional fitting)."""
    fitted = np.maximum(table, 0.0)
    for _ in range(sweeps):
        for axes, pair in pairs.items():
            others = tuple(a for a in range(fitted.ndim) if a not in axes)
            now = fitted.sum(axis=others, keepdims=True)
            scale = np.divide(pair.reshape(now.shape), now, out=np.zeros_like(now), where=now > 0)
            fitted = fitted * scale
    return np.asarray(fitted)


def without_interaction(table: Floats) -> Floats:
    """The table with the same pairs and no interaction of all three columns.

    >>> odd = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> without_interaction(odd).tolist()
    [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]
    """
    even = np.full(table.shape, float(table.sum()) / table.size)
    return fit_pairs(even, {(0, 1): table.sum(axis=2), (0, 2): table.sum(axis=1), (1, 2): table.sum(axis=0)})


def interaction(table: Floats) -> float:
    """The share of records that must move to take the interaction of a sampled table away, beyond chance.

    Chance: a cell of a sample is off by sqrt(2 m / pi) on average.  At least 0.
    """
    fitted = without_interaction(table)
    far = float(np.abs(table - fitted).sum() - np.sqrt(2 * fitted / np.pi).sum())
    return max(far, 0.0) / max(2 * float(table.sum()), 1.0)
