"""From what a schema declares to the text of a schema file, which reads back to the same.

>>> print(write(Parts((Column("sex", "categorical", values=("F", "M")),))), end="")
[columns.sex]
kind = "categorical"
values = ["F", "M"]
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from hedgerow.public.bins import Bins
from hedgerow.public.column import Column
from hedgerow.public.structure import Condition, Join, Parts

_WIDTH = 100
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_CONTROL = re.compile(r'["\\\x00-\x1f\x7f]')
_PLAIN = ("description", "missing", "missing_values", "other", "decode", "unit", "yes", "no", "prefix")


def write(parts: Parts) -> str:
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


def value(x: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, str):
        return '"' + _CONTROL.sub(_escape, x) + '"'
    if isinstance(x, dict):
        return "{ " + ", ".join(f"{key(k)} = {value(v)}" for k, v in x.items()) + " }" if x else "{}"
    if isinstance(x, Sequence):
        return "[" + ", ".join(map(value, x)) + "]"
    return x.isoformat() if isinstance(x, date) else repr(x)


def key(name: str) -> str:
    """A key as TOML: bare when it may be, quoted otherwise."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], f"\\u{ord(found[0]):04x}")


def _list(name: str, items: Sequence[Any]) -> str:
    """A list on one line, or wrapped over several when it is long."""
    line = f"{name} = {value(items)}"
    if len(line) <= _WIDTH:
        return line
    lines, now = [f"{name} = ["], "   "
    for item in items:
        text = f" {value(item)},"
        if len(now) + len(text) > _WIDTH and now.strip():
            lines.append(now)
            now = "   "
        now += text
    return "\n".join([*lines, now, "]"])


def _column(c: Column) -> Iterator[str]:
    blank = Column(c.name, c.kind)
    tables: list[tuple[str, dict[str, str]]] = []
    yield f"[columns.{key(c.name)}]"
    yield f"kind = {value(c.kind)}"
    for name in _PLAIN:
        found = getattr(c, name)
        if found != getattr(blank, name):
            yield _list(name, found) if isinstance(found, tuple) else f"{name} = {value(found)}"
    if c.values and c.labels == c.values:
        yield _list("values", c.values)
    elif c.values:
        tables.append(("labels", dict(zip(c.values, c.labels, strict=True))))
    if c.type != "text":
        yield f"type = {value(c.type)}"
    if c.format != blank.format:
        yield f"format = {value(c.format)}"
    if c.bins is not None:
        yield from _bins(c.bins)
    if c.special:
        tables.append(("special", dict(c.special)))
    if c.collapse is not None:
        yield f"collapse = {value({'below': c.collapse.below, 'into': c.collapse.into})}"
    if c.determined_by:
        yield f"determined_by = {value(c.determined_by)}"
    for name, rows in (("map", c.map), ("public_values", c.public_values)):
        if rows is not None:
            yield _list(name, rows)
    for name, table in tables:
        line = f"{name} = {value(table)}"
        yield line if len(line) <= _WIDTH else ""
    for name, table in tables:
        if len(f"{name} = {value(table)}") > _WIDTH:
            yield f"[columns.{key(c.name)}.{name}]"
            yield from (f"{key(raw)} = {value(label)}" for raw, label in table.items())


def _bins(b: Bins) -> Iterator[str]:
    if b.edges and len(value(b.edges)) > _WIDTH - 20:
        wrapped = _list("edges", b.edges)
        yield "bins = { " + wrapped + " }"
        return
    fields = ("unit", "low", "high", "width", "quantiles")
    said = {name: getattr(b, name) for name in fields if getattr(b, name) is not None}
    yield f"bins = {value(said | ({'edges': b.edges} if b.edges else {}))}"


def _join(j: Join) -> Iterator[str]:
    yield "[[joined]]"
    yield f"name = {value(j.name)}"
    yield f"columns = {value(j.columns)}"
    yield 'keep = "public"' if j.combinations is None else _list("combinations", j.combinations)


def _condition(c: Condition) -> Any:
    bounds = {"below": c.below, "above": c.above}
    return {k: v for k, v in bounds.items() if v is not None} if not c.values else c.values
