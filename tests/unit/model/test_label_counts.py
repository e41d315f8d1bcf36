"""Noisy counts against a prior: limits, precision, drift that is there and drift that is not."""

import numpy as np
import pytest

from hedgerow.model.trees import label_counts
from hedgerow.model.trees.label_counts import (
    LabelCounts,
    LeafRows,
    apply_drift,
    drift,
    expected_error,
    label_totals,
    merge_groups,
    posterior_mode,
    to_target,
)

RNG = np.random.default_rng


def evidence(group: np.ndarray, counts: np.ndarray, variance: float) -> LabelCounts:
    return LabelCounts(group, np.asarray(counts, float), np.full((len(counts), 1), variance))


def sums(shares: np.ndarray, group: np.ndarray) -> np.ndarray:
    return np.stack([np.bincount(group, weights=s) for s in shares.T], axis=1)


def some_prior(rows: int, kinds: int, seed: int) -> np.ndarray:
    return RNG(seed).dirichlet(np.ones(kinds), rows).astype(np.float32)


def drawn(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray((rng.random(len(shares))[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1))


def test_without_noise_the_counts_win_and_with_much_noise_the_prior() -> None:
    prior, group = some_prior(400, 3, 1), np.repeat([0, 1], 200)
    counts = np.array([[120.0, 60.0, 20.0], [30.0, 30.0, 140.0]])
    exact = posterior_mode(prior, [evidence(group, counts, 1e-4)])
    assert sums(exact, group) == pytest.approx(counts, abs=1.0)
    assert exact.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    far = evidence(group, counts, 1e9)
    assert posterior_mode(apply_drift(prior, [far]), [far]) == pytest.approx(prior, abs=1e-4)


def test_several_tables_are_weighed_by_their_precision() -> None:
    """At the minimum every log share has moved by the sum of (count - fitted) / variance of the row's groups,

    each at most 1 / b, which is the square root of 2 / variance.
    """
    prior = some_prior(300, 3, 2)
    rng = RNG(3)
    a, b = rng.integers(0, 4, 300), rng.integers(0, 3, 300)
    truth = np.eye(3)[drawn(prior, rng)]
    seen = [
        evidence(a, sums(truth, a) + rng.normal(0, 3, (4, 3)), 9.0),
        evidence(b, sums(truth, b) + rng.normal(0, 8, (3, 3)), 64.0),
    ]
    out = posterior_mode(prior, seen)
    pulls = [(e, (e.counts - sums(out, e.group)) / e.variance, np.sqrt(2 / e.variance)) for e in seen]
    push = sum(np.clip(p, -most, most)[e.group] for e, p, most in pulls)
    moved = np.log(out / prior)
    assert moved - moved.mean(axis=1, keepdims=True) == pytest.approx(
        push - push.mean(axis=1, keepdims=True), abs=0.01
    )


def test_a_prior_that_is_right_is_not_moved_for_drift() -> None:
    prior, group = some_prior(3000, 4, 4), RNG(5).integers(0, 12, 3000)
    moved = 0
    for seed in range(40):
        rng = RNG(100 + seed)
        counts = sums(np.eye(4)[drawn(prior, rng)], group) + rng.laplace(0, 20, (12, 4))
        moved += bool((apply_drift(prior, [evidence(group, counts, 800.0)]) != prior).any())
    assert moved <= 4


def test_a_prior_that_is_wrong_loses_its_weight() -> None:
    prior, group = some_prior(4000, 3, 6), RNG(7).integers(0, 10, 4000)
    wanted = sums(prior, group) * np.array([0.5, 1.0, 1.6])
    wanted *= sums(prior, group).sum(axis=1, keepdims=True) / wanted.sum(axis=1, keepdims=True)
    out = apply_drift(prior, [evidence(group, wanted, 100.0)])
    before, after = (np.abs(sums(p, group) - wanted).sum() for p in (prior, out))
    assert after < 0.15 * before


def test_each_label_has_a_drift_of_its_own_when_the_noise_cannot_have_made_it() -> None:
    prior, group = np.tile(np.array([0.9, 0.05, 0.05], np.float32), (60000, 1)), np.repeat(np.arange(60), 1000)
    held = sums(prior, group)
    counts = held.copy()
    counts[:, 1] += np.where(np.arange(60) % 2, 45.0, -45.0)
    e = evidence(group, counts, 4.0)
    phi = drift([(e, held, sums(prior * (1 - prior), group))])
    assert phi[1] > 3 * phi[0]
    assert phi[1] > 3 * phi[2]


def test_totals_and_upper_levels_add_up_what_the_leaves_say() -> None:
    group = np.repeat([0, 1, 2], 10)
    leaves = evidence(group, np.array([[4.0, 6.0], [1.0, 9.0], [10.0, 0.0]]), 2.0)
    up = merge_groups(leaves, np.array([0, 0, 1]))
    assert up.counts.tolist() == [[5, 15], [10, 0]]
    assert up.variance.ravel().tolist() == [4, 2]
    assert up.group.tolist() == [0] * 20 + [1] * 10
    other = evidence(np.zeros(30, np.int64), np.array([[20.0, 10.0]]), 3.0)
    both = label_totals([leaves, other])  # precisions 1/6 and 1/3
    assert both.counts.ravel() == pytest.approx([(15 / 6 + 20 / 3) / 0.5, (15 / 6 + 10 / 3) / 0.5])


def test_counts_of_the_targets_own_rows_are_taken_at_its_size() -> None:
    group = np.repeat([0, 1, 2], [500, 300, 200])
    true = np.array([[400.0, 100.0], [100.0, 200.0], [120.0, 80.0]])
    noisy = true + RNG(0).laplace(0, 5, true.shape)
    e = to_target(group, noisy, 50.0)
    assert e.counts == pytest.approx(noisy)
    assert e.variance.ravel().tolist() == [50.0] * 3


def test_counts_of_other_rows_are_brought_to_the_targets_size() -> None:
    group = np.repeat([0, 1], [500, 500])
    e = to_target(group, np.array([[800.0, 200.0], [300.0, 700.0]]), 2.0)  # twice as many rows
    assert e.counts == pytest.approx(np.array([[400, 100], [150, 350]]), rel=0.02)
    assert e.variance == pytest.approx(0.5, rel=0.05)
    uneven = to_target(group, np.array([[1600.0, 400.0], [60.0, 140.0]]), 2.0)  # groups of other sizes
    assert uneven.counts == pytest.approx(np.array([[400, 100], [150, 350]]), rel=0.05)


def test_a_group_without_rows_or_counts_does_no_harm() -> None:
    group = np.zeros(50, np.int64)
    e = to_target(group, np.array([[-3.0, 60.0], [5.0, -40.0]]), 30.0)
    out = posterior_mode(apply_drift(some_prior(50, 2, 8), [e]), [e])
    assert np.isfinite(out).all()
    assert out.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_counts_of_one_of_two_crossed_labels_move_all_shares_that_count_for_it_alike() -> None:
    prior, group, first = some_prior(400, 6, 11), np.repeat([0, 1], 200), np.repeat([0, 1], 3)
    counts = np.array([[150.0, 50.0], [40.0, 160.0]])
    out = posterior_mode(prior, [LabelCounts(group, counts, np.full((2, 1), 1e-4), first)])
    assert sums(out, group) @ np.eye(2)[first] == pytest.approx(counts, abs=1.0)
    within = [s.reshape(-1, 2, 3) / s.reshape(-1, 2, 3).sum(axis=2, keepdims=True) for s in (prior, out)]
    assert within[1] == pytest.approx(within[0], abs=1e-4)


def test_rows_taken_by_fours_end_as_rows_taken_one_by_one() -> None:
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(7), 41).astype(np.float32)
    group, then = rng.integers(0, 5, (2, 41), dtype=np.int32)
    first, next_ = (LabelCounts(g, np.zeros((5, 7)), np.ones((5, 1))) for g in (group, then))
    step, alone = rng.normal(size=(5, 7)), shares.copy()
    found = label_counts._move(shares, first, np.zeros((5, 7)), step, next_)
    added = np.zeros((2, 5, 7))
    label_counts._scale_and_add_up(alone, group, np.exp(np.clip(step, -2, 2)), then, np.ones(41), *added)
    assert (shares == alone).all() and (np.array(found) == added).all()


def test_a_row_that_stands_for_several_counts_for_all_of_them() -> None:
    rng = np.random.default_rng(4)
    lines, many = some_prior(30, 4, 5), rng.integers(10, 60, 30)
    tables = [(rng.integers(0, g, 30), rng.normal(2000 / g, 900 / g, (g, 4))) for g in (3, 7)]
    each = np.repeat(np.arange(30), many)
    apart = [to_target(g[each], c, 4.0) for g, c in tables]
    once = [to_target(g, c, 4.0, many=many.astype(float)) for g, c in tables]

    def strayed(prior: np.ndarray, counts: list[LabelCounts]) -> np.ndarray:
        return apply_drift(apply_drift(prior, [label_totals(counts)]), counts)

    for move in (posterior_mode, strayed):
        moved = move(lines, once)
        assert np.abs(moved - lines).max() > 0.01 and np.allclose(move(lines[each], apart), moved[each], atol=1e-5)
    leaf, lots, codes = tables[0][0], rng.dirichlet(np.ones(4), 3), tables[1][0][None]
    whole = expected_error(LeafRows(leaf[each], lots, 4.0), codes[:, each], (7,), [3.0])
    assert expected_error(LeafRows(leaf, lots, 4.0, many.astype(float)), codes, (7,), [3.0]) == pytest.approx(whole)
