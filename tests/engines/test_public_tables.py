"""Public tables and targets that lie in Spark or PostgreSQL: brought here in one order, however they are divided."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError, JobError
from hedgerow.job.file import read_published
from hedgerow.public import CodedTable, as_brought, brought, columns_at, open_public, shown_address, spark_files
from tests.engines.test_bundles import MAY_DIFFER, TABLE, tape
from tests.engines.world import in_postgresql, table
from tests.privacy.world import SCHEMA

tape = tape  # the fixture
KNOWN = TABLE.filter(
    pl.col("sex").is_in(["F", "M"]), pl.col("area").is_in(["n", "s", "w"]), pl.col("pay").is_between(0, 39)
)
PUBLIC, TARGET = TABLE.sample(500, seed=2), KNOWN.select("sex", "area", "pay")
ODD = {"x": [0.0, -0.0, float("nan"), None, 2.0], "a": ["é", "z", "Z", None, "a"], "^n.*$": [1, 2, 3, 4, 5]}


@pytest.fixture
def office(spark: Any, tmp_path: Path) -> Any:
    """A database with the same two tables twice: in one piece, and in several, rows in another order."""
    spark.sql("CREATE DATABASE office")
    for name, rows in (("public", PUBLIC), ("target", TARGET)):
        rows.write_parquet(tmp_path / f"{name}-whole.parquet")
        frame = spark.read.parquet(str(tmp_path / f"{name}-whole.parquet"))
        for pieces, placed in (("one", frame.coalesce(1)), ("many", frame.repartition(5, "pay"))):
            placed.write.option("path", str(tmp_path / f"{name}-{pieces}")).saveAsTable(f"office.{name}_{pieces}")
    yield spark
    spark.sql("DROP DATABASE office CASCADE")


def the_job(folder: Path, public: Any, target: Any) -> hr.Job:
    """Labels for the rows of a target, with the help of a public table; the confidential table is a file."""
    folder.mkdir()
    TABLE.write_parquet(folder / "people.parquet")
    return hr.Job(
        confidential=hr.Confidential(folder / "people.parquet"),
        public=hr.Public(public, provenance="made up"),
        target=hr.Target(target),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(2),
        recipe=hr.recipes.GuidedTree(columns=["race"]),
        ledger=str(folder / "ledger.db"),
        outside=1.0,
        seed=1,
    )


def typed(*words: str) -> tuple[int, str]:
    """The exit code of a command in this process, whose session it takes, and what it said."""
    done = CliRunner().invoke(app, words)
    refused = done.exception if isinstance(done.exception, HedgerowError) else None
    return (refused.exit_code, str(refused)) if refused else (done.exit_code, done.stdout)


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in MAY_DIFFER and p.is_file()}


def test_two_partitionings_of_public_and_target_give_the_same_bundle_byte_by_byte(
    office: Any, tape: Any, tmp_path: Path
) -> None:
    """From a job file: planned, run and verified. Rows of the release stand in the order of the target's columns."""
    made, hashes = [], []
    for pieces in ("one", "many"):
        tape()
        job = the_job(tmp_path / pieces, f"spark:office.public_{pieces}", f"spark:office.target_{pieces}")
        job = hr.Job.load(job.save(tmp_path / pieces / "job.toml"))
        assert job.confidential.public_columns == ("sex", "pay", "area"), "from the header of the target"
        assert job.plan().requests
        release = job.run(tmp_path / pieces / "release")
        assert release.verify(), str(release.verify())
        assert release.records.select(TARGET.columns).equals(TARGET.sort("sex", "area", "pay"))
        made.append(files_of(tmp_path / pieces / "release"))
        inputs = release.statement.public_inputs[1:]
        assert [i.name for i in inputs] == [f"spark:office.public_{pieces}", f"spark:office.target_{pieces}"]
        hashes.append([i.sha256 for i in inputs])
    assert (
        made[0] == made[1] and hashes[0] == hashes[1] and {"records.parquet", "measurements.parquet"} < set(made[0])
    )


