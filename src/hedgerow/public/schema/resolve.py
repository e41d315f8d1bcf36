"""What a schema takes from a public table, written out: afterwards it stands on its own.

Quantile bins become edges, rare labels are merged, joins list the combinations seen, determined columns
get their map, and ``decode = "public"`` gets values to draw from; so does, in a job, a number or date of which the
schema does not say how it is picked within a bin.  Only ever a *public* table.
"""

from collections.abc import Collection
from dataclasses import replace
from math import ceil

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import TableMismatch
from hedgerow.public.schema.bins import Bins, Edge, Floats, as_date
from hedgerow.public.schema.column import MOST_OUTSIDE, Column
from hedgerow.public.schema.structure import Declaration, Join

Counts = npt.NDArray[np.int64]

DRAWS_PER_BIN = 100
"""How many public values of a bin are kept at most: evenly spaced in rank."""
LEAST_DRAWS = 5
"""Where nobody asks for public values, those of a bin are kept if there are so many: fewer would be false heaps."""
MOST_DRAWS, FEWEST_DRAWS_PER_BIN = 200_000, 20
"""Where nobody asks for them, so many values of all columns are kept, but no fewer than the second for each bin."""


def resolve(parts: Declaration, public: pl.DataFrame) -> Declaration:
    """The same declarations with nothing left to take from a public table."""
    _must_have(parts, public)
    columns = {c.name: c for c in parts.columns}
    for name, c in columns.items():
        if c.bins is not None and c.bins.quantiles is not None:
            columns[name] = c = _with_edges(c, public[name])
        if c.collapse is not None:
            columns[name] = c = _collapsed(c, public[name])
        if c.decode == "public" and c.public_values is None:
            columns[name] = _with_values(c, public[name])
    for name, c in columns.items():
        if c.determined_by and c.map is None:
            columns[name] = _with_map(c, [columns[n] for n in c.determined_by], public)
    joined = tuple(
        _with_combinations(j, [columns[n] for n in j.columns], public) if j.combinations is None else j
        for j in parts.joined
    )
    return Declaration(tuple(columns.values()), joined, parts.zeros, parts.rules, parts.title, parts.source)


def with_public_values(
    parts: Declaration, public: pl.DataFrame, given: Collection[str], many: Counts | None = None
) -> Declaration:
    """The same; within bins, public values for columns of the public table of which nothing else is said.

    Not for those ``given`` row by row, whose values stand.  ``many`` says for how many records each line stands.
    """
    wanting = [c for c in parts.columns if c.wants_values and c.name in public.columns and c.name not in given]
    most = MOST_DRAWS // max(sum(c.bin_count for c in wanting), 1)
    most = min(max(most, FEWEST_DRAWS_PER_BIN), DRAWS_PER_BIN)
    found = {c.name: _with_values(c, public[c.name], LEAST_DRAWS, most, many) for c in wanting}
    some = {n: replace(c, decode="public") for n, c in found.items() if any(c.public_values or ())}
    return replace(parts, columns=tuple(some.get(c.name, c) for c in parts.columns))


def _must_have(parts: Declaration, public: pl.DataFrame) -> None:
    needed = [n for c in parts.columns if c.unresolved for n in (c.name, *c.determined_by)]
    needed += [n for j in parts.joined if j.combinations is None for n in j.columns]
    lacking = [n for n in dict.fromkeys(needed) if n not in public.columns]
    if lacking or public.is_empty():
        what = f"lacks {', '.join(map(repr, lacking))}" if lacking else "has no row"
        raise TableMismatch(
            f"The public table {what}, from which the schema is to be completed.\n"
            "Give another public table, or write bins, values, map or combinations into the schema.\n"
            "No confidential row was read and nothing was spent."
        )


def _numbers(c: Column, series: pl.Series, many: Counts | None = None) -> Floats:
    """The numbers of a public column, sorted, each as often as ``many`` says, but for those with codes."""
    probe = replace(c, bins=Bins(edges=(as_date(0), as_date(1)) if c.kind == "date" else (0, 1)))
    number = probe.coded.numbers(series)
    usual = np.isfinite(number) & ~np.isin(number, probe.bin_values.avoid)
    number = np.floor(number[usual]) if c.kind == "integer" else number[usual]
    if many is None:
        return np.sort(number)
    order = np.argsort(number, kind="stable")
    return np.repeat(number[order], many[usual][order])


