"""What lies around the statement in a bundle: the files, the job, the tables and the pages."""

import re
from collections.abc import Set
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow import __version__
from hedgerow.errors import VerifyFailed
from hedgerow.job.file import read_published
from hedgerow.model.tables.count_table import ALL
from hedgerow.public import BINNED, Column, Schema, as_float, open_source, violations, write_table
from hedgerow.release import manifest
from hedgerow.release.bundle_reader import BundleReader
from hedgerow.release.contents import COUNTS, FIGURES, FORMATS, Contents, count_tables, label_columns
from hedgerow.release.pages import RENDERED, pages
from hedgerow.release.words import promise_of, promise_sentence

_TABLE = re.compile(rf"{COUNTS.pattern}|records(-[1-9][0-9]*)?\.(parquet|{'|'.join(FORMATS)})")
_TYPES: tuple[Any, ...] = (pl.Int64, pl.Float64, pl.Date, pl.Boolean, pl.String)
_NEEDED = {"statement.json", "measurements.parquet", "schema.toml", "job.toml", *RENDERED}


def files_are_listed(bundle: BundleReader, needed: Set[str] = _NEEDED, table: re.Pattern[str] = _TABLE) -> str:
    """The folder holds the files of the manifest, with their sizes and hashes: those needed, tables, nothing else."""
    listed = manifest.loads(bundle.text(manifest.NAME))
    there = set(bundle.names) - {manifest.NAME}
    for name in sorted(there | set(listed) | needed):
        if name not in there:
            raise VerifyFailed(f"{name} is missing.")
        if name not in listed:
            raise VerifyFailed(f"{name} is not in the manifest.")
        if name not in needed and not table.fullmatch(name):
            raise VerifyFailed(f"{name} does not belong in a {bundle.kind}.")
        try:
            found = manifest.facts_of(bundle.folder / name)
        except OSError:
            raise VerifyFailed(
                f"{name} is a link, a folder, or cannot be read: only plain files belong here."
            ) from None
        if found != listed[name]:
            raise VerifyFailed(
                f"{name} was changed after it was written: its size or hash is not that of the manifest."
            )
    return f"{len(listed)} files, {sum(f.bytes for f in listed.values()):,} bytes"


def job_agrees(bundle: BundleReader) -> str:
    """The job file asked for the table, the recipe, the unit, the relation and the budget of the statement."""
    statement = bundle.statement
    job = read_published(bundle.text("job.toml"), Path("job.toml"), bundle.schema)
    pairs = {
        "the budget": (job.budget, statement.budget),
        "the unit and relation": (job.guarantee, statement.guarantee),
        "the table's name": (job.table, statement.table),
        "the recipe": (job.stated_recipe, statement.recipe),
    }
    for what, (asked, stated) in pairs.items():
        if asked != stated:
            raise VerifyFailed(f"job.toml and {bundle.statement_name} do not agree on {what}.")
    return f"{statement.guarantee.unit}, {statement.guarantee.relation}, recipe {statement.recipe}"


def tables_fit(bundle: BundleReader) -> str:
    """Every synthetic record, and every label of the counts, is one that the schema allows."""
    schema = bundle.schema
    if not bundle.copies and bundle.counts is None:
        raise VerifyFailed("There are neither records nor counts.")
    cells = _counts_fit(bundle)
    rows = 0
    for name, frame in zip(bundle.copies, bundle.records, strict=True):
        if wrong := outside_schema(schema, frame):
            raise VerifyFailed(f"{name}: {wrong}")
        rows += len(frame)
    copies = {n.removesuffix(".parquet"): f for n, f in zip(bundle.copies, bundle.records, strict=True)}
    for name in bundle.names:
        stem, _, suffix = name.rpartition(".")
        if suffix in FORMATS and not COUNTS.fullmatch(name):
            manifest.facts_of(bundle.folder / name)  # a plain file, before a library opens it by its path
            if stem not in copies or not holds_the_same(schema, copies[stem], bundle.folder / name):
                raise VerifyFailed(f"{name} does not hold the records of its Parquet file.")
    said = f"{rows:,} records in {len(bundle.copies)} cop{'y' if len(bundle.copies) == 1 else 'ies'}"
    return f"{said}; {cells:,} cells of counts" if cells else said


