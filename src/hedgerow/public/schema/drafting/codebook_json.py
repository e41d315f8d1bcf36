"""Code books in JSON: Frictionless, NIST, and those of the marginal-based methods.

* A Frictionless Table Schema, or a Data Package with one table.
* ``parameters.json`` of NIST's temporal map challenge: ``schema`` with a type and values, or least and most.
* The data dictionary of the Diverse Community Excerpts: a description and named values for each column.
* A domain file: for each column how many codes it has, counted from 0.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from hedgerow.errors import JobError
from hedgerow.public.schema.drafting.codebook import CodeBook, CodeBookEntry, Type

_TYPES: Mapping[str, Type] = {
    "string": "text",
    "integer": "integer",
    "year": "integer",
    "number": "real",
    "boolean": "yes-no",
    "date": "date",
    "datetime": "date",
}


def read_json(book: Mapping[str, Any], path: Path) -> CodeBook | None:
    """The code book of one of the shapes that we know; None when it has none of them."""
    try:
        if is_frictionless(book):
            return CodeBook("Frictionless schema", from_frictionless(book, path))
        if is_parameters(book):
            people = records_per_person(book)
            return CodeBook("NIST parameters", from_parameters(book), people)
        if is_dictionary(book):
            return CodeBook("data dictionary", from_dictionary(book))
        if is_domain(book):
            return CodeBook("domain sizes", from_domain(book))
    except (AttributeError, KeyError, TypeError):  # the right outline, but something else inside
        return None
    return None


def is_frictionless(book: Mapping[str, Any]) -> bool:
    """Whether this is a Table Schema (``fields``) or a Data Package (``resources``)."""
    return isinstance(book.get("fields"), list) or isinstance(book.get("resources"), list)


def from_frictionless(book: Mapping[str, Any], path: Path) -> tuple[CodeBookEntry, ...]:
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


def _entry(field: Mapping[str, Any], gaps: tuple[str, ...], *, identifier: bool) -> CodeBookEntry:
    rules = field.get("constraints") or {}
    kind = _TYPES.get(str(field.get("type", "string")), "text")
    listed = field.get("categories") or rules.get("enum") or ()
    shape = str(field.get("format", "default"))
    required = bool(rules.get("required")) or identifier
    return CodeBookEntry(
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


def is_parameters(book: Mapping[str, Any]) -> bool:
    """Whether this is a ``parameters.json``."""
    schema = book.get("schema")
    return (
        isinstance(schema, dict)
        and bool(schema)
        and all(isinstance(c, dict) and "dtype" in c for c in schema.values())
    )


def is_dictionary(book: Mapping[str, Any]) -> bool:
    """Whether this is a data dictionary."""
    return bool(book) and all(isinstance(c, dict) and {"description", "values"} & {*c} for c in book.values())


def is_domain(book: Mapping[str, Any]) -> bool:
    """Whether this is a domain file."""
    return bool(book) and all(type(c) is int and 0 < c <= 100_000 for c in book.values())


def from_parameters(book: Mapping[str, Any]) -> tuple[CodeBookEntry, ...]:
    """The entries of a ``parameters.json``.

    >>> from_parameters({"schema": {"AGE": {"dtype": "uint8", "min": 0, "max": 135}}})[0].high
    135
    """
    return tuple(
        CodeBookEntry(
            name,
            type=_type(str(column["dtype"])),
            pairs=tuple((str(v), str(v)) for v in column.get("values", ())),
            low=column.get("min"),
            high=column.get("max"),
        )
        for name, column in book["schema"].items()
    )


def records_per_person(book: Mapping[str, Any]) -> int:
    """The most records of one person that the challenge's runs allow; 0 when it does not say."""
    runs = book.get("runs")
    found = (
        [r.get("max_records_per_individual") for r in runs if isinstance(r, dict)] if isinstance(runs, list) else []
    )
    return max((n for n in found if isinstance(n, int)), default=0)


def from_dictionary(book: Mapping[str, Any]) -> tuple[CodeBookEntry, ...]:
    """The entries of a data dictionary.

    >>> book = {"NPF": {"description": "Persons in family", "values": {"N": "not a family", "min": 2, "max": 20}}}
    >>> from_dictionary(book)[0].pairs
    (('N', 'not a family'),)
    """
    out = []
    for name, column in book.items():
        given = column.get("values", {})
        values: dict[str, Any] = given if isinstance(given, dict) else {str(v): str(v) for v in given}
        low, high = values.get("min"), values.get("max")
        pairs = tuple((str(v), str(w)) for v, w in values.items() if v not in ("min", "max"))
        whole = isinstance(low, int) and isinstance(high, int)
        kind: Type = "" if low is None else "integer" if whole else "real"
        described = str(column.get("description", ""))
        out.append(CodeBookEntry(name, described, kind, pairs, low=low, high=high))
    return tuple(out)


def from_domain(book: Mapping[str, Any]) -> tuple[CodeBookEntry, ...]:
    """The entries of a domain file."""
    return tuple(CodeBookEntry(n, type="integer", low=0, high=size - 1) for n, size in book.items())


def _type(dtype: str) -> Type:
    if dtype.startswith(("int", "uint")):
        return "integer"
    return "real" if dtype.startswith("float") else "date" if dtype.startswith("date") else "text"
