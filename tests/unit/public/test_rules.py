"""Records that break a structural zero or a rule are found, on values and on codes."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.public.schema import Schema, decode, impossible, violations
from tests.unit.public.schema_strategies import a_schema

COLUMNS = """
[columns.age]
kind = "integer"
bins = { low = 0, high = 100, width = 10 }
special = { 999 = "unknown" }
missing = true
[columns.service]
kind = "real"
bins = { low = 0, high = 50, width = 5 }
missing = true
[columns.marital]
kind = "categorical"
values = ["married", "single", "12"]
missing = true
[columns.born]
kind = "date"
bins = { unit = "year", low = 1900-01-01, high = 2020-12-31 }
[columns.boss]
kind = "yes-no"
"""
FRAME = pl.DataFrame(
    {
        "age": [12, 15, 40, None, 999],
        "service": [13.0, 2.0, None, 3.0, 1.0],
        "marital": ["married", "married", " single", None, "12"],
        "born": [date(2000, 1, 1), date(1999, 12, 31), date(1950, 6, 1), date(1901, 1, 1), date(2020, 1, 1)],
        "boss": [True, False, True, False, True],
    }
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('[[zero]]\nwhere = { marital = ["married"], age = { below = 15 } }', [1, 0, 0, 0, 0]),
        ("[[zero]]\nwhere = { age = { below = 15.5 } }", [1, 1, 0, 0, 0]),
        ("[[zero]]\nwhere = { age = { above = 12, below = 41 } }", [0, 1, 1, 0, 0]),
        ("[[zero]]\nwhere = { age = [12, 40] }", [1, 0, 1, 0, 0]),
        ('[[zero]]\nwhere = { age = ["", "999"] }', [0, 0, 0, 1, 1]),
        ('[[zero]]\nwhere = { marital = ["", "12"] }', [0, 0, 0, 1, 1]),
        ("[[zero]]\nwhere = { born = { above = 1999-12-31 } }", [1, 0, 0, 0, 1]),
        ('[[zero]]\nwhere = { boss = ["Yes"], born = { below = 2000-01-02 } }', [1, 0, 1, 0, 0]),
        ('[[rule]]\nleft = "service"\nright = "age"', [1, 0, 0, 0, 0]),
        ('[[rule]]\nleft = "age"\nright = "service"', [0, 1, 0, 0, 0]),
        ("", [0, 0, 0, 0, 0]),
    ],
)
def test_each_kind_of_rule_finds_its_records(rule: str, expected: list[int]) -> None:
    assert violations(Schema.loads(COLUMNS + rule), FRAME).to_list() == [bool(x) for x in expected]


def test_the_same_records_are_found_when_the_table_is_text() -> None:
    schema = Schema.loads(COLUMNS + '[[rule]]\nleft = "service"\nright = "age"\n[[zero]]\nwhere = { age = [40] }')
    text = FRAME.select(pl.all().cast(pl.String))
    assert (
        violations(schema, text).to_list() == violations(schema, FRAME).to_list() == [True, False, True, False, False]
    )


def test_rules_on_columns_that_are_not_there_are_not_tested() -> None:
    schema = Schema.loads(COLUMNS + '[[rule]]\nleft = "service"\nright = "age"\n[[zero]]\nwhere = { boss = ["no"] }')
    assert violations(schema, FRAME.select("service")).to_list() == [False] * 5
    assert violations(schema, FRAME.clear()).len() == 0


def test_codes_are_impossible_when_no_value_of_theirs_is_allowed() -> None:
    schema = Schema.loads(
        COLUMNS
        + '[[rule]]\nleft = "service"\nright = "age"\n[[zero]]\nwhere = { boss = ["no"], age = { below = 15 } }'
    )
    codes = {"service": np.array([1, 2, 2, 0]), "age": np.array([0, 0, 1, 11]), "boss": np.array([1, 1, 1, 0])}
    assert impossible(schema, codes).tolist() == [False, True, False, False]
    codes = {"age": np.array([0, 1, 2, 10]), "boss": np.array([0, 0, 0, 0])}
    assert impossible(schema, codes).tolist() == [True, False, False, False]


@given(data=st.data())
@settings(max_examples=50)
def test_what_is_impossible_in_codes_is_a_violation_in_values(data: st.DataObject) -> None:
    schema = a_schema(data.draw)
    rng = np.random.default_rng(3)
    codes = {a: rng.integers(0, schema.size([a]), 60) for a in schema.attributes}
    frame = decode(schema, codes, rng)
    never, bad = impossible(schema, codes), violations(schema, frame).to_numpy()
    assert (bad | ~never).all()
