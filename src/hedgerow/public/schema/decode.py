"""From codes back to values: the records of a synthetic table in the types of the file.

A code of a listed value becomes that value, ``other`` its text, missing a null.  A bin becomes a number or
date inside it: uniform, the midpoint, or drawn from the public values the schema kept.  Joined columns are
split, determined ones filled in.  A value always has the code it came from, and so stays within bounds.

    >>> schema = Schema.loads('[columns.age]\\nkind = "integer"\\nbins = { low = 16, high = 90, width = 1 }')
    >>> decode(schema, {"age": np.array([0, 74])}, np.random.Generator(np.random.PCG64(1)))["age"].to_list()
    [16, 90]
"""

from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter

import numpy as np
import polars as pl

from hedgerow.errors import SchemaError
from hedgerow.public.schema.bins import Floats, as_number
from hedgerow.public.schema.column import BINNED, LISTED, Column
from hedgerow.public.schema.schema import Schema
from hedgerow.public.schema.splitting import AnyCodes, Places, column_codes


def decode(
    schema: Schema,
    codes: Mapping[str, AnyCodes],
    rng: np.random.Generator,
    *,
    columns: Iterable[str] | None = None,
) -> pl.DataFrame:
    """The records that have these codes.

    Args:
        schema: a resolved schema.
        codes: the codes of its attributes, or of single columns.
        rng: picks values within bins.
        columns: the columns of the file to give; all of them when None.
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
    _keep_rules(schema, plain, numbers, rng)
    made = {n: _series(schema.column(n), plain[n], numbers.get(n)) for n in wanted}
    return pl.DataFrame(made)


def _numbers(column: Column, codes: Places, rng: np.random.Generator) -> Floats:
    """A number for every row that is in a bin; NaN for the others."""
    inside = codes < column.bin_count
    bins = codes[inside]
    picked = column.grid.middle(bins) if column.decode == "midpoint" else column.grid.uniform(bins, rng)
    if column.decode == "public":
        picked = _from_public(column, bins, picked, rng)
    number = np.full(len(codes), np.nan)
    number[inside] = picked
    return number


def _from_public(column: Column, bins: Places, uniform: Floats, rng: np.random.Generator) -> Floats:
    """A public value of each bin; the uniform one where the public table had none."""
    assert column.public_values is not None
    counts = np.array([len(v) for v in column.public_values], np.int64)
    pool = np.array([as_number(x) for v in column.public_values for x in v] or [np.nan])
    at = (np.cumsum(counts) - counts)[bins] + (rng.random(len(bins)) * counts[bins]).astype(np.int64)
    return np.where(counts[bins] > 0, pool[np.minimum(at, len(pool) - 1)], uniform)


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
    most = {n: np.where(known[n], schema.column(n).grid.highest[bins[n]], np.inf) for n in order}
    for right in reversed(order):
        for left in lefts.get(right, ()):
            most[left] = np.minimum(most[left], most[right])
    for name in order:
        least = np.full(len(rows), -np.inf)
        for left in lefts.get(name, ()):
            least = np.fmax(least, numbers[left][rows])
        bounds = np.maximum(least, schema.column(name).grid.low[bins[name]]), most[name]
        anew = schema.column(name).grid.between(bins[name], *bounds, rng)
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
        text = typed.dt.strftime(column.format)
    else:
        typed = inside.cast(pl.Int64 if column.kind == "integer" else pl.Float64)
        text = typed.cast(pl.String)
    if not beyond:
        return typed
    return text.fill_null(pl.Series([None, *beyond], dtype=pl.String).gather(place))
