"""What a bundle is made of: public inputs, noisy answers, what was computed from them alone; and its table files.

Counts stand in ``counts.csv`` (a column per label column, and ``count``), with their intervals in
``counts.parquet``, with one column per label of the last column in ``counts-wide``, and summed in ``margins``;
further copies in ``counts-2``, ``counts-3``, ...
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import HedgerowError, JobError
from hedgerow.inference import Estimate as Estimate
from hedgerow.inference import EstimateTable
from hedgerow.job import ForeignRecipe, JobValues, read_published
from hedgerow.public import (
    PIECE,
    CodedTable,
    Marginal,
    RecordFile,
    Schema,
    Statement,
    Table,
    coding_of,
    first_schema,
    first_table,
    for_spreadsheets,
    law_of,
    people_schema,
    people_table,
    pieces,
    whole,
    write_pieces,
)
from hedgerow.release.measurements import Answers
from hedgerow.stand_in import Rehearsal
from hedgerow.uses import AbstractUse as AbstractUse
from hedgerow.uses import Verdict

FORMATS = ("csv", "dta", "sav", "arrow", "xpt", "xlsx")
"""The formats of records besides Parquet, which is always written."""

FIGURES = ("count", "standard_error", "low", "high")
"""The columns of a table of counts that are no labels."""

COUNTS = re.compile(r"(counts(-wide|-[1-9][0-9]*)?|margins)\.(csv|parquet)")
"""Every file that a table of counts may have."""
_WIDEST = 1000
_MOST_CELLS = 2_000_000
_LITERAL = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")  # a text in TOML: it may hold quotes of the other kind
_PASSWORDS = (
    (re.compile(r"(://[^/\s:@\"']*):[^@/\s\"']+@"), r"\1:***@"),
    (re.compile(r"([?&][^&=#\s\"']*pass[^&=#\s\"']*=)[^&#\s\"']+", re.IGNORECASE), r"\1***"),  # sslpassword, too
)
_WITH_QUOTES = [(re.compile(p.pattern.replace("\\\"'", ""), p.flags), hidden) for p, hidden in _PASSWORDS]


@dataclass(frozen=True, kw_only=True, eq=False)
class Contents:
    """Everything a bundle says. Each of its files is a function of these, of nothing else, and of no clock.

    Attributes:
        schema: the resolved schema.
        statement: the promise and the events.
        answers: the noisy answers, each with the position of its request among the events.
        job: the text of the job file; passwords in addresses are left out of what is published.
        records: the synthetic copies, in memory or in files, which are looked at a piece at a time.
        counts: a table of synthetic counts: a column per label column, ``count``, its interval where there is one.
        copies: further copies of ``counts``, in the same form.
        margins: the margins of ``counts``, in the same form.
        verdicts: how each intended use is expected to fare.
        estimates: the figures of intended uses with their intervals, or why there is none.
        findings: what the answers told of the public table, in sentences.
        given: of records that attach columns to a target: the target's own columns, and in how many rows of each the
            value was replaced because the schema does not allow it; none of whole records.
        rehearsal: the job played on its public table at several epsilons, when that was done.
        formats: the formats of the records besides Parquet.
        software: the libraries that drew the records, with their versions.
        title: what the release is called.
    """

    schema: Schema
    statement: Statement
    answers: Answers
    job: str
    records: tuple[Table, ...] = ()
    counts: pl.DataFrame | None = None
    copies: tuple[pl.DataFrame, ...] = ()
    margins: pl.DataFrame | None = None
    verdicts: tuple[Verdict, ...] = ()
    estimates: EstimateTable = EstimateTable()
    findings: tuple[str, ...] = ()
    given: Mapping[str, int] = field(default_factory=dict)
    rehearsal: Rehearsal | None = None
    formats: tuple[str, ...] = ()
    software: Mapping[str, str] = field(default_factory=dict)
    title: str

    def __post_init__(self) -> None:
        if unknown := [f for f in self.formats if f not in FORMATS]:
            raise JobError(
                f"Records cannot be written as {', '.join(unknown)}. Choose among {', '.join(FORMATS)}; "
                "Parquet is always written.\nNothing was written."
            )
        if not self.records and self.counts is None:
            raise JobError("There is nothing to release: neither records nor counts. Nothing was written.")
        object.__setattr__(self, "formats", tuple(f for f in FORMATS if f in self.formats))
        object.__setattr__(self, "job", without_passwords(self.job))
        object.__setattr__(self, "verdicts", tuple(_finite(v) for v in self.verdicts))
        object.__setattr__(self, "title", self.title.strip() or self.statement.table)

    @cached_property
    def counted_schema(self) -> Schema:
        """The columns of what was counted: those of the table, facts about people, or first records."""
        facts, time = self.statement.facts, self.statement.careers
        if time:
            return first_schema(self.schema, time)
        return people_schema(self.schema, facts) if facts else self.schema

    @cached_property
    def counted(self) -> tuple[CodedTable, ...]:
        """The synthetic copies with a row for each person; none unless people were counted."""
        s, tables = self.statement, (CodedTable(self.schema, whole(r)) for r in self.records)
        if s.careers:
            return tuple(first_table(t, self.schema, s.careers, s.guarantee.person) for t in tables)
        if not s.facts:
            return ()
        coding = coding_of(self.schema, s.facts)
        return tuple(people_table(t, self.counted_schema, coding, s.guarantee.person)[0] for t in tables)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label columns of the counts."""
        return () if self.counts is None else label_columns(self.counts)

    @property
    def drawn(self) -> bool:
        """Whether the counts were drawn by the gate itself, from urns."""
        return any(s.verb == "draw" for s in self.statement.spends)

    @property
    def asked(self) -> dict[str, Any]:
        """What the job file says, table by table; nothing where it is no TOML."""
        try:
            return tomllib.loads(self.job)
        except tomllib.TOMLDecodeError:
            return {}

    @cached_property
    def published(self) -> JobValues | None:
        """The job with its recipe; None where it cannot be read."""
        try:
            return read_published(self.job, Path("job.toml"), self.schema)
        except HedgerowError:
            return None

    @property
    def foreign(self) -> bool:
        """Whether the recipe is not one of ours."""
        return self.published is not None and isinstance(self.published.recipe, ForeignRecipe)

    @property
    def leans_on_public(self) -> bool:
        """Whether what is published depends on the public table, so that drawing it again takes that table."""
        used = self.published is None or self.published.recipe.draws_from_public
        return used and any(i.role == "public" for i in self.statement.public_inputs)

    @property
    def for_spreadsheets(self) -> bool:
        """Whether the job asks for CSV files that a spreadsheet opens without taking a cell for a formula."""
        part = self.asked.get("job")
        return isinstance(part, dict) and part.get("csv") == "spreadsheet"

    @cached_property
    def tallies(self) -> tuple[Mapping[tuple[str, ...], npt.NDArray[np.int64]], ...]:
        """Of each copy of records the counts of every column and of every measured table, from one reading of it."""
        return tuple(self._tally(copy) for copy in self.records)

    def _tally(self, copy: Table) -> Mapping[tuple[str, ...], npt.NDArray[np.int64]]:
        schema, here = self.schema, set(copy.columns)
        asked = [m.question.columns for _, m in self.answers if law_of(m.noise).added]
        ones = [(n,) for n in dict.fromkeys((*schema.attributes, *(c.name for c in schema.columns)))]
        every = [t for t in dict.fromkeys([*ones, *asked]) if t and set(schema.coding.needs(t)) <= here]
        every = [t for t in every if schema.size(t) <= _MOST_CELLS]
        plan = CountPlan([Marginal(t) for t in every], schema.coding, min(len(copy), PIECE))
        total = np.zeros(plan.size, np.int64)
        for piece in pieces(copy) if every else ():
            total += plan.count(CodedTable(schema, piece).codes(plan.columns))
        return dict(zip(every, plan.split(total), strict=True))

    @property
    def record_names(self) -> tuple[str, ...]:
        """The names of the record files, without their suffix: one per copy."""
        if len(self.records) <= 1:
            return ("records",) * len(self.records)
        return tuple(f"records-{i}" for i in range(1, len(self.records) + 1))


