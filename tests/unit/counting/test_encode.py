"""Codes by distinct values are the codes of the plain rule, whatever stands in a column and however it is cut."""

from functools import partial
from math import inf, nextafter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.counting import encode as module
from hedgerow.counting.encode import Lookup, distinct, encode
from hedgerow.counting.parts import filled, rooms
from hedgerow.public.coding import CodedColumn, as_text, code_type
from tests.unit.counting.worlds import World, worlds

LONG = [f"a label that does not fit twelve bytes, {i}" for i in range(7)]
SEX = CodedColumn("sex", "text", 3, missing=2, other=2, values=("F", "M"), codes=(0, 1))


def coded(rule: CodedColumn, *batches: pl.Series) -> list[list[int]]:
    known, out = Lookup(partial(encode, rule)), []
    for batch in batches:
        line = np.empty(len(batch), code_type(rule.size))
        known.writer(batch)(0, 0, line)
        out.append(line.tolist())
    return out


@settings(max_examples=150)
@given(world=worlds(), cut=st.integers(0, 12))
def test_codes_are_those_of_the_plain_rule_batch_by_batch(world: World, cut: int) -> None:
    for rule in world.coding.columns:
        column = world.table.with_columns(pl.col(pl.Datetime).cast(pl.Date))[rule.name]
        for batches in ([column[:cut], column[cut:]], [pl.concat([column, column], rechunk=False), column.reverse()]):
            assert coded(rule, *batches) == [rule.encode(b).tolist() for b in batches], rule


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(LONG * 50 + ["F"]),
        pl.Series([None, "", " F", *LONG] * 9),
        pl.Series(["F", "M", "x"] * 9).set(pl.Series([True, False, False] * 9), None),  # nulls over a text
        pl.concat([pl.Series(LONG), pl.Series(["F", *LONG])], rechunk=False),
        pl.Series(["F", *LONG, "M"] * 5)[3:17],
        pl.Series([str(i) for i in range(3000)]),
        pl.Series([0, -3, None, 4000], dtype=pl.Int16),
        pl.Series([0, 2**63, 2**64 - 1], dtype=pl.UInt64),
        pl.Series([2**62, -(2**62), 7, None]),
        pl.Series([2**126, 1], dtype=pl.Int128),
        pl.Series([True, None, False]),
        pl.Series([1.0, float("nan"), None, -0.0, 0.0, 2.5] * 4),
        pl.Series([None, None], dtype=pl.Int64),
        pl.Series([], dtype=pl.String),
        pl.Series(["F", "M"], dtype=pl.Categorical),
    ],
    ids=lambda c: f"{c.dtype}-{len(c)}",
)
def test_a_column_by_its_distinct_values_is_the_column(column: pl.Series) -> None:
    found = distinct(column)
    if found is not None:
        back = found.values.gather((found.place - found.low).astype(np.uint32))
        assert as_text(back).to_list() == as_text(column).to_list()
    rules = [SEX, CodedColumn("x", "text", 4, 3, 2, ("0", "7", "F"), (0, 1, 1))]
    rules += [CodedColumn("x", "text", 4, 3, 2, ("None", "7", "-3"), (0, 1, 1))]
    rules += [CodedColumn("x", "number", 5, 4, 3, ("7",), (0,), edges=(-1.0, 0.0, 2.5), bins=(1, 2, 0, 1))]
    for rule in rules:
        assert coded(rule, column) == [rule.encode(column).tolist()]


def test_dictionaries_are_found_so_that_few_values_are_coded() -> None:
    """What makes it fast: of a column of labels, of whole numbers and of days only the distinct values are coded."""
    seen = list[int]()

    def function(values: pl.Series) -> Any:
        seen.append(len(values))
        return np.zeros(len(values), np.uint8)

    for column, most in (
        (pl.Series(["F", "M", None] * 1000), 3),
        (pl.Series(LONG).gather(np.arange(3000) % 7), 7),
        (pl.Series(np.arange(3000) % 90), 90),
        (pl.Series(np.arange(3000) % 90).cast(pl.Int32).cast(pl.Date), 90),
        (pl.Series((np.arange(3000) % 90) / 2), 90),
    ):
        known, line = Lookup(function), np.empty(3000, np.uint8)
        for _ in range(3):
            known.writer(column)(0, 0, line)
        assert sum(seen) <= most, "a value was coded more than once"
        seen.clear()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KNOWN", 5)
    batches = [pl.Series([f"{i}", f"{i + 1}", "F"]) for i in range(30)]
    assert coded(SEX, *batches) == [SEX.encode(b).tolist() for b in batches]


@settings(max_examples=80)
@given(
    edges=st.lists(st.floats(allow_nan=False), min_size=1, max_size=9, unique=True).map(sorted),
    numbers=st.lists(st.floats() | st.sampled_from([0.0, -0.0, 1e308, -1e308]), max_size=30),
)
def test_bins_are_exact_at_every_edge(edges: list[float], numbers: list[float]) -> None:
    rule = CodedColumn("x", "number", len(edges) + 2, len(edges) + 1, len(edges) + 1, edges=tuple(edges))
    near = [x for e in edges for x in (e, nextafter(e, -inf), nextafter(e, inf))]
    column = pl.Series([*numbers, *near], dtype=pl.Float64)
    assert encode(rule, column).tolist() == rule.encode(column).tolist()


def test_whole_numbers_are_looked_up_wherever_batches_lie() -> None:
    asked = list[int]()

    def rule(values: pl.Series) -> np.ndarray:
        asked.extend(values.to_list())
        return np.asarray((values % 7).to_numpy(), np.uint8)

    lookup = Lookup(rule)
    for low, high in ((10, 20), (12, 18), (-5, 15), (3000, 3010), (-(2**62), 2**62), (0, 30), (2**63 - 9, 2**63 - 1)):
        column = pl.Series([low + (high - low) * i // 49 for i in range(50)], dtype=pl.Int64)
        line = np.empty(len(column), np.uint8)
        lookup.writer(column)(0, 0, line)
        assert line.tolist() == (column % 7).to_list(), (low, high)
    lookup.writer(column.clear())(0, 0, line[:0])  # a batch may be empty
    near = [v for v in asked if -5 <= v <= 3010]
    assert len(near) == len(set(near)) >= 47, "each is worked out once"


def test_batches_have_rooms_of_their_own_and_an_empty_one_needs_none() -> None:
    sizes = [0, 5, 0, 1 << 20, 3, 2]
    given_rooms = list(
        rooms([pl.DataFrame({"x": range(n)}) for n in sizes], 1 << 20, {"x": np.uint8, "y": np.uint16})
    )
    assert all(len(line) >= at + len(batch) for batch, room, at in given_rooms for line in room.values())
    parts = list(filled((room, len(batch)) for batch, room, _ in given_rooms))
    assert [{n: len(line) for n, line in part.items()} for part in parts] == [
        {"x": n, "y": n} for n in (5, 1 << 20, 5)
    ]
