"""The gate of a run: its page in the ledger, and its answers in the run's work folder before anyone sees them.

The work folder, ``RELEASE.run``, is for one process at a time:

    lock        held by the process that is at work here; the operating system lets go of it when that process ends
    run.json    the run's name in the ledger, and a hash of all that its answers depend on
    answer-*    each answer: its tables as Parquet, then the request and the hash of the tables as JSON
    best-*      of a choice among settings, the answers of the best run; choice.json which it was
    drawn       records as they are drawn, shard by shard
    bundle      the release while it is put together; it is moved to its place in one step

Every file is written beside its place, synced and renamed, and the folder is synced: a file is there in full or not
at all.  The JSON of an answer is written last, and its hash is what the ledger marks: an answer without it was
never given to anybody.  An answer may lie here before it is marked, so the folder is for its owner alone.
"""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from hedgerow.answers import RecordedAnswers, Reply
from hedgerow.counting import hash_rows, sealed
from hedgerow.engines import headers_at as headers_at
from hedgerow.engines import open_engine, shard_map
from hedgerow.errors import NOTHING, HedgerowError, JobError, LedgerError, TableMismatch, VerifyFailed
from hedgerow.job import JobValues
from hedgerow.ledger.book import Ledger as Ledger
from hedgerow.ledger.book import RunAccount as RunAccount
from hedgerow.ledger.book import Save
from hedgerow.planning import machine_memory
from hedgerow.private import Gate as Gate
from hedgerow.private import careers, people, relabel, urns
from hedgerow.private.local import LocalCounter
from hedgerow.public import (
    Budget,
    Fact,
    Guarantee,
    Marginal,
    Relation,
    Schema,
    Spend,
    Tariff,
    coding_of,
    expanded_public,
    open_confidential,
    open_public,
    question_from_json,
    question_to_json,
    spend_from_json,
    spend_to_json,
)
from hedgerow.release.manifest import NAME, cannot_write, facts_of, settle, write_whole
from hedgerow.release.measurements import load, save

_OURS = ("answer-*", "best-*", "choice.json", ".*.partial", "lock")


