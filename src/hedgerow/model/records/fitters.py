"""Ways to move records until their tables are those wanted, behind one interface: one big table, or many groups.

``GradualUpdate`` (GUM, the gradually update method of PrivSyn and DPSyn; Zhang and others 2021) is the paper's and
needs many records: with few, most cells want a fraction of one and it wanders.  ``Exchange`` keeps records of a pool
whole.  ``Descent`` (record-level coordinate descent) reaches by far the lowest error; it invents combinations where
that helps.  All are exact functions of their arguments: ``state`` starts a random stream of their own, and groups
come out the same with any number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled
from hedgerow.model.constants import DPSYN
from hedgerow.model.records.descent import PairTargets, Records, descend, quick
from hedgerow.model.tables import systematic_counts


class AbstractFitter(ABC):
    """One way to bring the tables of records nearer to targets."""

    @abstractmethod
    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """As many records, whose tables are nearer to the targets. The given ones stay as they are."""


@final
@dataclass(frozen=True)
class GradualUpdate(AbstractFitter):
    """GUM: table by table, a share ``step`` of the records in cells that hold too many moves on; ``rounds`` times.

    The step shrinks by a tenth every round.
    """

    rounds: int = 10
    step: float = 1.0

    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """The best round, since the update does not settle by itself; the given records when no round helps."""
        best, error = records, targets.error(records)
        now, stream, step = records.copy(), stream_of(state), self.step
        for _ in range(self.rounds if len(targets.design) and len(now) else 0):
            _gum_round(now, targets.design, np.asarray(targets.sizes, np.int64), targets.shares, step, stream)
            step *= 0.9
            if (reached := targets.error(now)) < error:
                best, error = now.copy(), reached
        return best


@final
@dataclass(frozen=True, eq=False)
class Exchange(AbstractFitter):
    """Each record is offered ``sweeps`` records of ``pool`` and takes one when all tables together gain.

    The summed squared error never rises.  One-way tables are not looked at.  Ends early when hardly any record moves.

    Attributes:
        pool: records that are offered.
        sweeps: how many of them each record is offered.
        near: rows of the same group, offered with the pool, whose tables are mixed with the targets.
    """

    pool: Records
    sweeps: int = 60
    near: "NearRows | None" = None

    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """Records of the pool, and given ones, whole."""
        if not len(records) or not len(self.pool) or not targets.square.weight.any():
            return records.copy()
        starts = targets.square.starts[:-1].astype(np.int32)
        now = records + starts
        gap = targets.square.target * np.float32(-len(records) / targets.total)
        pool = self.pool
        if self.near is not None:
            pool = self.near.mixed(self.pool, len(records))
            gap *= np.float32(1 - self.near.share)
            _add_up(self.near.rows + starts, gap, (-len(records) * self.near.weights).astype(np.float32))
        _add_up(now, gap, np.ones(len(records), np.float32))
        still = DPSYN.exchange_end if len(records) < len(self.pool) else DPSYN.large_exchange_end
        stream = stream_of(state)
        for offered in range(0, self.sweeps, DPSYN.offers):
            moved = _pass(now, pool, starts, gap, min(DPSYN.offers, self.sweeps - offered), stream)
            if moved * still < len(records):
                break
        return np.asarray(now - starts, np.uint16)


@final
@dataclass(frozen=True, eq=False)
class NearRows:
    """Rows that tell of one group, and what each is worth: together ``share``, the rest is for all rows.

    Attributes:
        rows: records of the group, or of wider groups around it.
        weights: the share of each in what is expected of the group.
    """

    rows: Records
    weights: npt.NDArray[np.float64]

    @property
    def share(self) -> float:
        """What all of them are worth, of 1."""
        return float(self.weights.sum())

    def mixed(self, pool: Records, n: int) -> Records:
        """These rows and those of the pool in their shares, several for each of ``n`` records."""
        size = max(DPSYN.near_offers * n, DPSYN.least_near_pool)
        own = round(self.share * size)
        rest = size - own
        copies = systematic_counts(self.weights / self.share, own, np.random.Generator(np.random.PCG64(0)))
        return np.concatenate(
            [np.repeat(self.rows, copies, axis=0), pool[np.arange(rest) * len(pool) // max(rest, 1)]]
        )


@final
@dataclass(frozen=True)
class Descent(AbstractFitter):
    """Each record moves to the values that lower the error most; ``sweeps`` passes over all of them."""

    sweeps: int = 5

    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """Records at a low point of the summed squared error of all two-way tables."""
        stream = np.random.Generator(np.random.PCG64(state))
        return descend(records, targets, stream, sweeps=self.sweeps)


def fit_groups(
    fitters: Sequence[AbstractFitter], groups: Sequence[Records], targets: PairTargets, states: Sequence[int]
) -> list[Records]:
    """Every group fitted by itself, with its own fitter and state, to the same shares."""
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda f, group, state: f.fit(group, targets, state), fitters, groups, states))


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
                for k in range(records.shape[1]):  # `records[r] = records[h]` would compile for seconds
                    records[r, k] = records[holder[c], k]
            elif width:
                records[r, a], records[r, b] = c // width, c % width
            else:
                records[r, a] = c


@quick
def _add_up(places: Any, gap: Any, worth: Any) -> None:
    """Adds what every record is worth to its pairs of values; the later column first, as in all of this file."""
    for r in range(len(places)):
        for i in range(places.shape[1]):
            row = gap[places[r, i]]
            for j in range(i):
                row[places[r, j]] += worth[r]


def _held_loop(places: Any, gap: Any) -> Any:
    """The sum over all pairs of what their cells have too much."""
    total = np.float32(0)
    for i in range(len(places)):
        row = gap[places[i]]
        for j in range(i):
            total += row[places[j]]
    return total


_held = quick(_held_loop)  # by name, not as a decorator: compiled code calls it, so nothing may wrap it


@quick
def _pass(places: Any, pool: Any, starts: Any, gap: Any, offers: Any, stream: Any) -> Any:
    """One pass over the records; how many were exchanged."""
    n, k = places.shape
    offer, best = np.empty(k, np.int32), np.empty(k, np.int32)
    moved = 0
    for r in range(n):
        own = places[r]
        held, least = _held(own, gap), np.float32(-1e-6)
        better = False
        for _ in range(offers):
            p = below(stream, len(pool))
            same = 0
            for i in range(k):
                offer[i] = starts[i] + np.int32(pool[p, i])
                same += offer[i] == own[i]
            change = _held(offer, gap) - held + (k * (k - 1) - same * (same - 1)) // 2
            if change < least:
                least, better = change, True
                for i in range(k):
                    best[i] = offer[i]
        if better:
            for i in range(k):
                for j in range(i):
                    gap[own[i], own[j]] -= 1
                    gap[best[i], best[j]] += 1
            for i in range(k):
                own[i] = best[i]
            moved += 1
    return moved
