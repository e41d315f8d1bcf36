"""Code books: what they say of a column, and the files they come in.

* A CSV with a row for each value.  Its header is ``column,value,label`` (variable, code, meaning and such do too),
  optionally with ``description``.  A row without a value describes the column; a value like ``16-90`` or ``0 to 99``
  gives a range of numbers.
* A Frictionless Table Schema, or a Data Package with one table.
* ``parameters.json`` of NIST's temporal map challenge: ``schema`` with a type and values, or least and most.
* The data dictionary of the Diverse Community Excerpts: a description and named values for each column.
* A domain file of the marginal-based methods: for each column how many codes it has, counted from 0.
* Stata, SPSS and SAS files, which label their columns, their values, and what is missing.
"""

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any, Literal, final

from hedgerow.errors import NOTHING, JobError
from hedgerow.public.files import STATISTICAL

Type = Literal["", "text", "integer", "real", "date", "yes-no"]
_TYPES: Mapping[str, Type] = {
    "integer": "integer",
    "year": "integer",
    "number": "real",
    "boolean": "yes-no",
    "date": "date",
    "datetime": "date",
}
_COLUMN = ("column", "variable", "var", "field", "name", "varname", "variable name", "column name", "field name")
_VALUE = ("value", "code", "values", "codes", "level")
_LABEL = ("label", "meaning", "labels", "value label", "definition", "desc")
_ABOUT = ("description", "column label", "variable label", "title")
_ROLES: Mapping[str, tuple[str, ...]] = {"column": _COLUMN, "value": _VALUE, "label": _LABEL, "about": _ABOUT}
_FEW_CODES = 50
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.\.?|:)\s*(-?\d+(?:\.\d+)?)")


@final
@dataclass(frozen=True)
class CodeBookEntry:
    """What a code book says of one column.

    Attributes:
        name: the column.
        description: what it is.
        type: what its values are; empty when the book does not say.
        pairs: the values it lists, each with a label (the value itself when it has none).
        low: the smallest number, when it gives a range.
        high: the largest number.
        ordered: whether the order of the values has meaning.
        missing: whether it says that a value may be missing.
        missing_values: the texts that mean missing.
        format: how dates are written.
        yes: the texts that mean yes.
        no: the texts that mean no.
        identifier: whether it names records.
        coded: whether its whole numbers are codes, whatever the name says.
    """

    name: str
    description: str = ""
    type: Type = ""
    pairs: tuple[tuple[str, str], ...] = ()
    low: float | date | None = None
    high: float | date | None = None
    ordered: bool = False
    missing: bool = False
    missing_values: tuple[str, ...] = ()
    format: str = "%Y-%m-%d"
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    identifier: bool = False
    coded: bool = False


@final
@dataclass(frozen=True)
class CodeBook:
    """What a code book holds.

    Attributes:
        shape: what kind of code book it is, in words.
        entries: its columns.
        rows_per_person: the most rows of one person that it allows; 0 when it does not say.
    """

    shape: str
    entries: tuple[CodeBookEntry, ...]
    rows_per_person: int = 0


def read_codebook(path: Path) -> CodeBook | None:
    """The code book in a file; None when it is a table.

    Raises:
        JobError: the file is JSON but no code book that we know.
    """
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        header = next(iter(_rows(path, most=1)), ())
        return CodeBook("CSV of column, value, label", _from_csv(path)) if is_codebook(header) else None
    return _from_json(path) if path.suffix.lower() == ".json" else None


def unknown(name: str) -> str:
    """That a file is no code book, and which ones are."""
    return (
        f"{name} is no code book that I know. I read: a CSV with the header column,value,label; a Frictionless "
        "table schema or datapackage.json; a NIST parameters.json or data dictionary; a domain.json. "
        f"Or give a public table (CSV, Parquet, Arrow, Stata, SPSS, SAS). {NOTHING}"
    )


def is_codebook(header: Iterable[str]) -> bool:
    """Whether a CSV with this header is a code book rather than a table.

    >>> is_codebook(["Variable", "Code", "Meaning"]), is_codebook(["name", "age", "value"])
    (True, False)
    """
    known = {_plain(h) for h in header}
    has = [bool(known & {*words}) for words in (_COLUMN, _VALUE, (*_LABEL, *_ABOUT))]
    return all(has) and known <= {*_COLUMN, *_VALUE, *_LABEL, *_ABOUT, "kind", "type", "notes", "note", "missing"}


