"""Which records break a structural zero or a rule of the schema.

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
>>> frame = pl.DataFrame({"age": [12, 12, 40], "marital": ["married", "single", "married"]})
>>> violations(schema, frame).to_list()
[True, False, False]
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.schema.bins import Floats, as_number
from hedgerow.public.schema.column import BINNED, Column
from hedgerow.public.schema.schema import Schema
from hedgerow.public.schema.splitting import AnyCodes, Places, column_codes
from hedgerow.public.schema.structure import Condition

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
            left, right = (_numbers(schema.column(n), frame[n]) for n in (rule.left, rule.right))
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
            lowest = _per_code(schema.column(rule.left), schema.column(rule.left).grid.lowest)
            highest = _per_code(schema.column(rule.right), schema.column(rule.right).grid.highest)
            bad |= lowest[plain[rule.left]] > highest[plain[rule.right]]
    return bad


def _numbers(column: Column, series: pl.Series) -> Floats:
    """The numbers or days of a column; NaN for what is missing, special or other."""
    number = column.coded.numbers(series)
    return np.where(column.coded.encode(series) < column.bin_count, number, np.nan)


def _met(column: Column, condition: Condition, series: pl.Series) -> Flags:
    """Whether each value meets the condition."""
    if not condition.values:
        return _within(_numbers(column, series), condition)
    met = np.isin(column.coded.encode(series), _own_codes(column, condition))
    if column.kind in BINNED:
        met |= np.isin(_numbers(column, series), _listed_numbers(column, condition))
    return met


def _sure(column: Column, condition: Condition) -> Flags:
    """Whether every value of each code meets the condition."""
    sure = np.isin(np.arange(column.size), _own_codes(column, condition))
    if column.kind not in BINNED:
        return sure
    lowest, highest = (_per_code(column, x) for x in (column.grid.lowest, column.grid.highest))
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
