"""Given rows with columns attached to them, and what another machine must be sent of the rows to attach some."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.model.constants import GUIDED_TREE
from hedgerow.public import BINNED, CodedTable, Column, Schema, decode, violations

DrawLabels = Callable[[npt.NDArray[Any]], Mapping[str, Any]]
"""Gives rows, by their numbers, the codes of the private attributes."""


def sent_rows(
    target: CodedTable, schema: Schema, private: Sequence[str], drawn_from: Iterable[str] = ()
) -> CodedTable:
    """What of the target's rows another machine needs for ``with_columns``; the rest stays here, and is as it was.

    Values of columns that zeros or rules look at, or that are written otherwise than they are given; codes of
    attributes that labels are ``drawn_from``, or from which attached columns are decoded.
    """
    made = _made(target, schema, private)
    own = [c.name for c in schema.columns if c.name not in made]
    ruled = {n for z in schema.zeros for n, _ in z.where} | {n for r in schema.rules for n in (r.left, r.right)}
    values = [n for n in own if n in ruled or _rewritten(target, schema, n)]
    given = [a for a in schema.attributes if a not in private]
    return target.sent(values, [*_decoded_from(schema, made, given), *drawn_from])


def _made(target: CodedTable, schema: Schema, private: Iterable[str]) -> list[str]:
    """The columns that are attached: private ones, what these determine, and all others that the target lacks."""
    made = [p for a in private for p in schema.coding.needs([a])]
    made += [c.name for c in schema.columns if c.determined_by and set(c.determined_by) & set(made)]
    had = {*target.frame.columns, *target.away}
    return made + [c.name for c in schema.columns if c.name not in had and c.name not in made]


def _decoded_from(schema: Schema, made: Sequence[str], given: Sequence[str]) -> list[str]:
    """The given attributes whose codes decoding these columns looks at.

    All of them where a number is picked within a bin, or rows may be drawn again: given ones then move the generator.
    """
    columns = {c.name: c for c in schema.columns}
    if schema.zeros or schema.rules or any(columns[n].kind in BINNED for n in made):
        return list(given)
    wanted, new = set[str](), set(made)
    while new:
        wanted |= new
        new = {d for n in new for d in columns[n].determined_by} - wanted
    return [a for a in given if wanted & set(schema.coding.needs([a]))]


def with_columns(
    target: CodedTable,
    schema: Schema,
    draw_labels: DrawLabels,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """The target's rows with what ``draw_labels`` gives them; rows that break a rule are drawn again.

    Every column of the schema, in its order, but for those whose values were not sent here.  A target's own value
    stays as it is when the schema allows it, and otherwise becomes one of the cell it was counted in.
    """
    cells: Mapping[str, Any] = draw_labels(np.arange(target.rows))
    made, there = _made(target, schema, cells), [c.name for c in schema.columns if c.name not in target.away]
    given = [a for a in schema.attributes if a not in cells]
    public = target.codes(_decoded_from(schema, made, given) if target.away else given)
    kept = _kept(target, schema, [n for n in there if n not in made], rng)

    def built(which: npt.NDArray[Any], codes: Mapping[str, Any]) -> pl.DataFrame:
        every = {a: code[which] for a, code in public.items()} | dict(codes)
        fresh = decode(schema, every, rng, columns=made)
        mine = kept if len(which) == target.rows else kept[which] if kept.width else kept
        found = {c.name: c for c in (*mine.get_columns(), *fresh.get_columns())}
        return pl.DataFrame([found[n] for n in there])

    frame = built(np.arange(target.rows), cells)
    for _ in range(GUIDED_TREE.rule_redraws if schema.zeros or schema.rules else 0):
        bad = np.flatnonzero(violations(schema, frame).to_numpy())
        if not len(bad):
            break
        again = built(bad, draw_labels(bad))
        place = np.arange(len(frame))
        place[bad] = len(frame) + np.arange(len(bad))
        frame = pl.concat([frame, again])[place]
    return frame


def _kept(target: CodedTable, schema: Schema, names: Sequence[str], rng: np.random.Generator) -> pl.DataFrame:
    """The target's own columns, values outside the schema replaced by one of the cell they fall in.

    A listed value that the target writes otherwise than the schema (1.0 for 1) is written as the schema does.
    """
    frame = target.frame.select(names)
    for name in (n for n in names if _rewritten(target, schema, n)):
        column = schema.column(name)
        inside = decode(schema, {name: column.coded.encode(frame[name])}, rng, columns=[name])[name]
        keep = np.zeros(len(frame), np.bool_)
        if column.kind in BINNED and frame[name].dtype == inside.dtype:
            number = column.coded.numbers(frame[name])
            keep = (number >= column.cuts[0]) & (number < column.cuts[-1])
        elif frame[name].dtype == inside.dtype:
            keep = frame[name].cast(pl.String).is_in([t for t in column.cell_texts if t]).fill_null(False).to_numpy()
        frame = frame.with_columns(frame[name].zip_with(pl.Series(keep), inside) if keep.any() else inside)
    return frame


def _rewritten(target: CodedTable, schema: Schema, name: str) -> bool:
    """Whether some values of a column of the target may be replaced."""
    column = schema.column(name)
    if name not in schema.attributes and column.kind in BINNED:
        return False
    return target.departs(name) or _otherwise(column, target.frame[name])


def _otherwise(column: Column, given: pl.Series) -> bool:
    """Whether a column has a type that no release has, or a listed value in another writing than the schema's."""
    if given.dtype not in (pl.Int64, pl.Float64, pl.Date, pl.Boolean, pl.String):
        return True
    if column.kind in BINNED:
        return False
    texts = given.unique().cast(pl.String).drop_nulls()
    return not texts.is_in([t for t in column.cell_texts if t]).all()
