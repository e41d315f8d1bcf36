"""The labels inside a Stata, SPSS or SAS file: of its columns, of their values, of what is missing."""

from pathlib import Path
from typing import Any

from hedgerow.drafting.entry import Entry

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


def from_labels(path: Path) -> tuple[Entry, ...]:
    """The entries of the columns that the file describes or labels. Reads its header only."""
    import pyreadstat

    try:
        reader = getattr(pyreadstat, READERS[path.suffix.lower()])
        own = {"user_missing": True} if path.suffix.lower() in _DECLARE_MISSING else {}
        meta = reader(str(path), metadataonly=True, **own)[1]
    except Exception:  # a damaged file is refused, with a full message, by whoever reads its rows
        return ()
    return tuple(
        Entry(
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
