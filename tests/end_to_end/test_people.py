"""Labels once per person, from the job file to the release: what comes out, what is said of it, what is refused."""

import json
import os
from fractions import Fraction
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.cli.show import plan_text
from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.pipeline import PreparedJob
from hedgerow.public import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.steward.attacks import attack_job
from tests.unit.release.tampering import failed, restate

YEARS, BEFORE = tuple(range(2000, 2010)), tuple(range(1990, 2000))
JOB = """
[job]
recipe = "guided_tree"
formats = ["csv", "dta"]
[confidential]
table = "secret.parquet"
unit = "person"
person = "person"
[public]
table = "public.parquet"
[target]
table = "target.parquet"
person = "person"
time = "year"
[budget]
epsilon = 2
[guided_tree]
outcomes = ["pay"]
prior = "leaves"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of people with one to ten rows, in no order, the job beside them."""
    place = tmp_path_factory.mktemp("people")
    made = personnel(3000, 3, years=YEARS, public_years=BEFORE)
    made.public.write_parquet(place / "public.parquet")
    made.confidential.write_parquet(place / "secret.parquet")
    made.target.sample(fraction=1, shuffle=True, seed=1).write_parquet(place / "target.parquet")
    (place / "schema.toml").write_text(personnel_schema(years=(*BEFORE, *YEARS)), "utf-8")
    (place / "job.toml").write_text(JOB, "utf-8")
    return place


@pytest.fixture(scope="module")
def release(folder: Path) -> Path:
    return hr.Job.load(folder / "job.toml").run(folder / "release", forecast=False).folder


def test_nobody_has_two_labels_and_everything_else_is_the_target(folder: Path, release: Path) -> None:
    made, target = pl.read_parquet(release / "records.parquet"), pl.read_parquet(folder / "target.parquet")
    assert made.columns == ["person", *(c for c in target.columns if c != "person"), "sex", "race"]
    assert made.drop("sex", "race").equals(target)
    labels = made.group_by("person").agg(pl.n_unique("sex", "race"))
    assert labels["sex"].max() == labels["race"].max() == 1
    assert made["person"].n_unique() < len(made) / 3
    assert set(made["sex"]) == {"F", "M"} and made["race"].n_unique() == 5


def test_the_gate_counted_people_and_the_statement_says_by_what(folder: Path, release: Path) -> None:
    said = json.loads((release / "statement.json").read_text("utf-8"))
    assert said["guarantee"]["unit"] == "person" and said["guarantee"]["rows_per_person"] == 1
    facts = {f["name"]: f for f in said["people"]}
    assert {"first year", "last year", "most agency", "last grade", "residual pay", "sex", "race"} <= set(facts)
    assert facts["sex"] == {"name": "sex", "rule": "most", "column": "sex"}
    assert facts["last grade"] == {"name": "last grade", "rule": "last", "column": "grade", "time": "year"}
    assert set(facts["residual pay"]["points"]) >= {"pay", "grade", "year"} and facts["residual pay"]["cuts"]
    people = pl.read_parquet(folder / "secret.parquet")["person"].n_unique()
    tables = [a for event in said["events"] for a in event["asked"]]
    counted = int(pl.read_parquet(release / "measurements.parquet")["count"].sum()) / len(tables)
    assert abs(counted - people) < 0.2 * people, "the noisy counts do not add up to people"


def test_every_page_says_how_people_were_counted(release: Path) -> None:
    statement = (release / "privacy-statement.md").read_text("utf-8")
    assert "one person with all rows, counted once" in statement
    card = (release / "DATACARD.md").read_text("utf-8")
    assert "one for each person (person) and the same in all rows of that person" in card
    assert "by the first year, the last year" in card and "the mean residual of pay" in card
    assert "for every person of" in card and "only one was counted" not in card
    for page in (statement, card, (release / "report.html").read_text("utf-8")):
        assert "at most one row" not in page and "at most 1 row" not in page
    assert "names people" in (release / "codebook.html").read_text("utf-8")
    fields = json.loads((release / "datapackage.json").read_text("utf-8"))["resources"][0]["schema"]["fields"]
    assert (fields[0]["name"], fields[0]["hedgerow:origin"]) == ("person", "given")


