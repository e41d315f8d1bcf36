"""Sketches of columns that count or measure something: bins, marks, and numbers that are only codes.

Bins have round widths where the rows are, and wider ones in a long tail.

>>> pay = np.arange(18_000.0, 169_000.0, 500.0)
>>> bins_from(pay, np.ones(len(pay), np.int64), whole=True).bins == Bins(18_000, 170_000, 2_000)
True
>>> bins_from(np.arange(16.0, 91.0), np.ones(75, np.int64), whole=True).bins == Bins(16, 90, 1)
True
>>> bins_between(0, 501, whole=True).bins == Bins(0, 510, 10)
True
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, log10
from typing import Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.schema.bins import Bins, Edge
from hedgerow.public.schema.drafting import names
from hedgerow.public.schema.drafting.lists import MOST_LABELS
from hedgerow.public.schema.drafting.profile import Profile
from hedgerow.public.schema.drafting.sketch import NumberRange, Sketch, grouped

ONE_BY_ONE = 150
"""Whole numbers over no more than this range get one bin per value."""
FEW = 12
"""Whole numbers with no more different values than this are taken as codes, unless the name says otherwise."""
_EVEN, _BODY = 100, 50
_LARGEST = 2.0**51
_SPIKE, _CROWDED, _TAIL = 0.05, 0.25, 1.5
_LEAST_MULTIPLES, _LEAST_SHARE, _NEAR = 20, 0.02, 10
_MEASURED, _ALIKE = 5, 0.6
"""Numbers that are all multiples of 5 or more are measured to that step. How much the ranks of neighbours' counts go
together (correlation): .93 and .83 of scores in reading and mathematics, .03 of schools, -.33 of countries."""
_LEAST_IN_TAIL = 5
"""Rows of the public table that the outermost bins must have: so many a job needs to pick public values in a bin."""
_LADDER = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5), Fraction(7))
_MARKS = frozenset([1, 7, 8, 9, 97, 98, 99, 997, 998, 999, 9998, 9999, 99999, 999999])
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
Floats = npt.NDArray[np.float64]
Decode = Literal["midpoint", "public"]
Counts = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class Binning:
    """Bins of a number column, with the reason in words.

    Attributes:
        bins: the bins.
        cells: how many bins they make.
        why: the reason, for a comment.
        alone: numbers that have a bin of their own.
        spikes: single numbers that should have a cell of their own beside the bins.
        unit, decode: what gives the values back as they are written.
    """

    bins: Bins
    cells: int
    why: str
    alone: tuple[float, ...] = ()
    spikes: tuple[float, ...] = ()
    unit: int | None = None
    decode: Decode | None = None


def bins_from(values: Floats, counts: Counts, *, whole: bool) -> Binning:
    """Bins for sorted distinct ``values`` seen ``counts`` times; numbers beyond 2^51 go to the outer bins."""
    if abs(values[0]) > _LARGEST or abs(values[-1]) > _LARGEST:
        near = np.abs(values) <= _LARGEST
        return (
            bins_from(values[near], counts[near], whole=whole) if near.sum() > 1 else bins_between(0, 1, whole=False)
        )
    low, high = float(values[0]), float(values[-1])
    step = (int(np.gcd.reduce(np.diff(values).astype(np.int64))) if len(values) > 1 else 1) if whole else 0
    if whole and high - low < ONE_BY_ONE and (step <= 1 or len(values) < 3):
        return bins_between(low, high, whole=True)
    if whole and step > 1 and len(values) >= 3 and (high - low) / step < ONE_BY_ONE:
        bins, cells = _even(low, high, Fraction(step), whole=True)
        unit = step if low % step == 0 else None  # or else pick, between multiples, the value that lies there
        decode: Decode | None = None if unit else "midpoint" if low % step == (step - 1) // 2 else "public"
        return Binning(bins, cells, f"{step:,} apart, one bin for each", unit=unit, decode=decode)
    if len(values) <= 12:
        edges = (*values.tolist(), high + max(float(np.diff(values).min()) if len(values) > 1 else 1.0, 1.0))
        return Binning(_edged(edges, whole), len(values), "one bin for each", decode="public")
    binning = _spread(values, counts, whole=whole)
    rounded = step > 1 and low % step == 0
    return replace(binning, unit=step) if rounded else binning


def bins_between(low: float, high: float, *, whole: bool) -> Binning:
    """Bins when only the range is known."""
    if whole and high - low < ONE_BY_ONE:
        return Binning(Bins(int(low), int(high), 1), int(high - low) + 1, "one bin per value")
    if high - low > 100_000:
        nearest_0 = min(max(low, 0.0), high)  # steps widen away from 0, on either side of it
        edges = _tails((nearest_0,), low, high, round_up((high - low) / 1000))
        return Binning(_edged(edges, whole), len(edges) - 1, "a long range, so the bins widen")
    width = round_up((high - low) / _EVEN or 1.0)
    bins, cells = _even(low, high, max(width, Fraction(1)) if whole else width, whole=whole)
    return Binning(bins, cells, f"bins of {grouped(bins.width)}")


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
    rows = np.bincount(np.searchsorted(np.array(_ruler(start, stop, width)), body, side="right"), weights=weight)
    crowded = float(rows.max() / max(int(weight.sum()), 1)) > _CROWDED
    if not tailed and not within and not crowded:
        bins, cells = _even(low, high, width, whole=whole)
        return Binning(bins, cells, f"bins of {grouped(width)}", spikes=tuple(beside))
    edges = _tails(_gentler(_ruler(start, stop, width), low, high, width), low, high, width)
    why = f"bins of {grouped(width)} for most rows" + (", wider in the tail" if tailed else "")
    if crowded:
        finest = round_up(max(abs(_quantile(body, weight, 0.25)), float(width) / 1000) / 5)
        finest = max(finest, Fraction(1)) if whole else finest
        edges = _tails((0.0,) if low <= 0 <= high else _ruler(low, low, finest), low, high, finest)
        why = "most rows crowd at the low end, so the bins widen"
    edges = _without_empty_ends(edges, body, weight)
    edges = tuple(e for e in edges if not any(v < e <= v + 1 for v in within))
    edges = tuple(sorted({*edges, *within, *(v + 1 for v in within)}))
    return Binning(_edged(edges, whole), len(edges) - 1, why, alone=tuple(within), spikes=tuple(beside))


def _without_empty_ends(edges: tuple[float, ...], values: Floats, counts: Counts) -> tuple[float, ...]:
    """The edges without those of outer bins that hold a handful of rows: these are one bin, with public values in it.

    Noise makes rows in every bin.  Of many bins that are all but empty far out in a tail, each would get some, and
    the mean of the column would be theirs.

    >>> lengths = np.array([90.0, 100.0, 150.0, 400.0, 900.0, 5000.0])
    >>> _without_empty_ends((0, 100, 200, 500, 1000, 7000), lengths, np.array([900, 900, 90, 15, 3, 2]))
    (0, 100, 200, 500, 7000)
    """
    rows = np.histogram(values, edges, weights=counts)[0]
    above, below = np.cumsum(rows[::-1])[::-1], np.cumsum(rows)
    kept = [e for i, e in enumerate(edges[1:-1], 1) if above[i] >= _LEAST_IN_TAIL <= below[i - 1]]
    return (edges[0], *kept, edges[-1]) if kept else edges


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


def _even(low: float, high: float, width: Fraction, *, whole: bool) -> tuple[Bins, int]:
    first, last = floor(Fraction(low) / width), floor(Fraction(high) / width) + 1
    last = last if whole else max(ceil(Fraction(high) / width), first + 1)
    return Bins(_number(first * width), _number(last * width), _number(width)), last - first


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


def _gentler(edges: Sequence[float], low: float, high: float, width: Fraction) -> tuple[float, ...]:
    """Even edges, gone on until the next round number is no more than some five steps away.

    Next to 31 it is 50, whatever the width: a bin of 31 to 50 beside bins of 0.5 would hold a whole tail, in which
    values lie anywhere where no public table says where.

    >>> _gentler((30.0, 30.5, 31.0), 0.0, 70.0, Fraction(1, 2))
    (30.0, 30.5, 31.0, 32.0, 34.0, 39.0)
    """
    out, up, down = [*edges], width, width
    while out[-1] < high and _next_rung(out[-1], width) - out[-1] > 2.5 * (up := round_up(float(up) * 1.5)):
        out.append(out[-1] + float(up))
    while out[0] > low and out[0] + _next_rung(-out[0], width) > 2.5 * (down := round_up(float(down) * 1.5)):
        out.insert(0, out[0] - float(down))
    return tuple(out)


def _next_rung(x: float, width: Fraction) -> float:
    """The next round number that is at least a fifth, and one ``width``, above ``x``."""
    goal = max(Fraction(x) + width, Fraction(x) * Fraction(6, 5))
    if goal <= width:
        return float(ceil(goal / width) * width)
    power = Fraction(10) ** floor(log10(goal))
    return float(next(k * power for k in (*_LADDER, Fraction(10)) if k * power >= goal))


def _quantile(values: Floats, counts: Counts, q: float) -> float:
    below = np.cumsum(counts)
    return float(values[min(int(np.searchsorted(below, q * below[-1])), len(values) - 1)])


def _number(x: float | Fraction) -> int | float:
    return int(x) if x == int(x) else float(x)


def _edged(edges: Iterable[float], whole: bool) -> Bins:
    return Bins(edges=tuple(int(e) if whole else _number(e) for e in edges))


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
    written = whole and names.says(profile.name, names.WRITTEN_CODE) and not names.says(profile.name, names.QUANTITY)
    few = profile.distinct <= FEW and whole and not names.is_year(profile.name, float(values[0]), float(values[-1]))
    listed = whole and profile.distinct <= MOST_LABELS and (codes or not amount and _look_like_codes(values, counts))
    if padded or written or (few and not amount) or listed:
        return None
    if not profile.complete:  # the ends of all rows, should the sample have missed them
        values, counts = _with_ends(values, counts, (profile.low, profile.high))
    marks = _standing_apart(values)
    inner = ~np.isin(values, marks)
    binning = bins_from(values[inner], counts[inner], whole=whole)
    if whole and names.says(profile.name, names.MONTH) and values[0] >= 1 and values[-1] <= 12:
        binning = bins_between(1, 12, whole=True)  # a table of half a year: July would be counted as June
    sketch = _sketch_number(profile, binning, tuple(words["value"]), whole=whole)
    spread = inner & ~np.isin(values, (*binning.alone, *binning.spikes, 0.0))  # 0 is a multiple of everything
    sketch = _with_heaps(sketch, values[spread], counts[spread])
    special = dict(sketch.special) | {_written(profile, m): f"{m:.0f}" for m in marks}
    said = "stands apart, like a mark for something: it has a cell of its own. Give it a label."
    remarks = (*sketch.remarks, *(f"{m:.0f} {said}" for m in marks))
    return replace(sketch, special=tuple(special.items()), remarks=remarks)


def _with_ends(values: Floats, counts: Counts, ends: tuple[float, float]) -> tuple[Floats, Counts]:
    new = np.setdiff1d(ends, values)
    order = np.argsort(np.concatenate([values, new]))
    return np.concatenate([values, new])[order], np.concatenate([counts, np.ones(len(new), np.int64)])[order]


def _look_like_codes(values: Floats, counts: Counts) -> bool:
    """Whether uneven numbers well inside a long range have many rows each: codes do, amounts do not.

    Numbers that fill most places a step apart are measured to that step, however often each was.

    >>> speeds, trades = np.arange(10.0, 170.0, 5.0), np.arange(10.0, 42.0) ** 2
    >>> _look_like_codes(speeds, np.full(32, 100)), _look_like_codes(trades, np.full(32, 100))
    (False, True)
    """
    if values[-1] - values[0] < ONE_BY_ONE or len(values) < 20:
        return False
    step = int(np.gcd.reduce(np.diff(values).astype(np.int64)))
    if (values[-1] - values[0]) / step < 1.5 * len(values):
        return False
    if step >= _MEASURED or _changes_slowly(counts):
        return False
    inside, often = values[5:-2], counts[5:-2] >= 0.03 * counts.sum()
    sparse = inside[-1] - inside[0] > 3 * len(inside)
    return bool(sparse and (often & (inside % 100 != 0)).any())


def _changes_slowly(counts: Counts) -> bool:
    """Whether neighbours are seen alike often, as scores are: how often a code is says nothing of the next one.

    >>> scores = np.rint(300 * np.exp(-np.linspace(-2.5, 2.5, 38) ** 2 / 2)).astype(int)
    >>> _changes_slowly(scores), _changes_slowly(np.random.default_rng(1).permutation(scores))
    (True, False)
    """
    rank = pl.Series(counts).rank().to_numpy()
    return bool(rank[1:].std() and rank[:-1].std() and np.corrcoef(rank[1:], rank[:-1])[0, 1] > _ALIKE)


def _sketch_number(profile: Profile, binning: Binning, words: tuple[str, ...], *, whole: bool) -> Sketch:
    special = [(w, w) for w in words] if len(words) <= 5 else []
    special += [(_written(profile, v), f"exactly {grouped(v)}") for v in binning.spikes]
    as_is = whole or binning.unit is not None or binning.decode is not None
    remarks = []
    if binning.decode == "public":
        remarks.append('decode = "public" writes back the very values of the public table.')
    one_by_one = whole and profile.distinct < ONE_BY_ONE
    if is_year := one_by_one and names.is_year(profile.name, profile.low, profile.high):
        remarks.append(
            "CHECK: does the confidential table have other years? They would be taken as missing: raise high."
        )
    if len(words) > 5:
        remarks.append(f"{len(words)} texts are no numbers; they are coded as missing.")
    return Sketch(
        profile.name,
        "integer" if whole else "real",
        bins=binning.bins,
        missing=len(words) > 5 or (profile.stored == "text" and not profile.complete),
        special=tuple(special),
        unit=binning.unit if as_is else _unit(profile) or None,
        decode=binning.decode,
        range=NumberRange(profile.low, profile.high, binning.why, binning.alone),
        remarks=tuple(remarks),
        hints=_number_hints(binning),
        check=is_year,
    )


def _with_heaps(sketch: Sketch, values: Floats, counts: Counts) -> Sketch:
    """The sketch with the roundings and the top code that the values show, where its bins leave a choice."""
    if not sketch.wants_values or len(values) < 2 or sketch.kind == "real" and sketch.unit is None:
        return sketch
    top, remarks = top_code(values, counts), []
    rest = slice(None if top is None else -1)
    found = heaps(values[rest], counts[rest], sketch.unit or 1)
    if found:
        said = ", ".join(f"{share:.0%} to {grouped(step)}" for step, share in found)
        remarks.append(f"Rounded beyond chance: {said}; used where a job has no public table.")
    if top is not None and sketch.cuts[0] < top:
        remarks.append(f"{grouped(top)} is the largest and heaped, like a top code: it has a bin of its own.")
        sketch = replace(sketch, top=_number(top))
    return replace(sketch, round_to=found, remarks=(*sketch.remarks, *remarks))


def heaps(values: Floats, counts: Counts, unit: float) -> tuple[tuple[int | float, float], ...]:
    """The shares of sorted ``values``, seen ``counts`` times, that were rounded to 5, 10, 50, 100 ... units.

    Shares of a rounding are those beyond what finer roundings give by chance: of numbers rounded to 10, a tenth are
    multiples of 100.  Where values avoid wider multiples (all are halves) they are still at most 1 together.

    >>> one = np.arange(1.0, 5001.0)
    >>> heaps(one, np.where(one % 100 == 0, 101, 1), 1)
    ((100, 0.5),)
    >>> heaps(one + 0.5, np.ones(5000, int), 0.1)
    ((0.5, 1.0),)
    """
    whole = np.rint(values / unit).astype(np.int64)
    steps = [1]
    while steps[-1] * 2 * _LEAST_MULTIPLES <= whole[-1] - whole[0]:
        steps.append(steps[-1] * (5 if len(steps) % 2 else 2))
    of = [float(counts[whole % s == 0].sum() / counts.sum()) for s in steps]
    shares: list[float] = []
    for i, step in enumerate(steps):
        wider = steps[i + 1] if i + 1 < len(steps) else 0
        exactly, chance = (of[i] - of[i + 1], 1 - step / wider) if wider else (of[i], 1.0)
        finer = sum(s * (f / step - (f / wider if wider else 0)) for s, f in zip(shares, steps, strict=False))
        shares.append(min(max((exactly - finer) / chance, 0.0), 1 - sum(shares)))
    exact = Fraction(str(unit))
    told = [round(x, 2) for x in shares]
    told = told if sum(told) <= 1 else [int(100 * x) / 100 for x in shares]  # together they are at most 1
    return tuple((_number(s * exact), x) for s, x in zip(steps[1:], told[1:], strict=True) if x >= _LEAST_SHARE)


def top_code(values: Floats, counts: Counts) -> float | None:
    """The largest of sorted values, when it has far more rows than any of those below it.

    >>> pay = np.arange(1.0, 1001.0)
    >>> top_code(pay, np.where(pay == 1000, 50, 5)), top_code(pay, np.full(1000, 5))
    (1000.0, None)
    """
    near = counts[-_NEAR - 1 : -1]
    heaped = counts[-1] >= 20 and counts[-1] >= 0.002 * counts.sum() and counts[-1] > 3 * near.max(initial=0)
    return float(values[-1]) if heaped else None


def _number_hints(binning: Binning) -> tuple[str, ...]:
    """Other ways to bin, when the bins are many."""
    if binning.cells <= 30 or binning.decode == "public":
        return ()
    low, high = binning.bins.low, binning.bins.high
    if binning.bins.width == 1 and isinstance(low, int) and isinstance(high, int):
        first, last = low // 5 * 5, high // 5 * 5 + 5
        coarse = f"bins = {{ low = {first}, high = {last}, width = 5 }}"
        return (f"{coarse}    # coarser: {(last - first) // 5} bins",)
    return (
        'decode = "uniform"    # within a bin, any value, instead of those that the job\'s public table has there',
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


def set_apart(sketch: Sketch, named: Mapping[str, str]) -> Sketch:
    """A number column with cells of their own for single values, and no bin left empty by it.

    >>> ages = Sketch("age", "integer", bins=Bins(-1, 90, 1))
    >>> set_apart(ages, {"-1": "refused", "N": "not asked"}).bins.low
    0
    """
    numbers = {v: float(v) for v in named if _NUMBER.fullmatch(v)}
    sketch = replace(sketch, top=None) if sketch.top in numbers.values() else sketch
    bins, inside = sketch.bins or Bins(), set[str]()
    if bins.edges:
        return _beside_edges(sketch, named, bins.edges, {*numbers.values()})
    if bins.width == 1:
        bins, low, high = _shortened(bins, {*numbers.values()})
        inside = {v for v, x in numbers.items() if low <= x <= high}
    special = {**dict(sketch.special), **{v: w for v, w in named.items() if v not in inside}}
    return replace(sketch, bins=bins, special=tuple(special.items()))


def _shortened(bins: Bins, numbers: set[float]) -> tuple[Bins, int, int]:
    """One bin per value, without the outer values that stand beside the bins; and its ends."""
    low, high = bins.low, bins.high
    assert isinstance(low, int) and isinstance(high, int), "one bin per value has whole ends"
    while low in numbers and low + 1 < high:
        low += 1
    while high in numbers and low + 1 < high:
        high -= 1
    return replace(bins, low=low, high=high), low, high


def _beside_edges(sketch: Sketch, named: Mapping[str, str], edges: tuple[Edge, ...], numbers: set[float]) -> Sketch:
    """Edges without the bins that held one of the numbers alone."""
    gone = {e for e in edges[1:-1] if isinstance(e, (int, float)) and e - 1 in numbers and e - 1 in edges}
    kept = tuple(e for e in edges if isinstance(e, (int, float)) and e not in gone)
    special = tuple({**dict(sketch.special), **named}.items())
    seen = sketch.range and replace(sketch.range, alone=tuple(x for x in sketch.range.alone if x + 1 not in gone))
    return replace(sketch, bins=Bins(edges=kept), special=special, range=seen)
