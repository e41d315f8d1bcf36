"""From what a schema declares to the text of a schema file, which reads back to the same.

>>> print(write(Declaration((Column("sex", "categorical", values=("F", "M")),))), end="")
[columns.sex]
kind = "categorical"
values = ["F", "M"]
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.column import Collapse, Column
from hedgerow.public.schema.structure import Condition, Declaration, Join
from hedgerow.public.toml import WIDTH, key, pair, value

_ORDER = (
    *("description", "values", "type", "prefix", "collapse", "bins", "unit", "decode", "format", "yes", "no"),
    *("missing", "missing_values", "other", "determined_by", "map", "public_values"),
)
"""The keys of a column as they are written; labels and special come last, as they may be tables."""


def write(parts: Declaration) -> str:
    """The schema file."""
    head = [f"{key} = {value(x)}" for key, x in (("title", parts.title), ("source", parts.source)) if x]
    blocks = [head] if head else []
    blocks += [list(_column(c)) for c in parts.columns]
    blocks += [list(_join(j)) for j in parts.joined]
    for zero in parts.zeros:
        where = {name: _condition(c) for name, c in zero.where}
        blocks.append(["[[zero]]", f"where = {value(where)}"])
    for rule in parts.rules:
        blocks.append(["[[rule]]", f"left = {value(rule.left)}", f"right = {value(rule.right)}"])
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _column(c: Column) -> Iterator[str]:
    blank, has_labels = Column(c.name, c.kind), c.labels != c.values
    yield f"[columns.{key(c.name)}]"
    yield f"kind = {value(c.kind)}"
    for name in _ORDER:
        if getattr(c, name) != getattr(blank, name) and not (name == "values" and has_labels):
            yield pair(name, _plain(getattr(c, name)))
    labels = dict(zip(c.values, c.labels, strict=True)) if has_labels else {}
    tables = {name: table for name, table in (("labels", labels), ("special", dict(c.special))) if table}
    wide = [n for n, table in tables.items() if len(table) > 12 or len(pair(n, table)) > WIDTH]
    yield from (pair(name, table) for name, table in tables.items() if name not in wide)
    for name in wide:
        yield f"[columns.{key(c.name)}.{name}]"
        yield from (f"{key(raw)} = {value(label)}" for raw, label in tables[name].items())


def _plain(x: Any) -> Any:
    """Bins and the like as tables of what they say."""
    if not isinstance(x, Bins | Collapse):
        return x
    table = {f.name: getattr(x, f.name) for f in fields(x)}
    return {k: v for k, v in table.items() if v is not None and v != ()}


def _join(j: Join) -> Iterator[str]:
    yield "[[joined]]"
    yield pair("name", j.name)
    yield pair("columns", j.columns)
    yield 'keep = "public"' if j.combinations is None else pair("combinations", j.combinations)


def _condition(c: Condition) -> Any:
    bounds = {"below": c.below, "above": c.above}
    return c.values or {k: v for k, v in bounds.items() if v is not None}
