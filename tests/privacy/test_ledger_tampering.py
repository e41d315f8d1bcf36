"""Whatever is changed in a ledger by other means is seen."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import astuple, replace
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import LedgerError, VerifyFailed
from hedgerow.ledger.book import START, Ledger, LedgerEntry
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.steward import ledger_book

FIELDS = ("seq", "at", "tab", "kind", "body", "previous", "hash")
Sql = Callable[..., Any]


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    """Two runs on one table and its copy: every kind of entry."""
    ledger = Ledger.open(ledger_url)
    ledger.cap("pay", Budget(3))
    ledger.promise("pay", "a", Budget(1), Guarantee())
    ledger.spend("a", "q", Fraction(1, 2), "measure")
    ledger.recognise("pay", "f", "a")
    ledger.mark_drawn("a", "q")
    ledger.promise("copy", "b", Budget(2), Guarantee())
    ledger.recognise("copy", "f", "b")
    ledger.spend("b", "q", Fraction(2), "measure")
    ledger.mark_drawn("b", "q")
    return ledger


@pytest.fixture
def intruder(ledger: Ledger, ledger_url: str) -> Iterator[Sql]:
    """Someone who may write to the database, and takes the guards away first."""
    if ledger_url.startswith("postgresql"):
        import psycopg

        db: Any = psycopg.connect(ledger_url, autocommit=True)
        guards = [
            "DROP RULE hedgerow_no_UPDATE ON hedgerow_entries",
            "DROP RULE hedgerow_no_DELETE ON hedgerow_entries",
        ]
    else:
        db = sqlite3.connect(ledger_url, isolation_level=None)
        guards = ["DROP TRIGGER hedgerow_no_UPDATE", "DROP TRIGGER hedgerow_no_DELETE"]
    with closing(db):
        for text in guards:
            db.execute(text)
        yield lambda text, *values: db.execute(
            text.replace("?", "%s") if ledger_url.startswith("postgresql") else text, values
        )


def fails(url: str, anchor: str | None = None) -> str:
    with pytest.raises(VerifyFailed) as failed:
        ledger_book.verify(url, anchor)
    assert failed.value.exit_code == 6
    return str(failed.value)


def test_an_untouched_ledger_holds(ledger: Ledger, ledger_url: str) -> None:
    number, head = ledger_book.verify(ledger_url)
    assert (number, head) == (11, ledger.head())
    for entry in ledger.entries():
        ledger_book.verify(ledger_url, entry.hash)
    ledger_book.verify(ledger_url, START)


def test_the_database_itself_refuses_to_change_an_entry(ledger: Ledger, ledger_url: str) -> None:
    before = ledger.entries()
    for text in ("UPDATE hedgerow_entries SET at = 'never'", "DELETE FROM hedgerow_entries WHERE seq > 3"):
        if ledger_url.startswith("postgresql"):
            import psycopg

            with psycopg.connect(ledger_url) as server:
                server.execute(text.encode())
        else:
            with (
                closing(sqlite3.connect(ledger_url)) as file,
                pytest.raises(sqlite3.IntegrityError, match="append-only"),
            ):
                file.execute(text)
    assert Ledger.open(ledger_url).entries() == before


def test_any_changed_field_of_any_entry_is_seen(ledger: Ledger, ledger_url: str, intruder: Sql) -> None:
    for entry in ledger.entries():
        for field, value in zip(FIELDS, astuple(entry), strict=True):
            other: object = 99 if field == "seq" else value[:-1] + ("0" if value[-1:] != "0" else "1")
            intruder(f"UPDATE hedgerow_entries SET {field} = ? WHERE seq = ?", other, entry.seq)
            message = fails(ledger_url)
            assert "Put back a copy that holds" in message
            now = other if field == "seq" else entry.seq
            intruder(f"UPDATE hedgerow_entries SET {field} = ? WHERE seq = ?", value, now)
    ledger_book.verify(ledger_url)


def test_any_missing_entry_is_seen_and_a_cut_tail_through_an_anchor(
    ledger: Ledger, ledger_url: str, intruder: Sql
) -> None:
    found, anchor = ledger.entries(), ledger.head()
    for entry in found:
        intruder("DELETE FROM hedgerow_entries WHERE seq = ?", entry.seq)
        if entry is found[-1]:
            ledger_book.verify(ledger_url)  # nothing in the ledger itself can tell
        else:
            fails(ledger_url)
        assert "cut off" in fails(ledger_url, anchor) or entry is not found[-1]
        intruder("INSERT INTO hedgerow_entries VALUES (?, ?, ?, ?, ?, ?, ?)", *astuple(entry))
    ledger_book.verify(ledger_url, anchor)


def test_an_anchor_holds_after_more_was_booked(ledger: Ledger, ledger_url: str) -> None:
    anchor = ledger.head()
    ledger.cap("pay", Budget(9))
    ledger_book.verify(ledger_url, anchor)


def test_a_changed_order_is_seen(ledger: Ledger, ledger_url: str, intruder: Sql) -> None:
    number = len(ledger.entries())
    for first in range(1, number):
        swap = [(first, 1000), (first + 1, first), (1000, first + 1)]
        for old, new in swap:
            intruder("UPDATE hedgerow_entries SET seq = ? WHERE seq = ?", new, old)
        fails(ledger_url)
        for old, new in swap:
            intruder("UPDATE hedgerow_entries SET seq = ? WHERE seq = ?", new, old)
    ledger_book.verify(ledger_url)


def test_nothing_is_booked_on_a_ledger_that_was_changed(ledger: Ledger, ledger_url: str, intruder: Sql) -> None:
    intruder("UPDATE hedgerow_entries SET body = ? WHERE kind = 'cap'", '{"epsilon": "300", "delta": "0"}')
    with pytest.raises(VerifyFailed, match="Entry 2 of the ledger"):
        Ledger.open(ledger_url)
    assert intruder("SELECT count(*) FROM hedgerow_entries").fetchone() == (11,)


def test_nothing_is_booked_after_an_entry_that_was_changed_and_sealed_again(
    ledger: Ledger, ledger_url: str, intruder: Sql
) -> None:
    draft = replace(ledger.entries()[1], body='{"epsilon": "300", "delta": "0"}')
    intruder("UPDATE hedgerow_entries SET body = ?, hash = ? WHERE seq = 2", draft.body, draft.seal())
    with pytest.raises(VerifyFailed, match="Entry 3 of the ledger"):
        Ledger.open(ledger_url)


def test_a_ledger_exchanged_during_a_run_is_seen(ledger: Ledger, ledger_url: str, intruder: Sql) -> None:
    for entry in ledger.entries()[-3:]:
        intruder("DELETE FROM hedgerow_entries WHERE seq = ?", entry.seq)
    ledger.cap("pay", Budget(5))  # this process knows entries that are gone
    fails(ledger_url)


# ---- entries that are well sealed and break a rule


def forged(entries: tuple[LedgerEntry, ...], at: int, **changes: Any) -> tuple[LedgerEntry, ...]:
    """The same ledger with the facts of one entry changed (or the entry left out), all seals made anew."""
    made: list[LedgerEntry] = []
    for entry in entries:
        if entry.seq == at and changes.get("gone"):
            continue
        facts = {**entry.facts, **changes} if entry.seq == at else entry.facts
        last = made[-1].hash if made else START
        draft = replace(entry, seq=len(made) + 1, body=json.dumps(facts), previous=last)
        draft = replace(draft, kind=changes.get("kind", entry.kind)) if entry.seq == at else draft
        made.append(replace(draft, hash=draft.seal()))
    return tuple(made)


@pytest.mark.parametrize(
    ("at", "changes", "why"),
    [
        (2, {"epsilon": "1/2"}, "at entry 3: it is above the cap"),
        (2, {"epsilon": "NaN"}, "at entry 2: epsilon must be a finite number"),
        (2, {"epsilon": "1/0"}, "at entry 2: epsilon must be a finite number"),
        (2, {"kind": "gift"}, "at entry 2: it is of no known kind"),
        (3, {"epsilon": "-1"}, "at entry 3: epsilon must be"),
        (3, {"total": "2"}, "at entry 3: its total is worth more"),
        (3, {"total": "-1"}, "at entry 3: its total is worth more"),
        (3, {"delta": "1/1000"}, "at entry 3: its measure does not fit"),
        (3, {"delta": "1/1000", "measure": "zcdp"}, "at entry 3: its total is worth more"),
        (3, {"run": "b"}, "at entry 4: its run has promised nothing"),
        (3, {"gone": True}, "at entry 3: its run has promised nothing"),
        (4, {"cost": "3/2"}, "at entry 4: its run had less left"),
        (4, {"cost": "-1"}, "at entry 4: its run had less left"),
        (4, {"cost": "0"}, "at entry 4: its run had less left"),
        (4, {"request": "r"}, "at entry 6: no request was paid for"),
        (4, {"gone": True}, "at entry 5: no request was paid for"),
        (4, {"run": "zzz"}, "at entry 4: its run has promised nothing"),
        (6, {"run": "b"}, "at entry 6: its run has promised nothing"),
        (7, {"run": "a"}, "at entry 7: its run has promised before"),
        (9, {"names": ["copy"]}, "at entry 9: it does not say which"),
        (9, {"names": ["pay", "leave"]}, "at entry 9: it does not say which"),
        (10, {"run": "a"}, "at entry 10: its run promised on another table"),
        (1, {"version": 1}, "at entry 1: it names another format"),
        (1, {"gone": True}, "at its end: no entry states its format"),
        (1, {"key": "00"}, "at entry 1: it does not name the key"),
        (2, {"scope": "all"}, "at entry 2: it states what its kind does not have"),
        (5, {"run": "b"}, "at entry 5: its run has promised nothing"),
        (8, {"run": "a"}, "at entry 8: its run promised on another table"),
        (9, {"gone": True}, "at entry 9: names of the same rows share no account"),
    ],
)
def test_a_forged_entry_with_good_seals_is_seen_when_it_breaks_a_rule(
    sqlite_entries: tuple[LedgerEntry, ...], at: int, changes: dict[str, Any], why: str
) -> None:
    ledger_book.check(sqlite_entries)
    with pytest.raises(VerifyFailed) as failed:
        ledger_book.check(forged(sqlite_entries, at, **changes))
    assert why in str(failed.value)


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", "null", '{"run": 1}', "{", '{"run": "a", "cost": "x", "request": "q"}']
)
def test_a_sealed_entry_that_makes_no_sense_is_seen(sqlite_entries: tuple[LedgerEntry, ...], body: str) -> None:
    for kind in ("format", "cap", "promise", "spend", "rows", "draw", "same"):
        last = sqlite_entries[-1]
        draft = LedgerEntry(last.seq + 1, last.at, "pay", kind, body, last.hash)
        with pytest.raises(VerifyFailed, match=f"at entry {draft.seq}"):
            ledger_book.check((*sqlite_entries, replace(draft, hash=draft.seal())))


def test_names_found_to_be_the_same_too_late_break_no_rule(sqlite_entries: tuple[LedgerEntry, ...]) -> None:
    """Run b had promised before its rows were read: with a cap of 2 it gets no answer, but the history stands."""
    ledger_book.check(forged(sqlite_entries, 2, epsilon="2"))


def test_a_promise_on_one_name_above_the_common_cap_is_seen(sqlite_entries: tuple[LedgerEntry, ...]) -> None:
    last = sqlite_entries[-1]
    facts = {**sqlite_entries[2].facts, "run": "c", "epsilon": "1/100", "total": "1/100"}
    draft = LedgerEntry(last.seq + 1, last.at, "copy", "promise", json.dumps(facts), last.hash)
    with pytest.raises(VerifyFailed, match="above the cap"):
        ledger_book.check((*sqlite_entries, replace(draft, hash=draft.seal())))


@pytest.fixture
def sqlite_entries(tmp_path: Any) -> tuple[LedgerEntry, ...]:
    return ledger.__wrapped__(str(tmp_path / "forged.db")).entries()  # type: ignore[attr-defined, no-any-return]


def test_a_message_of_a_failed_check_never_shows_a_fingerprint_or_the_key(
    ledger: Ledger, ledger_url: str, intruder: Sql
) -> None:
    key = ledger.fingerprint_key().hex()
    rows = next(e.facts["rows"] for e in ledger.entries() if e.kind == "rows")
    intruder("UPDATE hedgerow_entries SET body = ? WHERE kind = 'rows'", '{"run": "", "rows": "feedface"}')
    message = fails(ledger_url)
    assert "feedface" not in message and key not in message and f'"{rows}"' not in message


# ---- the format, the key and the fingerprints are part of the chain


def test_a_replaced_key_is_seen(ledger: Ledger, ledger_url: str, intruder: Sql) -> None:
    intruder("UPDATE hedgerow_meta SET value = ?", "00" * 32)
    assert "key of the ledger" in fails(ledger_url)
    with pytest.raises(VerifyFailed, match="key of the ledger"):
        ledger.cap("pay", Budget(1))


def test_a_deleted_fingerprint_is_seen(ledger: Ledger, ledger_url: str, intruder: Sql) -> None:
    intruder("DELETE FROM hedgerow_entries WHERE kind = 'rows' AND tab = 'copy'")
    fails(ledger_url)


@pytest.mark.parametrize("version", [1, 3, "2"])
def test_a_ledger_of_another_format_is_refused_everywhere(
    ledger: Ledger, ledger_url: str, intruder: Sql, version: object
) -> None:
    found = forged(ledger.entries(), 1, version=version)
    for entry in found:
        intruder(
            "UPDATE hedgerow_entries SET body = ?, previous = ?, hash = ? WHERE seq = ?",
            *astuple(entry)[4:],
            entry.seq,
        )
    for use in (ledger_book.verify, ledger_book.show, Ledger.open, ledger_book.upgrade):
        with pytest.raises(LedgerError, match="format that this version does not know"):
            use(ledger_url)


@pytest.mark.parametrize(
    ("kind", "body"), [("gift", "{}"), ("cap", '{"epsilon": "9", "delta": "0", "until": "2030"}'), ("cap", "null")]
)
def test_an_entry_that_this_version_does_not_know_is_refused_everywhere(
    ledger: Ledger, ledger_url: str, intruder: Sql, kind: str, body: str
) -> None:
    last = ledger.entries()[-1]
    draft = LedgerEntry(last.seq + 1, last.at, "pay", kind, body, last.hash)
    intruder("INSERT INTO hedgerow_entries VALUES (?, ?, ?, ?, ?, ?, ?)", *astuple(replace(draft, hash=draft.seal())))
    for use in (ledger_book.verify, ledger_book.show, Ledger.open):
        with pytest.raises(
            LedgerError, match=f"Entry {draft.seq} of the ledger says what this version does not know"
        ):
            use(ledger_url)
    with pytest.raises(LedgerError, match="later version"):
        ledger.cap("pay", Budget(1))


def _first_format(entries: tuple[LedgerEntry, ...], intruder: Sql) -> dict[str, str]:
    """Turn a ledger back into one of the first format: no format entry, sums of hashes in a table of their own."""
    sums = {"pay": "ab" * 16, "copy": "ab" * 16, "leave": "cd" * 16}
    made: list[LedgerEntry] = []
    for entry in (e for e in entries if e.kind not in ("format", "rows")):
        draft = replace(entry, seq=len(made) + 1, previous=made[-1].hash if made else START)
        made.append(replace(draft, hash=draft.seal()))
    intruder("DELETE FROM hedgerow_entries")
    for entry in made:
        intruder("INSERT INTO hedgerow_entries VALUES (?, ?, ?, ?, ?, ?, ?)", *astuple(entry))
    intruder("CREATE TABLE hedgerow_seen (tab TEXT NOT NULL, fingerprint TEXT NOT NULL)")
    for tab, total in sums.items():
        intruder("INSERT INTO hedgerow_seen VALUES (?, ?)", tab, total)
    return sums


def test_a_ledger_of_the_first_format_is_refused_and_upgraded_with_all_that_was_promised(
    ledger: Ledger, ledger_url: str, intruder: Sql
) -> None:
    key = ledger.fingerprint_key()
    sums = _first_format(ledger.entries(), intruder)
    for use in (ledger_book.verify, Ledger.open):
        with pytest.raises(LedgerError, match="hedgerow ledger upgrade"):
            use(ledger_url)
    on_disk = not ledger_url.startswith("postgresql")
    if on_disk:
        Path(ledger_url).chmod(0o644)
    assert ledger_book.upgrade(ledger_url) and not ledger_book.upgrade(ledger_url)
    found = Ledger.open(ledger_url)
    assert found.left("pay") == found.left("copy") == (Fraction(0), Fraction(0))
    seen = {e.tab: e.facts["rows"] for e in found.entries() if e.kind == "rows"}
    assert seen == {tab: blake2b(bytes.fromhex(s), key=key, digest_size=16).hexdigest() for tab, s in sums.items()}
    assert not any(s in str(e) for s in sums.values() for e in found.entries())
    if on_disk:
        assert Path(ledger_url).stat().st_mode & 0o777 == 0o600, "for its owner alone, as a new one"
        assert b"cdcdcd" not in Path(ledger_url).read_bytes(), "the old sums must be gone from the file"
    ledger_book.verify(ledger_url)
