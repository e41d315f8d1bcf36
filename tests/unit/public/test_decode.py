"""Codes become values of the file's types, and the values have the codes they came from."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.public.schema import Bins, Column, Join, OrderRule, Schema, decode
from tests.unit.public.schema_strategies import a_column, a_schema


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(schema: Schema, n: int, seed: int = 1) -> dict[str, np.ndarray]:
    return {a: rng(seed).integers(0, schema.size([a]), n) for a in schema.attributes}


@given(data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=200)
def test_a_decoded_value_has_the_code_it_came_from(data: st.DataObject, seed: int) -> None:
    column = a_column(data.draw, "x")
    schema = Schema((column,))
    codes = np.repeat(np.arange(column.size), 5)
    frame = decode(schema, {"x": codes}, rng(seed))
    assert schema.coding.encode(frame, ["x"])["x"].tolist() == codes.tolist()


@given(data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=60)
def test_a_decoded_value_survives_a_text_file(data: st.DataObject, seed: int) -> None:
    column = a_column(data.draw, "x")
    schema = Schema((column,))
    codes = np.arange(column.size)
    frame = decode(schema, {"x": codes}, rng(seed))
    if column.kind == "date" and frame["x"].dtype == pl.Date:
        frame = frame.with_columns(pl.col("x").dt.strftime(column.format))
    text = frame.with_columns(pl.col("x").cast(pl.String))
    assert schema.coding.encode(text, ["x"])["x"].tolist() == codes.tolist()


@given(data=st.data(), seed=st.integers(0, 99))
def test_whole_records_keep_their_codes_and_the_order_of_the_file(data: st.DataObject, seed: int) -> None:
    schema = a_schema(data.draw)
    codes = drawn(schema, 50, seed)
    frame = decode(schema, codes, rng(seed))
    assert frame.columns == [c.name for c in schema.columns]
    back = schema.coding.encode(frame, schema.attributes)
    assert all((back[a] == codes[a]).all() for a in schema.attributes)


def test_columns_come_back_in_their_types() -> None:
    schema = Schema.loads("""
