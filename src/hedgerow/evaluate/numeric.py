"""Distances between the distributions of numbers and dates, value by value, not bin by bin."""

from dataclasses import dataclass
from math import pi, sqrt
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import in_both
from hedgerow.public import BINNED, Column

Floats = npt.NDArray[np.float64]
_LEVELS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_CURVE = 120


@final
@dataclass(frozen=True)
class NumericDistances(AbstractMetric):
    """How far values must be moved, on average, to turn one distribution into the other, in standard deviations of A.

    The Wasserstein-1 distance; with the largest gap between the distribution functions (Kolmogorov-Smirnov) and the
    quantiles of both.

    Attributes:
        columns: numbers or dates; all that both tables have, by default.
    """

    name = "numeric"
    title = "Distributions of numbers"
    scale = Scale(0, float("inf"), 0, "standard deviations")
    null = "the mean distance of two samples of one population, from the pooled distribution"
    reading = "0.05 means that values are off by a twentieth of their spread; look at the quantiles for where."
    columns: tuple[str, ...] | None = None

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The mean distance over columns, and each column's with its quantiles."""
        names = [n for n in in_both(a, b, self.columns) if a.schema.column(n).kind in BINNED]
        pairs = [(n, values(a.schema.column(n), a), values(a.schema.column(n), b)) for n in names]
        pairs = [(n, x, y) for n, x, y in pairs if len(x) > 1 and len(y) > 1 and x.std() > 0]
        if not pairs:
            raise DoesNotApply("the tables share no column of numbers or dates that varies")
        rows, curves = [], []
        for name, x, y in pairs:
            rows.append({"column": name, **_distances(x, y)})
            spread = (
                np.quantile(x, (np.arange(_CURVE) + 0.5) / _CURVE),
                np.quantile(y, (np.arange(_CURVE) + 0.5) / _CURVE),
            )
            curves.append(pl.DataFrame({"series": name, "x": spread[0], "y": spread[1]}))
        table = pl.DataFrame(rows).sort("distance", descending=True)
        mean, chance = float(np.mean(table["distance"].to_numpy())), float(np.mean(table["chance"].to_numpy()))
        worst = table.row(0, named=True)
        return Result(
            self.name,
            mean,
            chance,
            f"Numbers are off by {mean:.3f} standard deviations on average (two samples: {chance:.3f}); "
            f"the furthest is {worst['column']} with {worst['distance']:.3f}.",
            table,
            parts={"columns": len(table), "worst": worst["distance"]},
            figures=(Figure("curve", "Quantiles of B against quantiles of A", pl.concat(curves), x="A", y="B"),),
        )


def values(column: Column, table: CodedTable) -> Floats:
    """The numbers of a column, dates as days; what is missing or special is left out."""
    series = table.frame[column.name]
    number = column.coded.numbers(series)
    return number[np.isfinite(number) & (column.coded.encode(series) < column.bin_count)]


def _distances(x: Floats, y: Floats) -> dict[str, float]:
    x, y = np.sort(x), np.sort(y)
    grid = np.unique(np.concatenate([x, y]))
    f, g = (np.searchsorted(v, grid, side="right") / len(v) for v in (x, y))
    step, scale = np.diff(grid), float(x.std())
    pooled = (f * len(x) + g * len(y)) / (len(x) + len(y))
    noise = np.sqrt(pooled * (1 - pooled) * (1 / len(x) + 1 / len(y)))
    quantiles = zip(_LEVELS, np.quantile(x, _LEVELS), np.quantile(y, _LEVELS), strict=True)
    return {
        "distance": float((np.abs(f - g)[:-1] * step).sum()) / scale,
        "chance": sqrt(2 / pi) * float((noise[:-1] * step).sum()) / scale,
        "largest_gap": float(np.abs(f - g).max()),
        "a_mean": float(x.mean()),
        "b_mean": float(y.mean()),
        "a_sd": scale,
        "b_sd": float(y.std()),
        **{f"{side}_q{100 * p:g}": float(v) for p, q, r in quantiles for side, v in (("a", q), ("b", r))},
    }
