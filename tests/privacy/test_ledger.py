"""The rules of the ledger: what it books, what it refuses, and what it says then."""

import hashlib
import os
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow.errors import JobError, LedgerError, Refused
from hedgerow.ledger.book import START, BudgetExhausted, Ledger, LedgerEntry
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.steward import ledger_book
from tests.privacy.checks import quick_folder

HALF = Fraction(1, 2)


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    return Ledger.open(ledger_url)


def promise(ledger: Ledger, run: str, epsilon: str = "1", delta: str = "0", *, tab: str = "pay") -> None:
    ledger.promise(tab, run, Budget(epsilon, delta), Guarantee(), "a test")


def pair(epsilon: Fraction | int, delta: Fraction | int) -> tuple[Fraction, ...]:
    return Fraction(epsilon), Fraction(delta)


def kinds(ledger: Ledger) -> list[str]:
    return [e.kind for e in booked(ledger)]


def booked(ledger: Ledger) -> tuple[LedgerEntry, ...]:
    """All entries but the first, which states the format."""
    assert ledger.entries()[0].kind == "format"
    return ledger.entries()[1:]


# ---- caps and promises


def test_a_new_ledger_is_empty_and_holds(ledger: Ledger, ledger_url: str) -> None:
    assert booked(ledger) == ()
    assert (ledger.head(), ledger.left("pay")) == (ledger.entries()[0].hash, None)
    assert ledger.entries()[0].previous == START
    assert ledger_book.verify(ledger_url) == (1, ledger.head())
    assert repr(ledger) in ("Ledger(on PostgreSQL)", f"Ledger({ledger_url})"), "no address in memory, no password"


def test_promises_add_up_to_the_cap_exactly_and_no_further(ledger: Ledger) -> None:
    ledger.cap("pay", Budget("1"))
    for i in range(10):
        promise(ledger, f"run{i}", "0.1")
    assert ledger.left("pay") == pair(0, 0)
    with pytest.raises(BudgetExhausted) as refused:
        promise(ledger, "one more", "1e-9")
    assert (refused.value.unit, refused.value.cost) == ("epsilon", Fraction(1, 10**9))
    assert (refused.value.left, refused.value.total) == pair(0, 1)
    assert "hedgerow ledger cap pay" in str(refused.value)
    assert "No confidential row was read" in str(refused.value)
    assert refused.value.exit_code == 4
    assert len(kinds(ledger)) == 11


def test_a_cap_without_delta_admits_only_pure_runs(ledger: Ledger) -> None:
    ledger.cap("pay", Budget("5"))
    with pytest.raises(BudgetExhausted, match="delta = 1e-7|delta = 0.0000001"):
        promise(ledger, "approximate", "1", "1e-7")
    promise(ledger, "pure", "1")


def test_deltas_add_up_too_where_epsilons_do(ledger: Ledger) -> None:
    ledger.cap("pay", Budget("5", "1e-6"))
    promise(ledger, "pure", "3")  # too much for zCDP: from here on only basic composition admits a run
    promise(ledger, "a", "1", "6e-7")
    with pytest.raises(BudgetExhausted, match="it costs epsilon = 0.5, but 0 of 5 is left"):
        promise(ledger, "b", "0.5", "6e-7")
    promise(ledger, "c", "0.5", "4e-7")
    assert ledger.left("pay") == pair(HALF, 0)


def test_a_later_cap_replaces_an_earlier_one(ledger: Ledger) -> None:
    ledger.cap("pay", Budget("1"))
    promise(ledger, "a")
    ledger.cap("pay", Budget("3"))
    promise(ledger, "b")
    ledger.cap("pay", Budget("1.5"))
    assert ledger.left("pay") == pair(Fraction(-1, 2), 0)
    with pytest.raises(BudgetExhausted, match="but 0 of 1.5 is left"):
        promise(ledger, "c", "0.1")


def test_without_a_cap_everything_may_be_promised_and_is_still_booked(ledger: Ledger) -> None:
    promise(ledger, "a", "1000")
    assert ledger.left("pay") is None
    assert kinds(ledger) == ["promise"]


def test_tables_do_not_share_a_cap(ledger: Ledger) -> None:
    ledger.cap("pay", Budget("1"))
    promise(ledger, "a", "1")
    promise(ledger, "b", "1", tab="leave")
    assert ledger.left("pay") == pair(0, 0)


def test_a_run_that_promised_before_goes_on_without_paying_again(ledger: Ledger) -> None:
    ledger.cap("pay", Budget("1"))
    promise(ledger, "a")
    promise(ledger, "a")
    assert kinds(ledger) == ["cap", "promise"]


