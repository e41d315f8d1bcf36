"""Shrinkage and raking: noise goes, drift stays, weights meet their tables."""

import numpy as np
import pytest

from hedgerow.model.tables.fitting import fit_margins, rake_rows
from hedgerow.model.tables.shrinkage import Drift, drift_of, moments, pooled_drifts, posterior, shrink


def test_pure_noise_is_taken_out_and_real_drift_is_kept() -> None:
    rng = np.random.default_rng(0)
    mean = np.repeat([5.0, 50.0, 500.0], 300)
    noisy = mean + rng.normal(0, 40, mean.size)
    assert np.abs(shrink(noisy, mean, 1600.0) - mean).mean() < 0.2 * np.abs(noisy - mean).mean()
    moved = mean * np.exp(rng.normal(0, 0.5, mean.size))
    seen = moved + rng.normal(0, 4, mean.size)
    assert np.abs(shrink(seen, mean, 16.0) - moved).mean() < np.abs(seen - moved).mean()


def test_the_moments_find_the_drift() -> None:
    rng = np.random.default_rng(1)
    mean = rng.uniform(50, 2000, 40_000)
    true = mean + rng.normal(0, np.sqrt(2 * mean + 0.04 * mean**2))
    found = drift_of([true + rng.normal(0, 30, mean.size)], [mean], [900.0])
    assert found.shift == pytest.approx(0.04, rel=0.1)


def test_a_table_like_the_others_has_their_drift_and_an_odd_one_its_own() -> None:
    rng = np.random.default_rng(2)
    means = [rng.uniform(50, 2000, 400) for _ in range(9)]
    shifts = [0.0] * 8 + [0.3]
    tables = [m + rng.normal(0, np.sqrt(s * m**2 + 900)) for m, s in zip(means, shifts, strict=True)]
    found = pooled_drifts(tables, means, [900.0] * 9)
    assert found[8].shift == pytest.approx(0.3, rel=0.3)
    assert max(d.shift for d in found[:8]) < 0.1


def test_small_tables_learn_from_each_other_how_far_they_are_from_what_is_expected() -> None:
    rng, mean = np.random.default_rng(3), np.full(4, 1000.0)
    true = [mean + x * np.array([1, -1, -1, 1]) for x in rng.normal(0, 150, 200)]
    seen = [t + rng.normal(0, 200, 4) for t in true]
    like = moments([(y, mean, 4e4) for y in seen])
    off = [
        float(np.mean([np.abs(shrink(y, mean, 4e4, known) - t).sum() for y, t in zip(seen, true, strict=True)]))
        for known in (None, like)
    ]
    assert off[1] < 0.96 * off[0]
    assert moments([]) is None


def test_without_drift_the_prior_stands_and_without_noise_the_count() -> None:
    mean, seen = np.array([3.0, 7.0]), np.array([10.0, 0.0])
    assert posterior(seen, mean, 5.0, Drift(0.0, 0.0)) == pytest.approx(mean)
    assert posterior(seen, mean, 0.0, Drift(1.0, 0.0)) == pytest.approx(seen, abs=1e-9)


def test_margins_are_fitted_and_empty_cells_stay_empty() -> None:
    table = np.array([[0.0, 2.0], [3.0, 1.0]])
    fitted = fit_margins(table, {(0,): np.array([4.0, 6.0]), (1,): np.array([5.0, 5.0])})
    assert fitted.sum(axis=1) == pytest.approx([4, 6], rel=1e-3)
    assert fitted[0, 0] == 0


def test_raked_weights_meet_their_tables_and_keep_their_sum() -> None:
    rng = np.random.default_rng(3)
    rows = np.stack([rng.integers(0, k, 4000) for k in (3, 5)], axis=1).astype(np.uint16)
    wanted = {(0,): np.array([2000.0, 1500.0, 500.0]), (1,): np.array([1000.0, 900.0, 800.0, 700.0, 600.0])}
    weights = rake_rows(rows, (3, 5), wanted, np.ones(4000), sweeps=20, power=0.5)
    assert weights.sum() == pytest.approx(4000)
    for (i,), target in wanted.items():
        assert np.bincount(rows[:, i], weights) == pytest.approx(target, rel=0.02)


def test_a_row_without_weight_stays_without() -> None:
    rows, start = np.array([[0], [0], [1]], np.uint16), np.array([0.0, 1.0, 1.0])
    weights = rake_rows(rows, (2,), {(0,): np.array([1.5, 0.5])}, start, sweeps=60, power=0.5)
    assert weights[0] == 0
    assert weights[1] == pytest.approx(1.5, rel=0.05)


def test_rows_raked_in_turn_meet_their_tables_and_small_steps_stop_short_of_them() -> None:
    rng = np.random.default_rng(3)
    shape = (3, 5, 2)
    rows = np.stack([rng.integers(0, k, 9000) for k in shape], axis=1).astype(np.uint16)
    wanted: dict[tuple[int, ...], np.ndarray] = {
        key: 9000 * rng.dirichlet(np.full(np.prod([shape[i] for i in key]), 5.0)) for key in ((0,), (1, 2))
    }
    far = []
    for sweeps, power in ((20, 1.0), (2, 0.25)):
        weights = rake_rows(rows, shape, wanted, np.ones(9000), sweeps=sweeps, power=power)
        assert weights.sum() == pytest.approx(9000)
        pair = np.bincount(rows[:, 1] * 2 + rows[:, 2], weights, 10)
        far.append(np.abs(pair - wanted[1, 2]).sum() + np.abs(np.bincount(rows[:, 0], weights) - wanted[0,]).sum())
    assert far[0] < 1
    assert 10 < far[1] < 0.6 * np.abs(np.bincount(rows[:, 1] * 2 + rows[:, 2]) - wanted[1, 2]).sum() + 9000
