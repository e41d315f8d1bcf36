"""Bins are round, few, and hold every value of the public table."""

from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.drafting.numbers import bins_between, bins_from, round_up
from tests.unit.draft.drafting_tools import column


def edges_of(bins: Bins, *, whole: bool) -> np.ndarray:
    if bins.edges:
        return np.array(bins.edges, float)
    low, high, width = (float(x) for x in (bins.low, bins.high, bins.width))  # type: ignore[arg-type]
    return np.arange(low, high + 1.5) if whole and width == 1 else np.append(np.arange(low, high, width), high)


@given(
    st.lists(st.integers(-(10**7), 10**7), min_size=2, max_size=300, unique=True).map(sorted),
    st.sampled_from([1, 2, 5, 100]),
    st.integers(1, 10**4),
)
def test_every_whole_number_falls_into_a_bin_and_bins_are_few(values: list[int], step: int, heap: int) -> None:
    x = np.array(values, float) * step
    counts = np.ones(len(x), np.int64)
    counts[len(x) // 2] = heap
    found = bins_from(x, counts, whole=True)
    edges = edges_of(found.bins, whole=True)
    assert (np.diff(edges) > 0).all()
    inner = x[~np.isin(x, found.spikes)]
    assert edges[0] <= inner[0] and inner[-1] <= edges[-1]
    assert len(edges) - 1 == found.cells <= 400


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=200, unique=True).map(sorted))
def test_every_real_number_falls_into_a_bin(values: list[float]) -> None:
    x = np.array(values)
    found = bins_from(x, np.ones(len(x), np.int64), whole=False)
    bins = found.bins
    low, high = (bins.edges[0], bins.edges[-1]) if bins.edges else (bins.low, bins.high)
    assert low <= x[0] and x[-1] <= high and found.cells <= 400


@given(st.floats(1e-6, 1e12))
def test_a_width_is_one_two_or_five_times_a_power_of_ten(x: float) -> None:
    width = round_up(x)
    digits = str(int(width * 10**12)).rstrip("0")
    assert digits in ("1", "2", "5") and x * 0.999999 <= width <= 2.6 * x


def test_zeros_and_top_codes_do_not_mix_with_amounts() -> None:
    gains = np.r_[0, np.arange(100, 40_000, 37), 99_999].astype(float)
    counts = np.r_[10_000, np.ones(len(gains) - 2), 200].astype(np.int64)
    found = bins_from(gains, counts, whole=True)
    edges = found.bins.edges
    assert edges[:2] == (0, 1) and found.spikes == (99_999.0,)


def test_a_top_code_next_to_the_others_has_a_cell_and_no_bin_that_reaches_beyond_it() -> None:
    ratio = np.arange(0.0, 502.0)
    counts = np.r_[np.ones(501), 400].astype(np.int64)
    found = bins_from(ratio, counts, whole=True)
    assert found.spikes == (501.0,) and 502 not in edges_of(found.bins, whole=True)


def test_a_long_tail_gets_wider_bins() -> None:
    income = np.unique(np.random.default_rng(1).lognormal(10.5, 0.8, 5_000).round())
    edges = np.array(bins_from(income, np.ones(len(income), np.int64), whole=True).bins.edges, float)
    widths = np.diff(edges)
    assert widths[-1] > 5 * widths[1] and len(edges) < 80


def test_roundings_beyond_chance_and_a_top_code_are_drafted(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    wage = rng.integers(200, 9_000, 8_000)
    wage = np.where(rng.random(8_000) < 0.3, wage // 100 * 100, wage)
    frame = pl.DataFrame({"wage": np.minimum(wage, 8_765), "plain": rng.integers(200, 9_000, 8_000)})
    found = column(frame, tmp_path, "wage")
    ((step, share),) = found.round_to
    assert step == 100 and abs(share - 0.3) < 0.03 and found.top == 8_765
    assert found.cell_labels[found.bin_count - 1] == "8765"
    assert any("Rounded beyond chance: 3" in note for note in found.notes)
    plain = column(frame, tmp_path, "plain")
    assert plain.round_to == () and plain.top is None


def test_values_on_a_grid_come_back_exactly() -> None:
    odd = bins_from(np.arange(17.0, 80, 5), np.ones(13, np.int64), whole=True)
    even = bins_from(np.arange(0.0, 2_000, 50), np.ones(40, np.int64), whole=True)
    assert (odd.decode, odd.unit) == ("midpoint", None) and (even.decode, even.unit) == (None, 50)


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**7), st.booleans())
@example(-100_002, 100_001, False)  # all of it below 0: the steps did not widen
def test_a_range_alone_gives_bins_that_hold_it(low: int, length: int, whole: bool) -> None:
    found = bins_between(low, low + length, whole=whole)
    edges = edges_of(found.bins, whole=whole)
    assert edges[0] <= low and low + length <= edges[-1] and found.cells <= 160


def test_the_outermost_bins_of_a_long_tail_hold_some_rows() -> None:
    """Noise makes rows in every bin: far out, bins with a row or none would have the column's mean to themselves."""
    rng = np.random.default_rng(6)
    lengths = np.sort(
        np.concatenate([np.rint(rng.normal(90, 15, 9_000)), [300, 310, 400, 450, 480, 800, 2500, 5220]])
    )
    values, counts = np.unique(lengths, return_counts=True)
    edges = bins_from(values, counts, whole=True).bins.edges
    assert edges is not None and float(edges[-1]) >= 5220  # type: ignore[arg-type]
    assert np.sum(lengths >= float(edges[-2])) >= 5  # type: ignore[arg-type]
