"""A ledger that cannot be used: one clear paragraph, nothing read, nothing lost."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from hedgerow.errors import LedgerError, MissingExtra
from hedgerow.ledger.book import Ledger
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.steward import ledger_book
from tests.privacy.conftest import Forked

UNREAD = "No confidential row was read and nothing was spent."


def refused(url: str) -> str:
    with pytest.raises(LedgerError) as fault:
        Ledger.open(url)
    message = str(fault.value)
    assert UNREAD in message
    assert len(message) < 500 and message.count("\n") < 4, "one paragraph"
    assert fault.value.exit_code == 4
    return message


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that a user without rights can reach; the one pytest makes is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="hedgerow-ledger-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("sex,pay\nF,100\n" * 100)
    assert "not a database" in refused(str(tmp_path / "table.csv"))
    assert (tmp_path / "table.csv").read_text() == "sex,pay\nF,100\n" * 100


def test_a_database_of_something_else_is_not_touched(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE personnel (name TEXT)")
    before = (tmp_path / "other.db").read_bytes()
    assert "not a ledger" in refused(str(tmp_path / "other.db"))
    assert (tmp_path / "other.db").read_bytes() == before


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    Ledger.open(str(file)).cap("pay", Budget(1))
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    assert "malformed" in refused(str(file))


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert "unable to open" in refused(str(tmp_path / "nowhere" / "ledger.db"))


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    assert "unable to open" in refused(str(tmp_path))


@pytest.mark.parametrize("url", ["mysql://host/db", "https://example.org/ledger", "ledger://x"])
def test_a_url_of_something_else(url: str) -> None:
    assert "postgresql://" in refused(url)


def test_a_read_only_folder(forked: Forked, open_folder: Path) -> None:
    open_folder.chmod(0o555)
    (said,) = forked("as_nobody", url=str(open_folder / "ledger.db"))
    assert said.startswith("fault LedgerError") and "unable to open" in said and UNREAD in said


def test_a_read_only_file(forked: Forked, open_folder: Path) -> None:
    file = open_folder / "ledger.db"
    Ledger.open(str(file)).cap("pay", Budget(1))
    file.chmod(0o444)
    (said,) = forked("as_nobody", url=str(file))
    assert said.startswith("fault LedgerError") and "readonly" in said and UNREAD in said
    assert ledger_book.verify(str(file))[0] == 2


def check_full(said: list[str], url: str) -> None:
    """What was said to be booked is booked; the ledger holds, and goes on when there is room."""
    assert said[-1].startswith("fault LedgerError"), said[-1]
    assert "No confidential row was read for this request, and it is not booked." in said[-1], said[-1]
    spends = [e for e in Ledger.open(url).entries() if e.kind == "spend"]
    assert len(spends) == len(said) - 1 > 3
    Ledger.open(url).spend("long", "one more", Fraction(1, 2), "measure")
    ledger_book.verify(url)


def test_a_file_that_may_not_grow(forked: Forked, tmp_path: Path) -> None:
    url = str(tmp_path / "ledger.db")
    check_full(forked("fill", url=url, largest_file=1 << 16, spends=500), url)


def test_a_full_disk(forked: Forked, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        url = str(disk / "ledger.db")
        said = forked("fill", url=url, largest_file=0, spends=500)
        assert "disk" in said[-1]
        subprocess.run(["mount", "-o", "remount,size=1m", disk], check=True)
        check_full(said, url)
    finally:
        subprocess.run(["umount", disk], check=True)


def quick(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """The same ledger, impatient."""
    mark, begin, tables, guard = ledger._engine
    monkeypatch.setattr(ledger, "_engine", (mark, tuple(b.replace("60s", "200ms") for b in begin), tables, guard))
    return ledger


def test_a_file_that_another_program_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    ledger = Ledger.open(str(tmp_path / "ledger.db"))
    monkeypatch.setattr(sqlite3, "connect", lambda path, timeout, **how: connect(path, timeout=0.1, **how))
    with closing(connect(tmp_path / "ledger.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="database is locked") as fault:
            ledger.cap("pay", Budget(1))
    assert UNREAD in str(fault.value)
    ledger.cap("pay", Budget(1))


def test_a_server_where_another_process_holds_the_ledger(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    ledger = quick(Ledger.open(postgres_url), monkeypatch)
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(4846)")
        with pytest.raises(LedgerError, match="lock timeout") as fault:
            ledger.cap("pay", Budget(1))
    assert UNREAD in str(fault.value)
    ledger.cap("pay", Budget(1))


def test_a_server_that_cannot_be_reached() -> None:
    pytest.importorskip("psycopg")
    message = refused("postgresql://steward:hunter2@127.0.0.1:1/ledger")
    assert "refused" in message and "hunter2" not in message


def test_a_server_without_that_database_or_with_a_broken_address(postgres_server: str) -> None:
    assert "does not exist" in refused(f"{postgres_server}/nowhere")
    refused("postgresql://steward@127.0.0.1:port/ledger")


def test_a_server_lost_in_the_middle_books_nothing(postgres_url: str) -> None:
    import psycopg

    ledger = Ledger.open(postgres_url)
    with pytest.raises(LedgerError, match="terminating connection") as fault, ledger._exclusive() as sql:
        ledger._append(sql, "pay", "cap", {"epsilon": "1", "delta": "0"})
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert UNREAD in str(fault.value)
    assert [e.kind for e in ledger.entries()] == ["format"]


def test_a_role_that_may_only_read_and_append_can_use_the_ledger(postgres_url: str) -> None:
    """So that a server can keep even the steward from changing what was booked."""
    import psycopg

    Ledger.open(postgres_url)
    with psycopg.connect(postgres_url) as owner:
        owner.execute("DROP ROLE IF EXISTS booker")
        owner.execute("CREATE ROLE booker LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {postgres_url.rpartition('%3D')[2]} TO booker".encode())
        for table in ("entries", "meta"):
            owner.execute(f"GRANT SELECT, INSERT ON hedgerow_{table} TO booker".encode())
    ledger = Ledger.open(postgres_url.replace("steward@", "booker@"))
    ledger.promise("pay", "a", Budget(1), Guarantee())
    ledger.recognise("pay", "f")
    assert [e.kind for e in ledger.entries()] == ["format", "promise", "rows"]
    with psycopg.connect(postgres_url) as owner:
        owner.execute("DROP OWNED BY booker")
        owner.execute("DROP ROLE booker")


def test_without_the_library_for_postgresql_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hedgerow\[postgres\]'"):
        Ledger.open("postgresql://localhost/ledger")


def test_threads_may_share_a_ledger(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url)
    ledger.promise("pay", "a", Budget(1), Guarantee())

    def work(me: int) -> None:
        for i in range(5):
            ledger.spend("a", f"{me}-{i}", Fraction(1, 20), "measure")

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent("a") == 1
    ledger_book.verify(ledger_url)
