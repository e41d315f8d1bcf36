"""What is wrong with one column of a schema: each problem with its key and its cure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite, isinf

import polars as pl

from hedgerow.public.schema.bins import PERIODS, Bins, Edge, as_number
from hedgerow.public.schema.column import LISTED, Column

MOST_BINS = 1_000_000
_MOST_EXACT = 2**53
Fault = tuple[str, str]
"""The key that is wrong, and a sentence with the cure."""


def column_faults(c: Column) -> Iterator[Fault]:
    """All that is wrong with a column by itself."""
    if not c.name.strip():
        yield "kind", "the name is empty; name it as in the header of the file."
    by_kind = _listed if c.kind in LISTED else _yes_no if c.kind == "yes-no" else _binned
    yield from by_kind(c)
    for text in repeated(c.missing_values):
        yield "missing_values", f"missing_values names {text!r} twice; remove one."
    if c.other is not None and (not c.other or c.other != c.other.strip()):
        yield "other", f'other is {c.other!r}; give a text without blanks around it, such as other = "other".'
    elif c.other is not None and c.other in c.missing_values:
        yield "other", f"{c.other!r} is both other and missing; remove it from missing_values."


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint naming the closest of ``words``, or all of them when none is close and they are few."""
    words = tuple(words)
    close = get_close_matches(word, words[:10_000], 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"choose one of {', '.join(words)}." if 0 < len(words) <= 12 else "correct or remove it."


def repeated(texts: Iterable[str]) -> list[str]:
    """The texts that stand more than once."""
    texts = tuple(texts)
    if len(set(texts)) == len(texts):
        return []
    return [text for text, n in Counter(texts).items() if n > 1]


def _texts(key: str, texts: Sequence[str]) -> Iterator[Fault]:
    for text in texts:
        if not text.strip():
            yield key, f"{key} has a blank text, which always means missing; remove it and set missing = true."
        elif text != text.strip():
            yield key, f"{key} has {text!r}, but values are trimmed; write {text.strip()!r}."
    for text in repeated(texts):
        yield key, f"{key} names {text!r} twice; remove one."


def _listed(c: Column) -> Iterator[Fault]:
    if not c.values:
        yield "values", 'no values are listed; give values = ["..."] or labels = { raw = "label" }.'
    if len(c.labels) != len(c.values):
        yield "labels", f"{len(c.labels)} labels for {len(c.values)} values; give one label for each."
    yield from _texts("values", c.values)
    for text in sorted({t[: c.prefix or None] for t in c.missing_values} & set(c.values)):
        yield "missing_values", f"{text!r} is both a value and a missing value; remove one."
    if c.type == "integer":
        for text in (*c.values, *([] if c.other is None else [c.other])):
            if not text.removeprefix("-").isdecimal() or text != str(int(text)) or abs(int(text)) >= 2**63:
                yield "type", f'type is "integer" but {text!r} is not a whole number; set type = "text".'
                break
    if c.prefix < 0:
        yield "prefix", f"prefix is {c.prefix}; give the number of leading characters to keep, such as 2."
    if c.other is not None and c.other not in c.values and c.prefix and c.other[: c.prefix].strip() in c.values:
        yield "other", f'other {c.other!r} cut to {c.prefix} is a value; give it another text, such as "?".'
    yield from _collapse(c)


def _collapse(c: Column) -> Iterator[Fault]:
    if c.collapse is None:
        return
    if c.collapse.below < 1:
        yield "collapse", f"collapse.below is {c.collapse.below}; give a number of rows, such as below = 500."
    if not c.collapse.into.strip():
        yield "collapse", 'collapse.into is blank; name the cell, such as into = "other".'
    if c.other is not None and c.other != c.collapse.into:
        yield (
            "collapse",
            f"collapse.into is {c.collapse.into!r} but other is {c.other!r}; make them the same, "
            "as both hold what has no cell of its own.",
        )


def _yes_no(c: Column) -> Iterator[Fault]:
    if bool(c.yes) != bool(c.no):
        yield ("no" if c.yes else "yes"), 'give both yes = ["..."] and no = ["..."], or neither.'
    yield from _texts("yes", c.yes)
    yield from _texts("no", c.no)
    for first, second in (("yes", "no"), ("yes", "missing_values"), ("no", "missing_values")):
        for text in sorted({*getattr(c, first)} & {*getattr(c, second)}):
            yield second, f"{text!r} is in both {first} and {second}; remove one."


def _binned(c: Column) -> Iterator[Fault]:
    raws = [raw for raw, _ in c.special]
    yield from _texts("special", raws)
    for text in sorted({*raws} & {*c.missing_values}):
        yield "special", f"{text!r} is both special and a missing value; remove one."
    if any(isinf(c.number_of(raw) or 0) for raw in raws):
        yield "special", "special names infinity, which falls into the outer bins; remove it."
    if c.other is not None and c.other not in raws and c.number_of(c.other) is not None:
        yield "other", f'other is {c.other!r}, which falls into a bin; give a word, such as "other".'
    if c.kind == "date":
        yield from _date_format(c)
    if c.bins is None:
        yield "bins", f"bins are missing; give {_example(c)}."
        return
    wrong = [*_unit(c)] or [("bins", text) for text in _bins(c, c.bins)]
    yield from wrong
    if not wrong and c.bins.quantiles is None:
        yield from _bins_and_values(c)


def _unit(c: Column) -> Iterator[Fault]:
    if c.unit is not None and not (isfinite(c.unit) and 0 < c.unit < _MOST_EXACT):
        yield "unit", f"unit is {c.unit}; give a rounding unit above 0, such as unit = 100."
    elif c.unit is not None and c.kind == "integer" and c.unit != int(c.unit):
        yield "unit", f'unit is {c.unit} for whole numbers; give a whole unit, or set kind = "real".'


def _date_format(c: Column) -> Iterator[Fault]:
    units = ("month", "quarter", "year")
    if _reads_back(c.format, (date(2001, 2, 3), date(2012, 11, 30))):
        return
    if not _reads_back(c.format, (date(2001, 2, 1), date(2012, 11, 1))):
        yield "format", f'format {c.format!r} does not fix year and month; write it like "%Y-%m-%d".'
    elif c.bins is None or c.bins.unit not in units:
        yield "format", f'format {c.format!r} has no day; give bins with unit = "month", or a day in the format.'


def _reads_back(form: str, days: Sequence[date]) -> bool:
    """Whether dates written in this format are read again as the same dates."""
    try:
        texts = pl.Series([d.strftime(form) for d in days])
        return texts.str.to_date(form, strict=False).to_list() == [*days]
    except (ValueError, pl.exceptions.PolarsError):
        return False


def _bins(c: Column, b: Bins) -> Iterator[str]:
    steps = any(x is not None for x in (b.low, b.high, b.width, b.unit))
    ways = steps + bool(b.edges) + (b.quantiles is not None)
    if ways != 1:
        yield f"bins are said in {'more than one way' if ways else 'no way'}; give {_example(c)}."
    elif b.quantiles is not None:
        if not 2 <= b.quantiles <= MOST_BINS:
            yield f"bins.quantiles is {b.quantiles}; give a number of bins from 2 on, such as quantiles = 20."
    else:
        wrong = list(_limits(c, b))
        yield from wrong or (_steps(c, b) if steps else ())


def _limits(c: Column, b: Bins) -> Iterator[str]:
    limits: list[Edge] = [*b.edges] or [x for x in (b.low, b.high) if x is not None]
    if len(limits) < 2:
        yield f"bins have fewer than two edges; give {_example(c)}."
    elif any(isinstance(x, date) != (c.kind == "date") for x in limits):
        yield f"bins of kind {c.kind!r} lie between {'dates' if c.kind == 'date' else 'numbers'}; give {_example(c)}."
    elif not all(abs(as_number(x)) <= _reach(c) for x in limits):
        yield f"bins reach beyond {_reach(c):.3g}, where values are not exact; take nearer edges or a round unit."
    elif any(isinstance(x, date) and x.year < 1000 for x in limits):
        yield "bins begin before the year 1000; take later dates."
    else:
        may_repeat = bool(b.edges) or c.kind == "date" or (c.kind == "integer" and b.width == 1)
        numbers = [as_number(x) for x in limits]
        for i, (a, z) in enumerate(zip(numbers, numbers[1:], strict=False)):
            if a > z or (a == z and not (may_repeat and i == len(numbers) - 2)):
                yield f"edge {c.text_of(z)} does not lie above {c.text_of(a)}; list edges from small to large."
                return


def _reach(c: Column) -> float:
    """How far from zero the bins of a column may reach for its values to be exact."""
    if c.kind == "real" and c.unit is None:
        return 1e300
    return _MOST_EXACT / Fraction(str(c.unit or 1)).denominator


def _steps(c: Column, b: Bins) -> Iterator[str]:
    low, high = as_number(b.low or 0), as_number(b.high or 0)
    if c.kind == "date":
        if b.width is not None:
            yield 'bins.width does not go with a date; give unit = "month" (or day, quarter, year).'
        elif b.unit not in PERIODS:
            yield f"bins.unit is {b.unit!r}; {nearest(str(b.unit), PERIODS)}"
    elif b.unit is not None:
        yield "bins.unit is for dates; give a width, such as width = 10."
    elif b.width is None or not isfinite(b.width) or b.width <= 0:
        rough = f"{(high - low) / 100:.1g}" if high > low else "1"
        shown = "missing" if b.width is None else b.width
        yield f"bins.width is {shown}; give a width above 0, such as width = {float(rough):.12g}."
    elif (high - low) / b.width > MOST_BINS:
        yield f"bins.width is {b.width}, which makes more than {MOST_BINS:,} bins; give a larger width."
    elif c.kind == "integer" and b.width == 1 and (low != int(low) or high != int(high)):
        yield f"bins one by one go from {b.low} to {b.high}; give whole numbers."


def _bins_and_values(c: Column) -> Iterator[Fault]:
    empty = c.grid.empty
    if empty.any():
        at = int(empty.argmax())
        a, b = c.cuts[at : at + 2].tolist()
        yield (
            "bins",
            f"the bin from {c.text_of(a)} to {c.text_of(b)} holds no value of its own; "
            "widen it, or take its number out of special.",
        )
    if c.public_values is None:
        return
    if len(c.public_values) != c.bin_count:
        yield "public_values", f"{len(c.public_values)} lists for {c.bin_count} bins; resolve the schema again."
        return
    for i, values in enumerate(c.public_values):
        numbers = [as_number(v) for v in values]
        if not all(c.cuts[i] <= x < c.cuts[i + 1] and x not in c.grid.avoid for x in numbers):
            yield "public_values", f"list {i + 1} has a value outside its bin; resolve the schema again."
            return


def _example(c: Column) -> str:
    if c.kind == "date":
        return 'bins = { unit = "month", low = 2000-01-01, high = 2020-12-31 }'
    return "bins = { low = 0, high = 100, width = 10 }, { edges = [0, 10, 50] } or { quantiles = 20 }"
