"""Shares of moves: public ones where noise is all that differs, measured ones where more does."""

import numpy as np

from hedgerow.model.careers import shrunk_shares

KNOWN = np.array([[0.96, *[0.04 / 24] * 24]])
STEPS = 14_000


def test_noise_on_many_rare_moves_is_not_taken_for_people_who_move() -> None:
    """Nearly all stay, and the noise of 25 cells is in the sum of all: that must not look like a drift."""
    rng = np.random.default_rng(1)
    moving = []
    for _ in range(200):
        noisy = KNOWN * STEPS + rng.normal(0, 250, KNOWN.shape)
        moving.append(1 - shrunk_shares(noisy, 250.0**2, KNOWN, 0)[0, 0])
    assert np.mean(np.abs(np.array(moving) - 0.04) < 1e-6) > 0.95, np.unique(np.round(moving, 3), return_counts=True)


def test_moves_that_became_more_frequent_are_found_and_shares_are_shares() -> None:
    rng = np.random.default_rng(2)
    true = np.array([[0.76, 0.2, *[0.04 / 23] * 23]])
    found = shrunk_shares(true * STEPS + rng.normal(0, 20, true.shape), 400.0, KNOWN, 0)
    assert abs(found[0, 0] - 0.76) < 0.03 and abs(found[0, 1] - 0.2) < 0.03
    assert (found >= 0).all() and np.allclose(found.sum(axis=1), 1)
