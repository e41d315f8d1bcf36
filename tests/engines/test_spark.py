"""Spark: partitions do not matter, a task that is lost counts once, and nothing tells a value."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars import selectors as cs

from hedgerow.counting import CountPlan
from hedgerow.engines import spark as module
from hedgerow.engines import spark_rows, sql
from hedgerow.engines.duckdb import DuckDb
from hedgerow.engines.spark import SparkCounter, must_be_rows
from hedgerow.engines.sql import SqlCounter
from hedgerow.errors import JobError, TableMismatch
from hedgerow.private.rows import ConfidentialRows
from hedgerow.public import Marginal, spark_columns, spark_session, spark_table
from tests.engines import world
from tests.engines.failing import FailsOnce, Tells
from tests.engines.test_counters import TABLE, agree, local

PLAN = CountPlan([Marginal(("sex", "age"))], world.CODING)


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return spark.read.parquet(str(world.in_folder(TABLE, tmp_path_factory.mktemp("frame") / "folder")))


@pytest.mark.thorough
def test_partitions_do_not_matter(frame: Any) -> None:
    for parts in (1, 5):
        assert agree(
            SparkCounter(frame.repartition(parts), world.CODING, world.PEOPLE, "age"), local(world.PEOPLE, "age")
        )


def test_plain_files_are_read_by_the_workers_themselves_and_count_alike(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLE.with_columns(cs.temporal().cast(pl.String))
    frame = spark.read.parquet(str(world.in_folder(table, tmp_path / "a folder")))
    monkeypatch.setattr(spark_rows, "PART", 300)  # rows: several parts to a file
    assert spark_rows.plain_files(frame, table.columns) == []  # a group of rows is larger
    monkeypatch.undo()
    assert [rows for _, _, rows, _ in spark_rows.plain_files(frame, table.columns)] == [
        len(table[i::3]) for i in range(3)
    ]
    monkeypatch.setattr(module, "merged", None)  # what Spark itself reads would come that way
    for promise, order in ((world.RECORDS, ""), (world.COUNTS, "")):
        assert agree(SparkCounter(frame, world.CODING, promise, order), local(promise, order, table))
    key = b"k" * 16
    mine = SparkCounter(frame, world.CODING, world.RECORDS).fingerprint(key)
    assert mine == local(world.RECORDS, "", table).fingerprint(key)


def test_groups_of_rows_come_to_tasks_whole_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, kinds = tmp_path / "t.parquet", {"a": pl.Int64}
    pl.DataFrame({"a": range(1000)}).write_parquet(path, row_group_size=150)
    monkeypatch.setattr(spark_rows, "PART", 400)
    due = spark_rows._parts(path.as_uri(), kinds)
    assert [part[:3] for part in due] == [(str(path), *some) for some in ((0, 300), (300, 300), (600, 400))]
    batch = pl.DataFrame({"id": [2, 0]}).to_arrow()
    found = pl.concat(spark_rows.opened(due, iter([batch]), ["a"]))["a"].to_list()
    assert found == [*range(600, 1000), *range(300)]
    pl.DataFrame({"a": range(1000)}).reverse().write_parquet(path, row_group_size=150)
    with pytest.raises(ValueError, match="written to meanwhile"):  # else rows of both files would count
        list(spark_rows.opened(due, iter([batch]), ["a"]))


def test_what_spark_may_see_otherwise_than_the_files_say_is_read_by_spark(spark: Any, tmp_path: Path) -> None:
    table, folder = TABLE.select("sex", "age", "born"), tmp_path / "folder"
    plain = spark.read.parquet(str(world.in_folder(table, folder)))
    some = ["sex", "age"]
    assert spark_rows.plain_files(plain, some)
    plain.write.partitionBy("sex").parquet(str(tmp_path / "by sex"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
    table.cast({"age": pl.Int32}).write_parquet(tmp_path / "other" / "b.parquet")
    plain.createOrReplaceTempView("a_view")
    for frame, columns in (
        (plain.select("sex", "age"), some),
        (plain.where("age > 3"), some),
        (plain, ["sex", "born"]),  # days of old calendars
        (spark.table("a_view"), some),
        (spark.read.option("mergeSchema", "true").parquet(str(folder)), some),
        (spark.read.parquet(str(tmp_path / "by sex")), some),
        (spark.read.parquet(str(tmp_path / "other")), some),
    ):
        assert spark_rows.plain_files(frame, columns) == []


@pytest.mark.thorough
def test_large_sums_are_added_up_by_the_workers(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 10)
    assert agree(SparkCounter(frame, world.CODING, world.RECORDS), local(world.RECORDS))


def test_a_task_that_fails_in_the_middle_is_counted_once(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replace(PLAN, mapping=FailsOnce(tmp_path), looks=("sex", "age"))
    counter = SparkCounter(frame.repartition(4), world.CODING, world.RECORDS)
    assert np.array_equal(counter.count(plan), local(world.RECORDS).count(PLAN))
    assert (tmp_path / "failed").exists(), "a task did fail"


def test_a_cap_for_each_partition_would_be_seen(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(frame), "repartition", lambda self, *by: self)
    with pytest.raises(AssertionError):
        agree(SparkCounter(frame, world.CODING, world.PEOPLE, "age"), local(world.PEOPLE, "age"))


@pytest.mark.parametrize("most", [200, 2])
def test_people_are_brought_together_in_as_many_partitions_as_rows_come_in(spark: Any, frame: Any, most: int) -> None:
    """Not in Spark's 200: each request begins a task for every one, and took 13 seconds instead of half a one."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, most)
    try:
        rows = frame.repartition(3)
        codes = SparkCounter(rows, world.CODING, world.PEOPLE, "age")._codes()
        assert codes.rdd.getNumPartitions() == min(3, most)
    finally:
        spark.conf.set(name, before)


