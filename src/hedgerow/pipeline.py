"""The whole road: job -> plan -> gate -> noisy answers on disk -> model -> records -> bundle."""

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow import __version__
from hedgerow.answers.recorded import RecordedAnswers, Reply
from hedgerow.errors import HedgerowError, JobError, Refused
from hedgerow.job import Job
from hedgerow.ledger.account import RunAccount
from hedgerow.ledger.book import Ledger
from hedgerow.planning.attach import with_attach
from hedgerow.planning.forecast import Plan, forecast
from hedgerow.planning.memory_check import machine_memory
from hedgerow.private import Gate, relabel, urns
from hedgerow.public.costs.accounting import Budget, Guarantee, Relation
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.statement import PublicInput, Statement
from hedgerow.public.files.places import file_hash, same_file
from hedgerow.public.files.sources import Source, open_source
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData, Role
from hedgerow.records.drawing import Drawn as Drawn
from hedgerow.records.drawing import draw_copies as draw_copies
from hedgerow.release import measurements
from hedgerow.release.bundle import Contents, write_bundle
from hedgerow.release.journal import Journal, flatten
from hedgerow.release.rehearsal_folder import saved_rehearsal
from hedgerow.stand_in.curve import Rehearsal
from hedgerow.stand_in.stand_in import persons

Watch = Callable[[str], None]


