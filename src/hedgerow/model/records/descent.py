"""Record-level coordinate descent: each record moves to the values with which all two-way tables are nearest.

The error is the weighted sum over tables of (S - T)^2, S being the counts of the records, T the targets.  Moving one
record from value v to b in a column changes it by 2 (D_b - D_v + 1) with D = S - T, summed over its tables.  D
is laid out as one square array over all (column, value), so that the scores of all values of all columns of a
record are one sum of contiguous rows.  A few sweeps give an error that gradual updates never reach.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import BLEND
from hedgerow.model.tables import Floats, Pair, Tables, inner

Records = npt.NDArray[np.uint16]
"""One row per record, one code per column."""
_LEAST_WANTED = 1e-6
"""Tables of a group with fewer records than this are empty: what they ask for cannot be scaled to its records."""
MOST = 20_000  # values of all columns together: 1.6 GB of residuals


def quick(loop: Any, make: Any = compiled) -> Any:
    """``loop`` as machine code that may add in any order."""
    return make(loop, fastmath=True, error_model="numpy")


@final
@dataclass(frozen=True, eq=False)
class PairTargets:
    """The one-way and two-way tables that records should have.

    Attributes:
        sizes: how many codes each column of a record has.
        tables: the wanted counts of each table by the positions of its columns, flat or square.
        total: what each of them sums to; 1 for shares.
        power: in descent a table counts as this power of its cells. With 0 tables of few cells, whose cells hold
            many records, are all that counts, and those of many cells lose the association they had.
    """

    sizes: tuple[int, ...]
    tables: Tables
    total: float = 1.0
    power: float = 0.0

    @cached_property
    def square(self) -> "Square":
        """The two-way tables as one square array over all values of all columns, for coordinate descent."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        width = int(starts[-1])
        target = np.zeros((width, -(-width // 16) * 16), np.float32)
        weight = np.zeros((len(self.sizes), len(self.sizes)), np.float32)
        for key, table in self.tables.items():
            if len(key) == 2:
                i, j = key
                weight[i, j] = weight[j, i] = pull = np.float32((self.sizes[i] * self.sizes[j] / 100) ** self.power)
                block = pull * np.asarray(table, np.float32).reshape(self.sizes[i], self.sizes[j])
                target[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = block
                target[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] = block.T
        return Square(starts, target, weight)

    @cached_property
    def design(self) -> npt.NDArray[np.int64]:
        """One row per table: position of its two columns, cells per code of the first, start of its cells.

        A one-way table has its column twice, and 0 cells per code.
        """
        lines, start = [], 0
        for key, table in self.tables.items():
            lines.append((key[0], key[-1], self.sizes[key[1]] if len(key) == 2 else 0, start))
            start += table.size
        return np.array(lines, np.int64).reshape(-1, 4)

    @cached_property
    def shares(self) -> Floats:
        """The wanted share of every cell, table after table."""
        return np.concatenate([np.zeros(0), *(t.ravel() / self.total for t in self.tables.values())])

    def nothing_over(self) -> npt.NDArray[np.float32]:
        """What ``descend`` is told to make up for when no record was drawn before."""
        return np.zeros_like(self.square.target)

    def error(self, records: Records) -> float:
        """The mean over tables of the L1 distance between the records' shares and the wanted ones: 0 to 2."""
        if not len(self.design) or not len(records):
            return 0.0
        gap = _excess(records, self.design, self.shares * len(records))
        return float(np.abs(gap).sum() / len(records) / len(self.design))


@final
@dataclass(frozen=True, eq=False)
class GroupTargets:
    """The two-way tables that the records of every group should have; groups are the values of the first column.

    Attributes:
        sizes: how many codes each further column of a record has.
        tables: the wanted counts of each pair of them (0 is the first after the group), by group.
        power: see ``PairTargets``.
    """

    sizes: tuple[int, ...]
    tables: Mapping[Pair, npt.NDArray[np.float32]]
    power: float = 0.0

    def of(self, group: int) -> PairTargets:
        """Those of one group."""
        own = {k: t[group].astype(np.float64) for k, t in self.tables.items()}
        total = float(next(iter(own.values())).sum()) if own else 1.0
        return PairTargets(self.sizes, own, total, self.power)

    def descend(
        self, records: Records, rng: np.random.Generator, *, sweeps: int, stay: float | Sequence[float]
    ) -> Records:
        """The records, which stand in order of their groups, each moved within its group; see ``descend``.

        What the groups before have too much, less than a record in most cells, the next makes up for: so the pairs of
        all groups together are met as well.  A group that has records all the same, though its tables are empty,
        keeps them as they are: there is nothing to fit them to.
        """
        cuts, found = np.flatnonzero(np.diff(records[:, 0])) + 1, []
        toll = stay if isinstance(stay, float) else stay[1:]
        over: npt.NDArray[np.float32] | None = None
        for part in np.split(records, cuts) if len(records) else ():
            targets = self.of(int(part[0, 0]))
            if targets.total < _LEAST_WANTED:
                found.append(part)
                continue
            over = targets.nothing_over() if over is None else over
            rest = np.ascontiguousarray(part[:, 1:])
            fitted = descend(rest, targets, rng, sweeps=sweeps, over=over, stay=toll)
            found.append(np.concatenate([part[:, :1], fitted], axis=1))
        return np.concatenate(found) if found else records


@final
@dataclass(frozen=True, eq=False)
class Square:
    """Two-way tables as blocks of one symmetric array.

    Attributes:
        starts: where the values of each column begin among all values; the last is their number.
        target: target counts, weighted, over all (column, value) twice; 0 where nothing is asked.
        weight: how much each pair of columns with a table counts, else 0.
    """

    starts: npt.NDArray[np.int64]
    target: npt.NDArray[np.float32]
    weight: npt.NDArray[np.float32]


def pair_shares(records: Records, sizes: Sequence[int]) -> dict[Pair, Floats]:
    """The two-way tables of records, as square shares."""
    out: dict[Pair, Floats] = {}
    for a, b in combinations(range(len(sizes)), 2):
        cell = records[:, a].astype(np.int64) * sizes[b] + records[:, b]
        counts = np.bincount(cell, minlength=sizes[a] * sizes[b])
        out[a, b] = counts.reshape(sizes[a], sizes[b]) / max(len(records), 1)
    return out


def descend(
    records: Records,
    targets: PairTargets,
    rng: np.random.Generator,
    *,
    sweeps: int = 3,
    over: npt.NDArray[np.float32] | None = None,
    stay: float | Sequence[float] = 0.0,
) -> Records:
    """The records after ``sweeps`` passes; stops early when hardly any record moves. The input is not changed.

    ``over`` is what the tables of other records have too much, in the layout of ``targets.square``: these records
    make up for it, and what is then too much in all of them together is written there.
    ``stay`` is what a value other than the given one costs, in records that the cells of its pairs must gain on
    average, for all columns or for each: records that were rows of people keep what they know beyond pairs, unless
    the targets ask for a change.
    """
    fitted, layout = records.copy(), targets.square
    if not len(records) or not layout.weight.any():
        return fitted
    scaled = layout.target * np.float32(len(records) / targets.total)
    if over is not None:
        scaled -= over
    residual = np.empty_like(scaled) if over is None else over
    _fill(fitted, layout.starts, layout.weight, scaled, residual)
    pull = layout.weight.sum(axis=1)
    columns = records.shape[1]
    for _ in range(sweeps):
        order, toll = rng.permutation(columns), np.asarray(stay, np.float32) * pull
        moved = _sweep(fitted, records, toll, layout.starts, residual, layout.weight, pull, order)
        if moved * BLEND.descent_end < len(records):
            break
    return fitted


def _excess_loop(records: Any, design: Any, wanted: Any) -> Any:
    """By how much every cell of every table is over its target."""
    gap = -wanted
    for t in range(len(design)):
        a, b, width, start = design[t]
        for r in range(len(records)):
            gap[start + np.int64(records[r, a]) * width + np.int64(records[r, b])] += 1.0
    return gap


_excess = compiled(_excess_loop)


@quick
def _fill(records, starts, weight, target, residual):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Residuals: weighted counts less weighted targets."""
    for a in range(residual.shape[0]):
        for b in range(residual.shape[1]):
            residual[a, b] = -target[a, b]
    n, k = records.shape
    for r in range(n):
        for i in range(k):
            row = residual[starts[i] + np.int64(records[r, i])]
            for j in range(k):
                row[starts[j] + np.int64(records[r, j])] += weight[i, j]


@partial(quick, make=inner)
def _scores(x, starts, residual, pull, score):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The change of error, halved, if record ``x`` had each value of each column; four rows at a time."""
    k = len(x)
    for c in range(len(score)):
        score[c] = 0
    q = 0
    while q + 4 <= k:
        r0 = residual[starts[q] + np.int64(x[q])]
        r1 = residual[starts[q + 1] + np.int64(x[q + 1])]
        r2 = residual[starts[q + 2] + np.int64(x[q + 2])]
        r3 = residual[starts[q + 3] + np.int64(x[q + 3])]
        for c in range(len(score)):
            score[c] += (r0[c] + r1[c]) + (r2[c] + r3[c])
        q += 4
    while q < k:
        r0 = residual[starts[q] + np.int64(x[q])]
        for c in range(len(score)):
            score[c] += r0[c]
        q += 1
    for q in range(k):
        score[starts[q] + np.int64(x[q])] -= pull[q]


@partial(quick, make=inner)
def _move(x, i, b, starts, residual, weight, score):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Give record ``x`` the value ``b`` in column ``i``, and keep residuals and scores right."""
    low, v = starts[i], np.int64(x[i])
    old, new = residual[low + v], residual[low + b]
    for c in range(len(score)):
        score[c] += new[c] - old[c]
    for j in range(len(x)):
        w = weight[i, j]
        if w != 0:
            at = starts[j] + np.int64(x[j])
            score[at] += w
            old[at] -= w
            new[at] += w
            mirror = residual[at]
            mirror[low + v] -= w
            mirror[low + b] += w
    x[i] = b


@quick
def _sweep(records, given, toll, starts, residual, weight, pull, order):  # type: ignore[no-untyped-def]  # pragma: no cover
    """One pass over the records; how many values moved. A given value is ahead of all others by its ``toll``."""
    n, k = records.shape
    score = np.zeros(residual.shape[1], np.float32)
    moved = 0
    for r in range(n):
        x = records[r]
        _scores(x, starts, residual, pull, score)
        for turn in range(k):
            i = order[(turn + r) % k]
            part = score[starts[i] : starts[i + 1]]
            own, was = np.int64(x[i]), np.int64(given[r, i])
            part[was] -= toll[i]
            least = part[own]
            for c in range(len(part)):
                least = min(least, part[c])
            if least < part[own]:
                b = 0
                while b < len(part) - 1 and part[b] > least:
                    b += 1
                part[was] += toll[i]
                _move(x, i, b, starts, residual, weight, score)
                moved += 1
            else:
                part[was] += toll[i]
    return moved
