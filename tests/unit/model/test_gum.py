"""Fitting records to two-way tables: it must bring them nearer, and repeat itself exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.model.records.descent import PairTargets, Records, pair_shares
from hedgerow.model.records.fitters import Exchange, GradualUpdate
from hedgerow.model.tables.fitting import common_margins, consistent, fit_pair
from hedgerow.model.tables.shrinkage import shrink_by_gaps
from hedgerow.public.costs.noise_laws import Gaussian

SIZES = (3, 4, 2, 5)
ROWS = 100_000


def correlated(n: int, rng: np.random.Generator) -> Records:
    hidden = rng.random(n)
    return np.stack([(s * (0.7 * hidden + 0.3 * rng.random(n))).astype(np.uint16) for s in SIZES], axis=1)


def independent(n: int, rng: np.random.Generator) -> Records:
    return np.stack([rng.integers(0, s, n).astype(np.uint16) for s in SIZES], axis=1)


@pytest.fixture
def targets() -> PairTargets:
    truth = correlated(20_000, np.random.default_rng(1))
    return PairTargets(SIZES, pair_shares(truth, SIZES))


def test_gradual_update_lowers_the_error_of_a_large_table(targets: PairTargets) -> None:
    start = independent(5000, np.random.default_rng(2))
    before = start.copy()
    fitted = GradualUpdate(20, 0.5).fit(start, targets, 1)
    assert targets.error(fitted) < targets.error(start) / 4
    assert (start == before).all(), "the start was written over"
    assert (fitted.max(axis=0) < SIZES).all()


def test_gradual_update_never_returns_something_worse(targets: PairTargets) -> None:
    start = correlated(40, np.random.default_rng(3))
    assert targets.error(GradualUpdate(5, 1.0).fit(start, targets, 1)) <= targets.error(start)


@pytest.mark.parametrize("n", [1, 30, 300])
def test_refinement_brings_a_small_group_nearer(targets: PairTargets, n: int) -> None:
    rng = np.random.default_rng(4)
    pool, start = correlated(5000, rng), independent(n, rng)
    fitted = Exchange(pool, 10).fit(start, targets, 1)
    assert targets.error(fitted) <= targets.error(start)
    assert n < 300 or targets.error(fitted) < targets.error(pool[:n]), "better than a plain sample of the pool"


def test_the_same_state_gives_the_same_records(targets: PairTargets) -> None:
    start, pool = independent(500, np.random.default_rng(5)), correlated(900, np.random.default_rng(6))
    assert (GradualUpdate(3).fit(start, targets, 9) == GradualUpdate(3).fit(start, targets, 9)).all()
    assert (Exchange(pool, 3).fit(start, targets, 9) == Exchange(pool, 3).fit(start, targets, 9)).all()
    assert (Exchange(pool, 3).fit(start, targets, 9) != Exchange(pool, 3).fit(start, targets, 8)).any()


@given(seed=st.integers(0, 10_000), noise=st.floats(0, 0.5))
@settings(max_examples=30)
def test_consistent_tables_agree_and_are_possible(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    tables = pair_shares(correlated(500, rng), SIZES)
    noisy = {pair: t + rng.normal(0, noise / t.size, t.shape) for pair, t in tables.items()}
    fitted = consistent(noisy)
    shares = common_margins(fitted)
    for (a, b), t in fitted.items():
        assert t.min() >= 0
        assert t.sum() == pytest.approx(1)
        assert t.sum(axis=1) == pytest.approx(shares[a], abs=1e-5)
        assert t.sum(axis=0) == pytest.approx(shares[b], abs=1e-5)


def test_consistency_leaves_exact_tables_alone() -> None:
    tables = pair_shares(correlated(5000, np.random.default_rng(7)), SIZES)
    fitted = consistent(tables)
    assert all(np.abs(fitted[p] - tables[p]).sum() < 1e-4 for p in tables)


def test_consistency_lowers_the_error_of_noisy_tables() -> None:
    rng = np.random.default_rng(8)
    tables = pair_shares(correlated(5000, rng), SIZES)
    noisy = {pair: t + rng.normal(0, 0.02, t.shape) for pair, t in tables.items()}
    fitted = consistent(noisy)
    before, after = (sum(np.abs(x[p] - tables[p]).sum() for p in tables) for x in (noisy, fitted))
    assert after < 0.9 * before


def test_raking_reaches_the_wanted_margins() -> None:
    rng = np.random.default_rng(9)
    tables = pair_shares(correlated(5000, rng), SIZES)
    wanted = [rng.dirichlet(np.ones(s) * 5) for s in SIZES]
    for (a, b), t in ((p, fit_pair(t, wanted[p[0]], wanted[p[1]])) for p, t in tables.items()):
        assert np.abs(t.sum(axis=1) - wanted[a]).sum() < 1e-3
        assert np.abs(t.sum(axis=0) - wanted[b]).sum() < 1e-3


def _drawn(noise: float, shift: float, cells: int, tables: int) -> tuple[float, float, float]:
    """Squared errors of noisy, public and drawn tables, summed over five worlds."""
    total = np.zeros(3)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        public = [rng.dirichlet(np.ones(cells)) for _ in range(tables)]
        truth = [(1 - shift) * p + shift * rng.dirichlet(np.ones(cells)) for p in public]
        noisy = [t + rng.normal(0, noise, cells) for t in truth]
        variance = (ROWS * noise) ** 2
        seen, prior = ROWS * np.concatenate(noisy), ROWS * np.concatenate(public)
        shrunk = np.split(shrink_by_gaps(seen, prior, variance, law=Gaussian, scale=1.0).mean / ROWS, len(public))
        for i, got in enumerate((noisy, public, shrunk)):
            total[i] += sum(float(((a - b) ** 2).sum()) for a, b in zip(got, truth, strict=True))
    return float(total[0]), float(total[1]), float(total[2])


@pytest.mark.parametrize(("cells", "tables"), [(40, 30), (60, 80)])
@pytest.mark.parametrize("noise", [0.0001, 0.001])
@pytest.mark.parametrize("shift", [0.3, 0.9])
def test_a_strongly_shifted_public_table_does_no_harm_when_there_is_little_noise(
    noise: float, shift: float, cells: int, tables: int
) -> None:
    noisy, public, drawn = _drawn(noise, shift, cells, tables)
    assert public > 40 * noisy, "the public table is far off"
    assert drawn <= 1.1 * noisy


@pytest.mark.parametrize(("noise", "shift"), [(0.01, 0.05), (0.05, 0.02), (0.05, 0.0)])
def test_a_public_table_nearer_than_the_noise_is_kept(noise: float, shift: float) -> None:
    noisy, public, drawn = _drawn(noise, shift, 40, 30)
    assert public < 0.05 * noisy, "the public table is near"
    assert drawn <= 1.1 * public + 1e-4 * noisy


@pytest.mark.parametrize(("noise", "shift"), [(0.01, 0.3), (0.001, 0.05), (0.003, 0.1)])
def test_in_between_drawing_is_better_than_both(noise: float, shift: float) -> None:
    noisy, public, drawn = _drawn(noise, shift, 40, 30)
    assert drawn < 0.95 * min(noisy, public)
