"""The whole road: job -> public tables -> plan -> gate -> noisy answers on disk -> model -> records -> bundle."""

import hashlib
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow import __version__
from hedgerow.answers import RecordedAnswers, Reply
from hedgerow.errors import JobError, LedgerError, Refused
from hedgerow.job import JobValues, Public, Target, facts_for, job_remarks, name_of, published_text, tables_apart
from hedgerow.planning import Plan, forecast, outline, with_attach
from hedgerow.public import (
    Budget,
    CodedTable,
    Fact,
    Guarantee,
    PublicData,
    PublicInput,
    Role,
    Schema,
    Source,
    Tariff,
    coding_of,
    default_ledger,
    expanded_public,
    is_address,
    open_public,
    placed,
    shown_address,
)
from hedgerow.records import Copies as Copies
from hedgerow.records import RecordFile, write_copies
from hedgerow.records import draw_copies as draw_copies
from hedgerow.release import Contents, findings_of, flatten, given_columns, software, with_estimates, write_bundle
from hedgerow.release.rehearsal_folder import (
    rehearsal_folder,
    saved_forecast,
    saved_rehearsal,
    write,
    write_forecast,
    write_meanwhile,
)
from hedgerow.release.words import Promise, promise_of
from hedgerow.run_gate import Journal, Ledger, account_of, memory_of, open_table, opened, recording, spread_of
from hedgerow.run_gate import is_finished as is_finished
from hedgerow.run_gate import open_gate as open_gate
from hedgerow.stand_in import RUNS, Rehearsal, StandIn, by_order, persons
from hedgerow.stand_in import rehearse as rehearse_stand_in
from hedgerow.uses import AbstractUse, Coefficient, Verdict

Watch = Callable[[str], None]
Confirm = Callable[["PreparedJob", Plan], bool]
"""Shown a prepared job and its plan; whether the budget may be spent."""


