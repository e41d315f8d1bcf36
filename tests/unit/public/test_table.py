"""Public tables: typed, coded, and judged against the schema."""

import datetime as dt
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import TableMismatch
from hedgerow.public.schema import Column, Schema
from hedgerow.public.table import CodedTable, typed_as

SCHEMA = Schema.loads("""
[columns.sex]
kind = "categorical"
labels = { F = "Female", M = "Male" }
missing = true
[columns.grade]
kind = "ordered"
type = "integer"
values = ["1", "2", "3"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 200000, width = 2000 }
missing = true
missing_values = ["NA"]
[columns.hired]
kind = "date"
bins = { unit = "year", low = 2000-01-01, high = 2020-12-31 }
[columns.boss]
kind = "yes-no"
""")
RAW = pl.DataFrame(
    {
        "sex": ["F", "M", "X", None],
        "grade": ["1", "2", "3", "1"],
        "pay": ["52000", "NA", "61500.0", "-5"],
        "hired": ["2001-02-03", "2020-12-31", "1999-01-01", "2010-05-05"],
        "boss": ["Yes", "no", "0", "TRUE"],
        "extra": ["a", "b", "c", "d"],
    }
)


def test_types_come_from_the_schema() -> None:
    table = CodedTable.read(RAW, SCHEMA)
    assert table.frame.dtypes == [pl.String, pl.Int64, pl.Int64, pl.Date, pl.Boolean]
    assert table.frame["pay"].to_list() == [52000, None, 61500, -5]
    assert table.frame["boss"].to_list() == [True, False, False, True]
    assert (table.rows, table.name) == (4, "frame")


def test_values_outside_are_coded_by_the_rule_and_counted() -> None:
    table = CodedTable.read(RAW, SCHEMA)
    assert table.codes(["sex", "hired"])["sex"].tolist() == [0, 1, 2, 2]
    assert table.codes(["hired"])["hired"].tolist() == [1, 20, 0, 10]
    assert table.outside() == {"sex": 1, "pay": 1, "hired": 1}
    assert {c.name for c in SCHEMA.columns if table.departs(c.name)} == set(table.outside())


def test_codes_are_worked_out_once() -> None:
    table = CodedTable.read(RAW, SCHEMA)
    assert table.codes(["sex"])["sex"] is table.codes(["pay", "sex"])["sex"]


def test_a_schema_that_leaves_something_to_a_public_table_is_completed() -> None:
    schema = Schema.loads('[columns.x]\nkind = "integer"\nbins = { quantiles = 4 }')
    table = CodedTable.read(pl.DataFrame({"x": range(100)}), schema)
    assert table.schema.is_resolved
    assert np.bincount(table.codes(["x"])["x"]).tolist() == [25, 25, 25, 25]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_file_is_known_by_its_hash(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"a#b.{kind}"
    {"csv": RAW.write_csv, "parquet": RAW.write_parquet, "arrow": RAW.write_ipc}[kind](path)  # type: ignore[operator]
    for name in (path, str(path)):
        table = CodedTable.read(name, SCHEMA)
        assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert table.codes(["pay"])["pay"].tolist() == CodedTable.read(RAW, SCHEMA).codes(["pay"])["pay"].tolist()


def test_a_frame_is_known_by_its_rows() -> None:
    one, two = CodedTable.read(RAW, SCHEMA), CodedTable.read(RAW.clone(), SCHEMA)
    assert one.sha256 == two.sha256 != CodedTable.read(RAW.reverse(), SCHEMA).sha256


def test_a_table_that_lacks_columns_is_told_which_and_what_it_has() -> None:
    with pytest.raises(TableMismatch, match=r"'hired'.*\n.*Its columns are: sex, grade, pay, hire, boss, extra") as e:
        CodedTable.read(RAW.rename({"hired": "hire"}), SCHEMA)
    assert "did you mean 'hire'?" in str(e.value)
    assert "No confidential row was read" in str(e.value)


@pytest.mark.parametrize("role", ["public", "target", "synthetic"])
def test_a_table_without_rows_is_a_mismatch(role: Any) -> None:
    with pytest.raises(TableMismatch, match=f"The {role} table frame has no rows"):
        CodedTable.read(RAW.clear(), SCHEMA, role=role)


def test_a_target_may_lack_columns_and_keeps_its_own() -> None:
    target = CodedTable.read(RAW.drop("sex"), SCHEMA, role="target")
    assert target.frame.columns == ["grade", "pay", "hired", "boss", "extra"]
    assert target.frame["pay"].dtype == pl.Int64
    assert len(target.codes(["pay"])["pay"]) == 4
    with pytest.raises(TableMismatch, match="no column sex"):
        target.codes(["sex"])


def test_reading_a_fifth_of_a_million_rows_of_all_kinds_warns_of_nothing() -> None:
    big = RAW.select(pl.all().repeat_by(50_000).explode())
    assert CodedTable.read(big, SCHEMA).codes(["grade", "pay", "boss"])["pay"].shape == (200_000,)


TEXTS = ["1", "2", "01", "1.0", "2.5", " 1 ", "", "NaN", "inf", "x", "NA", "true", "No", "2001-01-01", "1e1", None]
COLUMNS = [
    Column("c", "categorical", values=("1", "2", "x"), missing=True, missing_values=("NA",)),
    Column("c", "ordered", values=("1", "2"), type="integer", other="2"),
    Column("c", "yes-no", missing=True),
    Column("c", "yes-no", yes=("1",), no=("2",)),
    *(Schema.loads(f"[columns.c]\n{text}").columns[0] for text in (
        'kind = "integer"\nbins = { low = 0, high = 10, width = 2 }\nmissing = true\nspecial = { x = "none" }',
        'kind = "integer"\nbins = { low = 0, high = 10, width = 2 }\nmissing_values = ["NA"]\nother = "odd"',
        'kind = "real"\nbins = { low = 0, high = 10, width = 0.5 }\nmissing = true\nother = "odd"',
        'kind = "date"\nbins = { unit = "year", low = 2000-01-01, high = 2005-12-31 }\nmissing = true',
    )),
]  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS, ids=range(len(COLUMNS)))
@settings(max_examples=25)
@given(texts=st.lists(st.sampled_from(TEXTS), max_size=6))
def test_typing_never_changes_a_code(column: Column, texts: list[str | None]) -> None:
    raw = pl.Series("c", texts, dtype=pl.String)
    typed = typed_as(column, raw)
    assert column.coded.encode(typed).tolist() == column.coded.encode(raw).tolist()


@pytest.mark.parametrize("column", COLUMNS, ids=range(len(COLUMNS)))
@given(numbers=st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5, float("nan"), float("inf"), None]), max_size=6))
def test_typing_floats_never_changes_a_code(column: Column, numbers: list[float | None]) -> None:
    raw = pl.Series("c", numbers, dtype=pl.Float64)
    assert column.coded.encode(typed_as(column, raw)).tolist() == column.coded.encode(raw).tolist()


def test_typing_keeps_dates_and_numbers_that_have_their_type() -> None:
    days, whole = pl.Series([dt.date(2020, 1, 1)]), pl.Series([1, None])
    assert typed_as(Column("d", "date"), days) is days
    assert typed_as(Column("n", "integer"), whole) is whole
    assert typed_as(Column("n", "integer"), pl.Series([1.0, None])).dtype == pl.Int64
    assert typed_as(Column("n", "integer"), pl.Series([1.5, None])).dtype == pl.Float64
    assert typed_as(Column("n", "integer"), pl.Series([1], dtype=pl.UInt8)).dtype == pl.Int64
