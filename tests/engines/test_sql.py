"""A database gives the counts of a frame, value by value, and says nothing of what it holds."""

import itertools
import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings

from hedgerow.counting import CountPlan
from hedgerow.engines.duckdb import DuckDb
from hedgerow.engines.postgresql import PostgreSql
from hedgerow.engines.sql import SqlCounter
from hedgerow.errors import JobError, TableMismatch
from hedgerow.private.local import LocalCounter
from hedgerow.public import TOTAL, CodedColumn, Coding, Guarantee, Marginal
from hedgerow.public.files import open_source
from tests.engines.world import in_duckdb, in_postgresql, table
from tests.unit.counting.worlds import World, coding_of, worlds

NUMBERS = itertools.count()


def count(questions: Any, frame: pl.DataFrame, coding: Coding) -> Any:
    """The counts of a frame by the local counter."""
    plan = CountPlan(questions, coding)
    return plan.split(LocalCounter(open_source(frame), coding, Guarantee()).count(plan))


duckdb = pytest.importorskip("duckdb", reason="needs hedgerow[sql]")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("duckdb") / "tables.db"


def made(path: Path, statement: str, rows: pl.DataFrame | None = None) -> str:
    """The address of a table that ``statement``, after CREATE TABLE ... AS, makes; of ``rows`` where given."""
    with duckdb.connect(str(path)) as db:
        if rows is not None:
            db.register("rows", rows.to_arrow())
        db.execute(f'CREATE OR REPLACE TABLE "the ""table""" AS {statement}')
    return f'duckdb:{path}#the "table"'


def counted(name: str, questions: list[Marginal], coding: Coding) -> list[list[int]]:
    plan = CountPlan(questions, coding)
    return [c.tolist() for c in plan.split(SqlCounter(DuckDb(name), coding, Guarantee()).count(plan))]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(world=worlds())
def test_a_database_gives_the_counts_of_a_frame(path: Path, world: World) -> None:
    name = made(path, "SELECT * FROM rows", world.table)
    there = counted(name, world.questions, world.coding)
    for question, mine, its in zip(
        world.questions, count(world.questions, world.table, world.coding), there, strict=True
    ):
        assert mine.tolist() == its, question


def test_other_number_types_are_read_as_numbers(path: Path) -> None:
    kinds = ["UTINYINT", "SMALLINT", "HUGEINT", "DECIMAL(9, 2)", "FLOAT", "VARCHAR", "ENUM('1', '30')"]
    chosen = ", ".join(f"v::{kind} AS c{i}" for i, kind in enumerate(kinds))
    name = made(path, f"SELECT {chosen} FROM (VALUES ('1'), ('30'), (NULL)) t(v)")
    rules = [CodedColumn(f"c{i}", "number", 3, missing=2, other=2, edges=(10.0,)) for i in range(len(kinds))]
    assert counted(name, [Marginal((r.name,)) for r in rules], Coding(tuple(rules))) == [[1, 1, 1]] * 7


def test_infinite_days_go_to_the_outer_bins(path: Path) -> None:
    name = made(path, "SELECT unnest(['infinity'::DATE, '-infinity'::DATE, NULL]) AS d")
    rule = CodedColumn("d", "date", 3, missing=2, other=2, edges=(float(date(2000, 1, 1).toordinal() - 719163),))
    assert counted(name, [Marginal(("d",))], Coding((rule,))) == [[1, 1, 1]]


def test_one_row_never_decides_how_another_is_coded_whatever_the_collation(path: Path) -> None:
    """With NOCASE, DISTINCT would keep one of f and F for both."""
    rule = CodedColumn("sex", "text", 3, 2, 2, ("F", "f"), (0, 1))
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE OR REPLACE TABLE loose (sex VARCHAR COLLATE NOCASE)")
        db.execute("INSERT INTO loose VALUES ('F'), ('f'), ('f')")
    assert counted(f"duckdb:{path}#loose", [Marginal(("sex",))], Coding((rule,))) == [[1, 2, 0]]


def test_an_empty_table_has_zero_rows(path: Path) -> None:
    name = made(path, "SELECT * FROM rows", pl.DataFrame({"a": pl.Series([], dtype=pl.String)}))
    assert counted(name, [TOTAL, Marginal(("a",))], coding_of({"a": 2})) == [[0], [0, 0]]


def test_nothing_is_written_to_the_file_or_beside_it(path: Path) -> None:
    name = made(path, "SELECT * FROM rows", table())
    before = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    assert counted(name, [Marginal(("sex",))], coding_of({"sex": 2}))
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == before


def test_an_absent_table_is_named_before_a_row_is_read(path: Path) -> None:
    made(path, "SELECT 1 AS a")
    with pytest.raises(JobError, match="no table nowhere"):
        DuckDb(f"duckdb:{path}#nowhere")


