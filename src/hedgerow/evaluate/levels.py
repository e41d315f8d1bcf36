"""Levels of columns as yes-no indicators, and every pair of them at once: what panels (c) and (d) are made of.

For indicators x and y the least-squares slope of y on x is P(y | x) - P(y | not x), and their correlation is that
slope times sd(x) / sd(y): the identity that RDT-2018 states.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import CountPlan
from hedgerow.evaluate.base import DoesNotApply, Table
from hedgerow.evaluate.cells import in_both
from hedgerow.public.costs.question import Marginal
from hedgerow.public.schema import Schema

Matrix = npt.NDArray[np.float64]
MOST = 3000
"""The most levels of all columns together; the widest columns are left out beyond it."""


@final
@dataclass(frozen=True, eq=False)
class LevelPairs:
    """How often each level, and each pair of levels of different columns, occurs in one table.

    Attributes:
        rows: of the table.
        one: rows of each level.
        both: rows that have both levels of a pair, as a square matrix; only pairs of different columns count.
    """

    rows: int
    one: Matrix
    both: Matrix

    @cached_property
    def slope(self) -> Matrix:
        """The slope of level j (y) on level i (x), at place [i, j]: P(y | x) - P(y | not x)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            given, without = self._conditional
            return np.asarray(given - without)

    @cached_property
    def correlation(self) -> Matrix:
        """The correlation of the two indicators."""
        p = self.one / self.rows
        spread = np.sqrt(p * (1 - p))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.both / self.rows - np.outer(p, p)) / np.outer(spread, spread))

    @cached_property
    def slope_variance(self) -> Matrix:
        """The sampling variance of each slope; shares are drawn in by half a row, so that none counts as certain."""
        n, rest = self.one[:, None], self.rows - self.one[:, None]
        given = (self.both + 0.5) / (n + 1)
        without = (self.one[None, :] - self.both + 0.5) / (rest + 1)
        return np.asarray(given * (1 - given) / (n + 1) + without * (1 - without) / (rest + 1))

    @cached_property
    def correlation_variance(self) -> Matrix:
        """The sampling variance of each correlation, from that of the slope by the identity."""
        p = self.one / self.rows
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.slope_variance * np.outer(p * (1 - p), 1 / (p * (1 - p))))

    @property
    def _conditional(self) -> tuple[Matrix, Matrix]:
        n = self.one[:, None]
        return self.both / n, (self.one[None, :] - self.both) / (self.rows - n)


@final
@dataclass(frozen=True, eq=False)
class TwoLevelPairs:
    """The pairs of both tables and what they are called.

    Attributes:
        a: of table A.
        b: of table B.
        columns: the column of each level, as a place in ``names``.
        names: of the columns.
        labels: of the levels.
        left_out: columns that were too wide.
    """

    a: LevelPairs
    b: LevelPairs
    columns: npt.NDArray[np.int64]
    names: tuple[str, ...]
    labels: tuple[str, ...]
    left_out: tuple[str, ...]

    @cached_property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Pairs of levels of different columns, both of which vary in both tables."""
        varies = np.logical_and.reduce([(t.one > 0) & (t.one < t.rows) for t in (self.a, self.b)])
        return np.asarray((self.columns[:, None] != self.columns[None, :]) & np.outer(varies, varies))

    def label(self, i: int, j: int) -> str:
        """What a pair is called: the level that is explained, and by which."""
        names = [f"{self.names[self.columns[k]]}={self.labels[k]}" for k in (j, i)]
        return " on ".join(names)


def level_pairs(a: Table, b: Table, schema: Schema, columns: tuple[str, ...] | None = None) -> TwoLevelPairs:
    """All pairs of levels of ``columns`` (all that both tables have), counted in both tables."""
    names = [n for n in in_both(a, b, schema, columns) if schema.size([n]) > 1]
    left_out = []
    while sum(schema.shape(names)) > MOST:
        left_out.append(names.pop(int(np.argmax(schema.shape(names)))))
    if len(names) < 2:
        raise DoesNotApply("the tables share fewer than two columns whose levels could be paired")
    return TwoLevelPairs(
        _pairs(a, schema, names),
        _pairs(b, schema, names),
        np.repeat(np.arange(len(names)), schema.shape(names)),
        tuple(names),
        tuple(label for n in names for label in schema.cell_labels(n)),
        tuple(left_out),
    )


def _pairs(table: Table, schema: Schema, names: list[str]) -> LevelPairs:
    sizes = schema.shape(names)
    start = np.cumsum([0, *sizes])
    both = np.zeros((start[-1], start[-1]))
    order = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    plan = CountPlan([Marginal((names[i], names[j])) for i, j in order], schema.coding)
    for (i, j), counts in zip(order, plan.split(plan.count(table.codes(plan.columns))), strict=True):
        block = counts.reshape(sizes[i], sizes[j])
        both[start[i] : start[i + 1], start[j] : start[j + 1]] = block
        both[start[j] : start[j + 1], start[i] : start[i + 1]] = block.T
    one = np.concatenate(
        [both[start[i] : start[i + 1], start[k := (i == 0) * 1] : start[k + 1]].sum(1) for i in range(len(names))]
    )
    return LevelPairs(table.rows, one, both)
