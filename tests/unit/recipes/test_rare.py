"""Rare values merged in pairs: what they say together stays, what each says alone is taken from the one-way table."""

import numpy as np
import pytest

from hedgerow.errors import JobError
from hedgerow.model.tables.shrinkage import shrink
from hedgerow.recipes import TreeBlend
from hedgerow.recipes.blend.noisy_tables import merge_rare, shrink_merged

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
    columns = [merge_rare(MARGIN, 10.0), merge_rare(other, 10.0)]
    assert [c.size for c in columns] == [COMMON + 1, 2]
    together, alone = [], []
    for seed in range(20):
        noisy = true + np.random.default_rng(seed).normal(0, 3, len(true))
        rare = slice(0, 2 * RARE)
        together.append(np.abs(shrink_merged(noisy, mean, 9.0, columns) - true)[rare].sum())
        alone.append(np.abs(shrink(noisy, mean, 9.0) - true)[rare].sum())
    assert np.mean(together) < 0.7 * np.mean(alone)


def test_nothing_is_lost_in_merging() -> None:
    true, _, other = pair()
    same = shrink_merged(true, true, 1e-9, [merge_rare(MARGIN, 10.0), merge_rare(other, 10.0)])
    assert same == pytest.approx(true)


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(JobError, match="rare"):
        TreeBlend(rare=-1.0)
