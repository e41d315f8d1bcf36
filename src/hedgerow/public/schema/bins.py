"""Where the bins of a number or a date lie, on one line of numbers.

A bin holds its lower edge and not its upper one, so a column of n bins has n + 1 cuts.  Dates are
counted in days since 1970.  Everything here is public: the bins are declared, or taken from a public
table, before any confidential row is seen.

    >>> Bins(low=0, high=10, width=4).cuts("integer").tolist()
    [0.0, 4.0, 8.0, 10.0]
    >>> Bins(unit="month", low=date(1970, 1, 15), high=date(1970, 2, 28)).cuts("date").tolist()
    [14.0, 31.0, 59.0]
"""

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal, final

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


def as_date(days: float) -> date:
    """The date that many days after 1 January 1970."""
    return _EPOCH + timedelta(days=int(days))


def _ruler(low: Number, high: Number, width: Number) -> Floats:
    """Cuts every ``width``, each the float nearest to the decimal as typed: 0.1 thrice is 0.3."""
    start, stop, step = (Fraction(str(x)) for x in (low, high, width))
    scale = np.lcm.reduce([x.denominator for x in (start, stop, step)], dtype=object)
    first, last, by = (int(x * scale) for x in (start, stop, step))
    if max(abs(first), abs(last), scale) < 2**53:
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
