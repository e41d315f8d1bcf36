"""The counter of files and frames: one pass reads, codes, fingerprints and caps; every request counts kept codes.

Codes are kept in parts (``counting/parts.py``).  A batch is coded in one thread while others are read.
"""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Protocol, cast, final, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.encode import Lookup, encode
from hedgerow.counting.fingerprint import RowKey
from hedgerow.counting.order import ALL, first_rows, must_be_public, name_of, ranks, ties, within_cap
from hedgerow.counting.parts import TIMES, Part, digits, filled, in_order, rooms, stored, whole_units
from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.public.coding import Coding, as_text, code_type, records
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts

THREADS = min(8, getattr(os, "process_cpu_count", os.cpu_count)() or 1)  # the former from Python 3.13
_ROWS, _VALUES, _HASHED = 1 << 18, 1 << 22, 1 << 13  # the most rows and values of a batch, and rows hashed at once
_FEW = 1 << 22  # cells of a plan that every thread may hold


@runtime_checkable
class RowSource(Protocol):
    """A table that can be read in batches. Its header is known without reading a row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, from the header."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        """The rows, some columns, in file order, at most so many at a time."""


@final
class LocalCounter:
    """Counts a table that this process can read, as ``Counter`` says. Nothing is read before it is asked for.

    With ``order``, a column, a person's rows come by its values (``ranks``).  ``most``: bytes of codes in memory.
    """

    __slots__ = ("_coding", "_guarantee", "_kept", "_most", "_order", "_source", "_whole", "columns")

    def __init__(
        self, source: RowSource, coding: Coding, guarantee: Guarantee, order: str = "", most: int = ALL
    ) -> None:
        must_be_public(guarantee, order)
        self._source, self._coding, self._guarantee, self._order, self._most = source, coding, guarantee, order, most
        self.columns, self._whole, self._kept = source.columns, False, cast(list[Part] | None, None)

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts over all rows that count."""
        if self._kept is None:
            self._read(None)
        if UNIT in plan.columns and not self._whole:
            self._kept, self._whole = stored(whole_units(self._kept or []), self._most), True

        def counted(part: Part) -> Counts:
            lines = ((times, self._coding.join(some, plan.columns)) for times, some in digits(part))
            return sum((times * plan.count(codes) for times, codes in lines), np.zeros(plan.size, np.int64))

        parts = in_order(THREADS if plan.size <= _FEW else 1, counted, self._kept or [])
        return sum(parts, np.zeros(plan.size, np.int64))

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records of a keyed hash of each. What is counted from here on are the rows it is of."""
        return self._read(key).tobytes()

    def _read(self, key: bytes | None) -> npt.NDArray[np.uint64]:
        """Read the table: keep the codes of all rows that count, and give the sum of hashes if there is a key."""
        person, count, hashes = self._guarantee.person, self._guarantee.count, [np.zeros(2, np.uint64)]
        rules = {c.name: [partial(encode, c)] for c in self._coding.columns}
        types = {c.name: code_type(c.size) for c in self._coding.columns} | ({TIMES: np.uint32} if count else {})
        hashed = sorted({*self.columns} - {count}) if key is not None else []
        with_key = RowKey.of(key, hashed) if key is not None else None
        lookups = {n: Lookup(*rules.get(n, ()), *([with_key.words] if with_key else ())) for n in hashed or rules}
        columns = list(dict.fromkeys([*lookups, *filter(None, (person, count, person and self._order))]))

        def coded(given: tuple[pl.DataFrame, Part, int]) -> tuple[Part, int, npt.NDArray[np.uint64], pl.DataFrame]:
            batch, room, at = given
            part = {name: line[at : at + len(batch)] for name, line in room.items()}
            write = {name: of.writer(batch[name]) for name, of in lookups.items()}
            for name in rules:
                write[name](0, 0, part[name])
            if count:
                part[TIMES][:] = records(batch[count].alias(""))  # no name: Polars takes ^t.*$ for a pattern
            times = part[TIMES].astype(np.uint64) if count else np.ones(len(batch), np.uint64)
            total = np.zeros(2, np.uint64)
            for low in range(0, len(batch), _HASHED) if key is not None else ():
                words = np.empty((len(hashed), len(times[low : low + _HASHED])), np.uint64)
                for name, line in zip(hashed, words, strict=True):
                    write[name](-1, low, line)
                total += cast(RowKey, with_key).total(words, times[low : low + _HASHED])
            told = [name_of(batch[person].alias(""), texts).alias("person")] if person else []
            told += [as_text(batch[self._order].alias("")).cast(texts).alias("order")] if self._order else []
            return room, len(batch), total, pl.DataFrame(told)

        texts, people = pl.Categorical(pl.Categories(str(id(self)))), list[pl.DataFrame]()  # a text is held once

        def parts() -> Iterator[tuple[Part, int]]:
            rows = max(1 << 12, min(_ROWS, _VALUES // len(columns)))
            given = rooms(self._source.batches(columns, rows), 4 * rows, types)  # many small parts take longer
            for room, more, total, names in in_order(THREADS, coded, given):
                hashes.append(total)
                people.append(names)
                yield room, more

        kept = stored(filled(parts()), self._most)
        if person and people:
            cap(kept, pl.concat(people), self._guarantee.rows_per_person, ties(self._coding, self._guarantee))
        self._kept, self._whole = kept, False  # not before: rows over the cap are never at hand, whatever fails
        return np.asarray(np.sum(hashes, axis=0, dtype=np.uint64))


def cap(parts: Sequence[Part], people: pl.DataFrame, rows: int, names: Sequence[str]) -> None:
    """Leave in ``parts`` what counts by ``person_cap``; the unit of a row is the row with which its person begins."""
    first, keep = first_rows(people["person"]), np.empty(len(people), bool)
    person = first.set(people["person"].is_null(), None)
    by, end = cast(Any, slice(None)), 0
    if "order" in people.columns:  # rows of equal rank by their codes: of rows with equal codes any may count
        told, by = people["order"].unique(), np.arange(len(people))
        place = people["order"].replace_strict(told, ranks(told.cast(pl.String)), return_dtype=pl.UInt32)
        for name in reversed(names):  # one at a time: what lies in files does not come back into memory at once
            by = by[np.argsort(np.concatenate([part[name] for part in parts])[by], kind="stable")]
        by = by[np.argsort(place.to_numpy()[by], kind="stable")]
    keep[by] = within_cap(person[by], rows).to_numpy()
    for part in parts:
        here = slice(end, end := end + len(next(iter(part.values()))))
        for name, line in part.items():
            line[: keep[here].sum()] = line[keep[here]]
            part[name] = line[: keep[here].sum()]
        part[UNIT] = first.to_numpy()[here][keep[here]]
