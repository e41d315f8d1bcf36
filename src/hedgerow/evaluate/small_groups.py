"""What becomes of small groups: their size and their one-way tables, group by group."""

from dataclasses import dataclass, replace
from typing import Self, final

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
from hedgerow.evaluate.cells import every_cells, in_both
from hedgerow.evaluate.k_marginal import AREAS


@final
@dataclass(frozen=True)
class SmallGroups(AbstractMetric):
    """The mean total variation of all columns within groups of few rows.

    Attributes:
        group: one column; an area column, or the listed column with the most values, by default.
        small: groups with fewer rows of A than this are small.
    """

    name = "small-groups"
    title = "Small groups"
    scale = Scale(0, 1, 0, "total variation")
    null = "the mean distance of another sample's groups of these sizes"
    reading = (
        "The share of a small group's rows that are out of place; far above chance: do not use B for such groups."
    )
    group: str = ""
    small: int = 500

    def with_options(self, options: CompareOptions) -> Self:
        """The first of the columns whose values are groups."""
        return replace(self, group=options.group[0]) if options.group else self

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """Every group's error, small ones first."""
        group = self._group(a, b)
        names = [n for n in in_both(a, b) if n != group and a.schema.size([n]) > 1]
        if not names:
            raise DoesNotApply(f"the tables share no column besides {group}")
        size = a.schema.size([group])
        n, m = (np.bincount(t.codes([group])[group], minlength=size) for t in (a, b))
        far, luck = np.zeros(size), np.zeros(size)
        for cells in every_cells(a, b, [(group, name) for name in names]):
            g = cells.codes[:, 0]
            p, q = cells.a / np.maximum(n, 1)[g], cells.b / np.maximum(m, 1)[g]
            pooled = (cells.a + cells.b) / (n + m)[g]
            each = 1 / np.maximum(n, 1)[g] + 1 / np.maximum(m, 1)[g]
            chance = np.minimum(np.sqrt(2 / np.pi * pooled * (1 - pooled) * each), 2 * pooled * (1 - pooled))
            far += np.bincount(g, np.abs(p - q), size) / 2 / len(names)
            luck += np.bincount(g, chance, size) / 2 / len(names)
        there = np.flatnonzero(n > 0)
        table = pl.DataFrame(
            {
                "group": [a.schema.cell_labels(group)[i] for i in there],
                "a_rows": n[there],
                "b_rows": m[there],
                "size_error": m[there] * (a.rows / b.rows) / n[there] - 1,
                "distance": far[there],
                "chance": luck[there],
            }
        ).sort("a_rows", "group")
        few = table.filter(pl.col("a_rows") < self.small)
        judged, which = (
            (few, f"groups of {group} with fewer than {self.small} rows")
            if len(few)
            else (table, f"groups of {group}, none small")
        )
        value, chance_ = (float(np.mean(judged[c].to_numpy())) for c in ("distance", "chance"))
        off = float(np.mean(np.abs(judged["size_error"].to_numpy())))
        bars = table.head(40).select(label="group", a="chance", b="distance")
        return Result(
            self.name,
            value,
            chance_,
            f"Within the {len(judged)} {which}, {100 * value:.1f} % of rows are out of place on average (another "
            f"sample: {100 * chance_:.1f} %), and their sizes are off by {100 * off:.0f} %.",
            table.head(500),
            parts={"group": group, "groups": len(table), "small": len(few), "size_error": off},
            figures=(Figure("bars", f"Distance within {group}, smallest first", bars, names=CHANCE),),
        )

    def _group(self, a: CodedTable, b: CodedTable) -> str:
        names = in_both(a, b, [self.group] if self.group else None)
        areas = [n for n in names if n.lower() in AREAS]
        listed = [n for n in names if a.schema.column(n).kind == "categorical" and a.schema.size([n]) > 2]
        chosen = [self.group] if self.group else areas or sorted(listed, key=lambda n: -a.schema.size([n]))
        if not chosen:
            raise DoesNotApply("no listed column could be a group: name one with --group")
        return chosen[0]
