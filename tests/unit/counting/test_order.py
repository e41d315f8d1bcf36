"""Whose rows are whose, and which of them count: compiled loops give what the plain rule gives."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.counting.order import first_rows, within_cap
from hedgerow.public.coding import person_cap

NUMBERS = st.sampled_from([0, 1, -1, 7, 1 << 40, 3 << 60, (1 << 63) - 1, -(1 << 63)])


@given(ids=st.lists(st.none() | NUMBERS, max_size=40), rows=st.integers(1, 4), text=st.booleans())
def test_rows_are_capped_by_the_plain_rule_however_people_are_told_apart(
    ids: list[int | None], rows: int, text: bool
) -> None:
    people = pl.Series(ids, dtype=pl.Int64).cast(pl.String if text else pl.Int64)
    first = first_rows(people)
    assert first.to_list() == [ids.index(one) for one in ids]
    named = first.set(people.is_null(), None)
    assert within_cap(named, rows).to_list() == person_cap(people, rows).to_list()


@pytest.mark.parametrize("step", [1, 1 << 20, 1 << 40, -3], ids=["next", "apart", "far apart", "falling"])
def test_many_people_whose_numbers_follow_a_rule_are_told_apart(step: int) -> None:
    ids = np.repeat(np.arange(50_000, dtype=np.int64) * step, 2)
    assert np.array_equal(first_rows(pl.Series(ids)).to_numpy(), np.arange(100_000) // 2 * 2)
