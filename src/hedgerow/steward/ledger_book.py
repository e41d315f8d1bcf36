"""The ledger, read by the steward: what stands on each table, a new cap, and a second reading of every rule.

``check`` does not share a line with the code that books: it goes through the entries in order, keeps its own
sums, and so would notice a mistake of the ledger as well as a forged entry with a good seal.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import inf, isfinite
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError, JobError, LedgerError, VerifyFailed
from hedgerow.figures import many
from hedgerow.ledger.book import START, Ledger, LedgerEntry
from hedgerow.public import Budget, Cap, Measure, Promised, Statement, budget_of, epsilon_in, rho_for
from hedgerow.public.office import default_ledger, use_ledger

Pair = tuple[Fraction, Fraction]
NOTHING: Pair = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class TableAccount:
    """What stands on one table.

    Attributes:
        table: the name the steward gave it.
        same_rows: other names under which the same rows were found; they share one account.
        earlier: whether its rows were last read by an earlier version, whose fingerprints are not compared with ours.
        runs: how many runs made a promise under this name.
        promised: the sum of their (epsilon, delta), under this name alone.
        cap: the cap set under this name.
        worth: the epsilon that all runs on these rows are worth together at the delta of the cap, which may be less.
        left: the largest run that may still be promised, all names counted; below 0 if a cap was lowered.
    """

    table: str
    same_rows: tuple[str, ...]
    earlier: bool
    runs: int
    promised: Pair
    cap: Pair | None
    worth: float | None
    left: Pair | None

    def to_json(self) -> dict[str, Any]:
        """The account as plain data."""

        def numbers(pair: Pair | None) -> dict[str, float] | None:
            return None if pair is None else {"epsilon": float(pair[0]), "delta": float(pair[1])}

        return {
            "table": self.table,
            "cap": numbers(self.cap),
            "promised": numbers(self.promised),
            "worth": self.worth,
            "left": numbers(self.left),
            "runs": self.runs,
            "same_rows_as": list(self.same_rows),
            "earlier_fingerprint": self.earlier,
        }


def show(url: str, table: str | None = None) -> dict[str, Any]:
    """What stands on every table (or on one), and every entry, as plain data; prices of entries are exact."""
    found = _existing(url).entries()
    book = _read(found)
    return {
        "tables": [_account(book, name).to_json() for name in sorted(book.tables) if table in (None, name)],
        "entries": [
            {
                "seq": e.seq,
                "at": e.at,
                "table": e.tab,
                "kind": e.kind,
                **{name: fact for name, fact in e.facts.items() if (e.kind, name) != ("rows", "rows")},
                "previous": e.previous,
                "hash": e.hash,
            }
            for e in found
            if table in (None, e.tab)
        ],
    }


def accounts(url: str) -> tuple[TableAccount, ...]:
    """What stands on every table of the ledger."""
    book = _read(_existing(url).entries())
    return tuple(_account(book, table) for table in sorted(book.tables))


def place_of(url: str) -> str:
    """The ledger that is meant: the one named, else the office's, else ledger.db in this folder."""
    return url or default_ledger() or "ledger.db"


def use(url: str) -> tuple[str, Path]:
    """Make a ledger the office's: every job and command that names no other uses it from now on."""
    try:
        Ledger(url)  # refuses an address of something else
        return use_ledger(url)
    except (OSError, RuntimeError) as wrong:
        raise LedgerError(
            f"The setting cannot be kept: {wrong}. Set the environment variable HEDGEROW_LEDGER instead.\n"
            "No confidential row was read and nothing was spent."
        ) from None


def cap(url: str, table: str, *, epsilon: str, delta: str = "0", new: bool = False) -> TableAccount:
    """Set the cap of ``table`` and say what stands on it now. One that is not there is begun if asked."""
    if not table.strip() or not table.isprintable():
        raise JobError(f"{table!r} cannot be the name of a table. Nothing was changed.")
    most = Budget(epsilon, delta)
    if not new:
        _must_exist(url)
    ledger = Ledger.open(url)
    ledger.cap(table, most)
    return _account(_read(ledger.entries()), table)


