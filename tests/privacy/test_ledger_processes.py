"""Real processes at once on one ledger, and processes killed at any moment."""

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from hedgerow.ledger.book import Ledger
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.steward import ledger_book
from tests.privacy.conftest import Forked


def test_many_processes_at_once_never_pass_the_cap_nor_a_promise(forked: Forked, ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url)
    ledger.cap("pay", Budget("5"))
    ledger.promise("pay", "shared", Budget("1"), Guarantee())
    said = forked("hammer", url=ledger_url, processes=6, runs=8, epsilon="0.3", cost="1/30")

    told = Counter(line for lines in said for line in lines)
    assert told == {"promised": 13, "no promise": 35, "spent": 30, "no spend": 18}  # 13 x 0.3 <= 4, 30 x 1/30 = 1
    assert ledger.left("pay") == (Fraction(1, 10), Fraction(0))
    assert ledger.spent("shared") == 1
    assert len(ledger.entries()) == 1 + 2 + 13 + 30
    ledger_book.verify(ledger_url)


def test_processes_that_begin_a_ledger_at_once_begin_the_same_one(forked: Forked, ledger_url: str) -> None:
    said = forked("hammer", url=ledger_url, processes=6, runs=1, epsilon="1", cost="1")
    assert [lines[0] for lines in said] == ["promised"] * 6
    assert len(Ledger.open(ledger_url).entries()) == 1 + 6
    ledger_book.verify(ledger_url)


def test_a_request_taken_by_many_processes_is_drawn_once(forked: Forked, ledger_url: str) -> None:
    Ledger.open(ledger_url).promise("pay", "shared", Budget("1"), Guarantee())
    said = forked("same_request", url=ledger_url, processes=5)
    drawn = sum(lines == ["drawn"] for lines in said)
    paid = [e.kind for e in Ledger.open(ledger_url).entries()]
    assert 1 <= drawn == paid.count("draw") <= paid.count("spend") <= 2  # at 1/2 each, never a third
    ledger_book.verify(ledger_url)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_process_loses_nothing_that_was_booked(forked: Forked, ledger_url: str, seed: int) -> None:
    told = forked("storm", url=ledger_url, kills=40, seed=seed)
    ledger_book.verify(ledger_url)
    entries = Ledger.open(ledger_url).entries()

    heard = 0
    for run, lines in told.items():
        assert not [line for line in lines if line.startswith("fault")]
        booked = [(e.kind, e.facts.get("request")) for e in entries if e.facts.get("run") == run]
        # A resumed run says once more what it finds booked, so a line may be heard more often than it is booked.
        for line in set(lines):
            kind, _, request = line.partition(" ")
            assert (kind, request or None) in booked, f"{line} of {run} was lost"
        draws = Counter(line for line in lines if line.startswith("draw"))
        for line, times in draws.items():
            assert booked.count(("draw", line.removeprefix("draw "))) >= times
        for request in {request for kind, request in booked if request}:
            unused = booked.count(("spend", request)) - booked.count(("draw", request))
            assert unused in (0, 1), f"{run} paid twice for {request} though nothing was drawn"
        heard += len(lines)
    assert heard > 50, "the processes did too little"
    assert len(entries) <= 1 + heard + 2 * 40, "more was booked than calls were made"


def test_a_ledger_whose_making_was_killed_can_be_opened(forked: Forked, tmp_path: Path) -> None:
    files = [str(tmp_path / f"{i}.db") for i in range(20)]
    forked("killed_while_made", urls=files, seed=3)
    for file in files:
        Ledger.open(file).cap("pay", Budget(1))
        assert ledger_book.verify(file)[0] == 2
