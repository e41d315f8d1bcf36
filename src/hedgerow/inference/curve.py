"""How the values of a column are distributed in a group, by noisy counts of cells: what quantiles are read off."""

import numpy as np

from hedgerow.inference.evidence import Evidence, NoisyTable
from hedgerow.inference.reference import Reference
from hedgerow.public import LISTED, Floats
from hedgerow.uses import Quantile

Curve = tuple[Floats, Floats]


def curve_of(table: NoisyTable, reference: Reference, use: Quantile, g: int) -> Curve:
    """The share of a group's rows at or below each value, by measured cells and reference rows within them."""
    part = reference.members(use.groups, g)
    y, cells = part.rows.numbers(use.of), table.cells(part.units)
    many = np.bincount(cells, minlength=len(table.counts))
    weight = np.maximum(table.counts, 0.0)[cells] / many[cells]
    if part.who is not None:
        weight = weight[part.who]
    known = np.isfinite(y) & (part.rows.cells(use.groups) == g)
    order = np.argsort(y[known], kind="stable")
    value, summed = y[known][order], np.cumsum(weight[known][order])
    return value, summed / max(float(summed[-1]), 1e-12)


def inverse(curve: Curve, share: float) -> float:
    """The least value with so large a share at or below it."""
    value, below = curve
    return float(value[min(int(np.searchsorted(below, share)), len(value) - 1)])


def bin_width(e: Evidence, of: str) -> float:
    """How wide the bins of a column mostly are; a value that is listed has none."""
    column = e.schema.column(of)
    if column.kind in LISTED:
        return 0.0
    numbers = column.code_numbers
    known = numbers[np.isfinite(numbers)]
    return float(np.median(np.diff(np.sort(known)))) if len(known) > 1 else 0.0