@final
@dataclass(frozen=True)
class Journal:
    """What a run needs to go on after a crash."""

    folder: Path

    @classmethod
    def beside(cls, place: Path) -> "Journal":
        """The journal of the run that writes to ``place``."""
        return cls(place.with_name(place.name + ".run"))

    @property
    def exists(self) -> bool:
        """Whether an unfinished run stands here."""
        return (self.folder / "run.json").exists()

    @property
    def bundle(self) -> Path:
        """Where the release is put together."""
        return self.folder / "bundle"

    def drawing(self) -> Path:
        """An empty folder for records while they are drawn."""
        place = self.folder / "drawn"
        shutil.rmtree(place, ignore_errors=True)
        try:
            place.mkdir()
        except OSError as wrong:
            raise cannot_write(place, wrong) from None
        return place

    @contextmanager
    def held(
        self, how: str = "the same command with --resume (in Python: job.run(..., resume=True))"
    ) -> Iterator[None]:
        """Keep every other process out while this one is at work; nothing is left behind of what was not begun.

        ``how`` an unfinished run is gone on with is added to whatever interrupts the work from the keyboard.
        """
        handle = self._lock()
        try:
            yield
        except KeyboardInterrupt as stopped:
            if self.exists:
                stopped.add_note(f"What was paid for is kept in {self.folder}. Go on at no further cost with {how}.")
            raise
        finally:
            if not self.exists:
                self._clear()
            os.close(handle)

    def _lock(self) -> int:
        for _ in range(100):  # who finishes takes the folder away, perhaps just now
            try:
                self.folder.mkdir(0o700, parents=True, exist_ok=True)
                with suppress(PermissionError):  # one that stood here before; not every file system has rights
                    self.folder.chmod(0o700)
                handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue
            except OSError as wrong:
                raise JobError(
                    f"Cannot write in {self.folder.parent}: {wrong.strerror}. Choose another place. {NOTHING}"
                ) from None
            if not _locked(handle):
                os.close(handle)
                break
            with suppress(OSError):
                if os.path.samestat(os.fstat(handle), os.stat(self.folder / "lock")):
                    settle(self.folder.parent)
                    return handle
            os.close(handle)
        raise JobError(
            f"Another run is at work in {self.folder}. Wait until it has ended, or choose another place with --out\n"
            f"(in Python: job.run(FOLDER)). {NOTHING}"
        )

    def start(self, run: str, job: str) -> None:
        """Begin: the run's name in the ledger, and the hash of the job and its public inputs."""
        if not self.exists:  # answers of another run, whose clearing away was cut short, are not ours
            self.forget(*_OURS[:3])
        self.note("run.json", {"run": run, "job": job})

    def resume(self, job: str) -> str:
        """The name of the run that was begun here, if it was begun by the same job."""
        try:
            begun = json.loads((self.folder / "run.json").read_text("utf-8"))
            run, begun_by = str(begun["run"]), str(begun["job"])
        except (OSError, ValueError, KeyError, TypeError):
            raise JobError(
                f"There is no run to resume in {self.folder}. Start one without --resume (in Python:\n"
                f"resume=True). {NOTHING}"
            ) from None
        if begun_by != job:
            raise JobError(
                f"The run in {self.folder} was begun with another job file, schema or public table.\n"
                f"Restore them to resume at no cost, or delete that folder to start anew at full cost.\n{NOTHING}"
            )
        return run

    def keep(self, position: int, answered: Reply, stem: str = "answer") -> str:
        """Write one answer; it is durable when this returns, and this is its hash."""
        name, tables = f"{stem}-{position:05d}", None
        if answered.measurements:
            save(self.folder / f"{name}.parquet", [(position, m) for m in answered.measurements])
            tables = facts_of(self.folder / f"{name}.parquet").sha256
        chosen = None if answered.chosen is None else question_to_json(answered.chosen)
        facts = {"position": position, "spend": spend_to_json(answered.spend), "chosen": chosen, "tables": tables}
        return self.note(f"{name}.json", facts)

    def answers(self, stem: str = "answer", most: int | None = None) -> list[tuple[Reply, str]]:
        """Every answer kept so far, or the first of them, in order, with its hash."""
        try:
            files = sorted(self.folder.glob(f"{stem}-*.json")) if self.exists else []
            kept = [self._answer(file, position) for position, file in enumerate(files[:most])]
        except (OSError, ValueError, KeyError, TypeError, VerifyFailed):
            raise JobError(
                f"The answers kept in {self.folder} are damaged. Put back a copy of that folder, or delete it to\n"
                f"start anew at full cost. {NOTHING}"
            ) from None
        return kept

    def _answer(self, file: Path, position: int) -> tuple[Reply, str]:
        text = file.read_bytes()
        data, tables = json.loads(text), file.with_suffix(".parquet")
        if data["position"] != position or (data["tables"] and facts_of(tables).sha256 != data["tables"]):
            raise ValueError(file.name)
        found = tuple(m for _, m in load(tables)) if data["tables"] else ()
        chosen = None if data["chosen"] is None else question_from_json(data["chosen"])
        return Reply(spend_from_json(data["spend"]), found, chosen), hashlib.sha256(text).hexdigest()

    def note(self, name: str, facts: dict[str, Any]) -> str:
        """Write facts to a file; they are durable when this returns, and this is the hash of the file."""
        text = (json.dumps(facts) + "\n").encode()
        write_whole(self.folder / name, lambda file: file.write(text))
        return hashlib.sha256(text).hexdigest()

    def noted(self, name: str) -> tuple[dict[str, Any], str] | None:
        """Facts that were written to a file, and its hash; None when there is none."""
        file = self.folder / name
        if not file.exists():
            return None
        text = file.read_bytes()
        return dict(json.loads(text)), hashlib.sha256(text).hexdigest()

    def write(self, place: Path, text: str) -> None:
        """Put a text in its place, whole, beside this folder: what a run without a bundle gives."""
        write_whole(place, lambda file: file.write(text.encode()))

    def finish(self) -> None:
        """The release stands: the journal is no longer needed."""
        (self.folder / "run.json").unlink(missing_ok=True)  # first: what is left without it is nobody's
        settle(self.folder)
        self._clear()

    def forget(self, *patterns: str) -> None:
        """Take away the files with such names."""
        for pattern in patterns:
            for file in sorted(self.folder.glob(pattern)):
                file.unlink(missing_ok=True)

    def _clear(self) -> None:
        """Take away what is ours, and the folder if nothing else is in it."""
        for part in (self.bundle, self.folder / "drawn"):
            shutil.rmtree(part, ignore_errors=True)
        self.forget(*_OURS)
        with suppress(OSError):
            self.folder.rmdir()


def _locked(handle: int) -> bool:
    """Take the lock of an open file if nobody has it."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_finished(place: Path) -> bool:
    """Whether the run that writes to ``place`` has ended: the release stands, and no other run is unfinished."""
    journal = Journal.beside(place)
    try:
        made = json.loads((place / "statement.json").read_text("utf-8"))
        begun = json.loads((journal.folder / "run.json").read_text("utf-8")) if journal.exists else None
        return (place / NAME).is_file() and (begun is None or begun["run"] == made["ledger"]["run"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def account_of(
    ledger: Ledger,
    job: JobValues,
    run: str,
    journal: Journal,
    replies: Sequence[Reply] = (),
    keep: Save | None = None,
) -> RunAccount:
    """The page of a run in the ledger; answers go to the journal, numbered by those before, or to ``keep``."""

    def kept(spend: Spend, answer: Any) -> str:
        if isinstance(answer, Marginal):
            return journal.keep(len(replies), Reply(spend, chosen=answer))
        return journal.keep(len(replies), Reply(spend, answer if isinstance(answer, tuple) else (answer,)))

    return RunAccount(ledger, table=job.table, run=run, save=keep or kept, public=partial(public_prints, job))


def public_prints(job: JobValues, key: bytes) -> dict[str, str]:
    """The fingerprints of the tables called public that have every column of the confidential one, cut to these."""
    values = sorted({*open_table(job).columns} - {job.guarantee.count})
    found = {}
    for role, part in (("public", job.public), ("target", job.target)):
        source = expanded_public(open_public(job.rows_of(part)), part.count) if part else None
        if source and {*values} <= {*source.columns}:
            hashes = (hash_rows(batch.select(values), key) for batch in source.batches(values))
            found[role] = sealed(sum(hashes, np.zeros(2, np.uint64)).tobytes(), key)
    return found


@final
@dataclass(frozen=True)
class OpenTable:
    """The confidential table of a job, opened: no row was read. ``counting`` makes the one who counts its rows."""

    table: Any
    counting: Any

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, from the header."""
        return tuple(getattr(self.table, "kinds", ()) or self.table.columns)


