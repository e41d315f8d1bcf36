"""All cells of a grid on all cores. What is done is on disk, so a crash or a stop loses only what was under way."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import final

import polars as pl

from hedgerow import __version__
from hedgerow.errors import HedgerowError
from hedgerow.experiment.design import Cell
from hedgerow.experiment.grid import Grid
from hedgerow.experiment.stage import Stage, play_to_table
from hedgerow.public.files.places import file_hash
from hedgerow.stand_in.worker_pool import company


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


def run_all(stage: Stage, *, workers: int, watch: Watch = lambda progress: None) -> pl.DataFrame:
    """The tidy rows of all cells and seeds; those on disk are not run again."""
    grid = stage.grid
    folder = grid.out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    common = _common(stage)
    files = {
        (cell, seed): folder / f"{_name(grid, cell, seed, common)}.parquet"
        for seed in range(grid.file.experiment.seeds)  # cell by cell of one seed: its tables are read once
        for cell in grid.design.cells
    }
    todo = [k for k, path in files.items() if not path.exists()]
    watch(Progress(len(files) - len(todo), len(files), None))
    start, before = monotonic(), len(files) - len(todo)
    for done, _ in enumerate(_carried_out(grid, {k: files[k] for k in todo}, workers), 1):
        left = (monotonic() - start) / done * (len(todo) - done)
        watch(Progress(before + done, len(files), left))
    return pl.concat([pl.read_parquet(path) for path in files.values()], how="vertical_relaxed")


def _carried_out(grid: Grid, files: Mapping[tuple[Cell, int], Path], workers: int) -> Iterator[None]:
    """Run every cell, in processes of one thread each; yields after each one."""
    if workers == 1 or len(files) < 2:
        for (cell, seed), path in files.items():
            run_one(str(grid.path), cell, seed, str(path))
            yield
        return
    with company(min(workers, len(files))) as pool:
        under_way: set[Future[None]] = {
            pool.submit(run_one, str(grid.path), cell, seed, str(path)) for (cell, seed), path in files.items()
        }
        try:
            while under_way:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                    yield
        except BrokenProcessPool:
            raise CellFailed(
                "A process of this experiment was ended from outside: memory may be short. What is done is kept;\n"
                "type the same command again to go on, perhaps with --workers 1. Nothing was spent."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run_one(grid: str, cell: Cell, seed: int, path: str) -> None:
    """One cell in this process; its rows are on disk, whole, when this returns."""
    table = play_to_table(_stage(grid), cell, seed)
    unfinished = Path(f"{path}.{os.getpid()}.part")
    table.write_parquet(unfinished)
    os.replace(unfinished, path)


@lru_cache(maxsize=1)
def _stage(path: str) -> Stage:
    return Stage(Grid.load(path))


def _common(stage: Stage) -> str:
    """A hash of all that every cell depends on: data, schema, measures, version."""
    job, experiment = stage.job, stage.grid.file.experiment
    assert job.public is not None
    tables = [job.public.table]
    if experiment.stand_in:
        tables.append((stage.grid.path.parent / experiment.stand_in).resolve())
    facts = [
        __version__,
        stage.schema.dumps(),
        experiment.split_seed,
        list(stage.private),
        [m.model_dump() for m in stage.grid.file.measure],
        [file_hash(t) for t in tables],
    ]
    return json.dumps(facts, sort_keys=True, default=str)


def _name(grid: Grid, cell: Cell, seed: int, common: str) -> str:
    facts = json.dumps([common, [f.name for f in grid.factors], grid.job_text(cell), cell, seed])
    return hashlib.sha256(facts.encode()).hexdigest()[:24]
