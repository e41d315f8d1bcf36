"""Counting where Spark has the rows: every partition is coded and counted on its worker, by the kernel of files.

What reaches the driver are sums of counts, which Spark takes from one attempt of each task, however often it was
begun.  A cap on the rows of people brings the rows of a person together first, coded, and keeps those that come first
in the declared order: by number, by text, then by codes, so that nothing but that person's rows decides.

Functions that run on workers end in one fixed sentence when they fail: Spark writes an error's text into logs.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, final
from weakref import finalize

import numpy as np
import numpy.typing as npt
import polars as pl
from polars import selectors as cs

from hedgerow.counting import TIMES, UNIT, CountPlan, Lookup, coded, digits, hash_rows, keys, ties
from hedgerow.engines.frames import must_be_rows as must_be_rows
from hedgerow.engines.spark_rows import merged, opened, plain_files
from hedgerow.engines.sql import must_have_order
from hedgerow.public import (
    Coding,
    Counts,
    Guarantee,
    Source,
    as_text,
    code_type,
    records,
    spark_columns,
    spark_name,
    spark_remarks_off,
)

_CELLS = 1 << 16  # of one piece of counts
_FEW = 1 << 18  # counts of a plan up to which the driver adds up those of all partitions by itself
_PIECE, _ROW = "rows long, codes binary", "person string, number double, text string, codes binary"
_SUM, _HASH = "piece int, counts binary", "hash binary"
_Lines = dict[str, npt.NDArray[Any]]
_Work = Callable[[Iterator[Any]], Iterator[Any]]


@final
class SparkCounter:
    """Counts a Spark frame, as ``Counter`` says. Rows are coded once, and their codes kept in the workers' memory.

    ``order`` is the column by which the rows of a person come first.
    """

    __slots__ = ("__weakref__", "_coded", "_coder", "_frame", "columns")

    def __init__(self, frame: Any, coding: Coding, guarantee: Guarantee, order: str = "") -> None:
        must_have_order(guarantee, order)
        self._frame, self._coded, self.columns = frame, None, spark_columns(frame)
        self._coder = _Coder(coding, guarantee, order, self.columns)

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts: those of all pieces of all partitions, added up."""
        if self._coded is None:
            self._coded = self._codes()
            finalize(self, _forget, self._coded)
        coder, total = self._coder, np.zeros(plan.size, np.int64)
        pieces = _mapped(self._coded, lambda batches: coder.count(plan, batches), _SUM)
        if plan.size > _FEW:
            with spark_remarks_off():
                pieces = pieces.groupBy("piece").applyInArrow(_added, _SUM)
        for piece, counts in pieces.collect():
            part = np.frombuffer(counts, np.int64)
            total[piece * _CELLS :][: len(part)] += part
        return total

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records of a keyed hash of each; the key goes to the workers."""
        coder = self._coder
        found = _of_rows(self._frame, self.columns, lambda rows: coder.hash(key, rows), _HASH)
        return sum((np.frombuffer(h, np.uint64) for (h,) in found.collect()), np.zeros(2, np.uint64)).tobytes()

    def _codes(self) -> Any:
        """The codes of all rows that count, in pieces; with a cap, whole people in one piece."""
        from pyspark import StorageLevel
        from pyspark.sql.functions import col

        coder = self._coder
        if coder.guarantee.person:
            firsts = [col("person"), *(col(c).asc_nulls_last() for c in ("number", "text")), col("codes")]
            rows = _of_rows(self._frame, coder.needed, coder.rows, _ROW)
            ordered = rows.repartition(_brought_to(rows), "person").sortWithinPartitions(*firsts)
            pieces = _mapped(ordered.select("person", "codes"), coder.cap, _PIECE)
        else:
            pieces = _of_rows(self._frame, coder.needed, coder.code, _PIECE)
        return pieces.persist(StorageLevel.MEMORY_ONLY)  # what does not fit is coded anew: no disk holds it


@final
@dataclass(frozen=True)
class _Coder:
    """What workers do: it goes to them whole, and holds public facts only."""

    coding: Coding
    guarantee: Guarantee
    order: str
    columns: tuple[str, ...]

    @cached_property
    def needed(self) -> list[str]:
        """The columns that are read to count."""
        others = (self.guarantee.person, self.guarantee.count, self.order if self.guarantee.person else "")
        return [*dict.fromkeys([*(c.name for c in self.coding.columns), *filter(None, others)])]

    @cached_property
    def lines(self) -> dict[str, Any]:
        """The lines of a piece of codes, and their types."""
        found: dict[str, Any] = {n: code_type(self.coding.sizes[n]) for n in ties(self.coding, self.guarantee)}
        if self.guarantee.count:
            found[TIMES] = np.int64
        return found | ({UNIT: np.uint32} if self.guarantee.person else {})

    def code(self, frames: Iterator[pl.DataFrame]) -> Iterator[Any]:
        """Rows as pieces of codes."""
        count, lookups = self.guarantee.count, {c: Lookup(partial(coded, c)) for c in self.coding.columns}
        for frame in frames:
            codes: _Lines = {c.name: np.empty(len(frame), code_type(c.size)) for c in lookups}
            for c, of in lookups.items():
                of.writer(frame[c.name])(0, 0, codes[c.name])
            yield self._piece(codes | ({TIMES: records(frame[count])} if count else {}))

    def rows(self, frames: Iterator[pl.DataFrame]) -> Iterator[Any]:
        """Every row that names a person by itself: who, what it is ordered by, and its codes as they are compared."""
        import pyarrow as pa

        for frame in frames:
            person = as_text(frame[self.guarantee.person])
            named = frame.filter(person.is_not_null())
            codes = self.coding.encode(named, ties(self.coding, self.guarantee))
            wide = [_wide(line) for line in codes.values()]
            whole = np.concatenate(wide, axis=1)
            ends = pa.py_buffer(np.arange(len(whole) + 1, dtype=np.int32) * whole.shape[1])
            packed = pa.Array.from_buffers(pa.binary(), len(whole), [None, ends, pa.py_buffer(whole.tobytes())])
            by = keys(named[self.order or self.guarantee.person])  # without a cap any order will do
            order = [by["number"].to_arrow(), by["text"].to_arrow().cast(pa.string())]
            who = person.drop_nulls().to_arrow().cast(pa.string())
            yield pa.RecordBatch.from_arrays([who, *order, packed], ["person", "number", "text", "codes"])

    def cap(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Of sorted rows the first of every person, in pieces that hold people whole."""
        held, last, seen = pl.DataFrame(schema={"codes": pl.Binary, "run": pl.Int64}), None, 0
        for frame in merged(batches):
            person = frame["person"]
            begins = (person != person.shift(1)).fill_null(True).to_numpy().copy()
            begins[0] = person[0] != last
            run = np.cumsum(begins)
            place = np.arange(len(run)) - np.concatenate([[-seen], np.flatnonzero(begins)])[run]
            last, seen = person[-1], int(place[-1]) + 1
            kept = frame.select("codes", run=pl.Series(run)).filter(place < self.guarantee.rows_per_person)
            kept = held.vstack(kept)
            whole = kept["run"] < run[-1]
            yield from self._people(kept.filter(whole))
            held = kept.filter(~whole).with_columns(run=pl.lit(0, pl.Int64))
        yield from self._people(held)

    def _people(self, kept: pl.DataFrame) -> Iterator[Any]:
        if kept.height:
            rows = np.frombuffer(b"".join(kept["codes"]), np.uint8).reshape(kept.height, -1)
            ends = np.cumsum([0, *(np.dtype(t).itemsize for n, t in self.lines.items() if n != UNIT)])
            codes = {
                name: rows[:, low:high].copy().view(np.dtype(kind).newbyteorder(">"))[:, 0].astype(kind)
                for (name, kind), low, high in zip(self.lines.items(), ends, ends[1:], strict=False)
            }
            yield self._piece(codes | {UNIT: kept["run"].rank("dense").to_numpy().astype(np.uint32) - 1})

    def _piece(self, codes: _Lines) -> Any:
        import pyarrow as pa

        packed = b"".join(np.ascontiguousarray(codes[n], kind).tobytes() for n, kind in self.lines.items())
        rows = len(next(iter(codes.values())))
        return pa.RecordBatch.from_pydict(
            {"rows": pa.array([rows], pa.int64()), "codes": pa.array([packed], pa.binary())}
        )

    def _lines_of(self, rows: int, packed: bytes) -> _Lines:
        at, found = 0, _Lines()
        for name, kind in self.lines.items():
            found[name] = np.frombuffer(packed, kind, rows, at)
            at += rows * np.dtype(kind).itemsize
        return found

    def count(self, plan: CountPlan, batches: Iterator[Any]) -> Iterator[Any]:
        """The counts of all pieces of a partition, in pieces that are not all zero."""
        import pyarrow as pa

        total = np.zeros(plan.size, np.int64)
        for rows, packed in ((r["rows"], r["codes"]) for batch in batches for r in batch.to_pylist()):
            part = self._lines_of(rows, packed)
            part.setdefault(UNIT, np.arange(rows, dtype=np.uint32))
            for times, lines in digits(part):
                total += times * plan.count(self.coding.join(lines, plan.columns))
        pieces = {i: total[low : low + _CELLS] for i, low in enumerate(range(0, plan.size, _CELLS))}
        found = {i: p.tobytes() for i, p in pieces.items() if p.any()}
        numbers, sums = pa.array([*found], pa.int32()), pa.array([*found.values()], pa.binary())
        yield pa.RecordBatch.from_arrays([numbers, sums], ["piece", "counts"])

    def hash(self, key: bytes, frames: Iterator[pl.DataFrame]) -> Iterator[Any]:
        """The sum of keyed hashes over the records of a partition."""
        import pyarrow as pa

        count, total = self.guarantee.count, np.zeros(2, np.uint64)
        values = sorted({*self.columns} - {count})
        for frame in frames:
            part = {TIMES: records(frame[count])} if count else {}
            for times, lines in digits({**part, UNIT: np.arange(len(frame))}):
                total += np.uint64(times) * hash_rows(frame[lines[UNIT]].select(values), key)
        yield pa.RecordBatch.from_pydict({"hash": pa.array([total.tobytes()], pa.binary())})


