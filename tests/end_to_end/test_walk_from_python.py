"""What a newcomer met who walked from Python: persons with a cap and an order, frames, tables of counts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.cli.show import plan_text
from hedgerow.pipeline import PreparedJob
from tests.end_to_end.conftest import Command

SCHEMA = """
[columns.year]
kind = "integer"
bins = { low = 2001, high = 2004, width = 1 }
missing = true
[columns.late]
kind = "yes-no"
missing = true
"""


def panel(people: int = 400) -> pl.DataFrame:
    """Four rows a person, of which the later two are late."""
    years = np.tile([2004, 2003, 2002, 2001], people)
    return pl.DataFrame({"id": np.repeat(np.arange(people), 4), "year": years, "late": years > 2002})


def capped(folder: Path, public: pl.DataFrame | None = None, **more: Any) -> hr.Job:
    """One row a person counts, the first by year, so that nobody is late."""
    return hr.Job(
        confidential=hr.Confidential(
            panel(), name="panel", unit=hr.Person("id", rows=1, order="year"), assumed_rows=1600
        ),
        public=None if public is None else hr.Public(public, provenance="others"),
        schema=hr.Schema.loads(SCHEMA),
        budget=hr.Budget(5),
        recipe=hr.recipes.Independent(),
        uses=(hr.uses.Rate("late", ["true"], tolerance=0.1),),
        ledger=str(folder / "ledger.db"),
        out=folder / "release",
        **more,
    )


def test_a_forecast_counts_the_rows_of_a_person_in_the_declared_order(tmp_path: Path) -> None:
    (told,) = PreparedJob(capped(tmp_path, panel().sample(fraction=1, shuffle=True, seed=1))).forecast()
    assert told.error is not None and told.error > 0.4  # half of all rows are late, and of those that count none


def test_a_plan_without_public_persons_says_which_rows_count_and_that_no_forecast_knows_the_others(
    tmp_path: Path,
) -> None:
    text = " ".join(plan_text(capped(tmp_path).plan()).split())
    assert "At most 1 row of a person, the first by year, counts and the rest is dropped" in text
    assert "no forecast knows it: what is published tells of the rows that count" in text


def test_every_page_with_figures_says_that_they_are_of_the_rows_that_were_counted(tmp_path: Path) -> None:
    capped(tmp_path).run(forecast=False)
    card, report = ((tmp_path / "release" / n).read_text("utf-8") for n in ("DATACARD.md", "report.html"))
    assert "figures and intervals are those of the rows that were counted" in card
    assert "Rows of a person beyond 1 were not counted, and no interval knows of them" in " ".join(report.split())


def test_the_stewards_report_says_that_it_holds_the_release_against_all_rows(
    hedgerow: Command, tmp_path: Path
) -> None:
    panel().write_parquet(tmp_path / "panel.parquet")
    job = capped(tmp_path)
    job = hr.Job(
        confidential=hr.Confidential(tmp_path / "panel.parquet", name="panel", unit=job.confidential.unit),
        **{k: getattr(job, k) for k in ("schema", "budget", "recipe", "uses", "ledger", "out")},
    )
    job.save(tmp_path / "job.toml")
    job.run(forecast=False)
    told = hedgerow("steward", "report", tmp_path / "job.toml").out
    assert "Exact errors are against all rows; of a person at most 1 counted" in " ".join(told.split())


def test_a_draft_in_python_asks_whether_a_table_is_one_of_counts() -> None:
    lines = pl.DataFrame({"state": list("abcd"), "vet": ["y", "n"] * 2, "n": [30, 4, 7, 9]})
    asked = str(hr.Schema.draft(lines).reasons)
    assert "is it a table of counts?" in asked and "Schema.draft(..., count='n')" in asked
    assert "table of counts" not in str(hr.Schema.draft(lines, count="n").reasons)


def test_a_table_of_counts_without_columns_says_how_to_name_them_in_python(tmp_path: Path) -> None:
    lines = pl.DataFrame({"state": list("abcd") * 9})
    with pytest.raises(hr.errors.JobError, match=r"columns=\[\.\.\.\] of the recipe.*\n.*none is named"):
        hr.Job(
            confidential=hr.Confidential(lines, name="x", assumed_rows=36),
            schema=hr.Schema.draft(lines),
            budget=hr.Budget(1),
            recipe=hr.recipes.IntegerCounts(),
            ledger=str(tmp_path / "ledger.db"),
        ).plan()


def test_pandas_categories_that_are_not_text_are_refused_with_a_cure_that_cures() -> None:
    codes = pd.DataFrame({"code": pd.Categorical([1, 2, 1])})
    with pytest.raises(hr.errors.TableMismatch) as refused:
        hr.Confidential(codes, name="x")
    assert "pandas keeps code without one type" in str(refused.value)
    assert "convert_dtypes" not in str(refused.value)  # which leaves categories as they are
    assert "frame.astype({'code': 'string'})" in str(refused.value)
    hr.Confidential(codes.astype({"code": "string"}), name="x")


def test_occasions_visits_and_waves_stand_in_order_so_that_careers_can_be_put_in_order_by_them() -> None:
    rows = pl.DataFrame({"occasion": [1, 2, 3] * 50, "wave": [1, 2, 5] * 50, "region": [1, 2, 3] * 50})
    kinds = {c.name: c.kind for c in hr.Schema.draft(rows).columns}
    assert kinds == {"occasion": "ordered", "wave": "ordered", "region": "categorical"}


def test_a_plan_says_what_a_confidential_frame_lacks_which_a_run_will_refuse(tmp_path: Path) -> None:
    rows = pl.DataFrame({"sex": ["F", "M"] * 20})
    (tmp_path / "codes.csv").write_text("column,value,label\nsex,F,\nsex,M,\nreligion,none,\nreligion,any,\n")
    job = hr.Job(
        confidential=hr.Confidential(rows, name="x", assumed_rows=40),
        schema=hr.Schema.draft(tmp_path / "codes.csv"),
        budget=hr.Budget(1),
        ledger=str(tmp_path / "ledger.db"),
    )
    assert "The confidential table has no column religion: a run will be refused." in job.plan().remarks
    with pytest.raises(hr.errors.TableMismatch, match="has no column religion"):
        job.run(tmp_path / "release")


def test_true_and_false_of_a_code_book_are_yes_no_as_those_of_a_table_are(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text(
        "column,value,label\nradio,true,\nradio,false,\nurban,true,town\nurban,false,country\n"
    )
    drafted = {c.name: c for c in hr.Schema.draft(tmp_path / "codes.csv").columns}
    assert drafted["radio"].kind == "yes-no"
    assert drafted["urban"].labels == ("town", "country")  # labels are kept, and such a column is a list


def test_a_tail_that_begins_far_from_0_is_drafted_in_several_bins() -> None:
    lots = np.random.default_rng(3)
    minutes = np.concatenate([lots.uniform(22, 31, 2400), 31 + lots.exponential(7, 150)])
    cuts = hr.Schema.draft(pl.DataFrame({"minutes": minutes})).column("minutes").cuts
    rows = np.histogram(minutes, cuts)[0]
    assert (
        rows[np.diff(cuts) > 1].max() < 60
    )  # 31 to 50 was one, with 116 of the 150, whatever the width of the others


def test_an_interval_of_a_mean_without_public_rows_counts_that_nothing_says_where_in_a_bin_numbers_lie(
    tmp_path: Path,
) -> None:
    rows = pl.DataFrame({"size": [5.0] * 1200 + [11.0] * 800, "kind": ["a", "b"] * 1000})  # 7.4 on average
    text = '[columns.size]\nkind = "real"\nbins = { edges = [0, 10, 100] }\nmissing = true\n'
    release = hr.Job(
        confidential=hr.Confidential(rows, name="x", assumed_rows=2000),
        schema=hr.Schema.loads(text + '[columns.kind]\nkind = "categorical"\nvalues = ["a", "b"]\nother = "other"\n'),
        budget=hr.Budget(10),
        uses=(hr.uses.Mean("size", tolerance=1),),
        ledger=str(tmp_path / "ledger.db"),
    ).run(tmp_path / "release", forecast=False)
    (told,) = release.estimate("mean of size")
    assert told.low is not None and told.high is not None and told.low < 7.4 < told.high


def test_a_range_with_a_point_is_of_fractions_and_one_without_says_that_it_was_taken_for_whole_numbers(
    tmp_path: Path,
) -> None:
    (tmp_path / "codes.csv").write_text("column,value,label\nratio,0.0-3.0,\nage,16-90,\nloan,0..2,\n")
    schema = hr.Schema.draft(tmp_path / "codes.csv")
    assert {c.name: c.kind for c in schema.columns} == {"ratio": "real", "age": "integer", "loan": "integer"}
    said = str(schema.reasons).split("\n")
    assert ["Taken as whole numbers" in line for line in said[-3:]] == [False, True, True]
