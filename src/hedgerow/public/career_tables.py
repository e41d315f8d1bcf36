"""Public tables as careers: a row for each person with the first record, and the codes of all steps."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import NOTHING, SchemaError, TableMismatch
from hedgerow.public.careers import FIRST, GAP, MOVE, SPAN, CareerCoding, Part
from hedgerow.public.coding import Codes, Coding, as_text
from hedgerow.public.schema import Column, Schema
from hedgerow.public.schema.column import BINNED
from hedgerow.public.schema.records import decode
from hedgerow.public.table import CodedTable


def owners(table: CodedTable, person: str) -> pl.Series:
    """Whose each row of a public table is; a row that names nobody is somebody's by itself."""
    if person not in table.frame.columns:
        raise TableMismatch(
            f"The table {table.name} has no column {person!r}, which says whose each row is. People are counted by\n"
            f"all of their rows, so every table of the job needs it. {NOTHING}"
        )
    named = as_text(table.frame[person])
    alone = pl.int_range(len(named), eager=True).cast(pl.String)
    return named.fill_null("\0" + alone)


def in_order(column: Column) -> int:
    """How many of the first values of a column stand in order; 0 where there is none."""
    if column.kind == "ordered":
        return len(column.values)
    return column.bin_count if column.kind in BINNED else 0


def career_coding(schema: Schema, time: str) -> CareerCoding:
    """How a gate codes careers of the rows of ``schema``, put in order by the column ``time``."""
    ordered = tuple((c.name, n) for c in schema.columns if (n := in_order(c)) > 1)
    if time not in (known := [c.name for c in schema.columns]):
        raise SchemaError(
            f"There is no column {time!r} to be the time. The schema has: {', '.join(known)}. {NOTHING}"
        )
    if time not in dict(ordered):
        raise SchemaError(
            f"{time!r} cannot put a person's rows in order: it is {schema.column(time).kind}. Name an ordered\n"
            f"column, a number or a date of two values or more as time. {NOTHING}"
        )
    joined = (replace(j, name=FIRST + j.name, parts=tuple(FIRST + p for p in j.parts)) for j in schema.coding.joined)
    coding = CareerCoding(schema.coding.columns, tuple(joined), time, ordered)
    if odd := [
        n for n in (*known, *(j.name for j in schema.joined)) if n in (SPAN, GAP) or n.startswith((FIRST, MOVE))
    ]:
        raise SchemaError(
            f"The schema calls a column {odd[0]!r}, and so are tables of careers: span, gap, first X, move X.\n"
            f"Rename it. {NOTHING}"
        )
    return coding


def start_schema(schema: Schema, time: str) -> Schema:
    """The columns of a first record, and ``span``: by how many values of the time the last record is later."""
    spans = tuple(map(str, range(schema.size([time]))))
    span = Column(SPAN, "ordered", values=spans, other=spans[0], type="integer")
    return replace(schema, columns=(*schema.columns, span))


def first_schema(schema: Schema, time: str) -> Schema:
    """The columns of a first record by the names that they have at the gate; joins stay, zeros and rules do not."""
    began = start_schema(schema, time)
    names = first_names(tuple(c.name for c in began.columns))
    plain = (replace(c, name=n, determined_by=(), map=None) for c, n in zip(began.columns, names, strict=True))
    joins = (replace(j, name=FIRST + j.name, columns=first_names(j.columns)) for j in schema.joined)
    return Schema(tuple(plain), tuple(joins))


def first_table(table: CodedTable, schema: Schema, time: str, person: str) -> CodedTable:
    """The first record of everybody in a table of careers, in the columns of ``first_schema``."""
    began = start_table(table, start_schema(schema, time), career_coding(schema, time), person)
    names = [c.name for c in began.schema.columns]
    frame = began.frame.select(names).rename(dict(zip(names, first_names(tuple(names)), strict=True)))
    return CodedTable(first_schema(schema, time), frame, table.name, table.sha256)


def start_table(table: CodedTable, schema: Schema, coding: CareerCoding, person: str) -> CodedTable:
    """The first record and the span of everybody in a public table, in the columns of ``schema``. Worked out once."""
    if (known := table.memo.get(coding.only("people"))) is not None:
        return known  # type: ignore[no-any-return]
    who, codes = _coded(table, coding, person)
    by = coding.order(who, codes)
    heads = by[np.flatnonzero(np.diff(who[by], prepend=-1))]
    spans = coding.reduce(who, codes, (SPAN,), 1)[SPAN]
    frame = table.take(heads).frame.with_columns(pl.Series(SPAN, spans).cast(pl.Int64))
    made = CodedTable(schema, frame, table.name, table.sha256)
    table.memo[coding.only("people")] = made
    return made


@final
@dataclass(frozen=True)
class Window:
    """Codes of the time from ``begins`` on, ``length`` of them, which stand for those from ``stands_for`` on.

    Whoever is in a table of an earlier period when a window begins has a first record there, as everybody has who is
    in the confidential table when that begins.
    """

    begins: int
    length: int
    stands_for: int

    def cut(self, first: Any, last: Any) -> tuple[Any, Any, Any]:
        """The first and last times of careers as seen through it, and which are seen at all."""
        low, high = np.maximum(first, self.begins), np.minimum(last, self.begins + self.length - 1)
        on = self.stands_for - self.begins
        return low + on, high + on, low <= high


def seen_through(table: CodedTable, coding: CareerCoding, window: Window, rng: np.random.Generator) -> CodedTable:
    """The rows of a public table in a window, moved to the times it stands for. The same table if it is all of it.

    ``rng`` picks a time where a code has several.
    """
    codes = table.codes([coding.time])[coding.time].astype(np.int64)
    inside = (codes >= window.begins) & (codes < window.begins + window.length)
    if inside.all() and window.begins == window.stands_for:
        return table
    rows = np.flatnonzero(inside)
    times = {coding.time: codes[rows] + window.stands_for - window.begins}
    moved = decode(table.schema, times, rng, columns=[coding.time])
    return table.with_frame(table.frame[rows].with_columns(moved[coding.time]))


def career_codes(table: CodedTable, coding: CareerCoding, person: str, part: Part, most: int) -> dict[str, Codes]:
    """All names of one kind, for everybody or for every step that counts. Worked out once."""
    key = coding.only(part), most
    if key not in table.memo:
        who, codes = _coded(table, coding, person)
        table.memo[key] = coding.reduce(who, codes, tuple(coding.only(part).sizes), most)
    return table.memo[key]  # type: ignore[no-any-return]


def step_rows(table: CodedTable, coding: CareerCoding, person: str) -> tuple[Any, Any, Any]:
    """Of every step of a public table the person and the rows before and after, in the order of ``career_codes``."""
    who, codes = _coded(table, coding, person)
    by = coding.order(who, codes)
    after = np.flatnonzero(np.diff(who[by]) == 0) + 1
    return who[by[after]], by[after - 1], by[after]


def first_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """What the columns of a first record are called at the gate."""
    return tuple(n if n == SPAN else FIRST + n for n in names)


def _coded(table: CodedTable, coding: CareerCoding, person: str) -> tuple[Any, dict[str, Codes]]:
    who = owners(table, person).rank("dense").to_numpy().astype(np.int64) - 1
    return who, table.codes([c.name for c in coding.columns])


def career_time(coding: Coding) -> str:
    """The column by which people's rows are put in order; empty when no careers are counted."""
    return coding.time if isinstance(coding, CareerCoding) else ""
