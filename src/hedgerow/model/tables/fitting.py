"""Noisy counts made possible and made to agree.

Possible: projection onto the simplex (least squares), then whole numbers by systematic rounding, which adds at most
one record of error to a cell; independent draws would add that of a sample.  Agreeing: iterative proportional fitting
(Deming and Stephan 1940).  ``fit_margins`` scales a table, ``consistent`` many two-way tables to common margins;
``rake_rows`` scales the weights of rows to one table after another: rows are weighed anew, none is invented.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hedgerow.counting.kernel import compiled

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
Key = tuple[int, ...]
"""A table, by the positions of its columns."""
Tables = Mapping[tuple[int], Floats] | Mapping[Pair, Floats] | Mapping[Key, Floats]
Rows = npt.NDArray[np.uint16]
Column = TypeVar("Column", bound=Hashable)
inner = partial(compiled, no_cpython_wrapper=True)
"""Of a loop that compiled loops alone call: Python's door to it, which takes a tenth of the time, is left out."""
_LINE = 128  # the most neighbours that NumPy adds up in one go; it halves longer lines
_CHUNK = 4096  # rows whose cells are worked out at once: they stay in the processor's first cache


def project(counts: npt.ArrayLike, total: float) -> Floats:
    """The point nearest to ``counts`` (least squares) that is non-negative and sums to ``total``.

    One number is taken off every cell and what falls below zero is cut, so large cells keep their noise
    and the many nearly empty ones do not each gain a record, as cutting cell by cell would do.

    >>> project([5, 3, -2], 7).tolist()
    [4.5, 2.5, 0.0]
    """
    v = np.asarray(counts, np.float64)
    if total <= 0:
        return np.zeros_like(v)
    down = np.sort(v)[::-1]
    excess = np.cumsum(down)
    excess -= total
    excess /= np.arange(1, len(v) + 1)
    keep = int(np.flatnonzero(down > excess)[-1])
    return np.asarray(np.maximum(v - excess[keep], 0.0))


def pooled_total(sums: npt.ArrayLike, variances: npt.ArrayLike) -> float:
    """One total from several noisy ones: the mean weighted by inverse variance.

    >>> pooled_total([10, 20], [1, 1])
    15.0
    """
    weight = 1 / np.asarray(variances, np.float64)
    return float(np.sum(np.asarray(sums, np.float64) * weight) / np.sum(weight))


