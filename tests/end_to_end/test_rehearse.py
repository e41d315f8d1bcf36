"""``hedgerow rehearse``: from what is public alone, at no cost, and what plans, runs and releases then say of it."""

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.pipeline import PreparedJob
from hedgerow.planning.forecast import PlanWarning
from tests.end_to_end.conftest import Command
from tests.privacy.world import frame

PUBLIC = (("F", "A", "5", "n", "a"), ("M", "B", "12", "s", "b"), ("M", None, "39", "n", "c")) * 200


@pytest.fixture
def played(job: Path) -> Path:
    """A job with a public table and no confidential one: a rehearsal must not miss it."""
    (job.parent / "secret.csv").unlink()
    frame(PUBLIC).drop("id").write_csv(job.parent / "public.csv")
    more = """
[public]
table = "public.csv"
[[use]]
name = "mean pay"
kind = "mean"
of = "pay"
within = "relative"
tolerance = 0.2
[budget]"""
    job.write_text(job.read_text().replace("[budget]", more.lstrip()))
    return job


def test_a_rehearsal_needs_no_confidential_table_and_touches_no_ledger(hedgerow: Command, played: Path) -> None:
    done = hedgerow("rehearse", played, "--workers", 1, "--runs", 2)
    assert done.code == 0, done.err
    assert "Nothing confidential was read and nothing was spent" in done.out
    assert "smallest   epsilon" in done.out
    assert not (played.parent / "ledger.db").exists()
    folder = played.parent / "release-rehearsal"
    assert {p.name for p in folder.iterdir()} == {"rehearsal.html", "rehearsal.json"}
    assert "Nothing confidential was read" in (folder / "rehearsal.html").read_text()


def test_json_says_the_smallest_epsilon_and_every_error(hedgerow: Command, played: Path) -> None:
    done = hedgerow("rehearse", played, "--workers", 1, "--runs", 2, "--epsilons", "0.01,1.5,3", "--json")
    found = json.loads(done.out)
    assert [p["epsilon"] for p in found["points"]] == ["1/100", "3/2", "3"]
    assert found["confidential_rows_read"] == 0 and found["cost"] == 0
    errors = [u["error"] for p in found["points"] for u in p["uses"] if u["name"] == "sex"]
    assert errors == sorted(errors, reverse=True)
    assert found["smallest_epsilon"] == 1.5
    assert found["expected_to_be_met"] is True


def test_a_run_takes_the_forecast_of_its_plan(
    hedgerow: Command, job: Path, played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame(PUBLIC).write_csv(job.parent / "secret.csv")
    planned = json.loads(hedgerow("plan", played, "--json").out)["uses"]
    assert {p.name for p in (played.parent / "release-rehearsal").iterdir()} == {"forecast.json"}
    monkeypatch.setattr("hedgerow.pipeline.forecast", None)  # nobody may ask it again
    assert hedgerow("run", played, "--yes").code == 0
    told = json.loads((played.parent / "release" / "datapackage.json").read_text())
    assert [u["error"] for u in planned] == [u["error"] for u in told["hedgerow"]["uses"]]


def test_a_job_that_was_changed_or_a_damaged_file_is_foretold_anew(played: Path) -> None:
    first = Job.load(played)
    first.plan(out=played.parent / "release-rehearsal")
    assert PreparedJob(first).foretold and PreparedJob(Job.load(played)).foretold
    text = played.read_text()
    for old, new in (("= 0.2", "= 0.3"), ("epsilon = 1.5", "epsilon = 2.5"), ("[job]", "[job]\nseed = 5")):
        assert old in text
        played.write_text(text.replace(old, new, 1))
        assert not PreparedJob(Job.load(played)).foretold
    played.write_text(text)
    public, kept = played.parent / "public.csv", played.parent / "release-rehearsal" / "forecast.json"
    frame(PUBLIC[:-3]).drop("id").write_csv(public)
    assert not PreparedJob(Job.load(played)).foretold
    frame(PUBLIC).drop("id").write_csv(public)
    assert PreparedJob(Job.load(played)).foretold
    for damaged in ("", "{}", '{"key": 1, "uses": 2}', "[" * 10_000):
        kept.write_text(damaged)
        assert not PreparedJob(Job.load(played)).foretold


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("error", "little"),
        ("note", ["exact"]),
        ("high", {}),
        ("name", "a use that the job does not have"),
        ("tolerance", 0.9),
    ],
)
def test_a_kept_forecast_that_is_none_or_is_of_other_uses_is_not_taken(
    played: Path, what: str, value: object
) -> None:
    """Some ended a run when it had been booked, others came to stand in the report of the release."""
    Job.load(played).plan(out=played.parent / "release-rehearsal")
    kept = played.parent / "release-rehearsal" / "forecast.json"
    assert PreparedJob(Job.load(played)).foretold
    told = json.loads(kept.read_text())
    told["uses"][0][what] = value
    kept.write_text(json.dumps(told))
    assert not PreparedJob(Job.load(played)).foretold


