"""Records that a bundle does not hold, from its noisy answers: more copies of them, and replicates."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hedgerow.answers import RecordedAnswers
from hedgerow.errors import JobError, Refused
from hedgerow.inference import replicate
from hedgerow.job import ForeignRecipe, JobValues
from hedgerow.public import RecordFile, write_pieces
from hedgerow.records import AbstractTabulation, Copies, draw_shards
from hedgerow.release.bundle import BundleReader
from hedgerow.release.redraw import Redrawing, replies


def sample(
    folder: str | Path,
    into: Path,
    *,
    copies: int,
    seed: int,
    public: Any = None,
    target: Any = None,
    job: JobValues | None = None,
) -> Copies[RecordFile]:
    """More synthetic copies from the noisy answers of a bundle. Free: nothing confidential is read.

    ``public`` is the public relative of the run, for recipes that start from it, ``target`` the rows that receive
    columns, each a path or a frame; they must be the very tables of the run.  ``job`` is the job of the run where
    that is at hand: it has both.  Records are written to files in the folder ``into`` as they are drawn.
    """
    again = Redrawing(BundleReader(Path(folder)), public, target, job)
    return _with_tables(again, lambda: again.draw(into, copies, seed))


def replicates(
    again: Redrawing, into: Path, *, count: int, seed: int, watch: Callable[[str], None] = lambda phase: None
) -> Copies[RecordFile]:
    """The release made again as it could have come out, so many times. Free: nothing confidential is read.

    Each has answers with fresh noise on top, a public table that drifts, and records of its own
    (``inference/replicates.py``); they are files in the folder ``into``.
    """

    def made() -> Copies[RecordFile]:
        records, counts = list[RecordFile](), list[pl.DataFrame]()
        for i in range(1, count + 1):
            watch(f"making replicate {i} of {count}")
            rng = np.random.Generator(np.random.PCG64([seed, i, 1]))  # not that of a copy, which has two numbers
            known = RecordedAnswers(again.answers.tariff, again.answers.budget, replies(again.bundle))
            fitted = replicate(again.published.recipe, known, again.data, rng)
            if isinstance(fitted, AbstractTabulation):
                counts.append(fitted.counts(rng, 0))
                continue
            records.append(RecordFile(into / f"drawn-{i}.parquet"))
            write_pieces(draw_shards(fitted, again.data, rng), records[-1].path)
        return Copies(tuple(records), tuple(counts))

    return _with_tables(again, made)


def _with_tables(again: Redrawing, make: Callable[[], Copies[RecordFile]]) -> Copies[RecordFile]:
    """What is made, or which table of the run it lacks."""
    if rows := again.lacks("target"):
        raise JobError(
            f"This release attaches columns to the rows of {rows}, which are not in it:\n"
            "name that file with --target FILE (in Python: target=...). Nothing confidential was read or spent."
        )
    try:
        return make()
    except (JobError, Refused):
        recipe = again.published.recipe
        if not (relative := again.lacks("public")) or isinstance(recipe, ForeignRecipe):
            raise
        raise JobError(
            f"The recipe {recipe.name} starts from the public table of the run, {relative}, which is not in the\n"
            "release: name it with --public FILE (in Python: public=...). Nothing confidential was read or spent."
        ) from None
