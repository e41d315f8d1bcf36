"""Tables written out: the same values again, with labels, and never half a file."""

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import fastexcel
import numpy as np
import polars as pl
import pyreadstat
import pytest

from hedgerow.errors import JobError
from hedgerow.public import write
from hedgerow.public.files import open_source
from hedgerow.public.schema import Schema, decode
from hedgerow.public.table import CodedTable
from hedgerow.public.write import WRITERS, write_table

SCHEMA = Schema.loads("""
title = "Personnel"
[columns.sex]
kind = "categorical"
description = "Sex of the employee"
labels = { F = "Female", M = "Male" }
missing = true
[columns.education]
kind = "ordered"
labels = { 1 = "school", 2 = "college" }
missing = true
[columns.code]
kind = "categorical"
values = ["01", "02"]
[columns.pay]
kind = "integer"
description = "Basic pay in US dollars"
bins = { low = 0, high = 200000, width = 2000 }
special = { -9 = "not applicable" }
missing = true
[columns.rate]
kind = "real"
bins = { low = 0, high = 1, width = 0.25 }
[columns.hired]
kind = "date"
format = "%d/%m/%Y"
bins = { unit = "month", low = 2000-01-01, high = 2001-12-31 }
missing = true
[columns.boss]
kind = "yes-no"
missing = true
""")


def made(rows: int = 300, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    codes = {n: rng.integers(0, SCHEMA.shape([n])[0], rows) for n in SCHEMA.attributes}
    return decode(SCHEMA, codes, rng)


@pytest.mark.parametrize("suffix", WRITERS)
def test_what_is_written_reads_back_to_the_same_codes_and_types(suffix: str, tmp_path: Path) -> None:
    frame, path = made(), tmp_path / f"records{suffix}"
    write_table(frame, path, SCHEMA)
    back = CodedTable.read(path, SCHEMA)
    assert back.frame.dtypes == frame.dtypes
    names = [c.name for c in SCHEMA.columns]
    for name, codes in CodedTable(SCHEMA, frame).codes(names).items():
        assert codes.tolist() == back.codes([name])[name].tolist(), name
    assert back.frame["pay"].to_list() == frame["pay"].to_list()
    assert back.frame["hired"].to_list() == frame["hired"].to_list()
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", WRITERS)
def test_equal_tables_give_equal_bytes(suffix: str, tmp_path: Path) -> None:
    write_table(made(), tmp_path / f"a{suffix}", SCHEMA)
    first = (tmp_path / f"a{suffix}").read_bytes()
    write_table(made(), tmp_path / f"a{suffix}", SCHEMA)
    assert first == (tmp_path / f"a{suffix}").read_bytes()
    assert str(dt.date.today().year).encode() not in first[:600]


def test_stata_files_have_descriptions_labels_and_whole_numbers(tmp_path: Path) -> None:
    write_table(made(), tmp_path / "r.dta", SCHEMA)
    _, meta = pyreadstat.read_dta(tmp_path / "r.dta", output_format="polars")
    assert b"<release>118</release>" in (tmp_path / "r.dta").read_bytes()[:100], "one that every Stata can open"
    assert meta.file_label == "Personnel"
    told = meta.column_names_to_labels
    assert told["pay"] == "Basic pay in US dollars"
    assert told["sex"] == "Sex of the employee (F = Female; M = Male)"
    assert meta.variable_value_labels == {
        "education": {1: "school", 2: "college"},
        "pay": {-9: "not applicable"},
        "boss": {0: "no", 1: "yes"},
    }
    kinds = meta.readstat_variable_types
    assert [kinds[n] for n in ("education", "pay", "boss", "rate", "code")] == [*["int32"] * 3, "double", "string"]
    assert meta.original_variable_types["hired"].startswith("%td")


def test_spss_files_have_descriptions_and_labels_also_of_text(tmp_path: Path) -> None:
    write_table(made(), tmp_path / "r.sav", SCHEMA)
    _, meta = pyreadstat.read_sav(tmp_path / "r.sav", output_format="polars")
    assert meta.column_names_to_labels["sex"] == "Sex of the employee"
    assert meta.variable_value_labels["sex"] == {"F": "Female", "M": "Male"}
    assert meta.variable_value_labels["education"] == {1: "school", 2: "college"}
    assert meta.original_variable_types["pay"] == "F12.0"
    assert (meta.variable_measure["education"], meta.variable_measure["sex"]) == ("ordinal", "nominal")


def test_sas_files_have_descriptions(tmp_path: Path) -> None:
    write_table(made(), tmp_path / "r.xpt", SCHEMA)
    _, meta = pyreadstat.read_xport(tmp_path / "r.xpt", output_format="polars")
    assert meta.column_names_to_labels["pay"] == "Basic pay in US dollars"


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".xpt"])
def test_names_that_a_program_does_not_take_are_changed_and_told(suffix: str, tmp_path: Path) -> None:
    names = ["pay (USD)", "long", "2nd", "_x", "élan", "Pay", "pay", "str5", "a" * 50, "a" * 51]
    frame = pl.DataFrame({n: [i] for i, n in enumerate(names)})
    write_table(frame, tmp_path / f"x{suffix}")
    reader = {".dta": pyreadstat.read_dta, ".sav": pyreadstat.read_sav, ".xpt": pyreadstat.read_xport}[suffix]
    back, meta = reader(tmp_path / f"x{suffix}", output_format="polars")
    assert back.row(0) == tuple(range(10))
    assert len({n.lower() for n in back.columns}) == 10
    assert meta.column_names_to_labels["long_"] == "long"


