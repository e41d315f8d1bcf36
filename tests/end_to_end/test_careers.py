"""Careers, from the job file to the release: people who come out, what is said of them, what is refused."""

import json
import re
from fractions import Fraction
from pathlib import Path
from shutil import copytree

import numpy as np
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.cli.show import plan_text
from hedgerow.errors import HedgerowError, JobError, Refused
from hedgerow.pipeline import PreparedJob
from hedgerow.recipes.blend.public_blend import PublicBlend
from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.steward.attacks import attack_job
from tests.end_to_end.conftest import Command
from tests.unit.release.tampering import failed, restate

YEARS, BEFORE = tuple(range(2006, 2010)), tuple(range(2000, 2006))
JOB = """
[job]
recipe = "careers"
formats = ["csv"]
[confidential]
table = "secret.parquet"
unit = "person"
person = "person"
rows_per_person = 4
[public]
table = "public.parquet"
[budget]
epsilon = 8
[careers]
time = "year"
[[use]]
name = "promoted"
kind = "person-rate"
of = "grade"
change = "rises"
person = "person"
time = "year"
tolerance = 0.1
[[use]]
name = "growth within people"
kind = "coefficient"
formula = "ln(pay) ~ number(grade) + number(year) | person"
term = "grade"
person = "person"
tolerance = 0.05
[[use]]
name = "pay by year"
kind = "mean"
of = "pay"
by = ["year"]
within = "relative"
tolerance = 0.2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of people with one to six rows, in no order, the job beside them."""
    place = tmp_path_factory.mktemp("careers")
    made = personnel(3000, 3, years=YEARS, public_years=BEFORE, agencies=6, occupations=6)
    made.public.write_parquet(place / "public.parquet")
    made.confidential.sample(fraction=1, shuffle=True, seed=1).write_parquet(place / "secret.parquet")
    (place / "schema.toml").write_text(personnel_schema(6, 6, years=(*BEFORE, *YEARS)), "utf-8")
    (place / "job.toml").write_text(JOB, "utf-8")
    return place


@pytest.fixture(scope="module")
def release(folder: Path) -> Path:
    return hr.Job.load(folder / "job.toml").run(folder / "release", forecast=False).folder


def mean_length(table: pl.DataFrame) -> float:
    return len(table) / table["person"].n_unique()


def test_the_release_has_people_who_grow_older_and_stay_who_they_are(folder: Path, release: Path) -> None:
    made, truth = pl.read_parquet(release / "records.parquet"), pl.read_parquet(folder / "secret.parquet")
    assert made.columns[0] == "person" and set(made.columns) == set(truth.columns)
    assert abs(mean_length(made) - mean_length(truth)) < 0.4
    assert made.sort("person", "year").equals(made), "people do not stand together, or not in the order of time"
    each = made.group_by("person").agg(pl.n_unique("sex", "race", "agency"), (pl.col("year").diff() >= 1).all())
    assert each.select(pl.max("sex", "race")).row(0) == (1, 1) and each["year"].all()
    step = made.with_columns(pl.col("age", "year", "grade").diff().over("person").name.suffix(" step")).drop_nulls()
    ages, grades = (step[f"{c} step"].to_numpy() for c in ("age", "grade"))
    assert (ages == step["year step"].to_numpy()).mean() > 0.97
    assert (grades >= 0).mean() > 0.97 and 0.02 < (grades > 0).mean() < 0.3


