"""Commands that are asked for and not run."""

from pathlib import Path
from typing import Any

import pytest

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
