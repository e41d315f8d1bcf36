"""People instead of rows: one code a fact for each person, from the codes of that person's rows alone.

A fact is data, declared before a row is read: a column and a rule.  The gate reduces the confidential table by these
rules to one row for each person, which is counted once; the public table and the target are reduced by the same.

    >>> facts = (Fact("last grade", "last", "grade", "year"), Fact("rows", "rows", cuts=(2, 3)))
    >>> codes = {"year": np.array([1, 0, 0], np.uint8), "grade": np.array([5, 7, 2], np.uint8)}
    >>> by_person(np.array([0, 0, 1], np.uint8), codes, facts, {"year": 2, "grade": 9})
    {'last grade': array([5, 2], dtype=uint8), 'rows': array([1, 0], dtype=uint8)}
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.coding import Codes, Coding, code_type

Rule = Literal["first", "last", "most", "rows", "mean"]


@dataclass(frozen=True)
class Fact:
    """A code for each person.

    ``first`` and ``last``: the code of ``column`` in the row with the least and the greatest code of ``time``; of
    rows with the same, the least and the greatest code.  ``most``: the most frequent code of ``column``, of equally
    frequent ones the least.  ``rows``: how many rows the person has; ``mean``: the mean over them, rounded down, of
    the sum of ``points``, a whole number for each code of some columns; both as the number of ``cuts`` at or below.
    """

    name: str
    rule: Rule
    column: str = ""
    time: str = ""
    points: tuple[tuple[str, tuple[int, ...]], ...] = ()
    cuts: tuple[int, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns whose codes decide it, besides whose each row is."""
        return tuple(filter(None, (self.column, self.time, *(c for c, _ in self.points))))

    def size(self, sizes: Mapping[str, int]) -> int:
        """How many codes it has."""
        return sizes[self.column] if self.column else len(self.cuts) + 1


@dataclass(frozen=True)
class PeopleCoding(Coding):
    """The rules of a table's columns, and how each person's rows become one: ``sizes`` are those of the facts.

    ``columns`` are the table's; ``joined`` joins facts, each called as the column that it is of.
    """

    facts: tuple[Fact, ...] = ()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many codes each fact has, joined ones included."""
        plain = {c.name: c.size for c in self.columns}
        return {f.name: f.size(plain) for f in self.facts} | {j.name: j.size for j in self.joined}

    def needs(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of the file that decide the facts ``names``, besides the one that names the person."""
        known, joins = {f.name: f.needs for f in self.facts}, {j.name: j.parts for j in self.joined}
        facts = [f for n in names for f in joins.get(n, (n,))]
        return tuple(dict.fromkeys(c for f in facts for c in known[f]))

    def encode(self, frame: pl.DataFrame, names: Iterable[str]) -> dict[str, Codes]:
        """Refuses: a batch of rows is no batch of people."""
        raise ValueError("People are coded by all of their rows.")

    def reduce(self, who: Codes, codes: Mapping[str, Codes], names: Sequence[str]) -> dict[str, Codes]:
        """The facts ``names`` of everybody, from coded rows; ``who`` numbers the person of each from 0 on."""
        joins = [j for j in self.joined if j.name in names]
        asked = {*names, *(p for j in joins for p in j.parts)}
        found = by_person(
            who, codes, [f for f in self.facts if f.name in asked], {c.name: c.size for c in self.columns}
        )
        found |= {j.name: j.encode([found[p] for p in j.parts]) for j in joins}
        return {n: found[n] for n in names}


def people_facts(coding: Coding) -> tuple[Fact, ...]:
    """The facts that people are counted by; none when rows are counted."""
    return coding.facts if isinstance(coding, PeopleCoding) else ()


def by_person(
    who: Codes, codes: Mapping[str, Codes], facts: Sequence[Fact], sizes: Mapping[str, int]
) -> dict[str, Codes]:
    """The code of every fact for everybody, in the order of their numbers.

    A person's codes follow from that person's rows, whatever their order: a row added to anybody else's, or taken
    from them, changes nothing here.
    """
    whose = who.astype(np.int64)
    many = np.bincount(whose)
    rows = {c: codes[c].astype(np.int64) for f in facts for c in f.needs}
    each = {f.name: (_of_each(f, rows, whose, many, f.size(sizes)), code_type(f.size(sizes))) for f in facts}
    return {name: found.astype(kind) for name, (found, kind) in each.items()}


def _of_each(fact: Fact, rows: Mapping[str, Any], who: Any, many: Any, size: int) -> npt.NDArray[np.int64]:
    """The code of one fact for each person; ``who`` has the person of each row, ``many`` the rows of each."""
    if fact.rule == "rows":
        return np.asarray(np.searchsorted(fact.cuts, many, side="right"))
    if fact.rule == "mean":
        total = np.zeros(len(many), np.int64)
        for column, points in fact.points:
            np.add.at(total, who, np.array(points, np.int64)[rows[column]])
        return np.asarray(np.searchsorted(fact.cuts, total // many, side="right"))
    if fact.rule == "most":
        cell, often = np.unique(who * size + rows[fact.column], return_counts=True)
        order = np.lexsort((cell, -often, cell // size))
        whose = (cell // size)[order]
        return np.asarray((cell % size)[order][np.searchsorted(whose, np.arange(len(many)))])
    place = rows[fact.time] * size + rows[fact.column]
    if fact.rule == "first":
        least = np.full(len(many), np.iinfo(np.int64).max)
        np.minimum.at(least, who, place)
        return least % size
    greatest = np.full(len(many), -1, np.int64)
    np.maximum.at(greatest, who, place)
    return greatest % size
