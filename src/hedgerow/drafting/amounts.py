"""Sketches of columns that count or measure something: bins, marks, and numbers that are only codes."""

import re
from dataclasses import replace

import numpy as np
import polars as pl

from hedgerow.drafting import names
from hedgerow.drafting.binning import ONE_BY_ONE, Binning, Counts, Floats, bins_from, grouped, shown
from hedgerow.drafting.lists import MOST_LABELS
from hedgerow.drafting.profile import Profile
from hedgerow.drafting.sketch import Sketch

FEW = 12
"""Whole numbers with no more different values than this are taken as codes, unless the name says otherwise."""
_YEAR = frozenset(["year", "yr", "fy"])
_MARKS = frozenset([1, 7, 8, 9, 97, 98, 99, 997, 998, 999, 9998, 9999, 99999, 999999])


def sketch_amount(profile: Profile) -> Sketch | None:
    """A quantity with bins; None when the values are no numbers, or are codes."""
    values, counts = profile.numbers()
    number = profile.counts["value"].cast(pl.Float64, strict=False)
    words = profile.counts.filter(number.is_null() | number.is_nan())  # infinity is a number, in an outer bin
    rare = profile.known - int(counts.sum()) <= 0.01 * profile.known
    if not len(values) or (words.height > 5 and not rare) or words.height >= len(values):
        return None
    whole = bool((values == np.floor(values)).all()) and bool(np.abs(values).max() < 2**53)
    padded = any(re.fullmatch(r"0\d+", v) for v in profile.values[:MOST_LABELS])
    codes = names.says(profile.name, names.CODE)
    amount = names.says(profile.name, names.QUANTITY) and not codes
    few = profile.distinct <= FEW and whole
    listed = whole and profile.distinct <= MOST_LABELS and (codes or not amount and _look_like_codes(values, counts))
    if padded or (few and not amount) or listed:
        return None
    if not profile.complete:  # the ends of all rows, should the sample have missed them
        values, counts = _with_ends(values, counts, (profile.low, profile.high))
    marks = _standing_apart(values)
    inner = ~np.isin(values, marks)
    found = bins_from(values[inner], counts[inner], whole=whole)
    sketch = _sketch_number(profile, found, tuple(words["value"]), whole=whole)
    special = dict(sketch.special) | {_written(profile, m): f"{m:.0f}" for m in marks}
    notes = (*sketch.notes, *(_marked(m) for m in marks))
    return replace(sketch, special=tuple(special.items()), notes=notes)


def _with_ends(values: Floats, counts: Counts, ends: tuple[float, float]) -> tuple[Floats, Counts]:
    new = np.setdiff1d(ends, values)
    order = np.argsort(np.concatenate([values, new]))
    return np.concatenate([values, new])[order], np.concatenate([counts, np.ones(len(new), np.int64)])[order]


def _look_like_codes(values: Floats, counts: Counts) -> bool:
    """Whether uneven numbers well inside a long range have many rows each: codes do, amounts do not."""
    if values[-1] - values[0] < ONE_BY_ONE or len(values) < 20:
        return False
    inside, often = values[5:-2], counts[5:-2] >= 0.03 * counts.sum()
    sparse = inside[-1] - inside[0] > 3 * len(inside)
    return bool(sparse and (often & (inside % 100 != 0)).any())


def _sketch_number(profile: Profile, found: Binning, words: tuple[str, ...], *, whole: bool) -> Sketch:
    special = [(w, w) for w in words] if len(words) <= 5 else []
    special += [(_written(profile, v), f"exactly {grouped(v)}") for v in found.spikes]
    settings: list[tuple[str, int | float | str | tuple[str, ...]]] = [*found.settings]
    if not whole and not settings and (unit := _unit(profile)):
        settings.append(("unit", unit))
    notes = [f"Numbers from {shown(profile.low)} to {shown(profile.high)}; {found.why}; {found.cells} bins."]
    if ("decode", "public") in found.settings:
        notes.append('decode = "public" writes back the very values of the public table.')
    if is_year := whole and names.says(profile.name, _YEAR) and profile.distinct < ONE_BY_ONE:
        notes.append(
            "CHECK: does the confidential table have other years? They would be counted as the first or the last."
        )
    if len(words) > 5:
        notes.append(f"{len(words)} texts are no numbers; they are coded as missing.")
    return Sketch(
        profile.name,
        "integer" if whole else "real",
        bins=found.bins,
        missing=len(words) > 5 or (profile.stored == "text" and not profile.complete),
        special=tuple(special),
        settings=tuple(settings),
        notes=tuple(notes),
        hints=_number_hints(found),
        check=is_year,
    )


def _number_hints(found: Binning) -> tuple[str, ...]:
    """Other ways to bin, when the bins are many."""
    if found.cells <= 30 or ("decode", "public") in found.settings:
        return ()
    settings = dict(found.bins)
    low, high = settings.get("low"), settings.get("high")
    if settings.get("width") == 1 and isinstance(low, int) and isinstance(high, int):
        first, last = low // 5 * 5, high // 5 * 5 + 5
        coarse = f"bins = {{ low = {first}, high = {last}, width = 5 }}"
        return (f"{coarse}    # coarser: {(last - first) // 5} bins",)
    return (
        'decode = "public"    # within a bin, draw from the public table\'s own values',
        "bins = { quantiles = 20 }    # instead: 20 bins of about equal public size",
    )


def _written(profile: Profile, number: float) -> str:
    """The commonest way the table writes this number."""
    same = profile.counts.filter(pl.col("value").cast(pl.Float64, strict=False) == number)
    return str(same["value"][0]) if same.height else f"{number:.0f}"


def _unit(profile: Profile) -> float:
    """The rounding unit of the values as written: 0.01 for two decimals; 0 beyond four."""
    tails = [v.partition(".")[2].rstrip("0") for v in profile.values[:10_000]]
    decimals = max(len(t) for t in tails)
    return 10.0**-decimals if 0 < decimals <= 4 and not any("e" in t.lower() for t in tails) else 0.0


def _standing_apart(values: Floats) -> list[float]:
    """The smallest and largest value when they look like marks: -9, 999 and such, far from the rest."""
    if len(values) < 4:
        return []
    range_ = values[-2] - values[1]
    low, high = float(values[0]), float(values[-1])
    out = [low] if low < 0 and -low in _MARKS and values[1] - low > max(0.2 * range_, 1.0) else []
    return [*out, high] if high in _MARKS and high - values[-2] > max(0.2 * range_, 1.0) else out


def _marked(value: float) -> str:
    mark = f"{value:.0f}"
    return f"{mark} stands apart, like a mark for something: it has a cell of its own. Give it a label."
