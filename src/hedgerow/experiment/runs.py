"""The cells of a grid on a public table: what is measured, what one cell does, and all of them on all cores.

What is done is on disk, so a crash or a stop loses only what was under way.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow import __version__
from hedgerow.errors import NOTHING, HedgerowError, JobError, TableMismatch
from hedgerow.evaluate.least_squares import designs, least_squares
from hedgerow.experiment.design import Cell
from hedgerow.experiment.grid import Grid, Measure
from hedgerow.job import JobValues, only_rows
from hedgerow.pipeline import PreparedJob
from hedgerow.public import (
    CodedTable,
    Formula,
    PublicData,
    Schema,
    Tariff,
    document,
    file_hash,
    open_source,
    same_file,
)
from hedgerow.stand_in import Parts, lacking, parts_of, persons, run_once, split_rows
from hedgerow.stand_in.worker_pool import worker_pool
from hedgerow.uses import Quantity

_SPLIT = "half of the rows, persons whole"  # cells on disk that were split otherwise are run again


@final
@dataclass(frozen=True)
class Reading:
    """One number of one synthetic table beside the authentic one."""

    measure: str
    term: str
    at: str
    authentic: float
    synthetic: float
    error: float


Figures = dict[str, dict[str, float]] | Quantity
"""For every group the coefficients by name; or, of joint proportions, the counts."""


def figures(measure: Measure, table: CodedTable) -> Figures:
    """What is measured of records, or of a table of counts."""
    if measure.columns:
        return measure.use.figures(table)
    if table.counts is not None:
        raise JobError(
            f"The recipe gives a table of counts, in which no model can be fitted: leave {measure.name!r} out, and\n"
            f"measure tables: [[measure]] name = '...', columns = [...]. {NOTHING}"
        )
    formula = Formula.parse(measure.model, measure.reference).bound(table.schema)
    names = wanted(measure, formula, table.schema)
    found = coefficients(formula, table, measure.by)
    return {at: {said: fit[name] for said, name in names.items()} for at, fit in found.items()}


def readings(measure: Measure, authentic: Figures, synthetic: Figures) -> Iterator[Reading]:
    """Everything ``measure`` says of a synthetic table beside the authentic one.

    A coefficient that the synthetic table does not determine counts as if it were 0: leaving it out would favour
    settings that lose whole groups.
    """
    if isinstance(authentic, Quantity) or isinstance(synthetic, Quantity):
        assert isinstance(authentic, Quantity) and isinstance(synthetic, Quantity)
        error = measure.use.error(synthetic, authentic).error
        yield Reading(measure.name, "total variation", "", 0.0, error, error)
        return
    for at, fit in authentic.items():
        for name, a in fit.items():
            b = synthetic.get(at, {}).get(name, float("nan"))
            yield Reading(measure.name, name, at, a, b, abs(a - b) if np.isfinite(b) else abs(a))


def wanted(measure: Measure, formula: Formula, schema: Schema) -> dict[str, str]:
    """The full names of the coefficients that are measured, by how they were named: or all that compare levels."""
    known = formula.names(schema)
    named = {t: known[formula.place(t, schema)] for t in measure.terms}
    return named or {n: n for n in known if "[" in n} or {n: n for n in known}


def coefficients(formula: Formula, table: CodedTable, by: str) -> dict[str, dict[str, float]]:
    """The coefficients of a bound formula in every group of ``by``, or in all rows under the name ''."""
    (design,) = designs(formula, [table], table.schema)
    group = table.frame[by].cast(pl.String).gather(design.origin).to_numpy() if by else np.full(design.rows, "")
    found = {}
    for at in sorted(set(group.tolist())):
        fit = least_squares(design.where(group == at), errors="iid")
        known = dict(zip(fit.names, fit.values.tolist(), strict=True))
        found[at] = {name: known[name] for name in formula.names(table.schema)}
    return found


@final
@dataclass(frozen=True, eq=False)
class GridStandIn:
    """What the cells of a grid have in common: the public table, split in halves anew for every seed."""

    grid: Grid
    _latest: dict[tuple[int, str], tuple[Parts, tuple[Figures, ...]]] = field(default_factory=dict, repr=False)

    @cached_property
    def job(self) -> JobValues:
        """The job as it stands, before anything is varied."""
        return self.grid.job_of()

    @cached_property
    def prepared(self) -> PreparedJob:
        """The job with its public tables."""
        only_rows(self.job, "An experiment")
        if self.job.public is None:
            raise JobError(
                "An experiment plays the job on its public table, but the job names none.\n"
                f"Add [public] table = '...' to {self.grid.job_path}. {NOTHING}"
            )
        return PreparedJob(self.job)

    @cached_property
    def schema(self) -> Schema:
        """What columns mean when results are measured."""
        return self.prepared.schema

    @cached_property
    def public(self) -> CodedTable:
        """The public table."""
        table = self.prepared.public.relative
        assert table is not None
        if absent := lacking(table):
            raise TableMismatch(f"The table {table.name} lacks the columns {', '.join(absent)}. {NOTHING}")
        return table

    @cached_property
    def private(self) -> tuple[str, ...]:
        """The columns that a recipe of the attach kind writes: those the target lacks, or that are named private."""
        if self.job.target is None:
            return self.job.recipe.private_columns
        header = self.job.target.columns(self.job.engine.master)
        return tuple(c.name for c in self.schema.columns if c.name not in header)

    @cached_property
    def other(self) -> Path | None:
        """The table that plays the confidential one, where the grid names one besides the job's public table."""
        named = self.grid.file.experiment.stand_in
        place = (self.grid.path.parent / named).resolve()
        if named and same_file(place, self.job.confidential.table):
            raise JobError(
                f"stand_in names the confidential table itself, {place.name}. An experiment has no budget:\n"
                f"name a public table, or leave stand_in out to split the public one. {NOTHING}"
            )
        return place if named else None

    def halves(self, seed: int) -> tuple[CodedTable, pl.Series | None, CodedTable]:
        """Of a seed: the table that plays the confidential one, whose its rows are, and the one for its relative.

        The public table is split in halves, by person where it names them; one that the grid names is taken whole.
        """
        table, person = self.public, self.prepared.person
        if self.other is not None:
            name = self.job.guarantee.person
            return CodedTable.read(self.other, self.schema), persons(open_source(self.other), name), table
        rng = np.random.Generator(np.random.PCG64([self.grid.file.experiment.split_seed, seed]))
        half = table.rows // 2
        ours, theirs = split_rows(table.rows, (half, table.rows - half), person, rng)
        return table.take(ours), None if person is None else person[ours], table.take(theirs)

    def parts(self, seed: int, schema: Schema) -> tuple[Parts, tuple[Figures, ...]]:
        """Who plays what in a seed, in the terms of a schema, and what is true of it by each measure.

        The latest are kept, for the next cell of the same seed.
        """
        key = (seed, schema.dumps())
        if key not in self._latest:
            self._latest.clear()  # before others are read: two seeds need not fit in memory
            truth, person, relative = self.halves(seed)
            here, there = truth, relative
            if schema != self.schema:
                here, there = (CodedTable.read(t.frame, schema) for t in (truth, relative))
            kept = [c for c in here.frame.columns if c not in self.private]
            target = here.take(np.arange(here.rows), kept) if self.private else None
            parts = parts_of(here, person, PublicData(schema, there, target), self.job.guarantee)
            true = tuple(figures(m, truth) for m in self.grid.file.measure)
            self._latest[key] = replace(parts, truth=truth), true
        return self._latest[key]

    def schema_of(self, job: JobValues) -> Schema:
        """The schema of a cell: its own when the schema file is among the factors."""
        same = job.schema == self.job.schema and job.public == self.job.public
        return self.schema if same else PreparedJob(job).schema


