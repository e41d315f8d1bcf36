"""From what a schema declares to the text of a schema file, which reads back to the same.

>>> print(write(Declaration((Column("sex", "categorical", values=("F", "M")),))), end="")
[columns.sex]
kind = "categorical"
values = ["F", "M"]
"""

from collections.abc import Iterator
from dataclasses import fields
from textwrap import wrap
from typing import Any

from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.column import Collapse, Column
from hedgerow.public.schema.structure import Condition, Declaration, Join, Reason, Reasons
from hedgerow.public.toml import WIDTH, key, pair, value

_ORDER = (
    *("description", "values", "type", "prefix", "collapse", "bins", "unit", "decode", "format", "yes", "no"),
    *("missing", "missing_values", "other", "determined_by", "map", "public_values"),
)
"""The keys of a column as they are written; labels and special come last, as they may be tables."""


_HEAD = """\
Draft of a schema, made from PUBLIC input.

{origin}

Everything below was learnt from this public input and from nothing else. Never draft a schema from the \
confidential table: its labels, its range and its gaps would be published without being paid for.

Read it through once and change what you know better:
 * kind, values and bins are guesses; a reason stands above each.
 * Whole numbers with few values are taken as codes. Name them, labels = {{ 1 = "...", 2 = "..." }}; or, if \
they count or measure something, say kind = "integer" with bins = {{ low = 0, high = 9, width = 1 }}.
 * Numbers and dates beyond the outer edges are counted in the outer bins. If the confidential table is of \
a later year, raise `high`; if it has values that are not listed here, list them.
 * A commented key below a column, such as `# prefix = 2`, is a suggestion: remove the # to use it.
 * CHECK marks a guess that needs you.
 * A column without a block of its own is not read and not published."""
_SUGGESTIONS = "Suggestions about several columns: remove the # in front of a block to use it."


def write(parts: Declaration, reasons: Reasons | None = None) -> str:
    """The schema file; with the reasons of a draft as comments, if it has some.

    >>> sex = Column("sex", "categorical", values=("F", "M"))
    >>> print(write(Declaration((sex,)), Reasons(columns=(Reason("sex", ("2 values.",)),)))[-67:], end="")
    [columns.sex]
    # 2 values.
    kind = "categorical"
    values = ["F", "M"]
    """
    head = [f"{key} = {value(x)}" for key, x in (("title", parts.title), ("source", parts.source)) if x]
    blocks = [head] if head else []
    if reasons is None:
        blocks += [list(_column(c)) for c in parts.columns]
    else:
        blocks = [_head(reasons), *blocks, *_with_reasons(parts, reasons)]
    blocks += [list(_join(j)) for j in parts.joined]
    for zero in parts.zeros:
        where = {name: _condition(c) for name, c in zero.where}
        blocks.append(["[[zero]]", f"where = {value(where)}"])
    for rule in parts.rules:
        blocks.append(["[[rule]]", f"left = {value(rule.left)}", f"right = {value(rule.right)}"])
    if reasons is not None and reasons.suggestions:
        blocks += [_comment(_SUGGESTIONS), *([_line(x) for x in s.split("\n")] for s in reasons.suggestions)]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _head(reasons: Reasons) -> list[str]:
    origin = "\n".join(f"  {name:<10} {fact}" for name, fact in reasons.origin)
    lines = _HEAD.format(origin=origin).split("\n")
    return [x for line in lines for x in ([_line(line)] if line.startswith("  ") else _comment(line))]


def _with_reasons(parts: Declaration, reasons: Reasons) -> Iterator[list[str]]:
    """The columns, each with its reason; those left out stand before the column that follows in the public table."""
    reason_of = {r.name: r for r in reasons.columns}
    before: dict[str, list[list[str]]] = {}
    left_out: list[list[str]] = []
    names = {c.name for c in parts.columns}
    for r in reasons.columns:
        if r.left_out:
            notes = [x for note in r.notes for x in _comment(note)]
            left_out.append([_line(f"[columns.{key(r.name)}] left out: {r.left_out}."), *notes])
        elif r.name in names:
            before[r.name], left_out = left_out, []
    for c in parts.columns:
        yield from (*before.get(c.name, ()), list(_column(c, reason_of.get(c.name))))
    yield from left_out


def _comment(line: str) -> list[str]:
    """A sentence as wrapped comments; a point of a list hangs."""
    hang = "   " if line.startswith(" *") else ""
    said = wrap(_visible(line), WIDTH - 2, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
    return [_line(x) for x in said or [""]]


def _line(line: str) -> str:
    return f"# {_visible(line)}".rstrip()


def _visible(line: str) -> str:
    """The line without characters that a TOML comment may not hold."""
    return "".join(c if c.isprintable() else " " for c in line)


def _column(c: Column, reason: Reason | None = None) -> Iterator[str]:
    blank, has_labels = Column(c.name, c.kind), c.labels != c.values
    said = {n: _plain(getattr(c, n)) for n in _ORDER if getattr(c, n) != getattr(blank, n)}
    if has_labels:
        del said["values"]
    elif reason is not None and c.type == "integer":  # whole numbers without quotes say their type themselves
        del said["type"]
        said |= {"values": [int(v) for v in c.values]} | ({} if c.other is None else {"other": int(c.other)})
    yield f"[columns.{key(c.name)}]"
    yield from (x for note in reason.notes for x in _comment(note)) if reason else ()
    yield f"kind = {value(c.kind)}"
    yield from (pair(name, x) for name, x in said.items())
    labels = dict(zip(c.values, c.labels, strict=True)) if has_labels else {}
    tables = {name: table for name, table in (("labels", labels), ("special", dict(c.special))) if table}
    wide = [n for n, table in tables.items() if len(table) > 12 or len(pair(n, table)) > WIDTH]
    yield from (pair(name, table) for name, table in tables.items() if name not in wide)
    yield from map(_line, reason.hints) if reason else ()
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
