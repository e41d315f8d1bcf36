"""What a bundle knows of any figure: its answers with their trees, its file, its relative; for estimates."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from hedgerow.errors import HedgerowError, VerifyFailed
from hedgerow.inference import CountedPeople, Estimate, EstimateTable, Evidence, estimates, refused
from hedgerow.public import (
    CodedTable,
    Measurement,
    PublicData,
    Schema,
    Statement,
    Table,
    coding_of,
    decode,
    people_schema,
    whole,
)
from hedgerow.release.bundle import NotChecked
from hedgerow.release.contents import AbstractUse, Contents
from hedgerow.release.redraw import ForeignRecipe, Redrawing, __version__, software

LEVEL = 0.95
"""Of the intervals in a report."""
_MOST_GROUPS, _MOST_CELLS, _MOST_SHOWN, _MOST_ROWS, _MOST_RECORDS = 60, 20_000, 40, 100_000, 1_000_000
"""Figures of a use that are worked out one by one, cells of a table, those that are kept, public rows used and
records looked at for a report: ``estimate`` has no such bounds."""
_FAULTS = (Exception, pl.exceptions.PanicException)  # the latter is no Exception


def evidence_of(again: Redrawing) -> Evidence:
    """The evidence of a bundle.

    Where questions have trees, the recipe is fitted again to its answers: a tree is on record by its hash.  That
    takes the public table, and the target, of the run; without them such answers are left aside.
    """
    bundle = again.bundle
    answers = tuple(m for _, m in bundle.answers)
    if not bundle.statement.careers and any(m.question.tree for m in answers):
        if again.lacks("public") or again.lacks("target"):
            answers = tuple(m for m in answers if m.question.tree is None)
        else:
            _ = again.fitted
            answers = tuple(again.answers.heard)
    records = _rows(bundle.schema, bundle.counts, bundle.records)
    found = _evidence(bundle.statement, bundle.schema, answers, records, again.data)
    return replace(found, declared=again.published.uses)


def estimates_of(again: Redrawing, uses: Iterable[AbstractUse], *, level: float, sampling: bool) -> EstimateTable:
    """The estimates of uses; where a table of the run is not at hand, each says so, and which option names it."""
    evidence, schema = evidence_of(again), again.bundle.schema
    found = [e for use in uses for e in estimates(evidence, use.on(schema), level=level, sampling=sampling)]
    lacking = [(role, name) for role in ("public", "target") if (name := again.lacks(role))]
    if not lacking:
        return EstimateTable(found)
    tables = " and ".join(f"the {role} table of the run, {name}," for role, name in lacking)
    options = " ".join(f"--{role} FILE" for role, _ in lacking)
    python = ", ".join(f"{role}=..." for role, _ in lacking)
    why = f"{tables} {'is' if len(lacking) == 1 else 'are'} not in it: add {options} (in Python: {python})"
    also = f" Worked out without {tables} which the report had: add {options} (in Python: {python})."
    return EstimateTable(
        refused(e.name, e.group, e.level, why, e.in_file) if e.estimate is None else replace(e, basis=e.basis + also)
        for e in found
    )


def with_estimates(
    contents: Contents, heard: Sequence[Measurement], data: PublicData, uses: Iterable[AbstractUse]
) -> Contents:
    """The contents of a bundle with every intended use estimated from what its run has ``heard``.

    A figure that cannot be told is kept with the reason.  The run is paid for: nothing that goes wrong here stops it.
    """
    wanted = tuple(uses)
    if not wanted:
        return contents
    rows = _row_count(contents.counts, contents.records)
    if rows > _MOST_RECORDS:
        left = EstimateTable(_elsewhere(use, f"The file has {rows:,} rows") for use in wanted)
        return replace(contents, estimates=left)
    try:
        evidence = replace(_evidence_of_run(contents, tuple(heard), data), declared=wanted)
    except _FAULTS as wrong:
        return replace(contents, estimates=EstimateTable(_fault(use, wrong) for use in wanted))
    return replace(contents, estimates=EstimateTable(e for use in wanted for e in _safely(evidence, use)))


def estimates_follow(again: Redrawing) -> str:
    """The figures of intended uses that the pages show are worked out of the answers and the file, and no others."""
    bundle = again.bundle
    told, job = bundle.contents.estimates, again.published
    if not told and (isinstance(job.recipe, ForeignRecipe) or not job.uses):
        return "there are none"
    if isinstance(job.recipe, ForeignRecipe):
        raise NotChecked(
            f"Not worked out again: {job.recipe.path} is not one of Hedgerow's recipes, and its code is not here. In "
            "Python the Release that its run returned can check them."
        )
    lacking = [(role, name) for role in ("public", "target") if (name := again.lacks(role))]
    if lacking:
        tables, options = (" and ".join(said) for said in zip(*((n, f"--{r} FILE") for r, n in lacking), strict=True))
        raise NotChecked(
            f"Not worked out again: that takes {tables}, which the run used. Until then they may be any figures. "
            f"Add {options} (in Python: {', '.join(f'{r}=...' for r, _ in lacking)})."
        )
    _ = again.fitted
    uses = [use.on(bundle.schema) for use in job.uses]
    due = with_estimates(bundle.contents, again.answers.heard, again.data, uses).estimates
    if [e.to_json() for e in due] == [e.to_json() for e in told]:
        return f"{len(told)} worked out again, the same"
    if bundle.statement.version == __version__ and bundle.software == software():
        raise VerifyFailed("The figures of intended uses are not those that the answers, the file and the job give.")
    raise NotChecked(
        "Worked out again, figures of intended uses are others. Another version of Hedgerow, or other libraries, "
        "made them: check them with those, or do not rely on them."
    )


def _evidence_of_run(contents: Contents, heard: tuple[Measurement, ...], data: PublicData) -> Evidence:
    relative = data.relative
    if relative is not None and relative.rows > _MOST_ROWS:
        some = np.linspace(0, relative.rows - 1, _MOST_ROWS).astype(np.int64)
        data = replace(data, relative=relative.take(some))
    records = _rows(contents.schema, contents.counts, contents.records)
    return _evidence(contents.statement, contents.schema, heard, records, data)


def _safely(evidence: Evidence, use: AbstractUse) -> Sequence[Estimate]:
    """The estimates of one use as they will be read from the bundle, or why there are none."""
    try:
        return tuple(_kept(e) for e in _of_use(evidence, use))
    except _FAULTS as wrong:
        return (_fault(use, wrong),)


def _kept(one: Estimate) -> Estimate:
    """An estimate as it is read from a bundle; refused where it has a figure that a bundle cannot keep."""
    try:
        return Estimate.from_json(json.loads(json.dumps(one.to_json(), allow_nan=False)))
    except ValueError:
        return refused(one.name, one.group, one.level, "its figures are not finite")


def _fault(use: AbstractUse, wrong: BaseException) -> Estimate:
    """No estimate of a use, with the reason; of a fault that was not foreseen its kind is enough."""
    if isinstance(wrong, HedgerowError):
        why = " ".join(str(wrong).split()).rstrip(".")
    else:
        why = f"working out its interval failed ({type(wrong).__name__}). That is a fault of Hedgerow: report it"
    return refused(use.name, "", LEVEL, why)


def _elsewhere(use: AbstractUse, said: str) -> Estimate:
    """No estimate in the report of a use for which there is too much to look at."""
    more = f"{said}: too many for the report. hedgerow estimate works the figures out."
    return Estimate(use.name, "", None, None, None, LEVEL, {}, more)


def _row_count(counts: pl.DataFrame | None, records: Sequence[Table]) -> int:
    return len(records[0]) if counts is None else int(counts["count"].clip(0).sum())


def _of_use(evidence: Evidence, use: AbstractUse) -> Sequence[Estimate]:
    """The estimates of one use that a report shows; of a wide table its largest cells."""
    figures = evidence.schema.size(use.groups) * max(len(use.repeats), 1)
    if figures > (_MOST_CELLS if use.figures_are_counts else _MOST_GROUPS):
        return (_elsewhere(use, f"{figures:,} figures"),)
    found = estimates(evidence, use, level=LEVEL)
    if len(found) <= _MOST_GROUPS:
        return found
    largest = sorted(range(len(found)), key=lambda i: -(found[i].estimate or 0.0))[:_MOST_SHOWN]
    more = f" Of {len(found):,} figures the {_MOST_SHOWN} largest are shown; hedgerow estimate says them all."
    return tuple(replace(found[i], basis=found[i].basis + more) for i in sorted(largest))


def _evidence(
    statement: Statement, schema: Schema, answers: tuple[Measurement, ...], records: CodedTable, data: PublicData
) -> Evidence:
    person, facts, people = statement.guarantee.person, statement.facts, None
    if facts:
        people = CountedPeople(people_schema(schema, facts), coding_of(schema, facts), person)
    if statement.careers:  # answers about first records and steps tell no row
        answers = ()
    relative = data.relative
    usable = relative is not None and set(_columns(schema, records)) <= set(relative.frame.columns)
    target = any(i.role == "target" for i in statement.public_inputs)
    given = statement.guarantee.public_columns if target else ()
    usable = usable and (not facts or person in relative.frame.columns)  # type: ignore[union-attr]
    return Evidence(
        schema,
        answers,
        records,
        relative if usable else None,
        tuple(given),
        people=people,
        steps=bool(statement.careers),
    )


def _rows(schema: Schema, counts: pl.DataFrame | None, records: Sequence[Table]) -> CodedTable:
    """The first copy of the records; of a table of counts, so many rows of each cell."""
    if counts is None:
        return CodedTable(schema, whole(records[0]))
    return rows_of_counts(CodedTable.of_counts(schema, counts))


def rows_of_counts(table: CodedTable) -> CodedTable:
    """So many rows of each cell of a table of counts, a number drawn within its bin."""
    assert table.counts is not None
    schema, names = table.schema, _columns(table.schema, table)
    many = np.maximum(table.counts, 0).astype(np.int64)
    codes = {n: np.repeat(c, many) for n, c in table.codes(names).items()}
    drawn = decode(schema, codes, np.random.Generator(np.random.PCG64(0)), columns=names)
    return CodedTable(schema, drawn)


def _columns(schema: Schema, table: CodedTable) -> tuple[str, ...]:
    return tuple(c.name for c in schema.columns if c.name in table.frame.columns)
