"""A code book as a CSV: one row for each column and value, with its label.

The header is ``column,value,label`` (variable, code, meaning and such do as well), optionally with
``description``.  A row without a value describes the column; a value like ``16-90`` or ``0 to 99`` gives a
range of numbers.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path

from hedgerow.drafting.entry import Entry
from hedgerow.errors import JobError

_COLUMN = ("column", "variable", "var", "field", "name", "varname", "variable name", "column name", "field name")
_VALUE = ("value", "code", "values", "codes", "level")
_LABEL = ("label", "meaning", "labels", "value label", "definition", "desc")
_ABOUT = ("description", "column label", "variable label", "title")
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.\.?|:)\s*(-?\d+(?:\.\d+)?)")


def is_codebook(header: Iterable[str]) -> bool:
    """Whether a CSV with this header is a code book rather than a table.

    >>> is_codebook(["Variable", "Code", "Meaning"]), is_codebook(["name", "age", "value"])
    (True, False)
    """
    known = {_plain(h) for h in header}
    has = [bool(known & {*words}) for words in (_COLUMN, _VALUE, (*_LABEL, *_ABOUT))]
    return all(has) and known <= {*_COLUMN, *_VALUE, *_LABEL, *_ABOUT, "kind", "type", "notes", "note", "missing"}


def header_of(path: Path) -> tuple[str, ...]:
    """The header of a CSV; empty when it cannot be read as text."""
    rows = _rows(path, most=1)
    return tuple(rows[0]) if rows else ()


def from_codebook(path: Path) -> tuple[Entry, ...]:
    """The entries of a code book, in the order in which its columns first appear."""
    rows = _rows(path)
    places = {_plain(h): i for i, h in enumerate(rows[0])}
    where = {role: next((places[w] for w in words if w in places), -1) for role, words in _ROLES.items()}
    found: dict[str, dict[str, str]] = {}
    about: dict[str, str] = {}
    for row in rows[1:]:
        cell = {role: row[i].strip() if 0 <= i < len(row) else "" for role, i in where.items()}
        if not cell["column"]:
            continue
        pairs = found.setdefault(cell["column"], {})
        if cell["about"] or not cell["value"]:
            about.setdefault(cell["column"], cell["about"] or cell["label"])
        if cell["value"]:
            pairs.setdefault(cell["value"], cell["label"] or cell["value"])
    if not any(found.values()):
        raise JobError(
            f"The code book {path} lists no value. Give it one row for each column and value, under the header "
            "column,value,label. No confidential row was read and nothing was spent."
        )
    return tuple(_entry(name, pairs, about.get(name, "")) for name, pairs in found.items())


_ROLES: Mapping[str, tuple[str, ...]] = {"column": _COLUMN, "value": _VALUE, "label": _LABEL, "about": _ABOUT}


def _entry(name: str, pairs: Mapping[str, str], about: str) -> Entry:
    ranges = [m for v in pairs if (m := _RANGE.fullmatch(v)) and float(m[1]) < float(m[2])]
    if len(ranges) != 1:  # several ranges are bands: values of their own
        return Entry(name, about, pairs=tuple(pairs.items()))
    low, high = float(ranges[0][1]), float(ranges[0][2])
    rest = tuple((v, w) for v, w in pairs.items() if v != ranges[0][0])
    return Entry(name, about or pairs[ranges[0][0]], pairs=rest, low=low, high=high)


def _rows(path: Path, most: int = 0) -> list[list[str]]:
    with path.open("rb") as file:
        raw = file.readline() if most == 1 else file.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    return [row for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter) if any(row)]


def _plain(header: str) -> str:
    return " ".join(re.split(r"[\s_]+", header.strip().lower()))
