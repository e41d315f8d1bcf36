"""Sampled tables without their own chance: what a larger sample of the same people would show.

A cell of a sample has the variance of its mean.  So the error that smoothing leaves can be estimated without knowing
the truth (Stein's unbiased estimate), and the width of smoothing that leaves least is taken.  Along columns with an
order, neighbouring values lend each other strength; what is smoothed is the ratio to independence, so that heaps
(age 40, 40 hours) stay.  Where there is no order, singular values are shrunk instead.  Nothing is tuned, and the
width 0, no smoothing, is always among the candidates.
"""

from collections.abc import Iterable
from itertools import product

import numpy as np
import numpy.typing as npt

from hedgerow.model.tables.constants import PUBLIC_BLEND
from hedgerow.model.tables.shrinkage import shrink

Floats = npt.NDArray[np.float64]


def smoothed(table: Floats, unit: float = 1.0, *, steps: tuple[int, int] = (0, 0)) -> Floats:
    """The two-way table with its chance taken out, same total; ``unit`` is what one sampled row counts for.

    Args:
        table: sampled counts, each row of the sample worth ``unit`` on average.
        unit: the variance of a cell over its mean.
        steps: how many of the first values of each column stand in order; 0 or 1: none.
    """
    total = float(table.sum())
    alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(total, 1e-300)
    best, width = _kernel_smoothed(table, alone, unit * alone, steps)
    if not any(width):
        return shrink_singular_values(table, unit)
    trace = PUBLIC_BLEND.smoothing_trace  # so that no cell is impossible
    mean = ((1 - trace) * np.maximum(best, 0.0) + trace * alone).ravel()
    kept = np.maximum(shrink(table.ravel(), mean, unit * mean), 0.0).reshape(table.shape)
    return np.asarray(kept * (total / kept.sum()))


def smoothed_line(counts: Floats, unit: float = 1.0, *, steps: int = 0) -> Floats:
    """A one-way table with its chance taken out along its first ``steps`` values, which stand in order.

    >>> smoothed_line(np.array([9.0, 11.0, 10.0, 10.0, 9.0, 11.0]), steps=6).round(1).tolist()
    [9.9, 9.9, 10.0, 10.0, 10.1, 10.1]
    >>> smoothed_line(np.array([9.0, 900.0, 10.0]), steps=3).round().tolist()
    [9.0, 900.0, 10.0]
    """
    if steps < 3 or counts[:steps].sum() <= 0:
        return counts.copy()
    line = counts[:steps, None]
    near = _kernel(steps, steps, 2)
    variance = unit * (near @ line) / near.sum(axis=1, keepdims=True)
    best, width = _kernel_smoothed(line, np.ones_like(line), variance, (steps, 0))
    if not any(width):
        return counts.copy()
    mean = np.maximum(best.ravel(), 1e-3)
    kept = np.maximum(shrink(line.ravel(), mean, unit * mean), 0.0)
    return np.concatenate([kept * (line.sum() / kept.sum()), counts[steps:]])


def shrink_singular_values(table: Floats, unit: float = 1.0) -> Floats:
    """A sampled table with the singular values of its association shrunk, same total: singular-value shrinkage.

    The scaled residuals (x - e) / sqrt(e) around independence have variance 1 where there is no association
    (correspondence analysis).  A singular value that chance could make is dropped, a larger one is shrunk by
    what chance added to it (the optimal shrinkage of a noisy matrix; Gavish and Donoho, 2017).

    >>> even = np.random.default_rng(0).poisson(20.0, (8, 9)).astype(float)
    >>> alone = np.outer(even.sum(axis=1), even.sum(axis=0)) / even.sum()
    >>> bool(np.allclose(shrink_singular_values(even), alone))
    True
    """
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), float(table.sum())
    sizes = int((rows > 0).sum()) - 1, int((columns > 0).sum()) - 1
    if total <= 0 or min(sizes) < 1:
        return table.copy()
    alone = np.outer(rows, columns) / total
    root = np.sqrt(np.maximum(alone, 1e-300))
    left, values, right = np.linalg.svd(np.where(alone > 0, (table - alone) / root, 0.0), full_matrices=False)
    kept = _shrunk(values, float(np.sqrt(unit * max(sizes))), min(sizes) / max(sizes))
    found = np.maximum(alone + (left * kept) @ right * root, 0.0)
    return np.asarray(found * (total / found.sum()))


def _shrunk(values: Floats, scale: float, ratio: float) -> Floats:
    """Singular values less what noise of this scale adds; 0 where noise alone could make them."""
    y = values / scale
    inside = np.maximum((y**2 - ratio - 1) ** 2 - 4 * ratio, 0.0)
    return np.where(y > 1 + np.sqrt(ratio), np.sqrt(inside) / np.maximum(y, 1e-300), 0.0) * scale


def _kernel_smoothed(
    table: Floats, alone: Floats, variance: Floats, steps: tuple[int, int]
) -> tuple[Floats, tuple[int, int]]:
    """The smoothing of the ratio to ``alone`` with the least estimated error, and its widths."""
    best, least, chosen = table, np.inf, (0, 0)
    weight = 1 / (variance + 1)
    kernels = [{w: _kernel(size, s, w) for w in _widths(s)} for size, s in zip(table.shape, steps, strict=True)]
    for first, second in product(kernels[0], kernels[1]):
        down, along = kernels[0][first], kernels[1][second]
        spread = np.maximum(down @ alone @ along, 1e-300)
        made = alone + alone * (down @ (table - alone) @ along) / spread
        own = alone / spread  # how much of a cell's smoothed count is its own
        error = float((weight * (table - made) ** 2).sum() + 2 * (weight * variance * own).sum())
        if error < least:
            best, least, chosen = made, error, (first, second)
    return best, chosen


def _widths(steps: int) -> Iterable[int]:
    return [w for w in PUBLIC_BLEND.smoothing_widths if w == 0 or w < steps]


def _kernel(size: int, steps: int, width: int) -> Floats:
    """Weights that fall with the distance between ordered values; other values stand alone."""
    far = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    near = np.maximum(1 - (far / (width + 1)) ** 2, 0.0) if width else np.eye(size)
    near[steps:] = near[:, steps:] = 0.0
    near[np.arange(steps, size), np.arange(steps, size)] = 1.0
    return near
