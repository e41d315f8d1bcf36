"""A public prior of a table of counts: used as far as the noisy counts allow, and never to their harm."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.model.constants import INTEGER_COUNTS
from hedgerow.model.tables.fitting import project
from hedgerow.model.tables.shrinkage import Floats, prior_spread, shrink_by_gaps
from hedgerow.public.costs.noise_laws import Gaussian, Laplace, NoiseLaw

CELLS = Path(__file__).parents[4] / "shared" / "data" / "opm" / "cpdf_population_cells.parquet"


def _noise(rng: np.random.Generator, epsilon: float, n: int) -> Floats:
    q = np.exp(-epsilon)
    return np.asarray(rng.geometric(1 - q, n) - rng.geometric(1 - q, n), np.float64)


def _distance(a: Floats, b: Floats) -> float:
    return float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)


def test_a_perfect_prior_is_taken_and_a_useless_one_is_left() -> None:
    rng = np.random.default_rng(1)
    prior = rng.gamma(0.5, 200, 3000)
    noisy = prior + rng.laplace(0, 50, 3000)
    found = shrink_by_gaps(noisy, prior, 5000.0)
    assert np.abs(found.mean - found.scale * prior).max() < 1e-9, "nothing beyond the noise: the prior itself"
    assert found.scale == pytest.approx(1, abs=0.02)
    far = shrink_by_gaps(rng.permutation(prior) * 50 + rng.laplace(0, 1, 3000), prior, 2.0)
    assert far.variance.mean() > 1.9, "hardly shrunk: the counts know better"


def test_the_scale_of_the_prior_comes_from_the_cells_that_know_it() -> None:
    prior, off = np.zeros(20_000), np.zeros(2)
    prior[:20] = 1000.0
    for seed in range(8):
        noisy = 3 * prior + np.random.default_rng(seed).laplace(0, 100, len(prior))
        off += np.abs([shrink_by_gaps(noisy, prior, 20_000.0).scale - 3, noisy.sum() / prior.sum() - 3])
    assert off[0] / 8 < 0.05 < 0.3 < off[1] / 8, "the sum of all cells does not know it"


def test_noise_that_rounding_hides_is_left_alone() -> None:
    noisy = np.array([3.0, 0.0, 7.0, 1.0])
    assert (
        shrink_by_gaps(noisy, np.array([30.0, 0.0, 1.0, 2.0]), INTEGER_COUNTS.hidden_noise / 2).mean.tolist()
        == noisy.tolist()
    )


@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_the_spread_that_was_put_in_is_found(law: type[NoiseLaw]) -> None:
    rng = np.random.default_rng(3)
    prior = rng.gamma(1.0, 100, 50_000)
    drift = rng.normal(0, 0.3, len(prior)) * prior
    noise = rng.laplace(0, 10, len(prior)) if law is Laplace else rng.normal(0, 200**0.5, len(prior))
    spread = prior_spread(np.abs(drift + noise), prior, 200.0, law=law)
    assert np.median(spread / (0.09 * prior**2 + 1)) == pytest.approx(1, abs=0.25)


def test_tables_of_one_cell_of_zeros_and_without_a_prior_work() -> None:
    for noisy, prior in (([5.0], [4.0]), ([0.0, -3.0], [0.0, 0.0]), ([1e12, 0.0, 3.0], [1e12, 5.0, 0.0])):
        found = shrink_by_gaps(np.array(noisy), np.array(prior), 2.0)
        assert np.isfinite(found.mean).all() and np.isfinite(found.variance).all()


@pytest.mark.skipif(not CELLS.exists(), reason="the personnel cells are not on this machine")
@pytest.mark.parametrize("columns", [("grade", "occCat"), ("age", "grade"), ("age", "yearsEd", "occCat")])
def test_last_year_is_never_a_worse_start_than_the_better_of_itself_and_the_counts(columns: tuple[str, ...]) -> None:
    cells = pl.read_parquet(CELLS).group_by("fy", *columns).agg(pl.col("n").sum())
    wide = cells.pivot("fy", index=list(columns), values="n").fill_null(0)
    for epsilon in (0.003, 0.03, 0.3, 3.0):
        ratios = []
        for year in (1990, 1996, 2003, 2009):  # not among those the constants were chosen on
            true, prior = (wide[str(y)].to_numpy().astype(np.float64) for y in (year, year - 1))
            runs = np.zeros((5, 2))
            for seed in range(len(runs)):
                noisy = true + _noise(np.random.default_rng([year, seed]), epsilon, len(true))
                q = np.exp(-epsilon)
                drawn = shrink_by_gaps(noisy, prior, 2 * q / (1 - q) ** 2).mean
                runs[seed] = [_distance(project(x, max(float(x.sum()), 1.0)), true) for x in (noisy, drawn)]
            ratios.append(runs[:, 1].mean() / min(_distance(prior, true), runs[:, 0].mean()))
        assert np.mean(ratios) <= 1.01, f"{columns} at epsilon {epsilon}: {ratios}"
