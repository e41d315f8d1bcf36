"""The studio's threat model, lines 1 to 5; docs/studio.md has the same lines in the same order."""

import asyncio
import contextlib
import hmac
import inspect
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from hedgerow.cli import studio as cli
from hedgerow.figures import script_hash
from hedgerow.studio import guard, server
from hedgerow.studio.folder import Folder
from hedgerow.studio.guard import MOST_BYTES
from hedgerow.studio.server import key_of
from tests.unit.studio.visiting import HOST, KEY, SCREENS, Studio, a_folder, with_release

ACTS = {
    "tables": ("look", "decide"), "schema": ("draft", "save", "add", "leave"),
    "uses": ("suggested", "add", "remove", "change"), "budget": ("rehearse", ""), "run": ("resume",),
    "experiments": ("write",),
    "result": ("verify", "sample", "estimate", "exact", "inside", "folder"),
}  # fmt: skip
"""What the forms of each screen ask for."""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(a_folder(tmp_path_factory.mktemp("studio")))


def test_the_docs_have_a_line_for_each_of_these() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "studio.md").read_text("utf-8")
    told = re.findall(r"(?m)^\| (\d+)\. ", docs)
    files = ("test_guard.py", "test_guard_values.py")
    tested = [
        n for f in files for n in re.findall(r"(?m)^# (\d+)\. ", Path(__file__).with_name(f).read_text("utf-8"))
    ]
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


def test_no_option_names_another_address() -> None:
    """Of the command or of what it calls."""
    assert set(inspect.signature(cli.studio).parameters) == {"folder", "port", "no_browser"}
    assert set(inspect.signature(server.serve).parameters) == {"root", "port", "browser", "ready"}


# 2. Another user or program of this machine


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], KEY.upper(), "x" * 43])
def test_without_the_key_nothing_is_shown(studio: Studio, key: str) -> None:
    for path in ("", "job/job.toml/tables", "style.css", "job/job.toml/result.zip"):
        answer = studio.ask(path, key=key)
        assert answer.status == 404
        assert "job.toml" not in answer.text and "personnel" not in answer.text


def test_the_key_is_compared_whole_and_in_constant_time(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return hmac.compare_digest(a, b)

    monkeypatch.setattr(guard, "compare_digest", compare)
    assert studio.ask("", key="wrong").status == 404 and studio.ask("").status == 200
    assert compared == [(b"wrong", KEY.encode()), (KEY.encode(), KEY.encode())]


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


def test_two_names_are_refused_though_one_is_right() -> None:
    """Whoever stands between may believe the one, and the studio the other."""
    asked: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope)

    async def send(message: Any) -> None:
        asked.append(message.get("status"))

    for hosts in ([HOST, "evil.example"], ["evil.example", HOST]):
        heads = [(b"host", h.encode()) for h in hosts]
        scope = {"type": "http", "method": "GET", "path": f"/{KEY}/", "headers": heads}
        asyncio.run(guard.Guard(inner, key=KEY, hosts=frozenset({HOST}))(scope, None, send))  # type: ignore[arg-type]
    assert asked == [421, None] * 2


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


def test_a_form_that_goes_on_beyond_what_it_said_is_cut_off(tmp_path: Path) -> None:
    """Whatever stands before it: what is too long is not read to its end, and changes nothing."""
    studio, read = Studio(a_folder(tmp_path)), list[int]()
    form = f"digest={studio.digest('budget')}&epsilon=9&delta=0&more=".encode()

    async def receive() -> Any:
        read.append(len(read))
        piece = form if len(read) == 1 else b"0" * (MOST_BYTES // 2)
        return {"type": "http.request", "body": piece, "more_body": len(read) < 9}

    async def send(message: Any) -> None:
        pass

    heads = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/x-www-form-urlencoded"}
    scope = {
        "type": "http", "method": "POST", "path": f"/{KEY}/job/job.toml/budget", "query_string": b"", "root_path": "",
        "headers": [(n.encode(), v.encode()) for n, v in {**heads, "content-length": "99"}.items()],
    }  # fmt: skip
    with contextlib.suppress(ClientDisconnect):
        asyncio.run(studio.app(scope, receive, send))  # type: ignore[arg-type]
    assert len(read) < 5 and "epsilon = 1.0" in (tmp_path / "job.toml").read_text("utf-8")


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
        assert all(policy[f"{part}"] == "'self'" for part in ("connect-src", "form-action", "frame-src", "img-src"))
        assert "set-cookie" not in heads, "a cookie would be sent to every port of this host"
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


def test_looking_changes_nothing(tmp_path: Path, started: list[list[str]]) -> None:
    studio = Studio(a_folder(tmp_path))
    task = studio.folder.own / "work" / "run@job.toml" / "task.json"
    task.parent.mkdir(parents=True)
    task.write_text('{"words": ["run", "job.toml"]}', "utf-8")  # a run that could be stopped

    def everything() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in studio.folder.root.rglob("*") if p.is_file()}

    before, words = everything(), "typed=spend+1+on+personnel&epsilon=9&delta=0&switch=on&kind=run&table=public.csv"
    words += (
        f"&digest={studio.digest('run')}&a=public.csv&b=target.csv&out=release-2&unit=record&use=race&tolerance=9"
    )
    for path in ("", "new", *(f"job/job.toml/{s}" for s in (*SCREENS, "state", "inside", "result.zip", "stop"))):
        for act in ("run", *ACTS.get(path.rpartition("/")[2], ())):
            studio.ask(f"{path}?act={act}&{words}")
            assert everything() == before and started == [], (path, act)
    assert "inside" not in studio.app._app.state.__dict__, "nor is the switch turned"  # type: ignore[attr-defined]
