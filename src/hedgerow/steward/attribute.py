"""Attribute inference: does the release help to guess a person's private column, beyond what the public table does?

The attacker knows all other columns of a confidential record and guesses the private one by Bayes' rule from a table:
the synthetic records, or the public relative alone.  What both get right is knowledge about groups, which no release
can withhold; only the difference is the release's.  The result depends on confidential rows: inside only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.base import DoesNotApply, Table
from hedgerow.evaluate.cells import in_both
from hedgerow.public.schema import Schema
from hedgerow.steward.exact import ExactTable
from hedgerow.steward.inside import InsideOnly

Places = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class AttributeInference:
    """The attack, for each private column.

    Attributes:
        columns: the private columns; those that the guarantee does not declare public, by default all.
        most: so many confidential records are attacked, chosen at random.
    """

    columns: tuple[str, ...] = ()
    most: int = 5000

    def of(
        self,
        confidential: InsideOnly[ExactTable],
        release: Table,
        public: Table | None,
        schema: Schema,
        *,
        rng: np.random.Generator,
    ) -> InsideOnly[pl.DataFrame]:
        """For each column: how often the guess is right with the release, with the public table, and by the mode."""
        return confidential.map(lambda table: self._attack(table, release, public, schema, rng))

    def _attack(
        self, table: ExactTable, release: Table, public: Table | None, schema: Schema, rng: np.random.Generator
    ) -> pl.DataFrame:
        names = in_both(table, release, schema)
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


def guesses(source: Table, column: str, known: Sequence[str], codes: Sequence[Places], schema: Schema) -> Places:
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
