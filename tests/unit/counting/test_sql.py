"""SQL gives the counts that streaming gives, value by value."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from hedgerow.counting import count, count_sql
from hedgerow.errors import JobError, TableMismatch
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.question import TOTAL, Marginal
from tests.unit.counting.worlds import World, coding_of, worlds

duckdb = pytest.importorskip("duckdb", reason="needs hedgerow[sql]")


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with duckdb.connect() as connection:
        yield connection


def in_database(connection: Any, table: pl.DataFrame) -> str:
    connection.register("incoming", table.to_arrow())
    connection.execute('CREATE OR REPLACE TABLE "the ""table""" AS SELECT * FROM incoming')
    connection.unregister("incoming")
    return 'the "table"'


@settings(max_examples=80)
@given(world=worlds())
def test_a_database_gives_the_counts_of_a_frame(connection: Any, world: World) -> None:
    name = in_database(connection, world.table)
    here = count(world.questions, world.table, world.coding)
    there = count_sql(world.questions, connection, name, world.coding)
    for question, mine, its in zip(world.questions, here, there, strict=True):
        assert np.array_equal(mine, its), question


def test_other_number_types_are_read_as_numbers(connection: Any) -> None:
    kinds = ["UTINYINT", "SMALLINT", "HUGEINT", "DECIMAL(9, 2)", "FLOAT", "VARCHAR", "ENUM('1', '30')"]
    chosen = ", ".join(f"v::{kind} AS c{i}" for i, kind in enumerate(kinds))
    connection.execute(f"CREATE OR REPLACE TABLE numbers AS SELECT {chosen} FROM (VALUES ('1'), ('30'), (NULL)) t(v)")
    rules = [CodedColumn(f"c{i}", "number", 3, missing=2, other=2, edges=(10.0,)) for i in range(len(kinds))]
    questions = [Marginal((r.name,)) for r in rules]
    assert [c.tolist() for c in count_sql(questions, connection, "numbers", Coding(tuple(rules)))] == [[1, 1, 1]] * 7


def test_infinite_days_go_to_the_outer_bins(connection: Any) -> None:
    connection.execute(
        "CREATE OR REPLACE TABLE days AS SELECT unnest(['infinity'::DATE, '-infinity'::DATE, NULL]) AS d"
    )
    rule = CodedColumn("d", "date", 3, missing=2, other=2, edges=(float(date(2000, 1, 1).toordinal() - 719163),))
    assert count_sql([Marginal(("d",))], connection, "days", Coding((rule,)))[0].tolist() == [1, 1, 1]


def test_more_questions_than_one_statement_takes(connection: Any) -> None:
    name = in_database(connection, pl.DataFrame({"a": ["x", "y"]}))
    counts = count_sql([TOTAL, Marginal(("a",))] * 100, connection, name, coding_of({"a": 2}))
    assert [c.tolist() for c in counts] == [[2], [2, 0]] * 100


def test_an_empty_table_has_zero_rows(connection: Any) -> None:
    name = in_database(connection, pl.DataFrame({"a": pl.Series([], dtype=pl.String)}))
    assert count_sql([TOTAL], connection, name, coding_of({"a": 2}))[0].tolist() == [0]


def test_nothing_is_left_behind_in_the_database(connection: Any) -> None:
    name = in_database(connection, pl.DataFrame({"a": ["x"]}))
    before = connection.execute("SELECT * FROM duckdb_tables()").fetchall()
    count_sql([Marginal(("a",))], connection, name, coding_of({"a": 2}))
    assert connection.execute("SELECT * FROM duckdb_tables()").fetchall() == before


def test_an_absent_table_or_column_is_named_before_a_row_is_read(connection: Any) -> None:
    with pytest.raises(JobError, match="no table"):
        count_sql([TOTAL], connection, "nowhere", coding_of({"a": 2}))
    connection.execute("CREATE OR REPLACE TABLE nested AS SELECT [1] AS a, '\\x00'::BLOB AS b")
    for column in "abc":
        with pytest.raises(TableMismatch, match=f"named {column}"):
            count_sql([Marginal((column,))], connection, "nested", coding_of({column: 2}))


def test_a_date_format_that_only_polars_reads_is_refused(connection: Any) -> None:
    name = in_database(connection, pl.DataFrame({"d": ["2020-01-01T10:20:30.5"]}))
    rule = CodedColumn("d", "date", 2, missing=0, other=0, edges=(0.0,), date_format="%Y-%m-%dT%H:%M:%S%.f")
    with pytest.raises(JobError, match="cannot read dates written as"):
        count_sql([Marginal(("d",))], connection, name, Coding((rule,)))


def test_an_error_of_the_database_quotes_no_value(connection: Any) -> None:
    connection.execute(
        "CREATE OR REPLACE VIEW broken AS SELECT CAST('secret' || i AS INTEGER) AS a FROM range(3) t(i)"
    )
    with pytest.raises(TableMismatch) as refused:
        count_sql([Marginal(("a",))], connection, "broken", coding_of({"a": 2}))
    assert "secret" not in str(refused.value)
    assert refused.value.__context__ is None and refused.value.__cause__ is None
