"""Tables that anyone may see, in the terms of a schema: the public relative, a target, synthetic records.

>>> schema = Schema.loads('[columns.sex]\\nkind = "categorical"\\nvalues = ["F", "M"]\\nother = "?"')
>>> table = PublicTable.read(pl.DataFrame({"sex": ["M", "F", "X"]}), schema)
>>> table.codes(["sex"])["sex"].tolist(), table.outside()
([1, 0, 2], {'sex': 1})
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, final

import polars as pl

from hedgerow.errors import TableMismatch
from hedgerow.public.coding import Codes
from hedgerow.public.files.sources import Source, open_source
from hedgerow.public.fit import ColumnFit, typed_as
from hedgerow.public.schema import Schema, nearest

Role = Literal["public", "target", "synthetic"]


@final
@dataclass(frozen=True, eq=False)
class PublicTable:
    """A table without secrets: whatever is learnt from it costs nothing.

    Attributes:
        schema: what its columns mean; completed from this table where it leaves that to a public one.
        frame: its rows, in the types of the schema where no value is lost by that.
        name: its path, or "frame".
        sha256: of the bytes of its file, or of the frame.
    """

    schema: Schema
    frame: pl.DataFrame
    name: str = "frame"
    sha256: str = ""
    _codes: dict[str, Codes] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, table: Any, schema: Schema, role: Role = "public") -> "PublicTable":
        """A file of any format, a DuckDB table, or a polars, pandas or pyarrow frame.

        A public or synthetic table has all columns of the schema.  A target may lack those that it is to be
        given, and keeps the columns that the schema does not describe.

        Raises:
            TableMismatch: the table lacks columns, or it has no rows.
        """
        source, described = open_source(table), {c.name: c for c in schema.columns}
        wanted = list(source.columns) if role == "target" else list(described)
        if lacking := [n for n in wanted if n not in source.columns]:
            raise TableMismatch(_lacking(source, role, lacking))
        if not (batches := list(source.batches(wanted))):
            raise TableMismatch(
                f"The {role} table {source.name} has no rows. Give another table.\n"
                "No confidential row was read and nothing was spent."
            )
        frame = pl.concat(batches, how="vertical_relaxed")
        typed = frame.with_columns(typed_as(described[n], frame[n]) for n in wanted if n in described)
        settled = schema.resolved(frame) if role == "public" else schema
        return cls(settled, typed, source.name, _fingerprint(table, typed))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.frame.height

    def codes(self, names: Iterable[str]) -> dict[str, Codes]:
        """The code of every row in columns of the schema, plain or joined. Worked out once."""
        names = tuple(names)
        if new := [n for n in names if n not in self._codes]:
            needed = self.schema.coding.needs(new)
            if lacking := [n for n in needed if n not in self.frame.columns]:
                raise TableMismatch(
                    f"The table {self.name} has no column {', '.join(lacking)}, which is needed here.\n"
                    "Give it that column, or take the column out of the schema. Nothing was read or spent."
                )
            self._codes.update(self.schema.coding.encode(self.frame, new))
        return {n: self._codes[n] for n in names}

    def departs(self, name: str) -> bool:
        """Whether a column has a value that the schema does not name, or beyond its outer edges."""
        fit = ColumnFit(name).plus(self.schema.column(name), self.frame[name].unique())  # each value looked at once
        return fit.outside + fit.clamped > 0

    def outside(self) -> dict[str, int]:
        """How many rows of a column have a value that the schema does not name, or beyond its outer edges."""
        return dict(self._outside)

    @cached_property
    def _outside(self) -> dict[str, int]:
        present = [c for c in self.schema.columns if c.name in self.frame.columns]
        fits = [ColumnFit(c.name).plus(c, self.frame[c.name]) for c in present]
        return {f.name: f.outside + f.clamped for f in fits if f.outside + f.clamped}


@dataclass(frozen=True)
class PublicData:
    """What a recipe may use freely.

    Attributes:
        schema: what the columns mean, settled.
        relative: the public relative of the confidential table, if there is one.
        target: the rows that receive private columns, if the job has them.
        assumed_rows: a public guess of the confidential table's number of rows, for plans only.
        wanted: the columns of each table that an intended use is read from.
    """

    schema: Schema
    relative: PublicTable | None = None
    target: PublicTable | None = None
    assumed_rows: int | None = None
    wanted: tuple[tuple[str, ...], ...] = ()


def _lacking(source: Source, role: str, names: list[str]) -> str:
    close = {n: nearest(n, source.columns) for n in names[:5]}
    hints = ", ".join(f"{n!r} ({hint})" if hint.startswith("did") else repr(n) for n, hint in close.items())
    hints += ", ..." if len(names) > 5 else ""
    listed = ", ".join(source.columns[:30]) + (", ..." if len(source.columns) > 30 else "")
    return (
        f"The {role} table {source.name} lacks {len(names)} of the schema's columns: {hints}.\n"
        f"Its columns are: {listed}.\nCorrect the names, or take the columns out of the schema. "
        "No confidential row was read and nothing was spent."
    )


def _fingerprint(table: Any, frame: pl.DataFrame) -> str:
    if isinstance(table, str | Path):
        duck = str(table).startswith("duckdb:")
        with open(str(table)[7:].rpartition("#")[0] if duck else table, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    held = BytesIO()
    frame.write_ipc(held)
    return hashlib.sha256(held.getbuffer()).hexdigest()
