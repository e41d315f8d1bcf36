"""Records and codes: from codes back to the values of the file, and which records break a zero or a rule.

A code of a listed value becomes that value, ``other`` its text, missing a null.  A bin becomes a number or date
inside it: a public value that the schema kept, any value but for heaps, or the midpoint.  Joined columns are split,
determined ones filled in.  A value always has the code it came from, and so stays within bounds.

    >>> schema = Schema.loads('''
    ... [columns.age]
    ... kind = "integer"
    ... bins = { low = 0, high = 99, width = 1 }
    ... [columns.marital]
    ... kind = "categorical"
    ... values = ["married", "single"]
    ... [[zero]]
    ... where = { marital = ["married"], age = { below = 15 } }
    ... ''')
    >>> codes = {"age": np.array([12, 40]), "marital": np.array([0, 0])}
    >>> frame = decode(schema, codes, np.random.Generator(np.random.PCG64(1)))
    >>> frame.rows(), violations(schema, frame).to_list()
    ([(12, 'married'), (40, 'married')], [True, False])
"""

import re
from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import SchemaError
from hedgerow.public.schema.bins import Floats, as_number, as_numbers
from hedgerow.public.schema.column import BINNED, LISTED, Column, written_days
from hedgerow.public.schema.schema import Schema
from hedgerow.public.schema.structure import Condition

AnyCodes = npt.NDArray[np.integer[Any]]
Places = npt.NDArray[np.int64]
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")


def column_codes(schema: Schema, codes: Mapping[str, AnyCodes]) -> dict[str, Places]:
    """The codes of single columns: joined ones split, determined ones looked up."""
    for name, size in zip(codes, schema.shape(codes), strict=True):
        if len(codes[name]) and int(codes[name].max()) >= size:
            raise SchemaError(f"A code of {name!r} is {size} or more, but the schema has {size} codes for it.")
    plain = {n: c.astype(np.int64) for n, c in codes.items()}
    for join in schema.joined:
        if join.name in plain:
            parts = [schema.column(n) for n in join.columns]
            cells = join.allowed_cells(parts)[plain.pop(join.name)]
            split = np.unravel_index(cells, tuple(p.size for p in parts))
            plain = dict(zip(join.columns, split, strict=True)) | plain
    order = TopologicalSorter({c.name: c.determined_by for c in schema.columns}).static_order()
    for name in order:
        column = schema.column(name)
        if name not in plain and column.determined_by and all(n in plain for n in column.determined_by):
            plain[name] = _looked_up(column, [schema.column(n) for n in column.determined_by], plain)
    return plain


def _looked_up(column: Column, keys: list[Column], plain: Mapping[str, Places]) -> Places:
    """The code that the map gives for every row; where it gives none, the code of what is not listed."""
    assert column.map is not None
    shape = tuple(k.size for k in keys)
    here = np.ravel_multi_index([plain[k.name] for k in keys], shape)
    if not column.map:
        return np.full(len(here), column.coded.other, np.int64)
    *texts, values = (pl.Series(t, dtype=pl.String) for t in zip(*column.map, strict=True))
    known = [k.coded.encode(t).astype(np.intp) for k, t in zip(keys, texts, strict=True)]
    cells, first = np.unique(np.ravel_multi_index(known, shape), return_index=True)
    value = column.coded.encode(values).astype(np.int64)[first]
    at = np.minimum(np.searchsorted(cells, here), len(cells) - 1)
    return np.where(cells[at] == here, value[at], column.coded.other)


def decode(
    schema: Schema,
    codes: Mapping[str, AnyCodes],
    rng: np.random.Generator,
    *,
    columns: Iterable[str] | None = None,
    given: Mapping[str, Floats] | None = None,
) -> pl.DataFrame:
    """The records that have these codes.

    Args:
        schema: a resolved schema.
        codes: the codes of its attributes, or of single columns.
        rng: picks values within bins.
        columns: the columns of the file to give; all of them when None.
        given: numbers that are known, each in the bin of its code; NaN where none is.
    """
    wanted = tuple(c.name for c in schema.columns) if columns is None else tuple(columns)
    plain = column_codes(schema, codes)
    lacking = [n for n in wanted if n not in plain]
    if lacking:
        raise SchemaError(
            f"There are no codes for {', '.join(map(repr, lacking))}.\n"
            "Give the codes of every attribute of the schema, or name fewer columns."
        )
    numbers = {
        name: _numbers(schema.column(name), code, rng)
        for name, code in plain.items()
        if schema.column(name).kind in BINNED
    }
    for name, known in (given or {}).items():
        numbers[name] = np.where(np.isnan(known) | np.isnan(numbers[name]), numbers[name], known)
    _keep_rules(schema, plain, numbers, rng)
    made = {n: _series(schema.column(n), plain[n], numbers.get(n)) for n in wanted}
    return pl.DataFrame(made)