def test_the_report_holds_people_against_people(release: Path) -> None:
    """The noisy counts are of people, so what they are compared with is."""
    report = (release / "report.html").read_text("utf-8")
    people = pl.read_parquet(release / "records.parquet")["person"].n_unique()
    assert f"{people:,} persons" in report


def test_a_stranger_can_check_it_and_sample_it(folder: Path, release: Path) -> None:
    found = hr.Release(release)
    assert found.verify(public=folder / "public.parquet", target=folder / "target.parquet")
    (other,) = found.sample(1, seed=9, public=folder / "public.parquet", target=folder / "target.parquet")
    assert other.group_by("person").agg(pl.n_unique("sex"))["sex"].max() == 1
    assert not other.equals(found.records)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("cuts", [0, 1], "not those that the target shows"),
        ("rule", "best", "not a statement"),
        ("column", "nothing", "no column"),
    ],
)
def test_facts_that_were_tampered_with_do_not_hold(
    folder: Path, release: Path, tmp_path: Path, key: str, value: Any, said: str
) -> None:
    for table in ("public.parquet", "target.parquet"):
        os.link(folder / table, tmp_path / table)
    copytree(release, tmp_path / "release")
    data = json.loads((release / "statement.json").read_text("utf-8"))
    which = next(f for f in data["people"] if key in f and f["name"] not in ("sex", "race"))
    which[key] = value
    restate(tmp_path / "release", data)
    assert said in " ".join(failed(tmp_path / "release").values())


def test_a_plan_says_that_people_are_counted(folder: Path) -> None:
    job = hr.Job.load(folder / "job.toml")
    text = plan_text(job.plan())
    assert "for one person with all rows, counted once" in text
    assert "Each person is counted once, by facts about all of their rows: first year" in text
    assert "each counts once, with all rows, however many" in text
    assert "the rest is dropped" not in text


def test_a_rehearsal_gives_people_labels_and_judges_rows(folder: Path) -> None:
    job = hr.Job.load(folder / "job.toml")
    uses = (hr.uses.Table(["year", "sex"], tolerance=0.2), hr.uses.Mean("pay", by=["sex"], relative=0.5))
    played = hr.Job(
        **{n: getattr(job, n) for n in ("confidential", "public", "target", "schema", "budget", "recipe", "ledger")},
        uses=uses,
    )
    point = played.rehearse(runs=2, epsilons=[2]).at(Fraction(2))
    assert point is not None and [v.expected_met for v in point.verdicts] == [True, True]


def test_uses_about_people_are_declared_rehearsed_and_judged(folder: Path, release: Path) -> None:
    """By year, by person, and with an effect for each person: the target's own columns are kept, so these hold."""
    uses = """
[[use]]
name = "ever promoted"
kind = "person-rate"
of = "grade"
change = "rises"
person = "person"
time = "year"
by = ["sex"]
tolerance = 0.2
[[use]]
name = "growth within people"
kind = "coefficient"
formula = "ln(pay) ~ number(year) | person"
term = "year"
person = "person"
tolerance = 0.01
[[use]]
name = "gap by year"
kind = "coefficient"
formula = "ln(pay) ~ sex + grade"
term = "sex[F]"
by = ["year"]
over = "typical"
tolerance = 0.5
"""
    (folder / "uses.toml").write_text(JOB + uses, "utf-8")
    job = hr.Job.load(folder / "uses.toml")
    point = job.rehearse(runs=2, epsilons=[2]).at(Fraction(2))
    assert point is not None and [v.error is not None for v in point.verdicts] == [True, True, True]
    promoted, growth, _ = PreparedJob(job).uses
    table = CodedTable(job.schema, pl.read_parquet(release / "records.parquet"))
    frame = table.frame.sort("person", "year").with_columns(up=pl.col("grade").diff().over("person") > 0)
    each = frame.group_by("person").agg(pl.any("up"), pl.last("sex"))
    due = each.group_by("sex").agg(pl.mean("up")).sort("sex")["up"].to_list()
    assert promoted.figures(table).values[:2].tolist() == pytest.approx(due)
    assert growth.figures(table).values[0] == pytest.approx(_within(frame), rel=1e-6)


