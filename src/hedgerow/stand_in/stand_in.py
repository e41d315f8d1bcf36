"""A public table in two parts: one plays the confidential table, the other its public relative.

Nothing confidential is touched, so whatever is done with the parts costs nothing.  The parts share no row and,
where the public table names persons, no person; so a recipe that leans on its relative meets rows it has not seen.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.answers.stand_in_gate import StandInGate
from hedgerow.errors import JobError
from hedgerow.public.coding import as_text, person_cap
from hedgerow.public.costs import Budget, Tariff
from hedgerow.public.files.sources import Source
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, Places, PublicData
from hedgerow.recipes import AbstractRecipe
from hedgerow.records.drawing import Copy, draw_one
from hedgerow.uses import AbstractUse
from hedgerow.uses.base import UseError

FEWEST = 4
"""Rows a public table must have to be split in two."""
MOST = 100_000
"""Rows of either part: more would take longer and tell no more, since errors are carried on to the real sizes."""


@final
@dataclass(frozen=True, eq=False)
class Stage:
    """A job, ready to be played on its public table.

    Attributes:
        recipe: the recipe with its settings.
        public: the schema, the public table and the target.
        tariff: under which promise requests are priced; its measure follows the budget of a run.
        uses: what is judged.
        rows: how many rows the confidential table is assumed to have.
        person: who each public row belongs to; None where the table does not say.
    """

    recipe: AbstractRecipe
    public: PublicData
    tariff: Tariff
    uses: tuple[AbstractUse, ...]
    rows: int
    person: pl.Series | None = None

    @property
    def table(self) -> CodedTable:
        """The public table."""
        assert self.public.relative is not None, "there is nothing to rehearse on"
        return self.public.relative


def lacking(table: CodedTable) -> tuple[str, ...]:
    """The columns of the schema that a public table would need to play the confidential one, and does not have."""
    return tuple(c.name for c in table.schema.columns if c.name not in table.frame.columns)


def persons(source: Source, person: str) -> pl.Series | None:
    """Whose each row of a public table is, as text; None when it has no column of that name."""
    if person not in source.columns:
        return None
    return pl.concat(as_text(b[person]) for b in source.batches([person]))


@final
@dataclass(frozen=True, eq=False)
class Parts:
    """The two parts of a public table.

    Attributes:
        truth: plays the confidential table.
        counted: those of its rows that a gate would count: at most so many of a person.
        relative: plays the public relative.
        scale: how many rows one row of ``truth`` stands for.
    """

    truth: CodedTable
    counted: CodedTable
    relative: CodedTable
    scale: float


def split(stage: Stage, rng: np.random.Generator, *, halved: bool = False) -> Parts:
    """Two random parts of the public table: as many rows as are assumed, half of all and ``MOST`` at most; others.

    ``halved``: of either part only the first half, which is a part of what it is otherwise.
    """
    n = stage.table.rows
    if n < FEWEST:
        raise JobError(
            f"The public table has {n} rows: too few to be split in two. Nothing confidential was read or spent."
        )
    rank = _ranks(stage.person, n, rng)
    order = np.sort(rank, kind="stable")
    first, second = parted(stage)
    cut, end = order[first - 1], order[first + second - 1]
    ours, theirs = np.flatnonzero(rank <= cut), np.flatnonzero((rank > cut) & (rank <= end))
    if not len(theirs):
        raise JobError("All public rows belong to one person: there is nothing to split. Nothing was read or spent.")
    if halved:
        ours = ours[rank[ours] <= order[(len(ours) - 1) // 2]]
        theirs = theirs[rank[theirs] <= np.sort(rank[theirs])[(len(theirs) - 1) // 2]]
    truth = capped = stage.table.take(ours)
    if stage.person is not None:
        counts = person_cap(stage.person[ours], stage.tariff.guarantee.rows_per_person)
        capped = stage.table.take(ours[counts.to_numpy()])
    if not capped.rows:
        raise JobError(
            f"Hardly a public row names a person in {stage.tariff.guarantee.person!r}; the gate counts no others.\n"
            "Fill that column in, or leave it out of the public table. Nothing confidential was read or spent."
        )
    return Parts(truth, capped, stage.table.take(theirs), stage.rows / len(ours))


def parted(stage: Stage) -> tuple[int, int]:
    """How many public rows play the confidential table, and how many its relative, but for persons kept together."""
    ours = min(stage.rows, stage.table.rows // 2, MOST)
    return ours, min(stage.table.rows - ours, MOST)


def _ranks(person: pl.Series | None, n: int, rng: np.random.Generator) -> Places:
    """A random order of rows, in which the rows of a person have the same rank; a row without one is by itself."""
    if person is None:
        return rng.permutation(n)
    named = person.rank("dense").cast(pl.Int64)
    who = named.fill_null(pl.int_range(n, eager=True) + n).rank("dense").cast(pl.Int64).to_numpy() - 1
    return np.asarray(rng.permutation(int(who.max()) + 1)[who])


def play(stage: Stage, budget: Budget, rng: np.random.Generator, *, halved: bool = False) -> tuple[UseError, ...]:
    """The whole job once, with parts of the public table in the places of the confidential one and its relative.

    Split, measure with the noise that ``budget`` buys, fit, draw, decode, judge: by the very code of a run, but
    for the gate, in whose place ``StandInGate`` answers.  One error per use.
    """
    parting, noising, drawing = rng.spawn(3)
    parts = split(stage, parting, halved=halved)
    tariff = Tariff(stage.tariff.coding, stage.tariff.guarantee, budget.measure)
    rows = max(1, round(parts.scale * parts.counted.rows))
    target = None if stage.public.target is None else _target(stage.public.target, parts, drawing)
    public = PublicData(stage.public.schema, parts.relative, target, stage.rows, stage.public.wanted)
    fitted = stage.recipe.fit(StandInGate(tariff, budget, parts.counted, rows, noising), public)
    made, truth = judged(draw_one(fitted, public, drawing), public.schema), parts.truth
    return tuple(u.error(u.figures(made), u.figures(truth), scale=parts.scale) for u in stage.uses)


def judged(copy: Copy, schema: Schema) -> CodedTable:
    """A synthetic copy as a use sees it."""
    return CodedTable.of_counts(schema, copy.frame) if copy.counted else CodedTable(schema, copy.frame)


def half_sample_errors(stage: Stage, rng: np.random.Generator) -> tuple[float, ...]:
    """For each use, the expected error of publishing a random half of the rows that are assumed."""
    parts = split(stage, rng)
    truth = parts.truth
    return tuple(u.half_sample_error(truth, u.figures(truth), rng, scale=parts.scale) for u in stage.uses)


def _target(target: CodedTable, parts: Parts, rng: np.random.Generator) -> CodedTable:
    """Rows of the truth without the columns that the real target lacks, as many as it has."""
    shared = [c for c in parts.truth.frame.columns if c in target.frame.columns]
    n = parts.truth.rows
    whole, rest = divmod(target.rows, n)
    rows = np.concatenate([np.tile(np.arange(n), whole), rng.permutation(n)[:rest]])
    return parts.truth.take(rows, shared)
