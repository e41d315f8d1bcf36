"""A public table in the confidential one's place: what one cell of an experiment does, at no cost."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.answers.stand_in_gate import StandInGate
from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.experiment.design import Cell
from hedgerow.experiment.grid import Grid
from hedgerow.experiment.measured import Figures, Reading, figures, readings
from hedgerow.job import JobValues
from hedgerow.job.file import loads
from hedgerow.pipeline import PreparedJob
from hedgerow.public.coding import as_text, person_cap
from hedgerow.public.costs import Tariff
from hedgerow.public.files.places import same_file
from hedgerow.public.files.sources import open_source
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.records.drawing import draw_one
from hedgerow.stand_in.stand_in import FEWEST, judged

_NOTHING = "No confidential row was read and nothing was spent."


@final
@dataclass(frozen=True, eq=False)
class Halves:
    """Two public tables: one plays the confidential table, the other is its public relative."""

    authentic: pl.DataFrame
    relative: pl.DataFrame


@final
@dataclass(frozen=True, eq=False)
class Tables:
    """What all cells of a seed have in common: its tables, read and coded once, and what is true of them.

    Attributes:
        relative: plays the public table.
        target: the rows that receive columns, if there are any.
        counted: plays the confidential table, as far as a gate would count its rows.
        true: what each measure says of the authentic table.
    """

    relative: CodedTable
    target: CodedTable | None
    counted: CodedTable
    true: tuple[Figures, ...]


@final
@dataclass(frozen=True, eq=False)
class Stage:
    """Everything the cells of a grid have in common."""

    grid: Grid
    _latest: dict[tuple[int, str], Tables] = field(default_factory=dict, repr=False)

    @cached_property
    def job(self) -> JobValues:
        """The job as it stands, before anything is varied."""
        return loads(self.grid.own_job, self.grid.job_path)

    @cached_property
    def road(self) -> PreparedJob:
        """The job with its public tables."""
        road = PreparedJob(self.job)
        if self.job.public is None:
            raise JobError(
                "An experiment plays the job on its public table, but the job names none.\n"
                f"Add [public] table = '...' to {self.grid.job_path}. {_NOTHING}"
            )
        return road

    @cached_property
    def schema(self) -> Schema:
        """What columns mean when results are measured."""
        return self.road.schema

    @cached_property
    def public(self) -> pl.DataFrame:
        """The public table, with the person column where it has one."""
        assert self.job.public is not None
        return _read(self.job, self.job.public.table, self.schema)

    @cached_property
    def private(self) -> tuple[str, ...]:
        """The columns that a recipe of the attach kind writes: those the target lacks, or that are named private."""
        if self.job.target is None:
            return self.job.recipe.private_columns
        header = open_source(self.job.target.table).columns
        return tuple(c.name for c in self.schema.columns if c.name not in header)

    def halves(self, seed: int) -> Halves:
        """The two tables of a seed: the public table split in halves, by person where it names them."""
        other = self.grid.file.experiment.stand_in
        if other:
            place = (self.grid.path.parent / other).resolve()
            if same_file(place, self.job.confidential.table):
                raise JobError(
                    f"stand_in names the confidential table itself, {place.name}. An experiment has no budget:\n"
                    f"name a public table, or leave stand_in out to split the public one. {_NOTHING}"
                )
            return Halves(_read(self.job, place, self.schema), self.public)
        rng = np.random.Generator(np.random.PCG64([self.grid.file.experiment.split_seed, seed]))
        frame, person = self.public, self.job.guarantee.person
        units = (
            frame[person].unique(maintain_order=True) if person in frame.columns else pl.Series(range(frame.height))
        )
        if len(units) < FEWEST:
            raise JobError(f"The public table has too few rows or persons to be split in halves. {_NOTHING}")
        first = rng.permutation(len(units)) < len(units) // 2
        mine = frame[person].is_in(units.filter(first).implode()) if person in frame.columns else pl.Series(first)
        return Halves(frame.filter(mine), frame.filter(~mine))

    def tables(self, seed: int, schema: Schema) -> Tables:
        """The tables of a seed in the terms of a schema; the latest are kept, for the next cell of the same seed."""
        key = (seed, schema.dumps())
        if key not in self._latest:
            self._latest.clear()  # before others are read: two seeds need not fit in memory
            halves = self.halves(seed)
            authentic = CodedTable.read(halves.authentic, self.schema)
            bare = halves.authentic.drop(self.private)
            self._latest[key] = Tables(
                CodedTable.read(halves.relative, schema),
                CodedTable.read(bare, schema, role="target") if self.private else None,
                CodedTable.read(_capped(halves.authentic, self.job), schema),
                tuple(figures(m, authentic) for m in self.grid.file.measure),
            )
        return self._latest[key]


def play(stage: Stage, cell: Cell, seed: int) -> Iterator[Reading]:
    """Carry out one cell with the stand-in, and measure what comes out."""
    job = loads(stage.grid.job_text(cell), stage.grid.job_path)
    schema, recipe = _schema_of(stage, job), job.recipe
    tables = stage.tables(seed, schema)
    public = PublicData(schema, tables.relative, tables.target)
    if "seed" in {f.name for f in fields(recipe)}:  # type: ignore[arg-type]
        recipe = replace(recipe, seed=seed)  # type: ignore[type-var]
    tariff, counted = Tariff(schema.coding, job.guarantee, job.budget.measure), tables.counted
    rng = np.random.Generator(np.random.PCG64([1, seed, *cell]))
    gate = StandInGate(tariff, job.budget, counted, counted.rows, rng)
    copy = draw_one(recipe.fit(gate, public), public, np.random.Generator(np.random.PCG64([seed, 0])))
    made = judged(copy, stage.schema)
    for measure, true in zip(stage.grid.file.measure, tables.true, strict=True):
        yield from readings(measure, true, figures(measure, made))


def play_to_table(stage: Stage, cell: Cell, seed: int) -> pl.DataFrame:
    """The readings of one cell as tidy rows: factors, measure, term, group, authentic, synthetic, error."""
    start = perf_counter()
    try:
        readings, note = list(play(stage, cell, seed)), ""
    except HedgerowError as refusal:  # a setting that the recipe refuses is a result too
        readings, note = [], " ".join(str(refusal).removesuffix(_NOTHING).split())
    if not readings:
        nan = float("nan")
        readings = [Reading(m.name, "", "", nan, nan, nan) for m in stage.grid.file.measure]
    levels: dict[str, Any] = {
        f.name: f.levels[at] if isinstance(f.levels[at], int | float | str) else f.label(at)
        for f, at in zip(stage.grid.factors, cell, strict=True)
    }
    frame = pl.DataFrame([vars_of(r) for r in readings], infer_schema_length=None)
    return frame.select(
        *(pl.lit(v).alias(k) for k, v in levels.items()),
        pl.lit(seed).alias("seed"),
        pl.all(),
        pl.lit(perf_counter() - start).alias("seconds"),
        pl.lit(note).alias("note"),
    )


def vars_of(reading: Reading) -> dict[str, Any]:
    """A reading as plain data."""
    return {f.name: getattr(reading, f.name) for f in fields(reading)}


@lru_cache(maxsize=64)
def _settled(job: JobValues) -> Schema:
    return PreparedJob(job).schema


def _schema_of(stage: Stage, job: JobValues) -> Schema:
    """The schema of a cell: its own when the schema file is among the factors."""
    if job.schema == stage.job.schema and job.public == stage.job.public:
        return stage.schema
    return _settled(job)


def _capped(frame: pl.DataFrame, job: JobValues) -> pl.DataFrame:
    """The rows the gate would count."""
    person = job.guarantee.person
    if person not in frame.columns:
        return frame
    return frame.filter(person_cap(as_text(frame[person]), job.guarantee.rows_per_person))


def _read(job: JobValues, path: Path, schema: Schema) -> pl.DataFrame:
    source = open_source(path)
    person = [job.guarantee.person] if job.guarantee.person in source.columns else []
    wanted = list(dict.fromkeys([*(c.name for c in schema.columns), *person]))
    if lacking := [c for c in wanted if c not in source.columns]:
        raise TableMismatch(f"The table {path.name} lacks the columns {', '.join(lacking)}. {_NOTHING}")
    return pl.concat(list(source.batches(wanted)), how="vertical_relaxed")