[columns.code]
kind = "categorical"
values = [3, 1]
missing = true
[columns.word]
kind = "ordered"
values = ["low", "high"]
[columns.age]
kind = "integer"
bins = { low = 16, high = 90, width = 1 }
missing = true
[columns.rate]
kind = "real"
bins = { low = 0, high = 1, width = 0.1 }
[columns.hired]
kind = "date"
bins = { unit = "month", low = 2000-01-01, high = 2020-12-31 }
[columns.boss]
kind = "yes-no"
missing = true
[columns.flag]
kind = "yes-no"
yes = ["1", "Y"]
no = ["0", "N"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 100, width = 10 }
special = { 999 = "not known" }
[columns.wage]
kind = "integer"
bins = { low = 0, high = 100, width = 10 }
special = { N = "none" }
""")
    frame = decode(schema, {a: np.zeros(2, np.int64) for a in schema.attributes}, rng())
    assert dict(frame.schema) == {
        "code": pl.Int64(),
        "word": pl.String(),
        "age": pl.Int64(),
        "rate": pl.Float64(),
        "hired": pl.Date(),
        "boss": pl.Boolean(),
        "flag": pl.Int64(),
        "pay": pl.Int64(),
        "wage": pl.String(),
    }
    last = decode(schema, {a: np.array([schema.size([a]) - 1]) for a in schema.attributes}, rng()).row(0, named=True)
    assert last["code"] is None and last["age"] is None and last["boss"] is None
    assert last["flag"] == 1 and last["pay"] == 999 and last["wage"] == "N"
    assert last["word"] == "high" and last["hired"].month == 12


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_values_never_leave_the_declared_bounds(kind: str) -> None:
    schema = Schema.loads(f'[columns.x]\nkind = "{kind}"\nbins = {{ low = -5, high = 5, width = 3 }}')
    codes = rng().integers(0, 4, 20_000)
    x = decode(schema, {"x": codes}, rng())["x"]
    assert x.min() >= -5 and x.max() < 5  # type: ignore[operator]
    edges = Schema.loads(f'[columns.x]\nkind = "{kind}"\nbins = {{ edges = [0, 10, 100] }}')
    x = decode(edges, {"x": np.ones(20_000, np.int64)}, rng())["x"]
    assert x.min() >= 10 and x.max() <= 100  # type: ignore[operator]
    assert kind == "real" or x.max() == 100, "the last edge is in the last bin"


def test_uniform_values_are_uniform_and_rounded_to_the_unit() -> None:
    schema = Schema.loads('[columns.x]\nkind = "integer"\nbins = { low = 0, high = 4000, width = 2000 }\nunit = 500')
    x = decode(schema, {"x": np.zeros(40_000, np.int64)}, rng())["x"].to_numpy()
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == [0, 500, 1000, 1500]
    assert np.abs(counts - 10_000).max() < 400
    price = Schema.loads('[columns.x]\nkind = "real"\nbins = { low = 0, high = 1, width = 0.5 }\nunit = 0.1')
    y = decode(price, {"x": np.zeros(1000, np.int64)}, rng())["x"]
    assert sorted(set(y)) == [0.0, 0.1, 0.2, 0.3, 0.4]


def test_midpoints_are_in_the_middle() -> None:
    schema = Schema.loads(
        '[columns.x]\nkind = "integer"\nbins = { low = 0, high = 4000, width = 2000 }\ndecode = "midpoint"'
    )
    assert decode(schema, {"x": np.array([0, 1])}, rng())["x"].to_list() == [1000, 3000]


def test_public_values_are_drawn_where_there_are_any() -> None:
    column = Column("x", "integer", bins=Bins(edges=(0, 10, 20)), decode="public", public_values=((3, 3, 7), ()))
    x = decode(Schema((column,)), {"x": np.repeat([0, 1], 3000)}, rng())["x"].to_numpy()
    values, counts = np.unique(x[:3000], return_counts=True)
    assert values.tolist() == [3, 7] and abs(counts[0] - 2000) < 150
    assert set(x[3000:]) == set(range(10, 21))


def test_declared_heaps_are_picked_as_often_as_declared_in_wide_and_in_narrow_bins() -> None:
    bins = "bins = {{ low = 0, high = 4000, width = {} }}\nround_to = {{ 100 = 0.5 }}"
    wide, narrow = (Schema.loads('[columns.x]\nkind = "integer"\n' + bins.format(w)) for w in (1000, 40))
    first = decode(wide, {"x": np.arange(40_000) % 4}, rng())
    again = decode(narrow, narrow.coding.encode(first, ["x"]), rng(2))  # two in five of these have a multiple of 100
    for x in (first["x"].to_numpy(), again["x"].to_numpy()):
        assert abs((x % 100 == 0).mean() - (0.5 + 0.5 * 0.01)) < 0.02
        assert len(np.unique(x)) > 3000, "other values too"


def test_a_top_code_has_a_bin_of_its_own_whatever_the_bins() -> None:
    for kind, top in (("integer", 99_999), ("real", 2884.61)):
        bins = f"bins = {{ low = 0, high = 100000, width = 2000 }}\ntop = {top}"
        schema = Schema.loads(f'[columns.x]\nkind = "{kind}"\n{bins}\nother = "?"')
        column = schema.column("x")
        x = decode(schema, {"x": np.repeat([column.bin_count - 2, column.bin_count - 1], 500)}, rng())["x"].cast(
            float
        )
        assert (x[:500] < top).all() and (x[500:] == top).all() and column.cell_labels[-2] == str(top)
        assert column.coded.encode(pl.Series([top, top * 2, top - 1])).tolist() == [
            column.bin_count - 1,
            column.bin_count - 1,
            column.bin_count - 2,
        ]
        assert Schema.loads(schema.dumps()) == schema


def test_a_number_with_a_code_of_its_own_is_not_picked_from_a_bin() -> None:
    column = Column("x", "integer", bins=Bins(low=0, high=10, width=5), special=(("0", "none"), ("7", "lucky")))
    codes = np.repeat([0, 1, 2, 3], 500)
    schema = Schema((column,))
    frame = decode(schema, {"x": codes}, rng())
    assert schema.coding.encode(frame, ["x"])["x"].tolist() == codes.tolist()


def test_joined_columns_are_split_and_only_allowed_combinations_come_out() -> None:
    parts = (Column("sex", "categorical", values=("F", "M")), Column("m", "categorical", values=("a", "b", "c")))
    pairs = (("M", "c"), ("F", "a"), ("F", "b"))
    schema = Schema(parts, (Join("both", ("sex", "m"), pairs),))
    assert schema.attributes == ("both",) and schema.cell_labels("both") == ("M, c", "F, a", "F, b")
    frame = decode(schema, {"both": np.array([0, 1, 2])}, rng())
    assert frame.rows() == list(pairs)
    every = pl.DataFrame([(s, m) for s in "FM" for m in "abc"], schema=["sex", "m"], orient="row")
    assert schema.coding.encode(every, ["both"])["both"].tolist() == [1, 2, 2, 0, 0, 0]


def test_a_determined_column_is_filled_in_through_a_chain() -> None:
    schema = Schema.loads("""
