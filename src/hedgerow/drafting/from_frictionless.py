"""Frictionless code books: a Table Schema, or a Data Package with one table."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from hedgerow.drafting.entry import Entry, Type
from hedgerow.errors import JobError

_TYPES: Mapping[str, Type] = {
    "string": "text",
    "integer": "integer",
    "year": "integer",
    "number": "real",
    "boolean": "yes-no",
    "date": "date",
    "datetime": "date",
}


def is_frictionless(book: Mapping[str, Any]) -> bool:
    """Whether this is a Table Schema (``fields``) or a Data Package (``resources``)."""
    return isinstance(book.get("fields"), list) or isinstance(book.get("resources"), list)


def from_frictionless(book: Mapping[str, Any], path: Path) -> tuple[Entry, ...]:
    """The entries of a Table Schema, or of the only table of a Data Package.

    >>> grade = {"name": "grade", "type": "integer", "constraints": {"minimum": 1, "maximum": 15, "required": True}}
    >>> from_frictionless({"fields": [grade]}, Path("schema.json"))[0].high
    15.0
    """
    schema = book if "fields" in book else _only_schema(book["resources"], path)
    keys = schema.get("primaryKey", [])
    keys = [keys] if isinstance(keys, str) else keys
    gaps = tuple(_value(m) for m in schema.get("missingValues", [""]))
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(f, dict) and "name" in f for f in fields):
        raise JobError(
            f"{path} is no Table Schema: every one of its fields needs a name, such as "
            '{"name": "age", "type": "integer"}. Correct it, or draft from a public table. '
            "No confidential row was read and nothing was spent."
        )
    return tuple(_entry(f, gaps, identifier=f["name"] in keys and len(keys) == 1) for f in fields)


def _only_schema(resources: Sequence[Any], path: Path) -> Mapping[str, Any]:
    tables = [r for r in resources if isinstance(r, dict) and isinstance(r.get("schema"), dict)]
    if len(tables) == 1:
        schema: Mapping[str, Any] = tables[0]["schema"]
        return schema
    names = ", ".join(str(t.get("name", "?")) for t in tables) or "none"
    raise JobError(
        f"{path} describes {len(tables)} tables with a schema inside it ({names}), and a draft is made of one. "
        "Save the schema of the one you want as a JSON file of its own and give that. "
        "No confidential row was read and nothing was spent."
    )


def _entry(field: Mapping[str, Any], gaps: tuple[str, ...], *, identifier: bool) -> Entry:
    rules = field.get("constraints") or {}
    kind = _TYPES.get(str(field.get("type", "string")), "text")
    listed = field.get("categories") or rules.get("enum") or ()
    shape = str(field.get("format", "default"))
    required = bool(rules.get("required")) or identifier
    return Entry(
        str(field["name"]),
        " ".join(str(field[k]) for k in ("title", "description") if field.get(k)),
        kind,
        tuple((_value(v), _label(v)) for v in listed),
        low=_bound(rules.get("minimum"), kind),
        high=_bound(rules.get("maximum"), kind),
        ordered=bool(field.get("categoriesOrdered")),
        missing=not required,
        missing_values=() if required else tuple(g for g in gaps if g.strip()),
        format=shape if shape.startswith("%") else "%Y-%m-%d",
        yes=tuple(str(v) for v in field.get("trueValues", ())),
        no=tuple(str(v) for v in field.get("falseValues", ())),
        identifier=identifier,
    )


def _value(item: Any) -> str:
    return str(item["value"]) if isinstance(item, dict) and "value" in item else str(item)


def _label(item: Any) -> str:
    return str(item.get("label", _value(item))) if isinstance(item, dict) else str(item)


def _bound(limit: Any, kind: Type) -> float | date | None:
    """A limit as a number or a date; None when there is none or it cannot be read."""
    try:
        if limit is None:
            return None
        return date.fromisoformat(str(limit)[:10]) if kind == "date" else float(limit)
    except ValueError:
        return None
