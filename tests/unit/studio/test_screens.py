"""What the forms of the studio write, and what its screens say: against the files, without a browser."""

import html
import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from math import exp
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.public import Schema
from hedgerow.release.rehearsal_folder import rehearsal_words, write
from hedgerow.stand_in.rehearsal import Point, Rehearsal
from hedgerow.studio.folder import SUFFIXES, Folder
from hedgerow.studio.work import StartedCommand, Work
from hedgerow.uses import Verdict
from tests.unit.studio.visiting import JOB, Studio, a_folder, said, send


def test_the_server_stands_before_any_library_for_tables_is_loaded() -> None:
    """Counted, not timed: these libraries are what a start would cost."""
    heavy = ["numpy", "polars", "numba", "pydantic", "pyreadstat", "jinja2", "hedgerow.public", "hedgerow.api.job"]
    code = f"import sys, hedgerow.studio.server\nsys.exit(', '.join(m for m in {heavy} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.stderr == "" and done.returncode == 0
    code = "import sys, hedgerow.studio.worker\nsys.exit('starlette' in sys.modules or len(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert 0 < done.returncode < 200, "a worker waits: it loads next to nothing"


def test_the_first_page_is_shown_before_any_library_for_tables_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n", "utf-8")
    (tmp_path / "job.toml").write_text(JOB, "utf-8")
    code = (
        "import sys\nfrom pathlib import Path\nfrom hedgerow.studio.folder import Folder\n"
        "from hedgerow.studio.page import Visit, home\n"
        f"answer = home(Visit(Folder(Path({str(tmp_path.resolve())!r})), '/k', 'GET', {{}}, {{}}, {{}}, None))\n"
        "assert b'a.csv' in answer.body and b'job.toml' in answer.body\n"
        "sys.exit(', '.join(m for m in ('polars', 'numba', 'pydantic', 'hedgerow.public') if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.stderr == "" and done.returncode == 0


def test_files_that_may_be_tables_are_those_that_can_be_opened() -> None:
    from hedgerow.public import OPENERS

    assert set(SUFFIXES) == set(OPENERS)


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    hidden = "import sys\nsys.modules['starlette'] = sys.modules['uvicorn'] = None\n"
    code = f"{hidden}from hedgerow.cli.main import main\nsys.argv = ['hedgerow', 'studio', {str(tmp_path)!r}]\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.returncode == 2 and "pip install 'hedgerow[studio]'" in done.stderr


def test_a_new_job_is_written_from_the_form(tmp_path: Path, started: list[list[str]]) -> None:
    a_folder(tmp_path)
    (tmp_path / "job.toml").unlink()
    (tmp_path / "schema.toml").unlink()
    studio = Studio(tmp_path)
    form = {"kind": "records", "confidential": "confidential.csv", "public": "public.csv", "unit": "person"}
    assert (
        send(studio, "tables", {**form, "public_provenance": "released in 2023", "confidential_name": "personnel"})
        == 303
    )
    assert started == [["schema", "init", "public.csv", "--out", "schema.toml"]]
    assert "tells people apart" in studio.ask("job/job.toml/tables").text, (
        "a person needs a column: it asks, not guesses"
    )
    again = {**form, "person": "person", "rows_per_person": "4", "confidential_name": "personnel"}
    assert send(studio, "tables", again) == 303
    found = said(tmp_path)
    assert found["confidential"] == {
        "table": "confidential.csv", "name": "personnel", "unit": "person", "person": "person", "rows_per_person": 4,
    }  # fmt: skip
    assert found["public"] == {"table": "public.csv", "provenance": "released in 2023"}
    assert found["budget"] == {"epsilon": 1.0} and "target" not in found


def test_kinds_of_jobs_take_their_recipes(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    form = {"confidential": "confidential.csv", "confidential_name": "personnel", "public": "public.csv"}
    attach = {**form, "kind": "attach", "target": "target.csv", "columns_shown": "yes", "columns": ["sex", "race"]}
    assert send(studio, "tables", {**form, "kind": "attach"}) == 409, "the rows that receive columns are needed"
    assert send(studio, "tables", {**attach, "outcomes": ["pay"]}) == 303
    assert Job.load(tmp_path / "job.toml").recipe.name == "guided_tree"
    assert said(tmp_path)["guided_tree"] == {"columns": ["sex", "race"], "outcomes": ["pay"]}
    counts = {**form, "kind": "counts", "columns_shown": "yes", "columns": ["sex", "race"]}
    assert send(studio, "tables", counts) == 303
    found = said(tmp_path)
    assert found["job"]["recipe"] == "integer_counts" and found["integer_counts"] == {"columns": ["sex", "race"]}
    assert "guided_tree" not in found and "target" not in found
    assert send(studio, "tables", {**form, "kind": "records"}) == 303
    found = said(tmp_path)
    assert "recipe" not in found["job"] and "integer_counts" not in found
    text = (tmp_path / "job.toml").read_text("utf-8")
    assert "# Kept: a comment of the steward's." in text and "# kept: beside a key" in text


def test_a_table_on_a_server_is_named_and_not_opened(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    form = {"kind": "records", "public": "public.csv", "confidential": "", "unit": "person", "person": "person"}
    form |= {"rows_per_person": "4", "order": "year", "master": "local[2]"}
    assert send(studio, "tables", {**form, "confidential_address": "../secret.csv"}) == 409
    assert said(tmp_path)["confidential"]["table"] == "confidential.csv"
    assert send(studio, "tables", {**form, "confidential_address": "spark:office.personnel"}) == 303
    told = said(tmp_path)
    assert told["confidential"]["table"] == "spark:office.personnel" and told["engine"] == {"master": "local[2]"}
    assert told["confidential"]["order"] == "year" and "# kept: beside a key" in (tmp_path / "job.toml").read_text()
    page = studio.ask("job/job.toml/tables").text
    assert 'value="spark:office.personnel"' in page and "Its header" not in page and "cannot be read" not in page
    assert "<option selected>person</option>" in page, "columns are those of the public table"
    assert "spend 1 on personnel" in studio.ask("job/job.toml/run").text, (
        "nothing is asked of a cluster before the run"
    )
    assert send(studio, "tables", {**form, "confidential": "confidential.csv", "confidential_address": ""}) == 303
    assert said(tmp_path)["confidential"]["table"] == "confidential.csv" and "engine" not in said(tmp_path)


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    (tmp_path / "people").mkdir()
    for i in range(2):
        pl.read_csv(tmp_path / "confidential.csv").write_parquet(tmp_path / f"people/part-{i}.parquet")
    (tmp_path / "people/_SUCCESS").touch()
    assert studio.folder.tables() == ["confidential.csv", "people", "public.csv", "target.csv"]
    assert send(studio, "tables", {"kind": "records", "confidential": "people", "public": "public.csv"}) == 303
    assert "Its header: person, year" in studio.ask("job/job.toml/tables").text
    job = tmp_path / "job.toml"
    job.write_text(job.read_text("utf-8").replace('"public.csv"', '"people/part-0.parquet"'), "utf-8")
    for screen in ("schema", "uses", "run"):
        assert "lie in one another" in html.unescape(studio.ask(f"job/job.toml/{screen}").text), screen


def test_who_counts_the_rows_can_be_said(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    form = {"kind": "records", "confidential": "confidential.csv", "public": "public.csv"}
    assert send(studio, "tables", {**form, "engine": "spark", "master": "local[2]"}) == 303
    assert said(tmp_path)["engine"] == {"name": "spark", "master": "local[2]"}
    assert '<option value="spark" selected>' in studio.ask("job/job.toml/tables").text
    assert send(studio, "tables", {**form, "engine": "", "master": "local[2]"}) == 303
    assert "engine" not in said(tmp_path)


def test_tables_in_duckdb_files_are_drawn_and_kept_apart(tmp_path: Path, started: list[list[str]]) -> None:
    duckdb = pytest.importorskip("duckdb")
    studio = Studio(a_folder(tmp_path))
    for name, inner in (("public", "public"), ("secret", "confidential"), ("secret", "public")):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as base:
            base.execute(f"create table {inner} as select * from read_csv('{tmp_path / inner}.csv')")
    form = {"kind": "records", "confidential": "duckdb:secret.duckdb#confidential"}
    digest = studio.digest("tables")
    refused = studio.ask("job/job.toml/tables", {**form, "public": "duckdb:secret.duckdb#public", "digest": digest})
    assert refused.status == 409 and "a table in the DuckDB file of the confidential one" in refused.text
    assert send(studio, "tables", {**form, "public": "duckdb:public.duckdb#public"}) == 303
    text = studio.ask("job/job.toml/schema").text
    assert "How often values of pay stand in the public table" in text


def test_saving_again_while_the_draft_is_made_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choosing columns takes a second save, and the first has started the draft."""
    a_folder(tmp_path)
    (tmp_path / "schema.toml").unlink()
    studio, begun = Studio(tmp_path), tmp_path / ".studio" / "work" / "draft@job.toml"
    begun.mkdir(parents=True)
    (begun / "task.json").write_text('{"words": ["schema", "init"]}', "utf-8")
    monkeypatch.setattr(StartedCommand, "state", "running")
    form = {"kind": "counts", "confidential": "confidential.csv", "public": "public.csv"}
    assert send(studio, "tables", {**form, "columns_shown": "yes", "columns": ["sex"]}) == 303
    assert said(tmp_path)["integer_counts"] == {"columns": ["sex"]}


def card(column: str, **more: Any) -> dict[str, Any]:
    """The form of a card as it stands, changed."""
    return {"act": "save", "column": column, **more}


def test_a_card_writes_its_column_and_nothing_else(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    before = (tmp_path / "schema.toml").read_text("utf-8")
    edges = card(
        "pay", mode="edges", edges="10000, 30000, 60000, 200000", missing="yes", description="yearly, in dollars"
    )
    assert send(studio, "schema", edges) == 303
    made = Schema.load(tmp_path / "schema.toml")
    pay = made.column("pay")
    assert pay.bins is not None and pay.bins.edges == (10000, 30000, 60000, 200000)
    assert pay.missing and pay.description == "yearly, in dollars"
    others = [c for c in Schema.loads(before).columns if c.name != "pay"]
    assert [c for c in made.columns if c.name != "pay"] == others
    sex = made.column("sex")
    merged = card("sex", on_page=list(sex.values), keep=[sex.values[0]], label=["women", "men"], other="other")
    assert send(studio, "schema", merged) == 303
    sex = Schema.load(tmp_path / "schema.toml").column("sex")
    assert len(sex.values) == 1 and sex.labels == ("women",) and sex.other == "other"
    assert send(studio, "schema", card("race", act="leave")) == 303
    assert "race" not in [c.name for c in Schema.load(tmp_path / "schema.toml").columns]


def test_a_mistake_in_a_card_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    before = (tmp_path / "schema.toml").read_bytes()
    for form in (
        card("pay", mode="edges", edges="5"),
        card("pay", mode="edges", edges="a, b"),
        card("pay", mode="equal", low="10", high="5", width="1"),
        card("pay", mode="equal", low="0", high="10", width="-1"),
    ):
        assert send(studio, "schema", form) == 409
    assert (tmp_path / "schema.toml").read_bytes() == before


def test_what_of_the_public_table_falls_outside_is_said(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    assert send(studio, "schema", card("pay", mode="edges", edges="40000, 50000, 60000", missing="yes")) == 303
    text = html.unescape(studio.ask("job/job.toml/schema").text)
    fit = Schema.load(tmp_path / "schema.toml").check(tmp_path / "public.csv", outside=1.0)
    pay = next(f for f in fit.columns if f.name == "pay")
    assert pay.clamped > 0 and f"public.csv: {fit.lines_of(pay)[0]}" in text


def test_the_odds_and_what_is_left_are_those_of_the_job(tmp_path: Path) -> None:
    from hedgerow.steward import ledger_book

    studio = Studio(a_folder(tmp_path))
    text = studio.ask("job/job.toml/budget").text
    after = re.findall(r'class="after">([^<]+)<', text)
    want = [p / (p + (1 - p) * exp(-k)) for p, k in ((0.5, 1), (0.1, 1), (0.5, 2))]
    assert after == [f"{100 * w:.0f}" for w in want] and "No cap is set on" in text
    ledger_book.cap(str(tmp_path / "ledger.db"), "personnel", epsilon="3", new=True)
    assert "Left under the cap: epsilon 3; after this run 2." in studio.ask("job/job.toml/budget").text
    assert send(studio, "budget", {"epsilon": "5", "delta": "0"}) == 303
    text = studio.ask("job/job.toml/run").text
    assert "This run needs more and would be refused" in text and "The cap does not allow it" in text
    assert send(studio, "budget", {"epsilon": "much"}) == 409


def test_every_page_says_what_is_done_and_what_the_ledger_leaves(tmp_path: Path) -> None:
    from hedgerow.steward import ledger_book

    studio = Studio(a_folder(tmp_path))
    ledger_book.cap(str(tmp_path / "ledger.db"), "personnel", epsilon="4", new=True)
    studio.ask("job/job.toml/uses")
    text = studio.ask("job/job.toml/compare").text
    assert "data-top" not in text, "all is known"
    assert "epsilon 4 of 4 left, 1 planned" in text and 'class="after-bar" x="0.0" width="25.0"' in text
    assert re.findall(r">([^<]+)<span[^>]*> .done", text) == ["1 Tables", "2 Schema", "3 What for"]
    ledger_book.cap(str(tmp_path / "ledger.db"), "personnel", epsilon="0.5")
    assert "epsilon 0.5 of 0.5 left, 1 planned: too much" in studio.ask("job/job.toml/compare").text
    (tmp_path / "release").mkdir()
    for name in ("MANIFEST.json", "statement.json"):
        (tmp_path / "release" / name).write_text("{}", "utf-8")
    text = studio.ask("job/job.toml/compare").text
    assert "epsilon 0.5 of 0.5 left<" in text and ">5 Run<span" in text and ">6 Result<span" not in text


def test_after_a_restart_the_top_of_the_page_comes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No page waits for the job to be prepared, and none needs another screen to have done it."""
    a_folder(tmp_path)
    known = Job.load(tmp_path / "job.toml").prepare()
    point = Point(Fraction(1), (Verdict(known.uses[0], 0.01, None, "", None, 0.011),))
    kept = Rehearsal(known.rehearsal_key, "public_blend", Fraction(1), Fraction(0), 9, 400, (200, 200), 0.5, (point,))
    write(kept, tmp_path / "release-rehearsal")
    studio, may = Studio(tmp_path), Event()
    prepare = Job.prepare
    monkeypatch.setattr(Job, "prepare", lambda self: may.wait() and prepare(self))
    text = studio.ask("job/job.toml/compare").text
    assert ">4 Budget<span" not in text and 'data-top="compare"' in text, "the page is there before"
    assert "top" not in studio.ask("job/job.toml/state?top=compare").text
    may.set()
    end = monotonic() + 60
    while "top" not in (found := json.loads(studio.ask("job/job.toml/state?top=compare").text)):
        assert monotonic() < end
        sleep(0.02)
    assert ">4 Budget<span" in found["top"] and "epsilon 1 planned; no cap is set" in found["top"]
    assert "top" not in json.loads(studio.ask("job/job.toml/state").text), "only for a page that lacks it"


def test_a_first_look_expects_nothing(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    prepared = Job.load(tmp_path / "job.toml").prepare()
    for runs in (4, 9):
        low = 0.009 if runs == 9 else None  # fewer make no band
        point = Point(Fraction(1), (Verdict(prepared.uses[0], 0.01, None, "", low, 0.011),))
        found = Rehearsal(
            prepared.rehearsal_key, "public_blend", Fraction(1), Fraction(0), runs, 400, (200, 200), 0.5, (point,)
        )
        write(found, tmp_path / "release-rehearsal")
        least = rehearsal_words(found)["least"]
        assert least.startswith("The smallest epsilon tried that is expected to meet") == (runs == 9), least
        assert ("at which all 4 runs were within every tolerance" in least) == (runs == 4), least
        budget, run = (studio.ask(f"job/job.toml/{s}").text for s in ("budget", "run"))
        assert ("expected to be met</span>" in budget) == (runs == 9) == ("Use it" in budget)
        assert ("from 4 runs at each epsilon: too few" in budget) == (runs == 4) == ("in all runs</span>" in budget)
        assert ("a look of 4 runs at this epsilon" in run) == (runs == 4)
        assert ("Expected to be within" in budget) == (runs == 9) == ("runs within" not in budget)


def test_forecasts_are_those_of_the_rehearsal_and_go_when_the_job_changes(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    job = Job.load(tmp_path / "job.toml")
    prepared = job.prepare()
    points = tuple(
        Point(Fraction(e), (Verdict(prepared.uses[0], 0.04 / e, None, "", 0.03 / e, 0.05 / e),)) for e in (1, 2, 4)
    )
    found = Rehearsal(
        key=prepared.rehearsal_key, recipe="public_blend", epsilon=Fraction(1), delta=Fraction(0), runs=9, rows=400,
        parts=(200, 200), drift=0.0, points=points,
    )  # fmt: skip
    write(found, tmp_path / "release-rehearsal")
    text = studio.ask("job/job.toml/budget").text
    curve = json.loads(re.findall(r'id="curve">(.*?)</script>', text)[0])
    assert [(p["e"], p["error"], p["met"]) for p in curve[0]["points"]] == [
        (1.0, 0.04, False), (2.0, 0.02, False), (4.0, 0.01, True),
    ]  # fmt: skip
    assert "expected to meet every tolerance: <b>4</b>" in text and ">forecast<" in text
    assert send(studio, "budget", {"epsilon": "2"}) == 303, "another epsilon is on the same curve"
    assert 'id="curve"' in studio.ask("job/job.toml/budget").text
    assert send(studio, "uses", {"act": "change", "place": "0", "tolerance": "0.5"}) == 303
    text = studio.ask("job/job.toml/budget").text
    assert 'id="curve"' not in text and "was changed since it was rehearsed" in text
    assert replace(found, key="") != found


def test_the_interval_panel_says_what_the_command_says(tmp_path: Path) -> None:
    from hedgerow.planning.interval import interval, least_n

    studio = Studio(a_folder(tmp_path))
    text = studio.ask("job/job.toml/budget?p=0.25&per_count=0.4&n=1000").text
    known = interval(0.25, 0.4, 1000)
    assert f"<b>{known.low:.4f}</b> and <b>{known.high:.4f}</b>" in text
    least = least_n(0.25, 0.4, width=0.05, kind="equal-tailed")
    assert f"At least {least:,} records" in studio.ask("job/job.toml/budget?p=0.25&per_count=0.4&width=0.05").text
    assert "Give two of" in studio.ask("job/job.toml/budget?p=0.25").text


def test_a_file_with_a_mistake_is_shown_with_its_words_and_can_be_mended(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    (tmp_path / "job.toml").write_text(JOB.replace("epsilon = 1.0", 'epsilon = "much"'), "utf-8")
    assert "epsilon" in studio.ask("job/job.toml/budget").text
    (tmp_path / "job.toml").write_text("[confidential\n", "utf-8")
    for screen in ("tables", "budget", "run", "result"):
        answer = studio.ask(f"job/job.toml/{screen}")
        assert "this is not TOML" in answer.text and "data-state" in answer.text, "the page follows the mended file"
    (tmp_path / "job.toml").write_text(JOB, "utf-8")
    assert studio.ask("job/job.toml/run").status == 200


def test_the_page_knows_when_it_is_no_longer_true(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))

    def now() -> str:
        return str(json.loads(studio.ask("job/job.toml/state").text)["state"])

    first = now()
    assert f'data-state="{first}"' in studio.ask("job/job.toml/tables").text and now() == first
    assert Studio(tmp_path).ask("job/job.toml/state").text.count(first) == 1, "also after a restart"
    (tmp_path / "job.toml").write_text(JOB + "# changed\n", "utf-8")
    second = now()
    (tmp_path / "schema.toml").write_text((tmp_path / "schema.toml").read_text("utf-8") + "# changed\n", "utf-8")
    assert len({first, second, now()}) == 3


def test_a_run_that_was_not_finished_is_gone_on_with(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    journal = tmp_path / "release.run"
    journal.mkdir()
    (journal / "run.json").write_text('{"run": "0123456789abcdef", "job": "x"}', "utf-8")
    text = studio.ask("job/job.toml/run").text
    assert "A run was not finished" in text and "going on books epsilon 1" in text, "it had no promise yet"
    assert send(studio, "run", {"act": "resume"}) == 409 and started == [], "what is spent is typed"
    assert send(studio, "run", {"act": "resume", "typed": "spend 1 on personnel"}) == 303
    assert started == [["run", "job.toml", "--yes", "--json", "--resume"]]


def test_a_release_is_not_written_over(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "report.html").write_text("", "utf-8")
    assert send(studio, "run", {"act": "run", "typed": "spend 1 on personnel"}) == 409 and started == []
    assert studio.ask("job/job.toml/result", {"act": "folder", "out": "../away"}).status in (400, 409)
    form = {"act": "folder", "out": "release-2", "digest": studio.digest("run")}
    assert studio.ask("job/job.toml/result", form).status == 303
    assert said(tmp_path)["job"]["out"] == "release-2"
    assert send(studio, "run", {"act": "run", "typed": "spend 1 on personnel"}) == 303


def test_an_experiment_is_written_as_a_grid(tmp_path: Path, started: list[list[str]]) -> None:
    from hedgerow.experiment.grid import Grid

    studio = Studio(a_folder(tmp_path))
    form = {"act": "write", "set0": "budget.epsilon", "levels0": "0.5, 2", "measure": ["race"], "seeds": "2"}
    assert send(studio, "experiments", form) == 303
    grid = Grid.load(tmp_path / "job-grid.toml")
    assert [f.levels for f in grid.factors] == [(0.5, 2)] and [m.name for m in grid.file.measure] == ["race"]
    assert started == [["experiment", "job-grid.toml", "--json"]]
    assert send(studio, "experiments", {**form, "levels0": "1"}) == 409


def test_a_grid_draws_the_figures_of_the_papers(tmp_path: Path, started: list[list[str]]) -> None:
    from hedgerow.experiment.grid import Grid

    studio = Studio(a_folder(tmp_path))
    job = tmp_path / "job.toml"
    model = 'kind = "coefficient"\nformula = "ln(pay) ~ sex + age"\nterm = "sex[F]"\nreference = "M"'
    job.write_text(job.read_text("utf-8") + f'[[use]]\nname = "gap"\n{model}\ntolerance = 0.03\n', "utf-8")
    form = {"act": "write", "measure": ["race", "gap"], "seeds": "2", "by": "year"}
    form |= {
        "set0": "job.recipe",
        "levels0": "public_blend, independent",
        "set1": "budget.epsilon",
        "levels1": "1, 2",
    }
    assert send(studio, "experiments", form) == 303
    grid = Grid.load(tmp_path / "job-grid.toml")
    race, gap = grid.file.measure
    assert (race.by, gap.by, gap.reference) == ("", "year", {"sex": "M"})
    drawn = [(f.measure, f.against, f.lines, f.panels) for f in grid.file.figure]
    curves = [(m, "epsilon", "recipe", "") for m in ("race", "gap")]
    assert sorted(drawn) == sorted([*curves, ("gap", "", "recipe", "epsilon")])
    shown = studio.ask("job/job.toml/experiments").text
    assert "<option selected>year</option>" in shown and 'value="public_blend, independent"' in shown
    assert send(studio, "experiments", {**form, "seeds": "none"}) == 409


def test_results_are_not_offered_as_tables(tmp_path: Path) -> None:
    studio = Studio(a_folder(tmp_path))
    for name, mark in (("job-study", "effects.csv"), ("release-rehearsal", "rehearsal.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / mark).write_text("a\n1\n", "utf-8")
        assert not [x for x in (*studio.folder.tables(), *studio.folder.books()) if x.startswith(name)]


def test_a_refusal_is_told_without_what_libraries_say(tmp_path: Path) -> None:
    task = Work(Folder(tmp_path)).start("draft", "job.toml", ["schema", "init", "nothing.csv"])
    end = monotonic() + 60
    while task.state == "running" and monotonic() < end:
        sleep(0.1)
    (task.folder / "said").write_text("WARN NativeCodeLoader\n" + (task.folder / "said").read_text("utf-8"), "utf-8")
    assert task.state == "failed" and "nothing.csv" in task.said and "WARN" not in task.said


def test_work_outlives_whoever_started_it_and_stops_when_asked(tmp_path: Path) -> None:
    """A real command: its phases, its result, its exit code; and one that is stopped as Ctrl-C does."""

    work = Work(Folder(a_folder(tmp_path, rows=3000).resolve()))
    task = work.start("rehearse", "job.toml", ["rehearse", "job.toml", "--runs", "50", "--workers", "1", "--json"])
    with pytest.raises(ValueError, match="under way already"):
        work.start("rehearse", "job.toml", ["--version"])
    end = monotonic() + 300
    while not task.phases and monotonic() < end:
        sleep(0.1)
    again = Work(work.folder).latest("rehearse", "job.toml")
    assert again is not None and again.state == "running" and "reading the schema" in again.phases[0]
    again.cancel()
    while task.state == "running" and monotonic() < end:
        sleep(0.1)
    assert task.state == "stopped" and task.code == 130
    done = work.start("plan", "job.toml", ["--version"])
    while done.state == "running" and monotonic() < end:
        sleep(0.05)
    assert done.state == "done" and done.code == 0 and re.fullmatch(r"[\d.]+\w*", done.result)
    (tmp_path / ".studio" / "work" / "plan@job.toml" / "code").unlink()
    assert StartedCommand(done.folder).state == "lost", "killed with its worker: the page says so"
