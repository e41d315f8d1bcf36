"""Rows' label shares scaled until declared tables come out as estimated."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled

_SWEEPS = 6


def totals(shares: npt.NDArray[np.float32], group: npt.NDArray[Any], groups: int) -> npt.NDArray[np.float64]:
    """The summed shares of each group of rows."""
    out = np.zeros((groups, shares.shape[1]))
    _sum(shares, group, out)
    return out


def rake(
    shares: npt.NDArray[np.float32], tables: Sequence[tuple[npt.NDArray[Any], npt.NDArray[np.float64]]]
) -> npt.NDArray[np.float32]:
    """``shares`` scaled so that, in every group of every table, their mean is the table's line for that group.

    Each table is (the group of every row, the shares of every group). Iterative proportional fitting; the last
    table fits exactly, the others nearly.
    """
    out = shares.copy()
    for _ in range(_SWEEPS if len(tables) > 1 else 3):
        for group, wanted in tables:
            have = totals(out, group, len(wanted))
            have /= np.maximum(have.sum(axis=1, keepdims=True), 1e-12)
            factor = np.clip(wanted / np.maximum(have, 1e-9), 1e-3, 1e3)
            factor[(have < 1e-9) & (wanted < 1e-9)] = 1.0
            _scale(out, group, factor)
    return out


@compiled
def _sum(shares: Any, group: Any, out: Any) -> None:
    for r in range(len(group)):
        for k in range(shares.shape[1]):
            out[group[r], k] += shares[r, k]


@compiled
def _scale(shares: Any, group: Any, factor: Any) -> None:
    for r in range(len(group)):
        total = 0.0
        for k in range(shares.shape[1]):
            shares[r, k] *= factor[group[r], k]
            total += shares[r, k]
        if total > 0:
            for k in range(shares.shape[1]):
                shares[r, k] /= total
