"""Distances between all tables of one, two or three columns."""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import CHANCE, AbstractMetric, CodedTable, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import every_cells, in_both
from hedgerow.evaluate.sampling import expected_distance, like_sample
from hedgerow.public import shares


@dataclass(frozen=True)
class AbstractMarginals(AbstractMetric):
    """The mean total variation over all tables of so many columns.

    Attributes:
        columns: the columns to cross; all that both tables have, by default.
        most: with more tables than this, so many are chosen at random.
    """

    ways: ClassVar[int]
    scale = Scale(0, 1, 0, "total variation")
    null = "the mean distance between two samples of one population, from the sizes of the tables and of their cells"
    reading = (
        "The share of rows that would have to change to make the tables equal; compare it with what chance gives."
    )
    columns: tuple[str, ...] | None = None
    most: int = 500

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The mean distance, and every table with its own, the worst against chance first."""
        names = in_both(a, b, self.columns)
        number = comb(len(names), self.ways)
        if number == 0:
            raise DoesNotApply(f"the tables share {len(names)} columns, fewer than {self.ways}")
        sets = list(combinations(names, self.ways))
        if number > self.most:
            sets = [sets[i] for i in sorted(rng.choice(number, self.most, replace=False))]
        rows = []
        for cells in every_cells(a, b, sets):
            pooled = shares(cells.a + cells.b)
            rows.append(
                {
                    "table": " x ".join(cells.columns),
                    "cells": len(cells.a),
                    "distance": cells.distance,
                    "chance": expected_distance(pooled, a.rows, b.rows),
                    "like_sample": like_sample(cells.distance, shares(cells.a), a.rows),
                }
            )
        table = pl.DataFrame(rows, infer_schema_length=None)
        table = table.sort(pl.col("distance") - pl.col("chance"), descending=True)
        mean, chance = float(table["distance"].mean()), float(table["chance"].mean())  # type: ignore[arg-type]
        like = table["like_sample"].median()
        note = f"{self.most} of {number:,} tables, chosen at random" if number > self.most else ""
        sentence = (
            f"On average {100 * mean:.1f} % of rows would have to change to make the {self.ways}-way tables equal; "
            f"two samples of one population differ by {100 * chance:.1f} %."
        )
        return Result(
            self.name,
            mean,
            chance,
            sentence,
            table,
            parts={"tables": len(sets), "worst": float(table["distance"].max()), "like_sample": like},  # type: ignore
            figures=self._figures(table),
            notes=(note,) if note else (),
        )

    def _figures(self, table: pl.DataFrame) -> tuple[Figure, ...]:
        if self.ways == 1:
            data = table.select(label="table", a="chance", b="distance")
            title = "Distance of each column, and what chance gives"
            return (Figure("bars", title, data, y="total variation", names=CHANCE),)
        if self.ways == 2:
            pair = table["table"].str.split(" x ").list.to_struct(fields=["row", "column"]).struct.unnest()
            data = pair.with_columns(value=table["distance"])
            return (Figure("heat", "Distance of each pair of columns", data),)
        return ()


@final
@dataclass(frozen=True)
class OneWayDistance(AbstractMarginals):
    """Each column on its own."""

    name, title, ways = "one-way", "Each column on its own", 1


@final
@dataclass(frozen=True)
class TwoWayDistance(AbstractMarginals):
    """Each pair of columns."""

    name, title, ways = "two-way", "Each pair of columns", 2


@final
@dataclass(frozen=True)
class ThreeWayDistance(AbstractMarginals):
    """Each triple of columns, or a random choice of them."""

    name, title, ways = "three-way", "Each triple of columns", 3
    most: int = 200
