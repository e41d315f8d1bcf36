"""Code books of NIST and of the marginal-based methods: three shapes of JSON.

* ``parameters.json`` of the temporal map challenge: ``schema`` with a type and values, or least and most.
* The data dictionary of the Diverse Community Excerpts: a description and named values for each column.
* A domain file: for each column how many codes it has, counted from 0.
"""

from collections.abc import Mapping
from typing import Any

from hedgerow.drafting.entry import Entry, Type


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


def from_parameters(book: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The entries of a ``parameters.json``.

    >>> from_parameters({"schema": {"AGE": {"dtype": "uint8", "min": 0, "max": 135}}})[0].high
    135
    """
    return tuple(
        Entry(
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


def from_dictionary(book: Mapping[str, Any]) -> tuple[Entry, ...]:
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
        out.append(Entry(name, described, kind, pairs, low=low, high=high))
    return tuple(out)


def from_domain(book: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The entries of a domain file."""
    return tuple(Entry(n, type="integer", low=0, high=size - 1) for n, size in book.items())


def _type(dtype: str) -> Type:
    if dtype.startswith(("int", "uint")):
        return "integer"
    return "real" if dtype.startswith("float") else "date" if dtype.startswith("date") else "text"
