"""The confidential rows: streamed, capped per person, counted. Nothing outside this folder can read them."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NoReturn, Protocol, TypeVar, final, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import TableMismatch
from hedgerow.public.coding import Coding, as_text, person_cap, records
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts

_MIX = np.uint64(0x9E3779B97F4A7C15)
T = TypeVar("T")


@runtime_checkable
class RowSource(Protocol):
    """A table that can be read in batches. Its header is known without reading a row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, from the header."""

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows, some columns, in file order."""


@final
class ConfidentialRows:
    """Rows that may be counted inside this folder and never shown.

    Only the header is looked at here.  What goes wrong with rows in hand is told in one fixed sentence.
    """

    __slots__ = ("_coding", "_guarantee", "_source")

    def __init__(self, source: RowSource, coding: Coding, guarantee: Guarantee) -> None:
        self._source, self._coding, self._guarantee = source, coding, guarantee
        needed = [*(c.name for c in coding.columns), *filter(None, (guarantee.person, guarantee.count))]
        if absent := {c for c in needed if c not in source.columns or (c == guarantee.count and needed.count(c) > 1)}:
            raise TableMismatch(
                f"The confidential table has no column {', '.join(absent)}, or it is count and in the schema\n"
                "too. Columns are called alike in table, schema and job. Only the header was read; nothing was spent."
            )

    def count(self, plan: CountPlan) -> tuple[Counts, ...]:
        """The exact counts. Confidential: add noise before they leave this folder."""

        def total() -> Counts:
            lines = self._times(self._kept(self._coding.needs(plan.columns)))
            counts = (times * plan.count(self._coding.encode(batch, plan.columns)) for times, batch in lines)
            return sum(counts, np.zeros(plan.size, np.int64))

        return plan.split(_in_fixed_words(total))

    def fingerprint(self, key: bytes) -> str:
        """A keyed hash of all records, whatever their order, file format or aggregation: no part of it tells one."""

        def total() -> bytes:
            values = sorted({*self._source.columns} - {self._guarantee.count})
            lines = self._times(self._source.batches(self._source.columns))
            hashes = (np.uint64(times) * _hash_rows(batch.select(values), key) for times, batch in lines)
            return sum(hashes, np.zeros(2, np.uint64)).tobytes()

        return hashlib.blake2b(_in_fixed_words(total), key=key, digest_size=16).hexdigest()

    def _times(self, batches: Iterator[pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame]]:
        """How often which lines count: one that stands for n records counts with each binary digit of n."""
        column = self._guarantee.count
        for batch in batches:
            n = records(batch[column]) if column else np.ones(1, np.int64)
            for digit in range(int(n.max(initial=0)).bit_length()):
                yield 1 << digit, batch[np.flatnonzero(n >> digit & 1)] if column else batch

    def _kept(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows that count, by ``person_cap``; two readings, and the table must not change between them."""
        if not (person := self._guarantee.person):
            yield from self._source.batches([*columns, *filter(None, [self._guarantee.count])])
            return
        names = pl.concat([pl.Series(dtype=pl.String), *(as_text(b[person]) for b in self._source.batches([person]))])
        counts, start = person_cap(names, self._guarantee.rows_per_person), 0
        for batch in self._source.batches([*columns, person]):
            here = slice(start, start := start + len(batch))
            if not as_text(batch[person]).equals(names[here]):
                raise ValueError("the table changed between two readings")
            yield batch.filter(counts[here])

    def __repr__(self) -> str:
        return "ConfidentialRows(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Confidential rows cannot be pickled or copied.")


def _hash_rows(batch: pl.DataFrame, key: bytes) -> npt.NDArray[np.uint64]:
    """The sum over rows of a hash of each row: of the keyed hashes of its values, column by column."""
    row = np.zeros((len(batch), 2), np.uint64)
    for column in batch.iter_columns():
        text = (column if column.dtype == pl.String else as_text(column)).fill_null("")
        distinct = text.unique()  # trimmed only now: texts that differ in blanks alone are hashed alike
        salted = [f"{column.name}\0{value}".encode() for value in as_text(distinct).fill_null("")]
        words = b"".join(hashlib.blake2b(t, key=key, digest_size=16).digest() for t in salted)
        place = text.cast(pl.Enum(distinct)).to_physical()
        row = (row ^ np.frombuffer(words, np.uint64).reshape(-1, 2).take(place.to_numpy(), axis=0)) * _MIX
        row ^= row >> np.uint64(29)
    return np.asarray(row.sum(axis=0, dtype=np.uint64))


def _in_fixed_words(work: Callable[[], T]) -> T:
    """What ``work`` gives; if it fails with rows in hand, the same words: an error's text or kind may tell of one."""
    with suppress(Exception, pl.exceptions.PanicException):  # it must not be the context of what is raised below
        return work()
    raise TableMismatch(
        "The confidential table could not be read to its end: the file may be damaged, memory too small, or a CSV\n"
        "value may hold a line end or an unmatched quote (write it as Parquet). Mend that and continue with\n"
        "--resume: what is booked but not yet answered is not charged twice."
    )
