"""Every value of every type gets a code, by a fixed rule that looks at that value alone."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.public.coding import CodedColumn, Coding, JoinedColumn, code_type
from hedgerow.public.schema import Schema
from tests.unit.public.schema_strategies import a_column

STRANGE: list[pl.Series] = [
    pl.Series([1, None, 9]),
    pl.Series([1, None, 9], dtype=pl.Int8),
    pl.Series([2**64 - 1, None, 9], dtype=pl.UInt64),
    pl.Series([10**30, 9], dtype=pl.Int128),
    pl.Series([1.5, None, float("nan"), float("inf"), -float("inf"), 9.0, 1e300, -0.0]),
    pl.Series([1.5, 9], dtype=pl.Float32),
    pl.Series([Decimal("1.50"), None, Decimal("9.00")]),
    pl.Series([True, None, False]),
    pl.Series(["a", None, "", " N ", "9 ", "12", "  ", "nan", "inf", "9999-99-99", "\0", "é" * 99]),
    pl.Series(["a", None, "N"], dtype=pl.Categorical),
    pl.Series(["a", None, "N"], dtype=pl.Enum(["a", "N"])),
    pl.Series([date(2020, 1, 1), None, date(1, 1, 1)]),
    pl.Series([datetime(2020, 1, 1, 5), None]),
    pl.Series([datetime(2020, 1, 1, 5)]).dt.replace_time_zone("UTC"),
    pl.Series([datetime(2020, 1, 1, 5)], dtype=pl.Datetime("ns")),
    pl.Series([time(1, 2), None]),
    pl.Series([timedelta(1), None]),
    pl.Series([[1, 2], None, []]),
    pl.Series([[1, 2], None], dtype=pl.Array(pl.Int64, 2)),
    pl.Series([{"a": 1}, None]),
    pl.Series([b"\xff", None, b"N"]),
    pl.Series([object(), None], dtype=pl.Object),
    pl.Series([None, None]),
    pl.Series([], dtype=pl.String),
    pl.Series([], dtype=pl.Null),
    pl.Series([], dtype=pl.List(pl.Int64)),
]
RULES = [
    CodedColumn("x", "number", 6, 5, 4, ("9", "N"), (3, 4), (0.0, 10.0)),
    CodedColumn("x", "date", 6, 5, 4, ("9", "N"), (3, 4), (0.0, 10.0)),
    CodedColumn("x", "text", 6, 5, 4, ("9", "N"), (3, 4)),
    CodedColumn("x", "text", 6, 5, 4, ("9", "N"), (3, 4), prefix=1),
    CodedColumn("x", "text", 1, 0, 0),
    CodedColumn("x", "number", 1, 0, 0, edges=()),
]


@pytest.mark.parametrize("series", STRANGE, ids=lambda s: str(s.dtype))
def test_no_value_of_any_type_fails(series: pl.Series) -> None:
    for rule in RULES:
        codes = rule.encode(series)
        assert codes.shape == (len(series),) and codes.dtype == np.uint8 and (codes < rule.size).all()
        nulls = series.is_null().to_numpy()
        assert (codes[nulls] == rule.missing).all()


@given(data=st.data(), texts=st.lists(st.text(max_size=8) | st.sampled_from(["1", " -9", "N ", "1990-02-03"])))
@settings(max_examples=60)
def test_any_text_gets_a_code_and_rows_do_not_matter_to_each_other(data: st.DataObject, texts: list[str]) -> None:
    rule = a_column(data.draw, "x").coded
    together = rule.encode(pl.Series(texts, dtype=pl.String))
    alone = [int(rule.encode(pl.Series([t], dtype=pl.String))[0]) for t in texts]
    assert together.tolist() == alone and all(c < rule.size for c in alone)


@given(numbers=st.lists(st.floats() | st.integers(-(2**70), 2**70).map(float)))
@settings(max_examples=60)
def test_any_number_gets_a_code(numbers: list[float]) -> None:
    for rule in RULES:
        assert (rule.encode(pl.Series(numbers, dtype=pl.Float64)) < rule.size).all()


def coded(text: str, values: list[Any], dtype: Any = None) -> list[str]:
    """The labels of the cells that the values of one column are coded into."""
    schema = Schema.loads("[columns.x]\n" + text)
    codes = schema.coding.encode(pl.DataFrame({"x": pl.Series(values, dtype=dtype, strict=False)}), ["x"])["x"]
    return [schema.cell_labels("x")[c] for c in codes]


LISTED = 'kind = "categorical"\nvalues = ["a", "b"]\n'
BINNED = 'kind = "integer"\nbins = { low = 0, high = 20, width = 10 }\n'


@pytest.mark.parametrize(
    ("declared", "unlisted", "missing"),
    [
        ("", "b", "b"),
        ("missing = true", "missing", "missing"),
        ('other = "a"', "a", "a"),
        ('other = "rest"', "rest", "rest"),
        ('other = "rest"\nmissing = true', "rest", "missing"),
        ('other = "a"\nmissing = true\nmissing_values = ["?"]', "a", "missing"),
    ],
)
def test_what_is_not_listed_and_what_is_missing_go_where_the_fixed_rule_says(
    declared: str, unlisted: str, missing: str
) -> None:
    assert coded(LISTED + declared, ["a", "b", "zzz", None, "", "  "]) == ["a", "b", unlisted, *[missing] * 3]
    last = {"b": "10 to 19", "a": "0 to 9"}
    if 'other = "a"' not in declared:
        got = coded(BINNED + declared, ["5", "15", "zzz", None, "", "  "])
        assert got == ["0 to 9", "10 to 19", last.get(unlisted, unlisted), *[last.get(missing, missing)] * 3]


def test_texts_that_mean_missing_are_missing() -> None:
    assert coded(LISTED + 'missing = true\nmissing_values = ["NA", "."]', ["NA", ". ", "a"]) == [
        "missing",
        "missing",
        "a",
    ]
    assert coded(BINNED + 'missing = true\nmissing_values = ["-9"]', [-9, 5, None]) == [
        "missing",
        "0 to 9",
        "missing",
    ]


def test_numbers_are_clamped_into_the_outer_bins() -> None:
    values = [-(10**9), -1, 0, 9, 9.99, 10, 19, 20, 10**9, float("inf"), -float("inf")]
    low, high = "0 to 9", "10 to 19"
    assert coded(BINNED, values, pl.Float64) == [low] * 5 + [high] * 5 + [low]


def test_one_bin_for_each_whole_number_includes_both_ends() -> None:
    age = 'kind = "integer"\nbins = { low = 16, high = 90, width = 1 }'
    assert coded(age, [15, 16, 17, 90, 91]) == ["16", "16", "17", "90", "90"]


def test_a_whole_number_is_the_same_label_in_every_type() -> None:
    listed = 'kind = "categorical"\nvalues = ["1", "2"]\nother = "rest"'
    for dtype in (pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2), pl.String, pl.Categorical):
        values = ["1", "2", "3"] if dtype in (pl.String, pl.Categorical) else [1, 2, 3]
        assert coded(listed, values, dtype) == ["1", "2", "rest"]
    assert coded(listed, ["1.0", "01", " 2", "2.00"]) == ["1", "rest", "2", "rest"]


def test_specials_have_their_own_cell_as_number_or_text() -> None:
    special = BINNED + 'special = { N = "none", 999 = "refused" }'
    assert coded(special, ["N", "999", " 999 ", "999.0", "1e9"]) == ["none", *["refused"] * 3, "10 to 19"]
    assert coded(special, [999, 5]) == ["refused", "0 to 9"]
    assert coded(special, [999.0, 998.5]) == ["refused", "10 to 19"]


def test_hierarchical_codes_are_cut_to_their_prefix() -> None:
    cut = 'kind = "categorical"\nvalues = ["0101", "0102", "2210"]\nprefix = 2\nother = "rest"'
    assert coded(cut, ["0199", "01", "22", "2", "99", " 0101"]) == ["01", "01", "22", "rest", "rest", "01"]
    assert coded(cut, [2210, 22, 101]) == ["22", "22", "rest"]


def test_yes_and_no_are_read_without_case() -> None:
    assert coded('kind = "yes-no"', ["YES", "yEs", "t", "1", "No", "f", "FALSE", "0"]) == ["yes"] * 4 + ["no"] * 4
    assert coded('kind = "yes-no"', [True, False]) == ["yes", "no"]
    assert coded('kind = "yes-no"', [1.0, 0.0]) == ["yes", "no"]
    given = 'kind = "yes-no"\nyes = ["J"]\nno = ["N"]\nmissing = true'
    assert coded(given, ["J", "N", "j", None]) == ["yes", "no", "missing", "missing"]


def test_dates_are_read_in_their_format_and_from_date_types() -> None:
    month = 'kind = "date"\nmissing = true\nbins = { unit = "month", low = 2000-01-01, high = 2000-03-31 }\n'
    assert coded(month, ["2000-02-29", "1999-01-01", "2030-01-01", "x"]) == [
        "2000-02",
        "2000-01",
        "2000-03",
        "missing",
    ]
    assert coded(month, [date(2000, 2, 1), None]) == ["2000-02", "missing"]
    assert coded(month, [datetime(2000, 2, 29, 23, 59)]) == ["2000-02"]
    assert coded(month + 'format = "%d/%m/%Y"', ["29/02/2000"]) == ["2000-02"]
    assert coded(month + 'format = "%Y%m"', [200002, 200003]) == ["2000-02", "2000-03"]


@pytest.mark.parametrize("n", [1, 255, 256, 257, 65_536, 65_537])
def test_codes_are_right_at_the_limits_of_the_small_types(n: int) -> None:
    values = tuple(f"v{i}" for i in range(n))
    rule = CodedColumn("x", "text", n + 1, missing=n, other=n, values=values, codes=tuple(range(n)))
    codes = rule.encode(pl.Series([*values, "?", None]))
    assert codes.tolist() == [*range(n), n, n]
    assert codes.dtype == code_type(n + 1) == np.min_scalar_type(n)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9, unique=True), st.lists(st.floats(), max_size=30))
@settings(max_examples=60)
def test_a_code_counts_the_edges_at_or_below(edges: list[float], numbers: list[float]) -> None:
    edges = sorted(edges)
    rule = CodedColumn("x", "number", len(edges) + 2, len(edges) + 1, len(edges) + 1, edges=tuple(edges))
    want = [len(edges) + 1 if x != x else sum(e <= x for e in edges) for x in numbers]
    assert rule.encode(pl.Series(numbers, dtype=pl.Float64)).tolist() == want


def test_the_columns_and_cells_of_a_question_are_known_before_counting() -> None:
    sex = CodedColumn("sex", "text", 2, 1, 1, ("F", "M"), (0, 1))
    race = CodedColumn("race", "text", 3, 2, 2, ("A", "B", "C"), (0, 1, 2))
    both = JoinedColumn("both", ("sex", "race"), (2, 3), (0, 1, 2, 3, 3, 0), 4)
    coding = Coding((sex, race), (both,))
    assert coding.shape(["race", "both"]) == (3, 4) and coding.cells(["race", "both"]) == 12
    assert coding.cells([]) == 1
    assert coding.needs(["both", "sex"]) == ("sex", "race")
    frame = pl.DataFrame({"race": ["A", "C", "B"], "sex": ["F", "M", "M"]})
    codes = coding.encode(frame, ["both", "race"])
    assert {n: c.tolist() for n, c in codes.items()} == {"both": [0, 0, 3], "race": [0, 2, 1]}
    with pytest.raises(SchemaError, match="There is no column 'pay'. The schema has: sex, race, both."):
        coding.shape(["pay"])