def _readings(tables: GridStandIn, cell: Cell, seed: int) -> Iterator[Reading]:
    """Carry out one cell on the stand-in, and measure what comes out."""
    job = tables.grid.job_of(cell)
    schema, recipe = tables.schema_of(job), job.recipe
    parts, truths = tables.parts(seed, schema)
    if "seed" in {f.name for f in fields(recipe)}:  # type: ignore[arg-type]
        recipe = replace(recipe, seed=seed)  # type: ignore[type-var]
    made = run_once(
        recipe,
        parts,
        tariff=Tariff(schema.coding, job.guarantee, job.budget.measure, job.budget.delta),
        budget=job.budget,
        noising=np.random.Generator(np.random.PCG64([1, seed, *cell])),
        drawing=np.random.Generator(np.random.PCG64([seed, 0])),
    )
    for measure, true in zip(tables.grid.file.measure, truths, strict=True):
        yield from readings(measure, true, figures(measure, made))


def run_cell(tables: GridStandIn, cell: Cell, seed: int) -> pl.DataFrame:
    """The readings of one cell as tidy rows: factors, measure, term, group, authentic, synthetic, error."""
    start = perf_counter()
    try:
        found, note = list(_readings(tables, cell, seed)), ""
    except HedgerowError as refusal:  # a setting that the recipe refuses is a result too
        found, note = [], " ".join(str(refusal).removesuffix(NOTHING).split())
    if not found:
        nan = float("nan")
        found = [Reading(m.name, "", "", nan, nan, nan) for m in tables.grid.file.measure]
    levels: dict[str, Any] = {f.name: f.stored(at) for f, at in zip(tables.grid.factors, cell, strict=True)}
    frame = pl.DataFrame([vars(r) for r in found], infer_schema_length=None)
    return frame.select(
        *(pl.lit(v).alias(k) for k, v in levels.items()),
        pl.lit(seed).alias("seed"),
        pl.all(),
        pl.lit(perf_counter() - start).alias("seconds"),
        pl.lit(note).alias("note"),
    )


