"""Counting inside a database: rows are coded once, into a temporary table, and counted there by blocks of columns.

How a value is coded is decided by the rules that code files: the distinct values of each column, apart from the rows
that hold them, are brought here, and go back as codes to join with.  So the counts are those of every other counter,
and a ``Database`` says only how one kind of database is spoken to.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, final

import numpy as np
import polars as pl

from hedgerow.counting import ALL, UNIT, CountPlan, axes_of, hash_rows, must_be_public, ranks, ties
from hedgerow.errors import NOTHING, JobError
from hedgerow.public import (
    CodedColumn,
    Coding,
    Counts,
    Guarantee,
    Marginal,
    Source,
    Tree,
    as_text,
    code_type,
    quoted,
    records,
)

Kind = Literal["whole", "float", "text", "other"]
"""Of a column: whole numbers of up to 64 bits; binary floats; text; whatever else has a text."""
BLANKS = "".join(map(chr, [*range(9, 14), 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288]))
_LAST = 1 << 31  # the rank of rows that say nothing of their order


class Database(Protocol):
    """One table of a database, and what that kind of database says in its own way."""

    name: str  # of the table, in messages
    table: str  # as statements name it
    kinds: Mapping[str, Kind]  # its columns, from the header
    place: str  # what says in which order rows stand; empty where they have none
    double: str  # the type of floats

    def whole(self, size: int) -> str:
        """The smallest type that holds whole numbers below ``size``."""

    def value(self, column: str) -> str:
        """A column as values are told apart: text by its bytes, whatever the collation."""

    def run(self, statement: str) -> None:
        """Carry a statement out."""

    def rows(self, query: str) -> Iterator[pl.DataFrame]:
        """What a query finds, in batches."""

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Make a temporary table of whole numbers."""


