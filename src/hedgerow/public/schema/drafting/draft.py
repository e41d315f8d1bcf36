"""Drafts from whatever is public: a frame, a table in a file of any format, a code book, or a table with its book.

>>> frame = pl.DataFrame({"sex": ["F", "M"] * 50, "age": [20, 21, 22, 23, 24] * 20})
>>> [(c.name, c.kind) for c in draft(frame).declaration.columns]
[('sex', 'categorical'), ('age', 'integer')]
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError, TableMismatch
from hedgerow.public.coding import Coding
from hedgerow.public.files import Source, file_hash, open_source
from hedgerow.public.schema.column import BINNED, LISTED, Column
from hedgerow.public.schema.drafting.codebook import CodeBook, CodeBookEntry, sketch_entry, with_table
from hedgerow.public.schema.drafting.codebook_files import from_labels, has_labels, read_codebook, unknown
from hedgerow.public.schema.drafting.kinds import guess, name_of_people
from hedgerow.public.schema.drafting.profile import TableProfile, read_profile
from hedgerow.public.schema.drafting.relations import (
    FewCombinations,
    Floats,
    Relations,
    Threshold,
    always_below,
    steady_within,
    thresholds,
)
from hedgerow.public.schema.drafting.sketch import Draft, LeftOut, Sketch
from hedgerow.public.schema.resolve import resolve
from hedgerow.public.toml import key, value

_NOTHING = "No confidential row was read and nothing was spent."


def draft(public: Any, codebook: Any = None) -> Draft:
    """The draft of a schema from a public table or a code book, or from a table with its code book.

    Args:
        public: a frame (pandas, Polars, PyArrow), or the path of a public table or of a code book.
        codebook: the path of a code book with labels for the table.

    Raises:
        JobError: a file is absent, or is neither a table nor a code book that we know.
        TableMismatch: the table cannot be read, is too short, or has nothing to publish.
    """
    if codebook is not None and not isinstance(codebook, str | Path):
        raise JobError(
            f"codebook is the path of a file, not a {type(codebook).__name__}: write a CSV of column, value, label, "
            f'or JSON, and type codebook="book.csv". {_NOTHING}'
        )
    if not isinstance(public, str | Path):
        return _from_table(public, codebook)
    public = str(public)
    book = read_codebook(Path(public)) if _is_file(public) else None
    if book is None:
        return _from_table(public, codebook)
    if codebook is not None:
        raise JobError(
            f"{public} is a code book itself ({book.shape}), and so cannot take another. Give a public table "
            f"with --codebook, or {public} alone. {_NOTHING}"
        )
    made = Draft(_origin(public, "code book", book.shape), _source(public), tuple(map(sketch_entry, book.entries)))
    if not made.kept:
        raise JobError(
            f"The code book {public} names columns but no values or ranges, so nothing can be drafted from it. "
            f"Add values to it, or draft from a public table. {_NOTHING}"
        )
    return _with_rows_per_person(made, book)


def _from_table(public: Any, codebook: str | Path | None) -> Draft:
    source = open_source(public)
    entries: tuple[CodeBookEntry, ...] = ()
    facts: list[tuple[str, str]] = []
    book = None
    if codebook is not None:
        book = read_codebook(Path(codebook)) if _is_file(codebook) else None
        if book is None:
            raise JobError(unknown(str(codebook)))
        entries = book.entries
        facts = [*_origin(str(codebook), "code book", book.shape)]
    elif _is_file(public) and has_labels(Path(public)):
        entries = from_labels(Path(public))
        facts = [("labels", "those inside the file")]
    made, rows = _draft_table(source, entries)
    size = f"{rows:,} rows, {len(source.columns)} columns"
    made = replace(made, origin=(*_origin(source.name, "table", size), *facts), source=_source(source.name))
    return _with_rows_per_person(made, book) if book else made


def _draft_table(source: Source, entries: Sequence[CodeBookEntry] = ()) -> tuple[Draft, int]:
    """The draft of a table and how many rows it has; entries of a code book give labels and order.

    Raises:
        TableMismatch: when the table has too few rows, or nothing in it can be published.
    """
    table = read_profile(source)
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


def _without_people(draft: Draft, table: TableProfile) -> Draft:
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


def _with_relations(draft: Draft, table: TableProfile) -> Draft:
    """The draft with suggestions about several columns, looked for in the table's codes."""
    columns = {c.name: c for c in resolve(draft.declaration, table.sample).columns}
    coding = Coding(tuple(c.coded for c in columns.values()))
    lists = tuple(n for n, c in columns.items() if c.kind not in BINNED)
    relations = Relations(coding.encode(table.sample, list(columns)), coding.sizes, lists)
    fixed, rows = relations.determined, relations.rows
    numbers = {n: _numbers(c, table.sample[n]) for n, c in columns.items() if c.kind in BINNED}
    free = {n: x for n, x in numbers.items() if n not in fixed}
    blocks = [_join_block(j, rows) for j in relations.joins]
    blocks += [_zero_block(columns[t.column], t, rows) for t in _thresholds(columns, relations, numbers)]
    blocks += [_rule_block(a, b, rows) for a, b in always_below(free)]
    return replace(
        draft, columns=tuple(_with_determined(c, fixed, rows) for c in draft.columns), suggestions=tuple(blocks)
    )


