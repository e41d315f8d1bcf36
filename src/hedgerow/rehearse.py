"""A job played on its public table: nothing confidential is read, nothing is spent."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from hedgerow.errors import JobError
from hedgerow.job import Job
from hedgerow.pipeline import Road
from hedgerow.stand_in.curve import Rehearsal
from hedgerow.stand_in.rehearsal import RUNS, rehearse
from hedgerow.stand_in.stand_in import Stage, lacking
from hedgerow.uses.quantities import check


def stage_of(road: Road) -> Stage:
    """The job with its public table in the confidential one's place."""
    if road.public.relative is None:
        raise JobError(
            "A rehearsal plays the job on its public table, and the job names none. Add [public] table = '...',\n"
            "a relative of the confidential table that anyone may see. Nothing was read or spent."
        )
    if absent := lacking(road.public.relative):
        raise JobError(
            f"A rehearsal needs a public table with every column of the schema; this one lacks {', '.join(absent)}.\n"
            "Name a public table that has them, if there is one. Nothing was read or spent."
        )
    if not road.job.uses:
        raise JobError(
            "A rehearsal judges intended uses, and the job names none. Say what the file must get right:\n"
            "[[use]] name = '...', columns = [...], tolerance = 0.01. Nothing was read or spent."
        )
    for use in road.job.uses:
        check(use, road.schema)
    rows = road.job.file.confidential.assumed_rows or road.public.relative.rows
    return Stage(road.job.recipe, road.public, road.tariff, road.job.uses, rows, road.person)


def rehearsed(
    path: str | Path,
    *,
    epsilons: Sequence[Fraction] = (),
    runs: int = RUNS,
    workers: int = 0,
    watch: Callable[[int, int, float], None] = lambda done, of, left: None,
) -> Rehearsal:
    """The job in ``path`` played on its public table at several epsilons. Nothing confidential is read or spent."""
    road = Road(Job.load(path))
    return rehearse(
        stage_of(road),
        budget=road.job.budget,
        key=road.rehearsal_key,
        epsilons=epsilons,
        runs=runs,
        workers=workers,
        watch=watch,
        rng=np.random.default_rng(road.job.file.job.seed),
    )
