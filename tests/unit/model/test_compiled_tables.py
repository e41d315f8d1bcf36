"""Small tables are scaled, projected and smoothed by compiled loops: to the last digit what NumPy makes of them."""

import numpy as np
import pytest

from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.tables.fitting import fit_margins, project_lines
from hedgerow.model.tables.shrinkage import _kernel, smoothing_widths

SIZES = [(2, 2), (3, 9), (17, 8), (30, 129), (128, 5), (200, 3), (1, 4)]


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_table_scaled_to_its_margins_is_numpys_to_the_last_digit(shape: tuple[int, int], order: str) -> None:
    rng = np.random.default_rng(1)
    table = np.asarray(rng.normal(1, 1, shape), order=order)  # type: ignore[call-overload]
    down, along = rng.random(shape[0]), rng.random(shape[1])
    down[0] = 0.0 if len(down) > 1 else 1.0
    fitted = np.maximum(table, 0.0)
    for _ in range(8):
        for axis, sums in ((1, down[:, None]), (0, along[None, :])):
            now = fitted.sum(axis=axis, keepdims=True)
            fitted = fitted * np.divide(sums, now, out=np.zeros_like(now), where=now > 0)
    assert np.array_equal(fit_margins(table, {(0,): down, (1,): along}, sweeps=8), fitted)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("lending", [True, False])
def test_projected_lines_are_numpys_to_the_last_digit(shape: tuple[int, int], order: str, lending: bool) -> None:
    rng = np.random.default_rng(2)
    table = np.asarray(rng.normal(0.5, 1, shape), order=order)  # type: ignore[call-overload]
    sums = rng.random(shape[0]) * shape[1]
    sums[0] = 0.0
    down = -np.sort(-table, axis=1)
    excess = (np.cumsum(down, axis=1) - sums[:, None]) / np.arange(1, shape[1] + 1)
    keep = np.maximum((down > excess).sum(axis=1) - 1, 0)
    off = excess[np.arange(len(table)), keep][:, None]
    full = np.maximum(table, 0.0).sum(axis=1)
    scale = np.divide(sums, full, out=np.zeros(len(full)), where=full > 0)[:, None]
    cut = np.maximum(table - off, 0.0)
    found = cut if lending else np.where((off < 0) & (scale > 0), np.maximum(table, 0.0) * scale, cut)
    assert np.array_equal(project_lines(table, sums, lending=lending), found * (sums > 0)[:, None])


def test_the_width_chosen_has_the_least_error_of_all_by_whole_matrices() -> None:
    rng, seen = np.random.default_rng(3), set()
    for size in (6, 12, 40):
        for rows in (60, 2_000, 40_000):
            common = rng.normal(size=rows)
            a, b = (np.clip((common + rng.normal(size=rows) + 4) * size / 8, 0, size - 1).astype(int) for _ in "ab")
            table = np.bincount(a * size + b, minlength=size * size).reshape(size, size).astype(float)
            steps = (size, size - 2)
            alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
            errors = {}
            for w in (w for w in PUBLIC_BLEND.smoothing_widths if w < steps[0]):
                for v in (v for v in PUBLIC_BLEND.smoothing_widths if v < steps[1]):
                    near = _kernel(size, steps[0], w), _kernel(size, steps[1], v)
                    own = alone / np.maximum(near[0] @ alone @ near[1], 1e-300)
                    gap = table - alone - own * (near[0] @ (table - alone) @ near[1])
                    errors[w, v] = float((gap**2 / (alone + 1)).sum() + 2 * (alone / (alone + 1) * own).sum())
            seen.add(smoothing_widths(table, steps=steps))
            assert smoothing_widths(table, steps=steps) == min(errors, key=lambda k: errors[k])
    assert len(seen) > 3
