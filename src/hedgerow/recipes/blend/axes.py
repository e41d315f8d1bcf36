"""What a blend covers: the attributes of the schema, with the cross of several group columns as one of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.public import CodedTable, Coding, JoinedColumn, Marginal, Schema, Tree, in_order

Records = npt.NDArray[np.uint16]
Places = npt.NDArray[np.intp]  # the band of every value of a column
MOST_CELLS = 2_000_000  # of a declared table


@final
@dataclass(frozen=True, eq=False)
class Axes:
    """The columns of a whole-record model.

    Attributes:
        schema: what the columns mean.
        coding: the schema's, and the cross of the groups as a joined column.
        names: one name for each axis; the cross of the groups is the first.
        parts: the attributes that each axis is the cross of.
    """

    schema: Schema
    coding: Coding
    names: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return self.coding.shape(self.names)

    @property
    def steps(self) -> tuple[int, ...]:
        """How many of the first values of each axis stand in order; 0 where there is none."""
        plain = {c.name: in_order(c) for c in self.schema.columns}
        return tuple(plain.get(n, 0) for n in self.names)

    @property
    def crossed(self) -> str | None:
        """The name of the cross of the groups, if it is not an attribute itself."""
        return self.names[0] if self.parts and len(self.parts[0]) > 1 else None

    def banded_question(self, pair: tuple[int, int], first: Places, second: Places) -> Marginal:
        """A pair of columns in bands, given the band of every value: a tree leads every row to its cell of bands."""
        wide, rows = int(second.max()) + 1, int(first.max()) + 1
        leaf = [-1 - (band * wide + second) for band in range(rows)]
        look, child = [0] + [1] * rows, np.concatenate([1 + first, *leaf])
        starts = [0, *(len(first) + band * len(second) for band in range(rows))]
        return Marginal((), Tree.of(tuple(self.names[i] for i in pair), rows * wide, look, starts, child))

    def question(self, key: tuple[int, ...]) -> Marginal:
        """The table of these axes."""
        return Marginal(tuple(p for i in key for p in self.parts[i]))

    def rows(self, table: CodedTable) -> Records:
        """The rows of a public table in codes, one column per axis."""
        codes = table.codes([p for parts in self.parts for p in parts])
        found = np.empty((table.rows, len(self.parts)), np.uint16, order="F")  # read column by column
        for i, parts in enumerate(self.parts):
            found[:, i] = np.ravel_multi_index([codes[p].astype(np.intp) for p in parts], self.coding.shape(parts))
        return found

    def keys(self, tables: Sequence[Sequence[str]], recipe: str) -> tuple[tuple[int, ...], ...]:
        """The axes of declared tables, in order."""
        at = {p: i for i, parts in enumerate(self.parts) for p in parts}
        found = []
        for table in tables:
            if strange := [c for c in table if c not in at]:
                raise JobError(
                    f"[{recipe}] tables names {', '.join(map(repr, strange))}, which the model does not cover.\n"
                    f"It covers: {', '.join(at)}. Nothing was read or spent."
                )
            key = tuple(sorted({at[c] for c in table}))
            if (cells := prod(self.shape[i] for i in key)) > MOST_CELLS:
                raise JobError(
                    f"[{recipe}] the table {' x '.join(table)} has {cells:,} cells; at most {MOST_CELLS:,} may be.\n"
                    "Give its columns fewer bins, or declare a smaller table. Nothing was read or spent."
                )
            found.append(key)
        return tuple(dict.fromkeys(found))

    def covering(self, columns: Sequence[str]) -> tuple[int, ...]:
        """The axes that show ``columns`` of the file: for a part its join, for a determined column what fixes it."""
        at = {p: i for i, parts in enumerate(self.parts) for p in parts}
        at |= {part: at[j.name] for j in self.schema.joined for part in j.columns if j.name in at}
        fixed = {c.name: c.determined_by for c in self.schema.columns}
        found, open_ = set[int](), list(columns)
        while open_:
            name = open_.pop()
            found |= {at[name]} if name in at else set()
            open_ += () if name in at else fixed.get(name, ())
        return tuple(sorted(found))


def axes_of(schema: Schema, groups: Sequence[str] = (), *, recipe: str) -> Axes:
    """Every attribute an axis; two or more ``groups`` are one axis together, the first."""
    attributes = schema.attributes
    if strange := [g for g in groups if g not in attributes]:
        raise JobError(
            f"[{recipe}] groups names {', '.join(map(repr, strange))}, which is no attribute of the schema.\n"
            f"The attributes are: {', '.join(attributes)}. Nothing was read or spent."
        )
    rest = tuple(a for a in attributes if a not in groups)
    if len(set(groups)) < 2:
        return Axes(schema, schema.coding, (*groups, *rest), tuple((a,) for a in (*groups, *rest)))
    shape = schema.coding.shape(groups)
    name = " x ".join(groups)
    if prod(shape) > np.iinfo(np.uint16).max:
        raise JobError(
            f"[{recipe}] the cross of {name} has {prod(shape):,} groups; at most 65,535 are possible.\n"
            "Use fewer group columns. Nothing was read or spent."
        )
    cross = JoinedColumn(name, tuple(groups), shape, tuple(range(prod(shape))), prod(shape))
    coding = replace(schema.coding, joined=(*schema.coding.joined, cross))
    return Axes(schema, coding, (name, *rest), (tuple(groups), *((a,) for a in rest)))
