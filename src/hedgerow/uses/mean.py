"""Means and quantiles of a column of numbers, by group."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.public import CodedTable, Floats, Places, Schema, Statistic
from hedgerow.uses.base import NOTHING, AbstractColumnUse, Quantity, ratio

_NUMBERS = ("integer", "real", "yes-no", "ordered")


@dataclass(frozen=True)
class AbstractNumberUse(AbstractColumnUse):
    """A figure of the numbers in one column; rows without a number are left out."""

    def check(self, schema: Schema) -> None:
        """Refuse a column that the schema lacks, or that holds no numbers."""
        super().check(schema)
        column = schema.column(self.of)
        if column.kind not in _NUMBERS or (column.kind == "ordered" and column.type != "integer"):
            raise JobError(
                f"The use {self.name!r} wants the {self.kind} of {self.of!r}, which is {column.kind}, not a number.\n"
                "Ask for a rate of its values, or a table; or, if its values measure something, make it a number in\n"
                'the schema: kind = "integer" (or "real") with bins = { low = ..., high = ..., width = ... }.\n'
                f"{NOTHING}"
            )

    def figures(self, table: CodedTable) -> Quantity:
        """The figures of every group, from the rows that have a number."""
        group, number, weight = table.cells(self.groups), table.numbers(self.of), table.counts
        known = ~np.isnan(number)
        group, number = group[known], number[known]
        weight = np.ones(len(group)) if weight is None else weight[known]
        size = table.schema.size(self.groups)
        return self.of_numbers(number, group, weight, np.bincount(group, weight, size).astype(np.float64))

    @abstractmethod
    def of_numbers(self, number: Floats, group: Places, weight: Floats, rows: Floats) -> Quantity:
        """The figures of groups, given the numbers, whose group each is in, how often it counts, and their sums."""


@final
@dataclass(frozen=True)
class Mean(AbstractNumberUse):
    """The mean of the column ``of``.

    >>> Mean("pay", by=["year"], relative=0.02, group_size=500).what
    'mean of pay by year: relative error, groups of 500 or more'
    >>> Mean("pay", by=["sex", "year"], relative=0.02).table
    ('sex', 'year', 'pay')
    """

    kind: ClassVar[str] = "mean"

    @property
    def subject(self) -> str:
        """What is looked at."""
        return f"mean of {self.of}"

    @property
    def statistic(self) -> Statistic:
        """Bands of the column in every group."""
        return Statistic(self.groups, self.of)

    def of_numbers(self, number: Floats, group: Places, weight: Floats, rows: Floats) -> Quantity:
        """The mean of every group."""
        return Quantity(ratio(np.bincount(group, weight * number, len(rows)), rows), rows, np.empty(0))


@final
@dataclass(frozen=True)
class Quantile(AbstractNumberUse):
    """Quantiles of the column ``of``: the least values at or below which lies a share ``at`` of the rows.

    >>> Quantile("pay", 0.5, relative=0.05).name
    '0.5 quantile of pay'
    """

    kind: ClassVar[str] = "quantile"

    at: float | Sequence[float]

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys."""
        yield from super().problems(values)
        given = values.get("at", 0.5)
        each = given if isinstance(given, list | tuple) else (given,)
        if not each or not all(isinstance(a, float) and 0 < a < 1 for a in each):
            yield "at", "must lie between 0 and 1, or be a list of such numbers"

    @classmethod
    def settled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """``at`` as a list, also when it is one number."""
        return values if isinstance(values["at"], tuple) else {**values, "at": (values["at"],)}

    @property
    def shares(self) -> tuple[float, ...]:
        """Which quantiles."""
        return self.at if isinstance(self.at, tuple) else (self.at,)

    @property
    def subject(self) -> str:
        """What is looked at."""
        return f"{', '.join(f'{a:g}' for a in self.shares)} quantile of {self.of}"

    @property
    def repeats(self) -> tuple[str, ...]:
        """What the quantiles of one group are called, where it has several."""
        return tuple(f"at {a:g}" for a in self.shares) if len(self.shares) > 1 else ()

    @property
    def statistic(self) -> Statistic:
        """Bands of the column in every group, cut beside the quantiles."""
        return Statistic(self.groups, self.of, self.shares)

    def of_numbers(self, number: Floats, group: Places, weight: Floats, rows: Floats) -> Quantity:
        """The quantiles of every group, one after the other."""
        size = len(rows)
        order = np.lexsort((number, group))
        number, group, weight = number[order], group[order], weight[order]
        summed = np.cumsum(weight)
        ends = np.searchsorted(group, np.arange(size), side="right")
        before = np.concatenate([[0.0], summed])[np.searchsorted(group, np.arange(size), side="left")]
        held = np.concatenate([[0.0], summed])[ends] - before
        found, some = np.full((size, len(self.shares)), np.nan), held > 0
        for j, share in enumerate(self.shares):
            place = np.searchsorted(summed, before + share * held * (1 - 1e-12))
            found[some, j] = number[np.minimum(place, ends - 1)[some]]
        return Quantity(found.ravel(), np.repeat(rows, len(self.shares)), np.empty(0))
