"""How far (attribute, labels) tables of attached labels are expected to be off, from public knowledge alone.

With a prior that resembles the confidential table, what is unknown is what chance did in its rows: a label of
share q in a leaf of n rows has variance c = n q (1 - q).  A noisy count of variance v tells c^2 / (c + v) of it.  A
table cell that holds the part f of a leaf gains f^2 of that; a noisy table of its own, of variance w, brings what is
left of its variance, p, to p w / (p + w).  As the labels of a group add up to a known number of rows, noise counts
for one label less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_HALF_NORMAL = float(np.sqrt(2 / np.pi))  # the mean distance of a normal variable of variance 1


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """Target rows by leaf.

    Attributes:
        leaf: of each row.
        shares: of each leaf, of each label, from the public table.
        variance: of the noise on one of its counts.
    """

    leaf: npt.NDArray[Any]
    shares: Floats
    variance: float


def expected_error(
    rows: Partition, lines: npt.NDArray[Any], sizes: Sequence[int], tables: Sequence[float | None]
) -> float:
    """The mean total-variation distance of the (attribute, labels) tables of ``lines``, one for each of ``sizes``.

    ``tables`` has for each attribute the noise variance of its own table, or None when it is not asked.
    """
    held = np.bincount(rows.leaf, minlength=len(rows.shares)).astype(np.float64)
    chance = held[:, None] * rows.shares * (1 - rows.shares)
    one_less = 1 - 1 / chance.shape[1]
    told = chance**2 / np.maximum(chance + one_less * rows.variance, 1e-12)
    off = []
    for codes, size, noise in zip(lines, sizes, tables, strict=True):
        pair, many = np.unique(rows.leaf.astype(np.int64) * size + codes, return_counts=True)
        leaf, code = pair // size, pair % size
        part = (many / held[leaf])[:, None]
        left = np.zeros((size, chance.shape[1]))
        np.add.at(left, code, part * chance[leaf] - part**2 * told[leaf])
        left = np.maximum(left, 0.0)
        if noise is not None:
            left = left * one_less * noise / np.maximum(left + one_less * noise, 1e-12)
        off.append(float(np.sqrt(left).sum()))
    return _HALF_NORMAL * float(np.mean(off)) / 2 / max(len(rows.leaf), 1)
