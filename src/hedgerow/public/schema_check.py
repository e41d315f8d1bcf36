"""What is wrong with a schema: every problem at once, each with its place and its cure.

Nothing here raises on a wrong schema; ``problems`` says what is wrong and the caller decides how to tell.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from math import isfinite, prod
from typing import NamedTuple

from hedgerow.public.bins import PERIODS, Bins, Edge, as_number, bin_count
from hedgerow.public.column import BINNED, LISTED, Column, as_float
from hedgerow.public.structure import Condition, Join, Parts, Rule, Zero

MOST_BINS = 1_000_000
MOST_COMBINATIONS = 10_000_000
_MOST_EXACT = 2**53


class Problem(NamedTuple):
    """One thing that is wrong: the path of keys to it, and a sentence with the cure."""

    at: tuple[str | int, ...]
    text: str


def problems(parts: Parts) -> list[Problem]:
    """All that is wrong with what a schema declares; empty when it stands."""
    found: list[Problem] = []
    if not parts.columns:
        found.append(Problem((), "the schema has no column; add a table such as [columns.sex]."))
    for name in _repeated([*(c.name for c in parts.columns), *(j.name for j in parts.joined)]):
        found.append(Problem(("columns", name), f"two columns are named {name!r}; rename one."))
    for column in parts.columns:
        for key, text in _column(column):
            found.append(Problem(("columns", column.name, key), f"column {column.name!r}: {text}"))
    if found:
        return found
    columns = {c.name: c for c in parts.columns}
    for column in parts.columns:
        for key, text in _determined(column, columns):
            found.append(Problem(("columns", column.name, key), f"column {column.name!r}: {text}"))
    for i, join in enumerate(parts.joined):
        for key, text in _join(join, columns, parts.joined[:i]):
            found.append(Problem(("joined", i, key), f"joined {join.name!r}: {text}"))
    for i, zero in enumerate(parts.zeros):
        found += [Problem(("zero", i, "where"), f"zero {i + 1}: {text}") for text in _zero(zero, columns)]
    for i, rule in enumerate(parts.rules):
        found += [Problem(("rule", i), f"rule {i + 1}: {text}") for text in _rule(rule, columns)]
    found += _circles(parts)
    return found


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint naming the closest of ``words``, or all of them when none is close and they are few."""
    words = tuple(words)
    close = get_close_matches(word, words[:10_000], 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"choose one of {', '.join(words)}." if len(words) <= 12 else "it is not in the schema."


def _column(c: Column) -> Iterator[tuple[str, str]]:
    if not c.name.strip():
        yield "kind", "the name is empty; name it as in the header of the file."
    if c.kind in LISTED:
        yield from _listed(c)
    elif c.kind == "yes-no":
        yield from _yes_no(c)
    else:
        yield from _binned(c)
    for key, texts in (("missing_values", c.missing_values), ("special", [raw for raw, _ in c.special])):
        for text in _repeated(texts):
            yield key, f"{key} names {text!r} twice; remove one."
    if c.other is not None and c.other != c.other.strip() or c.other == "":
        yield (
            "other",
            f'other is {c.other!r}; give it a text without blanks around it, such as other = "other".',
        )
    elif c.other is not None and c.other in c.missing_values:
        yield "other", f"{c.other!r} is both other and missing; remove it from missing_values."


def _texts(key: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        if not text.strip():
            yield (
                key,
                f"{key} has a blank text, which always means missing; remove it and set missing = true.",
            )
        elif text != text.strip():
            yield (
                key,
                f"{key} has {text!r} with blanks around it; write {text.strip()!r}, as values are trimmed.",
            )


def _listed(c: Column) -> Iterator[tuple[str, str]]:
    if not c.values:
        yield "values", 'no values are listed; give values = ["..."] or labels = { raw = "label" }.'
    if len(c.labels) != len(c.values):
        yield "labels", f"{len(c.labels)} labels for {len(c.values)} values; give one label for each."
    yield from _texts("values", c.values)
    for text in _repeated(c.values):
        yield "values", f"value {text!r} is listed twice; remove one."
    for text in sorted({t[: c.prefix or None] for t in c.missing_values} & set(c.values)):
        yield "missing_values", f"{text!r} is both a value and a missing value; remove one."
    if c.type == "integer":
        for text in (*c.values, *([c.other] if c.other is not None else [])):
            if as_float(text) is None or text != str(int(float(text))):
                yield "type", f'type is "integer" but {text!r} is not a whole number; set type = "text".'
                break
    if c.prefix < 0:
        yield "prefix", f"prefix is {c.prefix}; give the number of leading characters to keep, such as 2."
    if c.other is not None and c.other not in c.values and c.prefix and c.other[: c.prefix] in c.values:
        yield "other", f'other {c.other!r} cut to {c.prefix} is a value; give it another text, such as "?".'
    if c.collapse is not None:
        yield from _collapse(c)


def _collapse(c: Column) -> Iterator[tuple[str, str]]:
    assert c.collapse is not None
    if c.collapse.below < 1:
        yield "collapse", f"collapse.below is {c.collapse.below}; give a number of rows, such as below = 500."
    if not c.collapse.into.strip():
        yield "collapse", 'collapse.into is blank; name the cell, such as into = "other".'
    if c.other is not None and c.other != c.collapse.into:
        yield (
            "collapse",
            (
                f"collapse.into is {c.collapse.into!r} but other is {c.other!r}; make them the same, "
                "as both hold what has no cell of its own."
            ),
        )


def _yes_no(c: Column) -> Iterator[tuple[str, str]]:
    if bool(c.yes) != bool(c.no):
        yield ("no" if c.yes else "yes"), 'give both yes = ["..."] and no = ["..."], or neither.'
    yield from _texts("yes", c.yes)
    yield from _texts("no", c.no)
    for text in _repeated([*c.yes, *c.no, *c.missing_values]):
        yield "yes", f"{text!r} is named twice; a text means one of yes, no and missing."


def _binned(c: Column) -> Iterator[tuple[str, str]]:
    raws = [raw for raw, _ in c.special]
    yield from _texts("special", raws)
    for text in sorted({*raws} & {*c.missing_values}):
        yield "special", f"{text!r} is both special and a missing value; remove one."
    if c.other is not None and c.other not in raws and as_float(c.other) is not None:
        yield (
            "other",
            f'other is {c.other!r}, a number, which falls into a bin; give a word, such as "other".',
        )
    if c.kind == "date" and not _reads_back(c.format):
        yield "format", f'format {c.format!r} does not fix day, month and year; write it like "%Y-%m-%d".'
    if c.unit is not None and not (isfinite(c.unit) and c.unit > 0):
        yield "unit", f"unit is {c.unit}; give a rounding unit above 0, such as unit = 100."
    elif c.unit is not None and c.kind == "integer" and c.unit != int(c.unit):
        yield (
            "unit",
            f'unit is {c.unit}, but the column holds whole numbers; give a whole unit, or kind = "real".',
        )
    elif c.unit is not None and c.kind == "date":
        yield (
            "unit",
            'unit does not go with a date; put it into bins, such as bins = { unit = "month", ... }.',
        )
    if c.bins is None:
        yield "bins", f"bins are missing; give {_example(c)}."
        return
    wrong = list(_bins(c, c.bins))
    yield from (("bins", text) for text in wrong)
    if not wrong and c.bins.quantiles is None:
        yield from _bins_and_values(c)


def _bins(c: Column, b: Bins) -> Iterator[str]:
    ways = [b.low is not None or b.high is not None or b.width is not None or b.unit is not None]
    ways += [bool(b.edges), b.quantiles is not None]
    if sum(ways) != 1:
        yield f"bins are said in {'more than one way' if sum(ways) else 'no way'}; give {_example(c)}."
        return
    if b.quantiles is not None:
        if not 2 <= b.quantiles <= MOST_BINS:
            yield f"bins.quantiles is {b.quantiles}; give a number of bins from 2 on, such as quantiles = 20."
        return
    limits: list[Edge] = [*b.edges] or [x for x in (b.low, b.high) if x is not None]
    if len(limits) < 2:
        yield f"bins have fewer than two edges; give {_example(c)}."
        return
    wanted = "dates" if c.kind == "date" else "numbers"
    if any(isinstance(x, date) != (c.kind == "date") for x in limits):
        yield f"bins of kind {c.kind!r} lie between {wanted}; give {_example(c)}."
        return
    if not all(isfinite(as_number(x)) and abs(as_number(x)) <= _MOST_EXACT for x in limits):
        yield "bins reach beyond 2^53, where numbers are no longer exact; choose nearer edges."
        return
    for a, z in zip(limits, limits[1:], strict=False):
        if as_number(a) > as_number(z) or (as_number(a) == as_number(z) and (b.edges or c.kind != "date")):
            yield f"edge {z} does not lie above {a}; list edges from small to large."
            return
    if not b.edges:
        yield from _steps(c, b)


def _steps(c: Column, b: Bins) -> Iterator[str]:
    if c.kind == "date":
        if b.width is not None:
            yield 'bins.width does not go with a date; give unit = "month" (or day, quarter, year).'
        if b.unit not in PERIODS:
            yield f"bins.unit is {b.unit!r}; choose one of {', '.join(PERIODS)}."
        return
    if b.unit is not None:
        yield "bins.unit is for dates; give a width, such as width = 10."
    elif b.width is None or not isfinite(b.width) or b.width <= 0:
        shown = "missing" if b.width is None else b.width
        yield f"bins.width is {shown}; give a width above 0, such as width = {_example_width(b)}."
    elif bin_count(as_number(b.low or 0), as_number(b.high or 0), b.width) > MOST_BINS:
        yield f"bins.width is {b.width}, which makes more than {MOST_BINS:,} bins; give a larger width."


def _bins_and_values(c: Column) -> Iterator[tuple[str, str]]:
    empty = c.grid.empty
    if empty.any():
        at = int(empty.argmax())
        a, b = c.cuts[at : at + 2].tolist()
        yield (
            "bins",
            (
                f"the bin from {c.text_of(a)} to {c.text_of(b)} holds no value of its own; "
                "widen it, or take its number out of special."
            ),
        )
    if c.public_values is None:
        return
    if len(c.public_values) != c.bin_count:
        yield (
            "public_values",
            f"{len(c.public_values)} lists for {c.bin_count} bins; resolve the schema again.",
        )
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


def _example_width(b: Bins) -> str:
    span = as_number(b.high or 0) - as_number(b.low or 0)
    rough = span / 100 if span > 0 else 1.0
    power = 10.0 ** (len(str(int(rough))) - 1) if rough >= 1 else rough
    return f"{int(rough // power * power) if rough >= 1 else rough:g}" if rough < 1e6 else f"{rough:.0f}"


def _reads_back(form: str) -> bool:
    days = (date(2001, 2, 3), date(2012, 11, 30))
    try:
        return all(datetime.strptime(d.strftime(form), form).date() == d for d in days)
    except ValueError:
        return False


def _determined(c: Column, columns: dict[str, Column]) -> Iterator[tuple[str, str]]:
    for name in c.determined_by:
        if name not in columns or name == c.name:
            yield "determined_by", f"determined_by names {name!r}; {nearest(name, columns.keys() - {c.name})}"
            return
    if c.map is None:
        return
    width = len(c.determined_by) + 1
    for row in c.map:
        if len(row) != width:
            yield (
                "map",
                f"map has {list(row)}; give {width} texts, the values of {', '.join(c.determined_by)} first.",
            )
            return
    names = (*c.determined_by, c.name)
    for i, name in enumerate(names):
        for text in _unknown(columns[name], (row[i] for row in c.map)):
            yield (
                "map",
                f"map has {text!r}, which is no value of {name!r}; {nearest(text, columns[name].values)}",
            )
            return


def _unknown(c: Column, texts: Iterable[str]) -> Iterator[str]:
    """The texts that a listed column would send to ``other`` without having been told to."""
    if c.kind not in LISTED or c.collapse is not None:
        return
    known = {*c.values, *(t.strip() for t in c.missing_values), c.other, ""}
    yield from (
        t for t in dict.fromkeys(texts) if t.strip() not in known and t[: c.prefix or None] not in known
    )


def _join(j: Join, columns: dict[str, Column], before: Sequence[Join]) -> Iterator[tuple[str, str]]:
    if len(j.columns) < 2 or len(set(j.columns)) < len(j.columns):
        yield "columns", "a join takes two or more different columns; list them in columns = [...]."
    for name in j.columns:
        if name not in columns:
            yield "columns", f"there is no column {name!r}; {nearest(name, columns)}"
            return
        if columns[name].determined_by:
            yield (
                "columns",
                f"{name!r} is determined by other columns and never measured; leave it out of the join.",
            )
        if any(name in b.columns for b in before):
            yield "columns", f"{name!r} is joined already; a column goes into one join at most."
    if any(columns[n].bins is not None and columns[n].unresolved for n in j.columns):
        return
    if prod(columns[n].size for n in j.columns) > MOST_COMBINATIONS:
        yield (
            "columns",
            f"the join has more than {MOST_COMBINATIONS:,} combinations; use fewer or coarser columns.",
        )
    if j.combinations is None:
        return
    if not j.combinations:
        yield "combinations", 'no combination is allowed; list some, or set keep = "public".'
    for row in j.combinations:
        if len(row) != len(j.columns):
            yield (
                "combinations",
                f"{list(row)} does not have {len(j.columns)} texts; give one for each column.",
            )
            return
    for i, name in enumerate(j.columns):
        for text in _unknown(columns[name], (row[i] for row in j.combinations)):
            yield "combinations", f"{text!r} is no value of {name!r}; {nearest(text, columns[name].values)}"
            return


def _zero(zero: Zero, columns: dict[str, Column]) -> Iterator[str]:
    if not zero.where:
        yield 'where is empty; name the impossible values, such as where = { sex = ["M"], births = { above = 0 } }.'
    for name, condition in zero.where:
        if name not in columns:
            yield f"there is no column {name!r}; {nearest(name, columns)}"
        else:
            yield from _condition(columns[name], condition)


def _condition(c: Column, condition: Condition) -> Iterator[str]:
    bounds = [x for x in (condition.below, condition.above) if x is not None]
    if bool(bounds) == bool(condition.values):
        yield f'{c.name!r} needs a list of values, or below and above; such as {c.name} = ["..."].'
    if bounds and c.kind not in BINNED:
        yield f"{c.name!r} is {c.kind} and has no below or above; list its values instead."
    elif any(isinstance(x, date) != (c.kind == "date") for x in bounds):
        yield f"{c.name!r} is {c.kind}; give below and above as {'dates' if c.kind == 'date' else 'numbers'}."
    for text in _unknown(c, condition.values):
        yield f"{text!r} is no value of {c.name!r}; {nearest(text, c.values)}"
        return


def _rule(rule: Rule, columns: dict[str, Column]) -> Iterator[str]:
    for name in (rule.left, rule.right):
        if name not in columns:
            yield f"there is no column {name!r}; {nearest(name, columns)}"
            return
    dates = [columns[n].kind == "date" for n in (rule.left, rule.right)]
    if any(columns[n].kind not in BINNED for n in (rule.left, rule.right)) or dates[0] != dates[1]:
        yield f"{rule} compares {columns[rule.left].kind} with {columns[rule.right].kind}; give two numbers or two dates."


def _circles(parts: Parts) -> Iterator[Problem]:
    for i, rule in enumerate(parts.rules):
        arrows = [(r.left, r.right) for r in parts.rules[: i + 1]]
        if _reaches(rule.right, rule.left, arrows):
            text = f"rule {i + 1}: {rule} closes a circle, so its columns would have to be equal; remove it."
            yield Problem(("rule", i), text)
    arrows = []
    for c in parts.columns:
        arrows += [(source, c.name) for source in c.determined_by]
        if c.determined_by and any(_reaches(c.name, source, arrows) for source in c.determined_by):
            text = f"column {c.name!r}: determined_by goes round in a circle; measure one of its columns."
            yield Problem(("columns", c.name, "determined_by"), text)


def _reaches(start: str, goal: str, arrows: Sequence[tuple[str, str]]) -> bool:
    seen, queue = {start}, [start]
    while queue:
        here = queue.pop()
        onward = {b for a, b in arrows if a == here} - seen
        seen |= onward
        queue += onward
    return goal in seen


def _repeated(texts: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return list(dict.fromkeys(t for t in texts if t in seen or seen.add(t)))  # type: ignore[func-returns-value]
