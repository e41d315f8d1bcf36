"""Records of a small table exchanged, whole, for records of a pool, as long as that brings its two-way tables nearer.

Gradual update needs many records: with few, most cells want a fraction of one and it wanders.  Here a record gives
way only to one with which all tables together are nearer to their targets.  With D the counts less the targets, laid
out as in ``descent``, exchanging x for y changes the summed squared error by 2 (S(y) - S(x) + the number of tables
where they differ), S being the sum of D over the cells of a record; so S(x) is worked out once for several offers.
"""

from typing import Any

import numpy as np

from hedgerow.model.descent import quick
from hedgerow.model.gum import PairTargets, Records, below, stream_of

_OFFERS = 3  # pool records that a record is offered at once: the best is taken
_STILL = 50  # a pass that moves fewer than one record in so many is the last


def refine(records: Records, pool: Records, targets: PairTargets, *, sweeps: int, state: int = 1) -> Records:
    """The records after ``sweeps`` offers of a pool record to each; the summed squared error never rises.

    An exact function of its arguments; ``state`` starts a random stream of its own.  One-way tables are not looked
    at.  Ends early when hardly any record moves.
    """
    if not len(records) or not len(pool) or not targets.square.weight.any():
        return records.copy()
    starts = targets.square.starts[:-1].astype(np.int32)
    now = records + starts
    gap = targets.square.target * np.float32(-len(records))
    _add_up(now, gap)
    stream = stream_of(state)
    for offered in range(0, sweeps, _OFFERS):
        moved = _pass(now, pool, starts, gap, min(_OFFERS, sweeps - offered), stream)
        if moved * _STILL < len(records):
            break
    return np.asarray(now - starts, np.uint16)


@quick
def _add_up(places: Any, gap: Any) -> None:
    """Counts every pair of values of every record; the later column first, as in all of this file."""
    for r in range(len(places)):
        for i in range(places.shape[1]):
            row = gap[places[r, i]]
            for j in range(i):
                row[places[r, j]] += 1


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
                best[:] = offer
        if better:
            for i in range(k):
                for j in range(i):
                    gap[own[i], own[j]] -= 1
                    gap[best[i], best[j]] += 1
            own[:] = best
            moved += 1
    return moved
