"""What a plan says of a job besides its costs: what is declared public, whose rows are dropped, what is not there."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from hedgerow.figures import many, percent
from hedgerow.job.places import file_exists
from hedgerow.job.values import JobValues
from hedgerow.public import Fact, Guarantee, ask_for_counts, is_spark, open_confidential, open_public


def job_remarks(
    job: JobValues, guarantee: Guarantee, person: pl.Series | None, facts: Sequence[Fact] = ()
) -> tuple[str, ...]:
    """The remarks, in lines for people. ``person`` is whose each row of the public table is, where it says so.

    ``facts`` are those that people are counted by, where people are.
    """
    found = list[str]()
    if not job.confidential.is_frame and not file_exists(job.confidential.table):
        found.append(f"There is no confidential table at {job.confidential.table}: a run will be refused.")
    if job.confidential.is_frame and not is_spark(
        job.confidential.table
    ):  # whose header was read when the job was made
        there = open_confidential(job.confidential.table).columns
        asked = [c.name for c in job.schema.columns if not c.determined_by]
        asked += filter(None, (guarantee.person, guarantee.count, job.order))
        if lacking := [name for name in asked if name not in there]:
            found.append(f"The confidential table has no column {', '.join(lacking)}: a run will be refused.")
    if guarantee.relation == "label-change":
        private = [c.name for c in job.schema.columns if c.name not in guarantee.public_columns]
        found += [
            f"Public row by row, by declaration: {', '.join(guarantee.public_columns)}.",
            f"Protected: {', '.join(private)}.",
        ]
    if facts:
        given = [f.name for f in facts if f.name in guarantee.public_columns or f.name != f.column]
        found.append(f"Each person is counted once, by facts about all of their rows: {', '.join(given)}.")
    elif guarantee.unit == "person" and not job.recipe.career_time:
        found += _dropped(guarantee, person, job.order)
    if job.engine.master and not job.engine.master.startswith("local"):
        found += [
            "Between the machines of a Spark cluster names of people, codes and counts travel encrypted only where",
            "spark.authenticate and spark.network.crypto.enabled are set for it: see that they are.",
        ]
    if job.public is not None:
        found += ask_for_counts(open_public(job.rows_of(job.public)), job.public.count, job.confidential.count)
    return tuple(found)


def _dropped(guarantee: Guarantee, person: pl.Series | None, order: str) -> list[str]:
    """What the cap on a person's rows would drop of the public table, if that says whose rows they are."""
    cap = guarantee.rows_per_person
    first = f", the first by {order}," if order else ""
    kept = (
        f"At most {many(cap, 'row')} of a person{first} {'counts' if cap == 1 else 'count'} and the rest is dropped"
    )
    told = "what is published tells of the rows that count"
    if person is None:
        return [f"{kept}; no public table says how many that would be, and no forecast knows it: {told}."]
    named = person.drop_nulls().value_counts()["count"].to_numpy()
    rows, most = len(person), int(named.max(initial=0))
    dropped = 1 - float(np.minimum(named, cap).sum()) / max(rows, 1)
    if dropped < 0.005:
        return []
    nobody = f", {percent(person.null_count() / rows)} because they name nobody" if person.null_count() else ""
    cure = [
        f"A person there has up to {most:,}: rows_per_person says how many count (in Python: Person(..., rows=4))."
    ]
    return [
        f"{kept}: of the public table {percent(dropped)} of the rows{nobody}; {told}.",
        *(cure if most > cap else []),
    ]
