"""Balanced draws: tables near their expectation, and rows still drawn from their own shares."""

import numpy as np

from hedgerow.model.trees.row_shares import balance, draw_stratified


def test_all_watched_tables_come_much_nearer_than_independent_draws() -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([3.0, 1.0, 0.5], 6000).astype(np.float32)
    groups = [rng.integers(0, s, 6000) for s in (9, 14, 6, 30)]

    def far(cells: np.ndarray) -> float:
        total = 0.0
        for g in groups:
            want = np.stack([np.bincount(g, weights=s) for s in shares.T], axis=1)
            total += np.abs(np.bincount(g * 3 + cells, minlength=want.size).reshape(-1, 3) - want).sum()
        return total

    alone = (rng.random(6000)[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    assert far(balance(alone, shares, groups, rng)) < 0.25 * far(alone)


def test_every_row_is_still_drawn_from_its_own_shares() -> None:
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([2.0, 1.0, 1.0], 600).astype(np.float32)
    groups = [rng.integers(0, 3, 600), rng.integers(0, 4, 600)]
    held = np.zeros((600, 3))
    for _ in range(2000):
        held[np.arange(600), balance(draw_stratified(shares, groups[0], rng), shares, groups, rng)] += 1
    off = np.abs(held / 2000 - shares)
    assert off.max() < 0.06  # four standard errors of 2,000 draws are 0.045
    assert off.mean() < 0.012


def test_no_rows_give_no_labels() -> None:
    none = np.zeros(0, np.int64)
    assert len(balance(none, np.zeros((0, 3), np.float32), [none], np.random.default_rng(0))) == 0
