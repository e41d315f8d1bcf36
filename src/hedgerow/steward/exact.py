"""The confidential table as the steward sees it, and each intended use judged on it, exactly. For the steward only.

Nothing here is protected by any noise.  The release cannot import this room, and nothing in it writes into a release.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import JobError, TableMismatch
from hedgerow.figures.words import aligned, beside, percent, small
from hedgerow.job import JobValues
from hedgerow.public import CodedTable, Floats, Schema, open_source, typed_as
from hedgerow.steward.inside import InsideOnly, in_fixed_words
from hedgerow.uses import AbstractUse, Verdict, like_sample

_NOTE = "exact: the confidential table itself; not protected"


def exact_table(table: Any, schema: Schema) -> InsideOnly[CodedTable]:
    """The confidential ``table``, a path or a frame. Costs no budget, because nothing of it may leave.

    All rows of the file are in it, also those beyond ``rows_per_person`` that the gate did not count: the steward
    wants to know how close the release is to the table, not to the part of it that was paid for.
    """
    source = open_source(table)
    described = {c.name: c for c in schema.columns if c.name in source.columns}
    if not described:
        raise TableMismatch("The confidential table has none of the schema's columns. Only its header was read.")
    batches = list(source.batches(list(source.columns)))
    if not batches:
        raise TableMismatch("The confidential table has no rows to compare with. Nothing was spent.")
    frame = pl.concat(batches, how="vertical_relaxed")
    typed = frame.with_columns(typed_as(column, frame[name]) for name, column in described.items())
    return InsideOnly(CodedTable(schema, typed, "confidential"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExactUse:
    """One use as it came out. It never leaves an ``InsideOnly``: all but ``forecast`` and ``made`` is confidential.

    Attributes:
        verdict: the exact error and whether it keeps the tolerance.
        forecast: what the release says was expected; None when it says nothing.
        names: what the cells or groups are called that are judged.
        true: the figures of the confidential table.
        errors: their standard errors, where they are estimates; else empty.
        made: the figures of the synthetic copies, a row per copy.
        lines: for a figure over time, the line each is on and its time; else empty.
        times: what the times are called.
    """

    verdict: Verdict
    forecast: Verdict | None
    names: tuple[str, ...]
    true: Floats
    errors: Floats
    made: Floats
    lines: tuple[tuple[str, int], ...] = ()
    times: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "ExactUse(hidden)"


def exact_uses(job: JobValues, release: Path, rng: np.random.Generator) -> InsideOnly[tuple[ExactUse, ...]]:
    """Every use of ``job``, judged on the confidential table and the copies in ``release``."""
    if not job.uses:
        raise JobError(
            "The job names no intended use, so there is nothing to judge. Add a [[use]]. Nothing was spent."
        )
    table = exact_table(job.confidential.table, Schema.load(release / "schema.toml"))
    return in_fixed_words(lambda: table.map(lambda confidential: judge_uses(job, release, confidential, rng)))


def judge_uses(
    job: JobValues, release: Path, confidential: CodedTable, rng: np.random.Generator
) -> tuple[ExactUse, ...]:
    """The same for a confidential table that is already read; for what stays inside an ``InsideOnly`` only."""
    _, copies = _release(release)
    forecasts = {v.use: v for v in _forecasts(release)}
    generators = rng.spawn(len(job.uses))
    return tuple(
        _exact(u, confidential, copies, forecasts.get(u), r) for u, r in zip(job.uses, generators, strict=True)
    )


def _exact(
    use: AbstractUse,
    truth: CodedTable,
    copies: tuple[CodedTable, ...],
    forecast: Verdict | None,
    rng: np.random.Generator,
) -> ExactUse:
    true, made = use.figures(truth), [use.figures(c) for c in copies]
    judged = [use.error(m, true) for m in made]
    error = float(np.mean([j.error for j in judged]))
    spread = use.half_sample_error(truth, true, rng)
    kept = [j.sign_kept for j in judged]
    known = np.isfinite(error)
    verdict = Verdict(
        use,
        error if known else None,
        like_sample(error, spread) if known else None,
        _NOTE if known else f"no cell or group reaches {use.least_rows:,} rows",
        sign_kept=None if kept[0] is None else all(kept),
    )
    places = np.flatnonzero(np.isfinite(true.values) & np.isfinite(judged[0].parts))
    lines = use.over_time(truth.schema, places)
    return ExactUse(
        verdict,
        forecast,
        use.labels(truth.schema, places),
        true.values[places],
        true.errors[places] if len(true.errors) else true.errors,
        np.array([use.scaled(m, true)[places] for m in made]),
        lines,
        use.time_labels(truth.schema) if lines else (),
    )


def _release(folder: Path) -> tuple[Schema, tuple[CodedTable, ...]]:
    schema = Schema.load(folder / "schema.toml")
    if (folder / "counts.csv").exists():
        return schema, (CodedTable.of_counts(schema, pl.read_csv(folder / "counts.csv", infer_schema=False)),)
    found = sorted(folder.glob("records*.parquet"), key=lambda p: (len(p.name), p.name))
    if not found:
        raise JobError(f"{folder} holds no synthetic records. Run the job first: hedgerow run JOB.toml")
    return schema, tuple(CodedTable(schema, pl.read_parquet(p)) for p in found)


def _forecasts(folder: Path) -> tuple[Verdict, ...]:
    """What the release itself says of its uses."""
    try:
        data: dict[str, Any] = json.loads((folder / "datapackage.json").read_text("utf-8"))
        return tuple(Verdict.from_json(u) for u in data["hedgerow"]["uses"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()


def use_lines(found: Sequence[ExactUse]) -> list[str]:
    """The table in letters."""
    head = ("intended use", "tolerance", "foretold", "exact", "like a", "")
    rows = [
        (r["name"], r["tolerance"], r["foretold"], r["error"], f"{r['like']} sample", _loud(r))
        for r in map(use_row, found)
    ]
    return aligned(head, rows, left=(0, 5))


def _loud(row: dict[str, str]) -> str:
    return row["word"].upper() if row["kind"] == "missed" else row["word"]


def use_row(u: ExactUse) -> dict[str, str]:
    """One use as words."""
    v, show = u.verdict, percent if u.verdict.use.as_share else small
    word, kind = {True: ("met", "met"), False: ("missed", "missed"), None: ("not judged", "open")}[v.met]
    return {
        "name": v.use.name,
        "what": v.use.what,
        "tolerance": show(v.use.tolerance),
        "foretold": "-" if u.forecast is None else _band(u.forecast),
        "error": beside(v.error, v.use.tolerance, share=v.use.as_share),
        "like": percent(v.like_sample),
        "word": "sign lost" if v.sign_kept is False else word,
        "kind": kind,
    }


def _band(v: Verdict) -> str:
    low, error, high = (beside(x, v.use.tolerance, share=v.use.as_share) for x in (v.low, v.error, v.high))
    return error if v.low is None else f"{low} to {high}"
