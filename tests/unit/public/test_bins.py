"""A value picked from a bin is in the bin, on the grid, and not one that has a code of its own."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.public.schema import Schema
from hedgerow.public.schema.bins import Bins, BinValues

UNITS = [Fraction(1, 10), Fraction(1, 100), Fraction(3, 10), Fraction(7, 1000), Fraction(5), Fraction(1)]


@given(
    st.lists(st.integers(-5000, 5000), min_size=2, max_size=8, unique=True),
    st.sampled_from([1, 10, 100, 1000]),
    st.sampled_from(UNITS),
)
@settings(max_examples=150)
def test_the_grid_has_exactly_the_multiples_that_lie_in_the_bin(marks: list[int], by: int, unit: Fraction) -> None:
    cuts = np.array(sorted(marks)) / by
    grid = BinValues.of(cuts, unit=unit, finest=None)
    for i in range(len(cuts) - 1):
        low, high = cuts[i], cuts[i + 1]
        ks = range(int(low / unit) - 3, int(high / unit) + 4)
        inside = [k for k in ks if low <= k * unit.numerator / unit.denominator < high]
        if inside:
            assert (grid.first[i], grid.last[i]) == (inside[0], inside[-1])
        else:
            assert grid.over[i] == 0, "without a multiple, any number of the bin will do"


@given(st.integers(0, 10**6), st.sampled_from([None, *UNITS]), st.sampled_from([(), (0.0, 0.5), (0.3, 1.0)]))
@settings(max_examples=100)
def test_every_way_of_picking_stays_in_the_bin(seed: int, unit: Fraction | None, avoid: tuple[float, ...]) -> None:
    rng = np.random.default_rng(seed)
    cuts = np.unique(np.round(rng.uniform(-3, 3, 8), 2))
    grid = BinValues.of(cuts, unit=unit, finest=None, avoid=avoid)
    bins = np.arange(len(cuts) - 1).repeat(20)
    for value in (grid.picked(bins, rng), grid.middle(bins), grid.lowest[bins]):
        assert ((cuts[bins] <= value) & (value < cuts[bins + 1])).all()
        assert not np.isin(value, avoid).any()
    assert ((cuts[:-1] <= grid.highest) & (grid.highest < cuts[1:])).all()


@given(st.integers(0, 10**6), st.sampled_from([None, *UNITS]))
@settings(max_examples=100)
def test_a_value_between_limits_keeps_to_them_and_is_found_when_there_is_one(
    seed: int, unit: Fraction | None
) -> None:
    rng = np.random.default_rng(seed)
    cuts = np.array([0.0, 0.7, 2.1, 5.0])
    grid = BinValues.of(cuts, unit=unit, finest=None)
    bins = rng.integers(0, 3, 200)
    least, most = rng.uniform(-1, 6, 200), rng.uniform(-1, 6, 200)
    value = grid.between(bins, least, most, rng)
    found = ~np.isnan(value)
    assert (value[found] >= np.maximum(least, cuts[bins])[found]).all()
    assert (value[found] <= most[found]).all() and (value[found] < cuts[bins + 1][found]).all()
    wide = np.minimum(most, grid.highest[bins]) - np.maximum(least, cuts[bins]) > float(unit or 0) + 1e-9
    assert found[wide].all()


def test_whole_numbers_fall_back_to_one_by_one_and_an_empty_bin_is_told() -> None:
    grid = BinValues.of(np.array([0.0, 4.0, 9.0, 9.5, 20.0]), unit=Fraction(10), finest=Fraction(1))
    assert grid.empty.tolist() == [False, False, False, False]
    assert grid.lowest.tolist() == [0.0, 4.0, 9.0, 10.0] and grid.highest.tolist() == [0.0, 8.0, 9.0, 10.0]
    assert BinValues.of(np.array([0.2, 0.8, 2.0]), unit=Fraction(1), finest=Fraction(1)).empty.tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize(("unit", "expected"), [(None, [0.26, 1.4]), (Fraction(1, 2), [0.5, 1.5])])
def test_rounding_moves_to_the_nearest_value_that_may_stand(unit: Fraction | None, expected: list[float]) -> None:
    grid = BinValues.of(np.array([0.0, 1.0, 2.0]), unit=unit, finest=None)
    assert grid.rounded(np.array([0, 1]), np.array([0.26, 1.4])).tolist() == expected


def test_a_bin_far_wider_than_its_range_has_plain_edges() -> None:
    cuts = Bins(low=0, high=40, width=1e308).cuts("integer")
    assert cuts.dtype == np.float64
    assert len(cuts) == 2


def test_rounding_to_the_nearest_multiple_is_said_in_one_word() -> None:
    text = '[columns.pay]\nkind = "integer"\nbins = {{ low = 0, high = 10000, {} }}\nother = 0\n'
    rounding = Schema.loads(text.format("nearest = 2500"))
    pay = np.array([0, 1249, 1250, 3749, 3750, 8749, 8750, 10000, 11249])
    codes = rounding.column("pay").coded.encode(pl.Series(pay))
    assert (codes.astype(int) * 2500).tolist() == [0, 0, 2500, 2500, 5000, 7500, 10000, 10000, 10000]
    plain = text.format("width = 2500").replace("low = 0, high = 10000", "low = -1250, high = 11250")
    assert rounding == Schema.loads(plain)
    assert Schema.loads(rounding.dumps()) == rounding
    odd = Schema.loads(text.format("nearest = 5").replace("10000", "20")).column("pay")
    assert odd.coded.encode(pl.Series([0, 2, 3, 7, 8, 20, 22])).tolist() == [0, 0, 1, 1, 2, 4, 4]
    with pytest.raises(SchemaError, match=r"bins\.nearest goes with low and high alone"):
        Schema.loads(text.format("nearest = 5, width = 5"))
