"""The counter of files and frames: one pass reads, codes, fingerprints and caps; every request counts kept codes.

Codes are one or two bytes a value.  They are kept in memory, and beyond a limit in files without a name, which nobody
can open and which are gone with the process, however it ends.  A batch is coded in one thread while others are read.
"""

import mmap
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, TypeVar, cast, final, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.encode import Lookup, encode
from hedgerow.counting.fingerprint import RowKey
from hedgerow.counting.order import must_be_public, ranks, ties
from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.public.coding import Coding, as_text, code_type, person_cap, records
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts

THREADS = min(8, getattr(os, "process_cpu_count", os.cpu_count)() or 1)  # the former from Python 3.13
IN_MEMORY = 1 << 30  # bytes of codes
_ROWS, _VALUES = 1 << 18, 1 << 22  # the most rows and values of a batch
_PART = 1 << 20  # rows of a part that is kept: to count many small ones takes longer
_FEW = 1 << 22  # cells of a plan that every thread may hold
_TIMES = "\0times"  # how many records a line stands for; no column of a file has such a name
_Part = dict[str, npt.NDArray[Any]]
_Coded = tuple[_Part, npt.NDArray[np.uint64], pl.DataFrame]
In = TypeVar("In")
Out = TypeVar("Out")


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

    With ``order``, a column, the rows of a person come by its values (``ranks``), not as they stand.
    """

    __slots__ = ("_coding", "_guarantee", "_kept", "_order", "_source", "_whole", "columns")

    def __init__(self, source: RowSource, coding: Coding, guarantee: Guarantee, order: str = "") -> None:
        must_be_public(guarantee, order)
        self._source, self._coding, self._guarantee, self._order = source, coding, guarantee, order
        self.columns, self._whole, self._kept = source.columns, False, cast(list[_Part] | None, None)

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts over all rows that count."""
        if self._kept is None:
            self._read(None)
        if UNIT in plan.columns and not self._whole:
            self._kept, self._whole = stored(whole_units(self._kept or [])), True

        def counted(part: _Part) -> Counts:
            lines = ((times, self._coding.join(some, plan.columns)) for times, some in digits(part))
            return sum((times * plan.count(codes) for times, codes in lines), np.zeros(plan.size, np.int64))

        parts = in_order(THREADS if plan.size <= _FEW else 1, counted, self._kept or [])
        return sum(parts, np.zeros(plan.size, np.int64))

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records of a keyed hash of each. What is counted from here on are the rows it is of."""
        return self._read(key).tobytes()

    def _read(self, key: bytes | None) -> npt.NDArray[np.uint64]:
        """Read the table: keep the codes of all rows that count, and give the sum of hashes if there is a key."""
        person, count = self._guarantee.person, self._guarantee.count
        rules = {c.name: [partial(encode, c)] for c in self._coding.columns}
        hashed = sorted({*self.columns} - {count}) if key is not None else []
        with_key = RowKey.of(key, hashed) if key is not None else None
        lookups = {n: Lookup(*rules.get(n, ()), *([with_key.words] if with_key else ())) for n in hashed or rules}
        columns = list(dict.fromkeys([*lookups, *filter(None, (person, count, person and self._order))]))

        def coded(batch: pl.DataFrame) -> _Coded:
            part = {c.name: np.empty(len(batch), code_type(c.size)) for c in self._coding.columns}
            words = np.empty((len(hashed), len(batch)), np.uint64)
            for name, of in lookups.items():
                lines = [part[name]] if name in part else []
                of.fill(batch[name], *lines, *([words[hashed.index(name)]] if with_key else []))
            if count:
                part[_TIMES] = records(batch[count]).astype(np.uint32)
            times = part[_TIMES].astype(np.uint64) if count else np.ones(len(batch), np.uint64)
            total = with_key.total(words, times) if with_key else np.zeros(2, np.uint64)
            told = [name_of(batch[person]).alias("person")] if person else []
            return (
                part,
                total,
                pl.DataFrame([*told, *([as_text(batch[self._order]).alias("order")] if self._order else [])]),
            )

        people, hashes, self._whole = list[pl.DataFrame](), [np.zeros(2, np.uint64)], False

        def parts() -> Iterator[_Part]:
            batches = self._source.batches(columns, max(1 << 12, min(_ROWS, _VALUES // len(columns))))
            for part, total, names in in_order(THREADS, coded, batches):
                hashes.append(total)
                people.append(names)
                yield part

        self._kept = stored(merged(parts()))
        if person and people:
            first = ties(self._coding, self._guarantee)
            cap(self._kept, pl.concat(people), self._guarantee.rows_per_person, first)
        return np.asarray(np.sum(hashes, axis=0, dtype=np.uint64))


def name_of(person: pl.Series) -> pl.Series:
    """What people are told apart by: ``as_text``, or whole numbers as they are, which is the same."""
    return person.cast(pl.Int64) if person.dtype.is_integer() and person.dtype != pl.UInt64 else as_text(person)


def cap(parts: Sequence[_Part], people: pl.DataFrame, rows: int, names: Sequence[str]) -> None:
    """Leave in ``parts`` what counts by ``person_cap``; the unit of a row is the row with which its person begins."""
    person, keep = people["person"], np.empty(len(people), bool)
    if "order" in people.columns:  # rows of equal rank by their codes: of rows with equal codes any may count
        codes = [np.concatenate([part[name] for part in parts]) for name in reversed(names)]
        by = np.lexsort([*codes, ranks(people["order"]).to_numpy()])
        keep[by] = person_cap(person.gather(by), rows).to_numpy()
    else:
        keep[:] = person_cap(person, rows).to_numpy()
    first = person.to_frame("p").with_row_index().select(pl.col("index").min().over("p")).to_series().to_numpy()
    end = 0
    for part in parts:
        here = slice(end, end := end + len(next(iter(part.values()))))
        for name, line in part.items():
            line[: keep[here].sum()] = line[keep[here]]
            part[name] = line[: keep[here].sum()]
        part[UNIT] = first[here][keep[here]]


def whole_units(parts: Sequence[_Part]) -> Iterator[_Part]:
    """The same rows with the units of each part whole, in the order in which they first stand, and numbered."""
    if not parts or UNIT not in parts[0]:
        yield from ({**part, UNIT: np.arange(len(next(iter(part.values()))), dtype=np.uint32)} for part in parts)
        return
    unit = np.concatenate([part[UNIT] for part in parts])
    order = np.argsort(unit, kind="stable")
    begins = np.flatnonzero(np.diff(unit[order].astype(np.int64), prepend=-1))
    number = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(unit)))
    lines = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]} | {UNIT: number}
    cuts = np.unique(begins[np.searchsorted(begins, np.arange(0, len(unit), _PART), "right") - 1])
    for low, high in pairwise([*cuts, len(unit)]):
        yield {n: line[low:high] for n, line in lines.items()} | {
            UNIT: (number[low:high] - number[low]).astype(np.uint32)
        }


def digits(part: _Part) -> Iterator[tuple[int, _Part]]:
    """How often which lines count: one that stands for n records counts with each binary digit of n."""
    if _TIMES not in part:
        yield 1, part
        return
    n = part[_TIMES]
    for digit in range(int(n.max(initial=0)).bit_length()):
        some = n >> digit & 1 == 1
        yield 1 << digit, {name: line[some] for name, line in part.items()}


def in_order(threads: int, work: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
    """The results of ``work``, in order, with at most ``threads`` of them begun early."""
    with ThreadPoolExecutor(threads) as pool:
        begun = deque[Future[Out]]()
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) > threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def stored(parts: Iterable[_Part]) -> list[_Part]:
    """The parts, in memory up to a limit, then in files that have no name and only this process can read."""
    held, kept = 0, list[_Part]()
    for part in parts:
        held += sum(line.nbytes for line in part.values())
        kept.append(part if held <= IN_MEMORY else in_file(part))
    return kept


def merged(parts: Iterable[_Part]) -> Iterator[_Part]:
    """The same rows in fewer parts."""
    some, rows = list[_Part](), 0
    for part in parts:
        some.append(part)
        rows += len(next(iter(part.values())))
        if rows >= _PART:
            yield {name: np.concatenate([p[name] for p in some]) for name in part}
            some, rows = [], 0
    if some:
        yield {name: np.concatenate([p[name] for p in some]) for name in some[0]}


def in_file(part: _Part) -> _Part:
    """The part as a memory map of a file that was never in a folder, or is there no longer."""
    lines = sorted(part.items(), key=lambda item: -item[1].itemsize)  # so that each is aligned
    if not sum(line.nbytes for _, line in lines):
        return part
    with tempfile.TemporaryFile() as file:
        for _, line in lines:
            file.write(line.tobytes())
        file.flush()
        held, at = mmap.mmap(file.fileno(), 0), 0
    out = {}
    for name, line in lines:
        out[name] = np.frombuffer(held, line.dtype, len(line), at)
        at += line.nbytes
    return out
