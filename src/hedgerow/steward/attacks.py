"""All attacks on one job, for the steward: what an attacker could do, beside what the promise allows him."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.figures.words import aligned
from hedgerow.job import Job
from hedgerow.public.table import PublicTable
from hedgerow.steward.attribute import AttributeInference
from hedgerow.steward.compare import release_of, release_tables
from hedgerow.steward.exact import exact_table
from hedgerow.steward.inside import WARNING, WATERMARK, InsideOnly, in_fixed_words
from hedgerow.steward.membership import Membership, membership

Watch = Callable[[str], None]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Attacks:
    """What the attacks found; the table of attribute inference depends on confidential rows."""

    membership: Membership
    attributes: InsideOnly[pl.DataFrame] | None


def attack_job(
    path: str | Path,
    *,
    rng: np.random.Generator,
    runs: int = 200,
    rows: int = 1000,
    release: Path | None = None,
    watch: Watch = lambda phase: None,
) -> Attacks:
    """Membership inference on the job's public table; attribute inference where there is a release to attack."""
    job, place = Job.load(path), release_of(path, release)
    if job.file.public is None:
        raise JobError(
            f"The membership test runs on a public stand-in, and {path} names no [public] table.\n"
            "Add one, of your own making if need be. No confidential row was read and nothing was spent."
        )
    table = job.beside(job.file.public.table)
    found = membership(job, PublicTable.read(table, job.schema()), runs=runs, rows=rows, rng=rng, watch=watch)
    if not place.exists():
        return Attacks(found, None)
    watch("attribute inference, inside only")
    schema, copies = release_tables(job, place)
    public = PublicTable.read(table, schema, role="target")
    open_ = job.guarantee.public_columns
    attack = AttributeInference(tuple(c.name for c in schema.columns if c.name not in open_) if open_ else ())
    secret = exact_table(job.beside(job.file.confidential.table), schema)
    return Attacks(found, in_fixed_words(lambda: attack.of(secret, copies[0], public, schema, rng=rng)))


def attack_text(found: Attacks, *, as_json: bool = False) -> str:
    """The outcome in lines for the steward's terminal, or as JSON."""
    m = found.membership
    table = found.attributes.reveal() if found.attributes is not None else pl.DataFrame()
    if as_json:
        data = {WATERMARK: WARNING, "membership": m.to_json(), "attributes": table.to_dicts()}
        return json.dumps(data, indent=2)
    lines = [
        f"Membership of the oddest public record, {m.runs} runs on stand-ins: the attacker is right in "
        f"{100 * m.right:.0f} of 100 cases",
        f"(50 is guessing, the promise allows {100 * m.allowed:.0f}); this proves epsilon of at least "
        f"{m.epsilon_at_least:.2f}, promised is {m.promised:g}. " + ("" if m.sound else "THE PROMISE IS BROKEN."),
    ]
    if len(table):
        head = ("private column", "with release", "with public", "by mode", "gained")
        keys = ("with_release", "with_public", "by_mode", "gained")
        rows = [
            (r["column"], *("" if r[k] is None else f"{r[k]:.3f}" for k in keys)) for r in table.iter_rows(named=True)
        ]
        lines += ["", "How often a private column is guessed right, knowing the others:", *aligned(head, rows)]
    return "\n".join(lines)
