"""Distances between all tables of one, two or three columns; and the k-marginal score of the NIST challenges."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import ClassVar, Self, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import (
    CHANCE,
    AbstractMetric,
    CodedTable,
    CompareOptions,
    DoesNotApply,
    Figure,
    Result,
    Scale,
)
from hedgerow.evaluate.cells import (
    Cells,
    every_cells,
    expected_distance,
    in_both,
    joint_cells,
    like_sample,
    within_groups,
)
from hedgerow.figures import many
from hedgerow.public import Shares, shares


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
            raise DoesNotApply(f"the tables share {many(len(names), 'column')}, fewer than {self.ways}")
        sets = _crosses(names, self.ways, self.most, rng)
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


def _crosses(names: Sequence[str], ways: int, most: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """All crosses of so many columns, or so many of them, chosen at random."""
    sets = list(combinations(names, ways))
    return sets if len(sets) <= most else [sets[i] for i in sorted(rng.choice(len(sets), most, replace=False))]


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


AREAS = ("puma", "agency", "state", "county", "region", "area")
"""Names of columns that are taken as the group when none is given."""


@final
@dataclass(frozen=True)
class KMarginal(AbstractMetric):
    """1000 (1 - the mean total variation over all tables of k columns); by group, the mean of the groups' own scores.

    Attributes:
        k: columns of a table, besides the group. NIST's 3-marginal by area is k = 2 within areas.
        group: the columns whose values are groups; an area column if the schema has one, by default.
        columns: the columns to cross; all that both tables have, by default.
        most: with more tables than this, so many are chosen at random.
        penalty: a group whose size is off by more rows than this scores 0, as in the NIST challenge; None for never.
    """

    name = "k-marginal"
    title = "The NIST k-marginal score"
    scale = Scale(0, 1000, 1000, "points")
    null = "what another sample of the population would score, from the sizes of tables and cells"
    reading = (
        "1000: all tables equal. A group far below what chance gives is one for which the file should not be used."
    )
    k: int = 2
    group: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    most: int = 1000
    penalty: int | None = None

    def with_options(self, options: CompareOptions) -> Self:
        """The columns whose values are groups."""
        return replace(self, group=options.group) if options.group else self

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The score: by group, the mean of the groups' scores, each of which is in the table."""
        group = self._group(a, b)
        names = [n for n in in_both(a, b, self.columns) if n not in group and a.schema.size([n]) > 1]
        number = comb(len(names), self.k)
        if number == 0:
            raise DoesNotApply(
                f"besides the group there is no more than {many(len(names), 'column')}, fewer than {self.k}"
            )
        sets = _crosses(names, self.k, self.most, rng)
        distances, chances = np.transpose(
            [(c.distance, expected_distance(shares(c.a + c.b), a.rows, b.rows)) for c in every_cells(a, b, sets)]
        )
        value, chance = 1000 * (1 - distances.mean()), 1000 * (1 - chances.mean())
        said = f"the tables of {self.k} columns score {value:.0f} of 1000; another sample would score {chance:.0f}."
        notes = (f"{self.most:,} of {number:,} tables, chosen at random",) if number > self.most else ()
        if not group:
            table = pl.DataFrame({"table": [" x ".join(s) for s in sets], "score": 1000 * (1 - distances)})
            parts = {"tables": len(sets)}
            said = f"T{said[1:]}"
            return Result(self.name, float(value), float(chance), said, table.sort("score"), parts, (), notes)
        found = _Groups(a, b, group, self.penalty)
        table, heat = found.scored(sets)
        mean, luck = (float(np.mean(table[c].to_numpy())) for c in ("score", "chance"))
        worst = table.row(0, named=True)
        return Result(
            self.name,
            mean,
            luck,
            f"Within the {len(table):,} groups of {' x '.join(group)} the mean score is {mean:.0f} of 1000 (another "
            f"sample: {luck:.0f}); the worst is {worst['group']} with {worst['score']:.0f} (another sample: "
            f"{worst['chance']:.0f}). Over all groups together {said}",
            table,
            parts={
                "tables": len(sets),
                "groups": len(table),
                "group_worst": worst["score"],
                "pooled": float(value),
                "pooled_chance": float(chance),
            },
            figures=(Figure("heat", "Score of each group, worst first", heat, worse="low", order_counts=True),),
            notes=notes,
        )

    def _group(self, a: CodedTable, b: CodedTable) -> tuple[str, ...]:
        if self.group is not None:
            return in_both(a, b, self.group)
        return tuple(n for n in in_both(a, b) if n.lower() in AREAS)[:1]


@final
class _Groups:
    """The rows of each group in both tables, and the distances within them."""

    def __init__(self, a: CodedTable, b: CodedTable, group: tuple[str, ...], penalty: int | None) -> None:
        self._tables, self._schema, self._group, self._penalty = (a, b), a.schema, group, penalty
        self._cells = joint_cells(a, b, group)
        self._shape = a.schema.shape(group)
        key = np.ravel_multi_index(tuple(self._cells.codes.T), self._shape)
        self._order = np.argsort(key)
        self._keys = key[self._order]

    def scored(self, sets: list[tuple[str, ...]]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The score of every group, worst first; and of groups by column, or of group columns against each other."""
        a, b = self._cells.a[self._order].astype(float), self._cells.b[self._order].astype(float)
        total, chance = np.zeros(len(a)), np.zeros(len(a))
        by_column = {n: np.zeros(len(a)) for s in sets for n in s}
        times = dict.fromkeys(by_column, 0)
        for cells in every_cells(*self._tables, [(*self._group, *s) for s in sets]):
            far, luck = self._distances(cells, a, b)
            total, chance = total + far, chance + luck
            for name in cells.columns[len(self._group) :]:
                by_column[name] += far
                times[name] += 1
        score = 1000 * (1 - total / len(sets))
        if self._penalty is not None:
            score[np.abs(a - b) > self._penalty] = 0
        labels = np.array(self._cells.labels(self._schema), object)[self._order]
        table = pl.DataFrame(
            {
                "group": labels.tolist(),
                "a_rows": a.astype(np.int64),
                "b_rows": b.astype(np.int64),
                "score": score,
                "chance": 1000 * (1 - chance / len(sets)),
            }
        )
        worst = np.argsort(score, kind="stable")
        if len(self._group) == 2:
            names = [self._schema.cell_labels(g) for g in self._group]
            codes = self._cells.codes[self._order]
            parts = [[names[j][c] for c in codes[:, j]] for j in (0, 1)]
            heat = pl.DataFrame({"row": parts[0], "column": parts[1], "value": score})
            heat = heat.sort(pl.col("value").mean().over("row"), pl.col("value").mean().over("column"))
        else:
            rows = [
                {"row": labels[g], "column": n, "value": 1000 * (1 - float(far[g]) / times[n])}
                for g in worst[:60]
                for n, far in by_column.items()
            ]
            heat = pl.DataFrame(rows)
        return table[worst], heat

    def _distances(self, cells: Cells, a: Shares, b: Shares) -> tuple[Shares, Shares]:
        """The total variation within each group, and what chance would give."""
        key = np.ravel_multi_index(tuple(cells.codes[:, : len(self._group)].T), self._shape)
        return within_groups(cells, np.searchsorted(self._keys, key), a, b)