@final
@dataclass(frozen=True)
class PreparedJob:
    """A job with everything public read and checked, each part when it is first asked for.

    No confidential row has been read and nothing is booked.  What is here is cheap: it fits no recipe.
    """

    job: JobValues

    def __post_init__(self) -> None:
        tables_apart(self.job)

    @cached_property
    def public(self) -> PublicData:
        """All that the recipe may use freely: the schema, the public relative, the target."""
        role: Role = "relative" if self.job.recipe.attaches or self.job.recipe.career_time else "public"
        return PublicData(
            self.schema,
            self._read(self.job.public, role),
            self._read(self.job.target, "target"),
            self.job.confidential.assumed_rows,
            self.job.wanted_tables,
            self.job.wanted_figures,
            self.job.predicted,
            self.job.read_by,
        )

    def _read(self, part: Public | Target | None, role: Role) -> CodedTable | None:
        if part is None:
            return None
        return CodedTable.read(self.job.rows_of(part), self.schema, role, part.count, outside=self.job.outside)

    @cached_property
    def schema(self) -> Schema:
        """The schema with all settled that is taken from the public table; what uses compare with, too."""
        terms = [use.term for use in self.job.uses if isinstance(use, Coefficient)]
        return self.comparing(
            lambda schema: [c for use in self.job.uses for c in use.unsettled(schema)], terms, self._bare
        )

    @cached_property
    def uses(self) -> tuple[AbstractUse, ...]:
        """The intended uses, checked, with what they leave to the schema written out."""
        for use in self.job.uses:
            use.check(self.schema)
        return tuple(use.on(self.schema) for use in self.job.uses)

    def comparing(
        self, columns: Callable[[Schema], Sequence[str]], terms: Sequence[str], schema: Schema | None = None
    ) -> Schema:
        """The schema with a reference for these columns: their most frequent value in the public table, no term's."""
        known = schema or self.schema
        if self.job.public is None or not (named := columns(known)):
            return known
        return known.referring(self._public_rows(self.job.public), named, terms)

    @cached_property
    def _bare(self) -> Schema:
        """The schema with bins, labels and combinations settled, from the public table where it says so."""
        written, target = self.job.schema, self.job.target
        if self.job.public is None and written.is_resolved:
            return placed(written)
        if self.job.public is None:
            raise JobError(
                "The schema takes bins, labels or combinations from a public table, but the job names none.\n"
                "Add [public] table = '...' (in Python: public=Public(...)), or write them out in the schema.\n"
                "Nothing was read or spent."
            )
        self._public_rows(self.job.public)  # which refuses a line whose count is none
        lines = open_public(self.job.rows_of(self.job.public))
        given = open_public(self.job.rows_of(target)).columns if target else ()
        return placed(written.completed(lines, given, self.job.public.count))

    def _public_rows(self, part: Public) -> Source:
        return expanded_public(open_public(self.job.rows_of(part)), part.count)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise, its public columns checked against the schema."""
        given = self.job.guarantee
        if given.relation == "label-change" and not given.public_columns:
            why = "" if self.job.confidential.relation else f", the default of {self.job.recipe.name},"
            raise JobError(
                f"relation = 'label-change'{why} protects some columns and declares the others public row by row.\n"
                "Name a target that has the others, or list them in [confidential] public_columns (in Python: the\n"
                "argument of Confidential). Nothing was read or spent."
            )
        self.schema.shape(given.public_columns)
        return given

    @cached_property
    def tariff(self) -> Tariff:
        """How this job's requests are priced."""
        budget, coding = self.job.budget, coding_of(self.schema, self.facts, self.job.recipe.career_time)
        return Tariff(coding, self.guarantee, budget.measure, budget.delta)

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What people are counted by, from the target; none when rows are counted."""
        return facts_for(self.job, self.public)

    @cached_property
    def outline(self) -> Plan:
        """What the job will ask, cost and need. Nothing is fitted; every mistake in what is public shows here."""
        compared = [f"{use.name}: {use.compared}." for use in self.uses if use.compared]
        found = outline(
            self.job.recipe,
            self.public,
            tariff=self.tariff,
            budget=self.job.budget,
            rows=self.job.confidential.assumed_rows,
            rng=np.random.default_rng(self.job.seed),
            **memory_of(self.job),
        )
        remarks = (*found.remarks, *job_remarks(self.job, self.guarantee, self.person, self.facts), *compared)
        return replace(found, remarks=remarks)

    def forecast(self, watch: Watch = lambda phase: None) -> tuple[Verdict, ...]:
        """How each use is expected to fare: as was foretold before, else by fits on the public table."""
        return self.foretold or forecast(
            self.outline,
            self.job.recipe,
            self.played[0],
            self.uses,
            person=self.played[1],
            rng=np.random.default_rng(self.job.seed),
            watch=watch,
        )

    @cached_property
    def foretold(self) -> tuple[Verdict, ...]:
        """What a rehearsal of this very job found at its epsilon, else what a plan of it did; none without either."""
        if self.rehearsal and (point := self.rehearsal.at(self.job.budget.epsilon)):
            return point.verdicts
        key, known = self.job.foretold
        if key != self.forecast_key:
            known = saved_forecast(rehearsal_folder(self.job.out), self.forecast_key)
        return known if tuple(v.use for v in known) == self.uses else ()

    @cached_property
    def person(self) -> pl.Series | None:
        """Whose each row of the public table is, as text; None when the unit is a record or it does not say."""
        part, person = self.job.public, self.guarantee.person
        return persons(open_public(self.job.rows_of(part)), person) if part and person else None

    @cached_property
    def played(self) -> tuple[PublicData, pl.Series | None]:
        """What a forecast plays, and whose each public row is: those of a person in the order in which they count."""
        part, order = self.job.public, self.job.order
        if part is None or self.person is None or not order:
            return self.public, self.person
        return by_order(self.public, self.person, open_public(self.job.rows_of(part)), order)

    @cached_property
    def inputs(self) -> tuple[PublicInput, ...]:
        """Everything used that does not come from the confidential table, with its hash."""
        settled = hashlib.sha256(self.schema.dumps().encode()).hexdigest()
        found = [PublicInput("schema", "schema.toml", settled, self.schema.source)]
        if self.job.public and self.public.relative:
            found.append(_input("public", self.job.public, self.public.relative, self.job.public.provenance))
        if self.job.target and self.public.target:
            found.append(_input("target", self.job.target, self.public.target))
        return tuple(found)

    @property
    def rehearsal_key(self) -> str:
        """A hash of all that a rehearsal depends on but epsilon: of which rehearsals speak of this job."""
        facts = (self.job.recipe, self.guarantee, self.job.budget.delta, self.job.uses, self.inputs)
        return _hash(facts, self.job.confidential.assumed_rows, __version__)

    @property
    def forecast_key(self) -> str:
        """A hash of all that the forecast of a plan depends on."""
        return _hash(self.rehearsal_key, self.job.budget.epsilon, self.job.seed)

    @cached_property
    def rehearsal(self) -> Rehearsal | None:
        """What a rehearsal of this very job found, if there was one: of this object, or beside the release."""
        epsilon = self.job.budget.epsilon
        known = (self.job.rehearsal, saved_rehearsal(rehearsal_folder(self.job.out)))
        mine = (r for r in known if r and r.key == self.rehearsal_key and r.at(epsilon))
        return next((r for r in mine if all(tuple(v.use for v in p.verdicts) == self.uses for p in r.points)), None)

    @property
    def promise(self) -> Promise:
        """The promise in plain words, before anything is asked; how often it may fail is known after that."""
        nothing = RecordedAnswers(self.tariff, self.job.budget, [], table=self.job.table, run="")
        return promise_of(
            nothing.statement(public_inputs=self.inputs, recipe=self.job.stated_recipe, version=__version__)
        )

    @property
    def digest(self) -> str:
        """A hash of all that noisy answers depend on: a run is resumed only when it is the same.

        Structural zeros, rules and what uses compare with are not part of it: they matter after all was measured.
        """
        job, free = self.job, replace(self._bare, zeros=(), rules=())
        settings = repr(job.recipe) if is_dataclass(job.recipe) else name_of(job.recipe)
        tables = [(i.role, i.sha256, i.count) for i in self.inputs if i.role != "schema"]
        secret = "frame" if job.confidential.is_frame else str(job.confidential.table)
        order = [job.order] if job.order else []
        asks = (job.stated_recipe, settings, self.guarantee, job.budget, job.table, secret, job.ledger)
        wanted = (job.wanted_tables, job.wanted_figures, *job.predicted)
        return _hash(asks, wanted, job.confidential.assumed_rows, job.seed, free.dumps(), tables, *order)

    def ledger(self) -> Ledger:
        """The ledger the job names."""
        return Ledger.open(self.job.ledger)

    @property
    def _has_ledger(self) -> bool:
        """Whether the ledger was begun; of one in a database, taken to be so."""
        return "://" in self.job.ledger or Path(self.job.ledger).exists()

    @property
    def books(self) -> str:
        """Which ledger this is and what it knows of the table, in words; looking begins none, and reads no row."""
        name, table = self.job.ledger, self.job.table
        shown = re.sub(r"(?<=://)(?:.*@)?([^?]*).*", r"\1", name) + " (the office's)" * (name == default_ledger())
        if not self._has_ledger:
            return f"{shown}: it is not there yet, and a run begins it; no ledger has heard of {table!r} here"
        try:
            known = any(e.tab == table for e in self.ledger().entries())
        except LedgerError:
            return f"{shown}: it cannot be looked at now, and no run is admitted until it can"
        return shown if known else f"{shown}: it has never heard of table {table!r}"

    def left(self, budget: Budget | None = None) -> tuple[Fraction, Fraction] | None:
        """What the cap leaves to a run of ``budget`` (the job's): epsilon before and after it; None without a cap.

        Looking begins no ledger.
        """
        if not self._has_ledger:
            return None
        cap, made = self.ledger().account(self.job.table)
        return cap and cap.around(made, budget or self.job.budget)


def _input(role: str, part: Public | Target, table: CodedTable, provenance: str = "") -> PublicInput:
    if part.is_frame:
        named = "frame"
    else:
        named = shown_address(part.table) if is_address(part.table) else Path(part.table).name
    return PublicInput(role, named, table.sha256, provenance, part.count)


def _hash(*facts: Any) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def plan(prepared: PreparedJob, *, out: Path | None = None, watch: Watch = lambda phase: None) -> Plan:
    """The plan of a job, its uses forecast on the public table. Reads no confidential row and costs nothing.

    A run of the same job takes its forecast from here: from this object, or from the folder ``out``, if there is one.
    """
    job, found = prepared.job, prepared.outline
    if job.uses:
        found = replace(found, verdicts=prepared.forecast(watch))
        object.__setattr__(job, "foretold", (prepared.forecast_key, found.verdicts))
        if out is not None:
            write_forecast(found.verdicts, prepared.forecast_key, out)
    rng = np.random.default_rng([job.seed, 1])
    return with_attach(found, job.recipe, prepared.public, wanted=job.interval, rng=rng)


def stand_in_of(prepared: PreparedJob) -> StandIn:
    """The job with its public table in the confidential one's place, or tables made up from its schema."""
    job, rows = prepared.job, prepared.outline.assumed_rows
    if not job.uses:
        raise JobError(
            "A rehearsal judges intended uses, and the job names none. Say what the file must get right:\n"
            "[[use]] name = '...', columns = [...], tolerance = 0.01 (in Python: uses=[...]).\n"
            "Nothing was read or spent."
        )
    if rows is None:
        raise JobError(
            "A rehearsal plays the job on its public table. The job names none, so tables are made up from the\n"
            "schema; for that, say about how many rows the confidential one has, if that is public: [confidential]\n"
            "assumed_rows = ... (in Python: Confidential(..., assumed_rows=...)). Nothing was read or spent."
        )
    return StandIn(job.recipe, prepared.played[0], prepared.tariff, prepared.uses, rows, prepared.played[1])


def rehearse(
    prepared: PreparedJob,
    *,
    epsilons: Sequence[Fraction] = (),
    runs: int = RUNS,
    workers: int = 0,
    out: str | Path | None = None,
    watch: Callable[[int, int, float], None] = lambda done, of, left: None,
) -> Rehearsal:
    """The job played on its public table at several epsilons. Nothing confidential is read or spent."""
    job, keyed = prepared.job, partial(replace, key=prepared.rehearsal_key)
    found = rehearse_stand_in(
        stand_in_of(prepared),
        budget=job.budget,
        epsilons=epsilons,
        runs=runs,
        workers=workers,
        watch=watch,
        look=None if out is None else lambda known: write_meanwhile(keyed(known), Path(out)),
        rng=np.random.default_rng(job.seed),
    )
    found = keyed(found)
    object.__setattr__(job, "rehearsal", found)
    if out is not None:
        write(found, Path(out))
    return found


def run(
    job: JobValues,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    forecast: bool = True,
    confirm: Confirm = lambda prepared, plan: True,
    watch: Watch = lambda phase: None,
) -> Path:
    """Carry the job out and return the folder of its release.

    ``confirm`` is shown the prepared job and its plan before anything is booked.  Noisy answers are on disk
    before anything is done with them; after a crash ``resume`` goes on from there at no cost.
    """
    watch("checking the job and its public tables")
    prepared = PreparedJob(job)
    folder = job.out if out is None else Path(out).resolve()
    journal = Journal.beside(folder)
    if resume and is_finished(folder) and not journal.folder.exists():
        return folder
    with journal.held():
        if resume and is_finished(folder):
            journal.finish()
            return folder
        _must_be_free(folder, journal, resume)
        source = open_table(job)
        name = journal.resume(prepared.digest) if resume else uuid.uuid4().hex[:16]
        plan = _with_forecast(prepared, forecast, watch)  # every public mistake shows before anything is booked
        if not resume and not confirm(prepared, plan):
            raise Refused("You said no. No confidential row was read and nothing was spent.")
        record = _Account(job.stated_recipe, published_text(job, prepared.schema))
        account = account_of(prepared.ledger(), job, name, journal, record.replies)
        try:
            gate, kept = opened(
                source, prepared.tariff, job.budget, account, journal=journal, run=name, digest=prepared.digest
            )
            record.replies.extend(kept)
            asked = replace(recording(gate, kept, job.table, name), keep=record.replies.append, tell=watch)
            fitted = job.recipe.fit(asked, prepared.public)
        except LedgerError as lost:
            raise LedgerError(
                f"{lost}\n{account.standing()}\nOnce it can be used again, go on without paying twice: the same "
                "command with --resume (in Python: job.run(..., resume=True))."
            ) from lost
        place, spread = journal.drawing(), spread_of(job)
        drawn = write_copies(
            fitted, prepared.public, place, copies=job.copies, seed=job.seed, watch=watch, spread=spread
        )
        contents = _contents(prepared, record, name, drawn, plan.verdicts, account.anchor())
        if prepared.uses:
            watch("working out intervals of the intended uses")
            contents = with_estimates(contents, asked.heard, prepared.public, prepared.uses)
        watch("writing the release")
        write_bundle(folder, contents, draft=journal.bundle)
        journal.finish()
    return folder


def _must_be_free(folder: Path, journal: Journal, resume: bool) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise JobError(
            f"{folder} is not empty. Choose another place with --out (in Python: job.run(FOLDER)), or move it away.\n"
            "No confidential row was read and nothing was spent."
        )
    if journal.exists and not resume:
        raise JobError(
            f"An unfinished run stands in {journal.folder}: what it has paid for is kept there.\n"
            "Type the same command with --resume (in Python: job.run(..., resume=True)),\n"
            "or delete that folder to start anew at full cost. No confidential row was read and nothing was spent."
        )


def _with_forecast(prepared: PreparedJob, wanted: bool, watch: Watch) -> Plan:
    """The outline with a verdict per use: foretold before, forecast now, or said to be neither."""
    outline, uses = prepared.outline, prepared.uses
    if not uses or prepared.foretold:
        return replace(outline, verdicts=prepared.foretold if uses else ())
    if not wanted:
        return replace(outline, verdicts=tuple(Verdict(u, None, None, "no forecast was asked for") for u in uses))
    said = "(--no-forecast leaves this out)"
    return replace(outline, verdicts=prepared.forecast(lambda phase: watch(f"{phase} {said}")))


@final
@dataclass(frozen=True)
class _Account:
    """What a run records of itself, out of the recipe's reach: before anything is booked, or as answers come."""

    recipe: str
    job: str
    replies: list[Reply] = field(default_factory=list)


def _contents(
    prepared: PreparedJob,
    account: _Account,
    run: str,
    drawn: Copies[RecordFile],
    verdicts: tuple[Verdict, ...],
    anchor: str,
) -> Contents:
    """Everything that is published."""
    job = prepared.job
    given = RecordedAnswers(prepared.tariff, job.budget, account.replies, table=job.table, run=run)
    return Contents(
        schema=prepared.schema,
        statement=given.statement(
            public_inputs=prepared.inputs, recipe=account.recipe, anchor=anchor, version=__version__
        ),
        answers=flatten(account.replies),
        job=account.job,
        records=drawn.records,
        counts=drawn.counts[0] if drawn.counts else None,
        copies=drawn.counts[1:],
        margins=drawn.margins[0] if drawn.margins else None,
        verdicts=verdicts,
        findings=findings_of(job.recipe, given, prepared.public),
        given=given_columns(prepared.public.target, drawn.records),
        rehearsal=prepared.rehearsal,
        formats=job.formats,
        software=software(),
        title=job.title or job.table,
    )
