"""The confidential rows: counted by a counter, which alone reads them. Nothing outside this folder can have it."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, Protocol, TypeVar, final, runtime_checkable

import numpy as np
import polars as pl

from hedgerow.counting.fingerprint import sealed
from hedgerow.counting.plan import CountPlan
from hedgerow.errors import TableMismatch
from hedgerow.private.local import LocalCounter
from hedgerow.public.coding import Coding
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts

T = TypeVar("T")


@runtime_checkable
class Counter(Protocol):
    """What can count a table: wherever the rows are, it counts the same."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, from the header."""

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts over all rows that count (``person_cap``, ``records``), whichever the parts.

        A plan that looks at ``UNIT`` is given whole units: all rows of a person that count are in one part, next to
        each other in the order of the table, and ``UNIT`` numbers the people (or records) of that part from 0 on.
        """

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records of a keyed hash of each: the same whatever order, format or engine."""


Counting = Callable[[Any, Coding, Guarantee], Counter]
"""Makes the counter of a table, given how it is coded and what a unit is. No row is read."""


@final
class ConfidentialRows:
    """Rows that may be counted inside this folder and never shown.

    Only the header is looked at here.  What goes wrong with rows in hand is told in one fixed sentence.
    """

    __slots__ = ("_counter",)

    def __init__(self, source: Any, coding: Coding, guarantee: Guarantee, counter: Counting = LocalCounter) -> None:
        self._counter = counter(source, coding, guarantee)
        needed = [*(c.name for c in coding.columns), *filter(None, (guarantee.person, guarantee.count))]
        there = self._counter.columns
        if absent := {c for c in needed if c not in there or (c == guarantee.count and needed.count(c) > 1)}:
            raise TableMismatch(
                f"The confidential table has no column {', '.join(absent)}; or the job counts by it, and the schema\n"
                "has it. Names are the same in table, schema and job. Only the header was read; nothing was spent."
            )

    def count(self, plan: CountPlan) -> tuple[Counts, ...]:
        """The exact counts. Confidential: add noise before they leave this folder."""
        return plan.split(self.add_up(plan))

    def add_up(self, plan: CountPlan) -> Counts:
        """The exact counts as one vector. Confidential as well."""
        return _in_fixed_words(lambda: np.array(self._counter.count(plan), np.int64).reshape(plan.size))

    def fingerprint(self, key: bytes) -> str:
        """A keyed hash of all records, whatever their order, file format or aggregation: no part of it tells one."""
        return sealed(_in_fixed_words(lambda: self._counter.fingerprint(key)), key)

    def __repr__(self) -> str:
        return "ConfidentialRows(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Confidential rows cannot be pickled or copied.")


def _in_fixed_words(work: Callable[[], T]) -> T:
    """What ``work`` gives; if it fails with rows in hand, the same words: an error's text or kind may tell of one."""
    with suppress(Exception, pl.exceptions.PanicException):  # it must not be the context of what is raised below
        return work()
    raise TableMismatch(
        "The confidential table could not be read to its end: the file may be damaged or was written to meanwhile,\n"
        "memory too small, or a CSV value may hold a line end or an unmatched quote (write it as Parquet). Mend\n"
        "that and continue with --resume: what is booked but not yet answered is not charged twice."
    )
