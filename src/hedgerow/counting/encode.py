"""Functions of single values, worked out for whole columns: each distinct value once, then looked up for the rows.

The plain way gives the same: a ``CodedColumn`` looks at one value at a time.  What is distinct, compiled loops find:
of whole numbers and days all from the least to the largest; of texts what Arrow refers to by other words, which a
dictionary repeats; of other numbers what has other bits.  Where that is too much, rows take their turn.
"""

import ctypes
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count
from threading import Lock
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.kernel import compiled
from hedgerow.public.coding import CodedColumn, Codes, code_type

MOST = 1 << 11  # distinct texts or numbers that are looked for in a batch
SPAN = 1 << 12  # the widest range of whole numbers that is looked up
KNOWN = 1 << 16  # values of a column that are remembered from batch to batch
_Words = npt.NDArray[np.uint64]


class Distinct(NamedTuple):
    """A column of a batch: row r has the value ``values[place[r] - low]``. Equal values may stand twice."""

    values: pl.Series
    place: npt.NDArray[Any]
    low: int = 0


@final
class Lookup:
    """What some functions of one value give for the rows of a column, batch by batch; threads may share it."""

    def __init__(self, *functions: Callable[[pl.Series], npt.NDArray[Any]]) -> None:
        self._functions, self._lock = functions, Lock()
        self._known, self._tables = dict[Any, int](), list[npt.NDArray[Any]]()
        self._range = (0, list[npt.NDArray[Any]]())  # of whole numbers: the least met last, and the tables from it

    def writer(self, column: pl.Series) -> Callable[[int, int, npt.NDArray[Any]], None]:
        """Writes what a function, by its number, gives for rows of ``column``, from one on, as many as a line has."""
        column = column.alias("")  # Polars takes a name such as ^t.*$ for a pattern
        (low, tables), whole = self._range, column.dtype == pl.Int64 and not column.null_count()
        met = whole and tables and len(column) and low <= column.min() and column.max() < low + len(tables[0])  # type: ignore
        found = Distinct(column, column.to_numpy(), low) if met else distinct(column)
        if found is None:
            whole_of = cache(lambda which: self._functions[which](column))  # at once: a call of Polars takes time
            return lambda which, at, line: np.copyto(line, whole_of(which)[at : at + len(line)])
        if not met:
            with self._lock:
                tables = self._of(found.values)
                self._range = (found.low, tables) if whole and found.place.dtype == np.int64 else (0, [])
        return lambda which, at, line: look_up(tables[which], found.place[at : at + len(line)], found.low, line)

    def _of(self, values: pl.Series) -> list[npt.NDArray[Any]]:
        """The tables of ``values``; those not met before are worked out and remembered."""
        listed = values.to_list()
        if len(self._known) > KNOWN:
            self._known, self._tables = {}, []
        if new := [i for i, v in enumerate(listed) if v not in self._known]:
            fresh = [f(values if len(new) == len(listed) else values[new]) for f in self._functions]
            held = self._tables or [table[:0] for table in fresh]
            self._tables = [np.concatenate(both) for both in zip(held, fresh, strict=True)]
            self._known.update(zip((listed[i] for i in new), count(len(held[0])), strict=False))
        at = [self._known[v] for v in listed]
        return [table[at] for table in self._tables]


def encode(rule: CodedColumn, column: pl.Series) -> Codes:
    """The code of every value: that of ``rule.encode``, faster where numbers are put into bins."""
    if not rule.edges or rule.reading != "number" or not column.dtype.is_numeric():
        return rule.encode(column)
    plain = column.dtype == pl.Float64 and not column.null_count()
    numbers, edges = column.to_numpy() if plain else rule.numbers(column), np.array(rule.edges, np.float64)
    codes: Codes = np.array([*(rule.bins or range(len(edges) + 1)), rule.missing]).astype(code_type(rule.size))
    out, wide = np.empty_like(codes, shape=len(numbers)), rule.edges[-1] - rule.edges[0]
    put_in_bins(numbers, np.array([-np.inf, *edges, np.nan]), (len(edges) - 1) / wide if wide else 0.0, codes, out)
    for named, code in zip(rule.values, rule.codes, strict=True):
        out[numbers == rule.numbers(pl.Series([named]))] = code
    return out


def distinct(column: pl.Series) -> Distinct | None:
    """The column by its distinct values; None where they are too many."""
    kind = column.dtype
    if column.null_count() == len(column):
        return None
    if kind == pl.String:  # whoever reads a text takes an empty one for missing (``as_text``)
        column = column.fill_null("") if column.null_count() else column
        return _grouped(column, _references(column))
    if not (kind.is_integer() or kind in (pl.Date, pl.Boolean, pl.Float64)):
        return None
    filled = column.fill_null(column.drop_nulls()[0]) if column.null_count() else column
    found = None if kind == pl.Float64 else _in_range(filled)
    if found is None and kind in (pl.Float64, pl.Int64):
        found = _grouped(filled, [filled.to_numpy().view(np.uint64).reshape(-1, 1)])
    if found is not None and column.null_count():
        place = found.place.copy()
        place[column.is_null().to_numpy()] = found.low + len(found.values)
        found = found._replace(values=pl.concat([found.values, column.clear(1)]), place=place)
    return found