def test_columns_without_a_text_are_no_columns(path: Path) -> None:
    name = made(path, "SELECT [1] AS a, '\\x00'::BLOB AS b, 'x' AS c, {'y': 1} AS d")
    assert [*DuckDb(name).kinds] == ["c"]
    name = made(
        path, "SELECT 1::BIGNUM AS a, 1::VARIANT AS b, 'x' AS c"
    )  # no reader has these: it ended after booking
    assert [*DuckDb(name).kinds] == ["c"]


def test_shapes_of_postgresql_which_it_cannot_tell_apart_are_no_columns(database: str) -> None:
    import psycopg

    with psycopg.connect(database, autocommit=True) as db:
        db.execute("CREATE TABLE shapes (p point, b box, c circle, l line, n int)")
    assert [*PostgreSql(f"{database}#shapes").kinds] == ["n"]


def test_postgresql_reads_its_own_types(database: str) -> None:
    import psycopg

    kinds = ["smallint", "numeric(9, 2)", "real", "varchar(3)", "char(4)", "numeric"]
    with psycopg.connect(database, autocommit=True) as db:
        chosen = ", ".join(f"v::{kind} AS c{i}" for i, kind in enumerate(kinds))
        db.execute(f"CREATE TABLE kinds AS SELECT {chosen} FROM (VALUES ('1'), ('30'), (NULL)) t(v)".encode())
        db.execute("CREATE TABLE days AS SELECT unnest(ARRAY['infinity', '-infinity', NULL]::date[]) AS d")
        db.execute("CREATE VIEW looks AS SELECT * FROM kinds")
    rules = tuple(CodedColumn(f"c{i}", "number", 3, 2, 2, edges=(10.0,)) for i in range(len(kinds)))
    plan = CountPlan([Marginal((r.name,)) for r in rules], Coding(rules))
    counter = SqlCounter(PostgreSql(f"{database}#kinds"), Coding(rules), Guarantee())
    assert counter.count(plan).tolist() == [1, 1, 1] * len(kinds)
    rule = Coding((CodedColumn("d", "date", 3, 2, 2, edges=(0.0,)),))
    days = SqlCounter(PostgreSql(f"{database}#days"), rule, Guarantee())
    assert days.count(CountPlan([Marginal(("d",))], rule)).tolist() == [1, 1, 1]
    with pytest.raises(TableMismatch, match="is a view"):
        PostgreSql(f"{database}#looks")
    with pytest.raises(JobError, match="no table nowhere"):
        PostgreSql(f"{database}#nowhere")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(world=worlds())
def test_postgresql_gives_the_counts_of_a_frame(database: str, world: World) -> None:
    assume(world.table.height and "small floats" not in {kind for kind, _ in world.cells.values()})
    plan, name = CountPlan(world.questions, world.coding), f"drawn {next(NUMBERS)}"
    counter: Any = SqlCounter(PostgreSql(in_postgresql(world.table, database, name)), world.coding, Guarantee())
    here = count(world.questions, world.table, world.coding)
    assert np.array_equal(np.concatenate([*here, np.zeros(0, np.int64)]), counter.count(plan))


SPILLED = """
import os, sys, tempfile
from pathlib import Path
from hedgerow.engines.duckdb import DuckDb
database = DuckDb(sys.argv[1])
database.run("SET memory_limit = '40MB'")
database.run("CREATE TEMPORARY TABLE t AS SELECT 'secret-' || (i * 7919 % 1000003) AS v FROM range(3000000) AS q(i)")
(folder,) = Path(tempfile.gettempdir()).iterdir()
held = sum(f.read_bytes().count(b"secret-") for f in folder.iterdir())
print(oct(folder.stat().st_mode & 0o777), held > 1000, flush=True)
if sys.argv[2] != "end":
    os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a shell, and signals")
@pytest.mark.parametrize("end", ["end", str(int(signal.SIGTERM)), str(int(signal.SIGKILL))])
def test_what_duckdb_wrote_for_a_while_goes_with_the_process_even_if_that_is_killed(tmp_path: Path, end: str) -> None:
    """DuckDB writes values as they are; the folder is for its owner alone."""
    place, scratch = in_duckdb(table(50), tmp_path / "t.db"), tmp_path / "scratch"
    scratch.mkdir()
    line = [sys.executable, "-c", SPILLED, place, end]
    env = {**os.environ, "TMPDIR": str(scratch)}
    ran = subprocess.run(line, env=env, capture_output=True, text=True, check=False)
    assert ran.stdout == "0o700 True\n", ran.stderr
    assert ran.returncode == (0 if end == "end" else -int(end))
    late = monotonic() + 20
    while list(scratch.iterdir()) and monotonic() < late:
        sleep(0.05)
    assert list(scratch.iterdir()) == [], "values lie there in the clear"
