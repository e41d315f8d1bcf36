"""A public table in the confidential one's place: two parts of it, and one run of a job on them.

Nothing confidential is touched, so whatever is done with the parts costs nothing.  The parts share no row and,
where the public table names persons, no person; so a recipe that leans on its relative meets rows it has not seen.
Rehearsals, plans, experiments, choices and attacks all run a job through ``fit_once`` and ``run_once``.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.answers import StandInGate
from hedgerow.counting.order import ranks
from hedgerow.errors import JobError
from hedgerow.model.base import Fitted
from hedgerow.public import (
    BINNED,
    Budget,
    CodedTable,
    Codes,
    Fact,
    Floats,
    Guarantee,
    Places,
    PublicData,
    Schema,
    Source,
    Tariff,
    as_text,
    career_time,
    coding_of,
    owners,
    people_facts,
    people_schema,
    people_table,
    person_cap,
)
from hedgerow.recipes import AbstractRecipe
from hedgerow.records import draw_one, draw_records
from hedgerow.stand_in.drift import DRIFT, drift_score, moved
from hedgerow.uses import AbstractUse, UseError

MOST_IMAGINED = 20_000
"""Rows of a table that is made up."""
FEWEST = 4
"""Rows a public table must have to be split in two."""
_CLASSES = 5
_RECORDS = 3  # of everybody in a made-up table of careers
_REST = 0.02  # of the rows of a class that have none of the ordered values: no value, another one
MOST = 100_000
"""Rows of either part: more would take longer and tell no more, since errors are carried on to the real sizes."""


@final
@dataclass(frozen=True, eq=False)
class StandIn:
    """A job, ready to be carried out on its public table, or on tables made up from its schema.

    Attributes:
        recipe: the recipe with its settings.
        public: the schema, the public table and the target.
        tariff: under which promise requests are priced; its measure follows the budget of a run.
        uses: what is judged.
        rows: how many rows the confidential table is assumed to have.
        person: who each public row belongs to; None where the table does not say.
        drift: how far the two parts of the public table drift apart; 0: they are random parts (``drift.py``).
    """

    recipe: AbstractRecipe
    public: PublicData
    tariff: Tariff
    uses: tuple[AbstractUse, ...]
    rows: int
    person: pl.Series | None = None
    drift: float = DRIFT

    @property
    def table(self) -> CodedTable:
        """The public table."""
        assert self.public.relative is not None, "there is nothing to rehearse on"
        return self.public.relative

    @property
    def imagined(self) -> bool:
        """Whether tables are made up from the schema, because there is no public one with all its columns."""
        return self.public.relative is None or bool(lacking(self.public.relative))

    @property
    def moves(self) -> bool:
        """Whether the part that plays the confidential table is moved to where the target lies (``drift.py``)."""
        attached = self.recipe.attaches and self.public.target is not None and self.drift > 0
        return attached and not self.imagined and not people_facts(self.tariff.coding)  # careers are not torn apart

    @property
    def sizes(self) -> tuple[int, int]:
        """How many public rows play the confidential table, and how many its relative; persons are kept together.

        Where tables are made up, how many rows they have, and no relative.
        """
        if self.imagined:
            return min(self.rows, MOST_IMAGINED), 0
        ours = min(self.rows, self.table.rows // 2, MOST)
        return ours, min(self.table.rows - ours, MOST)


def lacking(table: CodedTable) -> tuple[str, ...]:
    """The columns of the schema that a public table would need to play the confidential one, and does not have."""
    return tuple(c.name for c in table.schema.columns if c.name not in table.frame.columns)


def persons(source: Source, person: str) -> pl.Series | None:
    """Whose each row of a public table is, as text; None when it has no column of that name."""
    if person not in source.columns:
        return None
    return pl.concat(as_text(b[person]) for b in source.batches([person]))


def by_order(public: PublicData, person: pl.Series, source: Source, column: str) -> tuple[PublicData, pl.Series]:
    """The public rows, and whose each is, by the values of a column of theirs: as the gate orders a person's rows."""
    if column not in source.columns or public.relative is None:
        return public, person
    values = pl.concat((b[column] for b in source.batches([column])), how="vertical")
    first = np.argsort(ranks(values).to_numpy(), kind="stable")
    return replace(public, relative=public.relative.take(first)), person[first]


