"""What is wrong with a schema: every problem at once, each with its place and its cure.

Nothing here raises on a wrong schema: ``problems`` says what is wrong and the caller decides how to tell.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from math import prod
from typing import NamedTuple

import numpy as np
import polars as pl

from hedgerow.public.schema.column import BINNED, Column
from hedgerow.public.schema.column_check import Fault, column_faults, nearest, repeated
from hedgerow.public.schema.structure import Condition, Join, Parts, Rule, Zero

MOST_COMBINATIONS = 1_000_000
Path = tuple[str | int, ...]
_Columns = Mapping[str, Column]


class Problem(NamedTuple):
    """One thing that is wrong: the path of keys to it, and a sentence with the cure."""

    at: Path
    text: str


def problems(parts: Parts, unread: Collection[Path] = ()) -> list[Problem]:
    """All that is wrong with what a schema declares; empty when it stands.

    The tables that could not be read are not looked at, nor what builds on them or on a wrong column.
    """
    found = list(_of_columns(parts, unread))
    ill = {*unread, *(p.at[:2] for p in found)}
    columns = {c.name: c for c in parts.columns}
    sound = {n: c for n, c in columns.items() if ("columns", n) not in ill}
    for name, c in sound.items():
        found += _placed(("columns", name), f"column {name!r}", _determined(c, columns, sound))
    for i, join in enumerate(parts.joined):
        if ("joined", i) not in ill:
            faults = _join(join, columns, sound, parts.joined[:i])
            found += _placed(("joined", i), f"joined {join.name!r}", faults)
    for i, zero in enumerate(parts.zeros):
        if ("zero", i) not in ill:
            found += _placed(("zero", i), f"zero {i + 1}", (("where", t) for t in _zero(zero, columns, sound)))
    for i, rule in enumerate(parts.rules):
        if ("rule", i) not in ill:
            found += _placed(("rule", i), f"rule {i + 1}", _rule(rule, columns, sound))
    return [*found, *_circles(parts)]


def _placed(at: Path, who: str, faults: Iterable[Fault]) -> list[Problem]:
    return [Problem((*at, key), f"{who}: {text}") for key, text in faults]


def _of_columns(parts: Parts, ill: Collection[Path]) -> Iterator[Problem]:
    if not parts.columns and not ill:
        yield Problem((), "the schema has no column; add a table such as [columns.sex].")
    for name in repeated([*(c.name for c in parts.columns), *(j.name for j in parts.joined)]):
        yield Problem(("columns", name), f"two columns are named {name!r}; rename one.")
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
    asked = pl.Series([t.strip() for t in texts], dtype=pl.String)
    number = c.coded.numbers(asked) if c.kind in BINNED else np.full(len(asked), np.nan)
    for text, x in zip(asked, number, strict=True):
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


def _rule(rule: Rule, columns: _Columns, sound: _Columns) -> Iterator[Fault]:
    for key, name in (("left", rule.left), ("right", rule.right)):
        if name not in columns:
            yield key, _no_such(name, columns)
    if rule.left in sound and rule.right in sound:
        left, right = sound[rule.left].kind, sound[rule.right].kind
        if left not in BINNED or right not in BINNED or (left == "date") != (right == "date"):
            yield "right", f"{rule} compares {left} with {right}; name two numbers or two dates."


def _circles(parts: Parts) -> Iterator[Problem]:
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
