"""All attacks on one job, for the steward: what an attacker could do, beside what the promise allows him."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.cells import in_both
from hedgerow.figures.words import aligned
from hedgerow.job import JobValues
from hedgerow.public import CodedTable, Schema
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
    job: JobValues,
    *,
    rng: np.random.Generator,
    runs: int = 200,
    rows: int = 1000,
    release: Path | None = None,
    watch: Watch = lambda phase: None,
) -> Attacks:
    """Membership inference on the job's public table; attribute inference where there is a release to attack."""
    place = release_of(job, release)
    if job.public is None:
        raise JobError(
            f"The membership test runs on a public stand-in, and {job.where} names no [public] table.\n"
            "Add one, of your own making if need be. No confidential row was read and nothing was spent."
        )
    table = job.public.table
    found = membership(job, CodedTable.read(table, job.schema), runs=runs, rows=rows, rng=rng, watch=watch)
    if not place.exists():
        return Attacks(found, None)
    watch("attribute inference, inside only")
    schema, copies = release_tables(job, place)
    public = CodedTable.read(table, schema, role="target")
    open_ = job.guarantee.public_columns
    attack = AttributeInference(tuple(c.name for c in schema.columns if c.name not in open_) if open_ else ())
    secret = exact_table(job.confidential.table, schema)
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


Places = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class AttributeInference:
    """Does the release help to guess a person's private column, beyond what the public table does?

    The attacker knows all other columns of a confidential record and guesses the private one by Bayes' rule from a
    table: the synthetic records, or the public relative alone.  What both get right is knowledge about groups, which
    no release can withhold; only the difference is the release's.

    Attributes:
        columns: the private columns; those that the guarantee does not declare public, by default all.
        most: so many confidential records are attacked, chosen at random.
    """

    columns: tuple[str, ...] = ()
    most: int = 5000

    def of(
        self,
        confidential: InsideOnly[CodedTable],
        release: CodedTable,
        public: CodedTable | None,
        schema: Schema,
        *,
        rng: np.random.Generator,
    ) -> InsideOnly[pl.DataFrame]:
        """For each column: how often the guess is right with the release, with the public table, and by the mode."""
        return confidential.map(lambda table: self._attack(table, release, public, schema, rng))

    def _attack(
        self,
        table: CodedTable,
        release: CodedTable,
        public: CodedTable | None,
        schema: Schema,
        rng: np.random.Generator,
    ) -> pl.DataFrame:
        names = in_both(table, release)
        private = [n for n in (self.columns or names) if n in names and schema.size([n]) > 1]
        if not private:
            raise DoesNotApply("there is no private column that the release has too")
        some = rng.choice(table.rows, min(self.most, table.rows), replace=False)
        rows = []
        for column in private:
            known = [n for n in names if n not in private]  # the attacker knows the public columns
            known = known or [n for n in names if n != column]
            truth = table.codes([column])[column][some]
            codes = [table.codes([n])[n][some].astype(np.int64) for n in known]
            row: dict[str, str | float | None] = {"column": column}
            for name, source in (("with_release", release), ("with_public", public)):
                right = None
                if source is not None and column in source.frame.columns:
                    right = float(np.mean(guesses(source, column, known, codes, schema) == truth))
                row[name] = right
            row["by_mode"] = float(np.bincount(truth).max() / len(truth))
            got, base = row["with_release"], row["with_public"] if row["with_public"] is not None else row["by_mode"]
            row["gained"] = float(got) - float(base) if got is not None and base is not None else None
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)


def guesses(source: CodedTable, column: str, known: Sequence[str], codes: Sequence[Places], schema: Schema) -> Places:
    """The most likely code of ``column`` given the ``codes`` of known columns, by naive Bayes from ``source``.

    A value that ``source`` never shows (a later year) says nothing; one it shows seldom says little.
    """
    size = schema.size([column])
    labels = source.codes([column])[column].astype(np.int64)
    prior = np.bincount(labels, minlength=size) + 0.5
    log_chance = np.tile(np.log(prior / prior.sum()), (len(codes[0]), 1))
    for name, code in zip(known, codes, strict=True):
        if name not in source.frame.columns:
            continue
        levels = schema.size([name])
        table = np.bincount(labels * levels + source.codes([name])[name], minlength=size * levels)
        table, seen = table.reshape(size, levels), np.bincount(source.codes([name])[name], minlength=levels)
        share = (table + seen / seen.sum()) / (table.sum(axis=1, keepdims=True) + 1.0)
        log_chance += np.log(np.where(seen > 0, share, 1.0)).T[code]
    return np.asarray(log_chance.argmax(axis=1))