def test_people_count_once_and_steps_as_often_as_the_statement_says(folder: Path, release: Path) -> None:
    said = json.loads((release / "statement.json").read_text("utf-8"))
    assert said["careers"]["time"] == "year" and "at most rows_per_person - 1 steps" in said["careers"]["counted"]
    truth = pl.read_parquet(folder / "secret.parquet")
    tables = [a for event in said["events"] for a in event["asked"]]
    # Moves are counted in bands, the leaves of a tree.
    names = [(*a["columns"], *a.get("tree", {}).get("columns", ())) for a in tables]
    kinds = [any(c == "gap" or c.startswith("move ") for c in n) for n in names]
    assert [Fraction(a["scale"]) * Fraction(a["cost"]) for a in tables] == [3 if steps else 1 for steps in kinds]
    people = truth["person"].n_unique()
    steps = len(truth) - people  # nobody has more than four rows
    answers = pl.read_parquet(release / "measurements.parquet")["count"].to_numpy()
    counted = np.split(answers, np.cumsum([a["cells"] for a in tables]))
    assert len(counted.pop()) == 0, "the answers are not the tables that the statement names"
    noise = [float(Fraction(a["scale"])) * np.sqrt(2 * a["cells"]) for a in tables]  # of a sum of Laplace noise
    off = [abs(c.sum() - (steps if kind else people)) for c, kind in zip(counted, kinds, strict=True)]
    assert all(o < 10 * n + 1 for o, n in zip(off, noise, strict=True)), "counts are not of people and steps"
    told = [n < abs(steps - people) / 20 for n in noise]  # tables that tell the one sum from the other
    assert {kind for kind, tells in zip(kinds, told, strict=True) if tells} == {True, False}


def test_every_page_says_how_peoples_rows_were_counted(release: Path) -> None:
    card = (release / "DATACARD.md").read_text("utf-8")
    assert "synthetic people" in card and "counted once, by the first record and the span of year" in card
    assert re.search(r"bands of figures, by up to \d+ columns and their moves\)", card), "moves are no columns"
    assert "at most 3 steps" in card and "Rows with the same person are of one person" in card
    statement = (release / "privacy-statement.md").read_text("utf-8")
    assert "counted once by the first record and by at most 3 of the steps" in " ".join(statement.split())
    report = (release / "report.html").read_text("utf-8")
    for page in (card, statement, report):
        assert "at most 4 rows" not in page and "only 4 were counted" not in page
    assert "synthetic people" in report
    assert "names people" in (release / "codebook.html").read_text("utf-8")


def test_a_stranger_can_check_it_and_sample_it(folder: Path, release: Path) -> None:
    found = hr.Release(release)
    assert found.verify(public=folder / "public.parquet")
    (other,) = found.sample(1, seed=9, public=folder / "public.parquet")
    assert other.columns == found.records.columns and not other.equals(found.records)
    assert other["person"].n_unique() == found.records["person"].n_unique()


def test_a_statement_that_counts_people_otherwise_is_found_out(release: Path, tmp_path: Path) -> None:
    copytree(release, tmp_path / "release")
    data = json.loads((release / "statement.json").read_text("utf-8"))
    del data["careers"]
    restate(tmp_path / "release", data)
    assert failed(tmp_path / "release")


def test_the_plan_says_it_and_a_rehearsal_judges_people(folder: Path) -> None:
    job = hr.Job.load(folder / "job.toml")
    said = plan_text(PreparedJob(job).outline)
    assert "counted once and by at most 3 steps" in said and "steps at most 3 times a" in said
    point = job.rehearse(runs=2, epsilons=[8]).at(Fraction(8))
    assert point is not None
    errors = {v.use.name: v.error for v in point.verdicts}
    assert list(errors) == ["promoted", "growth within people", "pay by year"]
    assert all(error is not None and error < 0.3 for error in errors.values()), errors


def test_intervals_are_refused_with_what_can_be_done_instead(release: Path) -> None:
    told = hr.Release.read(release).contents.estimates
    assert {e.name for e in told} == {"promoted", "growth within people", "pay by year"}
    assert all(e.estimate is None and "--replicates" in e.basis and "Declare" not in e.basis for e in told), told


