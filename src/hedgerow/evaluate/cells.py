"""Counts of cells in two tables side by side, and what chance alone does to their shares.

Counting is dense where a table is small, and of the cells in use only where it is not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, final

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


def within_groups(
    cells: Cells, group: npt.NDArray[np.int64], a: npt.NDArray[Any], b: npt.NDArray[Any]
) -> tuple[Shares, Shares]:
    """The total variation within each group of ``a`` and ``b`` rows, and what chance would give."""
    n, m = (np.maximum(rows, 1)[group] for rows in (a, b))
    far = np.abs(cells.a / n - cells.b / m)
    pooled = (cells.a + cells.b) / (a + b)[group]
    luck = np.minimum(np.sqrt(2 / np.pi * pooled * (1 - pooled) * (1 / n + 1 / m)), 2 * pooled * (1 - pooled))
    return np.bincount(group, far, len(a)) / 2, np.bincount(group, luck, len(a)) / 2


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


def expected_distance(p: Shares, n: int, m: int) -> float:
    """The total variation to expect between the shares of two samples, of n and m rows, that both follow ``p``.

    Each difference is taken as normal where counts are large; a rare cell cannot differ by more than it holds.

    >>> round(expected_distance(np.array([0.5, 0.5]), 1000, 1000), 4)
    0.0178
    """
    if n <= 0 or m <= 0:
        return float("nan")
    normal = sqrt(2 / pi) * np.sqrt(p * (1 - p) * (1 / n + 1 / m))
    return float(np.minimum(normal, 2 * p * (1 - p)).sum() / 2)


def like_sample(distance: float, p: Shares, n: int) -> float | None:
    """The share of ``n`` rows whose simple random sample is as far from all of them, in total variation.

    >>> round(like_sample(0.01, np.array([0.5, 0.5]), 1000), 2)
    0.61
    """
    if n <= 0 or not np.isfinite(distance):
        return None
    spread = sqrt(2 / pi) / 2 * float(np.sqrt(p * (1 - p)).sum())
    return spread**2 / (spread**2 + n * distance**2) if spread > 0 or distance > 0 else 1.0


def correlation(one: Shares, other: Shares) -> float:
    """How two lists of numbers correlate; NaN where one of them does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(one, other)[0, 1])