@final
@dataclass(frozen=True, eq=False)
class Parts:
    """Public tables in the places of a job's own.

    Attributes:
        counted: the rows that a gate would count of the table that plays the confidential one.
        public: what plays the schema, the relative and the target.
        truth: all rows of the table that plays the confidential one, by which uses are judged.
        scale: how many rows one row of ``truth`` stands for.
    """

    counted: CodedTable
    public: PublicData
    truth: CodedTable
    scale: float = 1.0

    @property
    def relative(self) -> CodedTable:
        """What plays the public relative."""
        assert self.public.relative is not None, "a split has two parts"
        return self.public.relative

    def gate(self, tariff: Tariff, budget: Budget, rng: np.random.Generator) -> StandInGate:
        """The gate of a run on these tables: it answers with the noise that ``budget`` buys."""
        return StandInGate(tariff, budget, self.counted, max(1, round(self.scale * self.counted.rows)), rng)

    def with_target(self, target: CodedTable | None, rng: np.random.Generator, person: str = "") -> "Parts":
        """The same, with rows of the truth in the target's place: as many, without the columns that it lacks.

        Where labels are given to a ``person``, about as many: people keep their rows together.
        """
        if target is None:
            return self
        shared = [c for c in self.truth.frame.columns if c in target.frame.columns]
        whole, rest = divmod(target.rows, self.truth.rows)
        if person:
            return self._with_people(whole, rest, shared, person, rng)
        rows = [np.tile(np.arange(self.truth.rows), whole), rng.permutation(self.truth.rows)[:rest]]
        return replace(self, public=replace(self.public, target=self.truth.take(np.concatenate(rows), shared)))

    def _with_people(
        self, whole: int, rest: int, shared: list[str], person: str, rng: np.random.Generator
    ) -> "Parts":
        """The same with people, each with all of their rows; who is there again is somebody else."""
        who = _persons(owners(self.truth, person))
        lot = rng.permutation(int(who.max()) + 1)[who]
        some = np.flatnonzero(lot <= np.sort(lot)[rest - 1]) if rest else np.zeros(0, np.int64)
        rows = np.concatenate([np.tile(np.arange(self.truth.rows), whole), some])
        turn = np.concatenate([np.repeat(np.arange(whole), self.truth.rows), np.full(len(some), whole)])
        taken = self.truth.take(rows, shared)
        named = pl.Series(person, turn).cast(pl.String) + " " + pl.Series(who[rows]).cast(pl.String)
        target = replace(taken, frame=taken.frame.with_columns(named))
        return replace(self, public=replace(self.public, target=target))


def split_rows(
    n: int,
    sizes: tuple[int, int],
    person: pl.Series | None,
    rng: np.random.Generator,
    *,
    halved: bool = False,
    log_odds: Floats | None = None,
) -> tuple[Places, Places]:
    """So many of ``n`` rows, and so many others, each in the order they stand; no person is on both sides.

    Who is on the first side is left to chance: even, or by the mean ``log_odds`` of a person's rows.  A row that
    names nobody is by itself.  ``halved``: of either part a random half, which is a part of what it is otherwise.
    """
    if n < FEWEST:
        raise JobError(
            f"The public table has {n} rows: too few to be split in two. Nothing confidential was read or spent."
        )
    who = np.arange(n) if person is None else _persons(person)
    people = int(who.max()) + 1
    lot = rng.permutation(people)
    if log_odds is None:
        rank = lot[who]
    else:
        towards = np.bincount(who, log_odds) / np.bincount(who) + rng.logistic(size=people)
        place = np.empty(people, np.int64)
        place[np.argsort(-towards, kind="stable")] = np.arange(people)
        rank = place[who]
    order = np.sort(rank, kind="stable")
    cut, end = order[sizes[0] - 1], order[sum(sizes) - 1]
    ours, theirs = np.flatnonzero(rank <= cut), np.flatnonzero((rank > cut) & (rank <= end))
    if not len(theirs):
        raise JobError("All public rows belong to one person: there is nothing to split. Nothing was read or spent.")
    if halved:
        ours, theirs = (part[_first_half(lot[who[part]])] for part in (ours, theirs))
    return ours, theirs