@final
@dataclass(frozen=True)
class Progress:
    """How far the runs are: how many are done, of how many, and seconds left when that can be told."""

    done: int
    total: int
    left: float | None

    def __str__(self) -> str:
        if self.left is None:
            return f"{self.done} of {self.total} runs done"
        minutes, seconds = divmod(round(self.left), 60)
        about = f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
        return f"{self.done} of {self.total} runs done, about {about} left"


Watch = Callable[[Progress], None]


class CellFailed(HedgerowError):
    """A run of an experiment ended for a reason that is not a refusal."""


def run_all(tables: GridStandIn, *, workers: int, watch: Watch = lambda progress: None) -> pl.DataFrame:
    """The tidy rows of all cells and seeds; those on disk are not run again."""
    grid = tables.grid
    folder = grid.out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    common = _common(tables)
    files = {
        (cell, seed): folder / f"{_name(grid, cell, seed, common)}.parquet"
        for seed in range(grid.file.experiment.seeds)  # cell by cell of one seed: its tables are read once
        for cell in grid.design.cells
    }
    todo = {k: path for k, path in files.items() if not path.exists()}
    before = len(files) - len(todo)
    watch(Progress(before, len(files), None))
    start = monotonic()
    for done, _ in enumerate(_carried_out(tables, todo, workers), 1):
        left = (monotonic() - start) / done * (len(todo) - done)
        watch(Progress(before + done, len(files), left))
    return pl.concat([pl.read_parquet(path) for path in files.values()], how="vertical_relaxed")


def _carried_out(
    tables: GridStandIn, files: Mapping[tuple[Cell, int], Path], workers: int
) -> Iterator[tuple[int, None]]:
    """Run every cell; yields after each one."""
    try:
        with worker_pool(min(workers, len(files)), tables) as perform:
            yield from perform(run_to_file, [(cell, seed, path) for (cell, seed), path in files.items()])
    except BrokenProcessPool:
        raise CellFailed(
            "A process of this experiment was ended from outside: memory may be short. What is done is kept;\n"
            "type the same command again to go on, perhaps with --workers 1. Nothing was spent."
        ) from None


def run_to_file(tables: GridStandIn, cell: Cell, seed: int, path: Path) -> None:
    """One cell in this process; its rows are on disk, whole, when this returns."""
    found = run_cell(tables, cell, seed)
    unfinished = Path(f"{path}.{os.getpid()}.part")
    found.write_parquet(unfinished)
    os.replace(unfinished, path)


def _common(tables: GridStandIn) -> str:
    """A hash of all that every cell depends on: data, schema, measures, version."""
    experiment = tables.grid.file.experiment
    hashes = [tables.public.sha256]
    if experiment.stand_in:
        hashes.append(file_hash((tables.grid.path.parent / experiment.stand_in).resolve()))
    facts = [
        __version__,
        tables.schema.dumps(),
        experiment.split_seed,
        _SPLIT,
        list(tables.private),
        [m.model_dump() for m in tables.grid.file.measure],
        hashes,
    ]
    return json.dumps(facts, sort_keys=True, default=str)


def _name(grid: Grid, cell: Cell, seed: int, common: str) -> str:
    facts = json.dumps([common, [f.name for f in grid.factors], document(grid.job_tables(cell)), cell, seed])
    return hashlib.sha256(facts.encode()).hexdigest()[:24]