def _counts_fit(bundle: BundleReader) -> int:
    """Counts have the schema's labels, margins are their sums, and every other file says the same."""
    there = [n for n in bundle.names if COUNTS.fullmatch(n)]
    if bundle.counts is None:
        if there:
            raise VerifyFailed(f"{there[0]} stands without counts.parquet.")
        return 0
    _copies_fit(bundle, bundle.counts)
    if bundle.margins is not None and (wrong := margins_outside_counts(bundle.counts, bundle.margins)):
        raise VerifyFailed(f"margins.parquet: {wrong}")
    due = count_tables(bundle.counts, bundle.margins, bundle.further_counts)
    if set(due) != set(there):
        raise VerifyFailed(f"The files of the counts must be {', '.join(due)}.")
    with TemporaryDirectory() as folder:
        for name, frame in due.items():
            write_table(frame, Path(folder) / name, bundle.schema)
            if (Path(folder) / name).read_bytes() != bundle.data(name):
                raise VerifyFailed(f"{name} does not say what counts.parquet and margins.parquet say.")
    return len(bundle.counts)


def _copies_fit(bundle: BundleReader, first: pl.DataFrame) -> None:
    """Every copy has the cells of the first; a drawn one has, cell by cell, the counts that the gate drew."""
    copies = (first, *bundle.further_counts)
    for i, frame in enumerate(copies):
        name = f"counts-{i + 1}.parquet" if i else "counts.parquet"
        if wrong := counts_outside_schema(bundle.schema, frame):
            raise VerifyFailed(f"{name}: {wrong}")
        if not frame.select(label_columns(frame)).equals(first.select(label_columns(first))):
            raise VerifyFailed(f"{name} has other cells than counts.parquet.")
    drawn = [m.counts.tolist() for i, m in bundle.answers if bundle.statement.spends[i].verb == "draw"]
    if drawn and drawn != [frame["count"].to_list() for frame in copies]:
        raise VerifyFailed("The counts are not those that were drawn (measurements.parquet).")


def pages_agree(bundle: BundleReader) -> str:
    """Every page is what this version writes from the other files; of another version, the promise is looked up."""
    contents = bundle.contents
    if contents.statement.version != __version__:
        return _promise_is_there(bundle, contents)
    tables = {n: manifest.facts_of(bundle.folder / n) for n in bundle.names if _TABLE.fullmatch(n)}
    written = pages(contents, tables)
    for name in (*RENDERED, "schema.toml", "job.toml"):
        if bundle.text(name) != written[name]:
            raise VerifyFailed(f"{name} says something else than the statement, answers and records it is made from.")
    stated = [i.sha256 for i in contents.statement.public_inputs if (i.role, i.name) == ("schema", "schema.toml")]
    if stated and stated != [manifest.facts_of(bundle.folder / "schema.toml").sha256]:
        raise VerifyFailed("schema.toml is not the schema that statement.json names.")
    return f"{', '.join(RENDERED)} written again, the same"


def _promise_is_there(bundle: BundleReader, contents: Contents) -> str:
    promise, version = promise_of(contents.statement), contents.statement.version
    said = f"epsilon = {promise.epsilon}, delta = {promise.delta or '0'}"
    if said not in bundle.text("privacy-statement.md") or promise_sentence(promise) not in bundle.text("report.html"):
        raise VerifyFailed(f"The pages, written by version {version}, do not state the promise of statement.json.")
    return f"written by version {version}, not {__version__}: only the promise they state was compared"