def test_an_order_that_is_ignored_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "ranks", lambda values: pl.zeros(len(values), pl.Int64, eager=True))
    counter = SqlCounter(DuckDb(world.in_duckdb(TABLE, tmp_path / "t.db")), world.CODING, world.PEOPLE, "seen")
    with pytest.raises(AssertionError):
        agree(counter, local(world.PEOPLE, "seen"))


def test_an_error_on_a_worker_tells_nothing(frame: Any) -> None:
    plan = replace(PLAN, mapping=Tells("secret-42"), looks=("sex", "age"))
    with pytest.raises(Exception, match="could not be counted") as told:
        SparkCounter(frame, world.CODING, world.RECORDS).count(plan)
    assert "secret-42" not in repr(told.value) + str(told.value)
    rows = ConfidentialRows(frame, world.CODING, world.RECORDS, SparkCounter)
    with pytest.raises(TableMismatch, match="could not be read to its end") as refused:
        rows.count(plan)
    assert refused.value.__context__ is None and refused.value.__cause__ is None


@pytest.mark.parametrize("quotes", ["rows", "run"])
def test_an_error_of_a_database_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quotes: str) -> None:
    """DuckDB's own errors quote values, as this one does."""

    def fails(self: DuckDb, statement: str) -> None:
        self._db.execute("SELECT CAST('secret-42' AS INTEGER)").fetchall()

    database = DuckDb(world.in_duckdb(TABLE, tmp_path / "t.db"))
    monkeypatch.setattr(DuckDb, quotes, fails)
    with pytest.raises(Exception, match="secret-42|cannot be read"):
        SqlCounter(database, world.CODING, world.RECORDS).count(PLAN)
    rows = ConfidentialRows(database, world.CODING, world.RECORDS, SqlCounter)
    for ask in (
        (lambda: rows.count(PLAN), lambda: rows.fingerprint(b"k" * 16))
        if quotes == "rows"
        else (lambda: rows.count(PLAN),)
    ):
        with pytest.raises(TableMismatch, match="could not be read to its end") as refused:
            ask()
        assert "secret" not in str(refused.value) and refused.value.__context__ is None


def test_a_frame_made_of_several_rows_is_refused(frame: Any) -> None:
    from pyspark.sql import functions as f

    must_be_rows(frame.where("age > 3").select("sex", "age"))
    joined = frame.join(frame.select("id"), "id")
    for odd in (joined, frame.groupBy("sex").count(), frame.sample(0.5), frame.limit(3), frame.select(f.max("age"))):
        with pytest.raises(TableMismatch, match="is the result of"):
            must_be_rows(odd)


