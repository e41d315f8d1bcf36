"""Which address shows what, and the loopback socket that it is shown on.

A screen is a module, loaded when it is first asked for: the server stands before any library for tables is loaded.
"""

import errno
import logging
import os
import secrets
import socket
import threading
import traceback
import webbrowser
from collections.abc import Callable
from html import escape
from importlib import import_module
from pathlib import Path

import tomlkit  # noqa: F401  that it is there is known at the start
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hedgerow.errors import NOTHING, JobError
from hedgerow.studio.folder import Folder
from hedgerow.studio.guard import App, Guard

HOST, PORT = "127.0.0.1", 8917
_SCREENS: dict[str, tuple[str, str]] = {
    "/": ("GET", "page.home"),
    "/new": ("POST", "page.new"),
    "/style.css": ("GET", "page.style"),
    "/icon.svg": ("GET", "page.icon"),
    "/script.js": ("GET", "page.script"),
    "/job/{job}/state": ("GET", "page.state"),
    "/job/{job}/stop": ("POST", "page.stop"),
    "/job/{job}/tables": ("GET POST", "tables.screen"),
    "/job/{job}/schema": ("GET POST", "schema.screen"),
    "/job/{job}/uses": ("GET POST", "uses.screen"),
    "/job/{job}/budget": ("GET POST", "budget.screen"),
    "/job/{job}/run": ("GET POST", "run.screen"),
    "/job/{job}/result": ("GET POST", "result.screen"),
    "/job/{job}/result.zip": ("GET", "result.package"),
    "/job/{job}/file/{name:path}": ("GET", "result.file"),
    "/job/{job}/inside": ("GET POST", "result.inside"),
    "/job/{job}/ledger": ("GET POST", "books.ledger"),
    "/job/{job}/experiments": ("GET POST", "experiments.screen"),
    "/job/{job}/compare": ("GET POST", "books.compare"),
}


def application(folder: Folder, *, key: str, port: int) -> App:
    """The studio of a folder behind its guard."""
    routes = [Route(path, _screen(name), methods=methods.split()) for path, (methods, name) in _SCREENS.items()]
    inner = Starlette(routes=routes, exception_handlers={404: _lost})
    inner.state.folder = folder
    return Guard(inner, key=key, hosts=frozenset({f"{HOST}:{port}", f"localhost:{port}"}))


def _screen(name: str) -> Callable[[Request], Response]:
    """A screen by module and name; it runs in a thread, and every refusal is shown as the command line words it."""
    module, _, function = name.partition(".")

    async def answer(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        body = await request.body() if request.method == "POST" else b""
        return await run_in_threadpool(_answered, module, function, request, body)

    return answer  # type: ignore[return-value]  # Starlette takes both


def _answered(module: str, function: str, request: Request, body: bytes) -> Response:
    from hedgerow.studio.page import Visit, shown

    try:
        screen = getattr(import_module(f"hedgerow.studio.{module}"), function)
        return shown(screen, Visit.of(request, body))
    except Exception as fault:  # what is let out of here, the server would write to its log
        return _fault(fault)


def _fault(fault: Exception) -> Response:
    """What is said of an error that nobody foresaw: where it was, never its own words."""
    ours = [f for f in traceback.extract_tb(fault.__traceback__) if "hedgerow" in Path(f.filename).parts]
    where = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    words = f"This is a fault of ours: {type(fault).__name__}{where}. Please report these words. {NOTHING}\n"
    return PlainTextResponse(words, 500)


def _lost(request: Request, fault: Exception) -> Response:
    return PlainTextResponse("There is no such page in the studio.\n", 404)


def key_of(folder: Folder) -> str:
    """The key of a folder's studio: random, for this user alone, and the same after a restart so that tabs go on."""
    file = folder.own / "key"
    try:
        known = file.read_text("ascii").strip()
        if len(known) == 43 and not file.is_symlink() and not file.stat().st_mode & 0o077:
            return known
    except (OSError, UnicodeDecodeError):
        pass
    file.unlink(missing_ok=True)
    key = secrets.token_urlsafe(32)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(handle, key.encode())
    os.close(handle)
    return key


def _listening(port: int) -> socket.socket:
    for wanted in (port,) if port else (PORT, 0):
        try:
            return socket.create_server((HOST, wanted))
        except OSError as wrong:
            if port or wrong.errno != errno.EADDRINUSE:
                raise JobError(
                    f"Port {wanted} cannot be had: {wrong.strerror}. Is a studio open there already? Give another\n"
                    f"with --port. {NOTHING}"
                ) from None
    raise AssertionError("port 0 is always free")


def serve(root: Path, *, port: int, browser: bool, ready: Callable[[str, Path], None]) -> None:
    """Show the folder ``root`` until Ctrl-C; ``ready`` is told the address before the first page can be asked for."""
    folder = Folder(root.resolve())
    key, door = key_of(folder), _listening(port)
    number = door.getsockname()[1]
    address = f"http://{HOST}:{number}/{key}/"
    logging.getLogger("uvicorn.error").disabled = True  # it would log addresses, which hold the key
    config = uvicorn.Config(
        application(folder, key=key, port=number),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        timeout_graceful_shutdown=1,
    )
    ready(address, folder.root)
    threading.Thread(target=_warm, daemon=True).start()
    if browser:
        webbrowser.open(_way_in(folder, address).as_uri())
    with door:
        uvicorn.Server(config).run(sockets=[door])


def _way_in(folder: Folder, address: str) -> Path:
    """A page of this user's that leads to the studio: every user of a machine sees what a browser is called with."""
    page = folder.own / "open.html"
    page.unlink(missing_ok=True)
    page.touch(0o600)
    page.write_text(f'<meta http-equiv="refresh" content="0; url={escape(address)}">', "utf-8")
    return page


def _warm() -> None:
    """Load what the first page needs while the browser opens."""
    for name in ("hedgerow.studio.page", "hedgerow.studio.tables", "hedgerow.studio.schema"):
        import_module(name)
