"""Sketches of columns that hold dates.

>>> date_format(["31/12/2019", "01/02/2020"])
('%d/%m/%Y', False)
>>> date_format(["12/11/2019", "01/02/2020"])
('%d/%m/%Y', True)
>>> date_format(["17-202"]) is None
True
"""

from calendar import monthrange
from collections.abc import Sequence
from datetime import date

import polars as pl

from hedgerow.drafting.sketch import Setting, Sketch

FORMATS = (
    "%Y-%m-%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d%b%Y",
    "%d-%b-%Y",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
)
_LOOKED_AT, _EARLIEST, _LATEST = 1_000, date(1800, 1, 1), date(2199, 12, 31)


def date_format(values: Sequence[str]) -> tuple[str, bool] | None:
    """How nearly all these texts are written as dates, and whether another way fits as well."""
    texts = pl.Series("value", list(values[:_LOOKED_AT]), dtype=pl.String)
    if not texts.len() or texts.str.len_chars().min() < 8:  # type: ignore[operator]
        return None
    fits = [f for f in FORMATS if _share(texts, f) >= 0.99]
    return (fits[0], len(fits) > 1) if fits else None


def sketch_dates(name: str, low: date, high: date, *, written: str = "%Y-%m-%d") -> Sketch:
    """Bins by the calendar: days, months, quarters or years, whichever gives about a hundred or fewer."""
    unit, bins = date_bins(low, high)
    return Sketch(
        name,
        "date",
        bins=bins,
        settings=() if written == "%Y-%m-%d" else (("format", written),),
        notes=(f"Dates from {low} to {high}, one bin per {unit}. Earlier and later ones go to the outer bins.",),
        hints=("bins = { quantiles = 20 }    # instead: 20 bins of about equal size",),
    )


def date_bins(low: date, high: date) -> tuple[str, tuple[tuple[str, Setting], ...]]:
    """The calendar unit and the bins between two days, rounded outwards to whole units."""
    days = (high - low).days
    unit = "day" if days <= 62 else "month" if days <= 3660 else "quarter" if days <= 9150 else "year"
    if unit == "month":
        low, high = low.replace(day=1), _month_end(high.year, high.month)
    elif unit == "quarter":
        low = date(low.year, (low.month - 1) // 3 * 3 + 1, 1)
        high = _month_end(high.year, (high.month - 1) // 3 * 3 + 3)
    elif unit == "year":
        low, high = date(low.year, 1, 1), date(high.year, 12, 31)
    return unit, (("unit", unit), ("low", low), ("high", high))


def span(values: Sequence[str], written: str) -> tuple[date, date] | None:
    """The first and last day among texts written that way; days before 1800 or after 2199 are marks."""
    days = pl.Series("value", list(values), dtype=pl.String).str.to_date(written, strict=False)
    days = days.filter(days.is_between(_EARLIEST, _LATEST))
    low, high = days.min(), days.max()
    return (low, high) if isinstance(low, date) and isinstance(high, date) else None


def _share(texts: pl.Series, written: str) -> float:
    days = texts.str.to_date(written, strict=False)
    good = days.is_between(_EARLIEST, _LATEST).sum()
    return int(good) / texts.len()


def _month_end(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])
