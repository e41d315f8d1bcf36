"""What a screen calls the same without the studio does it: every command and every line of Python, as printed."""

import html
import re
import shlex
from functools import partialmethod
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.api.job import Job
from hedgerow.cli.main import app
from tests.unit.studio.visiting import JOB, Studio, a_folder

pytestmark = pytest.mark.usefixtures("short_forecasts")
SCREENS = ("tables", "schema", "uses", "budget", "run", "result", "ledger", "experiments", "compare")
QUICK = {"rehearse": ["--runs", "2", "--epsilons", "1", "--workers", "1"], "run": ["--yes", "--no-forecast"]}
COMPARED = {"compare": ["--only", "two-way"]}
KINDS = {
    "records": "",
    "attach": '[target]\ntable = "target.csv"\n[guided_tree]\ncolumns = ["sex", "race"]\noutcomes = ["pay"]\n',
    "counts": '[integer_counts]\ncolumns = ["sex", "race"]\n',
}


def printed(studio: Studio, screen: str, head: str) -> str:
    """A block of a screen; empty when it has none."""
    found = re.search(rf"{head}</h3><pre[^>]*>(.*?)</pre>", studio.ask(f"job/job.toml/{screen}").text, re.S)
    return html.unescape(found[1]) if found else ""


def typed(studio: Studio, screen: str) -> list[list[str]]:
    """The commands of a screen as a shell takes them; an editor is anybody's own."""
    lines = [shlex.split(x, comments=True) for x in printed(studio, screen, "in this folder").splitlines()]
    assert all(words[0] in ("hedgerow", "$EDITOR") for words in lines), screen
    return [words[1:] for words in lines if words[0] == "hedgerow"]


def do(words: list[str]) -> None:
    """Carry a command out, as printed and then made quick."""
    more = QUICK.get(words[0], COMPARED.get(words[-2] if words[0] == "steward" else words[0], []))
    got = CliRunner().invoke(app, [*words, *(more if "--help" not in words else [])])
    if got.exception is not None and not isinstance(got.exception, SystemExit):
        raise got.exception
    assert got.exit_code == 0, (words, got.output)


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> Studio:
    """A folder with a job that has a public table, and a shell that stands in it."""
    made = Studio(a_folder(tmp_path, rows=300))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Job, "rehearse", partialmethod(Job.rehearse, runs=2, epsilons=[1], workers=1))
    recipe = 'recipe = "integer_counts"\n' if kind == "counts" else ""
    text = JOB.replace("[job]\n", f"[job]\n{recipe}").replace("tolerance = 0.02", "tolerance = 0.9")  # met, whatever
    (tmp_path / "job.toml").write_text(text + KINDS[kind], "utf-8")
    return made


@pytest.mark.parametrize("kind", ["records"])
def test_before_the_run_every_command_and_line_of_python_works(studio: Studio, tmp_path: Path) -> None:
    schema = tmp_path / "schema.toml"
    text, done = schema.read_text("utf-8"), set[str]()
    schema.unlink()
    exec(printed(studio, "tables", "In Python"), {})
    schema.unlink()
    assert typed(studio, "tables") == typed(studio, "schema")[:1], "to be drafted: the same on both screens"
    for words in typed(studio, "schema"):
        do(words)
    for screen in [s for s in SCREENS if s not in ("run", "result")]:
        for words in typed(studio, screen):
            if shlex.join(words) not in done:
                do(words)
                done.add(shlex.join(words))
        if screen not in ("uses", "budget"):  # the same verbs as the commands
            exec(printed(studio, screen, "In Python"), {})
        schema.write_text(text, "utf-8")
    names = {words.split()[0] for words in done}
    assert names == {"schema", "plan", "rehearse", "interval", "ledger", "compare"}, "each was asked for"
    assert typed(studio, "result") == typed(studio, "run") == [["run", "job.toml"]]


@pytest.mark.parametrize("kind", KINDS)
def test_after_the_run_every_command_and_line_of_python_works(studio: Studio, tmp_path: Path) -> None:
    do(["run", "job.toml"])
    asked = [words for screen in ("result", "ledger", "compare", "run") for words in typed(studio, screen)]
    for screen in ("result", "compare")[: 2 if (tmp_path / "release" / "counts.csv").exists() else 1]:
        exec(printed(studio, screen, "In Python"), {})  # of records the command has compared all
    for words in asked:
        do(words)
    assert {words[0] for words in asked} == {"verify", "sample", "estimate", "steward", "ledger", "compare", "run"}
    assert (tmp_path / "release-2" / "MANIFEST.json").is_file(), "another run has a folder of its own"