def _brought_to(rows: Any) -> int:
    """How many partitions people are brought together in: as many as rows come in, or cores to count them.

    Spark's own number, 200, is the most: each request begins a Python task for every one, however few the rows.
    """
    spark = rows.sparkSession
    there: int = max(rows.rdd.getNumPartitions(), spark.sparkContext.defaultParallelism)
    most = spark.conf.get("spark.sql.shuffle.partitions")
    return min(there, int(most)) if most.isdigit() else there  # "auto", as some offer


def _forget(frame: Any) -> None:
    with suppress(Exception):  # a session that has ended holds nothing
        frame.unpersist()


def _mapped(frame: Any, work: _Work, gives: str) -> Any:
    """What ``work`` makes of every partition, as a frame."""
    with spark_remarks_off():
        return frame.mapInArrow(_quiet(work), gives)


def _of_rows(
    frame: Any, columns: Sequence[str], work: Callable[[Iterator[pl.DataFrame]], Iterator[Any]], gives: str
) -> Any:
    """What ``work`` makes of some columns of the rows of every partition, as a frame."""
    if parts := plain_files(frame, columns):
        places = frame.sparkSession.range(0, len(parts), 1, len(parts))
        return _mapped(places, lambda batches: work(_read(opened(parts, batches, columns), columns)), gives)
    rows = frame.select(*map(spark_name, columns))
    return _mapped(rows, lambda batches: work(_read(merged(batches), columns)), gives)


