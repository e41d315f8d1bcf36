"""The tables described: ``datapackage.json``, which many tools can open (Frictionless), and the codebook for people.

Beside the tables it keeps, under ``hedgerow``, how each intended use was judged, so that the other pages
of a bundle can be written again from its files.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from hedgerow.errors import VerifyFailed
from hedgerow.figures import percent
from hedgerow.public import LISTED, Column, Condition, Table, Zero, unknown_rule, whole
from hedgerow.release.contents import Contents, Estimate, EstimateTable, count_tables
from hedgerow.release.manifest import Facts
from hedgerow.release.origin import kind_of, made_sentence, origin
from hedgerow.stand_in import Rehearsal
from hedgerow.uses import Verdict

NAME = "datapackage.json"
FORMAT = "hedgerow-bundle/1"
_MOST_VALUES, _MOST_CODEBOOK_ROWS = 1000, 500
_TYPE_WORDS = {
    pl.Int64: "whole number",
    pl.Float64: "number",
    pl.Date: "date",
    pl.Boolean: "yes or no",
    pl.String: "text",
}
_TYPES = {pl.Int64: "integer", pl.Float64: "number", pl.Date: "date", pl.Boolean: "boolean", pl.UInt32: "integer"}
_MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
    "dta": "application/x-stata-dta",
    "sav": "application/x-spss-sav",
    "xpt": "application/x-sas-xport",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
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
            "kind": kind_of(contents),
            **({"given": dict(contents.given)} if contents.given else {}),
            "uses": [v.to_json() for v in contents.verdicts],
            **({"estimates": [e.to_json() for e in contents.estimates]} if contents.estimates else {}),
            **({"findings": list(contents.findings)} if contents.findings else {}),
            **({"software": dict(contents.software)} if contents.software else {}),
            **({"rehearsal": contents.rehearsal.to_json()} if contents.rehearsal else {}),
        },
    }
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def loads(
    text: str,
) -> tuple[
    str, tuple[Verdict, ...], EstimateTable, tuple[str, ...], dict[str, int], Rehearsal | None, dict[str, str]
]:
    """The title, verdicts, estimates, findings, given columns, rehearsal and software that ``dumps`` wrote."""
    try:
        data = json.loads(text)
        if data["hedgerow"]["format"] != FORMAT:
            raise ValueError(FORMAT)
        played = data["hedgerow"].get("rehearsal")
        return (
            str(data["title"]),
            tuple(Verdict.from_json(u) for u in data["hedgerow"]["uses"]),
            EstimateTable(Estimate.from_json(e) for e in data["hedgerow"].get("estimates", ())),
            tuple(map(str, data["hedgerow"].get("findings", ()))),
            {str(column): int(rows) for column, rows in data["hedgerow"].get("given", {}).items()},
            None if played is None else Rehearsal.from_json(played),
            {str(k): str(v) for k, v in data["hedgerow"].get("software", {}).items()},
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise VerifyFailed(f"{NAME} is not one this version can read.") from None


def _resource(contents: Contents, name: str, facts: Facts) -> dict[str, Any]:
    suffix = name.rpartition(".")[2]
    counted = count_tables(contents.counts, contents.margins, contents.copies)
    frame: Table = counted[name] if name in counted else contents.records[0]
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
                _field(n, type(d), None)
                if name in counted
                else {**_field(n, type(d), described.get(n)), "hedgerow:origin": origin(contents, n)}
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


def codebook(contents: Contents) -> dict[str, Any]:
    """The names that the codebook's template uses beside those all pages share."""
    schema = contents.schema
    return {
        "columns": (*_persons(contents), *(_column(contents, c) for c in schema.columns)),
        "shares": bool(contents.records),
        "rows_name": "rows" if contents.given else "synthetic records",
        "joined": tuple((j.name, " x ".join(j.columns)) for j in schema.joined),
        "zeros": tuple(_zero(z) for z in schema.zeros),
        "rules": tuple(str(r) for r in schema.rules),
        "schema_source": f"Where the schema comes from: {schema.source}." if schema.source else "",
    }