def without_passwords(job: str) -> str:
    """The text of a job as it may be published: passwords in addresses are left out."""

    def within(found: re.Match[str]) -> str:
        text, mark = found[0][1:-1], found[0][0]
        for password, hidden in _WITH_QUOTES:
            text = password.sub(hidden, text)
        return f"{mark}{text}{mark}"

    job = _LITERAL.sub(within, job)
    for password, hidden in _PASSWORDS:  # of comments
        job = password.sub(hidden, job)
    return job


def label_columns(counts: pl.DataFrame) -> tuple[str, ...]:
    """The columns of a table of counts that are labels."""
    return tuple(c for c in counts.columns if c not in FIGURES)


def _finite(verdict: Verdict) -> Verdict:
    """The verdict with figures that can be written down; what is not a number is not known."""
    known = {n: getattr(verdict, n) for n in ("error", "like_sample", "low", "high")}
    kept: dict[str, Any] = {n: x if x is not None and isfinite(x) else None for n, x in known.items()}
    return replace(verdict, **kept, groups=tuple(g for g in verdict.groups if isfinite(g[1])))


def write_tables(folder: Path, contents: Contents) -> tuple[str, ...]:
    """Write records and counts into ``folder``; gives the names of the files."""
    tables: dict[str, Table] = {
        f"{stem}.{suffix}": table
        for stem, table in zip(contents.record_names, contents.records, strict=True)
        for suffix in ("parquet", *contents.formats)
    }
    tables |= count_tables(contents.counts, contents.margins, contents.copies)
    for name, table in tables.items():
        write_one(table, folder / name, contents)
    return tuple(tables)