def test_a_kept_rehearsal_with_a_number_that_is_none_is_no_rehearsal(hedgerow: Command, played: Path) -> None:
    hedgerow("rehearse", played, "--workers", 1, "--runs", 2)
    kept = played.parent / "release-rehearsal" / "rehearsal.json"
    told = json.loads(kept.read_text())
    assert PreparedJob(Job.load(played)).rehearsal
    kept.write_text(json.dumps(told | {"epsilon": "1/0"}))
    assert PreparedJob(Job.load(played)).rehearsal is None


def test_a_plan_says_that_its_forecast_is_kept_only_where_it_is(hedgerow: Command, played: Path) -> None:
    said, folder = "The forecast is kept in", played.parent / "release-rehearsal"
    assert said in hedgerow("plan", played).out
    (folder / "forecast.json").unlink()
    (folder / "forecast.json" / "in the way").mkdir(parents=True)
    assert said not in hedgerow("plan", played).out


def test_a_missed_tolerance_is_exit_5(hedgerow: Command, played: Path) -> None:
    played.write_text(played.read_text().replace("tolerance = 0.05", "tolerance = 0.000001"))
    done = hedgerow("rehearse", played, "--workers", 1, "--runs", 2)
    assert done.code == 5
    assert (
        "BEYOND IT IN A RUN" in done.out
        and "no epsilon up to 6 had all 2 runs within the tolerance of sex" in done.out
    )


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (('[public]\ntable = "public.csv"', ""), "The job names none"),
        (("tolerance = 0.05", "tolerance = 0.05\nwithin = 'absolute'"), "cannot be judged"),
        (('of = "pay"', 'of = "race"'), "not a number"),
        (('of = "pay"\n', ""), "needs of"),
        (('kind = "mean"', 'kind = "mode"'), "kind"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused(
    hedgerow: Command, played: Path, change: tuple[str, str], word: str
) -> None:
    assert change[0] in played.read_text()
    played.write_text(played.read_text().replace(*change))
    refused = hedgerow("rehearse", played, "--workers", 1)
    assert refused.code == 2
    assert word in refused.err
    assert "Traceback" not in refused.err


def test_without_a_public_table_tables_are_made_up_from_the_schema_and_it_says_so(
    hedgerow: Command, played: Path
) -> None:
    text = played.read_text().replace('[public]\ntable = "public.csv"', "")
    played.write_text(text.replace("[confidential]", "[confidential]\nassumed_rows = 400"))
    done = hedgerow("rehearse", played, "--workers", 1, "--epsilons", "1.5")
    assert done.code in (0, 5), done.err
    assert "made up from the schema" in done.out.replace("\n           ", " ") and "8 runs in 10" in done.out
    page = (played.parent / "release-rehearsal" / "rehearsal.html").read_text()
    assert "made up from the schema" in page and "public relative" not in page
    plan = hedgerow("plan", played, "--json")
    rehearsed = json.loads((played.parent / "release-rehearsal" / "rehearsal.json").read_text())
    assert json.loads(plan.out)["uses"] == rehearsed["points"][0]["uses"]
    assert "on tables made up from the schema" in hedgerow("plan", played).out.replace("\n  ", " ")


def test_the_terminal_says_what_forecasts_rest_on(hedgerow: Command, played: Path) -> None:
    for command in (("plan", played), ("rehearse", played, "--workers", 1, "--epsilons", "1.5")):
        said = hedgerow(*command).out.replace("\n  ", " ")
        assert said.count("forecast from 9 runs on two parts of the public table, drifted apart as past tables") == 1


def test_a_plan_says_what_a_rehearsal_made_after_it_says(hedgerow: Command, played: Path) -> None:
    before = json.loads(hedgerow("plan", played, "--json").out)["uses"]
    rehearsed = json.loads(hedgerow("rehearse", played, "--workers", 1, "--epsilons", "0.7", "--json").out)
    (here,) = (p["uses"] for p in rehearsed["points"] if p["epsilon"] == "3/2")
    assert before == here == json.loads(hedgerow("plan", played, "--json").out)["uses"]


def test_run_warns_of_every_use_that_is_expected_to_be_missed_before_it_is_paid(
    hedgerow: Command, played: Path
) -> None:
    frame(PUBLIC[:90]).write_csv(played.parent / "secret.csv")
    played.write_text(played.read_text().replace("tolerance = 0.05", "tolerance = 0.000001"))
    said = hedgerow("run", played)
    assert said.code == 2 and "Nobody is there to say yes" in said.err, "nothing was paid"
    assert "WARNING    sex: expected to be missed (forecast error" in said.err and "mean pay:" not in said.err
    with pytest.warns(PlanWarning, match="sex: expected to be missed"):
        Job.load(played).run()


def test_bad_epsilons_are_refused(hedgerow: Command, played: Path) -> None:
    for text in ("much", "0", "-1", "1,,2", "1/0"):
        refused = hedgerow("rehearse", played, "--epsilons", text)
        assert refused.code == 2 and "--epsilons" in refused.err


def test_the_release_shows_the_rehearsal_of_this_very_job_and_no_other(hedgerow: Command, played: Path) -> None:
    frame(PUBLIC[:90]).write_csv(played.parent / "secret.csv")
    assert hedgerow("rehearse", played, "--workers", 1, "--runs", 2).code == 0
    assert PreparedJob(Job.load(played)).rehearsal is not None
    run = hedgerow("run", played, "--yes")
    assert run.code == 0, run.err
    report = (played.parent / "release" / "report.html").read_text()
    assert "How the error depends on epsilon" in report and "forecast from 2 runs" in report
    assert ">within it in all runs<" in report and ">met<" not in report and "eight runs in ten" not in report
    assert ">expected to be" not in report, "two runs expect nothing of one more, as the studio's Budget says"
    assert hedgerow("verify", played.parent / "release").code == 0
    played.write_text(played.read_text().replace("tolerance = 0.2", "tolerance = 0.3"))
    assert PreparedJob(Job.load(played)).rehearsal is None, "another tolerance is another job"


def test_an_epsilon_that_was_not_rehearsed_is_not_claimed_to_be(hedgerow: Command, played: Path) -> None:
    assert hedgerow("rehearse", played, "--workers", 1, "--runs", 2).code == 0
    played.write_text(played.read_text().replace("epsilon = 1.5", "epsilon = 1.37"))
    road = PreparedJob(Job.load(played))
    assert road.rehearsal is None
    (played.parent / "release-rehearsal" / "rehearsal.json").write_text("{")
    assert PreparedJob(Job.load(played)).rehearsal is None, "a damaged file is none"


def test_the_public_table_is_split_by_person_where_it_names_them(hedgerow: Command, played: Path) -> None:
    frame(PUBLIC).write_csv(played.parent / "public.csv")
    road = PreparedJob(Job.load(played))
    assert road.person is not None and set(road.person) == {"a", "b", "c"}
    frame(PUBLIC).drop("id").write_csv(played.parent / "public.csv")
    assert PreparedJob(Job.load(played)).person is None
    assert road.job.budget.epsilon == Fraction(3, 2)
    assert isinstance(road.person, pl.Series)
