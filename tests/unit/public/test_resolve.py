"""What a schema takes from a public table becomes part of it, and it then stands on its own."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import SchemaError, TableMismatch
from hedgerow.public.frames import open_public
from hedgerow.public.schema import Bins, Collapse, Column, Join, OrderRule, Schema, decode, violations

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the shared public tables are not on this machine")


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def resolved(column: Column, values: object) -> Column:
    schema = Schema((column,)).resolved(pl.DataFrame({column.name: values}, strict=False))
    assert schema.is_resolved and Schema.loads(schema.dumps()) == schema
    return schema.columns[0]


def shares(column: Column, values: Any) -> list[float]:
    codes = column.coded.encode(pl.Series(values, strict=False))
    counts: list[int] = np.bincount(codes, minlength=column.size).tolist()
    return [round(n / len(codes), 2) for n in counts]


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_quantile_bins_hold_about_equal_shares(kind: str) -> None:
    values = rng().lognormal(8, 1, 20_000)
    column = resolved(Column("x", kind, bins=Bins(quantiles=10)), values)  # type: ignore[arg-type]
    assert column.bin_count == 10
    assert np.abs(np.array(shares(column, values)) - 0.1).max() <= 0.011
    assert column.cuts[0] <= values.min() and column.cuts[-1] >= np.floor(values.max())


@pytest.mark.parametrize("kind", ["integer", "real"])
def test_a_value_as_frequent_as_a_bin_gets_one_of_its_own(kind: str) -> None:
    values = np.concatenate([np.zeros(9000), rng().integers(1, 999, 6000), np.full(5000, 9999)])
    column = resolved(Column("x", kind, bins=Bins(quantiles=10)), values)  # type: ignore[arg-type]
    assert shares(column, values)[0] == 0.45 and shares(column, values)[-1] == 0.25
    frame = decode(Schema((column,)), {"x": np.array([0, column.size - 1] * 50)}, rng())
    assert set(frame["x"]) == {0, 9999}


def test_one_distinct_value_is_one_bin() -> None:
    for kind in ("integer", "real"):
        column = resolved(Column("x", kind, bins=Bins(quantiles=4)), [7, 7, 7])
        assert column.size == 1 and decode(Schema((column,)), {"x": np.array([0])}, rng())["x"].to_list() == [7]


def test_quantiles_leave_out_what_is_missing_special_or_no_number() -> None:
    column = Column("x", "integer", bins=Bins(quantiles=2), special=(("-1", "none"), ("N", "none")), missing=True)
    done = resolved(column, ["-1", "N", None, "", "zz", "1", "2", "3", "4", "inf"])
    assert done.bins is not None and done.bins.edges == (1, 3, 4)


def test_quantiles_of_dates_are_dates() -> None:
    days = pl.date_range(date(2000, 1, 1), date(2003, 12, 31), eager=True)
    column = resolved(Column("x", "date", bins=Bins(quantiles=4)), days)
    assert column.bins is not None and column.bins.edges[0] == date(2000, 1, 1)
    assert column.bins.edges[-1] == date(2003, 12, 31) and shares(column, days) == [0.25] * 4


@given(st.lists(st.integers(-50, 50) | st.sampled_from([0, 7]), min_size=1, max_size=80), st.integers(2, 12))
@settings(max_examples=100)
def test_any_public_numbers_give_bins_that_hold_them(values: list[int], n: int) -> None:
    for special in ((), (("0", "zero"), ("1", "one"))):
        if all(str(v) in dict(special) for v in values):
            continue
        column = Column("x", "integer", bins=Bins(quantiles=n), special=special, decode="public")
        done = resolved(column, values)
        codes = done.coded.encode(pl.Series(values))
        assert done.bin_count <= n + 1
        for value, code in zip(values, codes.tolist(), strict=True):
            assert code >= done.bin_count or done.cuts[code] <= value < done.cuts[code + 1]


def test_rare_labels_are_collapsed_into_other() -> None:
    values = ["a"] * 5 + ["b"] * 2 + ["c"] * 3 + [None] * 9 + ["?"] * 9
    column = Column("x", "ordered", values=("a", "b", "c", "d"), labels=("A", "B", "C", "D"))
    done = resolved(
        Column("x", "ordered", values=column.values, labels=column.labels, collapse=Collapse(3, "rest")), values
    )
    assert (done.values, done.labels, done.other) == (("a", "c"), ("A", "C"), "rest")
    assert done.cell_labels == ("A", "C", "rest")
    assert done.coded.encode(pl.Series(["b", "d", "?", "c"])).tolist() == [2, 2, 2, 1]


def test_collapse_keeps_the_cell_it_collapses_into_also_when_nothing_is_rare() -> None:
    values = ["a"] * 5 + ["b"] * 2
    done = resolved(Column("x", "categorical", values=("a", "b", "c"), collapse=Collapse(3, "c")), values)
    assert (done.values, done.other) == (("a", "c"), "c")
    done = resolved(Column("x", "categorical", values=("a", "b"), collapse=Collapse(2, "rest")), values)
    assert (done.values, done.other) == (("a", "b"), "rest")
    done = resolved(Column("x", "categorical", values=("a", "b"), collapse=Collapse(99, "rest")), values)
    assert done.cell_labels == ("rest",)


def test_joins_keep_the_combinations_of_the_public_table() -> None:
    columns = (
        Column("s", "categorical", values=("F", "M"), missing=True),
        Column("m", "categorical", values=("a", "b")),
    )
    public = pl.DataFrame({"s": ["F", "M", None, "F"], "m": ["a", "b", "b", "a"]})
    schema = Schema(columns, (Join("sm", ("s", "m")),)).resolved(public)
    assert schema.joined[0].combinations == (("F", "a"), ("M", "b"), ("", "b"))
    assert schema.size(["sm"]) == 3 and Schema.loads(schema.dumps()) == schema


def test_determined_columns_take_their_most_frequent_value() -> None:
    columns = (
        Column("state", "categorical", values=("OH", "TX", "MA"), missing=True),
        Column("year", "integer", bins=Bins(low=2000, high=2001, width=1)),
        Column("region", "categorical", values=("north", "south"), determined_by=("state", "year")),
    )
    public = pl.DataFrame(
        {
            "state": ["OH", "OH", "OH", "TX", None],
            "year": [2000, 2000, 2000, 2001, 2001],
            "region": ["south", "north", "north", "south", "north"],
        }
    )
    schema = Schema(columns).resolved(public)
    expected = (("OH", "2000", "north"), ("TX", "2001", "south"), ("", "2001", "north"))
    assert schema.column("region").map == expected
    assert Schema.loads(schema.dumps()) == schema
    codes = {"state": np.array([0, 1, 3, 2]), "year": np.array([0, 1, 1, 0])}
    assert decode(schema, codes, rng())["region"].to_list() == ["north", "south", "north", "south"]


def test_public_values_are_kept_evenly_in_rank_and_rounded_to_the_unit() -> None:
    values = np.arange(0, 2000)
    column = Column("x", "integer", bins=Bins(low=0, high=4000, width=1000), unit=10, decode="public")
    done = resolved(column, values)
    assert done.public_values is not None
    assert [len(v) for v in done.public_values] == [100, 100, 0, 0]
    assert all(v % 10 == 0 for v in done.public_values[0])  # type: ignore[operator]
    assert abs(np.mean(done.public_values[1]) - 1499.5) < 5  # type: ignore[arg-type]


def test_within_bins_a_job_picks_values_of_its_public_table_where_nothing_else_is_said() -> None:
    wide, most = Bins(low=0, high=4000, width=1000), [100] * 80 + [*range(20)] + [1234] * 4
    columns = (
        Column("left", "integer", bins=wide),
        Column("said", "integer", bins=wide, decode="uniform"),
        Column("given", "integer", bins=wide),
        Column("single", "integer", bins=Bins(low=0, high=4000, width=1)),
        Column("absent", "integer", bins=wide),
    )
    public = open_public(pl.DataFrame({c.name: most for c in columns[:4]}))
    done = Schema(columns).completed(public, given=("given",))
    assert [c.decode for c in done.columns] == ["public", "uniform", None, None, None]
    kept = done.columns[0].public_values
    assert kept is not None and [len(v) for v in kept] == [100, 0, 0, 0], "four rows of a bin are too few"
    assert Schema.loads(done.dumps()) == done and done.completed(public, given=("given",)) == done
    x = decode(done, {c.name: np.repeat([0, 1], 5000) for c in columns}, rng())["left"]
    assert abs((x[:5000] == 100).mean() - 0.8) < 0.03 and x[5000:].n_unique() > 500  # type: ignore[operator]


def test_a_resolved_schema_needs_no_table() -> None:
    schema = Schema((Column("x", "yes-no"),))
    assert schema.resolved(pl.DataFrame()) is schema


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"y": [1]}, "lacks 'x'"),
        ({"x": pl.Series([], dtype=pl.Int64)}, "has no row"),
        ({"x": ["a", None]}, "no number to take quantiles from"),
    ],
)
def test_a_public_table_that_does_not_help_is_told_apart(table: Mapping[str, object], said: str) -> None:
    with pytest.raises(TableMismatch, match=said) as caught:
        Schema((Column("x", "real", bins=Bins(quantiles=3)),)).resolved(pl.DataFrame(table))
    assert caught.value.exit_code == 3


def test_a_column_may_have_a_hundred_thousand_labels() -> None:
    values = tuple(f"label {i}" for i in range(10**5))
    schema = Schema((Column("x", "categorical", values=values, collapse=Collapse(2, "rest")),))
    assert Schema.loads(schema.dumps()) == schema
    public = pl.DataFrame({"x": ["label 7", "label 7", "label 99999", None] * 1000 + ["label 5"]})
    done = schema.resolved(public)
    assert done.columns[0].values == ("label 7", "label 99999")
    full = Schema((Column("x", "categorical", values=values),))
    codes = full.coding.encode(public, ["x"])["x"]
    assert codes[:3].tolist() == [7, 7, 99_999] and full.size(["x"]) == 10**5
    assert decode(full, {"x": codes}, rng())["x"][0] == "label 7"


def check_round_trip(schema: Schema, table: pl.DataFrame) -> pl.DataFrame:
    """Resolve, save, load, encode, decode, encode again: all codes are the same."""
    done = schema.resolved(table)
    assert Schema.loads(done.dumps()) == done
    codes = done.coding.encode(table, done.attributes)
    frame = decode(done, codes, rng())
    again = done.coding.encode(frame, done.attributes)
    for name in done.attributes:
        assert (codes[name] == again[name]).all(), name
    return frame


@needs_data
def test_the_massachusetts_survey_goes_there_and_back() -> None:
    table = pl.read_csv(DATA / "acs_ma/ma2018.csv", infer_schema_length=None)
    book = json.loads((DATA / "acs_ma/data_dictionary.json").read_text())
    columns = [
        Column("PINCP", "integer", bins=Bins(quantiles=20), special=(("N", "under 15"),), decode="public"),
        Column("AGEP", "integer", bins=Bins(low=0, high=99, width=1)),
        Column("DENSITY", "real", bins=Bins(quantiles=10), decode="public"),
        Column("POVPIP", "integer", bins=Bins(low=0, high=501, width=50), special=(("N", "none"), ("501", "high"))),
        Column("NPF", "integer", bins=Bins(low=2, high=20, width=1), special=(("N", "none"),)),
    ]
    industries = tuple(sorted(set(table["INDP"])))
    columns.append(Column("INDP", "categorical", values=industries, prefix=2, collapse=Collapse(50, "rest")))
    for name in ("PUMA", "SEX", "MSP", "HISP", "RAC1P", "EDU", "OWN_RENT", "INDP_CAT"):
        listed = {k: v for k, v in book[name]["values"].items() if k not in ("min", "max")}
        labels = tuple(map(str, listed.values()))
        columns.append(Column(name, "categorical", values=tuple(listed), labels=labels, other="other"))
    schema = Schema(tuple(columns), (Join("sex_msp", ("SEX", "MSP")),))
    frame = check_round_trip(schema, table)
    assert frame["DENSITY"].dtype == pl.Float64 and frame["AGEP"].dtype == pl.Int64
    incomes = pl.Series(frame["PINCP"]).cast(pl.Float64, strict=False).drop_nulls()
    truth = table["PINCP"].cast(pl.Float64, strict=False).drop_nulls()
    assert abs(incomes.mean() / truth.mean() - 1) < 0.1  # type: ignore[operator]


@needs_data
def test_the_personnel_sample_goes_there_and_back() -> None:
    table = pl.read_parquet(DATA / "opm/cpdf_100k.parquet").head(20_000)
    agencies = tuple(sorted(set(table["Agency"].drop_nulls())))
    schema = Schema(
        (
            Column("Agency", "categorical", values=agencies, prefix=2, collapse=Collapse(200, "other"), missing=True),
            Column("FY", "integer", bins=Bins(low=1988, high=2011, width=1)),
            Column("Grade", "integer", bins=Bins(low=1, high=15, width=1), missing=True),
            Column("EducationYears", "integer", bins=Bins(quantiles=5), missing=True),
            Column("BasicPay", "real", bins=Bins(low=0, high=200_000, width=2000), unit=0.01, missing=True),
        ),
        rules=(OrderRule("Grade", "EducationYears"),),
    )
    frame = check_round_trip(schema, table)
    assert frame["BasicPay"].round(2).equals(frame["BasicPay"])
    assert violations(schema.resolved(table), frame).sum() <= violations(schema.resolved(table), table).sum()


@needs_data
def test_adult_goes_there_and_back() -> None:
    table = pl.read_parquet(DATA / "adult/adult.parquet").head(20_000)
    domain = json.loads((DATA / "adult/adult-domain.json").read_text())
    columns = tuple(
        Column(name, "categorical", values=tuple(map(str, range(size))), type="integer")
        for name, size in domain.items()
    )
    frame = check_round_trip(Schema(columns), table.select(*domain))
    assert frame.equals(table.select(*domain).cast(pl.Int64))


def test_integer_codes_collapse_into_a_number_and_the_refusal_of_a_word_says_so() -> None:
    text = '[columns.EMP]\nkind = "categorical"\ntype = "integer"\nvalues = ["1", "2", "12"]\n'
    text += "collapse = {{ below = 2, into = {} }}\n"
    public = pl.DataFrame({"EMP": [1, 1, 2, 12, 12]})
    column = Schema.loads(text.format(13)).resolved(public).column("EMP")
    assert column.values == ("1", "12") and column.other == "13"
    assert column.coded.encode(pl.Series([1, 2, 12, 7])).tolist() == [0, 2, 1, 2]
    with pytest.raises(SchemaError, match=r"such as collapse = \{ below = 2, into = 13 \}, or set type"):
        Schema.loads(text.format('"other"'))
