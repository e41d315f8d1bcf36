"""Reference rows, and the units that a gate counted: a row by itself, or a person with all of his or her rows.

Where people are counted, each once in a cell of facts, the moments of a person are the sums over that person's rows.
So a figure of rows is told by counts of people, and its sampling error is that of people drawn whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from hedgerow.public import CodedTable, Coding, Places, Schema, people_table


@final
@dataclass(frozen=True)
class CountedPeople:
    """How people were counted: by which facts, as columns of a schema, and by which column they are told apart."""

    schema: Schema
    coding: Coding
    person: str


@final
@dataclass(frozen=True, eq=False)
class Reference:
    """Rows that say how values lie within cells.

    Attributes:
        rows: the rows.
        units: a row for each unit that was counted, in the columns that it was counted by; the rows themselves, or
            their people.
        who: the unit of every row; None where every row is one.
        given: where people are counted, the columns of rows that answers do not tell: they are known row by row.
    """

    rows: CodedTable
    units: CodedTable
    who: Places | None = None
    given: tuple[str, ...] = ()
    _members: "dict[tuple[tuple[str, ...], int], Reference]" = field(default_factory=dict)

    @classmethod
    def of(cls, rows: CodedTable, people: CountedPeople | None = None, given: Sequence[str] = ()) -> "Reference":
        """The rows with their units."""
        if people is None:
            return cls(rows, rows)
        return cls(rows, *people_table(rows, people.schema, people.coding, people.person), tuple(given))

    def take(self, units: Places) -> "Reference":
        """These units, with all of their rows."""
        part = self.units.take(units)
        if self.who is None:
            return Reference(part, part)
        place = np.full(self.units.rows, -1, np.int64)
        place[units] = np.arange(len(units))
        whose = place[self.who]
        rows = np.flatnonzero(whose >= 0)
        return Reference(self.rows.take(rows), part, whose[rows], self.given)

    def relabelled(self, donor: Places) -> "Reference":
        """The people with the labels of others, ``donor`` by ``donor``: all columns that are not given."""
        assert self.who is not None
        first = np.unique(self.who, return_index=True)[1]  # every row of a person has the same labels
        described = {c.name for c in self.rows.schema.columns}
        labels = [c for c in self.rows.frame.columns if c in described and c not in self.given]
        rows, units = self.rows.frame, self.units.frame
        new = rows.with_columns(rows[c][first[donor][self.who]] for c in labels)
        people = units.with_columns(units[c][donor] for c in labels if c in units.columns)
        return Reference(self.rows.with_frame(new), self.units.with_frame(people), self.who, self.given)

    def told(self, by: Sequence[str]) -> tuple[str, ...]:
        """Those of the columns ``by`` that answers must tell: of people, what is not given row by row."""
        return tuple(by) if self.who is None else tuple(c for c in by if c not in self.given)

    def group(self, by: Sequence[str], group: int) -> int:
        """The place of a group of the cross ``by`` in the cross of those that answers must tell."""
        told, schema = self.told(by), self.rows.schema
        codes = dict(zip(by, np.unravel_index(group, schema.shape(by)), strict=True)) if by else {}
        return int(np.ravel_multi_index([int(codes[c]) for c in told], schema.shape(told))) if told else 0

    def members(self, by: Sequence[str], group: int) -> "Reference":
        """The units that may have rows in the group: by the columns that answers must tell. Taken once."""
        told = self.told(by)
        if not told:
            return self
        key = (told, self.group(by, group))
        if key not in self._members:
            self._members[key] = self.take(np.flatnonzero(self.units.cells(told) == key[1]))
        return self._members[key]