def _persons(contents: Contents) -> tuple[dict[str, Any], ...]:
    """The column that says whose each row is, where records have it: the schema does not describe it."""
    first, name = contents.records[0] if contents.records else None, contents.statement.guarantee.person
    if first is None or name not in first.columns:
        return ()
    plain = {
        "kind": "names people",
        "cells": f"{whole(first, [name])[name].n_unique():,}",
        "rows": (),
        "more": "",
        "about": (),
    }
    said = {"origin": origin(contents, name), "type": _TYPE_WORDS.get(type(first.schema[name]), "text")}
    return ({"name": name, "description": "Whose row it is", "value_name": "value", **plain, **said},)


def _column(contents: Contents, column: Column) -> dict[str, Any]:
    first = contents.records[0] if contents.records else None
    counts = np.zeros(column.size, np.int64)
    drawn = first is not None and column.name in first.columns
    if first is not None and drawn:
        counts = contents.tallies[0].get((column.name,), counts)
    shown = zip(column.cell_texts[:_MOST_CODEBOOK_ROWS], column.cell_labels, counts.tolist(), strict=False)
    total = max(int(counts.sum()), 1)

    def share(of_all: float) -> str:
        return percent(of_all) if of_all else "0"

    return {
        "name": column.name,
        "kind": column.kind,
        "origin": origin(contents, column.name),
        "type": _TYPE_WORDS.get(type(first.schema[column.name]), "text") if first is not None and drawn else "-",
        "cells": f"{column.size:,}",
        "description": column.description,
        "value_name": "begins at" if column.bin_count else "value",
        "about": _about(column, drawn=drawn and column.name not in contents.given),
        "rows": tuple(
            {
                "code": i,
                "value": text or "(empty)",
                "label": label,
                "count": f"{n:,}",
                "share": percent(n / total) if n else "0",
            }
            for i, (text, label, n) in enumerate(shown)
        ),
        "more": f"{column.size - _MOST_CODEBOOK_ROWS:,}" if column.size > _MOST_CODEBOOK_ROWS else "",
    }


def _about(column: Column, *, drawn: bool) -> tuple[tuple[str, str], ...]:
    """What must be known to read the column, where it is not the usual."""
    said = []
    if column.bin_count and drawn:
        said.append(("within a cell", _within(column)))
    if column.top is not None:
        said.append(("top code", f"{column.text_of(column.top)}, a cell of its own"))
    if column.unit is not None:
        said.append(("multiples of", str(column.unit)))
    if column.prefix:
        said.append(("cut to", f"the first {column.prefix} characters"))
    if column.missing:
        said.append(("missing", "is a value of its own"))
    if column.missing_values:
        said.append(("read as missing", ", ".join(repr(v) for v in column.missing_values)))
    if column.places_unknown:
        own = ", a cell of its own" if column.knows_unknown else ""
        said.append(("what the schema does not know", f"was {unknown_rule(column)}{own}"))
    if column.bin_count:
        outer = "in the outer bins" if column.beyond == "outer" else "as what the schema does not know"
        said.append(("beyond the bins", f"was counted {outer}"))
    if column.determined_by:
        said.append(("determined by", ", ".join(column.determined_by) + " (looked up, not measured)"))
    return tuple(said)


def _within(column: Column) -> str:
    """How a number or date is picked within its cell."""
    if column.decode == "midpoint":
        return "the middle value"
    heaps = ", ".join(f"{share:.1%} multiples of {step:,}" for step, share in column.round_to)
    rest = "every value equally likely" + f", but for {heaps}" * bool(heaps)
    if column.decode != "public":
        return rest
    few = sum(not values for values in column.public_values or ())
    return "values of the public table" + (
        f"; in {few:,} of {column.bin_count:,} cells, where it has few or none, {rest}" if few else ""
    )


def _zero(zero: Zero) -> str:
    return " and ".join(f"{name} {_condition(c)}" for name, c in zero.where)


def _condition(c: Condition) -> str:
    if c.values:
        return "is " + " or ".join(v or "missing" for v in c.values)
    said = [f"below {c.below}"] if c.below is not None else []
    return " and ".join([*said, *([f"above {c.above}"] if c.above is not None else [])])
