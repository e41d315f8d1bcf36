"""The error that is expected of attached labels, against what happens in a simulated world."""

import numpy as np
import pytest

from hedgerow.model.trees.label_counts import LabelCounts, LeafRows, expected_error, posterior_mode

SIZES = (6, 10)


@pytest.mark.parametrize("own", [None, 60.0])
def test_what_is_expected_is_what_happens_when_the_prior_is_right(own: float | None) -> None:
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, 8, 4000)
    lines = np.stack([rng.integers(0, s, 4000) for s in SIZES])
    lines[0] = np.where(rng.random(4000) < 0.7, leaf % 6, lines[0])  # the leaves tell of the first attribute
    shares = rng.dirichlet([4.0, 2.0, 1.0], 8)
    prior = shares[leaf].astype(np.float32)
    happened = []
    for _ in range(30):
        labels = (rng.random(4000)[:, None] > np.cumsum(shares, axis=1)[leaf][:, :-1]).sum(axis=1)
        tables = [
            (g, np.bincount(g * 3 + labels, minlength=3 * size).reshape(-1, 3), v)
            for g, size, v in [(leaf, 8, 20.0), *([(c, s, own) for c, s in zip(lines, SIZES, strict=True)])]
        ]
        seen = [
            LabelCounts(g, t + rng.normal(0, v**0.5, t.shape), np.full((len(t), 1), v)) for g, t, v in tables if v
        ]
        fitted = posterior_mode(prior, seen)
        off = [
            np.abs(np.stack([np.bincount(g, weights=s) for s in fitted.T], axis=1) - t).sum() / 2 / 4000
            for g, t, _ in tables[1:]
        ]
        happened.append(np.mean(off))
    expected = expected_error(LeafRows(leaf, shares, 20.0), lines, SIZES, [own, own])
    assert np.mean(happened) == pytest.approx(expected, rel=0.1)