@pytest.mark.parametrize("other", [{"epsilon": "0.5"}, {"delta": "1e-9"}, {"tab": "leave"}])
def test_a_run_cannot_change_its_promise(ledger: Ledger, other: dict[str, str]) -> None:
    promise(ledger, "a")
    with pytest.raises(LedgerError, match="something else"):
        promise(ledger, "a", **other)
    with pytest.raises(LedgerError, match="something else"):
        ledger.promise("pay", "a", Budget(1), Guarantee(relation="replace-one"), "a test")


# ---- spends and draws


def test_spends_add_up_to_the_total_exactly_and_no_further(ledger: Ledger) -> None:
    promise(ledger, "a")
    for i in range(7):
        ledger.spend("a", f"q{i}", Fraction(1, 7), "measure")
    assert ledger.spent("a") == 1
    with pytest.raises(BudgetExhausted, match="Cannot measure sex: it costs epsilon = 1e-30, but 0 of 1 is left"):
        ledger.spend("a", "last", Fraction(1, 10**30), "measure sex")


def test_a_run_with_delta_spends_in_rho(ledger: Ledger) -> None:
    promise(ledger, "a", "1", "1e-6")
    total = Budget("1", "1e-6").total
    ledger.spend("a", "q", total, "measure")
    with pytest.raises(BudgetExhausted, match="rho") as refused:
        ledger.spend("a", "r", total / 1000, "measure")
    assert refused.value.total == total


def test_one_run_cannot_spend_what_another_promised(ledger: Ledger) -> None:
    promise(ledger, "a")
    promise(ledger, "b")
    ledger.spend("a", "q", Fraction(1), "measure")
    with pytest.raises(BudgetExhausted):
        ledger.spend("a", "r", HALF, "measure")
    ledger.spend("b", "r", HALF, "measure")


def test_nothing_is_spent_without_a_promise(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"promised nothing\. No confidential row was read and nothing was spent"):
        ledger.spend("nobody", "q", HALF, "measure")
    assert booked(ledger) == ()


def test_a_request_that_was_booked_and_not_drawn_is_not_paid_twice(ledger: Ledger) -> None:
    promise(ledger, "a")
    ledger.spend("a", "q", HALF, "measure")
    ledger.spend("a", "q", HALF, "measure")
    ledger.mark_drawn("a", "q")
    assert kinds(ledger) == ["promise", "spend", "draw"]
    ledger.spend("a", "q", HALF, "measure")
    assert ledger.spent("a") == 1


def test_a_request_at_another_price_is_another_request(ledger: Ledger) -> None:
    promise(ledger, "a")
    ledger.spend("a", "q", Fraction(1, 4), "measure")
    ledger.spend("a", "q", HALF, "measure")
    ledger.mark_drawn("a", "q")
    with pytest.raises(LedgerError, match="has another answer already"):
        ledger.mark_drawn("a", "q")
    with pytest.raises(BudgetExhausted):
        ledger.spend("a", "q", HALF, "measure")


def test_an_undrawn_request_of_another_run_must_be_paid(ledger: Ledger) -> None:
    promise(ledger, "a")
    promise(ledger, "b")
    ledger.spend("a", "q", HALF, "measure")
    with pytest.raises(LedgerError):
        ledger.mark_drawn("b", "q")
    ledger.spend("b", "q", HALF, "measure")
    assert ledger.spent("b") == HALF


def test_noise_is_drawn_once_for_each_payment(ledger: Ledger) -> None:
    promise(ledger, "a")
    for fault in ("q", "r"):
        with pytest.raises(LedgerError, match="is not booked"):
            ledger.mark_drawn("a", fault)
    ledger.spend("a", "q", HALF, "measure")
    ledger.mark_drawn("a", "q")
    with pytest.raises(LedgerError, match="has another answer already"):
        ledger.mark_drawn("a", "q")


NUMBERS = st.one_of(
    st.fractions(min_value=-3, max_value=3, max_denominator=50),
    st.sampled_from([Fraction(0), Fraction(-1), Fraction(10) ** 400, Fraction(1, 10**400), Fraction(10) ** 6000]),
)


@settings(max_examples=40)
@given(
    calls=st.lists(st.tuples(st.sampled_from(["spend", "draw"]), st.sampled_from("pqr"), NUMBERS), max_size=12),
    delta=st.sampled_from(["0", "1e-6"]),
)
@example(calls=[("spend", "p", Fraction(-5)), ("spend", "p", Fraction(6))], delta="0")
def test_never_spends_more_than_the_total_whatever_is_asked(
    calls: list[tuple[str, str, Fraction]], delta: str
) -> None:
    with quick_folder() as folder:
        ledger = Ledger.open(f"{folder}/ledger.db")
        promise(ledger, "a", "1", delta)
        total, worth = Budget("1", delta).total, Fraction(0)
        paid: dict[str, Fraction] = {}
        for verb, request, cost in calls:
            try:
                if verb == "spend":
                    ledger.spend("a", request, cost, "ask")
                    paid[request] = cost
                else:
                    ledger.mark_drawn("a", request)
                    worth += paid.pop(request)  # what the answer that may now exist is worth
            except Refused:
                continue
        booked = [e.facts for e in ledger.entries() if e.kind == "spend"]
        assert 0 <= worth <= ledger.spent("a") <= total
        assert all(Fraction(f["cost"]) > 0 for f in booked)
        ledger_book.check(ledger.entries())