def test_a_bundle_of_served_tables_is_verified_by_whoever_has_the_rows_and_asks_no_server_by_itself(
    office: Any, tmp_path: Path
) -> None:
    """A stranger's bundle may name any address: what is asked is what the reader names."""
    the_job(tmp_path / "job", "spark:office.public_many", "spark:office.target_many").run(
        tmp_path / "job" / "release"
    )
    release, here = tmp_path / "job" / "release", tmp_path / "here"
    shutil.copytree(release, here / "release")
    assert "--target spark:office.target_many" in (release / "report.html").read_text("utf-8")
    tried = {
        "nothing": [],
        "the address": ["--public", "spark:office.public_one", "--target", "spark:office.target_one"],
        "a file of the same rows": [
            *("--public", str(tmp_path / "public-whole.parquet")),
            *("--target", str(tmp_path / "target-whole.parquet")),
        ],
        "another table": ["--target", "spark:office.public_one"],
    }
    codes = {what: typed("verify", str(here / "release"), *words)[0] for what, words in tried.items()}
    assert codes == {"nothing": 7, "the address": 0, "a file of the same rows": 0, "another table": 2}
    assert hr.Release.read(here / "release").verify(
        public=office.table("office.public_many"), target=office.table("office.target_one").repartition(3)
    )
    text = (here / "release" / "job.toml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("public_columns")]
    forged = "\n".join(lines).replace("spark:office.target_many", "postgresql://127.0.0.1:1/office#people")
    published = read_published(forged, here / "job.toml", hr.Schema.loads(SCHEMA))
    assert published.target is not None and published.confidential.public_columns == ()


def test_rows_stand_in_one_order_wherever_they_come_from(
    spark: Any, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark in two partitionings, PostgreSQL, a file: numbers by size, text by its bytes, one zero, hours of days."""
    rows = table(400).with_columns(pl.col("sex").replace("", "y"))  # PostgreSQL is given "" as NULL
    rows = rows.with_columns(long=pl.format("a text of more than twelve bytes: {}", "note"))
    schema = hr.Schema.loads(
        '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "?"\nmissing = true\n'
    )
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.drop("yes").write_parquet(tmp_path / "fewer.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    frame.repartition(7).createOrReplaceTempView("the_rows")
    first = brought(frame)
    assert first.equals(brought("spark:the_rows")) and first.equals(brought((tmp_path / "rows.parquet").as_uri()))
    assert first.columns == rows.columns and first["id"].is_sorted() and first["seen"].dtype == pl.Date
    hashes = {
        CodedTable.read(place, schema, "target").sha256
        for place in (
            frame.drop("yes").repartition(3),
            in_postgresql(rows.drop("yes"), database, "brought"),
            as_brought(open_public(tmp_path / "fewer.parquet")),
        )
    }
    assert len(hashes) == 1
    pl.DataFrame(ODD).write_parquet(tmp_path / "odd.parquet")
    found = brought(spark.read.parquet(str(tmp_path / "odd.parquet")).repartition(4))
    assert [str(x) for x in found["x"]] == ["None", "0.0", "0.0", "2.0", "nan"]
    assert found["a"].to_list() == [None, "z", "é", "a", "Z"] and found.columns == [*ODD]
    address = in_postgresql(rows.select("sex", "age"), database, "two columns")
    assert columns_at(address) == ("sex", "age") and "@" not in shown_address(address)
    for wrong in (f"{database}#nothing", "postgresql://me:secret@127.0.0.1:1/office#people"):
        with pytest.raises(JobError, match="PostgreSQL does not answer, or has no table") as told:
            brought(wrong)
        assert "secret" not in str(told.value)


def test_a_table_that_cannot_be_brought_is_refused_in_words(spark: Any) -> None:
    from pyspark.sql import functions as f

    nested = spark.range(3).select(f.array("id").alias("ids"))
    broken = spark.range(3).select(f.raise_error(f.lit("row 17 is me")).cast("string").alias("x"))
    for odd in (nested, broken):
        with pytest.raises(JobError, match="could not be: it has no\\ncolumn of text.*maxResultSize") as told:
            brought(odd)
        assert "row 17" not in str(told.value)


def test_the_confidential_table_by_another_name_is_no_public_table(office: Any, tmp_path: Path) -> None:
    """By its files, whatever they are called; no row is looked at."""
    assert len(spark_files("spark:office.public_many")) > 1
    folder = Path(tmp_path / "public-one")
    part = next(folder.glob("*.parquet"))
    for i, (secret, public) in enumerate(
        (
            (folder, "spark:office.public_one"),
            (part, f"spark:parquet.`{folder}`"),
            ("spark:office.public_one", "spark:OFFICE.Public_One"),
            ("spark:office.public_one", folder.as_uri()),
            (office.table("office.public_one").where("pay > 3"), "spark:office.public_one"),
            ("postgresql://me@db/office#people", "postgres://you:x@db/office?sslmode=require#public.people"),
        )
    ):
        job = hr.Job(
            confidential=hr.Confidential(secret, name="people"),
            public=hr.Public(public),
            schema=hr.Schema.loads(SCHEMA),
            budget=hr.Budget(2),
            recipe=hr.recipes.Independent(),
            ledger=str(tmp_path / f"{i}.db"),
        )
        with pytest.raises(JobError, match=r"confidential (table itself|one)") as told:
            job.prepare()
        assert "No confidential row was read" in str(told.value)


def test_schemas_are_drafted_from_and_held_against_public_tables_of_spark(
    office: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert typed("schema", "init", "spark:office.target_many", "--out", "drafted.toml")[0] == 0
    assert "drafted from spark:office.target_many" in Path("drafted.toml").read_text("utf-8")
    code, told = typed("schema", "check", "drafted.toml", "spark:office.target_one", "--json")
    assert code == 0 and json.loads(told)["table"]["rows"] == TARGET.height
    Path("job.toml").write_text('[confidential]\ntable = "spark:office.target_one"\n', "utf-8")
    for words in (
        ("check", "drafted.toml", "spark:office.target_one"),
        ("init", "spark:office.target_one", "--force"),
    ):
        code, told = typed("schema", *words)
        assert code == 2 and "as its confidential table" in told