def _with_edges(c: Column, series: pl.Series) -> Column:
    """Quantile edges, with a bin of its own for a value that is as frequent as a whole bin."""
    assert c.bins is not None and c.bins.quantiles is not None
    number = _numbers(c, series)
    if not len(number):
        raise TableMismatch(
            f"Column {c.name!r} of the public table has no {'date' if c.kind == 'date' else 'number'} to take "
            "quantiles from.\nWrite bins with low, high and width into the schema. Nothing was read or spent."
        )
    n = c.bins.quantiles
    at = number[np.minimum(np.arange(n + 1) * len(number) // n, len(number) - 1)]
    often = np.unique(at[:-1][at[:-1] == at[1:]])
    after = np.nextafter(often, np.inf) if c.kind == "real" else often + 1
    edges = np.unique(np.concatenate([at, after[after <= number[-1]]]))
    if len(edges) == 1 or at[-2] == at[-1]:
        edges = np.append(edges, number[-1])
    full = replace(c, bins=Bins(edges=_edges(c, edges)))
    while full.bin_values.empty.any():  # all of a bin is special: widen it
        gone = max(int(full.bin_values.empty.argmax()), 1)
        edges = np.delete(edges, gone)
        full = replace(c, bins=Bins(edges=_edges(c, edges)))
    return full


def _edges(c: Column, numbers: Floats) -> tuple[Edge, ...]:
    if c.kind == "date":
        return tuple(as_date(x) for x in numbers.tolist())
    return tuple(int(x) if c.kind == "integer" else x for x in numbers.tolist())


def _collapsed(c: Column, series: pl.Series) -> Column:
    """Labels with enough public rows stay; the rest goes to the cell ``into``, now the column's ``other``."""
    assert c.collapse is not None
    probe = replace(c, collapse=None, other=c.collapse.into, missing=True)
    counts = np.bincount(probe.coded.encode(series), minlength=probe.size)
    kept = [
        (v, label)
        for v, label, n in zip(c.values, c.labels, counts.tolist(), strict=False)
        if n >= c.collapse.below or v == c.collapse.into
    ]
    values, labels = zip(*kept, strict=True) if kept else ((c.collapse.into,), (c.collapse.into,))
    folded = 1 - sum(n for n, v in zip(counts.tolist(), c.values, strict=False) if v in values) / max(counts.sum(), 1)
    most = c.outside if c.outside is not None or len(kept) == len(c.values) else _rounded_up(folded + MOST_OUTSIDE)
    return replace(c, collapse=None, values=tuple(values), labels=tuple(labels), other=c.collapse.into, outside=most)


def _rounded_up(share: float) -> float:
    """The share in whole hundredths, at most 1."""
    return min(ceil(share * 100) / 100, 1.0)


def _with_values(
    c: Column, series: pl.Series, least: int = 1, most: int = DRAWS_PER_BIN, many: Counts | None = None
) -> Column:
    """Public values of every bin, at most so many, evenly spaced in rank; none where there are too few."""
    number = _numbers(c, series, many)
    starts = np.searchsorted(number, c.cuts)
    have = np.diff(starts)
    keep = np.where(have < least, 0, np.minimum(have, most))
    ends = np.cumsum(keep)
    bins = np.repeat(np.arange(len(keep)), keep)
    place = np.arange(len(bins)) - (ends - keep)[bins]
    picked = number[starts[bins] + (2 * place + 1) * have[bins] // (2 * keep[bins])]
    values = _edges(c, c.bin_values.rounded(bins, picked))
    spans = zip((ends - keep).tolist(), ends.tolist(), strict=True)
    return replace(c, public_values=tuple(values[a:b] for a, b in spans))


def _with_map(c: Column, keys: list[Column], public: pl.DataFrame) -> Column:
    """The most frequent value for every combination of the determining columns, the first of equals."""
    names = [str(i) for i in range(len(keys))]
    frame = pl.DataFrame(
        {n: k.coded.encode(public[k.name]) for n, k in zip(names, keys, strict=True)}
        | {"value": c.coded.encode(public[c.name])}
    )
    seen = (
        frame.group_by([*names, "value"])
        .len()
        .sort([*names, "len", "value"], descending=[False] * len(names) + [True, False])
    )
    best = seen.unique(names, keep="first", maintain_order=True)
    columns = [
        [col.cell_texts[i] for i in best[n].to_list()] for n, col in zip([*names, "value"], [*keys, c], strict=True)
    ]
    return replace(c, map=tuple(zip(*columns, strict=True)))


def _with_combinations(j: Join, columns: list[Column], public: pl.DataFrame) -> Join:
    codes = pl.DataFrame({c.name: c.coded.encode(public[c.name]) for c in columns}).unique().sort(j.columns)
    texts = [[c.cell_texts[i] for i in codes[c.name].to_list()] for c in columns]
    return replace(j, combinations=tuple(zip(*texts, strict=True)))