@settings(max_examples=60)
@given(
    asked=st.lists(
        st.tuples(
            st.sampled_from(["cap", "promise", "same"]),
            st.sampled_from(["a", "b", "c"]),
            st.fractions(min_value=-1, max_value=3, max_denominator=10),
        ),
        max_size=12,
    )
)
def test_never_promises_more_than_the_smallest_cap_of_the_same_rows(asked: list[tuple[str, str, Fraction]]) -> None:
    """Two independent readings of the rules agree: the one that books and the one that verifies."""
    with quick_folder() as folder:
        ledger = Ledger.open(f"{folder}/ledger.db")
        for i, (verb, tab, number) in enumerate(asked):
            try:
                if verb == "cap":
                    ledger.cap(tab, Budget(number))
                elif verb == "promise":
                    ledger.promise(tab, f"run{i}", Budget(number), Guarantee())
                    left = ledger.left(tab)
                    assert left is None or min(left) >= 0
                else:
                    ledger.recognise(tab, f"rows{number.numerator % 2}")
            except (JobError, Refused):
                continue
        for account in ledger_book.accounts(f"{folder}/ledger.db"):
            assert account.left == ledger.left(account.table)


# ---- the same rows under another name


def test_the_same_rows_under_another_name_share_one_account(ledger: Ledger) -> None:
    ledger.cap("pay", Budget("3"))
    promise(ledger, "a", "2")
    ledger.recognise("pay", "f1")
    promise(ledger, "b", "1", tab="pay-copy")
    ledger.recognise("pay-copy", "f1")
    assert ledger.left("pay-copy") == ledger.left("pay") == pair(0, 0)
    for tab in ("pay", "pay-copy"):
        with pytest.raises(BudgetExhausted, match="on table pay = pay-copy"):
            promise(ledger, f"more on {tab}", "0.1", tab=tab)


def test_rows_whose_account_is_used_up_are_refused_under_any_name(ledger: Ledger, ledger_url: str) -> None:
    ledger.cap("pay", Budget("3"))
    promise(ledger, "a", "3")
    ledger.recognise("pay", "f1")
    promise(ledger, "b", "1", tab="disguise")
    for _ in range(2):  # refused, and still refused when tried again
        with pytest.raises(Refused, match="disguise, pay") as refused:
            ledger.recognise("disguise", "f1")
    assert "no noise was drawn" in str(refused.value)
    assert "f1" not in str(refused.value)
    with pytest.raises(BudgetExhausted):
        promise(ledger, "c", "1", tab="disguise")
    ledger_book.verify(ledger_url)


def test_the_smallest_cap_of_all_names_holds(ledger: Ledger) -> None:
    ledger.cap("a", Budget("5", "1e-9"))
    ledger.cap("b", Budget("2", "1e-6"))
    ledger.recognise("a", "f")
    ledger.recognise("b", "f")
    assert ledger.left("a") == ledger.left("b") == pair(2, Fraction(1, 10**9))


def test_names_are_joined_through_any_number_of_versions_of_the_rows(ledger: Ledger) -> None:
    ledger.cap("d", Budget("1"))
    for tab, rows in [("a", "f1"), ("b", "f1"), ("c", "f2"), ("d", "f2"), ("c", "f3")]:
        ledger.recognise(tab, rows)
    assert ledger.left("a") is None
    ledger.recognise("b", "f3")
    assert ledger.left("a") == pair(1, 0)
    assert kinds(ledger).count("same") == 3


def test_recognising_again_books_nothing(ledger: Ledger) -> None:
    ledger.recognise("a", "f")
    ledger.recognise("b", "f")
    before = ledger.entries()
    ledger.recognise("a", "f")
    ledger.recognise("b", "f")
    assert ledger.entries() == before


def test_the_key_stands_in_no_entry_and_is_made_once(ledger: Ledger, ledger_url: str) -> None:
    ledger.recognise("a", "deadbeef")
    ledger.recognise("b", "deadbeef")
    key = ledger.fingerprint_key()
    assert len(key) == 32
    assert Ledger.open(ledger_url).fingerprint_key() == key
    assert not any(key.hex() in str(e) for e in ledger.entries())
    assert [e.tab for e in ledger.entries() if "deadbeef" in e.body] == ["a", "b"]


