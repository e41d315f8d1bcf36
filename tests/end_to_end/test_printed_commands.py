"""Every command that a page of a release prints works as printed, and says what the page says that it says."""

import hashlib
import html
import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import hedgerow as hr
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.recipes import RECIPES, AbstractRecipe
from hedgerow.release import commands
from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.test_replay_attach import attach_job
from tests.privacy.world import frame

PAGES = ("report.html", "codebook.html", "privacy-statement.md", "DATACARD.md", "datapackage.json", "combine.R")
COMMAND = re.compile(r"hedgerow ((?:verify|sample|estimate) \.[^<`”\n]*)")
USE = "[[use]]\nname = 'race by sex'\ncolumns = ['race', 'sex']\ntolerance = 0.05\n"
PUBLIC = "[public]\ntable = 'last year.csv'\nprovenance = 'the open extract'\n"
KINDS = {  # the recipe, its settings, and whether drawing again takes the public table; figures of uses always do
    "attach": ("guided_tree", "", True),
    "public_blend": ("public_blend", "", True),
    "tree_blend": ("tree_blend", "", False),
    "independent": ("independent", "", False),
    "without uses": ("independent", "", False),
    "counts": ("integer_counts", "columns = ['race', 'sex']\nprior = 'public'\n", True),
    "counts alone": ("integer_counts", "columns = ['race', 'sex']\n", False),
    "draws": ("dirichlet_multinomial", "columns = ['race', 'sex']\nsize = 60\nalpha = 'public'\n", True),
    "draws alone": ("dirichlet_multinomial", "columns = ['race', 'sex']\nsize = 60\n", False),
    "careers": ("careers", "time = 'year'\n", True),
}
CAREERS = """
[job]
recipe = "careers"
formats = ["csv"]
[confidential]
table = "secret.csv"
unit = "person"
person = "person"
rows_per_person = 3
[budget]
epsilon = 8
"""
PEOPLE = """
[columns.year]
kind = "integer"
bins = { low = 2003, high = 2009, width = 1 }
missing = true
[columns.sex]
kind = "categorical"
values = ["F", "M"]
missing = true
[columns.race]
kind = "categorical"
values = ["1", "2", "3"]
missing = true
"""


def people_of(first: int) -> pl.DataFrame:
    """80 people with one to three rows each."""
    rows = [(f"p{i}", first + y, "FM"[i % 2], str(1 + i % 3)) for i in range(80) for y in range(1 + i % 3)]
    return pl.DataFrame(rows, ["person", "year", "sex", "race"], orient="row")


