"""Records moved, a few at a time, until their two-way tables are those wanted: GUM.

``gum`` is the gradual update of DPSyn and PrivSyn (Zhang and others 2021): table by table, a share of the records
in cells that hold too many takes the values, or becomes a copy of a record, of cells that hold too few.
It needs many records: with few, most cells want a fraction of one and it wanders (``exchange`` is for few).
It is an exact function of its arguments; ``state`` starts a random stream of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model import descent
from hedgerow.model.consistency import Pair, Tables, pairs_of
from hedgerow.model.simplex import Floats

Records = npt.NDArray[np.uint16]
"""One row per record, one code per column."""


@final
@dataclass(frozen=True, eq=False)
class PairTargets:
    """The two-way tables that records should have.

    Attributes:
        columns: the columns, in the order of a record.
        sizes: how many codes each has.
        design: one row per table: position of its two columns, cells per code of the first, start of its cells.
            A one-way table has its column twice, and 0 cells per code.
        shares: the wanted share of every cell, table after table.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    design: npt.NDArray[np.int64]
    shares: Floats

    @classmethod
    def of(cls, columns: Sequence[str], sizes: Sequence[int], tables: Mapping[Pair, Floats]) -> "PairTargets":
        """The targets from tables of shares; every pair of ``columns`` has one."""
        at = {c: i for i, c in enumerate(columns)}
        lines, flat, start = [], [np.zeros(0)], 0
        for a, b in pairs_of(columns):
            lines.append((at[a], at[b], sizes[at[b]], start))
            flat.append(tables[a, b].ravel())
            start += sizes[at[a]] * sizes[at[b]]
        return cls(tuple(columns), tuple(sizes), np.array(lines, np.int64).reshape(-1, 4), np.concatenate(flat))

    @classmethod
    def one_ways(cls, columns: Sequence[str], shares: Sequence[Floats]) -> "PairTargets":
        """The targets of a table for each column alone."""
        sizes = [len(s) for s in shares]
        starts = np.cumsum([0, *sizes[:-1]])
        lines = [(i, i, 0, start) for i, start in enumerate(starts)]
        return cls(tuple(columns), tuple(sizes), np.array(lines, np.int64).reshape(-1, 4), np.concatenate(shares))

    @cached_property
    def square(self) -> descent.PairTargets:
        """The two-way targets laid out for coordinate descent."""
        tables = {
            (int(a), int(b)): self.shares[start : start + self.sizes[a] * width]
            for a, b, width, start in self.design
            if width
        }
        return descent.pair_targets(self.sizes, tables, 1.0)

    def error(self, records: Records) -> float:
        """The mean over tables of the L1 distance between the records' shares and the wanted ones: 0 to 2."""
        if not len(self.design) or not len(records):
            return 0.0
        gap = _excess(records, self.design, self.shares * len(records))
        return float(np.abs(gap).sum() / len(records) / len(self.design))


def tables_of(records: Records, columns: Sequence[str], sizes: Sequence[int]) -> Tables:
    """The two-way tables of records, as shares."""
    out = {}
    at = {c: i for i, c in enumerate(columns)}
    for a, b in pairs_of(columns):
        shape = sizes[at[a]], sizes[at[b]]
        cell = records[:, at[a]].astype(np.int64) * shape[1] + records[:, at[b]]
        out[a, b] = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape) / max(len(records), 1)
    return out


def gum(records: Records, targets: PairTargets, *, rounds: int, step: float = 1.0, state: int = 1) -> Records:
    """The records after gradual update, or as they were if no round brought them nearer to the targets.

    ``step`` is the share of each table's excess that is moved; it shrinks by a tenth every round.  The
    best round is kept, since the update does not settle by itself.
    """
    best, error = records, targets.error(records)
    now, stream = records.copy(), stream_of(state)
    for _ in range(rounds):
        if not len(targets.design) or not len(now):
            break
        _gum_round(now, targets.design, np.asarray(targets.sizes, np.int64), targets.shares, step, stream)
        step *= 0.9
        if (reached := targets.error(now)) < error:
            best, error = now.copy(), reached
    return best


def stream_of(state: int) -> npt.NDArray[np.uint64]:
    """The start of a random stream for ``below``."""
    return np.array([(state * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) % (1 << 64) or 1], np.uint64)


def _below_loop(stream: Any, n: Any) -> Any:
    """A whole number below n from a xorshift stream."""
    x = stream[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    stream[0] = x
    return np.int64((x >> np.uint64(20)) % np.uint64(n))


below = compiled(_below_loop)  # by name, not as a decorator: compiled code calls it, so nothing may wrap it


def _excess_loop(records: Any, design: Any, wanted: Any) -> Any:
    """By how much every cell of every table is over its target."""
    gap = -wanted
    for t in range(len(design)):
        a, b, width, start = design[t]
        for r in range(len(records)):
            gap[start + np.int64(records[r, a]) * width + np.int64(records[r, b])] += 1.0
    return gap


_excess = compiled(_excess_loop)


@compiled
def _gum_round(  # noqa: C901  one loop nest: compiled code cannot share arrays between small parts as cheaply
    records: Any, design: Any, sizes: Any, shares: Any, step: Any, stream: Any
) -> None:
    """One pass over all tables in a random order."""
    n, tables = len(records), len(design)
    order = np.arange(tables)
    for i in range(tables - 1, 0, -1):
        j = below(stream, i + 1)
        order[i], order[j] = order[j], order[i]
    cell, out, into = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for t in order:
        a, b, width, start = design[t]
        cells = sizes[a] * width if width else sizes[a]
        have, holder = np.zeros(cells, np.int64), np.full(cells, -1, np.int64)
        first = below(stream, n)
        for i in range(n):
            r = (first + i) % n
            cell[r] = np.int64(records[r, a]) * width + np.int64(records[r, b])
            have[cell[r]] += 1
        for i in range(n):  # one record of each cell, any of them with equal chance
            if holder[cell[i]] < 0 or below(stream, have[cell[i]]) == 0:
                holder[cell[i]] = i
        moving, room = 0, 0
        quota = np.zeros(cells, np.int64)
        for c in range(cells):
            lack = step * (shares[start + c] * n - have[c])
            whole = np.int64(np.floor(abs(lack)))
            if below(stream, 1 << 30) < (abs(lack) - whole) * (1 << 30):
                whole += 1
            if lack < 0:
                quota[c] = min(whole, have[c])
            for _ in range(whole if lack > 0 else 0):
                if room < n:
                    into[room] = c
                    room += 1
        for i in range(n):
            r = (first + i) % n
            if quota[cell[r]] > 0 and holder[cell[r]] != r:
                quota[cell[r]] -= 1
                out[moving] = r
                moving += 1
        for i in range(min(moving, room)):
            j = i + below(stream, room - i)
            into[i], into[j] = into[j], into[i]
            j = i + below(stream, moving - i)
            out[i], out[j] = out[j], out[i]
            r, c = out[i], into[i]
            if holder[c] >= 0 and below(stream, 2) == 0:
                records[r] = records[holder[c]]
            elif width:
                records[r, a], records[r, b] = c // width, c % width
            else:
                records[r, a] = c