def verify(url: str, anchor: str | None = None) -> tuple[int, str]:
    """The number of entries and the hash of the last one, after every seal and every rule was checked.

    ``anchor`` is the hash that a release carries: when it is among the entries, none up to that release is gone.
    """
    ledger = _existing(url)
    found = ledger.entries()
    check(found, anchor)
    if [e.facts["key"] for e in found if e.kind == "format"] != [sha256(ledger.fingerprint_key()).hexdigest()]:
        raise VerifyFailed("The key of the ledger was replaced. Put back a copy that holds.")
    return len(found), found[-1].hash


def upgrade(url: str) -> bool:
    """Bring a ledger of an earlier version to the present format; False when it has that already."""
    ledger = Ledger(url)
    _must_exist(url)
    changed = ledger.upgrade()
    verify(url)
    return changed


def booking_of(url: str, statement: Statement) -> str:
    """What the ledger has of a run that was published: its promise, and every request drawn at its price.

    The ledger itself is checked first.  ``VerifyFailed`` says what is missing or different.
    """
    found = _existing(url).entries()
    check(found, statement.anchor)
    mine = [e for e in found if e.facts.get("run") == statement.run]
    promise = next((e for e in mine if e.kind == "promise"), None)
    if promise is None or (promise.tab, promise.hash) != (statement.table, statement.anchor):
        raise VerifyFailed(f"The ledger has no promise of run {statement.run} on {statement.table} with this anchor.")
    said = [Fraction(promise.facts[k]) for k in ("epsilon", "delta")]
    if said != [statement.budget.epsilon, statement.budget.delta]:
        raise VerifyFailed(f"The ledger has a promise of epsilon {float(said[0]):g}, delta {float(said[1]):g}.")
    if promise.facts["measure"] != (measure := statement.budget.measure):
        raise VerifyFailed(f"The ledger has that promise in {promise.facts['measure']}, the statement in {measure}.")
    paid = {
        (e.facts["request"], Fraction(e.facts["cost"]), Fraction(e.facts.get("delta", 0)))
        for e in mine
        if e.kind == "spend"
    }
    drawn = {e.facts["request"] for e in mine if e.kind == "draw"}
    for i, spend in enumerate(statement.spends):
        if (spend.digest, spend.cost, spend.delta) not in paid or spend.digest not in drawn:
            raise VerifyFailed(f"Request {i + 1} ({spend}) was not paid for, or not drawn, in this ledger.")
    stated = Counter(spend.digest for spend in statement.spends)
    if more := Counter(e.facts["request"] for e in mine if e.kind == "draw") - stated:
        what = {e.facts["request"]: e.facts["what"] for e in mine if e.kind == "spend"}
        raise VerifyFailed(
            f"The ledger has {many(more.total(), 'request')} more that this run drew and the statement lacks: "
            f"{'; '.join(what[request] for request in more)}."
        )
    return f"entry {promise.seq}: epsilon {float(said[0]):g}; {many(len(statement.spends), 'request')} paid and drawn"


def check(found: Sequence[LedgerEntry], anchor: str | None = None) -> None:
    """Raise ``VerifyFailed`` unless the entries are sealed, in order and within every cap and promise."""
    _read(found)
    if anchor not in (None, START, *(e.hash for e in found)):
        raise VerifyFailed(
            f"The ledger has no entry {anchor}: entries were cut off after that release, or it is another ledger.\n"
            "Compare it with a copy from the time of the release."
        )


@dataclass
class _Run:
    table: str
    promised: Pair
    total: Fraction
    measure: Measure
    left: Fraction
    delta: Fraction
    undrawn: dict[str, Fraction] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)  # by the way in which the fingerprint was made

    @property
    def rho(self) -> Fraction:
        """What the run is worth in zCDP."""
        if self.measure in ("zcdp", "gdp"):
            return self.total
        return self.total * self.total / 2 + (rho_for(*self.promised) if self.promised[1] else 0)


