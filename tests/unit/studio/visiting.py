"""A studio that is asked without a browser or a socket: one request, with whatever headers a stranger would send."""

import asyncio
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from hedgerow.simulate.personnel import personnel, personnel_schema
from hedgerow.studio.folder import Folder
from hedgerow.studio.server import application

KEY, PORT = "k" * 43, 8917
HOST = f"127.0.0.1:{PORT}"
SCREENS = ("tables", "schema", "uses", "budget", "run", "result", "ledger", "experiments", "compare")
JOB = """\
# Kept: a comment of the steward's.
[job]
title = "Simulated personnel"
[schema]
file = "schema.toml"
[confidential]
table = "confidential.csv"   # kept: beside a key
name = "personnel"
[public]
table = "public.csv"
[budget]
epsilon = 1.0
[[use]]
name = "race"
columns = ["race"]
tolerance = 0.02
"""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    heads: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class Studio:
    """The studio of a folder; ``ask`` is a request as the steward's own browser sends it, changed as one likes."""

    def __init__(self, root: Path) -> None:
        self.folder = Folder(root.resolve())
        self.app = application(self.folder, key=KEY, port=PORT)

    def ask(
        self,
        path: str,
        form: Mapping[str, Any] | None = None,
        *,
        method: str = "",
        key: str = KEY,
        **heads: str | None,
    ) -> Answer:
        """GET ``path``, or POST ``form``; a head that is None is left out."""
        body = b"" if form is None else urlencode(form, doseq=True).encode()
        sent: dict[str, str | None] = {"host": HOST}
        if form is not None:
            sent |= {"origin": f"http://{HOST}", "content-type": "application/x-www-form-urlencoded"}
            sent |= {"content-length": str(len(body)), "sec-fetch-site": "same-origin"}
        sent |= {name.replace("_", "-"): value for name, value in heads.items()}
        place, _, query = path.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method or ("GET" if form is None else "POST"),
            "scheme": "http",
            "path": f"/{key}/{place}" if key else f"/{place}",
            "raw_path": quote(f"/{key}/{place}").encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(n.encode(), v.encode()) for n, v in sent.items() if v is not None],
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 50000),
        }
        return asyncio.run(_answered(self.app, scope, body))

    def digest(self, screen: str, job: str = "job.toml") -> str:
        """The version of the file that a screen shows."""
        return str(re.findall(r'name="digest" value="([\w.-]+)"', self.ask(f"job/{job}/{screen}").text)[0])


async def _answered(app: Any, scope: dict[str, Any], body: bytes) -> Answer:
    sent: list[Any] = []
    asked = False

    async def receive() -> Any:
        nonlocal asked
        if asked:
            await asyncio.Event().wait()  # the browser stays, and says no more
        asked = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    heads = {k.decode().lower(): v.decode("latin-1") for k, v in sent[0]["headers"]}
    return Answer(sent[0]["status"], heads, b"".join(m.get("body", b"") for m in sent[1:]))


def a_folder(root: Path, rows: int = 400) -> Path:
    """Simulated personnel tables, their schema and a job."""
    made = personnel(rows, 3)
    for name in ("public", "confidential", "target"):
        getattr(made, name).write_csv(root / f"{name}.csv")
    (root / "schema.toml").write_text(personnel_schema(), "utf-8")
    (root / "job.toml").write_text(JOB, "utf-8")
    return root


def said(root: Path, name: str = "job.toml") -> dict[str, Any]:
    """What a file of the folder says."""
    return tomllib.loads((root / name).read_text("utf-8"))


def send(studio: Studio, screen: str, form: dict[str, Any]) -> int:
    """Send a form of a screen as it stands now; the status of the answer."""
    digest = studio.digest(screen)
    return studio.ask(f"job/job.toml/{screen}", {"digest": digest, **form}).status


def with_release(root: Path) -> Path:
    """A folder that looks like a release."""
    release = root / "release"
    release.mkdir()
    (release / "report.html").write_text("<script>steal()</script><p>report</p>", "utf-8")
    said = {"recipe": "public_blend", "promised": {"epsilon": "1", "delta": "0"}, "table": "personnel"}
    (release / "statement.json").write_text(json.dumps(said), "utf-8")
    (release / "MANIFEST.json").write_text(json.dumps({"files": {"report.html": {}, "statement.json": {}}}), "utf-8")
    return root
