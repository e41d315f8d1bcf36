"""A real Chromium, spoken to over a pipe: open a page, look at it, press things, take pictures.

Nothing but the standard library: messages are JSON texts with a zero byte between, on file descriptors 3 and 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

PROGRAM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
WHY_NOT = "no Chromium on this machine: apt-get install chromium"


class Chromium:
    """One browser with one page."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._rest, self._number = to, back, b"", 0
        self.events: list[dict[str, Any]] = []
        self._session = ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._ask(f"{domain}.enable")

    def open(self, path: Path, *, wide: int = 1280, high: int = 900, dark: bool = False, media: str = "") -> None:
        """Open a file of this machine, as a reader would."""
        self.events.clear()
        self._ask("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._ask("Page.navigate", url=path.resolve().as_uri())
        self._wait("Page.loadEventFired")

    def run(self, code: str) -> Any:
        """The value of a JavaScript expression on the page."""
        found = self._ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def move(self, x: float, y: float) -> None:
        """Point at a place."""
        self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is seen, as a PNG."""
        shot = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def printed(self, path: Path) -> None:
        """The page as it is printed, as a PDF."""
        path.write_bytes(base64.b64decode(self._ask("Page.printToPDF", printBackground=False)["data"]))

    @property
    def complaints(self) -> list[str]:
        """What the browser found wrong: errors, warnings, blocked scripts."""
        logged = [e["params"]["entry"] for e in self.events if e["method"] == "Log.entryAdded"]
        thrown = [e["params"] for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        return [str(c) for c in (*(e["text"] for e in logged if e["level"] != "verbose"), *thrown)]

    @property
    def fetched(self) -> list[str]:
        """Every address that the page asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == self._number:
                assert "error" not in got, got
                return dict(got["result"])
            self.events.append(got)

    def _wait(self, method: str) -> None:
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self._next())

    def _next(self, patience: float = 60) -> dict[str, Any]:
        end = monotonic() + patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._back], [], [], max(0, end - monotonic()))
            assert ready, "Chromium does not answer"
            part = os.read(self._back, 1 << 16)
            assert part, "Chromium has gone"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))


@contextmanager
def chromium() -> Iterator[Chromium]:
    """A browser of its own, gone at the end."""
    assert PROGRAM is not None, WHY_NOT
    there, to = os.pipe()
    back, here = os.pipe()

    def place() -> None:
        os.dup2(there, 13)
        os.dup2(here, 14)
        os.dup2(13, 3)
        os.dup2(14, 4)

    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        options += ["--no-first-run", f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        program = subprocess.Popen(
            [PROGRAM, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=place,
        )
        os.close(there)
        os.close(here)
        try:
            yield Chromium(to, back)
        finally:
            program.terminate()
            with suppress(subprocess.TimeoutExpired):
                program.wait(10)
            program.kill()
            program.wait()
            os.close(to)
            os.close(back)