[columns.land]
kind = "categorical"
values = ["west", "east"]
determined_by = ["region"]
map = [["north", "west"], ["south", "east"]]
[columns.region]
kind = "categorical"
values = ["north", "south", "unknown"]
other = "unknown"
determined_by = ["state"]
map = [["OH", "north"], ["TX", "south"]]
[columns.state]
kind = "categorical"
values = ["OH", "TX", "MA"]
""")
    assert schema.attributes == ("state",)
    frame = decode(schema, {"state": np.array([0, 1, 2])}, rng())
    assert frame["region"].to_list() == ["north", "south", "unknown"]
    assert frame["land"].to_list() == ["west", "east", "east"]


def test_left_is_at_most_right_wherever_the_bins_allow_it() -> None:
    widths = {"a": 7, "b": 10, "c": 4}
    columns_ = tuple(Column(n, "integer", bins=Bins(low=0, high=40, width=w)) for n, w in widths.items())
    schema = Schema(columns_, rules=(OrderRule("a", "b"), OrderRule("b", "c"), OrderRule("a", "c")))
    codes = drawn(schema, 5000)
    frame = decode(schema, codes, rng())
    a, b, c = (frame[n].to_numpy() for n in "abc")
    low = {n: schema.column(n).cuts[codes[n]] for n in "abc"}
    high = {n: schema.column(n).cuts[codes[n] + 1] - 1 for n in "abc"}
    can = (low["a"] <= high["b"]) & (np.maximum(low["a"], low["b"]) <= high["c"])
    assert can.sum() > 1000 and ((a <= b) & (b <= c) & (a <= c))[can].all()
    back = schema.coding.encode(frame, ["a", "b", "c"])
    assert all((back[n] == codes[n]).all() for n in "abc")


def test_dates_keep_their_order_within_a_month() -> None:
    bins = Bins(unit="month", low=date(2000, 1, 1), high=date(2000, 3, 31))
    schema = Schema(
        (Column("born", "date", bins=bins), Column("hired", "date", bins=bins, missing=True)),
        rules=(OrderRule("born", "hired"),),
    )
    codes = {"born": np.ones(300, np.int64), "hired": np.repeat([1, 2, 3], 100)}
    frame = decode(schema, codes, rng())
    assert (frame["born"] <= frame["hired"])[:200].all()
    assert frame["hired"][200:].null_count() == 100


def test_only_some_columns_can_be_asked_for() -> None:
    schema = Schema.loads('[columns.a]\nkind = "yes-no"\n[columns.b]\nkind = "yes-no"')
    assert decode(schema, {"b": np.array([1])}, rng(), columns=["b"]).rows() == [(True,)]
    with pytest.raises(SchemaError, match="There are no codes for 'a'"):
        decode(schema, {"b": np.array([1])}, rng())


def test_a_code_beyond_the_schema_is_refused() -> None:
    schema = Schema.loads('[columns.a]\nkind = "yes-no"')
    with pytest.raises(SchemaError, match="2 codes for it"):
        decode(schema, {"a": np.array([2])}, rng())


def test_no_rows_are_no_rows() -> None:
    schema = Schema.loads(
        '[columns.a]\nkind = "integer"\nbins = { low = 0, high = 9, width = 1 }\nspecial = { N = "n" }'
    )
    assert decode(schema, {"a": np.array([], np.uint8)}, rng()).shape == (0, 1)


def test_yes_and_no_as_numbers_stay_numbers() -> None:
    """A column of 0 and 1 would else be one of texts in every file but CSV; with a word beside them it has to be."""
    columns = '[columns.a]\nkind = "yes-no"\nyes = ["1", "Y"]\nno = ["0"]\nmissing = true\n'
    schema = Schema.loads(columns + '[columns.b]\nkind = "yes-no"\nyes = ["1"]\nno = ["0"]\nother = "not asked"')
    made = decode(schema, {"a": np.array([0, 1, 2]), "b": np.array([0, 1, 2])}, np.random.default_rng(0))
    assert made["a"].dtype == pl.Int64 and made["a"].to_list() == [0, 1, None]
    assert made["b"].to_list() == ["0", "1", "not asked"]
    assert schema.coding.encode(made, ["a", "b"])["a"].tolist() == [0, 1, 2]