def test_a_crash_between_steps_and_first_records_is_resumed_at_no_cost(
    folder: Path, hedgerow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps that were paid for are not paid for again; first records are asked as if nothing had been."""
    text = JOB.replace("[budget]", "[ledger]\nurl = 'crash.db'\n[budget]").split("[[use]]")[0]
    (job := folder / "crash.toml").write_text(text, "utf-8")
    run = ("run", job, "--yes", "--no-forecast", "--out", folder / "crash")
    with monkeypatch.context() as patch:
        patch.setattr(PublicBlend, "fit", lambda *a: (_ for _ in ()).throw(MemoryError("crash")))
        assert hedgerow(*run).code == 1, "the crash"
    paid = _spends(hedgerow, folder / "crash.db")
    assert hedgerow(*run).code == 2, "a new run must not be started by mistake"
    resumed = hedgerow(*run, "--resume")
    assert resumed.code == 0, resumed.err
    spends = _spends(hedgerow, folder / "crash.db")
    assert len(paid) == 2 and set(paid) < set(spends) and len(spends) == len(set(spends)), "steps were paid for twice"
    assert hedgerow("verify", folder / "crash").code == 0


def _spends(hedgerow: Command, ledger: Path) -> list[str]:
    found = json.loads(hedgerow("ledger", "show", "--url", ledger, "--json").out)
    return [json.dumps(e, sort_keys=True) for e in found["entries"] if e["kind"] == "spend"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('time = "year"\n[[use]]', "[[use]]", "time is the column"),
        ("rows_per_person = 4", "rows_per_person = 1", "several records each"),
        ('unit = "person"\nperson = "person"\nrows_per_person = 4\n', "", "several records each"),
        ("rows_per_person = 4", "rows_per_person = 4\norder = 'year'", "Take order out"),
        ('time = "year"\n[[use]]', 'time = "sex"\n[[use]]', "cannot put a person's rows in order"),
        ('time = "year"\n[[use]]', 'time = "when"\n[[use]]', "no column 'when'"),
    ],
)
def test_what_has_no_careers_is_refused_in_words(folder: Path, old: str, new: str, said: str) -> None:
    text = (folder / "job.toml").read_text("utf-8")
    assert old in text
    (folder / "other.toml").write_text(text.replace(old, new).split("[[use]]")[0], "utf-8")
    with pytest.raises(HedgerowError, match=said) as refused:
        _ = PreparedJob(hr.Job.load(folder / "other.toml")).outline
    assert "spent" in str(refused.value)


def test_what_is_about_rows_is_refused(folder: Path) -> None:
    with pytest.raises((JobError, Refused), match="careers"):
        attack_job(hr.Job.load(folder / "job.toml"), rng=np.random.default_rng(0))


def test_without_a_public_table_people_come_out_too(folder: Path) -> None:
    text = JOB.replace('[public]\ntable = "public.parquet"\n', "").split("[[use]]")[0]
    (folder / "alone.toml").write_text(text.replace("epsilon = 8", "epsilon = 60"), "utf-8")
    made = hr.Job.load(folder / "alone.toml").run(folder / "alone").records
    truth = pl.read_parquet(folder / "secret.parquet")
    assert abs(mean_length(made) - mean_length(truth)) < 0.4


def test_rules_of_the_schema_hold_for_all_rows_of_a_person(folder: Path, release: Path) -> None:
    """Who has a row that a structural zero excludes goes on anew; the answers stay those of the run."""
    zero = '\n[[zero]]\nwhere = { grade = { above = 11 }, sex = ["F"] }\n'
    (folder / "zero.toml").write_text((folder / "schema.toml").read_text("utf-8") + zero, "utf-8")
    text = JOB.replace("[careers]", "[schema]\nfile = 'zero.toml'\n[careers]").split("[[use]]")[0]
    (folder / "ruled.toml").write_text(text, "utf-8")
    made = hr.Job.load(folder / "ruled.toml").run(folder / "ruled").records
    assert not made.filter((pl.col("grade") > 11) & (pl.col("sex") == "F")).height
    assert made.filter(pl.col("grade") > 11).height and mean_length(made) > 1.5