def test_a_run_goes_on_with_the_rows_it_began_with_and_with_no_others(ledger: Ledger, ledger_url: str) -> None:
    promise(ledger, "a")
    ledger.recognise("pay", "f1", "a")
    ledger.recognise("pay", "f1", "a")
    with pytest.raises(Refused, match="not hold the rows with which this run began") as refused:
        ledger.recognise("pay", "f2", "a")
    assert "Rows were read" in str(refused.value) and "f2" not in str(refused.value)
    promise(ledger, "b")
    ledger.recognise("pay", "f2", "b")  # another run may read the table as it is now
    assert kinds(ledger) == ["promise", "rows", "promise", "rows"]
    ledger_book.verify(ledger_url)


def test_a_ledger_file_and_its_journal_are_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0)
    try:
        ledger = Ledger.open(str(tmp_path / "ledger.db"))
        with ledger._exclusive() as sql:
            ledger._append(sql, "pay", "cap", {"epsilon": "1", "delta": "0"})
            modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"ledger.db": 0o600, "ledger.db-journal": 0o600}


# ---- how it is kept


def test_what_is_booked_is_there_for_everybody_at_once(ledger: Ledger, ledger_url: str) -> None:
    other = Ledger.open(ledger_url)
    promise(ledger, "a")
    other.spend("a", "q", HALF, "measure")
    assert ledger.spent("a") == HALF
    ledger.mark_drawn("a", "q")
    with pytest.raises(LedgerError):
        other.mark_drawn("a", "q")
    assert other.head() == ledger.head() == ledger.entries()[-1].hash


def test_a_refusal_leaves_no_entry_and_the_ledger_goes_on(ledger: Ledger, ledger_url: str) -> None:
    promise(ledger, "a")
    before = ledger.entries()
    for cost in (Fraction(2), Fraction(0), Fraction(-1), Fraction(10) ** 5000, Fraction(1, 10**5000)):
        with pytest.raises(Refused):
            ledger.spend("a", "q", cost, "measure")
    assert ledger.entries() == before
    ledger.spend("a", "q", HALF, "measure")
    assert ledger_book.verify(ledger_url)[0] == 3


def test_a_file_is_kept_by_the_safest_settings_of_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    connect = sqlite3.connect

    def watched(*given: Any, **named: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*given, **named)
        db.set_trace_callback(seen.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", watched)
    Ledger.open(str(tmp_path / "l.db")).cap("pay", Budget(1))
    assert "PRAGMA synchronous = EXTRA" in seen
    assert seen.count("BEGIN IMMEDIATE") == seen.count("COMMIT") == 2
    with connect(tmp_path / "l.db") as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    db.close()


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_file_may_be_named_as_a_path_or_a_url(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("ledger.db", str(tmp_path / "absolute.db")):
        ledger = Ledger.open(form.format(place))
        monkeypatch.chdir("/")  # a relative path is settled when the ledger is opened
        ledger.cap("pay", Budget(1))
        monkeypatch.chdir(tmp_path)
        assert len(Ledger.open(form.format(place)).entries()) == 2
        assert Path(place).exists()


def test_the_seal_is_what_the_documentation_says() -> None:
    entry = LedgerEntry(1, "2026-01-01T00:00:00+00:00", "pay", "cap", '{"epsilon": "3", "delta": "0"}', START)
    text = (
        '[1, "2026-01-01T00:00:00+00:00", "pay", "cap", "{\\"epsilon\\": \\"3\\", \\"delta\\": \\"0\\"}", "'
        + START
        + '"]'
    )
    assert entry.seal() == hashlib.sha256(text.encode()).hexdigest()


def test_fingerprints_of_an_earlier_version_are_compared_among_themselves(ledger: Ledger, ledger_url: str) -> None:
    """A run that an earlier version began goes on, its table keeps its account, and `show` says what is not known."""
    for name in ("old", "other"):
        ledger.promise(name, f"{name}-run", Budget("1"), Guarantee())
    ledger.recognise("old", "0123456789abcdef", "old-run")
    assert [a["earlier_fingerprint"] for a in ledger_book.show(ledger_url)["tables"]] == [True, False]
    ledger.recognise("old", "2:fedcba9876543210", "old-run")  # the same run, resumed by this version
    ledger_book.verify(ledger_url)
    assert not any(a["earlier_fingerprint"] for a in ledger_book.show(ledger_url)["tables"])
    ledger.recognise("other", "2:fedcba9876543210", "other-run")
    assert [a["same_rows_as"] for a in ledger_book.show(ledger_url)["tables"]] == [["other"], ["old"]]
    with pytest.raises(Refused, match="does not hold the rows with which this run began"):
        ledger.recognise("old", "2:0000000000000000", "old-run")
    ledger_book.verify(ledger_url)