def test_numbers_too_large_for_stata_and_nan_are_kept_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame({"big": [2_147_483_640, None], "nan": [float("nan"), 1.5], "t": ["é" * 300, None]})
    for suffix in (".dta", ".sav", ".xpt"):
        write_table(frame, tmp_path / f"x{suffix}")
        back = pl.concat(open_source(tmp_path / f"x{suffix}").batches(["big", "nan"]))
        assert back["big"].to_list() == [2_147_483_640, None]
        assert back["nan"].to_list() == [None, 1.5]


def test_long_descriptions_are_cut_between_characters() -> None:
    assert write._cut("é" * 100, 80) == "é" * 38 + "..."
    assert write._cut("short", 80) == "short"


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_table_without_rows_can_be_written(suffix: str, tmp_path: Path) -> None:
    write_table(made().clear(), tmp_path / f"none{suffix}", SCHEMA)
    assert (tmp_path / f"none{suffix}").exists()


def test_an_unknown_suffix_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"choose one of the suffixes \.csv"):
        write_table(made(), tmp_path / "x.ods", SCHEMA)


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="Cannot write .*No such file or directory"):
        write_table(made(), tmp_path / "nowhere" / "x.csv", SCHEMA)


FULL = """
import resource, signal, sys
import polars as pl
from hedgerow.errors import JobError
from hedgerow.public.write import write_table
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
frame = pl.DataFrame({"x": [i * 0.37 for i in range(100_000)]})
for path in sys.argv[1:]:
    try:
        write_table(frame, path)
    except JobError as error:
        assert "Cannot write" in str(error)
    else:
        sys.exit(path)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a full disk is feigned with RLIMIT_FSIZE")
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    paths = [tmp_path / f"x{suffix}" for suffix in WRITERS]
    for path in paths:
        path.write_bytes(b"old")
    subprocess.run([sys.executable, "-c", FULL, *map(str, paths)], check=True)
    assert {p.read_bytes() for p in paths} == {b"old"}
    assert len(os.listdir(tmp_path)) == len(paths)


def test_excel_files_hold_values_as_they_are_labels_and_as_many_sheets_as_rows_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "_SHEET", 2)
    frame = pl.DataFrame(
        {
            "sex": ["F", "=1+2", None],
            "pay": [1.5, float("nan"), 3.0],
            "day": [dt.date(2001, 2, 3)] * 3,
            "ok": [True] * 3,
        }
    )
    for name in ("a.xlsx", "b.xlsx"):
        write_table(frame, tmp_path / name, SCHEMA)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    book = fastexcel.read_excel(tmp_path / "a.xlsx")
    assert book.sheet_names == ["records", "records 2", "columns"]
    first, rest, about = (book.load_sheet(s).to_polars() for s in book.sheet_names)
    day = dt.datetime(2001, 2, 3)
    assert first.rows() == [("F", 1.5, day, True), ("=1+2", None, day, True)]
    assert rest.height == 1 and rest["pay"].to_list() == [3.0]
    assert ("sex", None, "F", "Female") in about.rows() and about["description"][0] == "Sex of the employee"
