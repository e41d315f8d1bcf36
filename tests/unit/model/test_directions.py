"""Noisy pairs by directions: one association among many cells is kept, noise is not taken for one."""

import numpy as np
import pytest

from hedgerow.model.constants import TREE_BLEND
from hedgerow.model.tables.directions import beyond_noise, shrink_pair
from hedgerow.model.tables.shrinkage import shrink

SHAPE = (12, 9)


def noise_without_sums(rng: np.random.Generator, sd: float, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    noise = rng.normal(0, sd, shape)
    return np.asarray((noise - noise.mean(axis=0) - noise.mean(axis=1, keepdims=True) + noise.mean()).ravel())


def left_in_a_cell(sd: float, shape: tuple[int, int] = SHAPE) -> float:
    return sd**2 * (1 - 1 / shape[0]) * (1 - 1 / shape[1])


def test_more_of_this_with_more_of_that_is_found_among_many_noisy_cells() -> None:
    mean = np.full(np.prod(SHAPE), 400.0)
    slope = np.outer(np.linspace(-1, 1, 12), np.linspace(-1, 1, 9)).ravel()
    true, sd = mean * (1 + 0.6 * slope), 150.0
    off = np.zeros(2)
    for seed in range(20):
        seen = true + noise_without_sums(np.random.default_rng(seed), sd)
        made = (
            shrink(seen, mean, left_in_a_cell(sd)),
            shrink_pair(seen, mean, left_in_a_cell(sd), SHAPE),
        )
        off += [np.abs(m - true).sum() for m in made]
    assert off[1] < 0.75 * off[0]


def test_noise_passes_for_a_direction_about_once_in_a_hundred() -> None:
    rng, sd = np.random.default_rng(1), 30.0
    for shape in ((12, 9), (40, 40), (6, 30)):
        found = [
            beyond_noise(noise_without_sums(rng, sd, shape), left_in_a_cell(sd, shape), shape)[1] > 0
            for _ in range(400)
        ]
        assert np.mean(found) < 0.03


def test_a_pair_that_noise_explains_is_shrunk_as_before() -> None:
    mean = np.full(np.prod(SHAPE), 400.0)
    seen = mean + noise_without_sums(np.random.default_rng(2), 200.0)
    noise = left_in_a_cell(200.0)
    assert shrink_pair(seen, mean, noise, SHAPE) == pytest.approx(shrink(seen, mean, noise))


def test_what_lies_beside_the_directions_is_kept_where_noise_is_small() -> None:
    mean = np.full(np.prod(SHAPE), 400.0)
    rng = np.random.default_rng(3)
    true = mean + noise_without_sums(rng, 120.0)  # association in all directions
    seen = true + noise_without_sums(rng, 10.0)
    assert np.abs(shrink_pair(seen, mean, left_in_a_cell(10.0), SHAPE) - true).mean() < 10


def test_noise_that_differs_by_row_is_no_direction() -> None:
    rng, rare = np.random.default_rng(4), np.where(np.arange(12) == 11, 30.0, 1.0)
    found = []
    for _ in range(200):
        noise = rng.normal(0, 20, SHAPE) * np.sqrt(rare)[:, None]
        noise = noise - noise.mean(axis=1, keepdims=True)
        each = np.outer(rare, np.full(9, 400.0 * (1 - 1 / 9))).ravel()
        found.append(beyond_noise(noise.ravel(), each, SHAPE)[1] > 0)
    assert np.mean(found) < 0.05


def test_narrow_pairs_have_no_directions() -> None:
    narrow = (TREE_BLEND.least_directions - 1, 9)
    gap = 1e6 * np.outer(np.linspace(-1, 1, narrow[0]), np.linspace(-1, 1, 9)).ravel()
    assert beyond_noise(gap, 1.0, narrow)[1] == 0