def _quiet(work: _Work) -> _Work:
    """``work`` on a worker; when it fails the same words: Spark's logs quote the text of an error."""

    def quietly(batches: Iterator[Any]) -> Iterator[Any]:
        shown, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)  # libraries in other languages write there what went wrong, before they raise
        try:
            yield from work(batches)
            return
        except (Exception, pl.exceptions.PanicException):
            pass  # its text may hold a value; it must not be the context of what is raised below
        finally:
            os.dup2(shown, 2)
            os.close(shown)
            os.close(nowhere)
        raise RuntimeError("A partition of the confidential table could not be counted.")

    return quietly


def _added(pieces: Any) -> Any:
    """The sum of the counts of one piece over all partitions."""
    import pyarrow as pa

    sums = np.sum([np.frombuffer(p, np.int64) for p in pieces["counts"].to_pylist()], axis=0)
    return pa.table(
        {"piece": pieces["piece"].slice(0, 1).combine_chunks(), "counts": pa.array([sums.tobytes()], pa.binary())}
    )


def _read(frames: Iterator[pl.DataFrame], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Rows as every other table is read; times by the clock of Greenwich, whatever the session's."""
    zoned = cs.datetime(time_zone="*").dt.convert_time_zone("UTC")
    read = Source("partition", tuple(columns), lambda names, rows: (f.with_columns(zoned) for f in frames))
    return read.batches(columns)


def _wide(line: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Codes as bytes that are ordered as they are: the highest first."""
    return line.astype(line.dtype.newbyteorder(">")).view(np.uint8).reshape(len(line), line.itemsize)  # also of none