def test_counts_of_people_tell_figures_of_rows_and_of_people(folder: Path, release: Path) -> None:
    """Intervals hold what the confidential table gives, with slack; given columns are known; a model is refused."""
    made, schema = hr.Release.read(release), hr.Job.load(folder / "job.toml").schema
    secret = CodedTable(schema, pl.read_parquet(folder / "secret.parquet"))
    promoted = hr.uses.PersonRate(
        "grade", person="person", change="rises", time="year", by=["sex"], tolerance=1, name="ever promoted"
    )
    asked = [
        hr.uses.Table(["sex"], tolerance=1, name="women"),
        hr.uses.Mean("pay", by=["sex"], tolerance=1, name="pay"),
        hr.uses.Rate("sex", ["F"], by=["year"], tolerance=1, name="women by year"),
        hr.uses.Quantile("pay", [0.5], by=["sex"], tolerance=1, name="median pay"),
        promoted,
    ]
    for use in asked:
        true = use.figures(secret).values
        true = true / true.sum() if use.name == "women" else true
        found = [e for e in made.estimate(use, sampling=False) if e.estimate is not None]
        assert len(found) >= 2, made.estimate(use)
        places = dict(zip(use.labels(schema, np.arange(len(true))), true, strict=True))
        for e in found:
            assert e.estimate is not None and e.low is not None and e.high is not None
            assert abs(e.estimate - places[e.group]) <= 2.5 * (e.high - e.low), (use.name, e, places[e.group])
            assert "counts of people" in e.basis
    clustered, alone = (made.estimate(mean="pay", by=["grade"], sampling=s) for s in (True, False))
    assert all("public row by row" in e.basis and e.low == e.high == e.estimate for e in alone)
    assert clustered[5].parts["sampling"] > 0 == clustered[5].parts["noise"]
    kinds: dict[str, Any] = {"person": "person", "values": ["2", "4"], "time": "year", "tolerance": 1}
    by_year = hr.uses.PersonRate("supervisory", by=["year"], **kinds)
    given = by_year.figures(CodedTable(schema, pl.read_parquet(release / "records.parquet"))).values
    places = dict(zip(by_year.labels(schema, np.arange(len(given))), given, strict=True))
    known = [e for e in made.estimate(by_year, sampling=False) if e.estimate is not None]
    assert len(known) >= 5 and all(e.low == e.high == pytest.approx(places[e.group]) for e in known), known
    mixed = hr.uses.PersonRate("supervisory", by=["year", "sex"], **kinds)
    told = [(e.low, e.parts["noise"]) for e in made.estimate(mixed) if e.low is not None]
    assert len(told) >= 5 and all(low >= 0 < noise for low, noise in told), "a year is given, sex is counted"
    old = [e for e in made.estimate(table=["year", "sex"], sampling=False) if e.group.startswith("199")]
    assert len(old) == 20 and all(e.estimate == e.high == 0 and "no row has" in e.basis for e in old)
    (gap,) = made.estimate(formula="ln(pay) ~ sex + grade", term="sex[F]")
    assert gap.estimate is None and "replicates" in gap.basis and "Declare" not in gap.basis


def _within(frame: pl.DataFrame) -> float:
    """The slope of ln(pay) on the year within people, by hand."""
    centred = frame.select(pl.col("person"), y=pl.col("pay").log(), x=pl.col("year").cast(pl.Float64)).with_columns(
        (pl.col(c) - pl.col(c).mean().over("person")).alias(c) for c in ("x", "y")
    )
    return float((centred["x"] * centred["y"]).sum()) / float((centred["x"] ** 2).sum())


