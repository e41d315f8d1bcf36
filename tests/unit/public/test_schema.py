"""A schema says all that is needed before a row is seen, and refuses to say nonsense."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.public.schema import Bins, Collapse, Column, Condition, Join, OrderRule, Schema, Zero
from tests.unit.public.schema_strategies import a_schema

PERSONNEL = """
title = "Personnel"
source = "drafted from public.parquet"

[columns.sex]
kind = "categorical"
description = "Sex of the employee"
labels = { F = "Female", M = "Male" }
missing = true
missing_values = ["NA", ""]
other = "O"
[columns.marital]
kind = "categorical"
values = ["married", "single"]
[columns.education]
kind = "ordered"
values = ["1", "2", "3"]
[columns.pay]
kind = "integer"
bins = { low = 0, high = 200000, width = 2000 }
special = { N = "not applicable" }
unit = 100
[columns.age]
kind = "integer"
bins = { low = 16, high = 90, width = 1 }
[columns.service]
kind = "real"
bins = { edges = [0, 1.5, 10, 50] }
[columns.hired]
kind = "date"
bins = { unit = "quarter", low = 2000-01-01, high = 2020-12-31 }
[columns.supervisor]
kind = "yes-no"
[columns.occupation]
kind = "categorical"
values = ["0101", "0102", "2210"]
prefix = 2
[columns.region]
kind = "categorical"
values = ["north", "south"]
determined_by = ["occupation"]
map = [["01", "north"], ["22", "south"]]

[[joined]]
name = "sex_marital"
columns = ["sex", "marital"]
combinations = [["F", "married"], ["F", "single"], ["M", "single"], ["", "single"]]

[[zero]]
where = { marital = ["married"], age = { below = 18 } }