def _first_half(lots: Places) -> npt.NDArray[np.bool_]:
    """Which rows have the lower lots: half of them, persons kept together."""
    return np.asarray(lots <= np.sort(lots)[(len(lots) - 1) // 2])


def _persons(person: pl.Series) -> Places:
    """A number from 0 on for everybody."""
    named = person.rank("dense").cast(pl.Int64)
    who = named.fill_null(pl.int_range(len(person), eager=True) + len(person)).rank("dense").cast(pl.Int64)
    return np.asarray(who.to_numpy() - 1)


def parts_of(
    truth: CodedTable,
    person: pl.Series | None,
    public: PublicData,
    guarantee: Guarantee,
    scale: float = 1.0,
    facts: Sequence[Fact] = (),
    time: str = "",
) -> Parts:
    """``truth`` in the confidential table's place: of each ``person`` as many rows count as the gate would count.

    With ``facts`` people count, each once; with a ``time``, careers, of which the gate itself takes what counts.
    """
    if time:
        return Parts(truth, public, truth, scale)
    if facts:
        coding = coding_of(public.schema, facts)
        people, _ = people_table(truth, people_schema(public.schema, facts), coding, guarantee.person)
        return Parts(people, public, truth, scale)
    if person is None:
        return Parts(truth, public, truth, scale)
    counted = truth.take(np.flatnonzero(person_cap(person, guarantee.rows_per_person).to_numpy()))
    if not counted.rows:
        raise JobError(
            f"Hardly a public row names a person in {guarantee.person!r}; the gate counts no others.\n"
            "Fill that column in, or leave it out of the public table. Nothing confidential was read or spent."
        )
    return Parts(counted, public, truth, scale)


def _some(
    table: CodedTable, person: pl.Series | None, rows: int, rng: np.random.Generator
) -> tuple[CodedTable, pl.Series | None]:
    """About ``rows`` of the table, drawn evenly, people kept together, and whose each is; all where it has no more.

    Parts that drift apart are to be parts of one table: of many times more rows they would be its two far ends.
    """
    if table.rows <= rows:
        return table, person
    if person is None:
        return table.take(np.sort(rng.choice(table.rows, rows, replace=False))), None
    who = _persons(person)
    lot = rng.permutation(int(who.max()) + 1)[who]
    kept = np.flatnonzero(lot <= np.partition(lot, rows - 1)[rows - 1])
    return table.take(kept), person[kept]


def split(stand_in: StandIn, rng: np.random.Generator, *, halved: bool = False) -> Parts:
    """Two parts of the public table: as many rows as are assumed, half of all and ``MOST`` at most; and others.

    Without such a table, one that is made up and has no relative.
    """
    if stand_in.imagined:
        made = imagined_table(stand_in.public.schema, stand_in.sizes[0], rng)
        known = replace(stand_in.public, relative=None, target=None, assumed_rows=stand_in.rows)
        tariff, scale = stand_in.tariff, stand_in.rows / made.rows
        if people_facts(tariff.coding):  # everybody has one row
            made = replace(made, frame=made.frame.with_row_index(tariff.guarantee.person))
        if time := career_time(tariff.coding):  # everybody has a few
            who = pl.Series(tariff.guarantee.person, np.arange(made.rows) // _RECORDS)
            made = replace(made, frame=made.frame.with_columns(who))
        return parts_of(made, None, known, tariff.guarantee, scale, people_facts(tariff.coding), time)
    table, person = _some(stand_in.table, stand_in.person, sum(stand_in.sizes), rng)
    apart = stand_in.drift * drift_score(table, rng) if stand_in.drift else None
    ours, theirs = split_rows(table.rows, stand_in.sizes, person, rng, halved=halved, log_odds=apart)
    public = replace(stand_in.public, relative=table.take(theirs), target=None, assumed_rows=stand_in.rows)
    whose = None if person is None else person[ours]
    facts, scale = people_facts(stand_in.tariff.coding), stand_in.rows / len(ours)
    time, truth = career_time(stand_in.tariff.coding), table.take(ours)
    if stand_in.moves and stand_in.public.target is not None:
        truth = moved(truth, stand_in.public.target, rng)
    return parts_of(truth, whose, public, stand_in.tariff.guarantee, scale, facts, time)


def imagined_table(schema: Schema, rows: int, rng: np.random.Generator) -> CodedTable:
    """So many made-up records that keep the zeros and rules of ``schema``; another generator, another table.

    Records fall into a few classes; in each class every column has shares of its own, so that columns go together.
    Columns with an order have one hump in each class, the others a few frequent values and many rare ones.  Nobody's
    table looks like it: a forecast on such tables tells what noise of this size does to a table of this size.
    """
    shares = {a: np.array([_shares(schema, a, rng) for _ in range(_CLASSES)]) for a in schema.attributes}
    return CodedTable(
        schema, draw_records(_Classes(rng.dirichlet(np.full(_CLASSES, 3.0)), shares), schema, rows, rng)
    )


@final
@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of records: their sizes, and for every attribute its shares in each."""

    sizes: Floats
    shares: Mapping[str, Floats]

    def draw(self, n: int, rng: np.random.Generator) -> dict[str, Codes]:
        """``n`` records in codes."""
        counts, order = rng.multinomial(n, self.sizes), rng.permutation(n)
        found: dict[str, Codes] = {}
        for name, shares in self.shares.items():
            drawn = [rng.choice(len(p), c, p=p) for p, c in zip(shares, counts, strict=True)]
            found[name] = np.concatenate(drawn)[order].astype(np.uint32)
        return found


def _shares(schema: Schema, attribute: str, rng: np.random.Generator) -> Floats:
    """The shares of one attribute in one class."""
    size, ordered = schema.size((attribute,)), _in_order(schema, attribute)
    if ordered < 2:
        falling = 1 / np.arange(1, size + 1)
        return np.asarray(rng.permutation(falling) / falling.sum())
    place = np.arange(ordered) / (ordered - 1)
    hump = np.exp(-(((place - rng.uniform(0.15, 0.85)) / rng.uniform(0.1, 0.3)) ** 2) / 2)
    rest = size - ordered
    return np.concatenate([hump / hump.sum() * (1 - _REST * (rest > 0)), np.full(rest, _REST / max(rest, 1))])


def _in_order(schema: Schema, attribute: str) -> int:
    """How many of the first cells of an attribute stand in order."""
    for column in schema.columns:
        if column.name == attribute:
            return len(column.values) if column.kind == "ordered" else column.bin_count * (column.kind in BINNED)
    return 0


def fit_once(
    recipe: AbstractRecipe, parts: Parts, *, tariff: Tariff, budget: Budget, rng: np.random.Generator
) -> Fitted:
    """Measure with the noise that ``budget`` buys, and fit."""
    return recipe.fit(parts.gate(tariff, budget, rng), parts.public)


def run_once(
    recipe: AbstractRecipe,
    parts: Parts,
    *,
    tariff: Tariff,
    budget: Budget,
    noising: np.random.Generator,
    drawing: np.random.Generator,
) -> CodedTable:
    """The synthetic table of one run: measure, fit, draw, decode by the very code of a run, but for the gate."""
    copy = draw_one(fit_once(recipe, parts, tariff=tariff, budget=budget, rng=noising), parts.public, drawing)
    schema = parts.truth.schema
    return CodedTable.of_counts(schema, copy.frame) if copy.counted else CodedTable(schema, copy.frame)


def use_errors(
    stand_in: StandIn, budgets: Sequence[Budget], rng: np.random.Generator, *, halved: bool = False
) -> list[tuple[UseError, ...]]:
    """The whole job once with each budget, on two parts of the public table: the error of every use.

    All have the same parts, noise (but for its size) and draws; what is worked out of the parts is worked out once.
    """
    parting, noising, drawing = rng.spawn(3)
    whose = stand_in.tariff.guarantee.person if people_facts(stand_in.tariff.coding) else ""
    parts = split(stand_in, parting, halved=halved).with_target(stand_in.public.target, drawing, whose)
    true, found = [u.figures(parts.truth) for u in stand_in.uses], []
    for budget in budgets:
        tariff, streams = replace(stand_in.tariff, measure=budget.measure), deepcopy((noising, drawing))
        made = run_once(stand_in.recipe, parts, tariff=tariff, budget=budget, noising=streams[0], drawing=streams[1])
        errors = [u.error(u.figures(made), t, scale=parts.scale) for u, t in zip(stand_in.uses, true, strict=True)]
        found.append(tuple(errors))
    return found


def half_sample_errors(stand_in: StandIn, rng: np.random.Generator) -> tuple[float, ...]:
    """For each use, the expected error of publishing a random half of the rows that are assumed."""
    parts = split(stand_in, rng)
    truth = parts.truth
    return tuple(u.half_sample_error(truth, u.figures(truth), rng, scale=parts.scale) for u in stand_in.uses)