def write_one(table: Table, path: Path, contents: Contents) -> None:
    """Write one table, as the suffix of its file and the job say; records in a file are there already."""
    if isinstance(table, RecordFile) and path.suffix == table.path.suffix:
        table.put(path)
        return
    safe = contents.for_spreadsheets and path.suffix == ".csv"
    rows = pieces(table)
    write_pieces(map(for_spreadsheets, rows) if safe else rows, path, contents.schema)


def count_tables(
    counts: pl.DataFrame | None, margins: pl.DataFrame | None, copies: Sequence[pl.DataFrame] = ()
) -> dict[str, pl.DataFrame]:
    """The files of a table of counts, by name."""
    if counts is None:
        return {}
    made: dict[str, pl.DataFrame] = {}
    for stem, frame in (("counts", counts), *((f"counts-{i}", c) for i, c in enumerate(copies, 2))):
        made |= {f"{stem}.csv": frame.select(*label_columns(frame), "count"), f"{stem}.parquet": frame}
    if (wide := wide_form(counts)) is not None:
        made |= {"counts-wide.csv": wide, "counts-wide.parquet": wide}
    if margins is not None:
        made |= {"margins.csv": margins, "margins.parquet": margins}
    return made


def records_of_counts(counts: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """A table of counts as so many rows of each cell, labels turned back into values."""
    names = list(label_columns(counts))
    texts = {n: dict(zip(schema.cell_labels(n), schema.column(n).cell_texts, strict=True)) for n in names}
    plain = counts.with_columns(
        pl.col("count").cast(pl.Int64).clip(0), *(pl.col(n).cast(pl.String).replace(texts[n]) for n in names)
    )
    return plain.select(pl.col(n).repeat_by("count").list.explode() for n in names).drop_nulls()


def wide_form(counts: pl.DataFrame) -> pl.DataFrame | None:
    """One column per label of the last label column, and their sum; None if that would be too wide to read."""
    *rows, last = label_columns(counts)
    labels = counts[last].unique(maintain_order=True).cast(pl.String).to_list()
    whole = prod(counts[c].n_unique() for c in (*rows, last)) == len(counts)  # every combination, once
    if not whole or len(labels) > _WIDEST or set(labels) & set(rows):
        return None
    block = counts["count"].to_numpy().reshape(-1, len(labels))
    total = "total"
    while total in (*rows, *labels):
        total += "_"
    made = [counts[r].gather_every(len(labels)) for r in rows]
    made += [pl.Series(label, block[:, i]) for i, label in enumerate(labels)]
    return pl.DataFrame([*made, pl.Series(total, block.sum(axis=1))])
