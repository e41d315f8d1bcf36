"""The k-marginal score of the NIST challenges: overall, by group, with the worst groups first."""

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Self, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import Cells, every_cells, in_both, joint_cells
from hedgerow.evaluate.sampling import expected_distance
from hedgerow.public import Shares, shares

AREAS = ("puma", "agency", "state", "county", "region", "area")
"""Names of columns that are taken as the group when none is given."""


@final
@dataclass(frozen=True)
class KMarginal(AbstractMetric):
    """1000 (1 - the mean total variation over all tables of k columns); by group, of the tables within each group.

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
        """The overall score, and that of every group."""
        group = self._group(a, b)
        names = [n for n in in_both(a, b, self.columns) if n not in group and a.schema.size([n]) > 1]
        number = comb(len(names), self.k)
        if number == 0:
            raise DoesNotApply(f"there are {len(names)} columns besides the group, fewer than {self.k}")
        sets = list(combinations(names, self.k))
        if number > self.most:
            sets = [sets[i] for i in sorted(rng.choice(number, self.most, replace=False))]
        distances, chances = np.transpose(
            [(c.distance, expected_distance(shares(c.a + c.b), a.rows, b.rows)) for c in every_cells(a, b, sets)]
        )
        value, chance = 1000 * (1 - distances.mean()), 1000 * (1 - chances.mean())
        said = f"The tables of {self.k} columns score {value:.0f} of 1000; another sample would score {chance:.0f}."
        notes = (f"{self.most:,} of {number:,} tables, chosen at random",) if number > self.most else ()
        if not group:
            table = pl.DataFrame({"table": [" x ".join(s) for s in sets], "score": 1000 * (1 - distances)})
            parts = {"tables": len(sets)}
            return Result(
                self.name, float(value), float(chance), said, table.sort("score").head(200), parts, (), notes
            )
        found = _Groups(a, b, group, self.penalty)
        table, heat = found.scored(sets)
        mean, worst = float(np.mean(table["score"].to_numpy())), table.row(0, named=True)
        said += (
            f" Within the {len(table)} groups of {' x '.join(group)} the mean score is {mean:.0f} "
            f"(another sample: {float(np.mean(table['chance'].to_numpy())):.0f}); the worst is {worst['group']} with "
            f"{worst['score']:.0f}."
        )
        return Result(
            self.name,
            float(value),
            float(chance),
            said,
            table.head(200),
            parts={"tables": len(sets), "groups": len(table), "group_mean": mean, "group_worst": worst["score"]},
            figures=(Figure("heat", "Score of each group, worst first", heat, worse="low"),),
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
        g = np.searchsorted(self._keys, key)
        p, q = (np.divide(c, n[g], out=np.zeros(len(g)), where=n[g] > 0) for c, n in ((cells.a, a), (cells.b, b)))
        far = np.bincount(g, np.abs(p - q), len(a)) / 2
        pooled = (cells.a + cells.b) / (a + b)[g]
        each = 1 / np.maximum(a, 1)[g] + 1 / np.maximum(b, 1)[g]
        luck = np.minimum(np.sqrt(2 / np.pi * pooled * (1 - pooled) * each), 2 * pooled * (1 - pooled))
        return far, np.bincount(g, luck, len(a)) / 2
