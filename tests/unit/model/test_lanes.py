"""Lines that are worked on four numbers at once come out as those that are worked on one by one, to the last bit."""

from typing import Any

import numpy as np
import pytest

from hedgerow.counting.kernel import compiled
from hedgerow.model.trees.lanes import (
    add_line,
    curve_line,
    lowest_bit,
    scale_line,
    settle_line,
    step_line,
    sum_line,
)

_J, _I = np.uint64(3), np.uint64(2)


@compiled
def _adds(to, row, n):  # type: ignore[no-untyped-def]  # annotations would be checked
    add_line(to, _I, row, _J, n)


@compiled
def _steps(to, row, n):  # type: ignore[no-untyped-def]
    step_line(to, _I, row, _J, n)


@compiled
def _scales(row, factor, n):  # type: ignore[no-untyped-def]
    scale_line(row, _J, factor, _I, n)


@compiled
def _settles(row, one, many, fitted, spread, n):  # type: ignore[no-untyped-def]
    settle_line(row, _J, one, many, fitted, spread, _I, n)


@compiled
def _sums(row, many, fitted, spread, n):  # type: ignore[no-untyped-def]
    sum_line(row, _J, many, fitted, spread, _I, n)


@compiled
def _curves(to, rest, label, own, n):  # type: ignore[no-untyped-def]
    curve_line(to, _I, rest, _J, label, own, n)


@compiled
def _lowest(bits):  # type: ignore[no-untyped-def]
    return lowest_bit(bits)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 10, 15, 16, 17, 19, 20, 23, 39, 143])
def test_a_line_is_what_its_numbers_are_one_by_one(n: int) -> None:
    rng = np.random.default_rng(n)
    row, steps = rng.random((2, n + 9)).astype(np.float32)
    factor, fitted, spread = rng.random((3, n + 9))
    here, there, many, one = slice(3, 3 + n), slice(2, 2 + n), 3.0, 1 / 0.7
    line, wide = np.uint64(n), row.astype(np.float64)

    def with_line(old: Any, place: slice, numbers: Any) -> Any:
        new = old.copy()
        new[place] = numbers
        return new

    to = fitted.copy()
    _adds(to, row, line)
    assert np.array_equal(to, with_line(fitted, there, fitted[there] + wide[here]))
    score = steps.copy()
    _steps(score, row, line)
    assert np.array_equal(score, with_line(steps, there, steps[there] + row[here]))
    scaled = row.copy()
    _scales(scaled, factor, line)
    assert np.array_equal(scaled, with_line(row, here, (wide[here] * factor[there]).astype(np.float32)))
    settled, up, apart = row.copy(), fitted.copy(), spread.copy()
    _settles(settled, one, many, up, apart, line)
    made = with_line(row, here, (wide[here] * one).astype(np.float32))
    assert np.array_equal(settled, made)
    again, sums, spreads = made.copy(), fitted.copy(), spread.copy()
    _sums(again, many, sums, spreads, line)
    s = made[here].astype(np.float64)
    assert np.array_equal(again, made)
    for found in (up, sums):
        assert np.array_equal(found, with_line(fitted, there, fitted[there] + many * s))
    for found in (apart, spreads):
        assert np.array_equal(found, with_line(spread, there, spread[there] + many * (s * (1 - s))))
    for label in {0, n // 2, max(n - 1, 0)} if n else ():
        own, curved = np.float32(0.25), spread.copy()
        _curves(curved, -row, np.uint64(label), own, line)
        s = with_line(row[here], slice(label, label + 1), own).astype(np.float64)
        assert np.array_equal(curved, with_line(spread, there, spread[there] + s * (1 - s)))


def test_the_lowest_bit() -> None:
    assert [int(_lowest(np.uint32(b))) for b in (1, 12, 1 << 31)] == [0, 2, 31]