def open_table(job: JobValues) -> OpenTable:
    """The confidential table of a job, and who counts it where it is."""
    name, table = job.engine.of(job.confidential.table), job.confidential.table
    if name == "local":  # of the memory that the job allows a quarter may be codes
        most: dict[str, Any] = {} if job.memory_gb is None else {"most": int(job.memory_gb * 1e9) // 4}
        source, counter = open_confidential(table), partial(LocalCounter, **most)
    else:
        source, counter = open_engine(name, table, job.engine.master)
    found = OpenTable(source, partial(counter, order=job.order))
    if job.order and job.order not in found.columns:
        raise TableMismatch(
            f"The confidential table has no column {job.order} to order people's rows by. Correct [confidential]"
            f" order\n(in Python: Person(..., order=...)), or leave it out. Only the header was read. {NOTHING}"
        )
    return found


def memory_of(job: JobValues) -> dict[str, int]:
    """The most bytes that a run may need, and what this process holds of a row to find which rows of a person count.

    That is, as bench/memory.py measured it on 10^7 rows, whose it is and where it stands in a declared order.
    """
    here = job.engine.of(job.confidential.table) == "local" and bool(job.guarantee.person)
    limit = machine_memory() if job.memory_gb is None else int(job.memory_gb * 1e9)
    return {"limit": limit, "per_row": (50 if job.order else 25) * here}


def spread_of(job: JobValues) -> Any:
    """Who draws the shards of a job's records: where its confidential rows are counted, if that is on a cluster."""
    return shard_map(job.engine.of(job.confidential.table), job.engine.master)


def opened(
    source: OpenTable, tariff: Tariff, budget: Budget, account: RunAccount, *, journal: Journal, run: str, digest: str
) -> tuple[Gate, list[Reply]]:
    """The gate of a run that begins or goes on, and the answers it has already.

    The journal begins before anything is booked: a promise whose run had no journal would be paid twice.
    """
    kept, resumed = journal.answers(), journal.exists
    journal.start(run, digest)
    try:
        counter = careers.counting(tariff.coding, people.counting(tariff.coding, source.counting))
        gate = Gate(source.table, tariff, budget, account, counter)
    except LedgerError:  # a server that was lost may have booked the promise: the same run will find it
        raise
    except HedgerowError:
        if not resumed:
            journal.finish()
        raise
    for reply, saved in kept:  # a process killed between the two has saved its last answer and not marked it
        account.mark(reply.spend, saved)
    return gate, [reply for reply, _ in kept]


def recording(gate: Gate, record: list[Reply], table: str, run: str) -> RecordedAnswers:
    """The gate with all that it can be asked for, its answers recorded."""
    draw, drawn = partial(urns.draw_urn, gate), partial(relabel.measure_relabelled, gate)
    return RecordedAnswers(gate.tariff, gate.budget, record, gate, urns=draw, relabel=drawn, table=table, run=run)


def open_gate(
    table: Any,
    schema: Schema,
    budget: Budget,
    *,
    relation: Relation = "add-remove",
    ledger: str | Path = "ledger.db",
    name: str = "",
    facts: Sequence[Fact] = (),
    time: str = "",
    **promise: Any,
) -> RecordedAnswers:
    """A gate by itself, for benchmarks and tests of recipes; ``promise`` takes the other fields of ``Guarantee``.

    With ``facts`` it counts people by these; with a ``time``, careers.
    """
    guarantee = replace(Guarantee(**promise), relation=relation)
    called, run = name or Path(table).stem, uuid.uuid4().hex[:16]
    tariff = Tariff(coding_of(schema, facts, time), guarantee, budget.measure, budget.delta)
    account = RunAccount(Ledger.open(str(ledger)), table=called, run=run)
    counter = careers.counting(tariff.coding, people.counting(tariff.coding))
    gate = Gate(open_confidential(table), tariff, budget, account, counter)
    return recording(gate, [], called, run)