def test_a_frame_whose_rows_look_at_others_by_subqueries_or_places_is_refused(spark: Any, frame: Any) -> None:
    from pyspark.sql import functions as f

    frame.createOrReplaceTempView("looked_at")
    for query in (
        "SELECT sex, (SELECT max(age) FROM looked_at) AS age FROM looked_at",
        "SELECT * FROM looked_at WHERE age > (SELECT avg(age) FROM looked_at)",
        "SELECT * FROM looked_at WHERE id IN (SELECT id FROM looked_at GROUP BY id HAVING count(*) > 1)",
        "SELECT * FROM looked_at a WHERE EXISTS (SELECT 1 FROM looked_at b WHERE b.id = a.id AND b.age > a.age)",
    ):
        with pytest.raises(TableMismatch, match="a subquery"):
            must_be_rows(spark.sql(query))
    with pytest.raises(TableMismatch, match="the place of a row"):
        must_be_rows(frame.withColumn("age", f.monotonically_increasing_id()).where("age > 3"))
    must_be_rows(spark.sql("SELECT sex, age + 1 AS age FROM looked_at WHERE age > 3"))


def test_a_frame_whose_rows_say_how_others_are_read_is_refused(spark: Any, tmp_path: Path) -> None:
    """One row more of text makes text of a column of numbers, "1.50" of 1.5; a quote may swallow other lines."""
    (tmp_path / "rows.json").write_text('{"pay": 1.50}\n')
    (tmp_path / "rows.csv").write_text("pay,sex\n1.50,F\n")
    for state in ("01", "02"):
        (tmp_path / "folder" / f"state={state}").mkdir(parents=True)
        pl.DataFrame({"pay": [1]}).write_parquet(tmp_path / "folder" / f"state={state}" / "rows.parquet")
    json, text, folder = (str(tmp_path / name) for name in ("rows.json", "rows.csv", "folder"))
    spark.read.json(json).createOrReplaceTempView("guessed")
    odd = [
        spark_table(spark, f"spark:json.`{json}`"),
        spark_table(spark, "spark:guessed"),
        spark.read.json(json).where("pay > 1").select("pay"),
        spark.read.csv(text, header=True, inferSchema=True),
        spark.read.csv(text, header=True, multiLine=True),
    ]
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    spark.conf.set(inference, "true")  # as it is in a session that is not ours
    odd.append(spark.read.parquet(folder))
    for frame in odd:
        with pytest.raises(TableMismatch, match="a look at all rows"):
            must_be_rows(frame)
    assert spark_session().conf.get(inference) == "false"
    assert must_be_rows(spark_table(spark, folder)).schema["state"].dataType.typeName() == "string"
    must_be_rows(spark.read.csv(text, header=True))


def test_an_absent_table_is_refused(spark: Any, tmp_path: Path) -> None:
    for name in (tmp_path / "nowhere", "spark:no.such"):
        with pytest.raises(JobError, match="Spark finds no table"):
            spark_table(spark, name)


SCRIPT = """
import sys
from dataclasses import replace
from hedgerow.engines.spark import SparkCounter
from hedgerow.public import spark_session
from tests.engines.failing import Tells
from tests.engines.test_spark import PLAN, world
frame = spark_session("local[1]").read.parquet(sys.argv[1])
try:
    plan = replace(PLAN, mapping=Tells("secret-42"), looks=("sex", "age"))
    SparkCounter(frame, world.CODING, world.RECORDS).count(plan)
except Exception as told:
    print("failed", told)
"""


@pytest.mark.thorough
def test_logs_of_the_driver_and_of_workers_tell_nothing(tmp_path: Path) -> None:
    folder = world.in_folder(TABLE, tmp_path / "folder")
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], capture_output=True, text=True, check=False)
    assert "failed" in done.stdout, done.stderr
    assert "secret-42" not in done.stdout + done.stderr


def test_a_partition_that_names_nobody_fails_no_task(spark: Any, tmp_path: Path) -> None:
    """It ended the run, after booking, until a person with a name came to stand in it: a row decided that."""
    rows = TABLE[:12].with_columns(id=pl.when(pl.int_range(12) == 0).then("id"))  # in one of three files
    frame = spark.read.parquet(str(world.in_folder(rows, tmp_path / "folder")))
    counter = SparkCounter(frame, world.CODING, world.PEOPLE, "age")
    assert np.array_equal(counter.count(PLAN), local(world.PEOPLE, "age", rows).count(PLAN))


def test_spans_of_time_are_no_columns(spark: Any) -> None:
    """As in files: months cannot be made text, and a run with them ended after booking."""
    frame = spark.sql("SELECT 1 AS n, INTERVAL '1' YEAR AS y, INTERVAL '1' DAY AS d")
    assert spark_columns(frame) == ("n",)
