"""The counter of files and frames: rows are read, coded and capped once, and every request counts what was kept."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast, final, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.fingerprint import hash_rows
from hedgerow.counting.order import ranks
from hedgerow.counting.plan import UNIT, CountPlan
from hedgerow.public.coding import Coding, as_text, person_cap, records
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Counts

_TIMES = "\0times"  # how many records a line stands for; no column of a file has this name
_KEPT = "\0kept"
_Part = dict[str, npt.NDArray[Any]]


@runtime_checkable
class RowSource(Protocol):
    """A table that can be read in batches. Its header is known without reading a row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, from the header."""

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows, some columns, in file order."""


@final
class LocalCounter:
    """Counts a table that this process can read, as ``Counter`` says. Rows are coded once, when first asked for.

    With ``order``, a column, the rows of a person come by its values (``ranks``), not as they stand.
    """

    __slots__ = ("_coding", "_guarantee", "_kept", "_order", "_source", "columns")

    def __init__(self, source: RowSource, coding: Coding, guarantee: Guarantee, order: str = "") -> None:
        self._source, self._coding, self._guarantee, self._order = source, coding, guarantee, order
        self.columns, self._kept = source.columns, cast(list[_Part] | None, None)

    def count(self, plan: CountPlan) -> Counts:
        """The exact counts over all rows that count."""
        if self._kept is None:
            self._kept = self._coded()
        total = np.zeros(plan.size, np.int64)
        for part in whole_people(self._kept) if UNIT in plan.columns else self._kept:
            for times, lines in digits(part):
                total += times * plan.count(self._coding.join(lines, plan.columns))
        return total

    def fingerprint(self, key: bytes) -> bytes:
        """The sum over all records of a keyed hash of each."""
        values, total = sorted({*self.columns} - {self._guarantee.count}), np.zeros(2, np.uint64)
        for batch in self._source.batches(self.columns):
            for times, lines in digits({_TIMES: self._records(batch), UNIT: np.arange(len(batch))}):
                total += np.uint64(times) * hash_rows(batch[lines[UNIT]].select(values), key)
        return total.tobytes()

    def _coded(self) -> list[_Part]:
        """The codes of all rows that count, a part for each batch."""
        names, person = [c.name for c in self._coding.columns], self._guarantee.person
        parts, people, rows = list[_Part](), [pl.Series(dtype=pl.String)], 0
        order = self._order if person else ""
        placed = [pl.Series(dtype=pl.String)]
        for batch in self._source.batches([*names, *filter(None, (person, self._guarantee.count, order))]):
            unit = np.arange(rows, rows := rows + len(batch), dtype=np.uint32)
            parts.append({**self._coding.encode(batch, names), _TIMES: self._records(batch), UNIT: unit})
            if person:
                people.append(as_text(batch[person]))
            if order:
                placed.append(as_text(batch[order]))
        return self._capped(parts, pl.concat(people), pl.concat(placed)) if person else parts

    def _capped(self, parts: list[_Part], people: pl.Series, placed: pl.Series) -> list[_Part]:
        """The rows that count by ``person_cap``; the unit of a row is the row with which its person begins."""
        by = np.arange(len(people))
        if self._order:  # rows of equal rank by their codes: of rows with equal codes any may count
            codes = [np.concatenate([p[c.name] for p in parts]) for c in reversed(self._coding.columns)]
            by = np.lexsort([*codes, ranks(placed).to_numpy()])
        keep = np.empty(len(people), bool)
        keep[by] = person_cap(people.gather(by), self._guarantee.rows_per_person).to_numpy()
        first = people.to_frame("p").with_row_index().select(pl.col("index").min().over("p")).to_series().to_numpy()
        parts = [{**part, UNIT: first[part[UNIT]], _KEPT: keep[part[UNIT]]} for part in parts]
        return [{name: line[part[_KEPT]] for name, line in part.items()} for part in parts]

    def _records(self, batch: pl.DataFrame) -> npt.NDArray[np.int64]:
        column = self._guarantee.count
        return records(batch[column]) if column else np.ones(len(batch), np.int64)


def whole_people(parts: Sequence[_Part]) -> Iterator[_Part]:
    """The same rows in parts that hold people whole, in the order in which they first stand."""
    whole = {name: np.concatenate([p[name] for p in parts]) for name in (parts[0] if parts else ())}
    if whole:
        order = np.argsort(whole[UNIT], kind="stable")
        whole = {name: line[order] for name, line in whole.items()}
        yield {**whole, UNIT: np.unique(whole[UNIT], return_inverse=True)[1].astype(np.uint32)}


def digits(part: _Part) -> Iterator[tuple[int, _Part]]:
    """How often which lines count: one that stands for n records counts with each binary digit of n."""
    n = part[_TIMES]
    for digit in range(int(n.max(initial=0)).bit_length()):
        some = n >> digit & 1 == 1
        yield 1 << digit, part if some.all() else {name: line[some] for name, line in part.items()}