def _from_csv(path: Path) -> tuple[CodeBookEntry, ...]:
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
            f"column,value,label. {NOTHING}"
        )
    return tuple(_csv_entry(name, pairs, about.get(name, "")) for name, pairs in found.items())


def _csv_entry(name: str, pairs: Mapping[str, str], about: str) -> CodeBookEntry:
    ranges = [m for v in pairs if (m := _RANGE.fullmatch(v)) and float(m[1]) < float(m[2])]
    if len(ranges) != 1:  # several ranges are bands: values of their own
        return CodeBookEntry(name, about, pairs=tuple(pairs.items()))
    low, high = float(ranges[0][1]), float(ranges[0][2])
    rest = tuple((v, w) for v, w in pairs.items() if v != ranges[0][0])
    fractions: Type = "real" if "." in ranges[0][0].replace("..", "") else ""
    return CodeBookEntry(name, about or pairs[ranges[0][0]], fractions, pairs=rest, low=low, high=high)


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


def _from_json(path: Path) -> CodeBook:
    try:
        book: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as wrong:
        place = f" (line {wrong.lineno}: {wrong.msg})" if isinstance(wrong, json.JSONDecodeError) else ""
        raise JobError(
            f"{path} is not JSON{place}, so no code book can be read from it. Correct the file, or draft from "
            f"a public table. {NOTHING}"
        ) from None
    try:
        found = _of_known_shape(book, path) if isinstance(book, dict) and book else None
    except (AttributeError, KeyError, TypeError):  # the right outline, but something else inside
        found = None
    if found is None:
        raise JobError(unknown(str(path)))
    return found


def _of_known_shape(book: Mapping[str, Any], path: Path) -> CodeBook | None:
    if isinstance(book.get("fields"), list) or isinstance(book.get("resources"), list):
        return CodeBook("Frictionless schema", from_frictionless(book, path))
    schema = book.get("schema")
    if isinstance(schema, dict) and schema and all(isinstance(c, dict) and "dtype" in c for c in schema.values()):
        return CodeBook("NIST parameters", from_parameters(book), _records_per_person(book))
    if all(isinstance(c, dict) and {"description", "values"} & {*c} for c in book.values()):
        return CodeBook("data dictionary", from_dictionary(book))
    if all(type(c) is int and 0 < c <= 100_000 for c in book.values()):
        return CodeBook("domain sizes", tuple(_domain_entry(n, size) for n, size in book.items()))
    return None


def _domain_entry(name: str, size: int) -> CodeBookEntry:
    """A column with codes counted from 0: a list of them while they are few, and a range of whole numbers beyond."""
    if size > _FEW_CODES:
        return CodeBookEntry(name, type="integer", low=0, high=size - 1)
    return CodeBookEntry(name, type="integer", pairs=tuple((str(i), str(i)) for i in range(size)), coded=True)


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
            f"{NOTHING}"
        )
    return tuple(_field(f, gaps, identifier=f["name"] in keys and len(keys) == 1) for f in fields)


def _only_schema(resources: Sequence[Any], path: Path) -> Mapping[str, Any]:
    tables = [r for r in resources if isinstance(r, dict) and isinstance(r.get("schema"), dict)]
    if len(tables) == 1:
        schema: Mapping[str, Any] = tables[0]["schema"]
        return schema
    names = ", ".join(str(t.get("name", "?")) for t in tables) or "none"
    raise JobError(
        f"{path} describes {len(tables)} tables with a schema inside it ({names}), and a draft is made of one. "
        f"Save the schema of the one you want as a JSON file of its own and give that. {NOTHING}"
    )


def _field(field: Mapping[str, Any], gaps: tuple[str, ...], *, identifier: bool) -> CodeBookEntry:
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


def _records_per_person(book: Mapping[str, Any]) -> int:
    """The most records of one person that the challenge's runs allow; 0 when it does not say."""
    runs = book.get("runs")
    found = (
        r.get("max_records_per_individual") for r in (runs if isinstance(runs, list) else ()) if isinstance(r, dict)
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


def _type(dtype: str) -> Type:
    if dtype.startswith(("int", "uint")):
        return "integer"
    return "real" if dtype.startswith("float") else "date" if dtype.startswith("date") else "text"


def from_labels(path: Path) -> tuple[CodeBookEntry, ...]:
    """The entries of the columns that a statistical file describes or labels. Reads its header only."""
    import pyreadstat

    suffix = path.suffix.lower()
    try:
        reader = getattr(pyreadstat, f"read_{STATISTICAL[suffix]}")
        own = {"user_missing": True} if suffix in (".dta", ".sav", ".zsav") else {}
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
