"""``datapackage.json``: the release as a Frictionless data package, which many tools can open.

Beside the tables it keeps, under ``hedgerow``, how each intended use was judged, so that the other pages
of a bundle can be written again from its files.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from hedgerow.errors import VerifyFailed
from hedgerow.public import LISTED, Column
from hedgerow.release.contents import Contents, count_tables
from hedgerow.release.manifest import Facts
from hedgerow.release.words import made_sentence
from hedgerow.stand_in import Rehearsal
from hedgerow.uses import Verdict

NAME = "datapackage.json"
FORMAT = "hedgerow-bundle/1"
_MOST_VALUES = 1000
_TYPES = {pl.Int64: "integer", pl.Float64: "number", pl.Date: "date", pl.Boolean: "boolean", pl.UInt32: "integer"}
_MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
    "dta": "application/x-stata-dta",
    "sav": "application/x-spss-sav",
    "xpt": "application/x-sas-xport",
}


def dumps(contents: Contents, tables: Mapping[str, Facts]) -> str:
    """The text of the data package of these table files."""
    data = {
        "name": _slug(contents.title),
        "title": contents.title,
        "description": made_sentence(contents),
        "version": contents.statement.version or "0",
        "keywords": ["synthetic data", "differential privacy"],
        "resources": [_resource(contents, name, facts) for name, facts in sorted(tables.items())],
        "hedgerow": {
            "format": FORMAT,
            "uses": [v.to_json() for v in contents.verdicts],
            **({"rehearsal": contents.rehearsal.to_json()} if contents.rehearsal else {}),
        },
    }
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def loads(text: str) -> tuple[str, tuple[Verdict, ...], Rehearsal | None]:
    """The title, the verdicts and the rehearsal of a data package that ``dumps`` wrote."""
    try:
        data = json.loads(text)
        if data["hedgerow"]["format"] != FORMAT:
            raise ValueError(FORMAT)
        played = data["hedgerow"].get("rehearsal")
        return (
            str(data["title"]),
            tuple(Verdict.from_json(u) for u in data["hedgerow"]["uses"]),
            None if played is None else Rehearsal.from_json(played),
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise VerifyFailed(f"{NAME} is not one this version can read.") from None


def _resource(contents: Contents, name: str, facts: Facts) -> dict[str, Any]:
    suffix = name.rpartition(".")[2]
    counted = count_tables(contents.counts, contents.margins, contents.copies)
    frame = counted[name] if name in counted else contents.records[0]
    described = {c.name: c for c in contents.schema.columns}
    return {
        "name": _slug(name.replace(".", "-")),
        "path": name,
        "format": suffix,
        "mediatype": _MEDIA[suffix],
        **({"encoding": "utf-8"} if suffix == "csv" else {}),
        "bytes": facts.bytes,
        "hash": f"sha256:{facts.sha256}",
        "schema": {
            "fields": [
                _field(n, type(d), None) if name in counted else _field(n, type(d), described.get(n))
                for n, d in frame.schema.items()
            ],
            "missingValues": [""],
        },
    }


def _field(name: str, dtype: Any, column: Column | None) -> dict[str, Any]:
    kind = _TYPES.get(dtype, "string")
    found: dict[str, Any] = {"name": name, "type": kind}
    if column is None:
        return found
    if column.description:
        found["description"] = column.description
    if kind == "date" and column.format != "%Y-%m-%d":
        found["format"] = column.format
    constraints: dict[str, Any] = {} if column.missing else {"required": True}
    if column.kind in LISTED and column.size <= _MOST_VALUES:
        texts = [t for t in column.cell_texts if t]
        constraints["enum"] = [int(t) for t in texts] if kind == "integer" else texts
        labels = dict(zip(column.cell_texts, column.cell_labels, strict=True))
        found["labels"] = {t: labels[t] for t in texts if labels[t] != t}
    return {k: v for k, v in {**found, "constraints": constraints}.items() if v}


def _slug(text: str) -> str:
    """A name of small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "release"