def outside_schema(schema: Schema, frame: pl.DataFrame) -> str:
    """The first thing in ``frame`` that the schema does not allow, in a sentence; empty when there is none."""
    names = [c.name for c in schema.columns]
    if frame.columns != names:
        return f"its columns must be {', '.join(names)}, in this order."
    for column in schema.columns:
        if frame[column.name].dtype not in _TYPES:
            return f"the column {column.name} is of a type that no column of a release has."
        if bad := int((~_allowed(column, frame[column.name])).sum()):
            return f"{bad:,} value{'s' * (bad != 1)} of {column.name} are not among those of the schema."
    if bad := int(violations(schema, frame).sum()):
        return f"{bad:,} record{'s' * (bad != 1)} break a structural zero or a rule of the schema."
    return ""


def counts_outside_schema(schema: Schema, counts: pl.DataFrame) -> str:
    """The first thing in a table of counts that the schema does not allow; empty if there is none."""
    names, figures = label_columns(counts), [c for c in counts.columns if c in FIGURES]
    if (
        not names
        or counts.columns != [*names, *figures]
        or figures not in (["count"], list(FIGURES))
        or not set(names) <= {c.name for c in schema.columns}
    ):
        return "its columns must be columns of the schema, then count and, if there is one, its interval."
    if counts["count"].dtype != pl.Int64 or not (counts["count"] >= 0).fill_null(False).all():
        return "it has a count that is not a whole number, 0 or more."
    for column in (schema.column(n) for n in names):
        known = [*column.cell_texts, *column.cell_labels]
        if not counts[column.name].cast(pl.String).fill_null("").unique().is_in(known).all():
            return f"a label of {column.name} is not among those of the schema."
    return ""


def margins_outside_counts(counts: pl.DataFrame, margins: pl.DataFrame) -> str:
    """The first margin that is not the sum of its counts; empty if there is none."""
    names = label_columns(counts)
    if label_columns(margins) != names or margins["count"].dtype != pl.Int64 or margins["count"].has_nulls():
        return "its columns must be those of the counts."
    summed = margins.select((pl.col(n) != ALL).alias(n) for n in names)
    for kept in summed.unique().rows():
        over = [n for n, k in zip(names, kept, strict=True) if k]
        here = margins.filter(pl.all_horizontal(pl.col(n).ne(ALL) == k for n, k in zip(names, kept, strict=True)))
        true = counts.group_by(over).agg(pl.col("count").sum()) if over else counts.select(pl.col("count").sum())
        true = true.with_columns(pl.col(n).cast(pl.String) for n in over)
        met = (
            here.select(*over, "count")
            .sort(over or "count")
            .equals(true.select(*over, "count").sort(over or "count"))
        )
        if not met:
            return f"the margin of {', '.join(over) or 'everything'} is not the sum of its counts."
    return ""


def holds_the_same(schema: Schema, frame: pl.DataFrame, path: Path) -> bool:
    """Whether the table in ``path`` has the records of ``frame``, each value in the same cell of the schema.

    Formats differ in the names and types they know, so columns are matched by place and values by code.
    """
    source, start = open_source(path), 0
    if len(source.columns) != len(schema.columns):
        return False
    for batch in source.batches(source.columns):
        here, there = (
            batch.rename(dict(zip(source.columns, frame.columns, strict=True))),
            frame[start : start + len(batch)],
        )
        if len(here) != len(there):
            return False
        for column in schema.columns:
            if (column.coded.encode(here[column.name]) != column.coded.encode(there[column.name])).any():
                return False
        start += len(batch)
    return start == len(frame)


def _allowed(column: Column, series: pl.Series) -> npt.NDArray[np.bool_]:
    """Whether each value is one that the column's cells decode to."""
    named = [t for t in column.cell_texts[column.bin_count :] if t]
    text = series.cast(pl.String)
    allowed = np.array(text.is_in(named).fill_null(False)) | (np.array(text.is_null()) & column.missing)
    if column.kind not in BINNED:
        return allowed
    number = column.coded.numbers(series)
    inside = (number >= column.cuts[0]) & (number < column.cuts[-1])
    if column.kind == "integer":
        inside &= number == np.floor(number)
    special = [x for x in (as_float(t) for t in named) if x is not None]
    return np.asarray(allowed | inside | np.isin(number, special))
