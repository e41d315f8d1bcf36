"""The share of people of whom something is ever true, or in whom something changes over time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, ClassVar, Literal, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.public import BINNED, CodedTable, Floats, Places, Schema, owners
from hedgerow.uses.base import NOTHING, AbstractColumnUse, Quantity, is_names, ratio

Change = Literal["rises", "falls", "changes"]


@final
@dataclass(frozen=True)
class PersonRate(AbstractColumnUse):
    """The share of people whose column ``of`` ever has one of ``values``, or ``change`` from one time to the next.

    A person is in the group of the last row.

    Attributes:
        of: the column.
        person: the column that names people; all their rows are looked at.
        values: as they stand in the file; a person counts who has one of them in any row.
        change: instead of values: ``rises``, ``falls`` or ``changes`` between two rows that follow in ``time``.
        time: the column that orders a person's rows.

    >>> PersonRate("grade", person="id", change="rises", time="year", by=["sex"], tolerance=0.02).name
    'share of people whose grade ever rises by sex'
    """

    kind: ClassVar[str] = "person-rate"

    person: str = field(kw_only=True)
    values: Sequence[str] = field(default=(), kw_only=True)
    change: Change | Literal[""] = field(default="", kw_only=True)
    time: str = field(default="", kw_only=True)

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys."""
        yield from super().problems(values)
        change = values.get("change", "")
        if not is_names(values.get("values", ())):
            yield "values", 'must be a list of texts, such as ["2"]'
        elif change not in ("", "rises", "falls", "changes"):
            yield "change", "must be rises, falls or changes"
        elif bool(change) == bool(values.get("values")):
            yield "change", "say either change or values"
        elif change and not values.get("time"):
            yield "time", "must name the column that orders a person's rows"

    @property
    def subject(self) -> str:
        """What is looked at."""
        ever = f"is {' or '.join(self.values)}" if self.values else self.change
        return f"share of people whose {self.of} ever {ever}"

    @property
    def table(self) -> tuple[str, ...]:
        """No one table of rows gives it."""
        return ()

    @property
    def columns_named(self) -> tuple[str, ...]:
        """The columns that the use names one by one, but for the one that names people."""
        return (*self.by, self.of, *filter(None, [self.time]))

    def check(self, schema: Schema) -> None:
        """Refuse a column that the schema lacks, or one that cannot rise."""
        super().check(schema)
        kind = schema.column(self.of).kind
        if self.change in ("rises", "falls") and kind != "ordered" and kind not in BINNED:
            raise JobError(
                f"The use {self.name!r}: the values of {self.of} have no order, so none {self.change}. {NOTHING}"
            )

    def works_on(self, table: CodedTable) -> bool:
        """People must be named, and the column there."""
        return table.counts is None and {self.of, self.person} <= set(table.frame.columns)

    def size_in_words(self, error: float) -> str:
        """A difference of shares is in percentage points."""
        return super().size_in_words(error) if self.as_share else f"{100 * error:.2g} percentage points"

    def figures(self, table: CodedTable) -> Quantity:
        """The share of the people of every group."""
        if not self.works_on(table):
            raise JobError(
                f"The use {self.name!r} needs records that name people ({self.person}) and have {self.of}; those of\n"
                f"{table.name} do not. Labels once per person have: [target] person = {self.person!r}. {NOTHING}"
            )
        ever = self.of_last_rows(table)
        last = np.isfinite(ever)
        group, size = table.cells(self.groups)[last], table.schema.size(self.groups)
        many = np.bincount(group, minlength=size).astype(np.float64)
        return Quantity(ratio(np.bincount(group, ever[last], size), many), many, np.empty(0))

    def of_last_rows(self, table: CodedTable) -> Floats:
        """In the last row of every person, 1 if it is ever true of that person and 0 if not; else NaN."""
        who = owners(table, self.person).rank("dense").cast(int).to_numpy() - 1
        time = table.codes([self.time])[self.time] if self.time else np.zeros(table.rows, np.int64)
        order = np.lexsort((time, who))
        here = who[order]
        people = int(here[-1]) + 1 if len(here) else 0
        ever = np.zeros(people, np.bool_)
        ever[here[self._true(table, order, here)]] = True
        last = np.append(here[1:] != here[:-1], True) if len(here) else np.zeros(0, np.bool_)
        found = np.full(table.rows, np.nan)
        found[order[last]] = ever
        return found

    def half_sample_error(
        self, table: CodedTable, true: Quantity, rng: np.random.Generator, *, scale: float = 1.0
    ) -> float:
        """In closed form, of a random half of the people, each with all rows: a share is nearly normal."""
        judged = np.isfinite(self.error(true, true, scale=scale).parts)
        if table.counts is not None or not judged.any():
            return float("nan")
        p, n = true.values[judged], true.sizes[judged]
        off = np.sqrt(2 / np.pi * p * (1 - p) / n) / (np.maximum(p, 1e-12) if self.within == "relative" else 1.0)
        return float(off.max() if self.over == "worst" else off.mean()) / sqrt(scale)

    def _true(self, table: CodedTable, order: Places, who: Places) -> Places:
        """The rows, as they stand in order, that make it true of their person."""
        if self.values:
            return np.flatnonzero(table.has(self.of, self.values)[order])
        codes = np.asarray(table.codes([self.of])[self.of], np.int64)[order]
        step = np.diff(codes) * (who[1:] == who[:-1])
        moved = {"rises": step > 0, "falls": step < 0, "changes": step != 0}[self.change or "changes"]
        return np.flatnonzero(moved) + 1