def _numbers(column: Column, codes: Places, rng: np.random.Generator) -> Floats:
    """A number for every row that is in a bin; NaN for the others."""
    inside = codes < column.bin_count
    bins = codes[inside]
    picked = column.bin_values.middle(bins) if column.decode == "midpoint" else column.bin_values.picked(bins, rng)
    if column.decode == "public":
        picked = _from_public(column, bins, picked, rng)
    number = np.full(len(codes), np.nan)
    number[inside] = picked
    return number


def _from_public(column: Column, bins: Places, other: Floats, rng: np.random.Generator) -> Floats:
    """A public value of each bin; the other one where the schema kept none."""
    assert column.public_values is not None
    counts = np.array([len(v) for v in column.public_values], np.int64)
    pool = as_numbers([x for v in column.public_values for x in v] or [np.nan])
    at = (np.cumsum(counts) - counts)[bins] + (rng.random(len(bins)) * counts[bins]).astype(np.int64)
    return np.where(counts[bins] > 0, pool[np.minimum(at, len(pool) - 1)], other)


def nearest_values(column: Column, bins: Places, numbers: Floats) -> Floats:
    """The value nearest to each number that a record may show in its bin: a public one where records show these."""
    near = column.bin_values.nearest(bins, numbers)
    if column.decode != "public" or not column.public_values:
        return near
    held = [np.sort(as_numbers(v)) for v in column.public_values]
    pool = np.concatenate([*held, [np.inf]])
    whose = np.append(np.repeat(np.arange(len(held)), [len(h) for h in held]), -1)
    above = np.searchsorted(pool[:-1], numbers)
    apart = [np.where(whose[at] == bins, np.abs(pool[at] - numbers), np.inf) for at in (above, above - 1)]
    best = np.where(apart[0] < apart[1], above, above - 1)
    return np.where(np.isfinite(np.minimum(*apart)), pool[best], near)


def _keep_rules(
    schema: Schema, codes: Mapping[str, Places], numbers: dict[str, Floats], rng: np.random.Generator
) -> None:
    """Picks anew, within the same bins, where left is above right and the bins allow otherwise.

    The most each column may be is passed from right to left; then columns are picked from left to right,
    each at least as large as those to its left.  What the bins forbid stays as it is.
    """
    rules = [r for r in schema.rules if r.left in numbers and r.right in numbers]
    broken = [numbers[r.left] > numbers[r.right] for r in rules]
    rows = np.flatnonzero(np.logical_or.reduce(broken)) if broken else np.array([], np.int64)
    if not len(rows):
        return
    lefts = {r.right: [s.left for s in rules if s.right == r.right] for r in rules}
    order = list(TopologicalSorter(lefts).static_order())
    known = {n: ~np.isnan(numbers[n][rows]) for n in order}
    bins = {n: np.where(known[n], codes[n][rows], 0) for n in order}
    most = {n: np.where(known[n], schema.column(n).bin_values.highest[bins[n]], np.inf) for n in order}
    for right in reversed(order):
        for left in lefts.get(right, ()):
            most[left] = np.minimum(most[left], most[right])
    for name in order:
        least = np.full(len(rows), -np.inf)
        for left in lefts.get(name, ()):
            least = np.fmax(least, numbers[left][rows])
        bounds = np.maximum(least, schema.column(name).bin_values.low[bins[name]]), most[name]
        anew = schema.column(name).bin_values.between(bins[name], *bounds, rng)
        good = known[name] & ~np.isnan(anew)
        numbers[name][rows[good]] = anew[good]


def _series(column: Column, codes: Places, numbers: Floats | None) -> pl.Series:
    """The column of the file."""
    beyond = [t or None for t in column.cell_texts[column.bin_count :]]
    if column.kind in LISTED:
        kind = pl.Int64 if column.type == "integer" else pl.String
        return pl.Series(column.name, beyond, pl.String).cast(kind).gather(codes)
    if numbers is None:
        plain = not column.yes and all(t in ("true", "false", None) for t in beyond)
        texts = pl.Series(column.name, beyond, pl.String)
        if all(t is None or _WHOLE.fullmatch(t) for t in beyond):  # 0 and 1 stay numbers, as a list of codes does
            texts = texts.cast(pl.Int64)
        return (texts.replace_strict({"true": True, "false": False}, default=None) if plain else texts).gather(codes)
    return _number_series(column, codes, numbers, beyond)


