"""The page of the papers: every command on it exists, and what it says of intervals is what they answer."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.reproduce import PAPERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/papers.md").read_text("utf-8")
COMMANDS = sorted({c.strip() for c in re.findall(r"`(hedgerow [a-z][^`]*)`", PAGE)})


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_on_the_page_of_the_papers_exists(line: str) -> None:
    command, rest = typer.main.get_command(app), shlex.split(line)[1:]
    while inner := getattr(command, "commands", None):
        command, rest = inner[rest[0]], rest[1:]
    if line.startswith("hedgerow verify-model"):
        rest = [*rest, "--model", "a ~ b", "--claim", "b < 0", "--epsilon", "1"]
    command.make_context("hedgerow", rest)
    named = [w for w in rest if w.endswith(".toml") and w not in ("JOB.toml",)]
    folders = ("rdt-2018", "rdt-2019", "tabulate-ce", "dpsyn")
    assert all(any((ROOT / "examples" / f / name).is_file() for f in folders) for name in named), line


def test_every_paper_is_on_the_page_and_has_its_examples() -> None:
    assert {f"hedgerow reproduce {name}" for name in PAPERS} <= set(COMMANDS)
    for folder in re.findall(r"`(examples/[\w-]+)`", PAGE):
        assert (ROOT / folder / "README.md").is_file(), folder


@pytest.mark.parametrize("line", [c for c in COMMANDS if c.startswith("hedgerow interval")])
def test_an_interval_on_the_page_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(line)[1:])
    assert done.exit_code == 0, done.output
    said = {"--n 1000 --width": "0.212", "--width 0.05": "874 records", "0.4 --n 1000": "0.227239 to 0.272761"}
    for options, number in said.items():
        if options in line and not (options == "--width 0.05" and "--epsilon-for" in line):
            assert number in done.output, line
