"""The command line as a user meets it: arguments in; exit code, stdout and stderr out."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hedgerow.cli.main import main
from tests.privacy.world import PERSON, frame, write_job


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def hedgerow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``hedgerow ARGS`` in this process."""

    def command(*args: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["hedgerow", *map(str, args)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else 0 if done.code is None else 1
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return command


ROWS = (("F", "A", "5", "n", "a"), ("M", "B", "12", "s", "b"), ("M", None, "x", "?", "c")) * 20


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A small job that works: persons, add-remove, epsilon 1.5."""
    frame(ROWS).write_csv(tmp_path / "secret.csv")
    return write_job(tmp_path, PERSON)
