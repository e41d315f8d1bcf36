"""The ledger: what was promised and spent on which table, booked before a row is read.

One list of entries that only grows, each sealed with the hash of the one before:

    format   the version of this list, and the hash of the secret key under which rows are fingerprinted
    cap      the most that may ever be promised on a table; a later cap replaces an earlier one
    promise  one run's whole (epsilon, delta), and the total that its requests may cost
    spend    the price of one request, booked before a row is read for it
    rows     the fingerprint of the rows that a run has read: of all of them together, under the secret key
    draw     the answer to that request is saved, and this is its hash: it cannot be taken again for free
    same     these names were found to hold the same rows: they share one account

Each call is one exclusive transaction, on disk before it returns, in the same words on both engines.
What this version does not know, it refuses: a list of another format, another kind of entry, an unknown fact.
"""

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, final

from hedgerow.errors import LedgerError, MissingExtra, Refused, VerifyFailed
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.composition import Cap, Promised
from hedgerow.public.costs.spend import Spend

START = "0" * 64  # what the first entry follows
FORMAT = 2
KINDS: dict[str, frozenset[str]] = {
    "format": frozenset({"version", "key"}),
    "cap": frozenset({"epsilon", "delta"}),
    "promise": frozenset({"run", "epsilon", "delta", "measure", "total", "guarantee", "purpose"}),
    "spend": frozenset({"run", "request", "cost", "delta", "what"}),
    "rows": frozenset({"run", "rows"}),
    "draw": frozenset({"run", "request", "answer"}),
    "same": frozenset({"names"}),
}
"""Every kind of entry, and the facts that it may state."""
_UNREAD = "No confidential row was read and nothing was spent."
_UNDRAWN = "Rows were read, but no noise was drawn and no answer exists. What was booked stays booked."
_UNBOOKED = "No confidential row was read for this request, and it is not booked."
_UNMARKED = "Its answer was given to nobody. What was booked stays booked, and is not paid twice by the same run."
_OTHER_ROWS = "Put it back as it was and resume, or start a new run at full cost.\n" + _UNDRAWN
_NEWER = "It was\nwritten by a later version: use that one, so that no rule of it is passed over. " + _UNREAD
_CHANGED = "it, or one before it, was changed. Put back a copy that holds: nothing is booked until then."
_DOUBT = " (Or it was, if the server was lost in mid-commit: then the same run finds it and does not pay twice.)"
_MAKE = (
    "CREATE TABLE hedgerow_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE hedgerow_entries (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, tab TEXT NOT NULL, "
    "kind TEXT NOT NULL, body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)",
)
_AFTER = "SELECT seq, at, tab, kind, body, previous, hash FROM hedgerow_entries WHERE seq > ? ORDER BY seq"
_Sql = Callable[..., Any]
T = TypeVar("T")
Save = Callable[[Spend, Any], str]

# In what the engines differ: placeholder, exclusive transaction, list of tables, refusal of changes.
_Engine = tuple[str, tuple[str, ...], str, str]
_SQLITE: _Engine = (
    "?",
    ("PRAGMA synchronous = EXTRA", "PRAGMA secure_delete = ON", "BEGIN IMMEDIATE"),
    "SELECT name FROM sqlite_master",
    "CREATE TRIGGER hedgerow_no_{0} BEFORE {0} ON hedgerow_entries BEGIN SELECT RAISE(ABORT, 'append-only'); END",
)
_POSTGRES: _Engine = (  # an advisory lock, unlike LOCK TABLE, also guards the making of the tables
    "%s",
    ("BEGIN ISOLATION LEVEL READ COMMITTED", "SET LOCAL lock_timeout = '60s'", "SET LOCAL synchronous_commit = on")
    + ("SELECT pg_advisory_xact_lock(4846)",),
    "SELECT 'hedgerow_meta' WHERE to_regclass('hedgerow_meta') IS NOT NULL",
    "CREATE RULE hedgerow_no_{0} AS ON {0} TO hedgerow_entries DO INSTEAD NOTHING",
)