@dataclass(frozen=True)
class Road:
    """A job with everything public read and checked. No confidential row has been read."""

    job: Job

    def __post_init__(self) -> None:
        secret = self.job.beside(self.job.file.confidential.table)
        for role, part in (("public", self.job.file.public), ("target", self.job.file.target)):
            if part is not None and same_file(secret, self.job.beside(part.table)):
                raise JobError(
                    f"[{role}] names the confidential table itself. What a job calls public is read freely and its\n"
                    "hash is published. Name another table. No confidential row was read and nothing was spent."
                )

    @cached_property
    def drafted(self) -> Schema:
        """The schema as the steward wrote it."""
        return self.job.schema()

    @cached_property
    def public(self) -> PublicData:
        """All that the recipe may use freely: the schema, the public relative, the target."""
        relative, target = self.job.file.public, self.job.file.target
        role: Role = "target" if self.job.recipe.attaches else "public"
        return PublicData(
            self.schema,
            None if relative is None else CodedTable.read(self.job.beside(relative.table), self.schema, role=role),
            None if target is None else CodedTable.read(self.job.beside(target.table), self.schema, role="target"),
            self.job.file.confidential.assumed_rows,
            self.job.wanted_tables,
        )

    @cached_property
    def schema(self) -> Schema:
        """The schema with bins, labels and combinations settled, from the public table where it says so."""
        if self.drafted.is_resolved:
            return self.drafted
        if self.job.file.public is None:
            raise JobError(
                "The schema takes bins, labels or combinations from a public table, but the job names none.\n"
                "Add [public] table = '...', or write them out in the schema. Nothing was read or spent."
            )
        source = open_source(self.job.beside(self.job.file.public.table))
        wanted = [c.name for c in self.drafted.columns if c.name in source.columns]
        return self.drafted.resolved(pl.concat(source.batches(wanted)))

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise, its public columns checked against the schema."""
        given = self.job.guarantee
        if given.relation != "label-change":
            return given
        if not given.public_columns:
            said = "" if self.job.file.confidential.relation else f", the default of {self.job.recipe.name},"
            raise JobError(
                f"relation = 'label-change'{said} protects some columns and declares the others public row by row.\n"
                "List the latter in [confidential] public_columns. Nothing was read or spent."
            )
        self.schema.shape(given.public_columns)
        return given

    @cached_property
    def tariff(self) -> Tariff:
        """How this job's requests are priced."""
        return Tariff(self.schema.coding, self.guarantee, self.job.budget.measure)

    @cached_property
    def plan(self) -> Plan:
        """What the job will ask, cost and give; how uses will fare by its rehearsal, if there was one."""
        played = self.rehearsal.at(self.job.budget.epsilon) if self.rehearsal else None
        found = forecast(
            self.job.recipe,
            self.public,
            tariff=self.tariff,
            budget=self.job.budget,
            uses=() if played else self.job.uses,
            rows=self.job.file.confidential.assumed_rows,
            person=self.person,
            rng=np.random.default_rng(self.job.file.job.seed),
            limit=machine_memory() if (said := self.job.file.job.memory_gb) is None else int(said * 1e9),
        )
        return replace(found, verdicts=played.verdicts) if played else found

    @cached_property
    def person(self) -> pl.Series | None:
        """Whose each row of the public table is, as text; None when the unit is a record or it does not say."""
        part, person = self.job.file.public, self.guarantee.person
        return persons(open_source(self.job.beside(part.table)), person) if part and person else None

    @cached_property
    def inputs(self) -> tuple[PublicInput, ...]:
        """Everything used that does not come from the confidential table, with its hash."""
        settled = hashlib.sha256(self.schema.dumps().encode()).hexdigest()
        found = [PublicInput("schema", "schema.toml", settled, self.schema.source)]
        for role, part in (("public", self.job.file.public), ("target", self.job.file.target)):
            if part is not None:
                file = self.job.beside(part.table)
                found.append(PublicInput(role, file.name, file_hash(file), getattr(part, "provenance", "")))
        return tuple(found)

    @property
    def rehearsal_key(self) -> str:
        """A hash of all that a rehearsal depends on but epsilon: of which rehearsals speak of this job."""
        told = (self.job.recipe, self.guarantee, self.job.budget.delta, self.job.uses, self.inputs)
        rows = self.job.file.confidential.assumed_rows
        return hashlib.sha256(repr((told, rows, __version__)).encode()).hexdigest()

    @cached_property
    def rehearsal(self) -> Rehearsal | None:
        """What ``hedgerow rehearse`` found of this very job, if it was asked."""
        return saved_rehearsal(self.job, self.rehearsal_key)

    @property
    def digest(self) -> str:
        """A hash of the job and all its public inputs: a run is resumed only with the same ones."""
        return hashlib.sha256((self.job.text + repr(self.inputs)).encode()).hexdigest()

    def ledger(self) -> Ledger:
        """The ledger the job names."""
        return Ledger.open(self.job.ledger_url)

    def left(self) -> tuple[Fraction, ...] | None:
        """What the table's cap leaves, as (epsilon, delta); None without a cap."""
        return self.ledger().left(self.job.table)


def plan(path: str | Path) -> Plan:
    """The plan of the job in ``path``. Reads no confidential row and costs nothing."""
    road = Road(Job.load(path))
    rng = np.random.default_rng([road.job.file.job.seed, 1])
    return with_attach(road.plan, road.job.recipe, road.public, wanted=road.job.wanted, rng=rng)


