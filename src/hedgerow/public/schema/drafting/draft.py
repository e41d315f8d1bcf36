"""Drafts from whatever is public: a frame, a table in a file of any format, a code book, or a table with its book.

>>> frame = pl.DataFrame({"sex": ["F", "M"] * 50, "age": [20, 21, 22, 23, 24] * 20})
>>> [(c.name, c.kind) for c in draft(frame).declaration.columns]
[('sex', 'categorical'), ('age', 'integer')]
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import NOTHING, JobError, TableMismatch
from hedgerow.public.aggregates import expanded_public, looks_aggregated
from hedgerow.public.coding import Coding
from hedgerow.public.files import STATISTICAL, Source
from hedgerow.public.frames import open_public
from hedgerow.public.pieces import file_hash
from hedgerow.public.schema.column import BINNED, LISTED, Column
from hedgerow.public.schema.drafting.codebook import CodeBook, CodeBookEntry, from_labels, read_codebook, unknown
from hedgerow.public.schema.drafting.kinds import guess, name_of_people, sketch_entry, with_table
from hedgerow.public.schema.drafting.lists import MOST_LABELS
from hedgerow.public.schema.drafting.profile import TableProfile, read_profile
from hedgerow.public.schema.drafting.relations import (
    Exclusion,
    FewCombinations,
    Relations,
    Threshold,
    always_below,
    exclusions,
    steady_within,
    thresholds,
)
from hedgerow.public.schema.drafting.sketch import Draft, Sketch
from hedgerow.public.schema.resolve import resolve
from hedgerow.public.schema.structure import Reason
from hedgerow.public.toml import key, value

Codes = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]


def draft(public: Any, codebook: Any = None, count: str = "") -> Draft:
    """The draft of a schema from a public table or a code book, or from a table with its code book.

    Args:
        public: a frame (pandas, Polars, PyArrow), or the path of a public table or of a code book.
        codebook: the path of a code book with labels for the table.
        count: of a table of counts, the column that says how many records a line stands for.

    Raises:
        JobError: a file is absent, or is neither a table nor a code book that we know.
        TableMismatch: the table cannot be read, is too short, or has nothing to publish.
    """
    if codebook is not None and not isinstance(codebook, str | Path):
        raise JobError(
            f"codebook is the path of a file, not a {type(codebook).__name__}: write a CSV of column, value, label, "
            f'or JSON, and type codebook="book.csv". {NOTHING}'
        )
    if count:
        return _from_table(expanded_public(open_public(public), count), codebook)
    if not isinstance(public, str | Path):
        return _asking_for_counts(_from_table(public, codebook), public)
    public = str(public)
    book = read_codebook(Path(public)) if _is_file(public) else None
    if book is None:
        return _asking_for_counts(_from_table(public, codebook), public)
    if codebook is not None:
        raise JobError(
            f"{public} is a code book itself ({book.shape}), and so cannot take another. Give a public table "
            f"with --codebook, or {public} alone. {NOTHING}"
        )
    made = Draft(_origin(public, "code book", book.shape), _source(public), tuple(map(sketch_entry, book.entries)))
    if not made.kept:
        raise JobError(
            f"The code book {public} names columns but no values or ranges, so nothing can be drafted from it. "
            f"Add values to it, or draft from a public table. {NOTHING}"
        )
    return _with_rows_per_person(made, book)


def _from_table(public: Any, codebook: str | Path | None) -> Draft:
    source = open_public(public)
    if odd := [n for n in source.columns if n.startswith("^") and n.endswith("$")]:
        raise TableMismatch(f"{odd[0]!r} is a pattern to Polars, no name of a column; rename it. {NOTHING}")
    entries: tuple[CodeBookEntry, ...] = ()
    facts: list[tuple[str, str]] = []
    book = None
    if codebook is not None:
        book = read_codebook(Path(codebook)) if _is_file(codebook) else None
        if book is None:
            raise JobError(unknown(str(codebook)))
        entries = book.entries
        facts = [*_origin(str(codebook), "code book", book.shape)]
    elif _is_file(public) and Path(public).suffix.lower() in STATISTICAL:
        entries = from_labels(Path(public))
        facts = [("labels", "those inside the file")]
    made, rows = _draft_table(source, entries)
    columns = len(source.columns)
    size = f"{rows:,} rows, {columns} column{'s' * (columns != 1)}"
    made = replace(made, origin=(*_origin(source.name, "table", size), *facts), source=_source(source.name))
    return _with_rows_per_person(made, book) if book else made


def _asking_for_counts(made: Draft, public: Any) -> Draft:
    """The draft, with a question beside the column by which the table looks like one of counts."""
    if not (counted := looks_aggregated(open_public(public))):
        return made
    ask = (
        f"CHECK: is it a table of counts? No two lines are alike but for {counted}. If each stands for {counted} "
        f"records, draft it again with --count {counted} (in Python: Schema.draft(..., count={counted!r}))."
    )

    def asking(column: Sketch | Reason) -> Sketch | Reason:
        if isinstance(column, Sketch):
            return replace(column, remarks=(*column.remarks, ask))
        return replace(column, notes=(*column.notes, ask))

    return replace(made, columns=tuple(asking(c) if c.name == counted else c for c in made.columns))


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
        why = "; ".join(f"{c.name}: {c.left_out}" for c in draft.left_out[:10])
        raise TableMismatch(
            f"Nothing in {source.name} can be put into a schema ({why}). Give a public table with values in it, "
            f"or a code book. {NOTHING}"
        )
    return _with_relations(draft, table), table.rows


def _without_people(draft: Draft, table: TableProfile) -> Draft:
    """The draft without number columns within whose values other columns never change: those name people."""
    lists = {c.name: _ranks(table.head[c.name]) for c in draft.kept if c.kind not in BINNED}
    profiles = {p.name: p for p in table.profiles}
    columns: list[Sketch | Reason] = []
    for column in draft.columns:
        seen = profiles[column.name]
        if (
            isinstance(column, Sketch)
            and column.kind == "integer"
            and seen.distinct > min(seen.known / 20, MOST_LABELS)
        ):
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
    coded = coding.encode(table.sample, list(columns))
    seen = {n: _without_unknown(c, coded[n]) for n, c in columns.items()}
    relations = Relations({n: c for n, (c, _) in seen.items()}, {n: s for n, (_, s) in seen.items()}, lists)
    fixed, rows = relations.determined, relations.rows
    numbers = {n: _numbers(c, table.sample[n]) for n, c in columns.items() if c.kind in BINNED}
    free = {n: x for n, x in numbers.items() if n not in fixed}
    blocks = [_join_block(j, rows) for j in relations.joins]
    short = {n: codes for n, codes in coded.items() if n not in fixed}
    found = _thresholds(columns, short, numbers)
    blocks += [_zero_block(columns[t.column], t, rows) for t in found]
    known = {frozenset((t.column, t.by)) for t in found} | {frozenset(pair) for pair in fixed.items()}
    known |= {frozenset(pair) for j in relations.joins for pair in combinations(j.columns, 2)}
    states = {n: _states(columns[n], coded[n], numbers.get(n)) for n in short}
    blocks += [_exclusion_block(columns, e, rows) for e in exclusions(states, known)]
    said = f"in all {rows:,} rows looked at.\n[[rule]]"
    blocks += [f"{a} <= {b} {said}\nleft = {value(a)}\nright = {value(b)}" for a, b in always_below(free)]
    return replace(
        draft, columns=tuple(_with_determined(c, fixed, rows) for c in draft.columns), suggestions=tuple(blocks)
    )


def _numbers(column: Column, series: pl.Series) -> Floats:
    """The numbers of a column as they stand, NaN where it holds a text, a special or nothing."""
    out = column.coded.numbers(series).copy()
    out[np.isin(out, column.bin_values.avoid) | ~np.isfinite(out)] = np.nan
    return out


def _without_unknown(column: Column, codes: Codes) -> tuple[Codes, int]:
    """The codes and how many there are; without the cell of what is unknown where no row is in it."""
    unknown = column.unknown
    if unknown is None or not column.knows_unknown or (codes == unknown).any():
        return codes, column.size
    return codes - (codes > unknown), column.size - 1


def _thresholds(
    columns: Mapping[str, Column], codes: Mapping[str, Codes], numbers: Mapping[str, Floats]
) -> tuple[Threshold, ...]:
    """Values bound to one side of a number, among columns with a short list."""
    listed = [n for n, c in columns.items() if c.kind in LISTED and n in codes]
    short = {n: (codes[n], columns[n].size) for n in listed if 2 <= columns[n].size <= 30}
    wide = {n: x for n, x in numbers.items() if columns[n].kind == "integer" and columns[n].size > 12}
    return thresholds(short, wide)


_ZERO, _ABOVE, _BELOW = 0, 1, 2
"""What a number may be besides its cells beyond the bins, which follow."""


def _states(column: Column, codes: Codes, number: Floats | None) -> tuple[Codes, int]:
    """What may exclude something else: the values of a list; of numbers whether they are 0, above or below it."""
    if number is None:
        return codes.astype(np.int64), column.size
    sign = np.where(number > 0, _ABOVE, np.where(number < 0, _BELOW, _ZERO))
    beyond = codes.astype(np.int64) - column.bin_count
    return np.where(beyond < 0, sign, _BELOW + 1 + beyond), _BELOW + 1 + column.size - column.bin_count


def _conditions(column: Column, states: tuple[int, ...]) -> list[tuple[str, str]]:
    """The states as conditions of structural zeros, each with its words."""
    if column.kind not in BINNED:
        texts = [column.cell_texts[s] for s in states]
        return [(value(texts), " or ".join(t or "missing" for t in texts[:4]) + ", ..." * (len(texts) > 4))]
    signs = {_ZERO: ('["0"]', "0"), _ABOVE: ("{ above = 0 }", "above 0"), _BELOW: ("{ below = 0 }", "below 0")}
    beyond = [column.cell_texts[column.bin_count + s - _BELOW - 1] for s in states if s > _BELOW]
    return [signs[s] for s in states if s <= _BELOW] + [(value([t]), t or "missing") for t in beyond]


def _exclusion_block(columns: Mapping[str, Column], e: Exclusion, rows: int) -> str:
    """Structural zeros that say what never stands together."""
    left, right = _conditions(columns[e.column], e.states), _conditions(columns[e.other], e.others)
    said = " or ".join(words for _, words in left), " or ".join(words for _, words in right)
    zeros = "\n".join(
        f"[[zero]]\nwhere = {{ {key(e.column)} = {a}, {key(e.other)} = {b} }}" for a, _ in left for b, _ in right
    )
    chance = f"chance would give {e.expected:,.0f}"
    return f"{e.column} {said[0]} never with {e.other} {said[1]}, in {rows:,} rows looked at; {chance}.\n{zeros}"


def _with_determined(column: Sketch | Reason, fixed: dict[str, str], rows: int) -> Sketch | Reason:
    if isinstance(column, Reason) or column.name not in fixed:
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
    high = [t for i, t in enumerate(texts) if i not in at.codes and (i != column.unknown or not column.knows_unknown)]
    first, last = f"{at.first:.10g}", f"{at.last:.10g}"
    few = low if len(low) <= len(high) else high
    side = f"up to {last}" if few is low else f"from {first} on"
    said = ", ".join(t or "missing" for t in few[:4]) + (", ..." if len(few) > 4 else "")
    return (
        f"{at.column} is {said} exactly for {at.by} {side}, in all {rows:,} rows looked at.\n"
        f"[[zero]]\nwhere = {{ {key(at.column)} = {value(low)}, {key(at.by)} = {{ above = {last} }} }}\n"
        f"[[zero]]\nwhere = {{ {key(at.column)} = {value(high)}, {key(at.by)} = {{ below = {first} }} }}"
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
