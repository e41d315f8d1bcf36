"""Public tables with a row for each person: the facts that a gate would count, as columns of their own schema."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from hedgerow.errors import NOTHING, SchemaError
from hedgerow.public.career_tables import career_coding, owners
from hedgerow.public.coding import Coding
from hedgerow.public.people import Fact, PeopleCoding
from hedgerow.public.schema import Column, Schema
from hedgerow.public.table import CodedTable, Places


def coding_of(schema: Schema, facts: Sequence[Fact], time: str = "") -> Coding:
    """How a gate codes what it counts: rows, with ``facts`` people, or with a ``time`` careers."""
    if time:
        return career_coding(schema, time)
    if not facts:
        return schema.coding
    schema.shape(c for f in facts for c in f.needs)  # a column the schema lacks is refused
    wrong = [f.name for f in facts if not _sound(f, schema)]
    if wrong or len({f.name for f in facts}) < len(facts):
        raise SchemaError(f"People cannot be counted by {', '.join(wrong) or 'two facts of one name'}. {NOTHING}")
    names = {f.name for f in facts if f.column == f.name}
    joined = tuple(j for j in schema.coding.joined if set(j.parts) <= names)
    return PeopleCoding(schema.coding.columns, joined, tuple(facts))


def _sound(fact: Fact, schema: Schema) -> bool:
    """Whether a fact has what its rule needs and nothing else."""
    has = "".join(str(int(bool(part))) for part in (fact.column, fact.time, fact.points, fact.cuts))
    needs = {"first": "1100", "last": "1100", "most": "1000", "rows": "0001", "mean": "0011"}
    whole = all(len(p) == schema.size([c]) and max(map(abs, p)) < 1 << 31 for c, p in fact.points)
    rising = all(a < b for a, b in zip(fact.cuts, fact.cuts[1:], strict=False))
    return has == needs.get(fact.rule) and whole and rising


def people_schema(schema: Schema, facts: Sequence[Fact]) -> Schema:
    """The facts as columns, each with the cells of the column that it is of; joins whose parts are facts stay."""
    coding = coding_of(schema, facts)
    joins = tuple(j for j in schema.joined if j.name in coding.sizes)
    return Schema(tuple(_column(schema, f) for f in facts), joins)


def _column(schema: Schema, fact: Fact) -> Column:
    if fact.column:
        return replace(schema.column(fact.column), name=fact.name, determined_by=(), map=None)
    low, high = ("", *map(str, fact.cuts)), (*(str(c - 1) for c in fact.cuts), "")
    ends = zip(low, high, strict=True)
    spans = tuple(f"{a} to {b}" if a and b else f"{b} or less" if b else f"{a} or more" for a, b in ends)
    return Column(fact.name, "ordered", values=spans, other=spans[0])


def people_table(table: CodedTable, schema: Schema, coding: Coding, person: str) -> tuple[CodedTable, Places]:
    """A public table with a row for each person, in the columns of ``schema``, and the person of every row.

    Facts of columns that the table lacks are lacking.  Worked out once.
    """
    if (known := table.memo.get(coding)) is not None:
        return known  # type: ignore[no-any-return]
    assert isinstance(coding, PeopleCoding), "rows are no people"
    whose = owners(table, person)
    names = whose.unique(maintain_order=True)
    who = whose.replace_strict(names, pl.int_range(len(names), eager=True)).to_numpy()
    had = [f.name for f in coding.facts if set(f.needs) <= set(table.frame.columns)]
    codes = coding.reduce(who.astype(np.uint32), table.codes(coding.needs(had)), had)
    frame = pl.DataFrame({n: _texts(schema, n).gather(codes[n]) for n in had})
    made = CodedTable(schema, frame, table.name, table.sha256, _codes=codes)
    table.memo[coding] = made, who
    return made, who


def _texts(schema: Schema, name: str) -> pl.Series:
    """A text for every code, as it might stand in a file."""
    return pl.Series([t or None for t in schema.column(name).cell_texts], dtype=pl.String)
