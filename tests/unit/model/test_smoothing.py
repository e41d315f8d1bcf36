"""Sampled tables without their chance: nearer to the truth, heaps and associations kept."""

import numpy as np
import pytest

from hedgerow.model.tables.lines import smoothed_noise
from hedgerow.model.tables.shrinkage import shrink_singular_values, smoothed, smoothed_line

rng = np.random.default_rng


def wave(rows: int = 60, columns: int = 8) -> np.ndarray:
    """A table whose ratio to independence turns slowly along its rows, with a heap every ten rows."""
    x, y = np.arange(rows)[:, None] / rows, np.arange(columns)[None, :] / columns
    heap = np.where(np.arange(rows) % 10 == 0, 4.0, 1.0)[:, None]
    return np.asarray(20 * heap * np.exp(np.sin(3 * x) * np.cos(3 * y)))


def test_smoothing_along_an_order_brings_a_sample_nearer_to_the_truth() -> None:
    truth = wave()
    seen = rng(0).poisson(truth).astype(float)
    raw, along, patterns = (
        np.abs(t - truth).sum() for t in (seen, smoothed(seen, steps=(60, 0)), shrink_singular_values(seen))
    )
    assert along < 0.6 * raw
    assert along < patterns < raw


def test_heaps_are_not_smoothed_away() -> None:
    made = smoothed(rng(1).poisson(wave()).astype(float), steps=(60, 8)).sum(axis=1)
    assert made[20] > 2.5 * made[19]
    line = np.where(np.arange(60) % 10 == 0, 400.0, 100.0)
    assert smoothed_line(rng(2).poisson(line).astype(float), steps=60)[[20, 30]] == pytest.approx(
        [400, 400], rel=0.25
    )


def test_a_smooth_line_gains_and_values_without_order_are_left_alone() -> None:
    truth = np.append(300 * np.exp(-(((np.arange(70) - 30) / 25) ** 2)) + 5, [50.0, 3000.0])
    seen = rng(3).poisson(truth).astype(float)
    made = smoothed_line(seen, steps=70)
    assert np.abs(made - truth)[:70].sum() < 0.7 * np.abs(seen - truth)[:70].sum()
    assert made[70:].tolist() == seen[70:].tolist()
    assert smoothed_line(seen, steps=0).tolist() == seen.tolist()


def test_a_strong_association_without_order_survives() -> None:
    truth = 5.0 + 300 * np.eye(8)
    seen = rng(4).poisson(truth).astype(float)
    assert np.abs(shrink_singular_values(seen) - truth).sum() < 1.1 * np.abs(seen - truth).sum()


@pytest.mark.parametrize("table", [np.zeros((3, 4)), np.array([[5.0, 0.0], [0.0, 0.0]]), np.ones((1, 4))])
def test_tables_with_nothing_to_smooth_stay_as_they_are(table: np.ndarray) -> None:
    assert shrink_singular_values(table) == pytest.approx(table)


def test_noise_is_taken_out_along_an_order_and_heaps_stay() -> None:
    truth = np.append(300 * np.exp(-(((np.arange(70) - 30) / 25) ** 2)) + 5, [50.0, 3000.0]).round()
    truth[20] += 1500
    noisy = truth + rng(5).normal(0, 100, 72)
    made = smoothed_noise(noisy, 1e4, steps=70)
    assert np.abs(made - truth)[:70].sum() < 0.6 * np.abs(noisy - truth)[:70].sum()
    assert made[[20, 70, 71]].tolist() == noisy[[20, 70, 71]].tolist()
    nearly = truth + rng(6).normal(0, 1, 72)
    assert np.abs(smoothed_noise(nearly, 1.0, steps=70) - nearly).max() < 1
    assert smoothed_noise(noisy, 1e4, steps=0) is noisy