def a_job(folder: Path, kind: str) -> Path:
    """A job with a public table, whose name has a space."""
    recipe, settings, _ = KINDS[kind]
    if kind == "careers":
        for name, first in (("secret", 2006), ("last year", 2003)):
            people_of(first).write_csv(folder / f"{name}.csv")
        (folder / "schema.toml").write_text(PEOPLE, "utf-8")
        (job := folder / "job.toml").write_text(f"{CAREERS}{PUBLIC}[careers]\n{settings}{USE}", "utf-8")
        return job
    frame(ROWS).write_csv(folder / "secret.csv")
    given = Guarantee(relation="label-change", public_columns=("pay", "area"))
    job = attach_job(folder, given if kind == "attach" else Guarantee(), "guided_tree")
    (folder / "public.csv").rename(folder / "last year.csv")
    head = job.read_text("utf-8").split("[public]")[0].replace("guided_tree", recipe).split("[guided_tree]")[0]
    if kind.startswith("draws"):
        head = head.replace('formats = ["csv"]', "")
    target = "[target]\ntable = 'target.csv'\n" * (kind == "attach")
    job.write_text(
        head + PUBLIC + target + f"[{recipe}]\n{settings}" * bool(settings) + USE * (kind != "without uses"), "utf-8"
    )
    return job


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The kind, and the folder of the release as a reader has it: the tables of the run beside it, no job."""
    kind, office = request.param, tmp_path_factory.mktemp("office")
    release = hr.Job.load(a_job(office, kind)).run(office / "release", forecast=False).folder
    reader = tmp_path_factory.mktemp("reader")
    shutil.copytree(release, reader / "a release")
    for table in ("last year.csv", "target.csv"):
        if kind == "attach" or table != "target.csv":
            shutil.copy(office / table, reader / table)
    return kind, reader / "a release"


def printed(release: Path) -> dict[str, set[str]]:
    """The commands on each page, as a reader sees them."""
    pages = {n: (release / n).read_text("utf-8") for n in PAGES if (release / n).exists()}
    return {n: {c.strip() for c in COMMAND.findall(html.unescape(text))} for n, text in pages.items()}


def test_every_printed_command_works_where_its_page_says(
    made: tuple[str, Path], hedgerow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, release = made
    monkeypatch.chdir(release)
    found = printed(release)
    for page in ("report.html", "privacy-statement.md", "DATACARD.md"):
        assert any(c.startswith("verify") for c in found[page]), page
    for command in sorted(set().union(*found.values())):  # two copies tell as much as twenty
        done = hedgerow(*shlex.split(re.sub(r"(--copies|--replicates) 20", r"\1 2", command)))
        assert done.code == 0, f"{command}: {done.out}{done.err}"
    shutil.rmtree(release.parent / "replicates", ignore_errors=True)
    shutil.rmtree(release.parent / "a release-copies", ignore_errors=True)


def test_what_the_plain_command_cannot_check_is_said_and_nothing_else(
    made: tuple[str, Path], hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, release = made
    shutil.copytree(release, tmp_path / "alone")
    monkeypatch.chdir(tmp_path / "alone")
    done, leans = hedgerow("verify", "."), kind != "without uses"
    for page in ("report.html", "privacy-statement.md", "DATACARD.md"):
        text = (release / page).read_text("utf-8")
        assert ("exit code 7" in text) == leans, page
        assert ("It takes nothing but this folder" in text) == (not leans), page
    assert done.code == (7 if leans else 0), done.out
    said = (release / "DATACARD.md").read_text("utf-8")
    if leans:
        table = release.parent / "last year.csv"
        known = hashlib.sha256(table.read_bytes()).hexdigest()
        assert f"it is the public table of the run (the open extract; sha256 {known})" in said
        assert done.out.count("NOT CHECKED") == 1 + KINDS[kind][2], "records, and figures of uses"
        assert ("not that they are those drawn from the answers" in said) == KINDS[kind][2]


def test_estimate_says_what_the_report_says_and_without_the_table_says_why_not(
    made: tuple[str, Path], hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, release = made
    command = next((c for c in printed(release)["report.html"] if c.startswith("estimate")), "")
    assert bool(command) == ("draws" not in kind and kind not in ("careers", "without uses"))
    if not command:
        return
    monkeypatch.chdir(release)
    same = json.loads(hedgerow(*shlex.split(command), "--json").out)
    assert same == hr.Release.read(release).contents.estimates.to_json()
    shutil.copytree(release, tmp_path / "alone")
    monkeypatch.chdir(tmp_path / "alone")
    alone = hedgerow("estimate", ".")
    assert "--public FILE" in alone.out and "last year.csv" in alone.out
    model = ("--formula", "pay ~ sex + race", "--term", "sex[F]")
    refused = json.loads(hedgerow("estimate", ".", *model, "--json").out)
    if refused["estimate"] is None:
        assert "the public table of the run, last year.csv," in refused["basis"]
        assert "--public FILE" in refused["basis"] and "without a public table" not in refused["basis"]


def test_the_run_itself_prints_a_command_that_works_from_anywhere(
    hedgerow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office, elsewhere = tmp_path / "office", tmp_path / "else where"
    office.mkdir()
    elsewhere.mkdir()
    done = hedgerow("run", a_job(office, "attach"), "--yes", "--no-forecast", "--out", elsewhere / "r" / "release")
    assert done.code == 0
    monkeypatch.chdir(elsewhere)
    command = done.out.split("check it: hedgerow ")[1].strip()
    assert hedgerow(*shlex.split(command)).code == 0, command


def test_the_entry_of_the_ledger_that_the_report_names_is_the_promise(made: tuple[str, Path]) -> None:
    _, release = made
    statement = hr.Release.read(release).statement
    said = " ".join((release / "report.html").read_text("utf-8").split())
    assert f"<code>{statement.run}</code>; the entry of its promise has the hash" in said
    assert "last entry" not in said and statement.anchor in said


def test_the_card_has_no_mark_that_a_reader_must_fill_in_or_see_through(made: tuple[str, Path]) -> None:
    _, release = made
    for page in ("DATACARD.md", "privacy-statement.md", "report.html"):
        text = (release / page).read_text("utf-8")
        assert r"\*" not in text and "**" not in re.sub(r"\*\*[^*\n]+\*\*", "", text), page
        assert "[Publisher]" not in text and "[year]" not in text, page
    card = (release / "DATACARD.md").read_text("utf-8")
    assert ("combine.R" in card) == (release / "combine.R").exists()


def test_every_recipe_says_whether_it_draws_from_the_public_table() -> None:
    alone = {
        name for name, recipe in RECIPES.items() if recipe.draws_from_public is not AbstractRecipe.draws_from_public
    }
    assert alone == {
        "independent",
        "tree_blend",
        "integer_counts",
        "dirichlet_multinomial",
        "beta_binomial",
        "gamma_poisson",
    }


@pytest.mark.parametrize("role", ["public", "target"])
def test_frames_are_asked_for_in_python(role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = hr.Job.load(a_job(tmp_path, "attach"))
    tables = {"public": pl.read_csv(tmp_path / "last year.csv"), "target": pl.read_csv(tmp_path / "target.csv")}
    part = {"public": hr.Public, "target": hr.Target}[role]
    release = replace(job, **{role: part(tables[role])}).run(tmp_path / "release", forecast=False)
    monkeypatch.chdir(release.folder)
    for line in (commands.verifying(release.contents)[0], commands.more_copies(release.contents)[0]):
        assert line in html.unescape((release.folder / "report.html").read_text("utf-8"))
        names = {"hedgerow": hr, "THE_PUBLIC_TABLE": tables["public"], "THE_TARGET_TABLE": tables["target"]}
        if role == "public":
            names["THE_TARGET_TABLE"] = "../target.csv"
        else:
            names["THE_PUBLIC_TABLE"] = "../last year.csv"
        assert eval(line, names), line
