"""What tripped somebody who had not read the manual: each line of it stays mended."""

import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.api.release import Release
from hedgerow.ledger.book import Ledger
from hedgerow.public import Schema
from hedgerow.studio import books
from hedgerow.studio.work import StartedCommand, Work
from tests.unit.studio.visiting import Studio, a_folder, said, send

FORM = {"kind": "records", "confidential": "confidential.csv", "public": "public.csv", "unit": "record"}


def _shown(studio: Studio, screen: str, job: str = "job.toml") -> list[list[str]]:
    """The commands of a screen, as a shell reads them."""
    found = re.search(r"In a terminal, in this folder</h3><pre[^>]*>(.*?)</pre>", _page(studio, screen, job), re.S)
    assert found
    return [shlex.split(line, comments=True) for line in html.unescape(found[1]).splitlines()]


def _page(studio: Studio, screen: str, job: str = "job.toml") -> str:
    return studio.ask(f"job/{job}/{screen}").text


def test_what_was_refused_stands_in_the_form_again(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    form = {**FORM, "public": "confidential.csv", "digest": studio.digest("tables")}
    answer = studio.ask("job/job.toml/tables", form)
    kept = re.search(r'data-refused="([^"]*)"', answer.text)
    assert answer.status == 409 and kept
    assert json.loads(html.unescape(kept[1]))["public"] == ["confidential.csv"]
    late = studio.ask("job/job.toml/tables", {**FORM, "digest": "of an older page"})
    assert late.status == 409 and "was changed meanwhile" in late.text
    assert "data-refused" not in late.text, "what the file says now is shown, not what was filled in on an older one"
    assert "data-refused" not in _page(studio, "tables")


def test_before_there_is_a_job_each_screen_leads_to_the_tables(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    (tmp_path / "job.toml").unlink()
    for screen in ("schema", "uses", "budget", "run", "result", "ledger", "experiments"):
        page = _page(studio, screen)
        assert "the road begins with the tables" in page and 'href="tables">Choose the tables' in page
        assert "hedgerow demo" not in page, "the cure of the command line is none here"


def test_a_person_column_is_not_lost_without_a_word(tmp_path: Path) -> None:
    """Whoever names people and leaves rows protected by themselves would promise less than they think."""
    studio = Studio(a_folder(tmp_path))
    assert send(studio, "tables", {**FORM, "person": "person"}) == 409
    assert "person" not in said(tmp_path)["confidential"]
    assert send(studio, "tables", {**FORM, "unit": "person", "person": "person"}) == 303
    assert send(studio, "tables", {**FORM, "person": "person"}) == 303, "going back to rows is one click"
    assert said(tmp_path)["confidential"]["unit"] == "record", "it is said, so nobody is asked again"


@pytest.mark.parametrize("form", [{"from": "public.csv", "book": "confidential.csv"}, {"from": "confidential.csv"}])
def test_a_schema_is_not_drafted_from_the_confidential_table(
    tmp_path: Path, started: list[list[str]], form: dict[str, str]
) -> None:
    studio = Studio(a_folder(tmp_path))
    page = _page(studio, "schema")
    assert ">public.csv</option>" in page and ">confidential.csv</option>" not in page, "it is not offered"
    assert send(studio, "schema", {"act": "draft", "over": "yes", **form}) == 409
    assert started == []


def test_names_with_blanks_go_the_whole_road(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    (tmp_path / "public.csv").rename(tmp_path / "last year.csv")
    job = (tmp_path / "job.toml").read_text("utf-8").replace("public.csv", "last year.csv")
    (tmp_path / "my job.toml").write_text(job, "utf-8")
    (tmp_path / "job.toml").unlink()
    for screen in ("tables", "schema", "uses", "budget", "run", "result", "ledger", "experiments", "compare"):
        words = [w for line in _shown(studio, screen, "my job.toml") for w in line]
        assert not {"my", "last"} & set(words), f"{screen}: a shell would take a name apart"
    (tmp_path / "release").mkdir()
    studio.ask("job/my job.toml/result", {"act": "verify"})
    assert started == [["verify", "release", "--json", "--public", "last year.csv"]]


def test_the_commands_of_the_result_are_those_of_its_buttons(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "statement.json").write_text("{}", "utf-8")
    assert "cannot be read: it is not a release" in _page(studio, "result"), "said, and no fault of the page"
    shown = _shown(studio, "result")
    for act in ({"act": "verify"}, {"act": "sample"}, {"act": "estimate", "use": "race"}):
        studio.ask("job/job.toml/result", act)
    pressed = [["hedgerow", *(w for w in words if w != "--json")] for words in started]
    assert [sorted(line) for line in shown[:3]] == [sorted(line) for line in pressed]


def test_a_second_job_has_a_folder_of_its_own(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    assert 'name="out" value="second-release"' in _page(studio, "tables", "second.toml")
    assert 'name="out" value="release"' in _page(studio, "tables")


def test_a_ledger_that_is_not_there_is_begun_by_the_command_too(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    (cap,) = (line for line in _shown(studio, "ledger") if "cap" in line)
    code, _, error = Work(studio.folder).ask(cap[1:])
    assert code == 0, error
    assert "--new" not in [w for line in _shown(studio, "ledger") for w in line]
    Work(studio.folder).ask(["ledger", "cap", "personnel", "--epsilon", "1/2", "--url", str(tmp_path / "ledger.db")])
    page = _page(studio, "ledger")
    assert "epsilon 0.5" in page and "epsilon 1/2" not in page, "as people write it, not as a fraction"


def test_what_a_ledger_far_away_is_called() -> None:
    place = books._shown_place("postgresql://steward:secret@books.example/ledger?password=secret")
    assert place == "postgresql://books.example/ledger"
    lines = books._same("people", place, there=True).splitlines()
    assert "user and password are not shown here" in lines[0] and not any("--url" in line for line in lines)


def test_one_public_value_is_warned_of_on_the_card_and_mended_there(tmp_path: Path) -> None:
    """Everything else would be published as unknown: that is said openly, with what to do."""
    studio = Studio(a_folder(tmp_path))
    table = pl.read_csv(tmp_path / "public.csv").with_columns(year=2004, region=pl.lit("north"), rate=1.5)
    table.with_columns(day=pl.lit("2004-05-01")).write_csv(tmp_path / "public.csv")
    Schema.draft(str(tmp_path / "public.csv")).save(tmp_path / "schema.toml")
    assert send(studio, "tables", {"act": "decide", "unit": "record"}) == 303
    page = html.unescape(_page(studio, "schema"))
    card = page[page.index('aria-label="year has one value only"') :].partition("</section>")[0]
    told = card.partition("<details")[0]
    assert "<b>Only 2004 is known.</b> The public table has no other value of year." in told, "not folded away"
    assert "Any other value in the confidential table will be counted as missing" in told
    assert "Add these values" in told and "Make bins" in told and "Leave year out" in told
    assert page.count('class="alone"') == 4 and page.count("Make bins") == 3, "a region is no number"
    assert send(studio, "schema", {"act": "add", "column": "region", "more_values": ""}) == 409
    assert send(studio, "schema", {"act": "add", "column": "region", "more_values": "south, east"}) == 303
    bins = {"act": "bins", "mode": "equal", "low": "2004", "high": "2011", "width": "1"}
    assert send(studio, "schema", {**bins, "column": "year"}) == 303
    assert send(studio, "schema", {**bins, "column": "rate", "low": "0", "high": "4", "width": "0.5"}) == 303
    days = {"low": "2004-01-01", "high": "2011-12-31", "unit": "year"}
    assert send(studio, "schema", {**bins, **days, "column": "day"}) == 303
    assert send(studio, "schema", {**bins, "column": "sex"}) == 409
    made = Schema.load(tmp_path / "schema.toml")
    assert made.column("region").values == ("north", "south", "east")
    kinds = {n: (made.column(n).kind, made.column(n).bin_count) for n in ("year", "rate", "day")}
    assert kinds == {"year": ("integer", 8), "rate": ("real", 8), "day": ("date", 8)}
    assert made.column("year").beyond == "unknown" and made.column("year").missing
    assert (
        'class="alone"' not in _page(studio, "schema") and "one value only" in (tmp_path / "schema.toml").read_text()
    )
    assert send(studio, "schema", {"act": "leave", "column": "day"}) == 303
    assert "spend 1 on personnel" in _page(studio, "run"), "the schema holds"


def test_the_number_that_is_suggested_is_the_finest_and_the_reason_is_true(tmp_path: Path) -> None:
    """Pay was passed over where another number has a wider spread for its size; a constant tells nothing."""
    studio = Studio(a_folder(tmp_path))
    rng = np.random.default_rng(1)
    table = pl.read_csv(tmp_path / "public.csv").drop("year")
    hours = pl.Series("hours", rng.integers(0, 30, table.height) ** 2)
    table = table.with_columns(hours, fixed=pl.lit("always"))
    table.write_csv(tmp_path / "public.csv")
    spread = {n: float(table[n].std()) / float(table[n].mean()) for n in ("hours", "pay")}  # type: ignore[arg-type]
    assert spread["hours"] > spread["pay"] and table["hours"].n_unique() < table["pay"].n_unique()
    Schema.draft(str(tmp_path / "public.csv")).save(tmp_path / "schema.toml")
    page = html.unescape(_page(studio, "uses"))
    assert "pay is the number with the most different values in the public table" in page
    assert "mean hours" not in page and "<b>fixed</b>" not in page and "median pay" in page
    gap = re.search(r"in ln\(pay\) ~ \w+ \+ (\w+): .*?among rows of equal (\w+)\.", page)
    assert gap and gap[1] == gap[2], "what is held equal is what the model holds"


def test_an_estimate_is_shown_under_the_use_that_was_asked(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    job = tmp_path / "job.toml"
    job.write_text(job.read_text("utf-8") + '[[use]]\nname = "by sex"\ncolumns = ["sex"]\ntolerance = 0.1\n', "utf-8")
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "statement.json").write_text("{}", "utf-8")
    work = tmp_path / ".studio" / "work" / "estimate@job.toml"
    work.mkdir(parents=True)
    (work / "task.json").write_text(json.dumps({"words": [], "use": "by sex"}), "utf-8")
    (work / "code").write_text("0", "utf-8")
    (work / "result").write_text(
        json.dumps([{"name": "by sex", "group": "F", "estimate": 0.5, "basis": "x"}]), "utf-8"
    )
    page = _page(studio, "result")
    assert '<h3 id="asked">by sex</h3>' in page and "<option selected>by sex</option>" in page
    assert ["hedgerow", "estimate", "release", "--use", "by sex", "--public", "public.csv"] in _shown(
        studio, "result"
    )


@pytest.mark.parametrize("state", ["running", "failed", "stopped", "lost"])
@pytest.mark.parametrize("begun", [False, True])
def test_the_run_page_speaks_of_the_run_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, begun: bool
) -> None:
    studio = Studio(a_folder(tmp_path))
    work = tmp_path / ".studio" / "work" / "run@job.toml"
    work.mkdir(parents=True)
    (work / "task.json").write_text('{"words": ["run", "job.toml"]}', "utf-8")
    monkeypatch.setattr(StartedCommand, "state", state)
    if begun:
        (tmp_path / "release.run").mkdir()
        (tmp_path / "release.run" / "run.json").write_text('{"run": "0123456789abcdef", "job": "x"}', "utf-8")
    page = _page(studio, "run")
    title = "It is running" if state == "running" else "It has not ended" if begun else "Run it"
    assert f"<h1>{title}</h1>" in page
    assert ("It will ask for" in page) == (title == "Run it") and ("To confirm, type" in page) == (state != "running")
    assert ("Go on with it" in page) == ("A run was not finished" in page) == (title == "It has not ended")
    assert ("It had booked nothing" in page) == (state != "running"), "a journal alone is no promise"
    assert ("going on books epsilon 1" in page) == (title == "It has not ended")
    assert not (tmp_path / "ledger.db").exists(), "a page that is looked at begins no ledger"
    assert ("--resume" in page) == (title != "Run it"), "the command is the one that can be typed now"


def test_what_a_refused_run_said_is_told_as_past_and_a_cap_that_is_too_small_offers_no_run(tmp_path: Path) -> None:
    from hedgerow.steward import ledger_book

    studio, book = Studio(a_folder(tmp_path)), str(tmp_path / "ledger.db")
    work = tmp_path / ".studio" / "work" / "run@job.toml"
    work.mkdir(parents=True)
    (work / "task.json").write_text('{"words": ["run", "job.toml"]}', "utf-8")
    (work / "code").write_text("4", "utf-8")
    (work / "said").write_text("Cannot promise: 0.5 of 0.5 is left.", "utf-8")
    for cap, allowed in (("0.5", False), ("3", True)):
        ledger_book.cap(book, "personnel", epsilon=cap, new=True)
        page = _page(studio, "run")
        assert "The last run was refused or failed.</strong> It had booked nothing." in page
        assert "It said then: Cannot promise: 0.5 of 0.5 is left." in page, "it may be otherwise now"
        assert ("To confirm, type" in page) == allowed == ("The cap does not allow it" not in page)


def test_a_run_whose_promise_is_booked_goes_on_for_nothing(tmp_path: Path, started: list[list[str]]) -> None:
    studio, run = Studio(a_folder(tmp_path)), "0123456789abcdef"
    prepared = Job.load(tmp_path / "job.toml").prepare()
    book = Ledger.open(str(tmp_path / "ledger.db"))
    book.promise("personnel", run, prepared.job.budget, prepared.guarantee)
    (tmp_path / "release.run").mkdir()
    (tmp_path / "release.run" / "run.json").write_text(json.dumps({"run": run, "job": "x"}), "utf-8")
    page = _page(studio, "run")
    assert "Going on costs nothing more." in page and "To confirm, type" not in page
    assert send(studio, "run", {"act": "resume"}) == 303
    assert started == [["run", "job.toml", "--yes", "--json", "--resume"]]


def test_the_run_page_of_a_run_that_has_ended_speaks_of_the_past(tmp_path: Path) -> None:
    from hedgerow.steward import ledger_book

    studio = Studio(a_folder(tmp_path))
    ledger_book.cap(str(tmp_path / "ledger.db"), "personnel", epsilon="3", new=True)
    job = Job.load(tmp_path / "job.toml")
    job.run(forecast=False)
    asked = [a for spend in Release.read(tmp_path / "release").statement.spends for a in spend.asked]
    text = (tmp_path / "job.toml").read_text("utf-8")
    (tmp_path / "job.toml").write_text(text.replace("epsilon = 1.0", "epsilon = 2.0"), "utf-8")
    page = re.sub(r"<[^>]+>", " ", html.unescape(_page(studio, "run"))).replace("\n", " ")
    assert f"{len(asked)} tables with {sum(a.cells for a in asked):,} noisy counts" in page, "what it really asked"
    for words in ("It has run", "What it cost ", "Promised", "Compared were", "It asked for", "epsilon 1  for one"):
        assert words in page, words
    for words in (
        "It will ask",
        "What it costs",
        "Needs",
        "To confirm",
        "after this run",
        "will show",
        "Compared are",
    ):
        assert words not in page, words
    assert "Left under the cap: epsilon 2, this run counted." in page and "epsilon 2 of 3 left" in page


def test_people_with_several_public_rows_are_warned_of_before_single_rows_are_protected(tmp_path: Path) -> None:
    """The draft has seen it; a promise for rows would be less than a newcomer thinks."""
    studio = Studio(a_folder(tmp_path))
    most = max(pl.read_csv(tmp_path / "public.csv").group_by("person").len()["len"].to_list())
    words = f"In the public table one person stands in up to {most} rows."
    assert words not in _page(studio, "run"), "this schema was not drafted"
    Schema.draft(str(tmp_path / "public.csv")).save(tmp_path / "schema.toml")
    for screen in ("tables", "schema", "run"):
        assert words in _page(studio, screen) and f"with {most} times the epsilon only" in _page(studio, screen), (
            screen
        )
    spend = {"act": "run", "typed": "spend 1 on personnel"}
    assert "To confirm, type" not in _page(studio, "run") and send(studio, "run", spend) == 409, "it is asked first"
    form = re.findall(r'name="unit" value="(\w*)"( checked)?', _page(studio, "tables"))
    assert form == [("record", ""), ("person", " checked")], "the safer one is chosen"
    assert send(studio, "tables", {"act": "decide", "unit": "record"}) == 303
    assert said(tmp_path)["confidential"]["unit"] == "record" and "To confirm, type" in _page(studio, "run")
    assert words in _page(studio, "run"), "who decided for rows is still told what that means"
    assert send(studio, "tables", {"act": "decide", "unit": "person"}) == 303
    kept = said(tmp_path)["confidential"]
    assert (kept["unit"], kept["person"], kept["rows_per_person"]) == ("person", "person", most)
    for screen in ("tables", "schema", "run"):
        assert words not in _page(studio, screen), screen
    assert send(studio, "tables", {"act": "decide", "unit": "record"}) == 409, "it is said already"


def test_nothing_is_compared_before_a_job_says_what_is_confidential(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    both = {"a": "public.csv", "b": "confidential.csv"}
    for text in ("", "[budget]\nepsilon = 1.0\n"):
        (tmp_path / "job.toml").write_text(text, "utf-8") if text else (tmp_path / "job.toml").unlink()
        assert ">confidential.csv</option>" not in _page(studio, "compare")
        assert studio.ask("job/job.toml/compare", both).status in (400, 409) and started == []


def test_a_table_of_counts_is_spoken_of_as_one(tmp_path: Path) -> None:
    """Uses are of its columns; what the gate drew is not drawn again; who checks it needs no public table."""
    studio = Studio(a_folder(tmp_path))
    form = {**FORM, "kind": "counts", "columns_shown": "yes", "columns": ["sex", "race"]}
    assert send(studio, "tables", form) == 303
    page = _page(studio, "uses")
    assert re.findall(r'<input type="checkbox" name="columns" value="(\w+)"', page) == ["sex", "race"]
    (tmp_path / "release-copies").mkdir()
    (tmp_path / "release-copies" / "counts-seed1-1.csv").write_text("sex,race,count\nF,A,3\n", "utf-8")
    assert "counts-seed1-1.csv" not in _page(studio, "compare"), "a line of it is no record"
    (tmp_path / "release").mkdir()
    for recipe in ("integer_counts", "gamma_poisson"):
        told = {"recipe": recipe, "table": "personnel", "promised": {"epsilon": "1", "delta": "0"}}
        (tmp_path / "release" / "statement.json").write_text(json.dumps(told), "utf-8")
        page, drawn = _page(studio, "result"), recipe == "gamma_poisson"
        assert "; anyone who has the public table can check it without" in page, "figures of uses lean on it"
        assert ("A draw is not repeated for free" in page) == drawn == ("Estimate with an interval" not in page)
        names = [line[1] for line in _shown(studio, "result")]
        assert ("sample" in names) == ("estimate" in names) == (not drawn)
        assert ["hedgerow", "verify", "release", "--public", "public.csv"] in _shown(studio, "result")
