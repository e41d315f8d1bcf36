"""Every kind of code book gives a schema that loads, with its labels, order and ranges."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import pytest

from hedgerow.errors import JobError
from hedgerow.public.schema import Schema
from hedgerow.public.schema.drafting.draft import draft
from hedgerow.public.schema.drafting.sketch import Draft, Sketch
from hedgerow.public.schema.structure import Reason
from tests.unit.draft.drafting_tools import written

PEOPLE = pl.DataFrame(
    {"sex": [1, 2, 2, 1] * 50, "age": [*range(16, 91), *range(16, 91), *range(16, 66)], "answer": [1, 2, 9, 3] * 50}
)


def told(path: Path, codebook: Path | None = None) -> tuple[Draft, Schema, dict[str, Sketch | Reason]]:
    drawn = draft(str(path), str(codebook) if codebook else None)
    return drawn, Schema.loads(written(drawn)), {c.name: c for c in drawn.columns}


def saved(folder: Path, book: Any) -> Path:
    path = folder / "book.json"
    path.write_text(json.dumps(book))
    return path


CSV = """column,value,label
sex,1,Male
sex,2,"Female, or not said"
sex,,Sex of the person
age,16-90,Age in years
age,99,not known
grade,A,first
grade,B,second
grade,C,third
"""


@pytest.mark.parametrize("turn", [str, lambda t: t.replace(",", ";"), lambda t: "\ufeff" + t])
def test_a_csv_of_column_value_label(turn: Any, tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text(turn(CSV).replace('"Female; or', '"Female, or'), encoding="utf-8")
    _, schema, found = told(tmp_path / "book.csv")
    assert schema.column("sex").labels == ("Male", "Female, or not said")
    assert schema.column("sex").description == "Sex of the person"
    assert schema.column("age").special == (("99", "not known"),)
    assert (
        schema.column("age").bins is not None and schema.column("age").size == 75 + 1 + 1
    )  # a code of its own, and what is unknown
    assert schema.column("grade").kind == "ordered"


def test_age_bands_in_a_csv_are_values_and_no_range(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text("Variable,Code,Meaning\nage,0-17,child\nage,18-64,adult\nage,65+,old\n")
    _, schema, _ = told(tmp_path / "book.csv")
    assert schema.column("age").kind == "ordered" and schema.column("age").values == ("0-17", "18-64", "65+")


FIELDS = [
    {"name": "key", "type": "string"},
    {"name": "sex", "type": "string", "title": "Sex", "constraints": {"enum": ["F", "M"], "required": True}},
    {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 90_000.0}},
    {"name": "hired", "type": "date", "constraints": {"minimum": "2001-02-03", "maximum": "2004-05-06"}},
    {"name": "boss", "type": "boolean", "trueValues": ["Y"], "falseValues": ["N"]},
    {"name": "size", "type": "string", "categories": [{"value": "s", "label": "small"}], "categoriesOrdered": True},
    {"name": "note", "type": "string"},
    {"name": "visits", "type": "integer"},
]
TABLE_SCHEMA = {"fields": FIELDS, "primaryKey": "key", "missingValues": ["", "-"]}


@pytest.mark.parametrize("book", [TABLE_SCHEMA, {"resources": [{"name": "t", "schema": TABLE_SCHEMA}]}])
def test_a_frictionless_schema_or_package(book: Any, tmp_path: Path) -> None:
    drawn, schema, found = told(saved(tmp_path, book))
    assert [c.name for c in drawn.left_out] == ["key", "note"]
    assert schema.column("sex").values == ("F", "M") and not schema.column("sex").missing
    assert schema.column("sex").description == "Sex"
    assert schema.column("pay").kind == "real" and schema.column("pay").missing_values == ("-",)
    bins = schema.column("hired").bins
    assert bins is not None and (bins.unit, bins.low, bins.high) == ("month", date(2001, 2, 1), date(2004, 5, 31))
    assert schema.column("boss").yes == ("Y",) and schema.column("size").kind == "ordered"
    assert schema.column("size").labels == ("small",)
    assert [c.name for c in drawn.kept if c.check] == ["visits"]


def test_a_package_of_two_tables_says_which_to_take_out(tmp_path: Path) -> None:
    two = {"resources": [{"name": n, "schema": TABLE_SCHEMA} for n in ("people", "firms")]}
    with pytest.raises(JobError, match=r"2 tables .*people, firms.*a JSON file of its own"):
        draft(str(saved(tmp_path, two)))


PARAMETERS = {
    "runs": [{"epsilon": 1.0, "max_records_per_individual": 7}],
    "schema": {
        "PUMA": {"dtype": "str", "values": ["17-1001", "17-104"]},
        "YEAR": {"dtype": "uint32", "values": [2012, 2013, 2014]},
        "SEX": {"dtype": "uint8", "values": [1, 2]},
        "AGE": {"dtype": "uint8", "min": 0, "max": 135},
        "INCTOT": {"dtype": "int32"},
    },
}


def test_a_nist_parameters_file(tmp_path: Path) -> None:
    drawn, schema, found = told(saved(tmp_path, PARAMETERS))
    assert schema.column("PUMA").values == ("17-1001", "17-104")
    assert (schema.column("YEAR").kind, schema.column("YEAR").size) == ("integer", 3 + 1)
    assert schema.column("SEX").type == "integer" and schema.column("AGE").size == 136 + 1
    assert [c.name for c in drawn.kept if c.check] == ["INCTOT"] and "CHECK" in written(drawn)
    assert "rows_per_person = 7" in written(drawn)


def test_a_nist_data_dictionary(tmp_path: Path) -> None:
    book = {
        "SEX": {"description": "Gender", "values": {"1": "Male", "2": "Female"}},
        "POVPIP": {"description": "Ratio", "values": {"N": "N/A", "min": 0, "max": 500, "501": "above"}},
        "INDP": {"description": "Industry", "link": "https://example.org"},
    }
    drawn, schema, found = told(saved(tmp_path, book))
    assert schema.column("SEX").labels == ("Male", "Female")
    assert schema.column("POVPIP").special == (("N", "N/A"), ("501", "above"))
    assert [c.name for c in drawn.left_out] == ["INDP"]


def test_a_domain_file(tmp_path: Path) -> None:
    _, schema, _ = told(saved(tmp_path, {"age": 74, "income>50K": 2}))
    assert schema.column("age").size == 74 + 1 and schema.column("income>50K").values == ("0", "1")


@pytest.mark.parametrize("suffix", ["dta", "sav"])
def test_labels_inside_stata_and_spss_files_are_kept(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{suffix}"
    labels: dict[str, Any] = {
        "sex": {1: "Male", 2: "Female"},
        "answer": {1: "no", 2: "maybe", 3: "yes", 9: "refused"},
    }
    names = ["Sex", "Age", "The answer"]
    write_ = getattr(pyreadstat, f"write_{suffix}")
    write_(PEOPLE, str(path), column_labels=names, variable_value_labels=labels)
    drawn, schema, found = told(path)
    assert schema.column("sex").labels == ("Male", "Female") and schema.column("sex").values == ("1", "2")
    assert schema.column("sex").description == "Sex"
    assert schema.column("answer").labels == ("no", "maybe", "yes", "refused")
    assert schema.column("age").kind == "integer" and schema.column("age").size == 75 + 1


def test_missing_values_that_spss_declares_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    labels: dict[str, Any] = {"answer": {1: "no", 9: "refused"}}
    pyreadstat.write_sav(
        PEOPLE, str(path), variable_value_labels=labels, missing_ranges={"answer": [{"lo": 9, "hi": 9}]}
    )
    answer = told(path)[1].column("answer")
    assert answer.missing and "9" not in answer.values


def test_a_table_takes_labels_from_its_code_book(tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "public.csv")
    book = {
        "sex": {"description": "Gender", "values": {"1": "Male", "2": "Female", "3": "Other"}},
        "age": {"description": "Age", "values": {"min": 0, "max": 99}},
        "answer": {"description": "Answer", "values": {"1": "no", "2": "yes"}},
    }
    drawn, schema, found = told(tmp_path / "public.csv", saved(tmp_path, book))
    assert schema.column("sex").labels == ("Male", "Female", "Other")
    assert schema.column("age").size == 100 + 1
    assert schema.column("answer").values == ("1", "2", "3", "9")
    answer = found["answer"]
    assert isinstance(answer, Sketch) and "not in the code book" in " ".join(answer.notes)
    assert written(drawn).count("sha256") == 3


def test_two_values_with_one_label_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text("column,value,label\nsex,1,M\nsex,2,F\nsex,3,F\n")
    assert told(tmp_path / "book.csv")[1].column("sex").labels == ("M", "F (2)", "F (3)")
