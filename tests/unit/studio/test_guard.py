"""The studio's threat model, line by line: docs/studio.md has the same lines in the same order."""

import re
import socket
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hedgerow.figures import script_hash
from hedgerow.studio import server
from hedgerow.studio.folder import Folder
from hedgerow.studio.guard import MOST_BYTES
from hedgerow.studio.server import key_of
from hedgerow.studio.work import StartedCommand, Work
from tests.unit.studio.visiting import HOST, KEY, Studio, a_folder

SCREENS = ("tables", "schema", "uses", "budget", "run", "result", "ledger", "experiments", "compare")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(a_folder(tmp_path_factory.mktemp("studio")))


def test_the_docs_have_a_line_for_each_of_these() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "studio.md").read_text("utf-8")
    told = re.findall(r"(?m)^\| (\d+)\. ", docs)
    tested = re.findall(r"(?m)^# (\d+)\. ", Path(__file__).read_text("utf-8"))
    assert told == tested == [str(i) for i in range(1, len(told) + 1)]


# 1. Somebody on another machine


def test_it_listens_on_the_loopback_address_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[Any] = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: bound.extend(s.getsockname() for s in sockets))
    monkeypatch.setattr(server, "_warm", lambda: None)
    server.serve(tmp_path, port=0, browser=False, ready=lambda address, place: bound.append(address))
    address, (host, port) = bound
    assert host == "127.0.0.1"
    assert address == f"http://127.0.0.1:{port}/{key_of(Folder(tmp_path.resolve()))}/"


# 2. Another user or program of this machine


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], KEY.upper(), "x" * 43])
def test_without_the_key_nothing_is_shown(studio: Studio, key: str) -> None:
    for path in ("", "job/job.toml/tables", "style.css", "job/job.toml/result.zip"):
        answer = studio.ask(path, key=key)
        assert answer.status == 404
        assert "job.toml" not in answer.text and "personnel" not in answer.text


