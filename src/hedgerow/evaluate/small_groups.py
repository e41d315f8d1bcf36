"""What becomes of few rows: small groups with their one-way tables, and rare cells of two columns."""

from dataclasses import dataclass, replace
from itertools import combinations
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
from hedgerow.evaluate.cells import every_cells, in_both, within_groups
from hedgerow.evaluate.marginals import AREAS


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
            each, chance = within_groups(cells, cells.codes[:, 0], n, m)
            far, luck = far + each / len(names), luck + chance / len(names)
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
            raise DoesNotApply("no listed column could be a group: name one with --group (in Python: group=...)")
        return chosen[0]


_EDGES = (1, 5, 20, 100, 500, 1 << 62)
_NAMES = ("1 to 4", "5 to 19", "20 to 99", "100 to 499", "500 and more")


@final
@dataclass(frozen=True)
class RareCells(AbstractMetric):
    """The mean relative error of cells with 5 to 99 rows in A, over all tables of two columns.

    Attributes:
        columns: the columns to cross; all that both tables have, by default.
    """

    name = "rare-cells"
    title = "Rare cells"
    scale = Scale(0, float("inf"), 0, "relative error")
    null = "the mean relative error of another sample's cells of that size"
    reading = (
        "0.5: a count of 40 is typically off by 20. Cells that vanish are people who are in A and nowhere in B; "
        "cells that appear are combinations that B made up."
    )
    columns: tuple[str, ...] | None = None

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """Errors by size of cell."""
        names = [n for n in in_both(a, b, self.columns) if a.schema.size([n]) > 1]
        if len(names) < 2:
            raise DoesNotApply("the tables share fewer than two columns")
        ratio = a.rows / b.rows
        sums = np.zeros((len(_NAMES), 5))
        invented = total = 0
        for cells in every_cells(a, b, list(combinations(names, 2))):
            there = cells.a > 0
            size = np.searchsorted(_EDGES, cells.a[there], side="right") - 1
            true, got = cells.a[there].astype(float), cells.b[there] * ratio
            error = np.abs(got - true) / true
            luck = np.sqrt(2 / np.pi * (1 + ratio) / true)
            for j, x in enumerate((np.ones_like(error), error, np.minimum(luck, 2.0), got == 0, (got - true) / true)):
                sums[:, j] += np.bincount(size, x, len(_NAMES))
            invented += int((~there).sum())
            total += len(cells.a)
        n = np.maximum(sums[:, 0], 1)
        table = pl.DataFrame(
            {
                "rows_in_a": _NAMES,
                "cells": sums[:, 0].astype(np.int64),
                "relative_error": sums[:, 1] / n,
                "chance": sums[:, 2] / n,
                "vanished": sums[:, 3] / n,
                "bias": sums[:, 4] / n,
            }
        ).filter(pl.col("cells") > 0)
        judged = sums[1:3].sum(axis=0)
        if not judged[0]:
            raise DoesNotApply("no cell of two columns has 5 to 99 rows in A")
        value, chance = float(judged[1] / judged[0]), float(judged[2] / judged[0])
        lost = float(sums[:, 3].sum() / max(sums[:, 0].sum(), 1))
        return Result(
            self.name,
            value,
            chance,
            f"Cells of 5 to 99 rows are off by {100 * value:.0f} % on average (another sample: {100 * chance:.0f} %)"
            f"; {100 * lost:.1f} % of all cells of A vanish in B, and {100 * invented / max(total, 1):.1f} % of the "
            "cells in use are in B alone.",
            table,
            parts={"vanished": lost, "in_b_only": invented, "cells": total},
        )
