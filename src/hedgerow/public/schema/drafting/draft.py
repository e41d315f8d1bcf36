"""Drafts from whatever is public: a frame, a table in a file of any format, a code book, or a table with its book.

>>> frame = pl.DataFrame({"sex": ["F", "M"] * 50, "age": [20, 21, 22, 23, 24] * 20})
>>> [(c.name, c.kind) for c in draft(frame).declaration.columns]
[('sex', 'categorical'), ('age', 'integer')]

What holds between columns is suggested for a person to judge, never switched on.  It is looked for on an even sample
of rows: fixed columns and few combinations in codes, as the drafted schema makes them; order and one-sided values in
numbers.  Only a relation far from what unrelated columns would show is suggested.

>>> area = np.arange(4000) % 40
>>> Relations({"area": area, "state": area // 10}, {"area": 40, "state": 4}).determined
{'state': 'area'}
>>> service = np.arange(1000.0) % 30
>>> always_below({"service": service, "age": 20 + service + np.arange(1000) % 7 * 5, "n": service[::-1]})
()
>>> always_below({"low": service, "high": service + np.arange(1000) % 3})
(('low', 'high'),)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import NOTHING, JobError, TableMismatch
from hedgerow.public.aggregates import expanded_public
from hedgerow.public.coding import Coding
from hedgerow.public.files import STATISTICAL, Source, file_hash
from hedgerow.public.frames import open_public
from hedgerow.public.schema.column import BINNED, LISTED, Column
from hedgerow.public.schema.drafting.codebook import CodeBook, CodeBookEntry, from_labels, read_codebook, unknown
from hedgerow.public.schema.drafting.kinds import guess, name_of_people, sketch_entry, with_table
from hedgerow.public.schema.drafting.profile import TableProfile, read_profile
from hedgerow.public.schema.drafting.sketch import Draft, Sketch
from hedgerow.public.schema.resolve import resolve
from hedgerow.public.schema.structure import Reason
from hedgerow.public.toml import key, value

_EVIDENCE = 100.0
_MOST_SIZE, _MOST_CELLS, _MOST_PARTS, _SMALL = 40, 4_000, 6, 64
_FEW, _GAIN, _SOME_GAIN = 0.76, 0.6, 0.95
_VIOLATIONS, _LEAST_ROWS, _MOST_RULES, _COMPARABLE = 50, 100, 12, 0.2
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
        return _from_table(public, codebook)
    public = str(public)
    book = read_codebook(Path(public)) if _is_file(public) else None
    if book is None:
        return _from_table(public, codebook)
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
        if isinstance(column, Sketch) and column.kind == "integer" and seen.distinct > seen.known / 20:
            steady = steady_within(_ranks(table.head[column.name]), lists)
            if len(steady) > 1:
                column = name_of_people(seen, f"{', '.join(steady[:4])} never change within it, as in a person")
        columns.append(column)
    return replace(draft, columns=tuple(columns))


def _ranks(series: pl.Series) -> npt.NDArray[np.int64]:
    return series.cast(pl.String, strict=False).fill_null("").rank("dense").cast(pl.Int64).to_numpy()


def steady_within(groups: Codes, codes: Mapping[str, Codes]) -> tuple[str, ...]:
    """The columns that never change between rows of one group, though chance would have changed them.

    >>> person = np.arange(3000) // 3
    >>> steady_within(person, {"sex": person % 7 % 2, "year": np.arange(3000) % 3})
    ('sex',)
    """
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    repeats = len(groups) - len(first)
    out = []
    for name, code in codes.items():
        if _evidence(code, repeats) >= _EVIDENCE and np.array_equal(code[first][group], code):
            out.append(name)
    return tuple(out)


def _evidence(codes: Codes, repeats: int) -> float:
    """Of so many rows that repeat a group, how many would differ from it in an unrelated column."""
    share = np.bincount(codes) / max(len(codes), 1)
    return float(repeats * (1 - (share**2).sum()))


class FewCombinations(NamedTuple):
    """Columns that occur in few combinations: how many were seen, and how many could be."""

    columns: tuple[str, ...]
    seen: int
    possible: int


@final
@dataclass(frozen=True, eq=False)
class Relations:
    """The codes of some rows, and the relations they show.

    Attributes:
        codes: the code of every row, for each column.
        sizes: how many codes each column has.
        lists: the columns with a list of values, which may be joined.
    """

    codes: Mapping[str, Codes]
    sizes: Mapping[str, int]
    lists: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> int:
        """How many rows were looked at."""
        return len(next(iter(self.codes.values()), ()))

    @cached_property
    def determined(self) -> dict[str, str]:
        """Columns that another one fixes in every row, each with that one; chains are cut to their head.

        The column with most values comes first, so that what fixes is never itself fixed.
        """
        found: dict[str, str] = {}
        seen = {n: len(np.unique(c)) for n, c in self.codes.items()}
        place = {n: i for i, n in enumerate(self.codes)}
        heads = sorted((n for n in self.codes if 2 <= seen[n] <= self.rows / 20), key=lambda n: (-seen[n], place[n]))
        for head in heads:
            if head in found:
                continue
            _, first, group = np.unique(self.codes[head], return_index=True, return_inverse=True)
            for name in self.codes:
                if name == head or name in found or not 2 <= seen[name] <= seen[head] or name in found.values():
                    continue
                codes, repeats = self.codes[name], self.rows - seen[head]
                if _evidence(codes, repeats) >= _EVIDENCE and np.array_equal(codes[first][group], codes):
                    found[name] = head
        return found

    @cached_property
    def joins(self) -> tuple[FewCombinations, ...]:
        """Sets of columns, none in two of them, that occur in far fewer combinations than chance gives."""
        free = [n for n in self.lists if 2 <= self.sizes[n] <= _MOST_SIZE and n not in self.determined]
        strength = {p: s for p in combinations(free, 2) if (s := self._shortage(p)) < _FEW}
        out: list[FewCombinations] = []
        used: set[str] = set()
        for pair in sorted(strength, key=lambda p: (strength[p], p)):
            if used & {*pair}:
                continue
            group = self._grown(pair, [n for n in free if n not in used and n not in pair], strength)
            used |= {*group}
            ordered = tuple(n for n in self.codes if n in group)
            out.append(FewCombinations(ordered, len(np.unique(self._crossed(ordered))), self._cells(ordered)))
        return tuple(out)

    def _grown(
        self, group: tuple[str, ...], free: list[str], strength: Mapping[tuple[str, str], float]
    ) -> tuple[str, ...]:
        """The group with further columns, while each is short of combinations with one already in it.

        A group that stays small may take a column for little gain; a large one must gain much.
        """
        for name in free:
            ties = [strength.get((a, name), strength.get((name, a), 1.0)) for a in group]
            wider = (*group, name)
            if len(wider) > _MOST_PARTS or min(ties) >= _FEW or self._cells(wider) > _MOST_CELLS:
                continue
            before, after = (len(np.unique(self._crossed(g))) for g in (group, wider))
            gain = _SOME_GAIN if after <= _SMALL else _GAIN
            if after <= gain * before * self.sizes[name]:
                group = wider
        return group

    def _shortage(self, pair: tuple[str, ...]) -> float:
        """Combinations seen, as a share of those that independent columns would show in as many rows."""
        a, b = pair
        if self._cells(pair) > _MOST_CELLS:
            return 1.0
        both = np.bincount(self._crossed(pair), minlength=self._cells(pair))
        table = both.reshape(self.sizes[a], self.sizes[b])
        expected = np.outer(table.sum(1), table.sum(0)) / max(self.rows, 1)
        surely = 1 - np.exp(-expected)
        return float((both > 0).sum() / max(surely.sum(), 1.0))

    def _crossed(self, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
        out = np.zeros(self.rows, np.int64)
        for name in names:
            out = out * self.sizes[name] + self.codes[name]
        return out

    def _cells(self, names: tuple[str, ...]) -> int:
        return int(np.prod([self.sizes[n] for n in names], dtype=np.int64))


class Threshold(NamedTuple):
    """Values of ``column`` that occur exactly up to ``last`` of ``by``, all others only from ``first`` on."""

    column: str
    codes: tuple[int, ...]
    by: str
    last: float
    first: float


def always_below(numbers: Mapping[str, Floats]) -> tuple[tuple[str, str], ...]:
    """Pairs with left <= right in every row where both are known, although unrelated rows would break it.

    Unrelated is judged by moving one column on by a third of the table.  A left column that hardly varies
    beside the right one (a number of persons, an age) is no comparison.  Pairs that follow from two others
    are left away.
    """
    ordered: set[tuple[str, str]] = set()
    for left, right in permutations(numbers, 2):
        a, b = numbers[left], numbers[right]
        known = ~(np.isnan(a) | np.isnan(b))
        if known.sum() < _LEAST_ROWS or (a[known] > b[known]).any() or (a[known] == b[known]).all():
            continue
        moved = np.roll(b, len(b) // 3)
        if (a > moved).sum() >= _VIOLATIONS and _spread(a[known]) >= _COMPARABLE * _spread(b[known]):
            ordered.add((left, right))
    implied = {(a, c) for a, b in ordered for b2, c in ordered if b == b2 and (a, c) in ordered}
    return tuple(sorted(ordered - implied, key=lambda p: [list(numbers).index(n) for n in p]))[:_MOST_RULES]


def _spread(x: Floats) -> float:
    return float(np.subtract(*np.quantile(x, [0.99, 0.01])))


def thresholds(lists: Mapping[str, tuple[Codes, int]], numbers: Mapping[str, Floats]) -> tuple[Threshold, ...]:
    """Values of a list that lie wholly below (or above) all the others along a number: N/A under 15."""
    out = []
    for column, (codes, size) in lists.items():
        for by, number in numbers.items():
            known = ~np.isnan(number)
            if by == column or known.sum() < _LEAST_ROWS:
                continue
            if (found := _threshold(column, codes[known], size, by=by, number=number[known])) is not None:
                out.append(found)
                break
    return tuple(out)[:_MOST_RULES]


def _threshold(column: str, codes: Codes, size: int, *, by: str, number: Floats) -> Threshold | None:
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, codes, number)
    np.maximum.at(high, codes, number)
    count = np.bincount(codes, minlength=size)
    order = np.argsort(low)
    order = order[count[order] > 0]
    reach = np.maximum.accumulate(high[order])
    cuts = [k for k in range(1, len(order)) if reach[k - 1] < low[order[k]]]
    if len(cuts) != 1:  # several: the list is a banding of the number, not a gate at one point
        return None
    k = cuts[0]
    below = int(count[order[:k]].sum())
    if min(below, len(codes) - below) < _VIOLATIONS:
        return None
    return Threshold(column, tuple(int(c) for c in order[:k]), by, float(reach[k - 1]), float(low[order[k]]))


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
    blocks += [_zero_block(columns[t.column], t, rows) for t in _thresholds(columns, short, numbers)]
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
