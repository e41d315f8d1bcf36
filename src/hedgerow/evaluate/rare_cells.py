"""What becomes of rare cells: relative errors by how many rows of A a cell holds."""

from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, DoesNotApply, Result, Scale
from hedgerow.evaluate.cells import every_cells, in_both

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
