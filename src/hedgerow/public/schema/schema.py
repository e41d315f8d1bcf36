"""The public description of a table: its columns, their values, and what may not occur.

A schema is written down before anybody looks at the confidential table.  It comes from a code book, or
from a public relative of the table; never from the confidential rows themselves.  From it follow the
codes of every value and the number of cells of every question, before anything is counted.

    >>> schema = Schema.loads('''
    ... [columns.sex]
    ... kind = "categorical"
    ... values = ["F", "M"]
    ... [columns.age]
    ... kind = "integer"
    ... bins = { low = 16, high = 90, width = 1 }
    ... ''')
    >>> schema.attributes, schema.size(["sex", "age"]), schema.cell_labels("sex")
    (('sex', 'age'), 150, ('F', 'M'))
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import NOTHING, JobError, SchemaError, TableMismatch
from hedgerow.public.aggregates import expanded
from hedgerow.public.coding import Coding, records
from hedgerow.public.files import Source
from hedgerow.public.frames import open_public
from hedgerow.public.schema import file as schema_file
from hedgerow.public.schema import resolve
from hedgerow.public.schema.check import nearest, problems
from hedgerow.public.schema.column import MOST_OUTSIDE, Column
from hedgerow.public.schema.fit import TableFit
from hedgerow.public.schema.structure import Declaration, Reasons

_SHOWN = 8
"""How many columns a one-line description names."""


@final
@dataclass(frozen=True, repr=False)
class Schema(Declaration):
    """The columns of a table, in file order, and what is known of them together.

    Attributes:
        columns: every column of the file that is described.
        joined: columns that are measured as one.
        zeros: combinations that no record may have.
        rules: pairs of columns of which the left is at most the right.
        title: what the table is, for people.
        source: where the schema comes from, for people.
        reasons: of a draft, why it says what it says; no part of what the schema declares.
    """

    reasons: Reasons | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if wrong := problems(self):
            raise SchemaError("\n".join(p.text for p in wrong))

    @classmethod
    def draft(cls, public: Any, codebook: Any = None, count: str = "") -> "Schema":
        """A first version to read and to change, from what is PUBLIC; it says its ``reasons``.

        Never draft from the confidential table: its labels, its range and its gaps would be published unpaid.

        Args:
            public: a frame (pandas, Polars, PyArrow), or the path of a public table of any format or of a code book.
            codebook: the path of a code book with labels for the table.
            count: of a table of counts, the column that says how many records a line stands for; it is left out.

        Raises:
            JobError: it is no frame, or a file is absent, or is neither a table nor a code book that we know.
            TableMismatch: the table cannot be read, is too short, or has nothing to publish.
        """
        from hedgerow.public.schema.drafting.draft import draft

        made = draft(public, codebook, count)
        return cls._of(made.declaration, made.reasons)

    @classmethod
    def load(cls, path: Any) -> "Schema":
        """The schema in a file, given by its path."""
        if not isinstance(path, str | Path):
            raise SchemaError(
                f"A schema is loaded from the path of a file, not from a {type(path).__name__}. To make one from a "
                f"public frame, type Schema.draft(frame). {NOTHING}"
            )
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as wrong:
            why = wrong.strerror if isinstance(wrong, OSError) else "it is not UTF-8 text"
            raise SchemaError(
                f"Cannot read the schema {path}: {why}. Draft one with: hedgerow schema init PUBLIC --out {path}\n"
                f"{NOTHING}"
            ) from None
        return cls.loads(text, str(path))

    @classmethod
    def loads(cls, text: str, name: str = "schema.toml") -> "Schema":
        """The schema in a text; ``name`` is what messages call it."""
        return cls._of(schema_file.read(text, name))

    def dumps(self, *, reasons: bool = False) -> str:
        """The text of a schema file, which reads back to this schema; of a draft, with its reasons as comments."""
        return schema_file.write(self, self.reasons if reasons else None)

    def save(self, path: str | Path) -> None:
        """Writes the schema file; of a draft, with its reasons as comments."""
        try:
            Path(path).write_text(self.dumps(reasons=True), encoding="utf-8", newline="\n")
        except OSError as wrong:
            raise JobError(
                f"Cannot write {path}: {wrong.strerror}. Give a place that can be written. {NOTHING}"
            ) from None

    def __repr__(self) -> str:
        cells = [f"{c.name} ({_cells(c)})" for c in self.columns]
        more = f", and {len(cells) - _SHOWN} more" if len(cells) > _SHOWN else ""
        return f"Schema({len(cells)} columns: {', '.join(cells[:_SHOWN])}{more})"

    def _repr_html_(self) -> str:
        """The columns with their kinds and cells, and what they are or why they were drafted so, for a notebook."""
        reasons = {r.name: r for r in self.reasons.columns} if self.reasons else {}
        about = {c.name: (c.description, *(reasons[c.name].notes if c.name in reasons else ())) for c in self.columns}
        rows = [(c.name, str(c.kind), _cells(c), " ".join(filter(None, about[c.name]))) for c in self.columns]
        rows += [(r.name, "left out", "", r.left_out) for r in reasons.values() if r.left_out]
        cells = ("".join(f"<td>{escape(x)}</td>" for x in row) for row in rows)
        head = f"{escape(self.title or 'Schema')}: {len(self.columns)} columns, {len(self.attributes)} to measure"
        names = "<tr><th>column</th><th>kind</th><th>cells</th><th></th></tr>"
        return f"<p>{head}</p><table>{names}{''.join(f'<tr>{c}</tr>' for c in cells)}</table>"

    @cached_property
    def unresolved(self) -> tuple[str, ...]:
        """What must still be taken from a public table, in words."""
        wishes = [f"{word} of column {c.name!r}" for c in self.columns for word in c.unresolved]
        wishes += [f"the combinations of {j.name!r}" for j in self.joined if j.combinations is None]
        return tuple(wishes)

    @property
    def is_resolved(self) -> bool:
        """Whether the schema stands on its own, without a public table."""
        return not self.unresolved

    def resolved(self, public: pl.DataFrame) -> "Schema":
        """The same schema with all that it takes from the public table written out."""
        return self if self.is_resolved else Schema._of(resolve.resolve(self, public))

    def completed(self, public: Source, given: Collection[str] = (), count: str = "") -> "Schema":
        """The schema as a job with this PUBLIC table uses it: resolved, with public values to pick within bins.

        But for the columns ``given`` row by row, and those that say how their values are picked.  ``count`` names the
        column that says how many records a line stands for; lines are written out only where a wish needs records.
        """
        if count and self.unresolved:
            return self.completed(expanded(public, count), given)
        wanting = [c for c in self.columns if c.decode is None and c.bins is not None and c.name not in given]
        wanted = self.columns if self.unresolved else wanting
        names = [c.name for c in wanted if c.name in public.columns]
        if not (batches := list(public.batches([*names, *([count] if count else [])])) if names else []):
            return self if self.is_resolved else self.resolved(pl.DataFrame())
        frame = pl.concat(batches, how="vertical_relaxed")
        many = records(frame[count]) if count else None
        return replace(self, **vars(resolve.with_public_values(self.resolved(frame), frame, given, many)))

    def referring(self, public: Source, names: Sequence[str], terms: Sequence[str] = ()) -> "Schema":
        """The same schema; the reference of each of ``names`` is its most frequent listed value in a PUBLIC table.

        But for values that are asked for by a term, as F is by ``sex[F]``: they are compared with another.
        """
        listed = {c.name: c for c in self.columns if c.name in names and c.name in public.columns}
        counts = {name: np.zeros(c.size, np.int64) for name, c in listed.items()}
        for batch in public.batches(list(listed)) if listed else ():
            for name, c in listed.items():
                counts[name] += np.bincount(c.coded.encode(batch[name]), minlength=c.size)
        for name, c in listed.items():
            asked = [
                {f"{name}[{v}]", f"{name}[{label}]"} & set(terms) for v, label in zip(c.values, c.labels, strict=True)
            ]
            for code in [i for i, found in enumerate(asked) if found] if not all(asked) else ():
                counts[name][code] = -1
        often = {n: c.values[int(counts[n][: len(c.values)].argmax())] for n, c in listed.items() if counts[n].any()}
        columns = tuple(replace(c, reference=often.get(c.name, c.reference)) for c in self.columns)
        return replace(self, columns=columns) if often else self

    def check(self, table: Any, *, target: bool = False, outside: float = MOST_OUTSIDE) -> TableFit:
        """How a PUBLIC table fits: what it holds that the schema does not know, where that is counted, and how much.

        It ``holds`` when no column has more than the share ``outside`` of the rows outside it, or the share that the
        schema allows the column.

        Args:
            table: a frame (pandas, Polars, PyArrow), or the path of a table of any format.
            target: whether it is a target, which may lack the columns it is to be given.
            outside: the share of rows that may stand outside a column.
        """
        source = open_public(table)
        have = [c.name for c in self.columns if c.name in source.columns]
        if not have:
            raise TableMismatch(
                f"{source.name} has no column of the schema. It has: {', '.join(source.columns[:12])}. {NOTHING}"
            )
        settled = self if self.is_resolved else self.resolved(pl.concat(source.batches(have), how="vertical_relaxed"))
        return TableFit.of(settled, source, limit=outside, target=target)

    @cached_property
    def coding(self) -> Coding:
        """The rules that turn values into codes."""
        self._must_be_resolved()
        columns = {c.name: c for c in self.columns}
        joined = tuple(j.coded([columns[n] for n in j.columns]) for j in self.joined)
        return Coding(tuple(c.coded for c in self.columns), joined)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The coded columns that cover a whole record once: joined ones stand for their parts."""
        joins = {part: j.name for j in self.joined for part in j.columns}
        free = (joins.get(c.name, c.name) for c in self.columns if not c.determined_by)
        return tuple(dict.fromkeys(free))

    def column(self, name: str) -> Column:
        """The column of that name."""
        for c in self.columns:
            if c.name == name:
                return c
        raise SchemaError(f"There is no column {name!r}; {nearest(name, (c.name for c in self.columns))}")

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """How many codes each of ``names`` has."""
        return self.coding.shape(names)

    def size(self, names: Iterable[str]) -> int:
        """How many cells the cross of ``names`` has: known before anything is counted."""
        return self.coding.cells(names)

    def cell_labels(self, name: str) -> tuple[str, ...]:
        """A label for people for every code of a column or join."""
        self._must_be_resolved()
        for join in self.joined:
            if join.name == name:
                return join.cell_labels([self.column(n) for n in join.columns])
        return self.column(name).cell_labels

    @staticmethod
    def _of(parts: Declaration, reasons: Reasons | None = None) -> "Schema":
        return Schema(**vars(parts), reasons=reasons)

    def _must_be_resolved(self) -> None:
        if self.unresolved:
            raise SchemaError(
                "The schema still takes from a public table: " + ", ".join(self.unresolved) + ".\n"
                "Name the public table in the job, or call schema.resolved(public). Nothing was read or spent."
            )


def _cells(column: Column) -> str:
    """How many cells a column has; unknown while a public table decides it."""
    return f"{column.size:,}" if column.size_known else "?"
