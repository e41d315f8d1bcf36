"""The compiled loops, at the places where counters could overflow or rows be lost."""

import numpy as np
import pytest

from hedgerow.counting.kernel import CHUNK, NARROW, TILE, count_tile, count_wide
from hedgerow.public.coding import Codes


def counted(rows: Codes, strides: list[int], cells: int) -> np.ndarray:
    terms = np.array([(line, stride) for line, stride in enumerate(strides)], np.int64).reshape(-1, 2)
    tally = np.zeros(cells, np.int64)
    count_tile(rows, terms, np.array([0, len(terms)]), np.array([0, cells]), tally)
    return tally


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_a_full_tile_of_equal_rows_does_not_overflow(kind: type[np.unsignedinteger]) -> None:
    assert counted(np.ones((1, TILE), kind), [1], 2).tolist() == [0, TILE]


def test_a_histogram_takes_at_most_half_a_tile() -> None:
    assert TILE % CHUNK == 0 and CHUNK % 4 == 0
    assert TILE // 2 < 1 << 16


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 2, TILE - 1, TILE])
def test_every_row_is_counted_once_whatever_their_number(rows: int) -> None:
    codes = np.arange(rows, dtype=np.uint16) % np.uint16(7)
    assert counted(codes[None], [1], 7).tolist() == np.bincount(codes, minlength=7).tolist()


def test_the_last_of_65536_cells_is_reached() -> None:
    rows = np.full((2, 10), 255, np.uint8)
    tally = counted(rows, [256, 1], NARROW)
    assert tally[-1] == 10 and tally.sum() == 10


def test_counts_are_added_to_what_is_there_beyond_32_bits() -> None:
    tally = np.full(2, 2**40, np.int64)
    count_tile(np.zeros((1, 5), np.uint8), np.array([[0, 1]]), np.array([0, 1]), np.array([0, 2]), tally)
    count_wide(np.array([1, 1]), tally)
    assert tally.tolist() == [2**40 + 5, 2**40 + 2]