def _numbers(column: Column, series: pl.Series) -> Floats:
    """The numbers of a column as they stand, NaN where it holds a text, a special or nothing."""
    out = column.coded.numbers(series).copy()
    out[np.isin(out, column.bin_values.avoid) | ~np.isfinite(out)] = np.nan
    return out


def _thresholds(
    columns: Mapping[str, Column], relations: Relations, numbers: Mapping[str, Floats]
) -> tuple[Threshold, ...]:
    """Values bound to one side of a number, among columns with a short list."""
    listed = [n for n, c in columns.items() if c.kind in LISTED and n not in relations.determined]
    short = {n: (relations.codes[n], columns[n].size) for n in listed if 2 <= columns[n].size <= 30}
    wide = {n: x for n, x in numbers.items() if columns[n].kind == "integer" and columns[n].size > 12}
    return thresholds(short, wide)


def _with_determined(column: Sketch | LeftOut, fixed: dict[str, str], rows: int) -> Sketch | LeftOut:
    if isinstance(column, LeftOut) or column.name not in fixed:
        return column
    by = fixed[column.name]
    hint = f"determined_by = [{value(by)}]    # {key(by)} fixes it in all {rows:,} rows looked at: costs nothing"
    return replace(column, hints=(*column.hints, hint))


def _join_block(join: FewCombinations, rows: int) -> str:
    name = "_".join(join.columns)
    return (
        f"{join.seen} of {join.possible} combinations occur in the {rows:,} rows looked at.\n"
        f"[[joined]]\nname = {value(name)}\ncolumns = {value(join.columns)}\n"
        'keep = "public"'
    )


def _zero_block(column: Column, at: Threshold, rows: int) -> str:
    """Two structural zeros that say: these values on this side of the number, the others on that."""
    texts = column.cell_texts
    low = [texts[c] for c in at.codes]
    high = [t for i, t in enumerate(texts) if i not in at.codes]
    first, last = f"{at.first:.10g}", f"{at.last:.10g}"
    few = low if len(low) <= len(high) else high
    side = f"up to {last}" if few is low else f"from {first} on"
    said = ", ".join(t or "missing" for t in few[:4]) + (", ..." if len(few) > 4 else "")
    return (
        f"{at.column} is {said} exactly for {at.by} {side}, in all {rows:,} rows looked at.\n"
        f"[[zero]]\nwhere = {{ {key(at.column)} = {value(low)}, {key(at.by)} = {{ above = {last} }} }}\n"
        f"[[zero]]\nwhere = {{ {key(at.column)} = {value(high)}, {key(at.by)} = {{ below = {first} }} }}"
    )


def _rule_block(left: str, right: str, rows: int) -> str:
    return (
        f"{left} <= {right} in all {rows:,} rows looked at.\n[[rule]]\nleft = {value(left)}\nright = {value(right)}"
    )


def _with_rows_per_person(made: Draft, book: CodeBook) -> Draft:
    if not book.rows_per_person:
        return made
    said = f"at most {book.rows_per_person} of one person: rows_per_person = {book.rows_per_person} in the job"
    return replace(made, origin=(*made.origin, ("records", said)))


def _origin(name: str, what: str, size: str) -> tuple[tuple[str, str], ...]:
    facts = [(what, f"{Path(name).name} ({size})")]
    if _is_file(name):
        facts.append(("sha256", file_hash(Path(name))))
    return tuple(facts)


def _source(name: str) -> str:
    if not _is_file(name):
        return "drafted from a frame" if name == "frame" else f"drafted from {Path(name).name}"
    return f"drafted from {Path(name).name}, sha256 {file_hash(Path(name))[:16]}"


def _is_file(name: Any) -> bool:
    return isinstance(name, str | Path) and Path(name).is_file()
