"""A PostgreSQL ledger that is lost in the middle of a whole run: what is said is true, and nothing is paid twice.

The run speaks with a real server through a proxy, which drops the line at a chosen booking: before the server hears
of its COMMIT, so that nothing is booked, or after it, so that it is booked and the run does not know.
"""

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command
from tests.postgres import new_database, running_server

BEFORE, AFTER = "before the server hears of it", "after the server has booked"


class Line:
    """A proxy to a server, whose line drops at the n-th COMMIT of a booking, and stays dead until it is set again."""

    def __init__(self, port: int) -> None:
        self._server, self._door = port, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self._bookings, self._drop, self._when, self.is_dead = 0, 0, BEFORE, False
        threading.Thread(target=self._serve, daemon=True).start()

    def set(self, drop: int, when: str) -> None:
        """Drop at this booking, counted from now."""
        self._bookings, self._drop, self._when, self.is_dead = 0, drop, when, False

    def close(self) -> None:
        self._door.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                if self.is_dead:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        books = False
        with suppress(OSError):
            while said := client.recv(1 << 16):
                books |= b"INSERT INTO hedgerow_entries" in said
                if books and b"COMMIT" in said:
                    books, self._bookings = False, self._bookings + 1
                    self.is_dead = self._bookings == self._drop
                    if self.is_dead and self._when == BEFORE:
                        break
                server.sendall(said)
        if not (self.is_dead and self._when == AFTER):
            _hang_up(client, server)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while said := server.recv(1 << 16):
                if self.is_dead:  # the server has answered, so it has booked; nobody hears of it
                    break
                client.sendall(said)
        _hang_up(client, server)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture
def line(server: str) -> Iterator[Line]:
    found = Line(int(server.rpartition(":")[2]))
    yield found
    found.close()


def _booked(hedgerow: Command, url: str) -> Counter[str]:
    """What stands on the server, asked without the proxy."""
    entries = json.loads(hedgerow("ledger", "show", "--url", url, "--json").out)["entries"]
    return Counter(e["kind"] for e in entries if e["kind"] in ("promise", "spend", "draw"))


def _told(said: str) -> Counter[str]:
    """What a message says is booked."""
    if "as last seen: nothing." in said:
        return Counter()
    found = re.search(r"as last seen: epsilon 1.5 promised; .* spent on (\d) requests?, (\d) answered", said)
    assert found, said
    return Counter({"promise": 1, "spend": int(found[1]), "draw": int(found[2])})


@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_a_server_lost_at_any_booking_of_a_run_is_told_truly_and_nothing_is_paid_twice(
    hedgerow: Command, job: Path, line: Line, server: str, when: str
) -> None:
    url, own = new_database(server), f":{server.rpartition(':')[2]}/"
    assert hedgerow("ledger", "cap", "toy", "--epsilon", "1.5", "--url", url, "--new").code == 0
    job.write_text(job.read_text() + f'\n[ledger]\nurl = "{url.replace(own, f":{line.port}/")}"\n')
    release, seen = job.parent / "release", list[Counter[str]]()
    while True:
        line.set(2 if when == BEFORE and seen else 1, when)  # each time one booking further
        more = ["--resume"] if release.with_name("release.run").exists() else []
        went = hedgerow("run", job, "--yes", "--no-forecast", *more)
        if not line.is_dead:
            break
        assert went.code == 4 and "Traceback" not in went.err, went.err
        told, true = _told(went.err), _booked(hedgerow, url)
        assert told <= true, "what is said to be booked is booked"
        assert when == AFTER or told == true, "and nothing else"
        assert told == true or "lost in mid-commit: then the same run finds it" in went.err
        seen.append(true)
        assert "--resume" in went.err, went.err
    assert went.code == 0, went.err
    assert [s.total() for s in seen] == ([0, 1, 2, 2] if when == BEFORE else [1, 2, 2, 3]), "at every booking"
    assert _booked(hedgerow, url) == {"promise": 1, "spend": 1, "draw": 1}
    assert hedgerow("verify", release, "--ledger", url).code == 0
    assert not release.with_name("release.run").exists()
