"""Code books as files: a CSV with a row for each value, JSON of several kinds, and labels inside statistical files.

The header of a CSV is ``column,value,label`` (variable, code, meaning and such do as well), optionally with
``description``.  A row without a value describes the column; a value like ``16-90`` or ``0 to 99`` gives a range of
numbers.  Stata, SPSS and SAS files label their columns, their values, and what is missing.
"""

import csv
import json
import re
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from hedgerow.errors import JobError
from hedgerow.public.schema.drafting.codebook import CodeBook, CodeBookEntry
from hedgerow.public.schema.drafting.codebook_json import read_json

_COLUMN = ("column", "variable", "var", "field", "name", "varname", "variable name", "column name", "field name")
_VALUE = ("value", "code", "values", "codes", "level")
_LABEL = ("label", "meaning", "labels", "value label", "definition", "desc")
_ABOUT = ("description", "column label", "variable label", "title")
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.\.?|:)\s*(-?\d+(?:\.\d+)?)")


def read_codebook(path: Path) -> CodeBook | None:
    """The code book in a file; None when it is a table.

    Raises:
        JobError: the file is JSON but no code book that we know.
    """
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        if not is_codebook(_header(path)):
            return None
        return CodeBook("CSV of column, value, label", from_csv(path))
    return _from_json(path) if path.suffix.lower() == ".json" else None


def _from_json(path: Path) -> CodeBook:
    try:
        book: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError) as wrong:
        place = f" (line {wrong.lineno}: {wrong.msg})" if isinstance(wrong, json.JSONDecodeError) else ""
        raise JobError(
            f"{path} is not JSON{place}, so no code book can be read from it. Correct the file, or draft from "
            "a public table. No confidential row was read and nothing was spent."
        ) from None
    if not isinstance(book, dict):
        raise JobError(unknown(str(path)))
    found = read_json(book, path)
    if found is None:
        raise JobError(unknown(str(path)))
    return found


def unknown(name: str) -> str:
    """That a file is no code book, and which ones are."""
    return (
        f"{name} is no code book that I know. I read: a CSV with the header column,value,label; a Frictionless "
        "table schema or datapackage.json; a NIST parameters.json or data dictionary; a domain.json. "
        "Or give a public table (CSV, Parquet, Arrow, Stata, SPSS, SAS). "
        "No confidential row was read and nothing was spent."
    )


def is_codebook(header: Iterable[str]) -> bool:
    """Whether a CSV with this header is a code book rather than a table.

    >>> is_codebook(["Variable", "Code", "Meaning"]), is_codebook(["name", "age", "value"])
    (True, False)
    """
    known = {_plain(h) for h in header}
    has = [bool(known & {*words}) for words in (_COLUMN, _VALUE, (*_LABEL, *_ABOUT))]
    return all(has) and known <= {*_COLUMN, *_VALUE, *_LABEL, *_ABOUT, "kind", "type", "notes", "note", "missing"}


def _header(path: Path) -> tuple[str, ...]:
    """The header of a CSV; empty when it cannot be read as text."""
    rows = _rows(path, most=1)
    return tuple(rows[0]) if rows else ()


def from_csv(path: Path) -> tuple[CodeBookEntry, ...]:
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


def _entry(name: str, pairs: Mapping[str, str], about: str) -> CodeBookEntry:
    ranges = [m for v in pairs if (m := _RANGE.fullmatch(v)) and float(m[1]) < float(m[2])]
    if len(ranges) != 1:  # several ranges are bands: values of their own
        return CodeBookEntry(name, about, pairs=tuple(pairs.items()))
    low, high = float(ranges[0][1]), float(ranges[0][2])
    rest = tuple((v, w) for v, w in pairs.items() if v != ranges[0][0])
    return CodeBookEntry(name, about or pairs[ranges[0][0]], pairs=rest, low=low, high=high)


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


READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


_DECLARE_MISSING = (".dta", ".sav", ".zsav")


def has_labels(path: Path) -> bool:
    """Whether files of this kind carry labels."""
    return path.suffix.lower() in READERS


def from_labels(path: Path) -> tuple[CodeBookEntry, ...]:
    """The entries of the columns that the file describes or labels. Reads its header only."""
    import pyreadstat

    try:
        reader = getattr(pyreadstat, READERS[path.suffix.lower()])
        own = {"user_missing": True} if path.suffix.lower() in _DECLARE_MISSING else {}
        meta = reader(str(path), metadataonly=True, **own)[1]
    except Exception:  # a damaged file is refused, with a full message, by whoever reads its rows
        return ()
    return tuple(
        CodeBookEntry(
            name,
            (meta.column_names_to_labels or {}).get(name) or "",
            pairs=tuple((_text(v), str(w)) for v, w in meta.variable_value_labels.get(name, {}).items()),
            missing_values=_missing(meta, name),
        )
        for name in meta.column_names
    )


def _missing(meta: Any, name: str) -> tuple[str, ...]:
    """The single values that the file declares missing."""
    ranges = (meta.missing_ranges or {}).get(name, [])
    return tuple(_text(r["lo"]) for r in ranges if r.get("lo") == r.get("hi"))


def _text(value: object) -> str:
    """A labelled value as the coding writes it: 1.0 is 1."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