def test_a_use_about_people_is_refused_where_the_release_names_nobody(folder: Path) -> None:
    job = hr.Job.load(folder / "job.toml")
    with pytest.raises(JobError, match="will not say whose each row is"):
        hr.Job(
            confidential=job.confidential,
            public=job.public,
            schema=job.schema,
            budget=job.budget,
            uses=(hr.uses.PersonRate("grade", person="person", change="rises", time="year", tolerance=0.1),),
        )


def test_a_job_of_people_is_the_same_from_file_and_from_python(folder: Path, tmp_path: Path) -> None:
    job = hr.Job.load(folder / "job.toml")
    facts = ("first year", "last grade", "rows")
    other = hr.Job(
        confidential=hr.Confidential(folder / "secret.parquet", unit=hr.Person("person")),
        target=hr.Target(folder / "target.parquet", person="person", time="year", facts=facts),
        schema=job.schema,
        budget=hr.Budget(2),
    )
    again = hr.Job.load(other.save(tmp_path / "job.toml"))
    assert again == other
    assert [f.name for f in PreparedJob(again).facts] == [*facts, "sex", "race"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('unit = "person"\nperson = "person"\n[public]', "[public]", "unit = 'person', person = 'person'"),
        ('person = "person"\n[public]', 'person = "person"\nrows_per_person = 4\n[public]', "no\nrows_per_person"),
        ('time = "year"', 'time = "when"', "time = 'when' is no column"),
        ('time = "year"', 'facts = ["last grade"]', "needs a column of times"),
        ('time = "year"', 'facts = ["best grade"]', "A fact is rows, or one of first, last, most and residual"),
        ('person = "person"\ntime', "time", "name the column that names them"),
        ('recipe = "guided_tree"', 'recipe = "public_blend"', "public_blend attaches none"),
        ('recipe = "guided_tree"', 'recipe = "random_trees"', "which random_trees cannot use"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_cure(folder: Path, old: str, new: str, said: str) -> None:
    assert old in JOB
    place = folder / "wrong.toml"
    text = JOB.replace(old, new)
    place.write_text(text.split("[guided_tree]")[0] if new.startswith("recipe") else text, "utf-8")
    with pytest.raises(JobError) as wrong:
        PreparedJob(hr.Job.load(place)).facts  # noqa: B018
    assert said in str(wrong.value) and "spent" in str(wrong.value)


def test_a_public_table_that_names_nobody_is_refused(folder: Path) -> None:
    pl.read_parquet(folder / "public.parquet").drop("person").write_parquet(folder / "nameless.parquet")
    (folder / "nameless.toml").write_text(JOB.replace("public.parquet", "nameless.parquet"), "utf-8")
    with pytest.raises(TableMismatch, match="no column 'person', which says whose each row is"):
        hr.Job.load(folder / "nameless.toml").plan()


def test_what_counts_rows_alone_refuses_a_job_of_people(folder: Path) -> None:
    with pytest.raises(HedgerowError, match="counts rows, and this job counts people"):
        attack_job(hr.Job.load(folder / "job.toml"), rng=np.random.default_rng(0))


def test_rules_of_the_schema_hold_for_all_rows_of_a_person(folder: Path) -> None:
    """Who has a row that a structural zero excludes is drawn again, with all rows."""
    schema = (folder / "schema.toml").read_text("utf-8") + '\n[[zero]]\nwhere = { agency = ["VA01"], sex = ["F"] }\n'
    (folder / "zero.toml").write_text(schema, "utf-8")
    job = JOB.replace("[budget]", '[schema]\nfile = "zero.toml"\n[budget]')
    (folder / "zeros.toml").write_text(job, "utf-8")
    made = hr.Job.load(folder / "zeros.toml").run(folder / "zeros", forecast=False).records
    assert made.group_by("person").agg(pl.n_unique("sex"))["sex"].max() == 1
    assert not ((made["agency"] == "VA01") & (made["sex"] == "F")).any()