class BudgetExhausted(Refused):
    """The request costs more than is left."""

    def __init__(self, asked: str, *, unit: str, cost: Fraction, used: Fraction, total: Fraction, cure: str) -> None:
        self.unit, self.cost, self.left, self.total = unit, cost, max(total - used, Fraction(0)), total
        price, left, of = (f"{Decimal(x.numerator) / x.denominator:.9g}" for x in (cost, self.left, total))
        super().__init__(
            f"Cannot {asked}: it costs {unit} = {price}, but {left} of {of} is left.\n{cure}\n"
            "No confidential row was read for this request and nothing was spent on it."
        )


@final
@dataclass(frozen=True)
class LedgerEntry:
    """One line of the ledger: ``body`` is JSON with exact numbers as text, ``hash`` seals all before it."""

    seq: int
    at: str
    tab: str
    kind: str
    body: str
    previous: str
    hash: str = ""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the body says."""
        return dict(json.loads(self.body))

    @property
    def is_known(self) -> bool:
        """Whether the entry is of a known kind and states nothing but what that kind may state."""
        try:
            return self.kind in KINDS and self.facts.keys() <= KINDS[self.kind]
        except (TypeError, ValueError):
            return False

    def seal(self) -> str:
        """The SHA-256 of the fields before ``hash``, written as a JSON list."""
        return hashlib.sha256(json.dumps(astuple(self)[:-1]).encode()).hexdigest()


@final
class Ledger:
    """Books what is promised and spent, and refuses what would pass a cap or a promise.

    Runs book by themselves; for a steward's own script the caps and what is left of them are here.

    >>> from fractions import Fraction
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/ledger.db")
    ...     ledger.cap("personnel", Budget(epsilon=Fraction(2)))
    ...     ledger.left("personnel"), len(ledger.entries())
    ((Fraction(2, 1), Fraction(0, 1)), 2)
    """

    def __init__(self, url: str) -> None:
        self._known = [LedgerEntry(0, "", "", "start", "{}", "", START)]
        self._connect: Callable[[], Any]
        self._file: Path | None = None
        self._fault: type[Exception] = sqlite3.Error
        scheme, found, rest = url.partition("://")
        if found and scheme in ("postgresql", "postgres"):
            try:
                import psycopg
            except ImportError:
                raise MissingExtra(needed_for="A ledger on PostgreSQL", extra="postgres") from None
            self._name, self._engine, self._fault = "on PostgreSQL", _POSTGRES, psycopg.Error
            self._connect = lambda: psycopg.connect(url, autocommit=True, connect_timeout=10)
        elif not found or scheme == "sqlite":
            path = Path(rest.removeprefix("/") if found else url).resolve()
            self._name, self._engine = str(path), _SQLITE
            self._connect, self._file = lambda: _sqlite(path), path
        else:
            raise LedgerError(f"A ledger is a file or postgresql://..., not {scheme}://... {_UNREAD}")

    def __repr__(self) -> str:
        return f"Ledger({self._name})"

    @classmethod
    def open(cls, url: str) -> "Ledger":
        """The ledger in a file (``ledger.db``, ``sqlite:///ledger.db``) or at ``postgresql://...``, or a new one."""
        ledger = cls(url)
        ledger.entries()
        return ledger

    def cap(self, tab: str, most: Budget) -> None:
        """Set what all runs on ``tab`` may promise together, for ever; with delta 0, pure runs only."""
        with self._exclusive() as sql:
            self._append(sql, tab, "cap", asdict(most))

    def promise(self, tab: str, run: str, budget: Budget, guarantee: Guarantee, purpose: str = "") -> None:
        """Book all that ``run`` may ever spend, or refuse. Promises add up by the better of two ways (``Cap``).

        A run that made this very promise before goes on with what it has left.
        """
        facts = {"run": run, **asdict(budget), "measure": budget.measure, "total": budget.total}
        facts |= {"guarantee": asdict(guarantee), "purpose": purpose}
        with self._exclusive() as sql:
            if made := self._of(run):
                if (made[0].tab, made[0].body) != (tab, json.dumps(facts, default=str)):
                    raise LedgerError(f"Run {run} has promised something else before. {_UNREAD}")
                return
            cap, others = self._account(tab)
            if cap and not cap.holds([*others, Promised.of(budget)]):
                what = f"promise this run on table {' = '.join(sorted(self._names(tab)))}"
                cure = f"Lower the job's budget, or raise the cap: hedgerow ledger cap {tab} --epsilon E --delta D"
                unit = "delta" if budget.delta and not cap.delta else "epsilon"
                left = (cap.left(others, budget.delta, budget.measure) if unit == "epsilon" else None) or Fraction(0)
                cost, total = Fraction(facts[unit]), cap.epsilon if unit == "epsilon" else cap.delta
                raise BudgetExhausted(what, unit=unit, cost=cost, used=total - left, total=total, cure=cure)
            self._append(sql, tab, "promise", facts)

    def spend(self, run: str, request: str, cost: Fraction, what: str, delta: Fraction = Fraction(0)) -> None:
        """Book one request before rows are read for it; one that is booked but not drawn is not paid twice."""
        with self._exclusive(_UNBOOKED) as sql:
            if self._undrawn(run, request) == cost:
                return
            if not (mine := self._of(run)):
                raise LedgerError(f"Run {run} has promised nothing. {_UNREAD}")
            total, used = Fraction(mine[0].facts["total"]), _sum(mine, "cost")
            if not 0 < cost <= total - used:
                unit = "epsilon" if mine[0].facts["measure"] in ("pure", "basic") else "rho"
                cure = "A cost is above 0. Ask for fewer tables, or give this step a smaller share."
                raise BudgetExhausted(what, unit=unit, cost=cost, used=used, total=total, cure=cure)
            total, used = Fraction(mine[0].facts["delta"]), _sum(mine[1:], "delta")
            if not 0 <= delta <= total - used:
                cure = "Where epsilons add up, one request may have Gaussian noise: ask for its tables together."
                raise BudgetExhausted(what, unit="delta", cost=delta, used=used, total=total, cure=cure)
            facts = {"run": run, "request": request, "cost": cost, "what": what} | ({"delta": delta} if delta else {})
            self._append(sql, mine[0].tab, "spend", facts)

    def mark_drawn(self, run: str, request: str, answer: str = "") -> None:
        """Book, once the answer is saved and before anyone sees it, that it exists; ``answer`` is its hash.

        An answer that stands already is not booked twice, so that a run killed before this call makes up for it.
        """
        with self._exclusive(_UNMARKED) as sql:
            facts = {"run": run, "request": request, "answer": answer}
            if answer and any(e.kind == "draw" and e.facts == facts for e in self._of(run)):
                return
            if self._undrawn(run, request) is None:
                raise LedgerError(f"This request is not booked, or has another answer already. {_UNMARKED}")
            self._append(sql, self._of(run)[0].tab, "draw", facts)

    def recognise(self, tab: str, fingerprint: str, run: str = "") -> None:
        """Note whose rows these are; names of the same rows share one account, and the smallest of their caps.

        A run reads the same rows from its first request to its last, however often it is resumed.
        """
        with self._exclusive(_UNDRAWN) as sql:
            seen = [e for e in self._known if e.kind == "rows" and _way(e.facts["rows"]) == _way(fingerprint)]
            if run and any(e.facts["run"] == run and e.facts["rows"] != fingerprint for e in seen):
                raise Refused(
                    f"The confidential table does not hold the rows with which this run began. {_OTHER_ROWS}"
                )
            found = [e for e in seen if e.facts["rows"] == fingerprint]
            if (tab, run) not in [(e.tab, e.facts["run"]) for e in found]:
                self._append(sql, tab, "rows", {"run": run, "rows": fingerprint})
            names = self._names(tab).union(*(self._names(e.tab) for e in found))
            if names != self._names(tab):
                self._append(sql, tab, "same", {"names": sorted(names)})
        cap, made = self._account(tab)
        if len(names) > 1 and cap and not cap.holds(made):
            raise Refused(
                f"These rows stand in the ledger as {', '.join(sorted(names))}. What was promised on all these names "
                f"is more than their smallest cap.\nRaise it (hedgerow ledger cap), or leave it at that. {_UNDRAWN}"
            )

    def fingerprint_key(self) -> bytes:
        """The secret of this ledger under which fingerprints are made."""
        with self._exclusive() as sql:
            return _key(sql)

    def upgrade(self) -> bool:
        """Bring a ledger of the first format to this one, its promises and fingerprints with it; False if it is.

        The first format kept the sums of row hashes, which tell single rows, in a table beside the entries.
        """
        with self._exclusive(of_format=1) as sql:
            if self._file:
                with suppress(PermissionError):  # not every file system has rights
                    self._file.chmod(0o600)  # as a new ledger has it; the first format left its file as it came
            if any(e.kind == "format" for e in self._known):
                return False
            self._append(sql, "", "format", {"version": FORMAT, "key": _commitment(_key(sql))})
            for tab, total in sql("SELECT tab, fingerprint FROM hedgerow_seen ORDER BY tab, fingerprint").fetchall():
                sealed = hashlib.blake2b(bytes.fromhex(total), key=_key(sql), digest_size=16).hexdigest()
                self._append(sql, tab, "rows", {"run": "", "rows": sealed})
            sql("DROP TABLE hedgerow_seen")
        return True

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every entry, its seal and place checked."""
        with self._exclusive():
            return tuple(self._known[1:])

    def head(self) -> str:
        """The hash of the last entry: a ledger that holds it later has lost nothing up to here."""
        with self._exclusive():
            return self._known[-1].hash

    def left(self, tab: str, delta: Fraction | None = None) -> tuple[Fraction, Fraction] | None:
        """A run that may still be promised: at the cap's delta, at what is left of it, or at the given one.

        Below 0 if a cap was lowered; None without a cap.
        """
        with self._exclusive():
            cap, made = self._account(tab)
        if cap is None or delta is None:
            return cap and cap.most_left(made)
        return cap.left(made, delta) or Fraction(0), delta

    def account(self, tab: str) -> tuple[Cap | None, tuple[Promised, ...]]:
        """The smallest cap of all names of the same rows, if there is one, and all that was promised under them."""
        with self._exclusive():
            return self._account(tab)

    def spent(self, run: str) -> Fraction:
        """What the requests of ``run`` have cost so far."""
        with self._exclusive():
            return _sum(self._of(run), "cost")

    def promised(self, run: str) -> LedgerEntry:
        """The promise of ``run``, which it has made: it is known to this process, also when the ledger is gone."""
        return next(e for e in self._of(run) if e.kind == "promise")

    def standing(self, run: str) -> str:
        """What is booked for ``run`` as far as this process knows, in words; nothing if it has promised nothing."""
        if not (mine := self._of(run)):
            return "Booked for this run, as last seen: nothing."
        drawn, spends = (sum(e.kind == kind for e in mine) for kind in ("draw", "spend"))
        facts = mine[0].facts
        said, of, epsilon = (
            f"{float(Fraction(x)):.6g}" for x in (_sum(mine, "cost"), facts["total"], facts["epsilon"])
        )
        unit = "epsilon" if facts["measure"] in ("pure", "basic") else "rho"
        return (
            f"Booked for this run on {mine[0].tab}, as last seen: epsilon {epsilon} promised; "
            f"of {unit} {of}, {said} is spent on {spends} request{'s' * (spends != 1)}, {drawn} answered."
        )

    def _of(self, run: str) -> list[LedgerEntry]:
        return [e for e in self._known if e.facts.get("run") == run]

    def _undrawn(self, run: str, request: str) -> Fraction | None:
        """The price of a request whose last entry is its spend."""
        last = [e for e in self._of(run) if e.facts.get("request") == request][-1:]
        return Fraction(last[0].facts["cost"]) if last and last[0].kind == "spend" else None

    def _names(self, tab: str) -> frozenset[str]:
        """All names of the same rows; an entry ``same`` lists every one that was known at its time."""
        same = [frozenset(e.facts["names"]) for e in self._known if e.kind == "same"]
        return next((names for names in reversed(same) if tab in names), frozenset({tab}))

    def _account(self, tab: str) -> tuple[Cap | None, tuple[Promised, ...]]:
        names = self._names(tab)
        said = [e.facts for e in self._known if e.kind == "promise" and e.tab in names]
        made = [Promised.stated(f["measure"], *(Fraction(f[k]) for k in ("epsilon", "delta", "total"))) for f in said]
        caps = {e.tab: e.facts for e in self._known if e.kind == "cap" and e.tab in names}.values()
        cap = Cap(*(min(Fraction(c[k]) for c in caps) for k in ("epsilon", "delta"))) if caps else None
        return cap, tuple(made)

    def _append(self, sql: _Sql, tab: str, kind: str, facts: dict[str, Any]) -> None:
        last, now = self._known[-1], datetime.now(UTC).isoformat(timespec="seconds")
        entry = LedgerEntry(last.seq + 1, now, tab, kind, json.dumps(facts, default=str), last.hash)
        self._known.append(replace(entry, hash=entry.seal()))
        sql("INSERT INTO hedgerow_entries VALUES (?, ?, ?, ?, ?, ?, ?)", *astuple(self._known[-1]))

    @contextmanager
    def _exclusive(self, outcome: str = _UNREAD, of_format: int = FORMAT) -> Iterator[_Sql]:
        """A transaction that no other overlaps, with every entry known; on disk when it ends, or undone."""
        mark, begin, tables, guard = self._engine
        try:
            with closing(self._connect()) as db:

                def sql(text: str, *values: object) -> Any:
                    return db.execute(text.replace("?", mark), values)

                for text in begin:
                    sql(text)
                there = {name for (name,) in sql(tables).fetchall()}
                if there and "hedgerow_meta" not in there:
                    raise LedgerError(f"{self._name} holds other tables, not a ledger. Name another file. {_UNREAD}")
                for row in sql(_AFTER, self._known[-1].seq).fetchall() if there else ():
                    self._known.append(self._next(LedgerEntry(*row), outcome))
                known = len(self._known)
                try:
                    if not there:
                        for text in (*_MAKE, guard.format("UPDATE"), guard.format("DELETE")):
                            sql(text)
                        key = secrets.token_bytes(32)
                        sql("INSERT INTO hedgerow_meta VALUES ('key', ?)", key.hex())
                        self._append(sql, "", "format", {"version": FORMAT, "key": _commitment(key)})
                    self._check_format(_key(sql), of_format)
                    yield sql
                    outcome += _DOUBT
                    sql("COMMIT")
                except BaseException:
                    del self._known[known:]
                    raise
        except (self._fault, ValueError) as fault:
            raise LedgerError(
                f"The ledger {self._name} cannot be used: {str(fault).splitlines()[0]}.\n"
                f"It must be there, writable, with room, and held by nobody else; or name another one.\n{outcome}"
            ) from fault

    def _next(self, entry: LedgerEntry, outcome: str) -> LedgerEntry:
        """The entry, if it follows the last one and this version knows all that it says."""
        last = self._known[-1]
        if (entry.seq, entry.previous, entry.hash) != (last.seq + 1, last.hash, entry.seal()):
            raise VerifyFailed(f"Entry {entry.seq} of the ledger does not follow: {_CHANGED}\n{outcome}")
        if not entry.is_known:
            raise LedgerError(f"Entry {entry.seq} of the ledger says what this version does not know. {_NEWER}")
        return entry

    def _check_format(self, key: bytes, of_format: int) -> None:
        """Refuse a list of another format, or whose key is not the one it began with."""
        stated = [e.facts for e in self._known if e.kind == "format"]
        if any(facts != {"version": FORMAT, "key": facts.get("key")} for facts in stated) or len(stated) > 1:
            raise LedgerError(f"The ledger {self._name} has a format that this version does not know. {_NEWER}")
        if not stated and of_format == FORMAT:
            raise LedgerError(
                f"The ledger {self._name} was written by an earlier version. Keep a copy of it, then type:\n"
                f"hedgerow ledger upgrade --url URL. All that was promised stays. {_UNREAD}"
            )
        if any(facts["key"] != _commitment(key) for facts in stated):
            raise VerifyFailed(f"The key of the ledger is not the one that its entries name: {_CHANGED}\n{_UNREAD}")


def _sqlite(path: Path) -> sqlite3.Connection:
    """The database in a file that only its owner may read; SQLite gives its journal the same rights."""
    if not path.exists():
        with suppress(OSError):  # what is wrong with the place, SQLite says
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    return sqlite3.connect(path, timeout=60, isolation_level=None)


def _key(sql: _Sql) -> bytes:
    return bytes.fromhex(sql("SELECT value FROM hedgerow_meta WHERE name = 'key'").fetchone()[0])


def _way(fingerprint: str) -> str:
    """In which way it was made ("2:..."): those of different ways tell nothing of each other."""
    return fingerprint.rpartition(":")[0]


def _commitment(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()


def _sum(entries: list[LedgerEntry], fact: str) -> Fraction:
    return sum((Fraction(e.facts[fact]) for e in entries if fact in e.facts), Fraction(0))


@final
class RunAccount:
    """The account of the run called ``run`` on the table that the steward calls ``table``.

    ``save`` puts an answer on disk, so that no crash loses it, and gives the hash of what it wrote.  ``public``
    gives, under the ledger's key, the fingerprints of the tables that the job calls public, by what it calls them.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        table: str,
        run: str,
        save: Save = lambda spend, answer: "",
        public: Callable[[bytes], Mapping[str, str]] = lambda key: {},
    ) -> None:
        self._ledger, self._table, self._run, self._save, self._public = ledger, table, run, save, public

    def promise(self, budget: Budget, guarantee: Guarantee) -> None:
        """Book all that this run may cost, or refuse; a promise that stands already is not booked twice."""
        self._ledger.promise(self._table, self._run, budget, guarantee)

    def spent(self) -> Fraction:
        """What this run has booked so far."""
        return self._ledger.spent(self._run)

    def key(self) -> bytes:
        """The ledger's secret, under which rows are fingerprinted."""
        return self._ledger.fingerprint_key()

    def book(self, spend: Spend) -> None:
        """Book one request, or refuse; a request that was booked and never marked is not booked twice."""
        self._ledger.spend(self._run, spend.digest, spend.cost, str(spend), spend.delta)

    def recognise(self, fingerprint: str) -> None:
        """Refuse if these rows are known under other names whose cap is used up, or are called public in the job."""
        if copies := [name for name, other in self._public(self.key()).items() if other == fingerprint]:
            raise Refused(
                f"[{copies[0]}] holds the rows of the confidential table, in another file or another order. What a\n"
                f"job calls public is read freely and its hash is published. Name another table.\n{_UNDRAWN}"
            )
        self._ledger.recognise(self._table, fingerprint, self._run)

    def keep(self, spend: Spend, answer: T) -> T:
        """Save the answer, then mark its request: from here on it exists, and cannot be taken again for free."""
        self.mark(spend, self._save(spend, answer))
        return answer

    def mark(self, spend: Spend, saved: str) -> None:
        """Mark an answer that is saved, by its hash; one that is marked already is not marked twice."""
        self._ledger.mark_drawn(self._run, spend.digest, saved)

    def anchor(self) -> str:
        """The hash of this run's promise in the ledger: booked before a row was read, so it tells nothing of them."""
        return self._ledger.promised(self._run).hash

    def standing(self) -> str:
        """What is booked for this run, as this process saw it last: also when the ledger is gone."""
        return self._ledger.standing(self._run)
