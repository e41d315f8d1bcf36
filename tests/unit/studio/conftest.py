"""Commands that are asked for and not run."""

from pathlib import Path
from typing import Any

import pytest

from hedgerow.studio import page
from hedgerow.studio.work import StartedCommand, Work


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were asked for, none of which is run."""
    words: list[list[str]] = []

    def start(self: Work, kind: str, job: str, said: list[str], **more: Any) -> StartedCommand:
        words.append(said)
        return StartedCommand(Path())

    monkeypatch.setattr(Work, "start", start)
    return words


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test asks once, where a browser asks again: it waits until what a page shows has been worked out."""
    monkeypatch.setattr(page, "PATIENCE", 300)
