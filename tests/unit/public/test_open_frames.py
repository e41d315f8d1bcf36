"""Frames and files that newcomers bring: columns without a type, odd names, Excel, text."""

import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
import xlsxwriter

import hedgerow as hr
from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.public.files import open_source
from hedgerow.steward.exact import exact_table

LOOSE = pd.DataFrame(
    {
        "day": pd.Series([date(2020, 1, 2), None, date(2021, 3, 4)] * 20, dtype=object),
        "pay": pd.Series([Decimal("1500.50"), Decimal("2000"), None] * 20, dtype=object),
        "mixed": pd.Series([1, "a", 2.0] * 20, dtype=object),
        "sex": pd.Series(["F", "M", None] * 20, dtype=object),
    }
)


def test_a_public_frame_may_have_columns_without_a_type_and_each_value_is_read_by_itself() -> None:
    drafted = hr.Schema.draft(LOOSE)
    assert drafted.column("day").kind == "date" and drafted.column("sex").values == ("F", "M")
    assert drafted.column("mixed").values == ("1", "2", "a") and drafted.check(LOOSE).holds
    hr.Public(LOOSE)
    hr.Target(LOOSE)


def test_a_confidential_frame_without_types_is_refused_with_a_cure_that_works() -> None:
    with pytest.raises(TableMismatch, match=r"astype\(\{'day': 'string'\}\)"):
        hr.Confidential(LOOSE, name="t")
    hr.Confidential(LOOSE.astype("string"), name="t")


@pytest.mark.parametrize("columns", [[0, 1], ["sex", "sex"]])
def test_odd_column_names_are_named_with_the_cure(columns: list[Any]) -> None:
    frame = pd.DataFrame([["F", "M"]] * 3, columns=columns)
    for wrap in (lambda: hr.Public(frame), lambda: hr.Schema.draft(frame), lambda: hr.Confidential(frame, name="x")):
        with pytest.raises(HedgerowError, match="(?s)need names, each a text of its own.*Rename") as refused:
            wrap()
        assert repr(columns[0]) in str(refused.value)


def test_a_person_in_the_index_is_said_to_be_there() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "age": [1, 2]}).convert_dtypes().set_index("id")
    with pytest.raises(HedgerowError, match="'id' is the index of the frame.*reset_index"):
        hr.Confidential(frame, name="x", unit=hr.Person("id"))


@pytest.mark.parametrize("suffix", ["txt", "tsv", "xlsx"])
def test_text_and_excel_files_open_as_the_csv_does(suffix: str, tmp_path: Path) -> None:
    days = [date(2020, 1, 2), None, date(2021, 3, 4)]
    frame = pl.DataFrame({"zip": ["02139", "10001", None], "n": [1, 2, 3], "day": days})
    path = tmp_path / f"table.{suffix}"
    frame.write_excel(path) if suffix == "xlsx" else frame.write_csv(path, separator="\t")
    frame.write_csv(tmp_path / "table.csv")
    found, plain = (pl.concat(open_source(p).batches(frame.columns)) for p in (path, tmp_path / "table.csv"))
    assert found.equals(plain) and found["zip"].to_list() == ["02139", "10001", None]


def _sheet(path: Path, cells: dict[tuple[int, int], str]) -> Path:
    book = xlsxwriter.Workbook(path)
    page = book.add_worksheet()
    for place, value in cells.items():
        page.write(*place, value)
    book.close()
    return path


@pytest.mark.parametrize("asked", [["a"], ["b"], ["b", "a"]])
def test_the_rows_of_a_sheet_are_those_with_a_value_whichever_columns_are_asked_for(
    asked: list[str], tmp_path: Path
) -> None:
    """Also below an empty top, beside a column without a title, and with a value there in one row."""
    table = {(2, 1): "a", (2, 3): "b", (3, 1): "7", (5, 3): "u", (9, 1): "8", (9, 3): "x 00:00:00"}
    expected = pl.DataFrame({"a": ["7", None, "8"], "b": [None, "u", "x 00:00:00"]}).select(asked)
    for stray in ({}, {(7, 2): "between"}, {(7, 0): "left"}, {(7, 6): "right"}, {(700, 6): "far below"}):
        source = open_source(_sheet(tmp_path / "t.xlsx", table | stray))
        assert source.columns == ("a", "b") and pl.concat(source.batches(asked)).equals(expected), stray


def test_a_zip_code_stays_as_it_is_written_however_many_there_are() -> None:
    few = hr.Schema.draft(pl.DataFrame({"zip": [f"{10001 + i % 40}" for i in range(400)], "n": ["a", "b"] * 200}))
    assert few.column("zip").kind == "categorical" and few.column("zip").type == "text"
    many = hr.Schema.draft(
        pl.DataFrame({"zip": [10_001 + 7 * i % 9_000 for i in range(9_000)] * 2}).with_columns(n=pl.lit("a"))
    )
    assert many.column("zip").kind == "categorical" and many.column("zip").prefix


def test_amounts_with_a_currency_sign_are_remarked_on_also_when_their_column_is_left_out() -> None:
    frame = pl.DataFrame({"pay": [f"${1000 + 7 * i}.50" for i in range(2_000)], "n": ["a", "b"] * 1_000})
    (pay,) = [r for r in hr.Schema.draft(frame).reasons.columns if r.name == "pay"]  # type: ignore[union-attr]
    assert "currency signs are read as texts" in " ".join(pay.notes)


def test_few_codes_of_a_domain_file_are_a_list_and_many_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "domain.json").write_text('{"income": 2, "race": 5, "age": 85}')
    drafted = hr.Schema.draft(tmp_path / "domain.json")
    assert drafted.column("race").values == tuple("01234") and drafted.column("income").values == ("0", "1")
    assert drafted.column("age").kind == "integer"


@pytest.mark.parametrize("address", ["spark:office.people", "postgresql://me:secret@db/office#people", "hdfs://a/b"])
def test_a_confidential_table_elsewhere_is_not_read_by_exact_looks_and_its_address_is_not_shown(address: str) -> None:
    schema = hr.Schema.loads('[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n')
    with pytest.raises(JobError, match="is counted where it is") as told:
        exact_table(address, schema)
    assert "secret" not in str(told.value)


NONE = """
import os, sys
if sys.argv[1] == "library":
    sys.modules["pyspark"] = None
os.environ |= {"PATH": "", "JAVA_HOME": "/nowhere", "SPARK_LOCAL_IP": "127.0.0.1"}
import hedgerow as hr
from hedgerow.errors import HedgerowError
try:
    hr.Schema.draft("spark:office.people")
except HedgerowError as told:
    print(told)
"""


@pytest.mark.parametrize(
    ("lacks", "said"), [("library", "pip install 'hedgerow[spark]'"), ("Java", "there is Java 17")]
)
def test_a_public_table_of_spark_without_its_library_or_java_is_refused_in_words(lacks: str, said: str) -> None:
    if lacks == "Java":
        pytest.importorskip("pyspark")
    done = subprocess.run([sys.executable, "-c", NONE, lacks], capture_output=True, text=True, check=False)
    assert said in done.stdout, done.stderr
