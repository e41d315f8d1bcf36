"""Rare values merged in pairs: what they say together stays, what each says alone is taken from the one-way table."""

import numpy as np
import pytest

from hedgerow.errors import JobError
from hedgerow.model.tables.shrinkage import shrink
from hedgerow.recipes import TreeBlend
from hedgerow.recipes.blend.bands import BandedPair, with_margins_of
from hedgerow.recipes.blend.noisy_tables import MergedPair, merge_rare

RARE, COMMON = 60, 3
MARGIN = np.array([*[4.0] * RARE, *[3000.0] * COMMON])
LIFTED = np.array([0.9] * RARE + [0.3] * COMMON)  # all rare values lean the same way


def pair() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True counts of 63 values by 2, what independence says of them, and the other column's margin."""
    true = np.stack([MARGIN * LIFTED, MARGIN * (1 - LIFTED)], axis=1)
    other = true.sum(axis=0)
    return true.ravel(), np.outer(MARGIN, other).ravel() / MARGIN.sum(), other


def test_rare_values_learn_from_each_other_what_none_shows_alone() -> None:
    true, mean, other = pair()
    merged = MergedPair(merge_rare(MARGIN, 10.0), merge_rare(other, 10.0))
    assert (merged.first.size, merged.second.size) == (COMMON + 1, 2)
    together, alone = [], []
    for seed in range(20):
        noisy = true + np.random.default_rng(seed).normal(0, 3, len(true))
        rare = slice(0, 2 * RARE)
        together.append(np.abs(merged.shrunk(noisy, mean, 9.0) - true)[rare].sum())
        alone.append(np.abs(shrink(noisy, mean, 9.0) - true)[rare].sum())
    assert np.mean(together) < 0.7 * np.mean(alone)


def test_nothing_is_lost_in_merging() -> None:
    true, _, other = pair()
    same = MergedPair(merge_rare(MARGIN, 10.0), merge_rare(other, 10.0)).shrunk(true, true, 1e-9)
    assert same == pytest.approx(true)


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(JobError, match="rare"):
        TreeBlend(rare=-1.0)


def test_a_pair_given_the_margins_that_are_expected_has_the_noise_that_is_said() -> None:
    other = np.array([30.0, 2.0, 4.0, 64.0, 5.0])
    mean = np.outer(MARGIN, other).ravel() / other.sum()
    merged = MergedPair(merge_rare(MARGIN, 10.0), merge_rare(other, 10.0))
    moved = np.stack(
        [merged.seen(mean + unit, mean, 1.0)[0] - merged.seen(mean, mean, 1.0)[0] for unit in np.eye(len(mean))]
    )
    assert np.allclose((moved**2).sum(axis=0), merged.seen(mean, mean, 1.0)[2])

    bands = BandedPair(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1]))
    whole = np.arange(1.0, 16.0)
    told = np.stack([bands.seen(bands.summed(whole) + unit, whole, 1.0)[0] for unit in np.eye(bands.size)])
    assert np.allclose(
        ((told - bands.summed(whole)) ** 2).sum(axis=0), bands.seen(bands.summed(whole), whole, 1.0)[2]
    )


def test_a_pair_given_the_margins_that_are_expected_keeps_its_association() -> None:
    true = np.array([[40.0, 10.0, 5.0], [5.0, 20.0, 20.0]])
    mean = np.outer(true.sum(axis=1), true.sum(axis=0)).ravel() / true.sum()
    assert np.allclose(with_margins_of(mean, true.ravel(), true.shape), true.ravel())
    noisy = true + np.random.default_rng(1).normal(0, 9, true.shape)
    near = with_margins_of(mean, noisy.ravel(), true.shape).reshape(true.shape)
    assert np.allclose(near.sum(axis=0), true.sum(axis=0))
    assert np.allclose(near.sum(axis=1), true.sum(axis=1))
