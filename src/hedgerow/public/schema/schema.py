"""The public description of a table: its columns, their values, and what may not occur.

A schema is written down before anybody looks at the confidential table.  It comes from a code book, or
from a public relative of the table; never from the confidential rows themselves.  From it follow the
codes of every value and the number of cells of every question, before anything is counted.

    >>> schema = Schema.loads('''
    ... [columns.sex]
    ... kind = "categorical"
    ... values = ["F", "M"]
    ... [columns.age]
    ... kind = "integer"
    ... bins = { low = 16, high = 90, width = 1 }
    ... ''')
    >>> schema.attributes, schema.size(["sex", "age"]), schema.cell_labels("sex")
    (('sex', 'age'), 150, ('F', 'M'))
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import final

import polars as pl

from hedgerow.errors import SchemaError
from hedgerow.public.coding import Coding
from hedgerow.public.schema import file as schema_file
from hedgerow.public.schema import resolve
from hedgerow.public.schema import text as schema_text
from hedgerow.public.schema.check import nearest, problems
from hedgerow.public.schema.column import Column
from hedgerow.public.schema.structure import Declaration, Join, OrderRule, Zero


@final
@dataclass(frozen=True)
class Schema:
    """The columns of a table, in file order, and what is known of them together.

    Attributes:
        columns: every column of the file that is described.
        joined: columns that are measured as one.
        zeros: combinations that no record may have.
        rules: pairs of columns of which the left is at most the right.
        title: what the table is, for people.
        source: where the schema comes from, for people.
    """

    columns: tuple[Column, ...]
    joined: tuple[Join, ...] = ()
    zeros: tuple[Zero, ...] = ()
    rules: tuple[OrderRule, ...] = ()
    title: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        found = problems(self._parts)
        if found:
            raise SchemaError("\n".join(p.text for p in found))

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """The schema in a file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as wrong:
            why = wrong.strerror if isinstance(wrong, OSError) else "it is not UTF-8 text"
            raise SchemaError(
                f"Cannot read the schema {path}: {why}. Draft one with: hedgerow schema init PUBLIC --out {path}\n"
                "No confidential row was read and nothing was spent."
            ) from None
        return cls.loads(text, str(path))

    @classmethod
    def loads(cls, text: str, name: str = "schema.toml") -> "Schema":
        """The schema in a text; ``name`` is what messages call it."""
        return cls._of(schema_file.read(text, name))

    def dumps(self) -> str:
        """The text of a schema file, which reads back to this schema."""
        return schema_text.write(self._parts)

    def save(self, path: str | Path) -> None:
        """Writes the schema file."""
        Path(path).write_text(self.dumps(), encoding="utf-8", newline="\n")

    @property
    def unresolved(self) -> tuple[str, ...]:
        """What must still be taken from a public table, in words."""
        wishes = [f"{word} of column {c.name!r}" for c in self.columns for word in c.unresolved]
        wishes += [f"the combinations of {j.name!r}" for j in self.joined if j.combinations is None]
        return tuple(wishes)

    @property
    def is_resolved(self) -> bool:
        """Whether the schema stands on its own, without a public table."""
        return not self.unresolved

    def resolved(self, public: pl.DataFrame) -> "Schema":
        """The same schema with all that it takes from the public table written out."""
        return self if self.is_resolved else Schema._of(resolve.resolve(self._parts, public))

    @cached_property
    def coding(self) -> Coding:
        """The rules that turn values into codes."""
        self._must_be_resolved()
        columns = {c.name: c for c in self.columns}
        joined = tuple(j.coded([columns[n] for n in j.columns]) for j in self.joined)
        return Coding(tuple(c.coded for c in self.columns), joined)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The coded columns that cover a whole record once: joined ones stand for their parts."""
        joins = {part: j.name for j in self.joined for part in j.columns}
        free = (joins.get(c.name, c.name) for c in self.columns if not c.determined_by)
        return tuple(dict.fromkeys(free))

    def column(self, name: str) -> Column:
        """The column of that name."""
        for c in self.columns:
            if c.name == name:
                return c
        raise SchemaError(f"There is no column {name!r}; {nearest(name, (c.name for c in self.columns))}")

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """How many codes each of ``names`` has."""
        return self.coding.shape(names)

    def size(self, names: Iterable[str]) -> int:
        """How many cells the cross of ``names`` has: known before anything is counted."""
        return self.coding.cells(names)

    def cell_labels(self, name: str) -> tuple[str, ...]:
        """A label for people for every code of a column or join."""
        self._must_be_resolved()
        for join in self.joined:
            if join.name == name:
                return join.cell_labels([self.column(n) for n in join.columns])
        return self.column(name).cell_labels

    @property
    def _parts(self) -> Declaration:
        return Declaration(**{f.name: getattr(self, f.name) for f in fields(Declaration)})

    @staticmethod
    def _of(parts: Declaration) -> "Schema":
        return Schema(**{f.name: getattr(parts, f.name) for f in fields(Declaration)})

    def _must_be_resolved(self) -> None:
        if self.unresolved:
            raise SchemaError(
                "The schema still takes from a public table: " + ", ".join(self.unresolved) + ".\n"
                "Name the public table in the job, or call schema.resolved(public). Nothing was read or spent."
            )