def _number_series(column: Column, codes: Places, numbers: Floats, beyond: list[str | None]) -> pl.Series:
    """Numbers or dates; texts when a special or ``other`` is a word, since the column has to hold both."""
    inside = pl.Series(column.name, numbers).fill_nan(None)
    place = np.maximum(codes - column.bin_count + 1, 0)  # 0 for a bin
    named = [None if t is None else column.number_of(t) for t in beyond]
    if all((t is None) == (x is None) for t, x in zip(beyond, named, strict=True)):
        inside, beyond = inside.fill_null(pl.Series([None, *named], dtype=pl.Float64).gather(place)), []
    if column.kind == "date":
        typed = inside.cast(pl.Int32).cast(pl.Date)
    else:
        typed = inside.cast(pl.Int64 if column.kind == "integer" else pl.Float64)
    if not beyond:
        return typed
    text = written_days(typed, column.format) if column.kind == "date" else typed.cast(pl.String)
    return text.fill_null(pl.Series([None, *beyond], dtype=pl.String).gather(place))


Flags = npt.NDArray[np.bool_]


def violations(schema: Schema, frame: pl.DataFrame) -> pl.Series:
    """Whether each record breaks a zero or a rule; those on columns that the frame lacks are not tested."""
    bad = np.zeros(len(frame), np.bool_)
    for zero in schema.zeros:
        if all(name in frame.columns for name, _ in zero.where):
            met = [_met(schema.column(name), condition, frame[name]) for name, condition in zero.where]
            bad |= np.logical_and.reduce(met)
    for rule in schema.rules:
        if rule.left in frame.columns and rule.right in frame.columns:
            left, right = (known_numbers(schema.column(n), frame[n]) for n in (rule.left, rule.right))
            bad |= left > right
    return pl.Series("violation", bad)


def impossible(schema: Schema, codes: Mapping[str, AnyCodes]) -> Flags:
    """Whether each record of codes breaks a zero or a rule whatever values its bins are decoded to."""
    plain = column_codes(schema, codes)
    bad = np.zeros(len(next(iter(plain.values()))) if plain else 0, np.bool_)
    for zero in schema.zeros:
        if all(name in plain for name, _ in zero.where):
            met = [_sure(schema.column(name), condition)[plain[name]] for name, condition in zero.where]
            bad |= np.logical_and.reduce(met)
    for rule in schema.rules:
        if rule.left in plain and rule.right in plain:
            lowest = _per_code(schema.column(rule.left), schema.column(rule.left).bin_values.lowest)
            highest = _per_code(schema.column(rule.right), schema.column(rule.right).bin_values.highest)
            bad |= lowest[plain[rule.left]] > highest[plain[rule.right]]
    return bad


def known_numbers(column: Column, series: pl.Series) -> Floats:
    """The numbers or days of a column; NaN for what is missing, special or other."""
    number = column.coded.numbers(series)
    return np.where(column.coded.encode(series) < column.bin_count, number, np.nan)


def _met(column: Column, condition: Condition, series: pl.Series) -> Flags:
    """Whether each value meets the condition."""
    if not condition.values:
        return _within(known_numbers(column, series), condition)
    met = np.isin(column.coded.encode(series), _own_codes(column, condition))
    if column.kind in BINNED:
        met |= np.isin(known_numbers(column, series), _listed_numbers(column, condition))
    return met


def _sure(column: Column, condition: Condition) -> Flags:
    """Whether every value of each code meets the condition."""
    sure = np.isin(np.arange(column.size), _own_codes(column, condition))
    if column.kind not in BINNED:
        return sure
    lowest, highest = (_per_code(column, x) for x in (column.bin_values.lowest, column.bin_values.highest))
    if not condition.values:
        return _within(lowest, condition) & _within(highest, condition)
    one: Flags = (lowest == highest) & np.isin(lowest, _listed_numbers(column, condition))
    return sure | one


def _own_codes(column: Column, condition: Condition) -> Places:
    """The codes, other than bins, that the listed texts have; blank is missing, if that has a code."""
    texts = [t for t in condition.values if t.strip() or column.missing]
    codes = column.coded.encode(pl.Series(texts, dtype=pl.String)).astype(np.int64)
    return codes[codes >= column.bin_count]


def _listed_numbers(column: Column, condition: Condition) -> Floats:
    return column.coded.numbers(pl.Series(condition.values, dtype=pl.String))


def _within(number: Floats, condition: Condition) -> Flags:
    """Whether each number lies strictly between the bounds; never where it is NaN."""
    above = -np.inf if condition.above is None else as_number(condition.above)
    below = np.inf if condition.below is None else as_number(condition.below)
    return (number > above) & (number < below)


def _per_code(column: Column, per_bin: Floats) -> Floats:
    """One number for every code; NaN for codes that are no bin."""
    return np.append(per_bin, np.full(column.size - column.bin_count, np.nan))