def _in_range(column: pl.Series) -> Distinct | None:
    whole = column.to_physical().cast(pl.Int64, strict=False)
    low, high = (0, SPAN) if whole.null_count() else (int(whole.min()), int(whole.max()))  # type: ignore
    if high - low >= SPAN or high == np.iinfo(np.int64).max:
        return None
    values, days = pl.Series(range(low, high + 1)), pl.Int32 if column.dtype == pl.Date else column.dtype
    return Distinct(values.cast(days).cast(column.dtype), whole.to_numpy(), low)


def _grouped(column: pl.Series, parts: Iterable[_Words]) -> Distinct | None:
    """The distinct values as equal words tell them; None if they are too many. Equal values may be told apart."""
    place, first, low, values = np.empty(len(column), np.uint16), np.empty(MOST, np.int64), 0, column.clear()
    for words in parts:
        many = group(words, place[low : low + len(words)], first, len(values))
        if many < 0:
            return None
        values.append(column[low + first[:many]])
        low += len(words)
    return Distinct(values, place) if low == len(column) else None


def _references(column: pl.Series) -> Iterator[_Words]:
    """For each text the two words by which Arrow refers to it: equal words are equal texts, within what is yielded.

    By the C interface of Arrow, whose structures are words of 64 bits; nothing if Polars gives another layout.
    """
    capsule, (schema, array) = column.__arrow_c_stream__(), ((ctypes.c_int64 * 9)(), (ctypes.c_int64 * 10)())
    stream = _pointer(capsule, b"arrow_array_stream")
    get_schema, get_next = map(_GET, (ctypes.c_int64 * 2).from_address(stream))
    get_schema(stream, schema)
    plain = ctypes.string_at(schema[0]) == b"vu"
    _RELEASE(schema[7])(schema)
    while plain and get_next(stream, array) == 0 and array[8]:
        rows, offset, buffers = array[0], array[2], array[5]
        words = (ctypes.c_uint64 * (2 * (offset + rows))).from_address((ctypes.c_int64 * 2).from_address(buffers)[1])
        try:  # who finds too many asks for no more; read-only, as numbers are, for which ``group`` is compiled anyway
            yield np.asarray(memoryview(words).toreadonly()).reshape(-1, 2)[offset:]
        finally:
            _RELEASE(array[8])(array)


_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_pointer = _POINTER(("PyCapsule_GetPointer", ctypes.pythonapi))


@compiled
def group(words: Any, place: Any, first: Any, start: int) -> int:
    """Number equal lines of ``words`` from ``start`` on, and note the first of each; -1 if they are too many."""
    bits = 2
    while 1 << bits < 2 * len(first):
        bits += 1
    number, row = np.full(1 << bits, -1, np.int32), np.empty(1 << bits, np.uint32)
    many, last, shift, mask = 0, words.shape[1] - 1, np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    for r in range(words.shape[0]):
        a, b = words[r, 0], words[r, last]
        at = (((a * np.uint64(0x9E3779B97F4A7C15)) ^ b) * np.uint64(0xD6E8FEB86659FD93)) >> shift
        while number[at] >= 0 and (words[row[at], 0] != a or words[row[at], last] != b):
            at = (at + np.uint64(1)) & mask
        if number[at] < 0:
            if start + many == len(first):
                return -1
            number[at], row[at], first[many] = start + many, r, r
            many += 1
        place[r] = number[at]
    return many


@compiled
def look_up(table: Any, place: Any, low: Any, out: Any) -> None:
    """out[r] = table[place[r] - low], which is within the table: nothing is checked here."""
    for r in range(len(out)):
        out[r] = table[np.uint64(place[r] - low)]


@compiled
def put_in_bins(numbers: Any, bounds: Any, scale: float, codes: Any, out: Any) -> None:
    """The code of the bin of each number: a guess as if bins were equally wide, then steps to where it belongs.

    ``bounds``: the edges, between what no number is below and what none reaches; the last of ``codes`` is for NaN.
    """
    low, last = bounds[1], float(len(bounds) - 2)
    for r in range(len(out)):
        x = numbers[r]
        guess = (x - low) * scale + 1.0
        guess = (guess if guess < last else last) if guess > 0.0 else 0.0  # NaN is not
        at = np.uint64(guess)
        while x < bounds[at]:
            at -= np.uint64(1)
        while x >= bounds[at + np.uint64(1)]:
            at += np.uint64(1)
        out[r] = codes[at] if x == x else codes[len(codes) - 1]  # noqa: PLR0124  NaN is not itself
