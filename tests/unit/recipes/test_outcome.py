"""What the other columns leave of an outcome: the same in sums, in trees and by least squares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.counting.plan import checked, leaf_of
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.recipes.trees.outcome import Residual, lloyd_cuts, residual_of, unknown_deviation

NAMES = ("a", "b", "c", "d")


def coding(sizes: tuple[int, ...]) -> Coding:
    return Coding(tuple(CodedColumn(n, "text", s, 0, 0) for n, s in zip(NAMES, sizes, strict=False)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_tree_leads_every_combination_of_codes_to_the_band_of_its_sum(data: st.DataObject) -> None:
    sizes = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    points = tuple(np.array(data.draw(st.lists(st.integers(-9, 9), min_size=s, max_size=s))) for s in sizes)
    cuts = sorted(data.draw(st.sets(st.integers(-20, 20), max_size=4)))
    lines = np.indices(sizes).reshape(len(sizes), -1).astype(np.uint8)
    residual, names = Residual(points), NAMES[: len(sizes)]
    tree = checked(residual.tree(names, cuts), coding(sizes))
    slow = [sum(points[a][line[a]] for a in range(len(sizes))) for line in lines.T]
    assert residual.of(lines).tolist() == slow
    assert leaf_of(tree, dict(zip(names, lines, strict=True))).tolist() == [sum(c <= s for c in cuts) for s in slow]


def test_paths_with_the_same_sum_share_their_splits() -> None:
    tree = Residual(tuple(np.arange(10) for _ in range(4))).tree(NAMES, [18])
    assert len(tree.arrays[0]) == 1 + 10 + 19 + 28, "not 1 + 10 + 100 + 1000"


def some_rows(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Codes of three columns, and a private label; the last column leans on the others and on the label."""
    rng = np.random.default_rng(1)
    a, b, label = rng.integers(0, 6, n), rng.integers(0, 4, n), rng.random(n) < 0.3
    y = np.clip(np.rint(2 * a + np.array([0, 5, 1, 3])[b] + 1.5 * label + rng.normal(0, 1.5, n)), 0, 19)
    return np.stack([a, b, y]).astype(np.uint8), label


def test_the_residual_is_that_of_least_squares() -> None:
    lines, _ = some_rows()
    x = np.column_stack([lines[0][:, None] == np.arange(6), lines[1][:, None] == np.arange(1, 4)]).astype(float)
    y = lines[2].astype(float)
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    found = residual_of(lines, (6, 4, 20), outcome=2, scores=np.arange(20.0))
    assert found is not None
    assert np.corrcoef(left, found.of(lines))[0, 1] > 0.998


def test_nothing_is_left_of_an_outcome_that_another_column_settles() -> None:
    lines = np.stack([np.arange(40) % 5, 2 * (np.arange(40) % 5)]).repeat(500, axis=1)
    assert residual_of(lines, (5, 9), outcome=1, scores=np.arange(9.0)) is None


def test_effects_that_would_make_a_huge_tree_are_told_more_coarsely() -> None:
    rng = np.random.default_rng(2)
    lines = np.stack([rng.integers(0, 2000, 30_000), rng.integers(0, 1500, 30_000), rng.integers(0, 900, 30_000)])
    found = residual_of(lines, (2000, 1500, 900), outcome=2, scores=np.arange(900.0) ** 3)
    assert found is not None
    assert len(found.tree(NAMES[:3], [0]).arrays[2]) <= 4_000_000


def test_cuts_part_two_heaps_between_them_and_never_make_too_many_bands() -> None:
    values = np.array([-11, -10, -9, 30, 31])
    assert -9 < lloyd_cuts(values, np.array([5, 90, 5, 3, 3]), 2)[0] <= 30
    for bands in (2, 4, 16):
        cuts = lloyd_cuts(values, np.ones(5, np.int64), bands)
        assert len(cuts) < bands and cuts == sorted(set(cuts))


def test_less_is_unknown_with_less_noise_and_all_of_it_with_very_much() -> None:
    values, many, mix = np.arange(-20, 21), np.full(41, 100), np.array([0.3, 0.7])
    known = [unknown_deviation(values, many, lloyd_cuts(values, many, 4), mix, v) for v in (1e-9, 10.0, 1000.0, 1e12)]
    lefts, wholes = zip(*known, strict=True)
    assert list(lefts) == sorted(lefts) and lefts[-1] == pytest.approx(wholes[-1])
    assert len(set(wholes)) == 1
    finer = unknown_deviation(values, many, lloyd_cuts(values, many, 16), mix, 1e-9)[0]
    assert finer < lefts[0] / 3, "without noise only what lies within a band is unknown"


def test_counts_by_band_give_the_coefficient_back() -> None:
    """Frisch and Waugh: where the label occurs within the bands decides its coefficient, and nothing else does."""
    lines, label = some_rows()
    found = residual_of(lines, (6, 4, 20), outcome=2, scores=np.arange(20.0))
    assert found is not None
    r = found.of(lines)
    band = np.searchsorted(lloyd_cuts(*np.unique(r, return_counts=True), 8), r, side="right")
    rate = np.bincount(band, weights=label) / np.bincount(band)
    redrawn = np.random.default_rng(3).random(len(r)) < rate[band]

    def coefficient(of: np.ndarray) -> float:
        x = np.column_stack([lines[0][:, None] == np.arange(6), lines[1][:, None] == np.arange(1, 4), of])
        return float(np.linalg.lstsq(x.astype(float), lines[2].astype(float), rcond=None)[0][-1])

    assert coefficient(label) > 1.3
    assert coefficient(redrawn) == pytest.approx(coefficient(label), abs=0.15)
