"""The values of a schema file, one reader for each shape; a wrong shape is said with its cure."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, cast

from hedgerow.public.schema.bins import Bins, Edge
from hedgerow.public.schema.column import BINNED, LISTED, Collapse
from hedgerow.public.schema.column_check import nearest
from hedgerow.public.schema.structure import Condition

Reader = Callable[[Any], Any]


class Wrong(Exception):
    """A value of the wrong shape; the text says which shape is right."""


def dotted(key: str, wrong: Wrong) -> str:
    """The problem with the key before it: ``bins.width is -5; ...``."""
    said = str(wrong)
    return f"{key}{said}" if said.startswith(".") else f"{key} {said}"


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise Wrong(f"is {value!r}; give a text in quotes.")
    return value


def _raw(value: Any) -> str:
    """A raw value as text: whole numbers may be written without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | date):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    return text(value).strip()


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Wrong(f"is {value!r}; give a list in brackets.")
    return value


def _raws(value: Any) -> tuple[str, ...]:
    items = _list(value)
    if all(isinstance(v, str) for v in items):  # there may be a million
        return tuple(v.strip() for v in items)
    return tuple(_raw(v) for v in items)


def _values(value: Any) -> tuple[tuple[str, ...], bool]:
    numbers = bool(value) and all(isinstance(v, int) and not isinstance(v, bool) for v in _list(value))
    return _raws(value), numbers


def _rows(value: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(_raws(row) for row in _list(value))


def _labels(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Wrong('is not a table; give raw = "label" pairs, such as { F = "Female", M = "Male" }.')
    return {raw.strip(): text(label) for raw, label in value.items()}


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple(_labels(value).items())


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"is {value!r}; give true or false, without quotes.")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Wrong(f"is {value!r}; give a whole number, without quotes.")
    return value


def _number(value: Any) -> int | float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Wrong(f"is {value!r}; give a number, without quotes.")
    return value


def _edge(value: Any) -> Edge:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        raise Wrong(f"is {value!r}; give a number, or a date such as 2000-01-31, without quotes.")
    return _number(value)


def _edges(value: Any) -> tuple[Edge, ...]:
    return tuple(_edge(v) for v in _list(value))


def _word(*words: str) -> Reader:
    def read_word(value: Any) -> str:
        if value not in words:
            raise Wrong(f"is {value!r}; {nearest(str(value), words)}")
        return cast(str, value)

    return read_word


def _table(readers: Mapping[str, Reader], example: str) -> Callable[[Any], dict[str, Any]]:
    def read_table(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Wrong(f"is {value!r}; give a table, such as {example}.")
        got = {}
        for key, inner in value.items():
            if key not in readers:
                raise Wrong(f"has the unknown key {key!r}; {nearest(key, readers)}")
            try:
                got[key] = readers[key](inner)
            except Wrong as wrong:
                raise Wrong("." + dotted(key, wrong)) from None
        return got

    return read_table


def _bins(value: Any) -> Bins:
    readers: dict[str, Reader] = {k: _edge for k in ("low", "high")}
    readers |= {"width": _number, "edges": _edges, "quantiles": _whole, "unit": text}
    return Bins(**_table(readers, "{ low = 0, high = 100, width = 10 }")(value))


def _collapse(value: Any) -> Collapse:
    example = '{ below = 500, into = "other" }'
    got = _table({"below": _whole, "into": _raw}, example)(value)
    if len(got) < 2:
        raise Wrong(f"needs both below and into; such as {example}.")
    return Collapse(**got)


def conditions(value: Any) -> tuple[tuple[str, Condition], ...]:
    """The conditions of a structural zero."""
    if not isinstance(value, dict):
        raise Wrong('is not a table; give where = { marital = ["married"], age = { below = 15 } }.')
    return tuple((name, _condition(name, inner)) for name, inner in value.items())


def _condition(name: str, value: Any) -> Condition:
    try:
        if isinstance(value, dict):
            return Condition(**_table({"below": _edge, "above": _edge}, "{ below = 15 }")(value))
        return Condition(_raws(value))
    except Wrong as wrong:
        raise Wrong("." + dotted(name, wrong)) from None


def _tables(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Wrong("is not a table; write one table for each column, such as [columns.sex].")
    return value


def _many(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise Wrong("is not a list of tables; write it with two brackets, such as [[rule]].")
    return value


TOP: dict[str, Reader] = {"title": text, "source": text, "columns": _tables}
TOP |= dict.fromkeys(("joined", "zero", "rule"), _many)
RULE: dict[str, Reader] = {"left": text, "right": text}
ZERO: dict[str, Reader] = {"where": conditions}
JOIN: dict[str, Reader] = {"name": text, "columns": _raws, "keep": _word("public"), "combinations": _rows}
_ANY: dict[str, Reader] = {
    "kind": text,
    "description": text,
    "missing": _flag,
    "missing_values": _raws,
    "other": _raw,
    "determined_by": _raws,
    "map": _rows,
}
_OF_LISTED: dict[str, Reader] = {
    "values": _values,
    "labels": _labels,
    "type": _word("text", "integer"),
    "prefix": _whole,
    "collapse": _collapse,
}
_OF_BINNED: dict[str, Reader] = {
    "bins": _bins,
    "special": _pairs,
    "decode": _word("uniform", "midpoint", "public"),
    "public_values": lambda value: tuple(_edges(v) for v in _list(value)),
}
COLUMN = _ANY | _OF_LISTED | _OF_BINNED | {"unit": _number, "format": text, "yes": _raws, "no": _raws}


def keys_of(kind: str) -> list[str]:
    """The keys that a column of this kind may have."""
    if kind in LISTED:
        return [*_ANY, *_OF_LISTED]
    if kind in BINNED:
        return [*_ANY, *_OF_BINNED, "format" if kind == "date" else "unit"]
    return [*_ANY, "yes", "no"]
