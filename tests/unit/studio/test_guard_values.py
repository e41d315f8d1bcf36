"""The studio's threat model, lines 6 to 10: paths, confidential values, what is written down, code, spending."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.studio import server
from hedgerow.studio.folder import Folder
from hedgerow.studio.server import key_of
from hedgerow.studio.tables import header
from hedgerow.studio.work import StartedCommand, Work
from tests.unit.studio.visiting import KEY, SCREENS, Studio, a_folder, with_release


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(a_folder(tmp_path_factory.mktemp("studio")))


# 6. Paths that lead out of the folder


@pytest.mark.parametrize(
    "name", ["../outside.csv", "/etc/passwd", "link.csv", "links/outside.csv", ".studio/key", "a\0b", ".", ""]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    (tmp_path / "outside.csv").write_text("a,b\n1,2\n", "utf-8")
    a_folder(root)
    (root / "link.csv").symlink_to(tmp_path / "outside.csv")
    (root / "links").symlink_to(tmp_path)
    studio = Studio(root)
    assert name not in studio.folder.tables()
    form = {"digest": studio.digest("tables"), "confidential": "confidential.csv", "public": name, "kind": "records"}
    if name:
        assert studio.ask("job/job.toml/tables", form).status in (400, 409)
        assert studio.ask("job/job.toml/compare", {"a": name, "b": "public.csv"}).status in (400, 409)
    answer = studio.ask(f"job/job.toml/file/{name}")
    assert b"1,2" not in answer.body and b"root:" not in answer.body and KEY not in answer.text.replace(f"/{KEY}", "")
    assert (root / "job.toml").read_text("utf-8").count("outside") == 0


@pytest.mark.parametrize("name", ["public.csv", "confidential.csv", "target.csv", "release"])
def test_a_job_that_names_tables_elsewhere_is_not_opened(tmp_path: Path, started: list[list[str]], name: str) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    job = a_folder(root) / "job.toml"
    text = job.read_text("utf-8").replace("[job]", '[job]\nout = "release"')
    if name == "target.csv":
        text += '[target]\ntable = "target.csv"\n[guided_tree]\ncolumns = ["sex", "race"]\n'
    job.write_text(text.replace(f'"{name}"', f'"../{name}"'), "utf-8")
    if name != "release":
        (root / name).rename(tmp_path / name)
    studio = Studio(root)
    for screen in ("uses", "budget", "run"):
        assert "is not in the folder of this studio" in studio.ask(f"job/job.toml/{screen}").text, screen
    form = {"digest": studio.digest("tables"), "act": "run", "typed": "spend 1 on personnel"}
    assert studio.ask("job/job.toml/run", form).status in (400, 409) and started == []


def test_a_link_that_waits_where_the_studio_writes_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "folder", tmp_path / "outside"
    root.mkdir()
    outside.write_text("MARK", "utf-8")
    studio = Studio(a_folder(root))
    (root / ".job.toml.new").symlink_to(outside)
    form = {"digest": studio.digest("budget"), "epsilon": "2", "delta": "0"}
    assert studio.ask("job/job.toml/budget", form).status == 303
    assert outside.read_text("utf-8") == "MARK" and "epsilon = 2.0" in (root / "job.toml").read_text("utf-8")


def test_nor_is_one_where_a_comparison_is_drawn(tmp_path: Path, started: list[list[str]]) -> None:
    root, outside = a_folder(tmp_path), tmp_path / "outside"
    (root / "other.csv").write_bytes((root / "public.csv").read_bytes() + b"\n")
    (root / "job-comparison.html").symlink_to(outside)
    form, studio = {"a": "public.csv", "b": "other.csv"}, Studio(root)
    assert "no link is followed" in studio.ask("job/job.toml/compare", form).text and started == []
    (root / "job-comparison.html").unlink()
    assert studio.ask("job/job.toml/compare", form).status == 303 and len(started) == 1


def test_the_studios_own_folder_must_be_its_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".studio").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JobError, match="is a link"):
        key_of(Folder(tmp_path.resolve()))
    (tmp_path / ".studio").unlink()
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    with pytest.raises(JobError, match="somebody else's"):
        key_of(Folder(tmp_path.resolve()))


# 7. Confidential values


def test_no_confidential_value_is_sent_to_the_browser(tmp_path: Path) -> None:
    """Every value of the confidential file is a mark that stands nowhere else."""
    a_folder(tmp_path)
    lines = (tmp_path / "confidential.csv").read_text("utf-8").splitlines()
    marks = [",".join(f"MARK{i}x{j}" for j in range(lines[0].count(",") + 1)) for i in range(20)]
    (tmp_path / "confidential.csv").write_text("\n".join([lines[0], *marks]) + "\n", "utf-8")
    studio = Studio(tmp_path)
    for path in ("", *(f"job/job.toml/{s}" for s in (*SCREENS, "state", "inside", "result.zip"))):
        answer = studio.ask(path)
        assert b"MARK" not in answer.body, path
    for name in ("confidential.csv", "public.csv", "ledger.db", "job.toml", "schema.toml"):
        assert studio.ask(f"job/job.toml/file/{name}").status == 400, "tables are not served at all"
    assert "agency" in studio.ask("job/job.toml/tables").text, "the header is"


def test_the_confidential_table_is_not_taken_for_another(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    (tmp_path / "copy.csv").write_bytes((tmp_path / "confidential.csv").read_bytes())
    before = (tmp_path / "job.toml").read_bytes()
    for public in ("confidential.csv", "copy.csv"):
        form = {"digest": studio.digest("tables"), "confidential": "confidential.csv", "public": public}
        answer = studio.ask("job/job.toml/tables", {**form, "kind": "records"})
        assert answer.status == 409 and "the confidential table" in answer.text
    for a, b in (("confidential.csv", "public.csv"), ("public.csv", "confidential.csv"), ("public.csv", "copy.csv")):
        assert "cannot be compared here" in studio.ask("job/job.toml/compare", {"a": a, "b": b}).text
    for made_from, book in (("confidential.csv", ""), ("public.csv", "confidential.csv")):
        form = {"act": "draft", "over": "yes", "from": made_from, "book": book}
        assert "is the confidential table of a job" in studio.ask("job/job.toml/schema", form).text
    assert (tmp_path / "job.toml").read_bytes() == before and started == []


def test_the_stewards_page_is_behind_a_switch_that_is_off_at_the_start(tmp_path: Path) -> None:
    root = with_release(a_folder(tmp_path))
    inside = root / "release-INSIDE-ONLY"
    inside.mkdir()
    (inside / "uses.html").write_text("<p>INSIDE ONLY: MARK</p>", "utf-8")
    studio = Studio(root)
    for path in ("inside", "file/release-INSIDE-ONLY/uses.html", "result"):
        assert "MARK" not in studio.ask(f"job/job.toml/{path}").text
    assert studio.ask("job/job.toml/result", {"act": "inside", "switch": "on"}).status == 303
    answer = studio.ask("job/job.toml/inside")
    assert "MARK" in answer.text and answer.heads["content-security-policy"].startswith("sandbox")
    assert "MARK" not in studio.ask("job/job.toml/file/release-INSIDE-ONLY/uses.html").text
    assert "MARK" not in Studio(root).ask("job/job.toml/inside").text, "off again after a restart"
    (inside / "uses.html").write_text("<p>MARK</p>", "utf-8")
    assert "MARK" not in studio.ask("job/job.toml/inside").text, "what bears no mark is no page of the steward's"
    (root / "other.html").write_text("<p>INSIDE ONLY: MARK</p>", "utf-8")
    (inside / "uses.html").unlink()
    (inside / "uses.html").symlink_to(root / "other.html")
    assert "MARK" not in studio.ask("job/job.toml/inside").text, "nor is a link"
    (inside / "uses.html").unlink()
    (inside / "uses.html").write_text("<p>INSIDE ONLY: MARK</p>", "utf-8")
    assert "MARK" in studio.ask("job/job.toml/inside").text
    studio.ask("job/job.toml/result", {"act": "inside", "switch": "off"})
    assert "MARK" not in studio.ask("job/job.toml/inside").text


def test_no_link_leads_to_a_page_behind_the_switch_or_to_a_table(tmp_path: Path) -> None:
    root = with_release(a_folder(tmp_path))
    for name in ("release-INSIDE-ONLY", "release-rehearsal"):
        (root / name).mkdir()
    (root / "release-INSIDE-ONLY" / "uses.html").write_text("<p>INSIDE ONLY: MARK</p>", "utf-8")
    (root / "other.csv").write_text("MARK\n1\n", "utf-8")
    (root / "release-rehearsal" / "rehearsal.html").symlink_to(root / "release-INSIDE-ONLY" / "uses.html")
    (root / "release-rehearsal" / "rehearsal.json").symlink_to(root / "other.csv")
    for name in ("release-INSIDE-ONLY/uses.html", "other.csv", "release-rehearsal/rehearsal.html"):
        answer = Studio(root).ask(f"job/job.toml/file/{name}")
        assert answer.status == 400 and "MARK" not in answer.text, name


def test_a_part_of_the_confidential_table_is_it(tmp_path: Path, started: list[list[str]]) -> None:
    """A folder of Parquet is one table; what is not offered cannot be compared, whatever a form says."""
    root = a_folder(tmp_path)
    (root / "people").mkdir()
    pl.read_csv(root / "confidential.csv").write_parquet(root / "people" / "part-0.parquet")
    job = (root / "job.toml").read_text("utf-8").replace("confidential.csv", "people")
    (root / "job.toml").write_text(job, "utf-8")
    (root / "release-INSIDE-ONLY").mkdir()
    (root / "release-INSIDE-ONLY" / "exact.csv").write_text("a\n1\n", "utf-8")
    studio = Studio(root)
    for name in ("people/part-0.parquet", "people", "release-INSIDE-ONLY/exact.csv", "--out", "job.toml"):
        for form in ({"a": name, "b": "public.csv"}, {"a": "public.csv", "b": name}):
            assert studio.ask("job/job.toml/compare", form).status in (400, 409), name
        form = {"act": "draft", "over": "yes", "from": name, "digest": "new"}
        assert studio.ask("job/job.toml/schema", form).status in (400, 409), name
    assert started == []


def test_a_first_line_that_is_a_row_is_not_shown(tmp_path: Path) -> None:
    """A confidential file without a header: what stands where names should is a confidential row."""
    root = a_folder(tmp_path)
    first = ("31098375", "AF02", "39", "42482", "F", "E")  # no value twice: it can be read as a header
    (root / "confidential.csv").write_text("\n".join([",".join(first), "31098376,AF03,40,42483,M,D"]), "utf-8")
    assert header(Folder(root.resolve()), "confidential.csv") == first
    for screen in SCREENS:
        assert first[0] not in Studio(root).ask(f"job/job.toml/{screen}").text, screen
    assert "is its first line a row?" in Studio(root).ask("job/job.toml/tables").text


def test_the_zip_holds_what_the_manifest_lists_and_nothing_else(tmp_path: Path) -> None:
    import io
    import json
    import zipfile

    root = with_release(a_folder(tmp_path))
    (root / "release" / "notes.txt").write_text("MARK", "utf-8")
    (root / "release-INSIDE-ONLY").mkdir()
    (root / "release-INSIDE-ONLY" / "uses.html").write_text("MARK", "utf-8")
    listed = json.loads((root / "release" / "MANIFEST.json").read_text("utf-8"))
    listed["files"] |= {n: {} for n in ("../confidential.csv", "../job.toml", "link.csv", "other.csv", "copy.csv")}
    (root / "release" / "other.csv").symlink_to(root / "job.toml")
    (root / "release" / "link.csv").symlink_to(root / "confidential.csv")
    (root / "release" / "copy.csv").hardlink_to(root / "confidential.csv")
    (root / "release" / "MANIFEST.json").write_text(json.dumps(listed), "utf-8")
    answer = Studio(root).ask("job/job.toml/result.zip")
    packed = zipfile.ZipFile(io.BytesIO(answer.body)).namelist()
    assert sorted(packed) == ["release/MANIFEST.json", "release/report.html", "release/statement.json"]


# 8. What is written down


def test_nothing_of_the_stewards_look_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the steward's command prints is exact: it goes nowhere."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr(
        Work,
        "start",
        lambda self, kind, job, words, keep=True, **more: kept.update({kind: keep}) or StartedCommand(Path()),
    )
    studio = Studio(with_release(a_folder(tmp_path)))
    assert studio.ask("job/job.toml/result", {"act": "exact"}).status == 409, "behind the switch"
    studio.ask("job/job.toml/result", {"act": "inside", "switch": "on"})
    studio.ask("job/job.toml/result", {"act": "exact"})
    assert kept == {"steward": False}


def test_what_is_not_to_be_kept_is_thrown_away(tmp_path: Path) -> None:
    work = Work(Folder(tmp_path.resolve()))
    for keep in (True, False):
        task = work.start("steward", "job.toml", ["--version"], keep=keep)
        while task.state == "running":
            time.sleep(0.05)
        assert task.code == 0 and bool(task.result) == keep


def test_no_request_is_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A log of addresses would hold the key; a server's log of errors might quote a file."""
    root, said = a_folder(tmp_path), list[str]()
    ends: list[Any] = []
    import uvicorn

    run = uvicorn.Server.run
    caplog.set_level("INFO")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_warm", lambda: None)
        patch.setattr("uvicorn.Server.run", lambda self, sockets: run(ends.append(self) or self, sockets))  # type: ignore[func-returns-value]
        patch.setattr("uvicorn.Server.install_signal_handlers", lambda self: None, raising=False)
        given = {"port": 0, "browser": False, "ready": lambda address, place: said.append(address)}
        at_work = threading.Thread(target=server.serve, args=(root,), kwargs=given)
        at_work.start()
        while not ends or not ends[0].started:
            at_work.join(0.05)
        port, key = re.findall(r":(\d+)/(.*)/", said[0])[0]
        with socket.create_connection(("127.0.0.1", int(port))) as line:
            line.sendall(f"GET /{key}/job/none.toml/tables HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert line.recv(100).startswith(b"HTTP/1.1 200")
        with socket.create_connection(("127.0.0.1", int(port))) as line:
            line.sendall(b"nonsense\r\n\r\n")
            line.recv(100)
        ends[0].should_exit = True
        at_work.join()
    out, err = capfd.readouterr()
    assert out == err == "" and [r for r in caplog.records if r.name.startswith("uvicorn")] == []
    assert not [p for p in root.rglob("*log*") if p.is_file()]


def test_a_fault_says_where_and_not_what(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.studio.page.home", lambda visit: dict[str, str]()["MARK of a row"])
    answer = studio.ask("")
    assert answer.status == 500 and "KeyError" in answer.text and "MARK" not in answer.text


# 9. Code beside the data


def test_commands_do_not_run_code_that_lies_in_the_folder(tmp_path: Path) -> None:
    """A file polars.py beside the tables is data, not a library."""
    (tmp_path / "hedgerow.py").write_text("raise SystemExit(99)", "utf-8")
    code, out, _ = Work(Folder(tmp_path.resolve())).ask(["--version"])
    assert code == 0 and out.strip() == sys.modules["hedgerow"].__version__


@pytest.mark.parametrize("said", [".", "", "{root}", "{root}/sub"])
def test_nor_by_a_path_of_imports_that_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    root = tmp_path.resolve()
    for place in (root, root / "sub"):
        place.mkdir(exist_ok=True)
        (place / "hedgerow.py").write_text("raise SystemExit(99)", "utf-8")
    ours = str(Path(sys.modules["hedgerow"].__path__[0]).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([said.format(root=root), ours]))
    assert Work(Folder(root)).ask(["--version"])[0] == 0


def test_nor_by_what_a_command_starts(tmp_path: Path) -> None:
    """Spark starts Python where the command stands."""
    (tmp_path / "polars.py").write_text("raise SystemExit(99)", "utf-8")
    environment = Work(Folder(tmp_path.resolve()))._environment
    done = subprocess.run([sys.executable, "-m", "polars"], cwd=tmp_path, env=environment, check=False,
                          capture_output=True)  # fmt: skip
    assert done.returncode != 99


# 10. Spending


def test_nothing_is_spent_without_the_typed_words_for_the_job_that_was_shown(
    tmp_path: Path, started: list[list[str]]
) -> None:
    studio = Studio(a_folder(tmp_path))
    shown = studio.digest("run")
    for typed in ("", "yes", "spend 2 on personnel", "spend 1 on Personnel"):
        answer = studio.ask("job/job.toml/run", {"digest": shown, "act": "run", "typed": typed})
        assert answer.status == 409 and "To run it, type exactly" in answer.text
    job = tmp_path / "job.toml"
    job.write_text(job.read_text("utf-8").replace("epsilon = 1.0", "epsilon = 5.0"), "utf-8")
    answer = studio.ask("job/job.toml/run", {"digest": shown, "act": "run", "typed": "spend 1 on personnel"})
    assert answer.status == 409 and "was changed meanwhile" in answer.text and started == []
    answer = studio.ask(
        "job/job.toml/run", {"digest": studio.digest("run"), "act": "run", "typed": "spend 5 on personnel"}
    )
    assert answer.status == 303 and started == [["run", "job.toml", "--yes", "--json"]]
    (tmp_path / "release.run").mkdir()
    (tmp_path / "release.run" / "run.json").write_text('{"run": "0123", "job": "x"}', "utf-8")
    answer = studio.ask("job/job.toml/run", {"digest": studio.digest("run"), "act": "resume"})
    assert answer.status == 409 and len(started) == 1, "going on with a run that has booked nothing spends too"


def test_a_form_that_is_sent_again_starts_no_second_run(tmp_path: Path, started: list[list[str]]) -> None:
    """A browser may send an old form again: words count for the run that was to be started when they were typed."""
    studio = Studio(a_folder(tmp_path))
    form = {"digest": studio.digest("run"), "act": "run", "typed": "spend 1 on personnel"}
    assert studio.ask("job/job.toml/run", form).status == 303 and len(started) == 1
    task = tmp_path / ".studio" / "work" / "run@job.toml" / "task.json"
    task.parent.mkdir(parents=True)
    task.write_text('{"words": ["run", "job.toml", "--yes"]}', "utf-8")  # it was started, and its process has gone
    answer = studio.ask("job/job.toml/run", form)
    assert answer.status == 409 and "A run was started since this page was drawn" in answer.text
    assert len(started) == 1 and 'data-posted="yes"' in answer.text
    again = {**form, "digest": studio.digest("run")}
    assert studio.ask("job/job.toml/run", again).status == 303 and len(started) == 2
