"""Errors on parts carried on to whole tables: right where the law of the error is known."""

import numpy as np
import pytest

from hedgerow.stand_in.rehearsal import at_full_size, surplus

CELLS = np.array([0.5, 0.3, 0.15, 0.04, 0.01])


def distance(rng: np.random.Generator, sizes: tuple[float, float], noise: float) -> float:
    """The total variation between two samples, one of them with noise that does not go with its size."""
    a, b = (rng.multinomial(int(n), CELLS) / int(n) for n in sizes)
    return float(np.abs(a - b + rng.normal(0, noise, len(CELLS))).sum() / 2)


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.02])
@pytest.mark.parametrize(("rows", "public"), [(4000, 4000), (40_000, 4000), (500, 4000)])
def test_the_error_of_whole_tables_is_foretold_from_parts(rows: int, public: int, noise: float) -> None:
    rng = np.random.default_rng(8)
    t = min(rows, public // 2)
    parts, runs = (t, public - t), 3000
    errors, halved, whole = (
        [distance(rng, sizes, noise) for _ in range(runs)]
        for sizes in (parts, (parts[0] / 2, parts[1] / 2), (rows, public))
    )
    times = at_full_size(errors, halved, surplus(rows, public, parts))
    assert float(np.mean(errors)) * times == pytest.approx(float(np.mean(whole)), rel=0.05)


def test_few_runs_never_carry_it_beyond_what_sampling_can_explain() -> None:
    assert at_full_size([0.1], [0.9], 0.5) == pytest.approx(0.5**0.5)
    assert at_full_size([0.1], [0.01], 0.5) == 1.0
    assert at_full_size([0.1], [float("nan")], 0.5) == 1.0
    assert at_full_size([0.0], [0.0], 0.5) == 1.0
