"""A table of counts as input, from the command line: planned, rehearsed, run, verified, sampled, compared."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hedgerow.api.job import Job
from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.job.tables import Confidential, Public
from hedgerow.pipeline import PreparedJob
from hedgerow.public import CodedTable, Schema, expanded, looks_aggregated, open_source
from hedgerow.public.schema import Bins
from hedgerow.steward.exact import exact_table

SCHEMA = """
[columns.state]
kind = "categorical"
values = ["AL", "AK", "AZ"]
other = "other"
[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "other"
"""
JOB = """
[job]
recipe = "{recipe}"
[confidential]
table = "secret.csv"
{count}
[public]
table = "public.csv"
{public_count}
[budget]
epsilon = 1.0
[[use]]
name = "sex by state"
columns = ["state", "sex"]
tolerance = 0.05
"""
LINES = [("AL", "F", 6264), ("AL", "M", 3100), ("AK", "F", 0), ("AK", "M", 41), ("AZ", "F", 900), ("AZ", "M", 8)]


def table(lines: list[tuple[str, str, int]] = LINES) -> pl.DataFrame:
    return pl.DataFrame(lines, schema=["state", "sex", "n"], orient="row")


COUNT = 'count = "n"'


def write(folder: Path, *, count: str = COUNT, public: str = COUNT, recipe: str = "independent") -> Path:
    (folder / "schema.toml").write_text(SCHEMA, "utf-8")
    table().write_csv(folder / "secret.csv")
    table([(s, x, n // 2 + 5) for s, x, n in LINES]).write_csv(folder / "public.csv")
    job = folder / "job.toml"
    job.write_text(JOB.format(count=count, public_count=public, recipe=recipe), "utf-8")
    return job


def call(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(done.exception, HedgerowError):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, done.output


@pytest.mark.parametrize("recipe", ["independent", "public_blend", "integer_counts"])
def test_a_release_of_a_table_of_counts_has_as_many_records_as_it_counts(tmp_path: Path, recipe: str) -> None:
    job = write(tmp_path, recipe=recipe)
    if recipe == "integer_counts":
        job.write_text(job.read_text("utf-8") + '[integer_counts]\ncolumns = ["state", "sex"]\n', "utf-8")
    code, said = call("plan", job)
    assert code in (0, 5), said
    assert "record (a line stands for n of them)" in said
    assert "one of counts" not in said
    code, said = call("run", job, "--yes")
    assert code == 0, said
    release = tmp_path / "release"
    assert call("verify", release)[0] == 0
    total = sum(n for *_, n in LINES)
    if recipe == "integer_counts":
        made = int(pl.read_csv(release / "counts.csv")["count"].sum())
    else:
        made = pl.read_parquet(release / "records.parquet").height
        more = ("--out", tmp_path / "more", "--public", tmp_path / "public.csv")
        code, said = call("sample", release, "--copies", "1", *more)
        assert code == 0, said
    assert abs(made - total) < 200, "lines were counted, not records"
    said = (release / "privacy-statement.md").read_text("utf-8")
    assert "a line of the table stands for as many records as its column n says" in said


def test_the_steward_compares_records_not_lines(tmp_path: Path) -> None:
    job = write(tmp_path)
    assert call("run", job, "--yes")[0] == 0
    code, said = call("steward", "report", job)
    assert code in (0, 5), said
    loaded = Job.load(job)
    held = exact_table(loaded.confidential.table, Schema.load(tmp_path / "schema.toml"), loaded.confidential.count)
    assert held.reveal().rows == sum(n for *_, n in LINES)


def test_plan_asks_when_the_public_table_looks_like_one_of_counts(tmp_path: Path) -> None:
    job = write(tmp_path, count="", public="")
    code, said = call("plan", job)
    assert code in (0, 5), said
    assert 'count = "n" below [public]' in said
    assert 'count = "n" below [confidential]' in said
    remarks = " ".join(json.loads(call("plan", job, "--json")[1])["remarks"])
    assert "now each of its lines is counted as one record" in remarks
    said = call("plan", write(tmp_path, count=""))[1]
    assert "below [public]" not in said and 'count = "n" below [confidential]' in said


def test_an_ordinary_public_table_is_not_asked_about(tmp_path: Path) -> None:
    job = write(tmp_path, count="", public="")
    rng = np.random.default_rng(0)
    people = table().select("state", "sex").sample(300, with_replacement=True, seed=1)
    people.with_columns(n=pl.Series(rng.integers(0, 9, 300))).write_csv(tmp_path / "public.csv")
    assert "below [" not in call("plan", job)[1]


def test_a_public_count_that_is_none_is_refused_with_its_row(tmp_path: Path) -> None:
    job = write(tmp_path)
    for bad in ("many", "-1", "2.5", "1000000001", ""):
        (tmp_path / "public.csv").write_text(f"state,sex,n\nAL,F,3\nAK,M,{bad}\n", "utf-8")
        code, said = call("plan", job)
        assert code == 3, said
        assert "Row 2 of" in said and "whole number" in said


def test_count_and_what_does_not_go_with_it(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="do not go together"):
        write(tmp_path, count='count = "n"\nunit = "person"\nperson = "id"')
        Job.load(tmp_path / "job.toml")
    job = write(tmp_path)
    column = '[columns.n]\nkind = "integer"\nbins = { low = 0, high = 9, width = 3 }'
    (tmp_path / "schema.toml").write_text(SCHEMA + column)
    with pytest.raises(JobError, match=r"Take \[columns.n\] out"):
        Job.load(job)
    with pytest.raises(JobError, match="write the name of a column"):
        Confidential(table(), name="x", count=3)  # type: ignore[arg-type]
    (tmp_path / "schema.toml").write_text(SCHEMA)
    table().drop("n").write_csv(tmp_path / "secret.csv")
    code, said = call("run", job, "--yes")
    assert (code, "no column n" in said, "nothing was spent" in said) == (3, True, True)


def test_a_job_with_counts_reads_back_equal(tmp_path: Path) -> None:
    job = Job.load(write(tmp_path))
    saved = job.save(tmp_path / "again.toml")
    assert 'count = "n"' in saved.read_text("utf-8")
    assert Job.load(saved) == job
    assert "count='n'" in repr(job.confidential)


def test_a_target_of_counts_gives_a_row_for_each_record(tmp_path: Path) -> None:
    job = write(tmp_path)
    given = table().group_by("state", maintain_order=True).agg(pl.col("n").sum())
    given.write_csv(tmp_path / "target.csv")
    target = '[target]\ntable = "target.csv"\ncount = "n"\n[[use]]'
    text = job.read_text("utf-8").replace('"independent"', '"guided_tree"').replace("[[use]]", target)
    text = text.replace('"secret.csv"', '"secret.csv"\nrelation = "add-remove"')
    job.write_text(text, "utf-8")
    code, said = call("run", job, "--yes")
    assert code == 0, said
    made = pl.read_parquet(tmp_path / "release" / "records.parquet")
    assert made.height == given["n"].sum()
    assert made.columns == ["state", "sex"]
    assert made["state"].value_counts(sort=True)["count"].to_list() == [9364, 908, 41]


def test_a_public_table_read_otherwise_is_another_job(tmp_path: Path) -> None:
    by_record, by_line = (PreparedJob(Job.load(write(tmp_path, public=p))).digest for p in ('count = "n"', ""))
    assert by_record != by_line


def test_too_many_records_to_write_out_are_refused_in_words() -> None:
    with pytest.raises(TableMismatch, match="50,000,000"):
        expanded(open_source(table([("AL", "F", 10**9)])), "n")
    with pytest.raises(TableMismatch, match="no column m"):
        expanded(open_source(table()), "m")
    assert Public(table(), count="n").count == "n"


def test_a_schema_is_drafted_and_tables_are_compared_by_record(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "public.csv")
    out = tmp_path / "drafted.toml"
    assert "Is it a table of counts?" in call("schema", "init", tmp_path / "public.csv", "--out", out)[1]
    code, said = call("schema", "init", tmp_path / "public.csv", "--out", out, "--force", "--count", "n")
    assert code == 0 and "Is it a table of counts?" not in said
    assert [c.name for c in Schema.load(out).columns] == ["state", "sex"]
    assert Schema.draft(table(), count="n").columns == Schema.load(out).columns
    rows = table().select(pl.exclude("n").repeat_by("n").explode())
    rows.write_csv(tmp_path / "rows.csv")
    only = ("--schema", out, "--json", "--only", "one-way")
    words = list(map(str, ("compare", tmp_path / "public.csv", tmp_path / "rows.csv", *only)))
    near, far = (CliRunner().invoke(app, [*words, *more]) for more in (("--count", "n"), ()))
    assert json.loads(near.stdout) != json.loads(far.stdout)
    assert "if it stands for n of them, add --count n." in far.stderr
    assert "table of counts" not in near.stderr
    assert call("compare", tmp_path / "rows.csv", tmp_path / "rows.csv", *only)[0] == 0


def test_lines_are_read_once_and_give_what_their_records_would(tmp_path: Path) -> None:
    """The schema's public values, codes and frames are those of the table written out, for a file of lines."""
    rng = np.random.default_rng(3)
    lines = pl.DataFrame(
        {
            "day": rng.choice(["2001-02-03", "2001-03-09", "2002-01-01", ""], 300),
            "pay": rng.integers(0, 100, 300) / 4,
            "sex": rng.choice(["F", "M", "?"], 300),
            "n": rng.integers(0, 5, 300),
        }
    )
    lines.write_csv(tmp_path / "lines.csv")
    rows = lines.select(pl.exclude("n").repeat_by("n").explode())
    rows.write_csv(tmp_path / "rows.csv")
    schema = Schema.draft(rows)
    by_line = schema.completed(open_source(tmp_path / "lines.csv"), (), "n")
    assert by_line == schema.completed(open_source(tmp_path / "rows.csv"))
    assert any(c.public_values for c in by_line.columns)
    one, other = (
        CodedTable.read(str(tmp_path / name), by_line, count=count, outside=0.9)
        for name, count in (("lines.csv", "n"), ("rows.csv", ""))
    )
    assert one.frame.equals(other.frame) and one.fit.columns == other.fit.columns
    assert all(np.array_equal(one.codes([c])[c], other.codes([c])[c]) for c in ("day", "pay", "sex"))
    wishful = replace(
        schema, columns=tuple(replace(c, bins=Bins(quantiles=3)) if c.name == "pay" else c for c in schema.columns)
    )
    assert wishful.completed(open_source(tmp_path / "lines.csv"), (), "n") == wishful.completed(open_source(rows))


def test_records_with_many_columns_or_measured_ones_are_not_taken_for_cells() -> None:
    """Of such records no two are alike either; births by state and day are cells."""
    people = pl.DataFrame({"age": range(20, 120), "sex": ["F", "M"] * 50, "num": [1, 2, 3, 4] * 25})
    wide = people.with_columns(pl.lit(i).alias(f"answer{i}") for i in range(12))
    measured = people.with_columns(pl.col("age") + 0.5)
    assert looks_aggregated(open_source(people)) == "num"
    assert looks_aggregated(open_source(wide)) == looks_aggregated(open_source(measured)) == ""
    births = pl.DataFrame(
        {"state": ["AK", "AL"] * 2, "wday": ["Mon"] * 2 + ["Tue"] * 2, "births": [14, 174, 20, 180]}
    )
    assert looks_aggregated(open_source(births)) == "births"