[[rule]]
left = "service"
right = "age"
"""


def test_the_cells_of_any_question_are_known_before_counting() -> None:
    schema = Schema.loads(PERSONNEL)
    names = ["sex", "marital", "pay", "age", "service", "hired", "supervisor", "occupation", "region", "sex_marital"]
    assert schema.shape(names) == (4, 2, 101, 75, 3, 84, 2, 2, 2, 4)
    assert schema.size(["sex", "age"]) == 300 and schema.size([]) == 1


def test_attributes_cover_every_measured_column_once() -> None:
    attributes = ("sex_marital", "education", "pay", "age", "service", "hired", "supervisor", "occupation")
    assert Schema.loads(PERSONNEL).attributes == attributes


def test_every_cell_has_a_label() -> None:
    schema = Schema.loads(PERSONNEL)
    assert schema.cell_labels("sex") == ("Female", "Male", "O", "missing")
    assert schema.cell_labels("pay")[:2] == ("0 to 1999", "2000 to 3999")
    assert schema.cell_labels("pay")[-1] == "not applicable"
    assert schema.cell_labels("age")[::37] == ("16", "53", "90")
    assert schema.cell_labels("service") == ("[0, 1.5)", "[1.5, 10)", "[10, 50]")
    assert schema.cell_labels("hired")[:5] == ("2000 Q1", "2000 Q2", "2000 Q3", "2000 Q4", "2001 Q1")
    assert schema.cell_labels("supervisor") == ("no", "yes")
    assert schema.cell_labels("sex_marital") == (
        "Female, married",
        "Female, single",
        "Male, single",
        "missing, single",
    )
    for name in (*schema.attributes, "region"):
        assert len(schema.cell_labels(name)) == schema.size([name])


def test_a_bin_of_one_real_number_is_labelled_by_it() -> None:
    column = Column("x", "real", bins=Bins(edges=(0.0, 5e-324, 2.5, 2.5)))
    assert column.cell_labels == ("0", "(0, 2.5)", "2.5")


@given(data=st.data())
@settings(max_examples=100)
def test_the_text_of_every_cell_has_its_code(data: st.DataObject) -> None:
    for column in a_schema(data.draw).columns:
        codes = column.coded.encode(pl.Series(column.cell_texts, dtype=pl.String))
        assert codes.tolist() == list(range(column.size))


@given(data=st.data())
@settings(max_examples=150)
def test_a_schema_reads_back_from_its_text(data: st.DataObject) -> None:
    schema = a_schema(data.draw)
    assert Schema.loads(schema.dumps()) == schema


def test_the_personnel_schema_survives_a_file(tmp_path: Path) -> None:
    schema = Schema.loads(PERSONNEL)
    schema.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml") == schema
    assert schema.title == "Personnel" and schema.column("sex").description == "Sex of the employee"


def test_what_is_not_resolved_is_written_and_read_too() -> None:
    schema = Schema(
        (
            Column("a", "real", bins=Bins(quantiles=20), decode="public"),
            Column("b", "categorical", values=("x", "y"), collapse=Collapse(500, "rest")),
            Column("c", "categorical", values=("p",), determined_by=("b",)),
        ),
        (Join("ab", ("a", "b")),),
    )
    assert Schema.loads(schema.dumps()) == schema
    assert not schema.is_resolved
    assert schema.unresolved == (
        "quantile bins of column 'a'",
        "public values of column 'a'",
        "the collapse of rare labels of column 'b'",
        "the map of column 'c'",
        "the combinations of 'ab'",
    )
    for ask in (lambda: schema.coding, lambda: schema.cell_labels("b"), lambda: schema.size(["b"])):
        with pytest.raises(SchemaError, match=r"still takes from a public table: quantile bins of column 'a'"):
            ask()


def test_decimal_widths_cut_where_they_are_typed() -> None:
    cuts = Bins(low=0, high=1, width=0.1).cuts("real").tolist()
    assert cuts == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert Bins(low=0.05, high=0.3, width=0.1).cuts("real").tolist() == [0.05, 0.15, 0.25, 0.3]


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    with pytest.raises(SchemaError, match="There is no column 'agee'; did you mean 'age'?"):
        Schema.loads(PERSONNEL).column("agee")


SEX = Column("sex", "categorical", values=("F", "M"))
AGE = Column("age", "integer", bins=Bins(low=0, high=99, width=1))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"columns": ()}, "has no column"),
        ({"columns": (SEX, SEX)}, "two columns are named 'sex'"),
        ({"columns": (Column("^s.*$", "categorical", values=("F", "M")),)}, "is a pattern to Polars"),
        ({"columns": (SEX, AGE), "joined": (Join("sex", ("sex", "age")),)}, "two columns are named 'sex'"),
        ({"columns": (Column("x", "categorical"),)}, "no values are listed"),
        ({"columns": (Column("x", "categorical", values=("a",), labels=("p", "q")),)}, "2 labels for 1 values"),
        ({"columns": (Column("x", "integer"),)}, "bins are missing"),
        ({"columns": (Column("x", "integer", bins=Bins()),)}, "bins are said in no way"),
        ({"columns": (SEX,), "rules": (OrderRule("sex", "sex"),)}, "compares categorical with categorical"),
        ({"columns": (SEX, AGE), "zeros": (Zero((("age", Condition()),)),)}, "needs a list of values"),
        ({"columns": (AGE,), "rules": (OrderRule("age", "age"),)}, "closes a circle"),
    ],
)
def test_a_schema_made_in_python_is_checked_too(parts: dict[str, object], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Schema(**parts)  # type: ignore[arg-type]


def test_every_example_of_the_reference_page_is_a_schema() -> None:
    page = Path(__file__).parents[3] / "docs" / "schema.md"
    examples = page.read_text("utf-8").split("```toml\n")[1:]
    assert len(examples) >= 8
    for example in examples:
        schema = Schema.loads(example.split("```")[0], "docs/schema.md")
        assert Schema.loads(schema.dumps()) == schema