@final
class SqlCounter:
    """Counts a table inside its database, as ``Counter`` says. It is coded once, when it is first asked for.

    ``order`` is the column by which the rows of a person come first; without it, the order in which they stand.
    """

    __slots__ = ("_coded", "_coding", "_db", "_guarantee", "_order", "_tables", "columns")

    def __init__(self, database: Database, coding: Coding, guarantee: Guarantee, order: str = "") -> None:
        if not database.place:
            must_have_order(guarantee, order)
        must_be_public(guarantee, order)
        self._db, self._coding, self._guarantee, self._order = database, coding, guarantee, order
        self._coded, self._tables, self.columns = False, 0, tuple(database.kinds)

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts: grouped in the database; of a plan that is no table, of codes that it hands out."""
        if not self._coded:
            self._code()
            self._coded = True
        return self._streamed(plan) if plan.mapping else self._grouped(plan)

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records of a keyed hash of each: rows pass through this process, a batch at a time."""
        count, total = self._guarantee.count, np.zeros(2, np.uint64)
        listed, values = ", ".join(map(quoted, self.columns)), sorted({*self.columns} - {count})
        for batch in self._read(f"SELECT {listed} FROM {self._db.table}", self.columns):
            n = records(batch[count]) if count else np.ones(1, np.int64)
            for digit in range(int(n.max(initial=0)).bit_length()):
                some = batch.filter(pl.Series(n >> digit & 1, dtype=pl.Boolean)) if count else batch
                total += np.uint64(1 << digit) * hash_rows(some.select(values), key)
        return total.tobytes()

    def _read(self, query: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """What a query finds, read as every other table is."""
        return Source(self._db.name, tuple(columns), lambda names, rows: self._db.rows(query)).batches(columns)

    def _new(self, query: str = "", frame: pl.DataFrame | None = None) -> str:
        """The name of a new temporary table, of what a query finds or of whole numbers."""
        self._tables += 1
        name = f"hedgerow_{self._tables}"
        if frame is None:
            self._db.run(f"CREATE TEMPORARY TABLE {name} AS {query}")
        else:
            self._db.put(name, frame)
        return name

    def _code(self) -> None:
        """Make the table of codes: a line for every row that counts, c0, c1, ... its codes, n its records.

        Where people are capped, p is whose it is and k which of theirs, from 1 on.
        """
        cap, joins = self._guarantee, list[str]()
        made = [f"{self._column(rule, joins)} AS c{i}" for i, rule in enumerate(self._coding.columns)]
        if cap.count:
            made.append(f"{self._looked_up(cap.count, records, 0, 1 << 31, joins)} AS n")
        if cap.person:
            place = self._db.place or "0"  # without a cap any order will do
            place = self._looked_up(self._order, _places, _LAST, _LAST + 1, joins) if self._order else place
            made += [f"{self._person(joins)} AS p", f"{place} AS o"]
        coded = f"SELECT {', '.join(made)} FROM {self._db.table} AS t{''.join(joins)}"
        if cap.person:
            firsts = ", ".join(["o", *map(self._name, ties(self._coding, cap))])
            ranked = f"SELECT *, row_number() OVER (PARTITION BY p ORDER BY {firsts}) AS k FROM ({coded}) AS q"
            coded = f"SELECT * FROM ({ranked} WHERE p IS NOT NULL) AS r WHERE k <= {cap.rows_per_person}"
        for joined in self._coding.joined:
            codes = self._new(frame=pl.DataFrame({"i": np.arange(len(joined.codes)), "c": joined.codes}))
            code = f"CAST({codes}.c AS {self._db.whole(joined.size)}) AS {self._name(joined.name)}"
            coded = f"SELECT q.*, {code} FROM ({coded}) AS q JOIN {codes} ON {codes}.i = {self._cell(joined.parts)}"
        self._db.run(f"CREATE TEMPORARY TABLE hedgerow_codes AS {coded}")

    def _name(self, column: str) -> str:
        """What statements call the code of a column."""
        return f"c{list(self._coding.sizes).index(column)}"

    def _cell(self, names: Sequence[str]) -> str:
        """The cell of a row in the cross of coded columns, last fastest."""
        cell = "0"
        for name in names:
            cell = f"({cell} * {self._coding.sizes[name]} + {self._name(name)}::BIGINT)"
        return cell

    def _column(self, rule: CodedColumn, joins: list[str]) -> str:
        """The code of a row in one column: floats by comparing with bin edges, all else by looking it up."""
        if rule.edges is None or rule.reading != "number" or self._db.kinds[rule.name] != "float":
            return self._looked_up(rule.name, rule.encode, rule.missing, rule.size, joins)
        double, x = self._db.double, f"t.{quoted(rule.name)}"
        own = zip(rule.numbers(pl.Series(rule.values, dtype=pl.String)).tolist(), rule.codes, strict=True)
        cases = "".join(f" WHEN {x} = '{n!r}'::{double} THEN {c}" for n, c in reversed([*own]) if n == n)
        found = _bin(f"{x}::{double}", [*map(float, rule.edges)], rule.bins or range(len(rule.edges) + 1), double)
        return (
            f"CAST(CASE WHEN {x} IS NULL OR {x} = 'NaN'::{double} THEN {rule.missing}{cases} ELSE {found} END"
            f" AS {self._db.whole(rule.size)})"
        )

    def _looked_up(
        self, column: str, code: Callable[[pl.Series], Any], missing: int, size: int, joins: list[str]
    ) -> str:
        """What ``code`` has for the values of a column, by a join with a table of its distinct values."""
        value, whole = self._db.value, self._db.whole(size)
        found = f"SELECT DISTINCT {value(quoted(column))} AS v FROM {self._db.table}"
        values = self._new(f"SELECT row_number() OVER () AS i, v FROM ({found}) AS t WHERE v IS NOT NULL")
        batches = [*self._read(f"SELECT i, v FROM {values}", ("i", "v"))]
        codes = pl.DataFrame(schema={"i": pl.Int64, "c": pl.Int64})
        if batches:
            distinct = pl.concat(batches, how="vertical_relaxed")
            codes = pl.DataFrame({"i": distinct["i"], "c": code(distinct["v"])})
        numbers = self._new(frame=codes.cast(pl.Int64))
        table = self._new(f"SELECT v, CAST(c AS {whole}) AS c FROM {values} JOIN {numbers} USING (i)")
        joins.append(f" LEFT JOIN {table} ON {table}.v = {value('t.' + quoted(column))}")
        return f"CAST(coalesce({table}.c, {missing}) AS {whole})"

    def _person(self, joins: list[str]) -> str:
        """Whose a row is: whole numbers and texts as they are, all else by its text; NULL where it names nobody."""
        person = self._guarantee.person
        if (kind := self._db.kinds[person]) == "whole":
            return f"t.{quoted(person)}"
        if kind == "text":
            return f"nullif(trim({self._db.value('t.' + quoted(person))}, '{BLANKS}'), '')"

        def numbered(values: pl.Series) -> pl.Series:
            return as_text(values).rank("dense").cast(pl.Int64).fill_null(0)

        return f"nullif({self._looked_up(person, numbered, 0, 1 << 62, joins)}, 0)"

    def _grouped(self, plan: CountPlan) -> Counts:
        """Every block of the plan by one GROUP BY, and the questions that it serves from what was found."""
        planned, full = plan._trees, plan._full  # noqa: SLF001  leaves are columns of the plan's own making
        answers, n = dict[Marginal, Counts](), "CAST(sum(n) AS BIGINT)" if self._guarantee.count else "count(*)"
        for block in dict.fromkeys(plan.homes.values()):
            trees = {c: planned[c] for c in block if c in planned}
            names = {
                c: self._name(c) for c in (*block, *(c for t in trees.values() for c in t.columns)) if c not in trees
            }
            kept, source = [*names.values(), *["n"] * bool(self._guarantee.count)], "hedgerow_codes"
            for i, (leaf, tree) in enumerate(trees.items()):
                source, names[leaf] = self._walked(tree, source, kept, f"a{i}"), f"a{i}"
                kept.append(f"a{i}")
            cell = "0"
            for c in block:
                cell = f"({cell} * {full.sizes[c]} + {names[c]}::BIGINT)"
            found = pl.concat(self._db.rows(f"SELECT {cell} AS cell, {n} AS n FROM {source} AS q GROUP BY 1"))
            codes = np.unravel_index(found["cell"].to_numpy(), full.shape(block))
            for q in (q for q, home in plan.homes.items() if home == block):
                answers[q] = _summed(full, q, dict(zip(block, codes, strict=True)), found["n"].to_numpy())
        return np.concatenate([*(answers[q] for q in plan.questions), np.zeros(0, np.int64)])

    def _walked(self, tree: Tree, source: str, kept: Sequence[str], name: str) -> str:
        """The rows of ``source`` with the leaf of each in ``tree`` as one more column: a join for every step down."""
        look, first, child = (np.asarray(a, np.int64) for a in tree.arrays)
        if not len(look):
            return f"(SELECT {', '.join(kept)}, 0 AS {name} FROM {source} AS q)"
        onwards = {"look": look.take(child, mode="clip"), "first": first.take(child, mode="clip")}  # of leaves: none
        step = self._new(frame=pl.DataFrame({"i": np.arange(len(child)), "child": child, **onwards}))
        codes = " ".join(f"WHEN {i} THEN {self._name(c)}::BIGINT" for i, c in enumerate(tree.columns))
        rows = f"(SELECT {', '.join(kept)}, 0 AS split, {look[0]} AS look, {first[0]} AS first FROM {source} AS q)"
        for _ in range(_depth(tree, self._coding)):
            place = f"q.first + CASE q.look {codes} END"
            moved = ", ".join([*(f"q.{c}" for c in kept), "coalesce(s.child, q.split) AS split", "s.look", "s.first"])
            joined = f"LEFT JOIN {step} AS s ON q.split >= 0 AND s.i = {place}"
            rows = f"(SELECT {moved} FROM {rows} AS q {joined})"
        return f"(SELECT {', '.join(kept)}, -1 - split AS {name} FROM {rows} AS q)"

    def _streamed(self, plan: CountPlan) -> Counts:
        """Codes, without values, pass through this process: what is counted of them is no table of counts."""
        whole, total = UNIT in plan.columns, np.zeros(plan.size, np.int64)
        names = self._coding.needs(c for c in plan.columns if c != UNIT)
        listed, order = [f"{self._name(c)} AS {quoted(c)}" for c in names], ""
        if whole and self._guarantee.person:
            listed, order = [*listed, "dense_rank() OVER (ORDER BY p) AS u"], " ORDER BY p, k"
        found = self._db.rows(f"SELECT {', '.join(listed) or 'c0'} FROM hedgerow_codes{order}")
        parts = (part for part in found if part.height)
        for part in _whole_people(parts) if order else parts:
            lines = {c: part[c].to_numpy().astype(code_type(self._coding.sizes[c])) for c in names}
            units = part["u"].rank("dense").to_numpy() - 1 if order else np.arange(len(part))
            codes = self._coding.join(lines, [c for c in plan.columns if c != UNIT])
            total += plan.count(codes | ({UNIT: units.astype(np.uint32)} if whole else {}))
        return total


def must_have_order(guarantee: Guarantee, order: str) -> None:
    """Refuse a cap on the rows of people where rows stand in no order and none is declared."""
    must_be_public(guarantee, order)
    if guarantee.person and not order and guarantee.rows_per_person < ALL:
        raise JobError(
            f"Of a person {guarantee.rows_per_person} rows count, and here rows stand in no order that says which.\n"
            "Name a column whose values do: [confidential] order = 'date' (in Python: Person('id', rows=4,\n"
            f"order='date')). {NOTHING}"
        )


def _whole_people(parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows, sorted by person ``u``, in parts that hold people whole."""
    held: pl.DataFrame | None = None
    for part in parts:
        held = part if held is None else held.vstack(part)
        last = held["u"] == held["u"][-1]
        if not last.all():
            yield held.filter(~last)
            held = held.filter(last)
    if held is not None:
        yield held


def _places(values: pl.Series) -> pl.Series:
    """The ranks of values; what says nothing (blanks, NaN) is last with NULL, not before it: rows are tied there."""
    return ranks(values).set(as_text(values).is_null(), _LAST)


def _summed(full: Coding, question: Marginal, codes: Mapping[str, Any], n: Counts) -> Counts:
    """The cells of one question from the codes of a block, and how many rows have them."""
    if question.only in codes:
        first = codes[question.only] == 0
        codes, n = {c: line[first] for c, line in codes.items()}, n[first]
    axes, cell = axes_of(question), np.zeros(len(n), np.int64)
    for name in axes:
        cell = cell * full.sizes[name] + codes.get(name, 0)  # a column of one value is in no block
    answer = np.zeros(full.cells(axes), np.int64)
    np.add.at(answer, cell, n)
    return answer


def _bin(number: str, edges: Sequence[float], bins: Sequence[int], double: str, low: int = 0) -> str:
    """The code of a ``number`` by how many of ``edges`` are at or below it, found by halving."""
    if not edges:
        return str(bins[low])
    half = len(edges) // 2
    below = _bin(number, edges[:half], bins, double, low)
    above = _bin(number, edges[half + 1 :], bins, double, low + half + 1)
    return f"CASE WHEN {number} < '{edges[half]!r}'::{double} THEN {below} ELSE {above} END"


def _depth(tree: Tree, coding: Coding) -> int:
    """How many splits a row meets at most on its way to a leaf."""
    look, first, child = tree.arrays
    wide, deep, here = np.array(coding.shape(tree.columns))[look], 0, np.arange(min(1, len(look)))
    while len(here):
        reached = np.concatenate([child[first[s] : first[s] + wide[s]] for s in here])
        deep, here = deep + 1, np.unique(reached[reached >= 0])
    return deep