class _Book:
    """Everything the entries add up to so far."""

    def __init__(self) -> None:
        self.caps: dict[str, Pair] = {}
        self.runs: dict[str, _Run] = {}
        self.groups: list[set[str]] = []
        self.tables: set[str] = set()
        self.rows: dict[str, set[str]] = {}
        self.now: set[str] = set()  # whose rows were read since fingerprints are made as they are now
        self.versions: list[int] = []

    def names(self, table: str) -> set[str]:
        return next((group for group in self.groups if table in group), {table})

    def promised(self, names: set[str]) -> Pair:
        made = [run.promised for run in self.runs.values() if run.table in names]
        return sum((m[0] for m in made), Fraction(0)), sum((m[1] for m in made), Fraction(0))

    def smallest_cap(self, names: set[str]) -> Pair | None:
        caps = [self.caps[name] for name in names if name in self.caps]
        return (min(c[0] for c in caps), min(c[1] for c in caps)) if caps else None

    def format(self, table: str, facts: dict[str, Any]) -> None:
        _hold(facts["version"] == 2 and not self.versions, "it names another format")
        _hold(len(bytes.fromhex(facts["key"])) == 32, "it does not name the key")
        self.versions.append(facts["version"])

    def cap(self, table: str, facts: dict[str, Any]) -> None:
        most = Budget(facts["epsilon"], facts["delta"])
        self.caps[table] = most.epsilon, most.delta

    def promise(self, table: str, facts: dict[str, Any]) -> None:
        measures = ("zcdp", "gdp", "basic") if Fraction(facts["delta"]) else ("pure",)
        _hold(facts["measure"] in measures, "its measure does not fit its delta")
        asked, total = budget_of(facts["epsilon"], facts["delta"], facts["measure"]), Fraction(facts["total"])
        _hold(facts["run"] not in self.runs, "its run has promised before")
        # The last digit of a logarithm may differ between machines.
        worth = total if asked.delta == 0 else epsilon_in(asked.measure, total, asked.delta) * (1 - 1e-9)
        _hold(0 < worth <= asked.epsilon, "its total is worth more than its epsilon and delta")
        self.runs[facts["run"]] = _Run(table, (asked.epsilon, asked.delta), total, asked.measure, total, asked.delta)
        names = self.names(table)
        used, most = self.promised(names), self.smallest_cap(names)
        if most is not None and not (used[0] <= most[0] and used[1] <= most[1]):
            runs = [run for run in self.runs.values() if run.table in names]
            rho = sum(run.rho for run in runs)
            way: Measure = "gdp" if {run.measure for run in runs} == {"gdp"} else "zcdp"
            kept = most[1] > 0 and epsilon_in(way, Fraction(rho), most[1]) * (1 - 1e-9) <= most[0]
            _hold(kept, "it is above the cap of its time")

    def spend(self, table: str, facts: dict[str, Any]) -> None:
        run, cost = self._run(table, facts), Fraction(facts["cost"])
        _hold(0 < cost <= run.left, "its run had less left than it costs")
        delta = Fraction(facts.get("delta", 0))
        _hold(delta == 0 or (run.measure == "basic" and 0 < delta <= run.delta), "its run had less delta left")
        run.left, run.delta = run.left - cost, run.delta - delta
        run.undrawn[facts["request"]] = cost

    def draw(self, table: str, facts: dict[str, Any]) -> None:
        paid = self._run(table, facts).undrawn.pop(facts["request"], None)
        _hold(paid is not None, "no request was paid for that was not drawn yet")

    def seen(self, table: str, facts: dict[str, Any]) -> None:
        _hold(isinstance(facts["rows"], str) and bool(facts["rows"]), "it has no fingerprint")
        if facts["run"]:
            known = self._run(table, facts).rows.setdefault(facts["rows"].rpartition(":")[0], facts["rows"])
            _hold(known == facts["rows"], "its run has read other rows before")
        self.rows.setdefault(facts["rows"], set()).add(table)
        self.now |= {table} if ":" in facts["rows"] else set()

    def joined(self) -> bool:
        """Whether all names of the same rows share one account."""
        return all(tables <= self.names(next(iter(tables))) for tables in self.rows.values())

    def same(self, table: str, facts: dict[str, Any]) -> None:
        merged = set(facts["names"])
        _hold(table in merged and len(merged) > 1, "it does not say which names are the same")
        _hold(all(self.names(name) <= merged for name in merged), "it leaves out a name known before")
        self.groups = [group for group in self.groups if not group & merged] + [merged]

    def _run(self, table: str, facts: dict[str, Any]) -> _Run:
        _hold(facts["run"] in self.runs, "its run has promised nothing")
        _hold(self.runs[facts["run"]].table == table, "its run promised on another table")
        return self.runs[facts["run"]]


