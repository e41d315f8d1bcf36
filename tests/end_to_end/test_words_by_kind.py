"""What pages say of a kind of release is true of that kind: limits, files, forecasts, what was used."""

import re
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.public import Marginal
from hedgerow.release.words import Promise, promise_more, promise_of, promise_sentence
from tests.end_to_end.test_printed_commands import KINDS, PUBLIC, a_job
from tests.unit.release.made import a_release

OF_RECORDS = ("any match is an accident", "come from the model", "SPSS files", "combine.R", "the synthetic records")


@pytest.fixture(
    scope="module", params=["tree_blend", "public_blend", "counts", "counts alone", "draws", "draws alone"]
)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, hr.Release]:
    folder = tmp_path_factory.mktemp("kind")
    return request.param, hr.Job.load(a_job(folder, request.param)).run(folder / "release", forecast=False)


def page(release: hr.Release, name: str) -> str:
    return " ".join(re.sub(r"<[^>]+>|\\", "", (release.folder / name).read_text("utf-8")).split())


def test_the_public_table_is_said_to_be_used_where_it_was(made: tuple[str, hr.Release]) -> None:
    kind, release = made
    how = page(release, "DATACARD.md").split("## How it was made")[1].split("##")[0]
    assert ("the public table last year.csv" in how) == KINDS[kind][2]


def test_limits_are_those_of_the_kind(made: tuple[str, hr.Release]) -> None:
    kind, release = made
    card = page(release, "DATACARD.md")
    if release.holds_records:
        assert all(s in card for s in OF_RECORDS if s != "come from the model")  # where pairs were measured
        return
    assert not any(s in card for s in OF_RECORDS)
    limits = card.split("## Limits")[1].split("##")[0]
    assert "pay" not in limits and "area" not in limits, "columns that the table does not have"
    assert ("noise" in limits) == (not kind.startswith("draws")) == ("prior weight" not in limits)
    report = page(release, "report.html")
    drawn = kind.startswith("draws")
    assert f"{'drawn counts' if drawn else 'counted records'}, divided by the cells" in report
    assert ("estimated from the noisy answers" in report) == (not drawn) == ("can move twice as far" in report)
    if drawn:
        assert "noise on every cell" not in report and "mostly noise" not in report
        assert "the same epsilon covers replace-one" in report, "so that no guess moves twice as far"
        (cannot,) = release.estimate(table=["race", "sex"])
        assert "drawn from urns" in repr(cannot) and "larger epsilon" not in repr(cannot)
        assert "noisy" not in card.split("## What is in this folder")[1].split("##")[0]


def test_where_nothing_was_foretold_no_page_speaks_of_a_forecast_that_there_is(made: tuple[str, hr.Release]) -> None:
    _, release = made
    for name in ("report.html", "DATACARD.md"):
        assert "Expected errors are forecasts" not in page(release, name), name
    report = page(release, "report.html")
    assert "Nothing was foretold." in report and report.count("no forecast was asked for") == 1, "each use says why"


def test_why_a_use_has_no_forecast_is_a_reason_and_no_order_to_the_reader(tmp_path: Path) -> None:
    """The published report told its readers to set a key of the job."""
    job = a_job(tmp_path, "draws alone")
    job.write_text(job.read_text("utf-8").replace(PUBLIC, ""), "utf-8")
    release = hr.Job.load(job).run(tmp_path / "release")
    report = page(release, "report.html")
    assert "no forecast: " in report and "to judge this use" not in report and " say assumed_rows" not in report


def test_a_map_is_explained_only_where_there_is_one(made: tuple[str, hr.Release]) -> None:
    _, release = made
    report = (release.folder / "report.html").read_text("utf-8")
    assert ("In the map a field says" in report) == ("Noise in percent of each cell of" in report)


def test_a_table_without_a_title_is_called_a_table(made: tuple[str, hr.Release]) -> None:
    _, release = made
    row = page(release, "DATACARD.md").split("## What one row is")[1]
    assert "Toy" in row or "the table “toy”" in row


@pytest.mark.parametrize(("epsilon", "said"), [("1", "at most about 73 chances"), ("8", "with nearly 100 chances")])
def test_odds_are_said_in_english_at_any_epsilon(epsilon: str, said: str) -> None:
    promise = promise_of(a_release(rows=20, budget=hr.Budget(epsilon)).statement)
    assert isinstance(promise, Promise) and said in promise_sentence(promise)
    assert not any("about nearly" in s for s in (promise_sentence(promise), *promise_more(promise)))


def test_what_a_use_says_in_the_file_is_not_called_an_error(tmp_path: Path) -> None:
    use = "[[use]]\nname = 'pay'\nkind = 'mean'\nof = 'pay'\nby = ['race']\nwithin = 'relative'\ntolerance = 0.1\n"
    job = a_job(tmp_path, "tree_blend")
    job.write_text(job.read_text("utf-8") + use, "utf-8")
    release = hr.Job.load(job).run(tmp_path / "release", forecast=False)
    says = page(release, "report.html").split("What the synthetic data say")[1].split("What holds of")[0]
    assert "mean of pay by race" in says and "relative error" not in says


def test_what_was_measured_through_a_tree_is_not_said_to_be_unmeasured(tmp_path: Path) -> None:
    """The card said that no relation among more than two columns was measured, beside leaves by two more."""
    release = hr.Job.load(a_job(tmp_path, "attach")).run(tmp_path / "release", forecast=False)
    asked = [a.question for s in release.statement.spends for a in s.asked]
    plain, within = (max(len({*q.columns, *more(q)}) for q in asked) for more in (lambda q: (), _of_tree))
    assert within > plain >= 1, "the case is what it should be"
    limits = page(release, "DATACARD.md").split("## Limits")[1].split("##")[0]
    columns = f"{plain} column{'s' * (plain > 1)}"
    assert f"Relations among more than {columns} at a time were measured only as far as groups of rows" in limits
    assert f"by up to {within} columns" in limits and "were not measured" not in limits


def _of_tree(question: Marginal) -> tuple[str, ...]:
    return question.tree.columns if question.tree else ()
