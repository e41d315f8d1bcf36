"""From what a schema declares to the text of a schema file, which reads back to the same.

>>> print(write(Parts((Column("sex", "categorical", values=("F", "M")),))), end="")
[columns.sex]
kind = "categorical"
values = ["F", "M"]
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import date
from typing import Any

from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.column import Collapse, Column
from hedgerow.public.schema.structure import Condition, Join, Parts

_WIDTH = 100
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_CONTROL = re.compile(r'["\\\x00-\x1f\x7f]')
_ORDER = (
    *("description", "values", "type", "prefix", "collapse", "bins", "unit", "decode", "format", "yes", "no"),
    *("missing", "missing_values", "other", "determined_by", "map", "public_values"),
)
"""The keys of a column as they are written; labels and special come last, as they may be tables."""


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
    if isinstance(x, str):
        return '"' + _CONTROL.sub(_escape, x) + '"'
    if isinstance(x, bool):
        return "true" if x else "false"
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


def _line(name: str, found: Any) -> str:
    """A key with its value on one line, a long list wrapped over several."""
    if isinstance(found, Bins | Collapse):
        table = {f.name: getattr(found, f.name) for f in fields(found)}
        said = {k: v for k, v in table.items() if v is not None and v != ()}
        return f"{name} = {{ {', '.join(_line(k, v) for k, v in said.items())} }}"
    if not isinstance(found, tuple):
        return f"{name} = {value(found)}"
    plain = all(isinstance(item, str) for item in found) and not _CONTROL.search("".join(found))
    texts = [f'"{item}"' for item in found] if plain else [value(item) for item in found]
    if sum(map(len, texts)) + 2 * len(texts) + len(name) < _WIDTH:
        return f"{name} = [{', '.join(texts)}]"
    lines, now = [f"{name} = ["], "   "
    for text in texts:
        if len(now) + len(text) + 2 > _WIDTH and now.strip():
            lines.append(now)
            now = "   "
        now += f" {text},"
    return "\n".join([*lines, now, "]"])


def _column(c: Column) -> Iterator[str]:
    blank, has_labels = Column(c.name, c.kind), c.labels != c.values
    yield f"[columns.{key(c.name)}]"
    yield f"kind = {value(c.kind)}"
    for name in _ORDER:
        if getattr(c, name) != getattr(blank, name) and not (name == "values" and has_labels):
            yield _line(name, getattr(c, name))
    labels = dict(zip(c.values, c.labels, strict=True)) if has_labels else {}
    tables = {name: table for name, table in (("labels", labels), ("special", dict(c.special))) if table}
    wide = [n for n, table in tables.items() if len(table) > 12 or len(_line(n, table)) > _WIDTH]
    yield from (_line(name, table) for name, table in tables.items() if name not in wide)
    for name in wide:
        yield f"[columns.{key(c.name)}.{name}]"
        yield from (f"{key(raw)} = {value(label)}" for raw, label in tables[name].items())


def _join(j: Join) -> Iterator[str]:
    yield "[[joined]]"
    yield _line("name", j.name)
    yield _line("columns", j.columns)
    yield 'keep = "public"' if j.combinations is None else _line("combinations", j.combinations)


def _condition(c: Condition) -> Any:
    bounds = {"below": c.below, "above": c.above}
    return c.values or {k: v for k, v in bounds.items() if v is not None}
