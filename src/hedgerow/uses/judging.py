"""The error of a use: synthetic figures against true ones, and the same in units that everybody knows."""

from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.public.table import CodedTable, Floats
from hedgerow.uses.quantities import Quantity, quantity
from hedgerow.uses.uses import Use

_HALVES, _DRAWS = 12, 1000
_SURE = 2.0
"""A true coefficient has a sign worth keeping when it is this many standard errors away from 0."""


@final
@dataclass(frozen=True, eq=False)
class Judgement:
    """How far one synthetic table is from the true one, for one use.

    Attributes:
        error: in the terms of the use; NaN where no cell or group is large enough to judge.
        parts: the error of every cell or group; NaN where it is not judged.
        sign_kept: whether every coefficient whose sign is beyond doubt has kept it; None for other kinds.
    """

    error: float
    parts: Floats
    sign_kept: bool | None = None


def judge(use: Use, got: Quantity, true: Quantity, *, scale: float = 1.0) -> Judgement:
    """How far ``got`` is from ``true``, whose table stands for ``scale`` times its rows."""
    if use.within == "total-variation":
        parts = np.abs(_shares(got.values) - _shares(true.values))
        return Judgement(float(parts.sum() / 2), parts)
    large = (true.sizes * scale >= max(use.cell_size, 1)) & np.isfinite(true.values)
    found = np.nan_to_num(got.values, nan=0.0)  # a group without synthetic rows has nothing to show
    if use.kind == "table":
        found = found * (true.total / max(got.total, 1e-12))
    parts = np.full(len(true.values), np.nan)
    parts[large] = np.abs(found - true.values)[large]
    if use.within == "relative":
        parts[large] /= np.maximum(np.abs(true.values[large]), 1e-12)
    if not large.any():
        return Judgement(float("nan"), parts)
    error = float(parts[large].max() if use.over == "worst" else parts[large].mean())
    if use.kind != "coefficient":
        return Judgement(error, parts)
    sure = large & (np.abs(true.values) > _SURE * true.errors)
    return Judgement(error, parts, bool((np.sign(found) == np.sign(true.values))[sure].all()))


def like_sample(use: Use, error: float, spread: float) -> float | None:
    """The share of the rows whose simple random sample has the same expected error for this use.

    ``spread`` is the expected error of a random half of the rows.  A sample of a share f errs sqrt((1 - f) / f)
    times as much: so says the variance of a mean drawn without replacement.
    """
    if not np.isfinite(error) or not np.isfinite(spread):
        return None
    return spread**2 / (spread**2 + error**2) if spread > 0 or error > 0 else 1.0


def half_sample_error(
    use: Use, table: CodedTable, true: Quantity, rng: np.random.Generator, *, scale: float = 1.0
) -> float:
    """The expected error of a random half of the rows of ``table`` blown up ``scale`` times.

    In closed form for tables of counts; from standard errors for coefficients, since a random half of the rows is as
    far from the whole as the whole is from its population; for everything else the mean over a dozen random halves.
    """
    if use.kind == "table" and use.over == "typical":
        return _half_of_counts(use, true.values * scale)
    if table.counts is not None:
        return float("nan")
    if use.kind == "coefficient":
        return _half_of_estimates(use, true, rng, scale) / sqrt(scale)
    found = []
    for _ in range(_HALVES):
        kept = rng.permutation(table.frame.height)[: max(1, table.frame.height // 2)]
        half = quantity(use, table.take(np.sort(kept)))
        found.append(judge(use, half, true, scale=scale).error)
    return float(np.mean(found)) / sqrt(scale)


def _half_of_estimates(use: Use, true: Quantity, rng: np.random.Generator, scale: float) -> float:
    """The expected error of estimates that are off by their own standard errors, over the groups that are judged."""
    judged = np.isfinite(judge(use, true, true, scale=scale).parts) & np.isfinite(true.errors)
    if not judged.any():
        return float("nan")
    off = np.abs(rng.normal(size=(_DRAWS, int(judged.sum()))) * true.errors[judged])
    if use.within == "relative":
        off /= np.maximum(np.abs(true.values[judged]), 1e-12)
    return float((off.max(axis=1) if use.over == "worst" else off.mean(axis=1)).mean())


def _half_of_counts(use: Use, true: npt.NDArray[Any]) -> float:
    n = float(true.sum())
    if n <= 0:
        return float("nan")
    p = true / n
    if use.within == "total-variation":
        return sqrt(2 / pi) / 2 * float(np.sqrt(p * (1 - p)).sum()) / sqrt(n)
    large = p[true >= max(use.cell_size, 1)]
    return sqrt(2 / pi) * float(np.sqrt((1 - large) / large).mean()) / sqrt(n) if len(large) else 0.0


def _shares(counts: Floats) -> Floats:
    kept = np.maximum(counts, 0.0)
    return kept / max(float(kept.sum()), 1e-12)
