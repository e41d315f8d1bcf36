"""The figures a use is about, worked out on one table: counts, means, rates, quantiles, coefficients.

The same functions serve a public stand-in, synthetic records, a table of synthetic counts and, inside, the
steward's own table; so a forecast and an exact look mean the same thing.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.public.schema import Schema, nearest
from hedgerow.public.table import CodedTable, Floats, Places
from hedgerow.uses.coefficients import by_group, settled
from hedgerow.uses.uses import Use

_TIMES = ("ordered", "integer", "real", "date")
_NUMBERS = ("integer", "real", "yes-no", "ordered")


@final
@dataclass(frozen=True, eq=False)
class Quantity:
    """What a use asks of one table: a figure per cell or group.

    Attributes:
        values: the figures; NaN where a group has none.
        sizes: the rows behind each.
        errors: the standard error of each, where one is known; else empty.
    """

    values: Floats
    sizes: Floats
    errors: Floats

    @cached_property
    def total(self) -> float:
        """The rows behind all of them."""
        return float(self.sizes.sum())


def quantity(use: Use, table: CodedTable) -> Quantity:
    """The figures of ``use`` on ``table``."""
    weight = table.counts
    if use.kind == "coefficient":
        return _coefficients(use, table)
    group = table.cells(use.columns)
    size = prod(table.schema.shape(use.columns))
    if use.kind == "table":
        counts = np.bincount(group, weight, size).astype(np.float64)
        return Quantity(counts, counts, np.empty(0))
    if use.kind == "rate":
        held = np.bincount(group, weight, size).astype(np.float64)
        hit = table.has(use.of, use.values) * (1.0 if weight is None else weight)
        return Quantity(_ratio(np.bincount(group, hit, size), held), held, np.empty(0))
    number = table.numbers(use.of)
    known = ~np.isnan(number)
    group, number = group[known], number[known]
    weight = np.ones(len(group)) if weight is None else weight[known]
    held = np.bincount(group, weight, size).astype(np.float64)
    if use.kind == "mean":
        return Quantity(_ratio(np.bincount(group, weight * number, size), held), held, np.empty(0))
    return Quantity(
        _quantiles(number, group, weight, size, use.at).ravel(), np.repeat(held, len(use.at)), np.empty(0)
    )


def _ratio(top: npt.NDArray[Any], bottom: Floats) -> Floats:
    return np.asarray(np.divide(top, bottom, out=np.full(len(bottom), np.nan), where=bottom > 0))


def _quantiles(number: Floats, group: Places, weight: Floats, size: int, at: tuple[float, ...]) -> Floats:
    """For every group the least values below or at which lies a share ``at`` of its rows; a row per group."""
    order = np.lexsort((number, group))
    number, group, weight = number[order], group[order], weight[order]
    summed = np.cumsum(weight)
    ends = np.searchsorted(group, np.arange(size), side="right")
    before = np.concatenate([[0.0], summed])[np.searchsorted(group, np.arange(size), side="left")]
    held = np.concatenate([[0.0], summed])[ends] - before
    found = np.full((size, len(at)), np.nan)
    for j, share in enumerate(at):
        place = np.searchsorted(summed, before + share * held * (1 - 1e-12))
        some = held > 0
        found[some, j] = number[np.minimum(place, ends - 1)[some]]
    return found


def _coefficients(use: Use, table: CodedTable) -> Quantity:
    if table.counts is not None:
        raise JobError("A coefficient cannot be judged on a table of counts: it needs records. Nothing was spent.")
    values, errors, sizes = by_group(use, table)
    return Quantity(values, sizes, errors)


def labels(use: Use, schema: Schema, places: Places) -> tuple[str, ...]:
    """A label for the cells or groups at ``places``."""
    repeats = max(1, len(use.at))
    shape = schema.shape(use.columns)
    names = [schema.cell_labels(c) for c in use.columns]
    found = []
    for place in places.tolist():
        group, which = divmod(place, repeats)
        codes = np.unravel_index(group, shape) if shape else ()
        said = ", ".join(n[int(c)] for n, c in zip(names, codes, strict=True)) or "all rows"
        found.append(f"{said} at {use.at[which]:g}" if repeats > 1 else said)
    return tuple(found)


def over_time(use: Use, schema: Schema, places: Places) -> tuple[tuple[str, int], ...]:
    """For the groups at ``places``, what they are besides their time, and which time of the schema's list it is.

    Empty where a use is not about a figure over time: where not exactly one of its group columns has an order, or
    fewer than three times of it are there, or rows without one.
    """
    lasts = {c.name: c.bin_count or len(c.values) for c in schema.columns if c.kind in _TIMES}
    ordered = [i for i, c in enumerate(use.columns) if c in lasts]
    if use.kind == "table" or len(ordered) != 1:
        return ()
    repeats, shape = max(1, len(use.at)), schema.shape(use.columns)
    names, found = [schema.cell_labels(c) for c in use.columns], []
    for place in places.tolist():
        group, which = divmod(place, repeats)
        codes = [int(c) for c in np.unravel_index(group, shape)]
        rest = [n[c] for i, (n, c) in enumerate(zip(names, codes, strict=True)) if i not in ordered]
        rest += [f"at {use.at[which]:g}"] if repeats > 1 else []
        found.append((", ".join(rest), codes[ordered[0]]))
    times = {t for _, t in found}
    return tuple(found) if len(times) > 2 and max(times) < lasts[use.columns[ordered[0]]] else ()


def time_labels(use: Use, schema: Schema) -> tuple[str, ...]:
    """What the times of a use over time are called, in order."""
    (time,) = (c for c in use.columns if any(d.name == c and d.kind in _TIMES for d in schema.columns))
    return schema.cell_labels(time)


def check(use: Use, schema: Schema) -> None:
    """Refuse a use that the schema cannot answer, before anything is done."""
    known = (*schema.attributes, *(c.name for c in schema.columns))
    for name in (*use.columns, *filter(None, [use.of])):
        if name not in known:
            raise JobError(
                f"The use {use.name!r} names a column {name!r} that the schema lacks: {nearest(name, known)}\n"
                "No confidential row was read and nothing was spent."
            )
    if use.kind == "coefficient":
        settled(use, schema)
    if use.kind in ("mean", "quantile"):
        column = schema.column(use.of)
        if column.kind not in _NUMBERS or (column.kind == "ordered" and column.type != "integer"):
            raise JobError(
                f"The use {use.name!r} wants the {use.kind} of {use.of!r}, which is {column.kind}, not a number.\n"
                "Ask for a rate of its values, or a table. No confidential row was read and nothing was spent."
            )
    if use.kind == "rate":
        column = schema.column(use.of)
        listed = [v for v in use.values if v not in column.cell_texts]
        if column.bin_count or (listed and not (column.yes or column.kind == "yes-no")):
            raise JobError(
                f"The use {use.name!r} wants the share of {use.of} = {' or '.join(listed or use.values)}, which the\n"
                f"schema does not list. Its values are: {', '.join(t for t in column.cell_texts[:12] if t)}.\n"
                "No confidential row was read and nothing was spent."
            )