def systematic_counts(shares: Floats, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Whole counts that sum to ``n``: each is ``n`` times its share rounded up or down, right on average.

    One random start and equal steps along the cumulated shares; independent draws would add an error as
    large as that of a sample of ``n`` records.
    """
    return np.diff(_ticks(shares, n, rng))


def systematic_shards(
    shares: Floats, n: int, shards: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """Such counts divided into whole counts of shards: those of a shard sum to its size (``shard_sizes``).

    Shard s has every record whose number, in the order of the cells, leaves the right rest when divided by the
    number of shards; by Hermite's identity the parts of each cell add up to it, and none is off by one record.

    >>> [c.tolist() for c in systematic_shards(np.array([0.5, 0.25, 0.25]), 8, 3, np.random.default_rng(1))]
    [[1, 1, 0], [1, 1, 1], [2, 0, 1]]
    """
    ticks = _ticks(shares, n, rng)
    return (np.diff((ticks + s) // shards) for s in range(shards))


def _ticks(shares: Floats, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Where each cell begins among ``n`` records that stand in order of their cells, and where the last one ends."""
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    ticks = np.floor(edges / edges[-1] * n + rng.random())
    ticks[0], ticks[-1] = 0, n
    return np.asarray(np.clip(ticks, 0, n), np.int64)


def whole_counts(estimate: Floats, total: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Whole counts near ``estimate`` (which is non-negative and sums to ``total``) that sum to ``total``.

    The nearest ones, ties broken at random; but where cells hold less than one record on average, nearest
    would empty whole regions of small cells, so there systematic rounding keeps every stretch of cells right.

    >>> whole_counts(np.array([2.4, 0.6, 0.0]), 3, np.random.default_rng(1)).tolist()
    [2, 1, 0]
    """
    if total < len(estimate):
        return systematic_counts(estimate, total, rng) if total > 0 else np.zeros(len(estimate), np.int64)
    low = np.floor(estimate).astype(np.int64)
    short = total - int(low.sum())
    if short > 0:
        part = np.round(estimate - low, 9)  # equal parts must tie: a projection leaves the same part in every cell
        least = np.partition(part, len(part) - short)[len(part) - short]
        low[part > least] += 1
        ties = np.flatnonzero(part == least)
        low[rng.choice(ties, total - int(low.sum()), replace=False)] += 1
    return low


def fit_margins(table: Floats, margins: Tables, *, sweeps: int = 20, tolerance: float = 0.0) -> Floats:
    """The table scaled until its sums are ``margins``, given by the axes they keep; cells below zero count as empty.

    Ends early when the first of them is nearer than ``tolerance`` (L1) after a sweep.

    >>> fit_margins(np.ones((2, 2)), {(0,): np.array([3.0, 1.0]), (1,): np.array([2.0, 2.0])}).tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    """
    fitted = np.maximum(table, 0.0)
    if not tolerance and list(margins) == [(0,), (1,)] and min(fitted.shape) > 1 and max(fitted.shape) <= _LINE:
        first, second = (np.ascontiguousarray(m, np.float64) for m in margins.values())
        if fitted.flags.c_contiguous:
            _scale_lines(fitted.ravel(), first, second, sweeps, True)
        else:  # as it lies in memory, so that sums are the same to the last digit
            _scale_lines(fitted.T.ravel(), second, first, sweeps, False)
        return fitted
    known = []
    for axes, target in margins.items():
        others = tuple(a for a in range(fitted.ndim) if a not in axes)
        kept = target.reshape([1 if a in others else n for a, n in enumerate(fitted.shape)])
        known.append((others, kept))
    for _ in range(sweeps):
        for others, target in known:
            now = np.add.reduce(fitted, axis=others, keepdims=True)
            fitted = fitted * np.divide(target, now, out=np.zeros_like(now), where=now > 0)
        if tolerance:
            others, target = known[0]
            if float(np.abs(fitted.sum(axis=others, keepdims=True) - target).ravel().sum()) < tolerance:
                break
    return np.asarray(fitted)


def project_pair(table: Floats, row: Floats, column: Floats, *, rounds: int = 4, lending: bool = True) -> Floats:
    """A two-way table, possibly with cells below zero, made possible: rows and columns are projected in turn.

    Cutting cell by cell would leave half of the noise of every empty cell, and all of these together pull a table
    towards independence; a projection takes the same off the full cells of a line until its empty ones are empty.
    A line that lacks records is lent the same for every cell, or, without ``lending``, scaled up: right where an
    empty cell is known to be empty, and not merely noisy.

    >>> noisy = np.array([[50.0, 3.0, -3.0], [-4.0, 48.0, 4.0]])
    >>> project_pair(noisy, np.array([50.0, 48.0]), np.array([49.0, 48.0, 1.0])).round(1).tolist()
    [[48.5, 1.5, 0.0], [0.5, 46.5, 1.0]]
    """
    found = table
    for _ in range(rounds):
        found = project_lines(found, row, lending=lending)
        found = project_lines(found.T, column, lending=lending).T
    return found


def project_lines(table: Floats, sums: Floats, *, lending: bool = True) -> Floats:
    """Every line of ``table`` projected to what is not below zero and has its sum; see ``project_pair``.

    >>> project_lines(np.array([[6.0, 2.0, 0.0]]), np.array([14.0]), lending=False).tolist()
    [[10.5, 3.5, 0.0]]
    >>> project_lines(np.array([[6.0, 2.0, 0.0]]), np.array([14.0])).tolist()
    [[8.0, 4.0, 2.0]]
    """
    lines, found = np.ascontiguousarray(table, np.float64), np.empty(table.shape)
    full = np.zeros(len(table)) if lending else np.maximum(table, 0.0).sum(axis=1)
    _project_lines(lines, np.sort(lines, axis=1), np.ascontiguousarray(sums, np.float64), lending, full, found)
    return found if table.flags.c_contiguous else np.asfortranarray(found)  # sums go on in the order of the memory


def fit_pair(table: Floats, row: Floats, column: Floats) -> Floats:
    """The two-way table nearest to ``table`` (in information) that has these margins, summing to 1.

    Where it has no mass but a margin asks for some, the product of the margins lends it a little.
    """
    lent = np.maximum(table, 0.0) + 1e-9 * np.multiply.outer(row, column)
    fitted = fit_margins(lent, {(0,): row, (1,): column}, sweeps=30, tolerance=1e-9)
    return np.asarray(fitted / fitted.sum())


def consistent(
    tables: Mapping[tuple[Column, Column], Floats], *, rounds: int = 4
) -> dict[tuple[Column, Column], Floats]:
    """Two-way tables of shares with equal margins for every column, non-negative, each summing to 1.

    All tables are taken as equally noisy per cell.  A column's share is then estimated best by the mean over its
    tables, weighted by the inverse of how many cells were summed; each table moves to it by equal amounts
    within a row, the least-squares step, and is projected to what is possible.  A few rounds settle most;
    proportional fitting to the agreed margins settles the rest exactly, and cannot go below zero.

    >>> tables = {("a", "b"): np.array([[0.5, 0.1], [0.5, -0.1]]), ("a", "c"): np.array([[0.7], [0.3]])}
    >>> fitted = consistent(tables)
    >>> [bool(np.allclose(t.sum(axis=1), fitted["a", "c"][:, 0])) for t in fitted.values()]
    [True, True]
    """
    now = {pair: t + (1 - t.sum()) / t.size for pair, t in tables.items()}
    for _ in range(rounds):
        agreed = common_margins(now)
        moved = {pair: _moved(t, agreed[pair[0]], agreed[pair[1]]) for pair, t in now.items()}
        now = {pair: project(t.ravel(), 1.0).reshape(t.shape) for pair, t in moved.items()}
    agreed = {c: project(m, 1.0) for c, m in common_margins(now).items()}
    return {(a, b): fit_pair(t, agreed[a], agreed[b]) for (a, b), t in now.items()}


def common_margins(tables: Mapping[tuple[Column, Column], Floats]) -> dict[Column, Floats]:
    """The shares of every column: the mean over its tables, each weighted by one over the cells it sums."""
    sums: dict[Column, Floats] = {}
    weights: dict[Column, float] = {}
    for pair, t in tables.items():
        for axis, column in enumerate(pair):
            weight = 1 / t.shape[1 - axis]
            sums[column] = sums.get(column, 0.0) + weight * t.sum(axis=1 - axis)
            weights[column] = weights.get(column, 0.0) + weight
    return {c: s / weights[c] for c, s in sums.items()}


def _moved(t: Floats, row: Floats, column: Floats) -> Floats:
    """The table moved to both margins by least squares."""
    t = t + (row - t.sum(axis=1))[:, None] / t.shape[1]
    return np.asarray(t + (column - t.sum(axis=0))[None, :] / t.shape[0])


def rake_rows(
    rows: Rows,
    shape: Sequence[int],
    tables: Tables,
    start: Floats,
    *,
    sweeps: int,
    power: float = 1.0,
    spare: float = 1.0,
) -> Floats:
    """Weights of coded ``rows``, scaled to each of ``tables`` (by the positions of its columns) in turn.

    A whole step (``power`` 1) makes a table right at once and a little wrong what was right before; a few sweeps of
    small steps stop short of what only noise asks for.  ``spare`` is added to both sides of every ratio and spares
    nearly empty cells; the weights then keep the sum of ``start``.  With 0 the last table is met exactly.  No row's
    cells are kept, so many tables need no more memory than one.
    """
    columns, weight, total = np.ascontiguousarray(rows.T), start.copy(), float(start.sum())
    places = [(np.array(k), np.array([shape[i] for i in k]), np.maximum(t, 0.0)) for k, t in tables.items()]
    for _ in range(sweeps):
        for axes, sizes, target in places:
            _scale(columns, axes, sizes, target, weight, power, spare)
        if spare:
            weight *= total / weight.sum()
    return weight


def cell_weights(
    rows: Rows, shape: Sequence[int], keys: Iterable[Key], weights: Floats
) -> Iterator[tuple[Key, Floats]]:
    """What the ``weights`` of coded rows add up to in each cell of one table after another, flat.

    >>> rows = np.array([[0, 1], [1, 1], [0, 1]], np.uint16)
    >>> [(key, table.tolist()) for key, table in cell_weights(rows, (2, 2), [(1,), (0, 1)], np.ones(3))]
    [((1,), [0.0, 3.0]), ((0, 1), [0.0, 2.0, 0.0, 1.0])]
    """
    columns = np.ascontiguousarray(rows.T)
    for key in keys:
        sizes = [shape[i] for i in key]
        found = np.zeros(prod(sizes))
        _add(columns, np.array(key), np.array(sizes), weights, found)
        yield key, found


@compiled
def _scale_lines(cells, down, along, sweeps, down_first):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Scale the lines of a two-way table to the sums ``down`` and its columns to ``along``, in turn, in place.

    The sums are those of NumPy to the last digit, without what calling it costs a table of few cells.
    """
    wide, now = len(along), np.empty(len(along))
    for turn in range(2 * sweeps):
        if (turn % 2 == 0) != down_first:
            _scale_columns(cells, along, now)
            continue
        for i in range(len(down)):
            sum_ = _line_sum(cells, i * wide, wide)
            scale = down[i] / sum_ if sum_ > 0 else 0.0
            for c in range(i * wide, i * wide + wide):
                cells[c] *= scale


@inner
def _scale_columns(cells, along, now):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Scale the columns of a two-way table to the sums ``along``, in place; ``now`` is room for as many numbers."""
    for j in range(len(along)):
        now[j] = cells[j]
    for low in range(len(along), len(cells), len(along)):
        for j in range(len(along)):
            now[j] += cells[low + j]
    for j in range(len(along)):
        now[j] = along[j] / now[j] if now[j] > 0 else 0.0
    for low in range(0, len(cells), len(along)):
        for j in range(len(along)):
            cells[low + j] *= now[j]


@compiled
def _project_lines(lines, up, sums, lending, full, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    """``found`` becomes ``lines`` projected; ``up``: each in order; ``full``: the sum of what is above zero."""
    n, m = lines.shape
    for i in range(n):
        above, keep = 0.0, 0
        for k in range(m):
            above += up[i, m - 1 - k]
            keep += up[i, m - 1 - k] > (above - sums[i]) / (k + 1)
        above = 0.0
        for k in range(max(keep, 1)):
            above += up[i, m - 1 - k]
        off = (above - sums[i]) / max(keep, 1)
        scaled = not lending and off < 0 and full[i] > 0
        for j in range(m):
            if sums[i] <= 0:
                found[i, j] = 0.0
            elif scaled:
                found[i, j] = max(lines[i, j], 0.0) * (sums[i] / full[i])
            else:
                found[i, j] = max(lines[i, j] - off, 0.0)


@inner
def _line_sum(cells, low, many):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The sum of ``many`` cells, up to _LINE, from ``low`` on in the order in which NumPy adds neighbours up."""
    found, eights = 0.0, many - many % 8
    if eights:
        a, b, c, d = cells[low], cells[low + 1], cells[low + 2], cells[low + 3]
        e, f, g, h = cells[low + 4], cells[low + 5], cells[low + 6], cells[low + 7]
        for i in range(low + 8, low + eights, 8):
            a, b, c, d = a + cells[i], b + cells[i + 1], c + cells[i + 2], d + cells[i + 3]
            e, f, g, h = e + cells[i + 4], f + cells[i + 5], g + cells[i + 6], h + cells[i + 7]
        found = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(low + eights, low + many):
        found += cells[i]
    return found


@compiled
def _scale(columns, axes, sizes, target, weight, power, spare):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Move the weight of every row towards what its cell lacks."""
    now, cell, n = np.zeros(len(target)), np.empty(_CHUNK, np.uint32), len(weight)
    _add(columns, axes, sizes, weight, now)
    for c in range(len(target)):
        now[c] = ((target[c] + spare) / (now[c] + spare)) ** power if now[c] + spare > 0 else 0.0
    for low in range(0, n, _CHUNK):
        part = weight[low : low + _CHUNK]
        _find(columns, axes, sizes, low, low + len(part), cell)
        for r in range(len(part)):
            part[r] *= now[cell[r]]


@compiled
def _add(columns, axes, sizes, weight, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Add the weight of every row to its cell, row after row."""
    cell = np.empty(_CHUNK, np.uint32)
    for low in range(0, len(weight), _CHUNK):
        part = weight[low : low + _CHUNK]
        _find(columns, axes, sizes, low, low + len(part), cell)
        for r in range(len(part)):
            out[cell[r]] += part[r]


@inner
def _find(columns, axes, sizes, low, high, cell):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The cells of some rows in a table; unsigned, because a negative place would have to be told from the end."""
    code = columns[axes[0], low:high]
    for r in range(high - low):
        cell[r] = np.uint32(code[r])
    for a in range(1, len(axes)):
        code, size = columns[axes[a], low:high], np.uint32(sizes[a])
        for r in range(high - low):
            cell[r] = np.uint32(cell[r] * size + code[r])
