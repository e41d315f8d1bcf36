"""Long work never blocks a page: what takes long is said to be under way, and is shown when it is there."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hedgerow import pipeline
from hedgerow.errors import JobError
from hedgerow.studio import page
from tests.unit.studio.visiting import Studio, a_folder


def test_the_page_of_a_run_does_not_wait_for_what_is_worked_out_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first time on a machine loops are compiled, for half a minute."""
    goes_on, really = Event(), pipeline.outline

    def slowly(*given: Any, **named: Any) -> Any:
        assert goes_on.wait(60)
        return really(*given, **named)

    monkeypatch.setattr(pipeline, "outline", slowly)
    monkeypatch.setattr(page, "PATIENCE", 0.01)
    studio = Studio(a_folder(tmp_path))
    for screen in ("tables", "schema", "uses", "budget", "run"):
        text = studio.ask(f"job/job.toml/{screen}").text
        assert ("data-soon" in text) == (screen == "run"), screen
    assert "spend 1 on" not in text and "noisy count" not in text, "the cost is shown before it is asked for"
    goes_on.set()
    monkeypatch.setattr(page, "PATIENCE", 60)
    text = studio.ask("job/job.toml/run").text
    assert "data-soon" not in text
    assert "spend 1 on personnel" in text and "noisy counts" in text


def test_what_is_refused_while_it_is_worked_out_is_said_on_the_page_and_not_in_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    studio = Studio(a_folder(tmp_path))
    for fault, said in (
        (JobError("It is too wide."), "It is too wide."),
        (ZeroDivisionError("secret"), "a fault of"),
    ):

        def refused(*given: Any, fault: Exception = fault, **named: Any) -> Any:
            raise fault

        monkeypatch.setattr(pipeline, "outline", refused)
        assert studio.ask("job/job.toml/budget").status == 200
        found = studio.ask("job/job.toml/run").text
        assert said in found and "secret" not in found
    assert capfd.readouterr().err == ""
