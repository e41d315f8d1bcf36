"""The bins of a number or a date on one line of numbers, and the values that may stand in each.

A bin holds its lower edge and not its upper one, so a column of n bins has n + 1 cuts.  Dates are counted in days
since 1970.  Everything here is public: the bins are declared, or taken from a public table, before any confidential
row is seen.  A whole number or a date has a finite list of values per bin; a real number has one only when the schema
names a rounding unit.  A picked value always falls back into the bin it was picked from.

    >>> Bins(low=0, high=10, width=4).cuts("integer").tolist()
    [0.0, 4.0, 8.0, 10.0]
    >>> Bins(unit="month", low=date(1970, 1, 15), high=date(1970, 2, 28)).cuts("date").tolist()
    [14.0, 31.0, 59.0]
    >>> values = BinValues.of(np.array([0.0, 10.0, 20.0]), unit=Fraction(5), finest=Fraction(1))
    >>> values.middle(np.array([0, 1])).tolist(), values.lowest.tolist()
    ([5.0, 15.0], [0.0, 10.0])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

Number = int | float
Edge = int | float | date
BinnedKind = Literal["integer", "real", "date"]
Floats = npt.NDArray[np.float64]
PERIODS = {"day": 0, "month": 1, "quarter": 3, "year": 12}
"""The units of date bins, and how many months each has."""
_EPOCH = date(1970, 1, 1)


@final
@dataclass(frozen=True)
class Bins:
    """The bins of a column, said in one of three ways.

    Attributes:
        low: where the first bin begins.
        high: where the last bin ends: just before it for numbers; with it for dates, and for whole
            numbers one by one.
        width: the width of every bin of numbers; the last may be narrower.
        unit: the calendar unit of every bin of dates: day, month, quarter or year.
        edges: all edges instead, the outer ones included; the last bin holds its upper edge, and when
            the last edge is repeated it holds that one value.
        quantiles: instead, this many bins of about equal count on the public table, not yet resolved.
    """

    low: Edge | None = None
    high: Edge | None = None
    width: Number | None = None
    unit: str | None = None
    edges: tuple[Edge, ...] = ()
    quantiles: int | None = None

    def cuts(self, kind: BinnedKind) -> Floats:
        """The n + 1 cuts of n bins; every value of bin i is at or above cut i and below cut i + 1."""
        if self.edges:
            cuts = np.array([as_number(e) for e in self.edges], np.float64)
            cuts[-1] = np.nextafter(cuts[-1], np.inf) if kind == "real" else np.floor(cuts[-1]) + 1
            return cuts
        assert self.low is not None and self.high is not None, "bins are not resolved"
        if isinstance(self.low, date):
            assert isinstance(self.high, date)
            return _calendar(self.low, self.high, self.unit or "day")
        assert self.width is not None and not isinstance(self.high, date)
        if kind == "integer" and self.width == 1:
            return np.arange(self.low, self.high + 2, dtype=np.float64)
        return _ruler(self.low, self.high, self.width)


def as_number(edge: Edge) -> float:
    """The edge on the line of numbers: a date as days since 1970."""
    return float((edge - _EPOCH).days) if isinstance(edge, date) else float(edge)


def as_numbers(edges: Sequence[Edge]) -> Floats:
    """The same of many at once."""
    try:
        return np.array(edges, np.float64)
    except TypeError:  # dates
        return np.array([as_number(e) for e in edges], np.float64)


def as_date(days: float) -> date:
    """The date that many days after 1 January 1970."""
    return _EPOCH + timedelta(days=int(days))


def _ruler(low: Number, high: Number, width: Number) -> Floats:
    """Cuts every ``width``, each the float nearest to the decimal as typed: 0.1 thrice is 0.3."""
    start, stop, step = (Fraction(str(x)) for x in (low, high, width))
    scale = np.lcm.reduce([x.denominator for x in (start, stop, step)], dtype=object)
    first, last, by = (int(x * scale) for x in (start, stop, step))
    if max(abs(first), abs(last), by, scale) < 2**53:
        return np.append(np.arange(first, last, by) / int(scale), float(stop))
    return np.array([*(float(Fraction(k, int(scale))) for k in range(first, last, by)), float(stop)])


def _calendar(low: date, high: date, unit: str) -> Floats:
    """Cuts at the beginning of every unit between two days, both counted in."""
    start, stop = as_number(low), as_number(high)
    if unit == "day":
        return np.arange(start, stop + 2)
    months = PERIODS[unit]
    first = (low.year - 1970) * 12 + (low.month - 1) // months * months
    last = (high.year - 1970) * 12 + high.month - 1
    starts = np.arange(first, last + 1, months).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.array([start, *starts[starts > start], stop + 1], np.float64)


Whole = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class BinValues:
    """The values of each bin: the multiples ``first`` to ``last`` of a step, or any number in between.

    Attributes:
        low: the lower cut of each bin.
        high: the upper cut of each bin, not in it.
        first: the smallest multiple of the step in each bin.
        last: the largest multiple of the step in each bin.
        over: the numerator of each bin's step; 0 where any number may stand.
        under: the denominator of each bin's step.
        avoid: numbers with a code of their own, which may not be picked.
        heaps: multiples that are picked more often than others: of each number, the share of picks that are to be
            multiples of it, and those multiples.
    """

    low: Floats
    high: Floats
    first: Whole
    last: Whole
    over: Whole
    under: Whole
    avoid: tuple[float, ...] = ()
    heaps: tuple[tuple[float, "BinValues"], ...] = ()

    @staticmethod
    def of(
        cuts: Floats,
        *,
        unit: Fraction | None,
        finest: Fraction | None,
        avoid: tuple[float, ...] = (),
        heaps: tuple[tuple[Fraction, float], ...] = (),
    ) -> "BinValues":
        """The grid of multiples of ``unit``; of ``finest`` in a bin that holds no such multiple to pick.

        ``None`` is no grid at all: any number.
        """
        low, high = cuts[:-1], cuts[1:]
        none = np.zeros(len(low), np.int64)
        first, last, under = none, none - 1, none + 1
        over = none if finest is None else none + 1
        for step in dict.fromkeys((finest, unit)):
            if step is not None:
                a, b = _span(low, high, step)
                good = b - a + 1 > sum(((low <= x) & (x < high)).astype(np.int64) for x in avoid)
                first, last = np.where(good, a, first), np.where(good, b, last)
                over = np.where(good, step.numerator, over)
                under = np.where(good, step.denominator, under)
        often = tuple((share, BinValues.of(cuts, unit=s, finest=None, avoid=avoid)) for s, share in heaps)
        return BinValues(low, high, first, last, over, under, avoid, often)

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """The bins in which no value can be picked."""
        return (self.over > 0) & (self.first > self.last) | ~(self.low < self.high)

    @property
    def lowest(self) -> Floats:
        """The smallest value that may be picked in each bin."""
        bins = np.arange(len(self.low))
        return self._past_all(bins, np.where(self.over > 0, self._at(bins, self.first), self.low))

    @property
    def highest(self) -> Floats:
        """The largest value of each bin."""
        bins = np.arange(len(self.low))
        return np.where(self.over > 0, self._at(bins, self.last), np.nextafter(self.high, -np.inf))

    def nearest(self, bins: npt.NDArray[np.integer[Any]], numbers: Floats) -> Floats:
        """The value of each bin that is nearest to a number."""
        step = np.maximum(self.over[bins], 1) / self.under[bins]
        at = np.clip(np.rint(numbers / step), self.first[bins], np.maximum(self.last, self.first)[bins])
        return np.where(self.over[bins] > 0, self._at(bins, at.astype(np.int64)), numbers)

    def middle(self, bins: npt.NDArray[np.integer[Any]]) -> Floats:
        """The middle of each bin, or the value that may stand next below it."""
        middle = self.low[bins] / 2 + self.high[bins] / 2
        k = np.floor(middle * self.under[bins] / np.maximum(self.over[bins], 1)).astype(np.int64)
        at = self._at(bins, np.clip(k, self.first[bins], self.last[bins]))
        return self._past_all(bins, np.where(self.over[bins] > 0, at, middle))

    def rounded(self, bins: npt.NDArray[np.integer[Any]], value: Floats) -> Floats:
        """Values of each bin, moved to the nearest that may stand."""
        k = np.rint(value * self.under[bins] / np.maximum(self.over[bins], 1)).astype(np.int64)
        at = self._at(bins, np.clip(k, self.first[bins], self.last[bins]))
        return self._past_all(bins, np.where(self.over[bins] > 0, at, value))

    def picked(self, bins: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> Floats:
        """A value of each bin: all equally likely, but for the heaps."""
        found = self.between(bins, self.low[bins], self.high[bins], rng)
        if self.heaps:
            heap = (rng.random(len(bins))[:, None] >= self._heap_odds[bins]).sum(axis=1)
            for i, (_, heaped) in enumerate(self.heaps):
                mine = np.flatnonzero(heap == i)
                found[mine] = heaped.picked(bins[mine], rng)
        return found

    @cached_property
    def _heap_odds(self) -> Floats:
        """For each bin, the summed chances of the heaps; what is left to 1 is that of any value.

        A multiple of 100 stands for a hundred values: in a narrow bin it has more of the picks than in a wide one,
        or there is none.
        """
        width = self.high - self.low
        spans = [share * h.over / h.under * (h.last - h.first + 1) * (h.over > 0) for share, h in self.heaps]
        rest = (1 - sum(share for share, _ in self.heaps)) * width
        every = np.maximum(sum(spans, rest), np.finfo(np.float64).tiny)
        return np.cumsum([span / every for span in spans], axis=0).T

    def between(
        self, bins: npt.NDArray[np.integer[Any]], least: Floats, most: Floats, rng: np.random.Generator
    ) -> Floats:
        """A value of each bin that is also at or above ``least`` and at or below ``most``; NaN if none is."""
        over, under = self.over[bins], self.under[bins]
        low, high = np.maximum(self.low[bins], least), np.minimum(self.high[bins], most)
        share = rng.random(len(bins))
        top = np.maximum(np.minimum(low + share * (high - low), np.nextafter(self.high[bins], -np.inf)), low)
        any_number = np.where(low <= high, top, np.nan)
        if not over.any():
            return self._past_all(bins, any_number)
        first, last = self.first[bins], self.last[bins]
        step = np.maximum(over, 1)
        k = np.ceil(least * under / step).astype(np.int64)
        first = np.where(least > self.low[bins], np.maximum(first, k + (k * over / under < least)), first)
        k = np.floor(most * under / step).astype(np.int64)
        last = np.where(most < self.high[bins], np.minimum(last, k - (k * over / under > most)), last)
        k = np.minimum(first + (share * (last - first + 1)).astype(np.int64), last)
        multiple = np.where(first <= last, self._at(bins, k), np.nan)
        return self._past_all(bins, np.where(over > 0, multiple, any_number))

    def _at(self, bins: npt.NDArray[np.integer[Any]], k: Whole) -> Floats:
        return np.asarray(k * self.over[bins] / self.under[bins], np.float64)

    def _past_all(self, bins: npt.NDArray[np.integer[Any]], value: Floats) -> Floats:
        """The same values, those to avoid moved on to the next that may stand."""
        for _ in self.avoid:
            value = self._step_past(bins, value)
        return value

    def _step_past(self, bins: npt.NDArray[np.integer[Any]], value: Floats) -> Floats:
        bad = np.isin(value, self.avoid)
        if not bad.any():
            return value
        over, under = self.over[bins], self.under[bins]
        k = np.rint(np.where(bad, value, 0) * under / np.maximum(over, 1)).astype(np.int64) + 1
        k = np.where(k > self.last[bins], self.first[bins], k)
        onward = np.where(over > 0, self._at(bins, k), np.nextafter(value, np.inf))
        return np.where(bad, onward, value)


def _span(low: Floats, high: Floats, step: Fraction) -> tuple[Whole, Whole]:
    """The first and last multiple of ``step`` at or above ``low`` and below ``high``, exact in floats."""
    p, q = step.numerator, step.denominator
    first = np.ceil(low * q / p).astype(np.int64)
    first -= (first - 1) * p / q >= low
    first += first * p / q < low
    last = np.ceil(high * q / p).astype(np.int64) - 1
    last += (last + 1) * p / q < high
    last -= last * p / q >= high
    return first, last
