"""Noisy pairs that tell of each other, and pairs within groups."""

from itertools import combinations

import numpy as np
import pytest

from hedgerow.model.records import GroupTargets, Records
from hedgerow.model.tables import Floats, Key, NoisyPair, posteriors_together
from hedgerow.recipes.blend.group_tables import within_groups

SHAPE = (3, 3, 3)
PAIRS = list(combinations(range(3), 2))


def noisy_world(noise: tuple[float, ...]) -> tuple[Records, Floats, list[NoisyPair]]:
    """Rows, their weights, and noisy pairs of people like them."""
    rng = np.random.default_rng(1)
    rows, weights = rng.integers(0, 3, (40, 3)).astype(np.uint16), rng.random(40) * 5
    known = []
    for (a, b), v in zip(PAIRS, noise, strict=True):
        mean = np.bincount(rows[:, a] * 3 + rows[:, b], weights, 9).astype(np.float64)
        spread = 1.5 * mean + 1
        known.append(NoisyPair((a, b), mean + rng.normal(size=9) * np.sqrt(spread + v), mean, spread, v))
    return rows, weights, known


@pytest.mark.parametrize("noise", [(9.0, 4.0, 25.0), (0.5, 400.0, 3.0)])
def test_pairs_together_are_what_the_matrix_of_all_cells_would_give(noise: tuple[float, ...]) -> None:
    rows, weights, known = noisy_world(noise)
    cells = np.zeros((len(rows), 27))
    for i, (a, b) in enumerate(PAIRS):
        cells[np.arange(len(rows)), 9 * i + rows[:, a].astype(int) * 3 + rows[:, b]] = 1
    mean, spread = np.concatenate([k.mean for k in known]), np.concatenate([k.spread for k in known])
    counts, variance = np.concatenate([k.counts for k in known]), np.repeat(noise, 9)
    shared = cells.T @ (weights[:, None] * cells) - np.outer(mean, mean) / weights.sum()
    whole = shared + np.diag(np.maximum(spread - np.diag(shared), 0))
    exact = mean + whole @ np.linalg.solve(whole + np.diag(variance), counts - mean)
    found = np.concatenate(posteriors_together(rows, weights, SHAPE, known))
    assert np.abs(found - exact).max() < 0.05 * np.abs(counts - exact).max()


def test_rows_that_tell_nothing_leave_every_cell_to_its_own_noise() -> None:
    rows, weights, known = noisy_world((9.0, 4.0, 25.0))
    for k, found in zip(known, posteriors_together(rows, weights, SHAPE, known, like=0.0), strict=True):
        own = k.mean + (k.counts - k.mean) * k.spread / (k.spread + k.noise)
        assert np.allclose(found, own)


def grouped_rows(*, apart: bool) -> Records:
    """Two groups; where they are apart, two columns agree in one group and disagree in the other."""
    rng = np.random.default_rng(3)
    group, first = np.repeat([0, 1], 400), rng.integers(0, 2, 800)
    agree = rng.random(800) < np.where(group == 0, 0.9, 0.1) if apart else rng.random(800) < 0.5
    return np.stack([group, first, np.where(agree, first, 1 - first)], axis=1).astype(np.uint16)


def tables_of(rows: Records) -> dict[Key, Floats]:
    """All one-way and two-way tables of rows of two values each."""
    found: dict[Key, Floats] = {(i,): np.bincount(rows[:, i], minlength=2).astype(np.float64) for i in range(3)}
    for a, b in PAIRS:
        found[a, b] = np.bincount(rows[:, a] * 2 + rows[:, b], minlength=4).astype(np.float64)
    return found


def test_what_rows_of_a_group_say_beyond_chance_is_kept() -> None:
    rows = grouped_rows(apart=True)
    targets = within_groups(tables_of(rows), (2, 2, 2), rows, np.ones(len(rows)))
    assert targets is not None
    own = np.bincount(rows[:400, 1] * 2 + rows[:400, 2], minlength=4)
    assert np.abs(targets.tables[0, 1][0].ravel() - own).max() < 15


def test_what_chance_explains_is_drawn_to_what_all_groups_say() -> None:
    rows = grouped_rows(apart=False)
    estimates = tables_of(rows)
    targets = within_groups(estimates, (2, 2, 2), rows, np.ones(len(rows)))
    assert targets is not None
    odds = [t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in targets.tables[0, 1].astype(np.float64)]
    seen = [np.bincount(g[:, 1] * 2 + g[:, 2], minlength=4) for g in (rows[:400], rows[400:])]
    before = [s[0] * s[3] / (s[1] * s[2]) for s in seen]
    assert abs(np.log(odds[0] / odds[1])) < 0.7 * abs(np.log(before[0] / before[1]))
    both = targets.tables[0, 1].sum(axis=0).ravel()
    assert np.abs(both - estimates[1, 2]).max() < 1  # the pair of all groups stays


def test_records_of_every_group_and_of_all_have_the_wanted_pairs() -> None:
    rng = np.random.default_rng(0)
    wanted = np.array([[[60.4, 10.3], [9.8, 19.5]], [[5.2, 45.6], [44.7, 4.5]]], np.float32)
    targets = GroupTargets((2, 2), {(0, 1): wanted})
    start = np.stack([np.repeat([0, 1], 100), *rng.integers(0, 2, (2, 200))], axis=1).astype(np.uint16)
    made = targets.descend(start, rng, sweeps=8, stay=0.0)
    assert made[:, 0].tolist() == start[:, 0].tolist()
    found = np.bincount(made[:, 0] * 4 + made[:, 1] * 2 + made[:, 2], minlength=8).reshape(2, 2, 2)
    assert np.abs(found - wanted).max() < 2
    assert np.abs(found.sum(axis=0) - wanted.sum(axis=0)).max() <= 1


def test_small_groups_together_have_the_wanted_pairs_though_none_can_have_its_own() -> None:
    wanted = np.full((40, 2, 2), 0.75, np.float32)  # three records in four cells
    start = np.zeros((120, 3), np.uint16)
    start[:, 0] = np.repeat(np.arange(40), 3)
    made = GroupTargets((2, 2), {(0, 1): wanted}).descend(start, np.random.default_rng(0), sweeps=8, stay=0.0)
    assert np.abs(np.bincount(made[:, 1] * 2 + made[:, 2], minlength=4) - 30).max() <= 3


def test_no_group_is_fitted_by_itself_where_there_are_too_many_cells() -> None:
    rows = np.zeros((4, 3), np.uint16)
    assert within_groups({}, (60_000, 100, 100), rows, np.ones(4)) is None
    assert within_groups({}, (5, 100), rows[:, :2], np.ones(4)) is None


def test_no_records_are_no_trouble() -> None:
    targets = GroupTargets((2, 2), {(0, 1): np.ones((2, 2, 2), np.float32)})
    none = targets.descend(np.zeros((0, 3), np.uint16), np.random.default_rng(0), sweeps=2, stay=(0.5, 0.5, 0.5))
    assert none.shape == (0, 3)
