"""A real PostgreSQL server for tests: made in a temporary folder, on loopback only, gone afterwards."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

_NUMBERS = count()


def _program(name: str) -> str:
    """The newest installed program of this name."""
    versions = [p for p in Path("/usr/lib/postgresql").glob(f"*/bin/{name}") if p.parts[-3].isdigit()]
    newest = max(versions, key=lambda p: int(p.parts[-3]), default=None)
    if not (found := str(newest) if newest else shutil.which(name)):
        pytest.skip("no PostgreSQL server is installed (apt-get install postgresql)")
    return found


def _plain_user() -> str | None:
    """Whom to run as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of a server, without a database: ``postgresql://steward@127.0.0.1:PORT``."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (pip install 'hedgerow[postgres]')")
    initdb, postgres, user = _program("initdb"), _program("postgres"), _plain_user()
    folder = Path(tempfile.mkdtemp(prefix="hedgerow-postgres-"))
    if user:
        shutil.chown(folder, user)
    data, log = folder / "data", folder / "log"
    made = subprocess.run(
        [initdb, "-D", data, "-U", "steward", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
        user=user,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",
        "fsync": "off",  # the machine is not switched off in these tests; processes are killed
        "max_connections": 50,
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with log.open("wb") as out:
        server = subprocess.Popen([postgres, "-D", data, *options], user=user, cwd=folder, stdout=out, stderr=out)
    try:
        url = f"postgresql://steward@127.0.0.1:{port}"
        for _ in range(300):
            try:
                psycopg.connect(f"{url}/postgres").close()
                break
            except psycopg.OperationalError:
                assert server.poll() is None, log.read_text("utf-8")
                time.sleep(0.05)
        yield url
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing in it is needed any more
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server: str) -> str:
    """The URL of an empty place on ``server``: a schema of its own, which is quicker than a database."""
    import psycopg

    name = f"ledger{next(_NUMBERS)}"
    with psycopg.connect(f"{server}/postgres") as db:
        db.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}/postgres?options=-csearch_path%3D{name}"
