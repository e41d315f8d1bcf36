"""The gate of a run: its page in the ledger, and its answers in the run's work folder before anyone sees them."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hedgerow.answers import RecordedAnswers, Reply
from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, relabel, urns
from hedgerow.public import Budget, Guarantee, Marginal, Relation, Schema, Source, Spend, Tariff, open_source
from hedgerow.release.journal import Journal


def account_of(ledger: Ledger, table: str, run: str, journal: Journal, replies: Sequence[Reply]) -> RunAccount:
    """The page of a run in the ledger; its answers go to the journal, each numbered by those before it."""

    def save(spend: Spend, answer: Any) -> str:
        if isinstance(answer, Marginal):
            return journal.keep(len(replies), Reply(spend, chosen=answer))
        return journal.keep(len(replies), Reply(spend, answer if isinstance(answer, tuple) else (answer,)))

    return RunAccount(ledger, table=table, run=run, save=save)


def opened(
    source: Source, tariff: Tariff, budget: Budget, account: RunAccount, *, journal: Journal, run: str, digest: str
) -> tuple[Gate, list[Reply]]:
    """The gate of a run that begins or goes on, and the answers it has already.

    The journal begins before anything is booked: a promise whose run had no journal would be paid twice.
    """
    kept, resumed = journal.answers(), journal.exists
    journal.start(run, digest)
    try:
        gate = Gate(source, tariff, budget, account)
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
    **promise: Any,
) -> RecordedAnswers:
    """A gate by itself, for benchmarks and tests of recipes; ``promise`` takes the other fields of ``Guarantee``."""
    guarantee = replace(Guarantee(**promise), relation=relation)
    called, run = name or Path(table).stem, uuid.uuid4().hex[:16]
    tariff = Tariff(schema.coding, guarantee, budget.measure)
    account = RunAccount(Ledger.open(str(ledger)), table=called, run=run)
    return recording(Gate(open_source(table), tariff, budget, account), [], called, run)
