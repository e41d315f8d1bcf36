"""Counts of cells in two tables side by side: dense where a table is small, only the cells in use where it is not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import CountPlan
from hedgerow.evaluate.base import CodedTable, DoesNotApply
from hedgerow.public import Counts, Marginal, Schema, Shares, shares, total_variation

DENSE = 1 << 21
"""A table with more cells is counted by sorting its rows; so many are counted in one pass."""


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one cross of columns, counted in both tables.

    Attributes:
        columns: the columns that are crossed.
        codes: the code of each cell in each column, one row per cell.
        a: rows of A in each cell.
        b: rows of B.
    """

    columns: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    a: Counts
    b: Counts

    @property
    def shares(self) -> tuple[Shares, Shares]:
        """The counts as shares of each table."""
        return shares(self.a), shares(self.b)

    @property
    def distance(self) -> float:
        """The total variation between the two."""
        return total_variation(*self.shares)

    def labels(self, schema: Schema, most: int | None = None) -> list[str]:
        """A label for people for each cell, or for the first ones."""
        names = [schema.cell_labels(c) for c in self.columns]
        return [", ".join(names[j][code] for j, code in enumerate(cell)) for cell in self.codes[:most].tolist()]

    def sorted_by(self, order: npt.NDArray[np.intp]) -> "Cells":
        """The same cells in another order, or some of them."""
        return Cells(self.columns, self.codes[order], self.a[order], self.b[order])


def in_both(a: CodedTable, b: CodedTable, wanted: Sequence[str] | None = None) -> tuple[str, ...]:
    """The columns of the schema that both tables have, in file order; or those of ``wanted``, which must be there."""
    there = [c.name for c in a.schema.columns if c.name in a.frame.columns and c.name in b.frame.columns]
    if wanted is None:
        return tuple(there)
    parts = {j.name: j.columns for j in a.schema.joined}
    if absent := [w for w in wanted if not set(parts.get(w, (w,))) <= set(there)]:
        raise DoesNotApply(f"both tables and the schema must have the column {', '.join(absent)}")
    return tuple(wanted)


def joint_cells(a: CodedTable, b: CodedTable, columns: Sequence[str]) -> Cells:
    """The cells of the cross of ``columns`` that hold a row of either table."""
    columns = tuple(columns)
    if a.schema.size(columns) <= DENSE:
        return next(every_cells(a, b, [columns]))
    sides = [t.codes(columns) for t in (a, b)]
    key = np.zeros(a.rows + b.rows, np.int64)
    for name in columns:  # renumber after each column, so that the key never grows past the rows
        code = np.concatenate([s[name] for s in sides]).astype(np.int64)
        key = np.unique(key * a.schema.shape([name])[0] + code, return_inverse=True)[1]
    size = int(key.max()) + 1
    first = np.empty(size, np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    codes = np.stack([np.concatenate([s[n] for s in sides])[first].astype(np.int64) for n in columns], axis=1)
    return Cells(
        columns, codes, np.bincount(key[: a.rows], minlength=size), np.bincount(key[a.rows :], minlength=size)
    )


def every_cells(a: CodedTable, b: CodedTable, sets: Sequence[Sequence[str]]) -> Iterator[Cells]:
    """The cells in use of several crosses, one after another, counted together where they are small."""
    sizes, waiting = 0, list[tuple[str, ...]]()
    for columns in [*map(tuple, sets), None]:
        size = DENSE + 1 if columns is None else a.schema.size(columns)
        if waiting and sizes + size > DENSE:
            yield from _dense(a, b, waiting)
            sizes, waiting = 0, []
        if columns is not None and size > DENSE:
            yield joint_cells(a, b, columns)
        elif columns is not None:
            waiting.append(columns)
            sizes += size


def _dense(a: CodedTable, b: CodedTable, sets: Sequence[tuple[str, ...]]) -> Iterator[Cells]:
    plan = CountPlan([Marginal(s) for s in sets], a.schema.coding)
    counted = [plan.split(plan.count(t.codes(plan.columns))) for t in (a, b)]
    for columns, one, other in zip(sets, *counted, strict=True):
        used = np.flatnonzero(one + other)
        codes = np.stack(np.unravel_index(used, a.schema.shape(columns)), axis=1).astype(np.int64)
        yield Cells(columns, codes, one[used], other[used])
