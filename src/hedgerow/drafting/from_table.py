"""A draft from a public table: a sketch of every column, and what holds between them in its rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.drafting.entry import Entry
from hedgerow.drafting.kinds import guess, name_of_people
from hedgerow.drafting.labelled import with_table
from hedgerow.drafting.profile import Reading, read
from hedgerow.drafting.relations import Join, Relations, steady_within
from hedgerow.drafting.rules import Split, always_below, splits
from hedgerow.drafting.sketch import Draft, LeftOut, Sketch
from hedgerow.drafting.writing import write
from hedgerow.errors import TableMismatch
from hedgerow.public.files.sources import Source
from hedgerow.public.schema import BINNED, LISTED, Schema
from hedgerow.public.toml import key, value


def draft_table(source: Source, entries: Sequence[Entry] = ()) -> tuple[Draft, int]:
    """The draft of a table and how many rows it has; entries of a code book give labels and order.

    Raises:
        TableMismatch: when the table has too few rows, or nothing in it can be published.
    """
    table = read(source)
    book = {e.name: e for e in entries}
    columns = tuple(with_table(book[p.name], p) if p.name in book else guess(p) for p in table.profiles)
    draft = _without_people(Draft((), source.name, columns), table)
    if not draft.kept:
        why = "; ".join(f"{c.name}: {c.why}" for c in draft.left_out[:10])
        raise TableMismatch(
            f"Nothing in {source.name} can be put into a schema ({why}). Give a public table with values in it, "
            "or a code book. No confidential row was read and nothing was spent."
        )
    return _with_relations(draft, table), table.rows


def _without_people(draft: Draft, table: Reading) -> Draft:
    """The draft without number columns within whose values other columns never change: those name people."""
    lists = {c.name: _ranks(table.head[c.name]) for c in draft.kept if c.kind not in BINNED}
    profiles = {p.name: p for p in table.profiles}
    columns: list[Sketch | LeftOut] = []
    for column in draft.columns:
        seen = profiles[column.name]
        if isinstance(column, Sketch) and column.kind == "integer" and seen.distinct > seen.known / 20:
            steady = steady_within(_ranks(table.head[column.name]), lists)
            if len(steady) > 1:
                column = name_of_people(seen, f"{', '.join(steady[:4])} never change within it, as in a person")
        columns.append(column)
    return replace(draft, columns=tuple(columns))


def _ranks(series: pl.Series) -> npt.NDArray[np.int64]:
    return series.cast(pl.String, strict=False).fill_null("").rank("dense").cast(pl.Int64).to_numpy()


def _with_relations(draft: Draft, table: Reading) -> Draft:
    """The draft with suggestions about several columns, looked for in the table's codes."""
    schema = Schema.loads(write(draft)).resolved(table.sample)
    names = [c.name for c in draft.kept]
    coding = schema.coding
    lists = tuple(c.name for c in schema.columns if c.kind not in BINNED)
    relations = Relations(coding.encode(table.sample, names), coding.sizes, lists)
    numbers = {n: _numbers(schema, n, table.sample[n]) for n in names if schema.column(n).kind in BINNED}
    gates = _gates(schema, relations, numbers)
    free = {n: x for n, x in numbers.items() if n not in relations.determined}
    blocks = [_join_block(j, relations.rows) for j in relations.joins]
    blocks += [_gate_block(schema, g, relations.rows) for g in gates]
    blocks += [_rule_block(a, b, relations.rows) for a, b in always_below(free)]
    fixed = relations.determined
    columns = tuple(_with_determined(c, fixed, relations.rows) for c in draft.columns)
    return replace(draft, columns=columns, suggestions=tuple(blocks))


def _numbers(schema: Schema, name: str, series: pl.Series) -> npt.NDArray[np.float64]:
    """The numbers of a column as they stand, NaN where it holds a text, a special or nothing."""
    column = schema.column(name)
    out = column.coded.numbers(series).copy()
    out[np.isin(out, column.grid.avoid) | ~np.isfinite(out)] = np.nan
    return out


def _gates(schema: Schema, relations: Relations, numbers: dict[str, npt.NDArray[np.float64]]) -> tuple[Split, ...]:
    """Values bound to one side of a number, among columns with a short list."""
    short = [
        c.name
        for c in schema.columns
        if c.kind in LISTED and 2 <= c.size <= 30 and c.name not in relations.determined
    ]
    wide = {n: x for n, x in numbers.items() if schema.column(n).kind == "integer" and schema.column(n).size > 12}
    return splits({n: (relations.codes[n], relations.sizes[n]) for n in short}, wide)


def _with_determined(column: Sketch | LeftOut, fixed: dict[str, str], rows: int) -> Sketch | LeftOut:
    if isinstance(column, LeftOut) or column.name not in fixed:
        return column
    by = fixed[column.name]
    hint = f"determined_by = [{value(by)}]    # {key(by)} fixes it in all {rows:,} rows looked at: costs nothing"
    return replace(column, hints=(*column.hints, hint))


def _join_block(join: Join, rows: int) -> str:
    name = "_".join(join.columns)
    return (
        f"{join.seen} of {join.possible} combinations occur in the {rows:,} rows looked at.\n"
        f"[[joined]]\nname = {value(name)}\ncolumns = {value(join.columns)}\n"
        'keep = "public"'
    )


def _gate_block(schema: Schema, gate: Split, rows: int) -> str:
    """Two structural zeros that say: these values on this side of the number, the others on that."""
    texts = schema.column(gate.column).cell_texts
    low = [texts[c] for c in gate.codes]
    high = [t for i, t in enumerate(texts) if i not in gate.codes]
    first, last = f"{gate.first:.10g}", f"{gate.last:.10g}"
    few = low if len(low) <= len(high) else high
    side = f"up to {last}" if few is low else f"from {first} on"
    said = ", ".join(t or "missing" for t in few[:4]) + (", ..." if len(few) > 4 else "")
    return (
        f"{gate.column} is {said} exactly for {gate.by} {side}, in all {rows:,} rows looked at.\n"
        f"[[zero]]\nwhere = {{ {key(gate.column)} = {value(low)}, {key(gate.by)} = {{ above = {last} }} }}\n"
        f"[[zero]]\nwhere = {{ {key(gate.column)} = {value(high)}, {key(gate.by)} = {{ below = {first} }} }}"
    )


def _rule_block(left: str, right: str, rows: int) -> str:
    return (
        f"{left} <= {right} in all {rows:,} rows looked at.\n[[rule]]\nleft = {value(left)}\nright = {value(right)}"
    )
