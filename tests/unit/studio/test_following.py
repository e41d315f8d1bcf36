"""The page follows the work: what changes while it is drawn is news to it, and looking changes nothing."""

import fcntl
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

from starlette.responses import Response

from hedgerow.studio.folder import Folder
from hedgerow.studio.page import Visit, page, shown, state_of
from hedgerow.studio.work import StartedCommand
from tests.unit.studio.visiting import a_folder


def test_work_that_ends_while_its_page_is_drawn_is_news_to_the_page(tmp_path: Path) -> None:
    """Else it says "It is running" for good: its state would be that of the end, and the script sees no change."""
    visit = Visit(Folder(a_folder(tmp_path).resolve()), "/k", "GET", {"job": "job.toml"}, {}, {}, SimpleNamespace())
    place = tmp_path / ".studio" / "work" / "run@job.toml"
    place.mkdir(parents=True)
    (place / "task.json").write_text(json.dumps({"words": ["run", "job.toml"]}), "utf-8")

    def ends_meanwhile(asked: Visit) -> Response:
        before = state_of(asked)
        (place / "code").write_text("0", "utf-8")
        shown_state = re.search(r'data-state="(\w+)"', bytes(page(asked, "refused.html.j2", "run").body).decode())
        assert shown_state is not None and shown_state[1] == before != state_of(asked)
        return Response("seen")

    assert shown(ends_meanwhile, visit).body == b"seen"


def test_two_who_look_at_work_at_once_do_not_take_each_other_for_it(tmp_path: Path) -> None:
    """One look would say that ended work is running, and refuse to start it."""
    (tmp_path / "code").write_text("0", "utf-8")
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    with open(tmp_path / "lock", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert StartedCommand(tmp_path).state == "done"
    fcntl.flock(lock, fcntl.LOCK_EX)  # as a worker does
    assert StartedCommand(tmp_path).state == "running"
    os.close(lock)
    assert StartedCommand(tmp_path).state == "done"


def test_a_command_that_was_killed_is_lost_and_what_it_had_said_is_no_reason(tmp_path: Path) -> None:
    """The page said that the run was refused or failed, and gave the price it had quoted as the reason."""
    work = StartedCommand(tmp_path)
    (tmp_path / "said").write_text("This run promises epsilon 1 for one record.", "utf-8")
    (tmp_path / "code").write_text("-9", "utf-8")
    assert work.state == "lost" and work.said == ""
    (tmp_path / "code").write_text("2", "utf-8")
    assert StartedCommand(tmp_path).state == "failed" and work.said.startswith("This run promises")
