"""A coded table codes each column once, for itself and for all rows that are taken from it, and tells of no row."""

import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import TableMismatch
from hedgerow.public.coding import CodedColumn
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema

SCHEMA = Schema.loads(personnel_schema())
PEOPLE = personnel(rows=400, seed=8).confidential
NAMES = ("sex", "race", "age", "agency")


@pytest.fixture
def table() -> CodedTable:
    return CodedTable.read(PEOPLE, SCHEMA, role="target")


@pytest.fixture
def encodes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns that were coded, in order."""
    seen, plain = list[str](), CodedColumn.encode

    def spied(self: CodedColumn, series: pl.Series) -> Any:
        seen.append(self.name)
        return plain(self, series)

    monkeypatch.setattr(CodedColumn, "encode", spied)
    return seen


def test_rows_that_are_taken_have_the_codes_that_coding_them_would_give(table: CodedTable) -> None:
    rows = np.random.default_rng(2).permutation(table.rows)[:100]
    part = table.take(rows).take(np.arange(50)[::-1])
    alone = CodedTable(SCHEMA, table.frame[rows][np.arange(50)[::-1]])
    assert part.frame.equals(alone.frame)
    for name, codes in alone.codes(SCHEMA.attributes).items():
        assert np.array_equal(part.codes([name])[name], codes)
        assert part.codes([name])[name].dtype == codes.dtype
    assert np.array_equal(part.cells(NAMES[:2]), alone.cells(NAMES[:2]))


def test_each_column_is_coded_once_for_a_table_and_all_its_parts(table: CodedTable, encodes: list[str]) -> None:
    for k in range(3):
        table.take(np.arange(k, table.rows, 3)).cells(NAMES)
    table.codes(NAMES)
    assert sorted(set(encodes)) == sorted(encodes)


def test_a_part_without_a_column_does_not_know_its_codes(table: CodedTable) -> None:
    table.codes(["sex"])
    part = table.take(np.arange(20), [c for c in table.frame.columns if c != "sex"])
    with pytest.raises(TableMismatch, match=r"no column sex"):
        part.codes(["sex"])


def test_other_values_are_coded_anew(table: CodedTable) -> None:
    before = table.codes(["sex"])["sex"]
    changed = table.with_frame(table.frame.with_columns(sex=pl.lit("F")))
    assert len(np.unique(changed.codes(["sex"])["sex"])) == 1 < len(np.unique(before))


def test_what_is_shown_of_a_table_tells_of_no_row(table: CodedTable) -> None:
    assert repr(table) == f"CodedTable('frame', {len(PEOPLE.columns)} columns)"


_AS_A_USER_DOES = """
import pandas as pd
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData
from hedgerow.errors import JobError
schema = Schema.loads('[columns.sex]\\nkind = "categorical"\\nvalues = ["F", "M"]\\nother = "?"')
for role in ("relative", "target"):
    for given in (pd.DataFrame({"sex": ["F"]}), "public.csv"):
        try:
            PublicData(schema, **{role: given})
        except JobError as refusal:
            print(refusal)
try:
    PublicData("schema.toml")
except JobError as refusal:
    print(refusal)
"""


def test_a_table_that_is_not_coded_is_refused_with_the_cure() -> None:
    """In a process of its own, since here annotations are checked first."""
    run = subprocess.run([sys.executable, "-c", _AS_A_USER_DOES], check=True, capture_output=True, text=True)
    for role in ("relative", "target"):
        for kind in ("pandas DataFrame", "str"):
            assert f"{role} is a {kind}.\nRead it first: {role}=CodedTable.read(table, schema" in run.stdout
    assert run.stdout.count("No confidential row was read and nothing was spent.") == 5
    assert "schema is a str" in run.stdout
