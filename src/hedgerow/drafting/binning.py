"""Bins for a column of numbers: round widths where the rows are, wider ones in a long tail.

>>> pay = np.arange(18_000.0, 169_000.0, 500.0)
>>> bins_from(pay, np.ones(len(pay), np.int64), whole=True).bins
(('low', 18000), ('high', 170000), ('width', 2000))
>>> bins_from(np.arange(16.0, 91.0), np.ones(75, np.int64), whole=True).bins
(('low', 16), ('high', 90), ('width', 1))
>>> bins_between(0, 501, whole=True).bins
(('low', 0), ('high', 510), ('width', 10))
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, log10
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.drafting.sketch import Setting

ONE_BY_ONE = 150
"""Whole numbers over no more than this range get one bin per value."""
_EVEN, _BODY = 100, 50
_LARGEST = 2.0**51
_SPIKE, _CROWDED, _TAIL = 0.05, 0.25, 1.5
_LADDER = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5), Fraction(7))
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class Binning:
    """Bins of a number column, with the reason in words.

    Attributes:
        bins: the settings of ``bins``.
        cells: how many bins they make.
        why: the reason, for a comment.
        spikes: single numbers that should have a cell of their own beside the bins.
        settings: further keys that give the values back as they are written: unit, decode.
    """

    bins: tuple[tuple[str, Setting], ...]
    cells: int
    why: str
    spikes: tuple[float, ...] = ()
    settings: tuple[tuple[str, int | str], ...] = ()


def bins_from(values: Floats, counts: Counts, *, whole: bool) -> Binning:
    """Bins for sorted distinct ``values`` seen ``counts`` times; numbers beyond 2^51 go to the outer bins."""
    if abs(values[0]) > _LARGEST or abs(values[-1]) > _LARGEST:
        near = np.abs(values) <= _LARGEST
        return (
            bins_from(values[near], counts[near], whole=whole) if near.sum() > 1 else bins_between(0, 1, whole=False)
        )
    low, high = float(values[0]), float(values[-1])
    step = _common_step(values) if whole else 0
    if whole and high - low < ONE_BY_ONE and (step <= 1 or len(values) < 3):
        return bins_between(low, high, whole=True)
    if whole and step > 1 and len(values) >= 3 and (high - low) / step < ONE_BY_ONE:
        bins, cells = _even(low, high, Fraction(step), whole=True)
        return Binning(bins, cells, f"{step:,} apart, one bin for each", settings=_exactly(low, step))
    if len(values) <= 12:
        edges = (*values.tolist(), high + max(float(np.diff(values).min()) if len(values) > 1 else 1.0, 1.0))
        public = (("decode", "public"),)
        return Binning((("edges", _plain(edges, whole)),), len(values), "one bin for each", settings=public)
    found = _spread(values, counts, whole=whole)
    rounded = step > 1 and low % step == 0
    return replace(found, settings=(("unit", step),)) if rounded else found


def _exactly(first: float, step: int) -> tuple[tuple[str, int | str], ...]:
    """How to pick, in bins between multiples of ``step``, the one value that lies there."""
    if first % step == 0:
        return (("unit", step),)
    return (("decode", "midpoint" if first % step == (step - 1) // 2 else "public"),)


def bins_between(low: float, high: float, *, whole: bool) -> Binning:
    """Bins when only the range is known."""
    if whole and high - low < ONE_BY_ONE:
        settings: tuple[tuple[str, Setting], ...] = (("low", int(low)), ("high", int(high)), ("width", 1))
        return Binning(settings, int(high - low) + 1, "one bin per value")
    if high - low > 100_000:
        edges = _tails((0.0,) if low <= 0 <= high else (low,), low, high, round_up((high - low) / 1000))
        return Binning((("edges", _plain(edges, whole)),), len(edges) - 1, "a long range, so the bins widen")
    width = round_up((high - low) / _EVEN or 1.0)
    settings, cells = _even(low, high, max(width, Fraction(1)) if whole else width, whole=whole)
    return Binning(settings, cells, f"bins of {grouped(dict(settings)['width'])}")


def round_up(x: float) -> Fraction:
    """The smallest of 1, 2, 5 times a power of ten that is at least ``x``: 1650 gives 2000."""
    power = Fraction(10) ** floor(log10(x))
    return next(k * power for k in (1, 2, 5, 10, 20) if k * power >= Fraction(x) * (1 - Fraction(1, 10**9)))


def _spread(values: Floats, counts: Counts, *, whole: bool) -> Binning:
    """Bins for many values: even over the body, widening in the tails, spikes apart."""
    within, beside = _spikes(values, counts, whole=whole)
    inner = ~np.isin(values, within + beside)
    body, weight = (values[inner], counts[inner]) if inner.sum() > 1 else (values, counts)
    low, high = float(body[0]), float(body[-1])
    first, last = _quantile(body, weight, 0.05), _quantile(body, weight, 0.95)
    spread = max(last - first, (high - low) * 1e-9)
    start = first if first - low > _TAIL * spread else low
    stop = last if high - last > _TAIL * spread else high
    tailed = (start, stop) != (low, high)
    width = round_up((stop - start) / (_BODY if tailed or within else _EVEN))
    width = max(width, Fraction(1)) if whole else width
    crowded = _largest_share(body, weight, _ruler(start, stop, width)) > _CROWDED
    if not tailed and not within and not crowded:
        settings, cells = _even(low, high, width, whole=whole)
        return Binning(settings, cells, f"bins of {grouped(width)}", spikes=tuple(beside))
    edges = _tails(_ruler(start, stop, width), low, high, width)
    why = f"bins of {grouped(width)} for most rows" + (", wider in the tail" if tailed else "")
    if crowded:
        finest = round_up(max(abs(_quantile(body, weight, 0.25)), float(width) / 1000) / 5)
        finest = max(finest, Fraction(1)) if whole else finest
        edges = _tails((0.0,) if low <= 0 <= high else _ruler(low, low, finest), low, high, finest)
        why = "most rows crowd at the low end, so the bins widen"
    edges = tuple(e for e in edges if not any(v < e <= v + 1 for v in within))
    edges = tuple(sorted({*edges, *within, *(v + 1 for v in within)}))
    why += "".join(f", {grouped(v)} in a bin of its own" for v in within)
    return Binning((("edges", _plain(edges, whole)),), len(edges) - 1, why, spikes=tuple(beside))


def _spikes(values: Floats, counts: Counts, *, whole: bool) -> tuple[list[float], list[float]]:
    """Values with a good part of all rows: those to give a bin, and those to keep beside the bins.

    A bin holds one whole number, but never one real number.  A largest value far above all others, with
    many rows, is a top code or a mark: it stands beside the bins, so that none reaches up to it.
    """
    share = counts / max(int(counts.sum()), 1)
    gap = values[-1] - values[-2] > 0.1 * (values[-2] - values[0])
    mark = gap and counts[-1] >= 20 and share[-1] > 0.0005
    top = [float(values[-1])] if mark or share[-1] >= _SPIKE else []
    often = [float(v) for v in values[share >= _SPIKE] if v not in top]
    return (often, top) if whole else ([], [*often, *top])


def _largest_share(values: Floats, counts: Counts, edges: Sequence[float]) -> float:
    held = np.bincount(np.searchsorted(np.array(edges), values, side="right"), weights=counts)
    return float(held.max() / max(int(counts.sum()), 1))


def _even(low: float, high: float, width: Fraction, *, whole: bool) -> tuple[tuple[tuple[str, Setting], ...], int]:
    first, last = floor(Fraction(low) / width), floor(Fraction(high) / width) + 1
    last = last if whole else max(ceil(Fraction(high) / width), first + 1)
    settings = (("low", _number(first * width)), ("high", _number(last * width)), ("width", _number(width)))
    return settings, last - first


def _ruler(start: float, stop: float, width: Fraction) -> tuple[float, ...]:
    first, last = floor(Fraction(start) / width), ceil(Fraction(stop) / width)
    return tuple(float(k * width) for k in range(first, max(last, first + 1) + 1))


def _tails(edges: Iterable[float], low: float, high: float, width: Fraction) -> tuple[float, ...]:
    """The edges, gone on with widening steps until they hold ``low`` and ``high``."""
    out = sorted(edges)
    while out[-1] < high:
        out.append(_next_rung(out[-1], width))
    while out[0] > low:
        out.insert(0, -_next_rung(-out[0], width))
    return tuple(out)


def _next_rung(x: float, width: Fraction) -> float:
    """The next round number that is at least a fifth, and one ``width``, above ``x``."""
    goal = max(Fraction(x) + width, Fraction(x) * Fraction(6, 5))
    if goal <= width:
        return float(ceil(goal / width) * width)
    power = Fraction(10) ** floor(log10(goal))
    return float(next(k * power for k in (*_LADDER, Fraction(10)) if k * power >= goal))


def _common_step(values: Floats) -> int:
    gaps = np.diff(values).astype(np.int64)
    return int(np.gcd.reduce(gaps)) if len(gaps) else 1


def _quantile(values: Floats, counts: Counts, q: float) -> float:
    below = np.cumsum(counts)
    return float(values[min(int(np.searchsorted(below, q * below[-1])), len(values) - 1)])


def _number(x: float | Fraction) -> int | float:
    return int(x) if x == int(x) else float(x)


def _plain(edges: Iterable[float], whole: bool) -> tuple[int | float, ...]:
    return tuple(int(e) if whole else _number(e) for e in edges)


def grouped(x: object) -> str:
    """A number as people write it: 2,000."""
    number = _number(x) if isinstance(x, (int, float, Fraction)) else x
    return f"{number:,}" if isinstance(number, (int, float)) else str(x)


def shown(x: float) -> str:
    """An end of a range for people: six figures, and years without a comma.

    >>> shown(18215.615234375), shown(2011.0), shown(1341000.0), shown(-9.5)
    ('18,215.6', '2011', '1,341,000', '-9.5')
    """
    if x == int(x):
        return f"{x:.0f}" if abs(x) < 10_000 else f"{x:,.0f}"
    return f"{x:,.6g}" if "e" not in f"{x:.6g}" else f"{x:.6g}"
