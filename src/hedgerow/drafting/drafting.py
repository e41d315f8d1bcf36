"""Drafts from whatever is given: a table of any format, or a code book of a known kind."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, final

from hedgerow.drafting import from_codebook, from_frictionless, from_labels, from_nist
from hedgerow.drafting.entry import Entry, sketch_entry
from hedgerow.drafting.from_table import draft_table
from hedgerow.drafting.sketch import Draft
from hedgerow.errors import JobError
from hedgerow.public.files.sources import open_source


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
    entries: tuple[Entry, ...]
    rows_per_person: int = 0


def draft(public: str, codebook: str | None = None) -> Draft:
    """The draft of a schema from a public table or a code book, or from a table with its code book.

    Raises:
        JobError: a file is absent, or is neither a table nor a code book that we know.
        TableMismatch: the table cannot be read, is too short, or has nothing to publish.
    """
    book = read_codebook(Path(public)) if _is_file(public) else None
    if book is None:
        return _from_table(public, codebook)
    if codebook is not None:
        raise JobError(
            f"{public} is a code book itself ({book.shape}), and so cannot take another. Give a public table "
            f"with --codebook, or {public} alone. No confidential row was read and nothing was spent."
        )
    kept = Draft(_origin(public, "code book", book.shape), _source(public), tuple(map(sketch_entry, book.entries)))
    if not kept.kept:
        raise JobError(
            f"The code book {public} names columns but no values or ranges, so nothing can be drafted from it. "
            "Add values to it, or draft from a public table. No confidential row was read and nothing was spent."
        )
    return _with_people(kept, book)


def read_codebook(path: Path) -> CodeBook | None:
    """The code book in a file; None when it is a table.

    Raises:
        JobError: the file is JSON but no code book that we know.
    """
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        if not from_codebook.is_codebook(from_codebook.header_of(path)):
            return None
        return CodeBook("CSV of column, value, label", from_codebook.from_codebook(path))
    return _from_json(path) if path.suffix.lower() == ".json" else None


def _from_table(public: str, codebook: str | None) -> Draft:
    source = open_source(public)
    entries: tuple[Entry, ...] = ()
    facts: list[tuple[str, str]] = []
    book = None
    if codebook is not None:
        book = read_codebook(Path(codebook)) if _is_file(codebook) else None
        if book is None:
            raise JobError(_unknown(codebook))
        entries = book.entries
        facts = [*_origin(codebook, "code book", book.shape)]
    elif _is_file(public) and from_labels.has_labels(Path(public)):
        entries = from_labels.from_labels(Path(public))
        facts = [("labels", "those inside the file")]
    drawn, rows = draft_table(source, entries)
    held = f"{rows:,} rows, {len(source.columns)} columns"
    origin = (*_origin(public, "table", held), *facts)
    drawn = replace(drawn, origin=origin, source=_source(public))
    return _with_people(drawn, book) if book else drawn


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
        raise JobError(_unknown(str(path)))
    found = _of_shape(book, path)
    if found is None:
        raise JobError(_unknown(str(path)))
    return found


def _of_shape(book: Mapping[str, Any], path: Path) -> CodeBook | None:
    try:
        if from_frictionless.is_frictionless(book):
            return CodeBook("Frictionless schema", from_frictionless.from_frictionless(book, path))
        if from_nist.is_parameters(book):
            people = from_nist.records_per_person(book)
            return CodeBook("NIST parameters", from_nist.from_parameters(book), people)
        if from_nist.is_dictionary(book):
            return CodeBook("data dictionary", from_nist.from_dictionary(book))
        if from_nist.is_domain(book):
            return CodeBook("domain sizes", from_nist.from_domain(book))
    except (AttributeError, KeyError, TypeError):  # the right outline, but something else inside
        return None
    return None


def _unknown(name: str) -> str:
    return (
        f"{name} is no code book that I know. I read: a CSV with the header column,value,label; a Frictionless "
        "table schema or datapackage.json; a NIST parameters.json or data dictionary; a domain.json. "
        "Or give a public table (CSV, Parquet, Arrow, Stata, SPSS, SAS). "
        "No confidential row was read and nothing was spent."
    )


def _with_people(drawn: Draft, book: CodeBook) -> Draft:
    if not book.rows_per_person:
        return drawn
    said = f"at most {book.rows_per_person} of one person: rows_per_person = {book.rows_per_person} in the job"
    return replace(drawn, origin=(*drawn.origin, ("records", said)))


def _origin(name: str, what: str, held: str) -> tuple[tuple[str, str], ...]:
    facts = [(what, f"{Path(name).name} ({held})")]
    if _is_file(name):
        facts.append(("sha256", _hash(Path(name))))
    return tuple(facts)


def _source(name: str) -> str:
    said = f"drafted from {Path(name).name}"
    return f"{said}, sha256 {_hash(Path(name))[:16]}" if _is_file(name) else said


def _hash(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _is_file(name: str) -> bool:
    return Path(name).is_file()