def test_the_key_is_random_long_and_for_its_owner_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    for place in (one, other):
        place.mkdir()
    keys = [key_of(Folder(p)) for p in (one, other)]
    assert keys[0] != keys[1] and all(re.fullmatch(r"[\w-]{43}", k) for k in keys)
    assert key_of(Folder(one)) == keys[0], "after a restart open tabs go on"
    assert stat.S_IMODE((one / ".studio" / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE((one / ".studio").stat().st_mode) == 0o700
    (one / ".studio" / "key").chmod(0o644)
    assert key_of(Folder(one)) != keys[0], "a key that others could read is no key"


def test_the_browser_is_not_called_with_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program is called with, every user of a machine can see."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    monkeypatch.setattr(server, "_warm", lambda: None)
    server.serve(tmp_path, port=0, browser=True, ready=lambda address, place: None)
    key = key_of(Folder(tmp_path.resolve()))
    page = tmp_path / ".studio" / "open.html"
    assert opened == [page.resolve().as_uri()] and key not in opened[0]
    assert key in page.read_text("utf-8") and stat.S_IMODE(page.stat().st_mode) == 0o600


# 3. A web site that the steward has open


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{HOST[-4:]}", "127.0.0.1", "127.0.0.1:1", None])
def test_a_name_that_was_rebound_to_this_machine_is_refused(studio: Studio, host: str | None) -> None:
    assert studio.ask("", host=host).status == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", None, "http://127.0.0.1:1", f"https://{HOST}"])
def test_a_form_of_another_site_changes_nothing(studio: Studio, started: list[list[str]], origin: str | None) -> None:
    before = (studio.folder.root / "job.toml").read_bytes()
    for screen in SCREENS:
        form = {"digest": studio.digest("tables"), "act": "run", "typed": "spend 1 on personnel", "epsilon": "9"}
        assert studio.ask(f"job/job.toml/{screen}", form, origin=origin).status == 403
    assert (studio.folder.root / "job.toml").read_bytes() == before and started == []


def test_a_form_that_the_browser_calls_foreign_changes_nothing(studio: Studio) -> None:
    for site in ("cross-site", "same-site"):
        assert studio.ask("job/job.toml/budget", {"epsilon": "9"}, sec_fetch_site=site).status == 403


def test_other_sites_load_nothing_from_here(studio: Studio) -> None:
    for aim in ("script", "image", "iframe", "empty"):
        for site in ("cross-site", "same-site"):
            assert studio.ask("script.js", sec_fetch_site=site, sec_fetch_dest=aim).status == 403
    assert studio.ask("", sec_fetch_site="cross-site", sec_fetch_dest="document").status == 200, "its own way in"


def test_other_kinds_of_bodies_and_long_ones_are_refused(studio: Studio) -> None:
    form = {"epsilon": "9"}
    assert studio.ask("job/job.toml/budget", form, content_type="text/plain").status == 415
    assert studio.ask("job/job.toml/budget", form, content_type="application/json").status == 415
    assert studio.ask("job/job.toml/budget", form, content_length=None).status == 413
    assert studio.ask("job/job.toml/budget", {"epsilon": "9" * MOST_BYTES}).status == 413
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        assert studio.ask("", method=method).status == 405


# 4. Content that would run in the page


def test_every_page_forbids_scripts_that_are_not_its_own(studio: Studio) -> None:
    for path in ("", *(f"job/job.toml/{s}" for s in SCREENS), "script.js", "no-such-page"):
        heads = studio.ask(path).heads
        policy = dict(p.strip().partition(" ")[::2] for p in heads["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'", path
        assert (
            policy["style-src"] == "'self'"
            and policy["frame-ancestors"] == "'none'"
            and policy["base-uri"] == "'none'"
        )
        assert heads["x-content-type-options"] == "nosniff" and heads["cache-control"] == "no-store"
        assert heads["referrer-policy"] == "same-origin", "the key in the address is told to nobody"


def test_no_page_has_an_inline_script_style_or_handler(studio: Studio) -> None:
    for path in ("", *(f"job/job.toml/{s}" for s in SCREENS)):
        text = studio.ask(path).text
        for found in re.finditer(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL):
            assert "src=" in found[1] or 'type="application/json"' in found[1], path
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text), path
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', text), path


def test_names_from_files_are_text_and_never_markup(tmp_path: Path) -> None:
    a_folder(tmp_path)
    bad = "<img src=x onerror=alert(1)>"
    job = tmp_path / "job.toml"
    job.write_text(
        job.read_text("utf-8").replace('"Simulated personnel"', f'"{bad}"').replace('"race"\n', f'"{bad}"\n')
    )
    studio = Studio(tmp_path)
    for screen in SCREENS:
        assert bad not in studio.ask(f"job/job.toml/{screen}").text, screen


def test_pages_of_a_release_are_shown_with_an_origin_of_their_own(tmp_path: Path) -> None:
    """A release may be anybody's: what is in it runs no script but ours, and reaches no page of the studio."""
    studio = Studio(with_release(a_folder(tmp_path)))
    answer = studio.ask("job/job.toml/file/release/report.html")
    policy = answer.heads["content-security-policy"]
    assert answer.status == 200 and policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy and f"script-src '{script_hash()}'" in policy
    assert "connect-src" not in policy and "default-src 'none'" in policy


# 5. Pages that change something when they are only looked at


def test_looking_changes_nothing(studio: Studio, started: list[list[str]]) -> None:
    def everything() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in studio.folder.root.rglob("*") if p.is_file()}

    before = everything()
    for path in ("", *(f"job/job.toml/{s}" for s in (*SCREENS, "state", "inside", "result.zip", "stop"))):
        studio.ask(f"{path}?act=run&typed=spend+1+on+personnel&epsilon=9&switch=on&kind=run&table=public.csv")
    assert everything() == before and started == []


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


def test_a_job_that_names_tables_elsewhere_is_not_opened(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    job = a_folder(root) / "job.toml"
    (root / "public.csv").rename(tmp_path / "public.csv")
    job.write_text(job.read_text("utf-8").replace('"public.csv"', '"../public.csv"'), "utf-8")
    studio = Studio(root)
    for screen in ("schema", "uses", "budget", "run"):
        answer = studio.ask(f"job/job.toml/{screen}")
        assert "is not in the folder of this studio" in answer.text, screen


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
    for a, b in (("confidential.csv", "public.csv"), ("public.csv", "confidential.csv")):
        assert "cannot be compared here" in studio.ask("job/job.toml/compare", {"a": a, "b": b}).text
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
    studio.ask("job/job.toml/result", {"act": "inside", "switch": "off"})
    assert "MARK" not in studio.ask("job/job.toml/inside").text


def test_the_zip_holds_what_the_manifest_lists_and_nothing_else(tmp_path: Path) -> None:
    import io
    import json
    import zipfile

    root = with_release(a_folder(tmp_path))
    (root / "release" / "notes.txt").write_text("MARK", "utf-8")
    (root / "release-INSIDE-ONLY").mkdir()
    (root / "release-INSIDE-ONLY" / "uses.html").write_text("MARK", "utf-8")
    listed = json.loads((root / "release" / "MANIFEST.json").read_text("utf-8"))
    listed["files"] |= {"../confidential.csv": {}, "link.csv": {}, "copy.csv": {}}
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


def test_no_request_is_logged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A log of addresses would hold the key; a server's log of errors might quote a file."""
    root, said = a_folder(tmp_path), list[str]()
    ends: list[Any] = []
    import uvicorn

    run = uvicorn.Server.run
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
    assert out == err == ""
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


def with_release(root: Path) -> Path:
    """A folder that looks like a release."""
    import json

    release = root / "release"
    release.mkdir()
    (release / "report.html").write_text("<script>steal()</script><p>report</p>", "utf-8")
    said = {"recipe": "public_blend", "promised": {"epsilon": "1", "delta": "0"}, "table": "personnel"}
    (release / "statement.json").write_text(json.dumps(said), "utf-8")
    (release / "MANIFEST.json").write_text(json.dumps({"files": {"report.html": {}, "statement.json": {}}}), "utf-8")
    return root