def _hold(kept: bool, otherwise: str) -> None:
    if not kept:
        raise VerifyFailed(otherwise)


def _read(found: Sequence[LedgerEntry]) -> _Book:
    """The book after all entries, each checked against the ones before it."""
    book, last = _Book(), START
    rules = {"format": book.format, "cap": book.cap, "promise": book.promise, "spend": book.spend}
    rules |= {"rows": book.seen, "draw": book.draw, "same": book.same}
    for number, entry in enumerate(found, 1):
        try:
            _hold(entry.seq == number, f"entry {number} is missing")
            _hold((entry.previous, entry.hash) == (last, entry.seal()), "its seal is broken")
            _hold(entry.kind in rules, "it is of no known kind")
            _hold(entry.is_known, "it states what its kind does not have")
            _hold(entry.kind == "same" or book.joined(), "names of the same rows share no account before it")
            book.tables |= {entry.tab} - {""}
            rules[entry.kind](entry.tab, entry.facts)
        except (HedgerowError, ArithmeticError, LookupError, TypeError, ValueError) as fault:
            why = str(fault).splitlines()[0].rstrip(".;") if isinstance(fault, HedgerowError) else "it cannot be read"
            raise VerifyFailed(
                f"The ledger does not hold at entry {entry.seq}: {why}.\n"
                "It was changed by other means than Hedgerow. Put back a copy that holds."
            ) from None
        last = entry.hash
    if not book.versions or not book.joined():
        missing = "names of the same rows share no account" if book.versions else "no entry states its format"
        raise VerifyFailed(f"The ledger does not hold at its end: {missing}. Put back a copy that holds.")
    return book


def _account(book: _Book, table: str) -> TableAccount:
    names = book.names(table)
    most, runs = book.smallest_cap(names), [run for run in book.runs.values() if run.table in names]
    cap, made = most and Cap(*most), [Promised.stated(run.measure, *run.promised, run.total) for run in runs]
    worth = float(cap.worth(made)) if cap else inf
    return TableAccount(
        table=table,
        same_rows=tuple(sorted(names - {table})),
        earlier=table not in book.now and any(table in tables for tables in book.rows.values()),
        runs=sum(run.table == table for run in runs),
        promised=book.promised({table}),
        cap=book.caps.get(table),
        worth=worth if isfinite(worth) else None,
        left=cap and cap.most_left(made),
    )


def _existing(url: str) -> Ledger:
    """The ledger, which must be there already: looking at a mistyped name must not begin a new one."""
    _must_exist(url)
    return Ledger.open(url)


def _must_exist(url: str) -> None:
    file = url.removeprefix("sqlite:///")
    if "://" not in file and not Path(file).is_file():
        raise LedgerError(
            f"There is no ledger {file}. Name it with --url, or set your office's once (hedgerow ledger use URL, or\n"
            "HEDGEROW_LEDGER in the environment). To begin one here: hedgerow ledger cap NAME --epsilon E --new.\n"
            "No confidential row was read and nothing was spent."
        )
