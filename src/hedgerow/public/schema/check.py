"""What is wrong with a schema: every problem at once, each with its place and its cure.

Nothing here raises on a wrong schema: ``problems`` says what is wrong and the caller decides how to tell.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite, isinf, prod
from typing import NamedTuple

import numpy as np
import polars as pl

from hedgerow.public.schema.bins import PERIODS, Bins, Edge, as_number, as_numbers
from hedgerow.public.schema.column import BINNED, LISTED, Column, written_days
from hedgerow.public.schema.structure import Condition, Declaration, Join, OrderRule, Zero

MOST_COMBINATIONS = MOST_BINS = 1_000_000
_MOST_EXACT = 2**53
Path = tuple[str | int, ...]
_Columns = Mapping[str, Column]
Fault = tuple[str, str]
"""The key that is wrong, and a sentence with the cure."""


class Problem(NamedTuple):
    """One thing that is wrong: the path of keys to it, and a sentence with the cure."""

    at: Path
    text: str


def problems(parts: Declaration, unread: Collection[Path] = ()) -> list[Problem]:
    """All that is wrong with what a schema declares; empty when it stands.

    The tables that could not be read are not looked at, nor what builds on them or on a wrong column.
    """
    wrong = list(_of_columns(parts, unread))
    ill = {*unread, *(p.at[:2] for p in wrong)}
    columns = {c.name: c for c in parts.columns}
    sound = {n: c for n, c in columns.items() if ("columns", n) not in ill}
    for name, c in sound.items():
        wrong += _placed(("columns", name), f"column {name!r}", _determined(c, columns, sound))
    for i, j in enumerate(parts.joined):
        if ("joined", i) not in ill:
            wrong += _placed(("joined", i), f"joined {j.name!r}", _join(j, columns, sound, parts.joined[:i]))
    for i, zero in enumerate(parts.zeros):
        if ("zero", i) not in ill:
            wrong += _placed(("zero", i), f"zero {i + 1}", (("where", t) for t in _zero(zero, columns, sound)))
    for i, rule in enumerate(parts.rules):
        if ("rule", i) not in ill:
            wrong += _placed(("rule", i), f"rule {i + 1}", _rule(rule, columns, sound))
    return [*wrong, *_circles(parts)]


def _placed(at: Path, who: str, faults: Iterable[Fault]) -> list[Problem]:
    return [Problem((*at, key), f"{who}: {text}") for key, text in faults]


def _of_columns(parts: Declaration, ill: Collection[Path]) -> Iterator[Problem]:
    if not parts.columns and not ill:
        yield Problem((), "the schema has no column; add a table such as [columns.sex].")
    for name in repeated([*(c.name for c in parts.columns), *(j.name for j in parts.joined)]):
        yield Problem(("columns", name), f"two columns are named {name!r}; rename one.")
    for name in (*(c.name for c in parts.columns), *(j.name for j in parts.joined)):
        if name.startswith("^") and name.endswith("$"):
            yield Problem(("columns", name), f"{name!r} is a pattern to Polars, no name; rename it, in tables too.")
    for column in parts.columns:
        if ("columns", column.name) not in ill:
            yield from _placed(("columns", column.name), f"column {column.name!r}", column_faults(column))


def _no_such(name: str, columns: Iterable[str]) -> str:
    return f"there is no column {name!r}; {nearest(name, columns)}"


def _determined(c: Column, columns: _Columns, sound: _Columns) -> Iterator[Fault]:
    for name in c.determined_by:
        if name not in columns or name == c.name:
            yield "determined_by", _no_such(name, columns.keys() - {c.name})
            return
    if c.map is None:
        return
    if not c.determined_by:
        yield "map", 'map stands without determined_by; name the columns it starts from, as in ["state"].'
        return
    names = (*c.determined_by, c.name)
    for row in c.map:
        if len(row) != len(names):
            yield "map", f"map has {list(row)}; give {len(names)} texts, for {', '.join(names)}."
            return
    yield from (("map", text) for text in _strangers(names, c.map, sound))


def _strangers(names: Sequence[str], rows: Sequence[Sequence[str]], sound: _Columns) -> Iterator[str]:
    """The first text of each column that the column does not know."""
    for i, name in enumerate(names):
        if name in sound:
            for text in _unknown(sound[name], dict.fromkeys(row[i] for row in rows)):
                yield f"{text!r} is no value of {name!r}; {nearest(text, sound[name].values)}"
                break


def _unknown(c: Column, texts: Iterable[str]) -> Iterator[str]:
    """The texts that the column would send to ``other`` without having been told to."""
    if c.unresolved:
        return
    known = {*c.coded.values, c.other, ""}
    trimmed = pl.Series([t.strip() for t in texts], dtype=pl.String)
    number = c.coded.numbers(trimmed) if c.kind in BINNED else np.full(len(trimmed), np.nan)
    for text, x in zip(trimmed, number, strict=True):
        if np.isnan(x) and text not in known and text[: c.prefix or None].strip() not in known:
            yield text


def _join(j: Join, columns: _Columns, sound: _Columns, before: Sequence[Join]) -> Iterator[Fault]:
    if len(j.columns) < 2 or len(set(j.columns)) < len(j.columns):
        yield "columns", "a join takes two or more different columns; list them in columns = [...]."
    for name in j.columns:
        if name not in columns:
            yield "columns", _no_such(name, columns)
        elif columns[name].determined_by:
            yield "columns", f"{name!r} is determined by other columns; leave it out of the join."
    again = [name for name in j.columns if any(name in b.columns for b in before)]
    if again:
        yield "columns", f"{', '.join(again)} is joined already; a column goes into one join at most."
    yield from _combinations(j, sound)


def _combinations(j: Join, sound: _Columns) -> Iterator[Fault]:
    ready = all(n in sound and not sound[n].unresolved for n in j.columns)
    if ready and prod(sound[n].size for n in j.columns) > MOST_COMBINATIONS:
        yield "columns", f"more than {MOST_COMBINATIONS:,} combinations; join fewer or coarser columns."
    if j.combinations is None:
        return
    if not j.combinations:
        yield "combinations", 'no combination is allowed; list some, or set keep = "public".'
    for row in j.combinations:
        if len(row) != len(j.columns):
            yield "combinations", f"{list(row)} does not have {len(j.columns)} texts, one for each column."
            return
    yield from (("combinations", text) for text in _strangers(j.columns, j.combinations, sound))


def _zero(zero: Zero, columns: _Columns, sound: _Columns) -> Iterator[str]:
    if not zero.where:
        yield 'where is empty; name what is impossible, such as where = { sex = ["M"], births = { above = 0 } }.'
    for name, condition in zero.where:
        if name not in columns:
            yield _no_such(name, columns)
        elif name in sound:
            yield from _condition(sound[name], condition)


def _condition(c: Column, condition: Condition) -> Iterator[str]:
    bounds = [x for x in (condition.below, condition.above) if x is not None]
    if bool(bounds) == bool(condition.values):
        yield f'{c.name!r} needs a list of values, or below and above; such as {c.name} = ["..."].'
    if bounds and c.kind not in BINNED:
        yield f"{c.name!r} is {c.kind} and has no below or above; list its values instead."
    elif any(isinstance(x, date) != (c.kind == "date") for x in bounds):
        yield f"{c.name!r} is {c.kind}; give below and above as {'dates' if c.kind == 'date' else 'numbers'}."
    yield from _strangers((c.name,), [(t,) for t in condition.values], {c.name: c})


def _rule(rule: OrderRule, columns: _Columns, sound: _Columns) -> Iterator[Fault]:
    for key, name in (("left", rule.left), ("right", rule.right)):
        if name not in columns:
            yield key, _no_such(name, columns)
    if rule.left in sound and rule.right in sound:
        left, right = sound[rule.left].kind, sound[rule.right].kind
        if left not in BINNED or right not in BINNED or (left == "date") != (right == "date"):
            yield "right", f"{rule} compares {left} with {right}; name two numbers or two dates."


def _circles(parts: Declaration) -> Iterator[Problem]:
    arrows: list[tuple[str, str]] = []
    for i, rule in enumerate(parts.rules):
        if _reaches(rule.right, rule.left, arrows):
            text = f"rule {i + 1}: {rule} closes a circle, so its columns would have to be equal; remove it."
            yield Problem(("rule", i), text)
        arrows.append((rule.left, rule.right))
    arrows = []
    for c in parts.columns:
        if any(_reaches(c.name, source, arrows) for source in c.determined_by):
            text = f"column {c.name!r}: determined_by goes round in a circle; measure one of its columns."
            yield Problem(("columns", c.name, "determined_by"), text)
        arrows += [(source, c.name) for source in c.determined_by]


def _reaches(start: str, goal: str, arrows: Sequence[tuple[str, str]]) -> bool:
    seen, queue = {start}, [start]
    while queue:
        here = queue.pop()
        onward = {b for a, b in arrows if a == here} - seen
        seen |= onward
        queue += onward
    return goal in seen


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
    if c.outside is not None and not 0 <= c.outside <= 1:
        yield "outside", f"outside is {c.outside}; give a share of rows from 0 to 1, such as outside = 0.1."


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
        merged = None if c.collapse is None else c.collapse.into
        for text in (*c.values, *(t for t in (c.other, merged) if t is not None)):
            if not text.removeprefix("-").isdecimal() or text != str(int(text)) or abs(int(text)) >= 2**63:
                yield (
                    ("collapse", _into_whole(c))
                    if c.collapse is not None and text == c.collapse.into
                    else (
                        "type",
                        f'type is "integer" but {text!r} is not a whole number; set type = "text".',
                    )
                )
                break
    if c.reference and c.reference not in c.values:
        yield "reference", f"reference is {c.reference!r}, which is not listed; {nearest(c.reference, c.values)}"
    if c.prefix < 0:
        yield "prefix", f"prefix is {c.prefix}; give the number of leading characters to keep, such as 2."
    if c.other is not None and c.other not in c.values and c.prefix and c.other[: c.prefix].strip() in c.values:
        yield "other", f'other {c.other!r} cut to {c.prefix} is a value; give it another text, such as "?".'
    yield from _collapse(c)


def _into_whole(c: Column) -> str:
    """What to say of codes that are merged into a word: the column is published as whole numbers."""
    assert c.collapse is not None
    free = 1 + max((int(v) for v in c.values if v.removeprefix("-").isdecimal()), default=0)
    return (
        f'collapse.into is {c.collapse.into!r}, but the column has whole numbers (type = "integer"); merge into one '
        f"that no value has, such as collapse = {{ below = {c.collapse.below}, into = {free} }}, or set type = "
        '"text".'
    )


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
    if c.beyond == "unknown" and not c.places_unknown:
        yield "beyond", 'beyond = "unknown" needs a cell for what is unknown; add missing = true.'
    if c.kind == "date":
        yield from _date_format(c)
    if c.bins is None:
        yield "bins", f"bins are missing; give {_example(c)}."
        return
    wrong = [*_unit(c)] or [("bins", text) for text in _bins(c, c.bins)]
    wrong = wrong or [*_heaps(c), *_top(c)]
    yield from wrong
    if not wrong and c.bins.quantiles is None:
        yield from _bins_and_values(c)


def _unit(c: Column) -> Iterator[Fault]:
    if c.unit is not None and not (isfinite(c.unit) and 0 < c.unit < _MOST_EXACT):
        yield "unit", f"unit is {c.unit}; give a rounding unit above 0, such as unit = 100."
    elif c.unit is not None and c.kind == "integer" and c.unit != int(c.unit):
        yield "unit", f'unit is {c.unit} for whole numbers; give a whole unit, or set kind = "real".'


def _heaps(c: Column) -> Iterator[Fault]:
    unit = c.unit or (1 if c.kind == "integer" else None)
    for step, share in c.round_to:
        if not (isfinite(step) and 0 < step < _MOST_EXACT):
            yield "round_to", f"round_to names {step}; give numbers above 0, as in {{ 100 = 0.16 }}."
        elif unit is not None and (Fraction(str(step)) % Fraction(str(unit)) or step <= unit):
            yield (
                "round_to",
                f"round_to names {step}, and values are multiples of {unit}; give a larger multiple of it.",
            )
        elif not 0 < share <= 1:
            yield (
                "round_to",
                f"round_to gives {share} to {step}; give the share of its multiples, above 0 and up to 1.",
            )
    if sum(min(share, 1) for _, share in c.round_to) > 1 + 1e-9:
        yield "round_to", "the shares of round_to come to more than 1; each value is rounded to one of its numbers."
    if c.round_to and c.decode == "midpoint":
        yield "round_to", 'round_to does not go with decode = "midpoint", which picks no other value; remove one.'


def _top(c: Column) -> Iterator[Fault]:
    if c.top is None:
        return
    if not abs(c.top) < _reach(c) or (c.kind == "integer" and c.top != int(c.top)):
        yield "top", f"top is {c.top}; give {'a whole number' if c.kind == 'integer' else 'a number'}, the top code."
    elif c.bins is not None and c.bins.quantiles is None:
        cuts = replace(c, top=None).cuts
        if not cuts[0] < c.top <= cuts[-1]:
            yield (
                "top",
                f"top is {c.top}, beyond the bins; give a number above their low end and up to their high end.",
            )


def _date_format(c: Column) -> Iterator[Fault]:
    units = ("month", "quarter", "year")
    if _reads_back(c.format, (date(2001, 2, 3), date(2012, 11, 30))):
        return
    if not _reads_back(c.format, (date(2001, 2, 1), date(2012, 11, 1))):
        yield "format", f'format {c.format!r} does not fix year and month; write it like "%Y-%m-%d".'
    elif c.bins is None or c.bins.unit not in units:
        yield "format", f'format {c.format!r} has no day; give bins with unit = "month", or a day in the format.'


def _reads_back(form: str, days: Sequence[date]) -> bool:
    """Whether dates written in this format are read again as the same dates; times of day and zones may be there."""
    try:
        texts = written_days(pl.Series(days), form)
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
    number = None if c.other is None or c.other in dict(c.special) else c.number_of(c.other)
    if number is not None and not c.cuts[0] <= number < c.cuts[-1]:
        yield "other", f'other is {c.other!r}, beyond the bins; give a number in a bin, or a word, such as "other".'
    empty = c.bin_values.empty
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
        numbers, (low, high) = as_numbers(values), c.cuts[i : i + 2]
        if not ((low <= numbers) & (numbers < high) & ~np.isin(numbers, c.bin_values.avoid)).all():
            yield "public_values", f"list {i + 1} has a value outside its bin; resolve the schema again."
            return


def _example(c: Column) -> str:
    if c.kind == "date":
        return 'bins = { unit = "month", low = 2000-01-01, high = 2020-12-31 }'
    return "bins = { low = 0, high = 100, width = 10 }, { edges = [0, 10, 50] } or { quantiles = 20 }"
