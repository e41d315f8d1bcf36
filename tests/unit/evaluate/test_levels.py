"""Panels (c) and (d): slopes and correlations of levels, against fits by hand, and the papers' identity."""

from typing import Any

import numpy as np
import pytest

from hedgerow.evaluate.levels import Correlations, Slopes, level_pairs
from tests.unit.evaluate import tables
from tests.unit.evaluate.tables import needs_shared

RNG = np.random.default_rng(0)


def one_hot(codes: Any, size: int) -> Any:
    return (codes[:, None] == np.arange(size)[None, :]).astype(float)


@needs_shared
def test_slopes_and_correlations_of_adult_are_those_of_polyfit_and_corrcoef() -> None:
    a, b, schema = tables.adult()
    names = ("sex", "race", "relationship")
    pairs = level_pairs(a, b, names)
    wide = np.concatenate([one_hot(a.codes([n])[n], schema.size([n])) for n in names], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        everywhere = np.corrcoef(wide.T)
    places = np.argwhere(pairs.usable)
    assert len(places) > 50
    for i, j in places:
        assert pairs.a.correlation[i, j] == pytest.approx(everywhere[i, j], abs=1e-10)
    for i, j in places[:: max(1, len(places) // 12)]:
        slope = np.polyfit(wide[:, i], wide[:, j], 1)[0]
        assert pairs.a.slope[i, j] == pytest.approx(slope, abs=1e-10)


def test_the_papers_identity_holds_for_every_pair_of_levels() -> None:
    """r = slope sd(x) / sd(y), and the slope is a difference of two shares."""
    a, b, schema = tables.pair()
    pairs = level_pairs(a, b, ("sex", "race", "agency", "education"))
    for t in (pairs.a, pairs.b):
        p = t.one / t.rows
        spread = np.sqrt(p * (1 - p))
        i, j = np.nonzero(pairs.usable)
        assert np.allclose(t.correlation[i, j], t.slope[i, j] * spread[i] / spread[j], atol=1e-12)
    female = pairs.labels.index("female")
    at = next(k for k in range(len(pairs.labels)) if pairs.names[pairs.columns[k]] == "agency")
    here = a.codes(["agency"])["agency"] == 0
    women = a.codes(["sex"])["sex"] == schema.cell_labels("sex").index("female")
    assert pairs.a.slope[at, female] == pytest.approx(women[here].mean() - women[~here].mean())


def test_every_ordered_pair_has_a_slope_and_every_unordered_one_a_correlation() -> None:
    a, b, schema = tables.pair()
    sizes = schema.shape(["sex", "race", "year"])
    expected = sum(sizes[i] * sizes[j] for i in range(3) for j in range(3) if i != j)
    settings = {"columns": ("sex", "race", "year"), "least": 1}
    unused = sizes[2] - len(np.unique(a.codes(["year"])["year"]))
    expected -= 2 * unused * (sizes[0] + sizes[1])
    assert Slopes(**settings).of(a, b, rng=RNG).parts["pairs"] == expected  # type: ignore[arg-type]
    assert Correlations(**settings).of(a, b, rng=RNG).parts["pairs"] == expected / 2  # type: ignore[arg-type]


def test_two_samples_agree_as_much_as_their_null_says() -> None:
    """People have one row each here, so that rows are independent."""
    made, schema = tables.world(60_000, 9)
    frame = made.confidential.unique("person", keep="first", maintain_order=True)
    half = np.arange(frame.height) % 2 == 0
    a, b = (tables.table(frame.filter(k), schema) for k in (half, ~half))
    for metric in (Slopes(least=30), Correlations(least=30)):
        found = metric.of(a, b, rng=RNG)
        assert found.null is not None and found.value is not None
        assert found.value == pytest.approx(found.null, abs=0.06)
        assert float(str(found.parts["beyond_chance"])) == pytest.approx(0.05, abs=0.03)