def run(
    path: str | Path,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    confirm: Callable[[Road], bool] = lambda road: True,
    watch: Watch = lambda phase: None,
) -> Path:
    """Carry the job out and return the folder of its release.

    ``confirm`` is shown the road before anything is booked.  Noisy answers are on disk before anything
    is done with them; after a crash ``resume`` goes on from there at no cost.
    """
    watch("checking the job and its public tables")
    road = Road(Job.load(path))
    job = road.job
    folder = Path(out).resolve() if out is not None else job.beside(job.file.job.out)
    journal = Journal(folder.with_name(folder.name + ".run"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise JobError(
            f"{folder} is not empty. Choose another place with --out, or move it away.\n"
            "No confidential row was read and nothing was spent."
        )
    if journal.exists and not resume:
        raise JobError(
            f"An unfinished run stands in {journal.folder}: it has paid already.\nType: hedgerow run {path} --resume"
            "\nor delete that folder to start anew at full cost. No confidential row was read and nothing was spent."
        )
    source = open_source(job.beside(job.file.confidential.table))
    name = journal.resume(road.digest) if resume else uuid.uuid4().hex[:16]
    road.plan  # noqa: B018  every public mistake shows before anything is booked
    if not resume and not confirm(road):
        raise Refused("You said no. No confidential row was read and nothing was spent.")
    gate = _open(road, source, name, journal)
    gate.tell = watch
    fitted = job.recipe.fit(gate, road.public)
    drawn = draw_copies(fitted, road.public, copies=job.file.job.copies, seed=job.file.job.seed, watch=watch)
    watch("writing the release")
    anchor = RunAccount(road.ledger(), table=job.table, run=name).anchor()
    write_bundle(folder, _contents(road, gate, drawn, anchor))
    journal.finish()
    return folder


def _open(road: Road, source: Source, name: str, journal: Journal) -> RecordedAnswers:
    """The gate of a run, its answers kept in the journal, those already there not asked again."""
    record, resumed = journal.answers(), journal.exists
    journal.start(name, road.digest)  # before booking: a promise whose journal was lost would be paid twice
    try:
        account = RunAccount(road.ledger(), table=road.job.table, run=name)
        gate = Gate(source, road.tariff, road.job.budget, account)
    except HedgerowError:
        if not resumed:
            journal.finish()
        raise

    def keep(answered: Reply) -> None:
        journal.keep(len(record), answered)

    return replace(recording(gate, record, road.job.table, name), keep=keep)


def recording(gate: Gate, record: list[Reply], table: str, run: str) -> RecordedAnswers:
    """The gate with all that it can be asked for, its answers recorded."""
    draw, drawn = partial(urns.draw_urn, gate), partial(relabel.measure_relabelled, gate)
    return RecordedAnswers(gate.tariff, gate.budget, record, gate, urns=draw, relabel=drawn, table=table, run=run)


def _contents(road: Road, gate: RecordedAnswers, drawn: Drawn, anchor: str) -> Contents:
    """Everything that is published."""
    return Contents(
        schema=road.schema,
        statement=gate.statement(
            public_inputs=road.inputs, recipe=road.job.recipe.stated, anchor=anchor, version=__version__
        ),
        answers=flatten(gate.record),
        job=road.job.text,
        records=drawn.records,
        counts=drawn.counts[0] if drawn.counts else None,
        copies=drawn.counts[1:],
        margins=drawn.margins[0] if drawn.margins else None,
        verdicts=road.plan.verdicts,
        rehearsal=road.rehearsal,
        formats=road.job.file.job.formats,
        title=road.job.file.job.title or road.job.table,
    )


def sample(
    folder: str | Path,
    *,
    copies: int,
    seed: int,
    public_table: str | Path | None = None,
    target_table: str | Path | None = None,
) -> Drawn:
    """More synthetic copies from the noisy answers of a bundle. Free: nothing confidential is read.

    ``public_table`` is the public relative of the run, for recipes that start from it, ``target_table`` the rows that
    receive columns; they must be the same files.
    """
    folder = Path(folder)
    statement, record = recorded(folder)
    schema = Schema.load(folder / "schema.toml")
    job = Job.loads((folder / "job.toml").read_text("utf-8"), folder / "job.toml")
    role: Role = "target" if job.recipe.attaches else "public"
    public = PublicData(
        schema,
        _same(public_table, "public", statement, schema, role),
        _same(target_table, "target", statement, schema, "target"),
        job.file.confidential.assumed_rows,
        job.wanted_tables,
    )
    tariff = Tariff(public.schema.coding, statement.guarantee, statement.budget.measure)
    named = [i.name for i in statement.public_inputs if i.role == "public"]
    try:
        fitted = job.recipe.fit(RecordedAnswers(tariff, statement.budget, record), public)
    except (JobError, Refused):
        if public_table is not None or not named:
            raise
        raise JobError(
            f"The recipe {job.recipe.name} starts from the public table of the run, {named[0]}, which is not in the\n"
            "release: name it with --public FILE. Nothing confidential was read or spent."
        ) from None
    return draw_copies(fitted, public, copies=copies, seed=seed)


def _same(path: str | Path | None, what: str, statement: Statement, schema: Schema, role: Role) -> CodedTable | None:
    """The public relative or the target of a run, checked to be the file that was used then."""
    known = {i.sha256: i.name for i in statement.public_inputs if i.role == what}
    if path is None and what == "target" and known:
        raise JobError(
            f"This release attaches columns to the rows of {', '.join(known.values())}, which are not in it:\n"
            "name that file with --target FILE. Nothing confidential was read or spent."
        )
    table = None if path is None else CodedTable.read(path, schema, role=role)
    if path is not None and file_hash(Path(path)) not in known:
        raise JobError(
            f"{path} is not the {what} table of this release: its hash is not the statement's.\n"
            f"Give the very file that the run used: --{what} FILE. Nothing confidential was read or spent."
        )
    return table


def recorded(folder: Path) -> tuple[Statement, list[Reply]]:
    """The statement of a bundle and its recorded answers, in the order they were given."""
    try:
        statement = Statement.from_json(json.loads((folder / "statement.json").read_text("utf-8")))
        answers = measurements.load(folder / "measurements.parquet")
    except (OSError, ValueError):
        raise JobError(f"{folder} is not a release: it has no readable statement.json and measurements.") from None
    chosen = dict(statement.choices)
    record = [
        Reply(spend, tuple(m for position, m in answers if position == i), chosen.get(i))
        for i, spend in enumerate(statement.spends)
    ]
    return statement, record


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
    """A gate for Python users: ask it through a recipe. The whole budget is booked under ``name`` at once.

    ``promise`` takes the other fields of ``Guarantee``: unit, person, rows_per_person, public_columns.
    """
    guarantee = replace(Guarantee(**promise), relation=relation)
    if not name and not isinstance(table, str | Path):
        raise JobError("Give the confidential frame a name: open_gate(frame, ..., name='personnel').")
    called, run = name or Path(table).stem, uuid.uuid4().hex[:16]
    tariff = Tariff(schema.coding, guarantee, budget.measure)
    account = RunAccount(Ledger.open(str(ledger)), table=called, run=run)
    gate = Gate(open_source(table), tariff, budget, account)
    return recording(gate, [], called, run)


def write_release(
    records: pl.DataFrame,
    gate: RecordedAnswers,
    schema: Schema,
    folder: str | Path,
    *,
    recipe: str = "independent",
    title: str = "",
) -> Path:
    """Write the bundle of a run made in Python: records, statement, noisy answers, everything that goes out."""
    contents = Contents(
        schema=schema,
        statement=gate.statement(recipe=recipe, version=__version__),
        answers=flatten(gate.record),
        job=_job_text(gate, recipe),
        records=(records,),
        counts=None,
        verdicts=(),
        formats=("csv",),
        title=title or gate.table,
    )
    write_bundle(Path(folder), contents)
    return Path(folder)


def _job_text(gate: RecordedAnswers, recipe: str) -> str:
    """The job file that says what a run made in Python has promised."""
    g, text = gate.tariff.guarantee, json.dumps  # a JSON text is a TOML text
    return "\n".join(
        [
            f"[job]\nrecipe = {text(recipe)}",
            f"[confidential]\ntable = {text(gate.table)}\nname = {text(gate.table)}",
            f"unit = {text(g.unit)}\nperson = {text(g.person)}\nrows_per_person = {g.rows_per_person}",
            f"relation = {text(g.relation)}\npublic_columns = {text(list(g.public_columns))}",
            f"[budget]\nepsilon = {text(str(gate.budget.epsilon))}\ndelta = {text(str(gate.budget.delta))}\n",
        ]
    )
