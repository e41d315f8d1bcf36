"""Panel (b) of the RDT reports: the share of every joint category of many columns, one table against the other."""

from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import Cells, in_both, joint_cells
from hedgerow.public import Counts, Shares

_POINTS = 2000


@final
@dataclass(frozen=True)
class JointScatter(AbstractMetric):
    """The correlation of joint shares over all categories that occur in either table.

    Attributes:
        columns: what to cross; by default columns in file order while their cells are at most twice A's rows.
    """

    name = "joint-scatter"
    title = "Shares of joint categories against each other (panel b)"
    scale = Scale(-1, 1, 1, "correlation")
    null = "the correlation that two samples of one population would have: sampling variance dilutes 1"
    reading = (
        "Near 1: large cells are large in both. It says little of small cells and nothing of pay gaps: "
        "a file with 0.999 here can lose every one of them."
    )
    columns: tuple[str, ...] | None = None

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The correlation, and the cells that are furthest from the line in units of chance."""
        cells = joint_cells(a, b, self._chosen(a, b))
        if len(cells.a) < 3:
            raise DoesNotApply("the crossed columns have fewer than three categories in use")
        p, q = cells.shares
        error = np.sqrt(np.maximum(p + q, 1e-300) / 2 * (1 / a.rows + 1 / b.rows))
        away = (q - p) / error
        order = np.argsort(-np.abs(away), kind="stable")[:50]
        worst = cells.sorted_by(order)
        table = pl.DataFrame(
            {"category": worst.labels(a.schema), "a": p[order], "b": q[order], "chances_away": away[order]}
        )
        value, null = _correlation(p, q), _diluted(cells.a, cells.b)
        title = " x ".join(cells.columns)
        return Result(
            self.name,
            value,
            null,
            f"The shares of the {len(p):,} categories of {title} correlate by {value:.4f}"
            + ("." if null is None else f"; two samples of one population would by about {null:.4f}."),
            table,
            parts={
                "columns": title,
                "categories": len(p),
                "in_a_only": int((cells.b == 0).sum()),
                "in_b_only": int((cells.a == 0).sum()),
                "rms_chances_away": float(np.sqrt(np.mean(away**2))),
            },
            figures=(self._figure(a, cells, rng),),
        )

    def _chosen(self, a: CodedTable, b: CodedTable) -> tuple[str, ...]:
        if self.columns is not None:
            return in_both(a, b, self.columns)
        chosen: list[str] = []
        for name in in_both(a, b):
            if a.schema.size([name]) > 1 and a.schema.size([*chosen, name]) <= 2 * a.rows:
                chosen.append(name)
        if not chosen:
            raise DoesNotApply("the tables share no column that is small enough to cross")
        return tuple(chosen)

    def _figure(self, a: CodedTable, cells: Cells, rng: np.random.Generator) -> Figure:
        n = len(cells.a)
        some = np.arange(n) if n <= _POINTS else np.sort(rng.choice(n, _POINTS, replace=False))
        p, q = cells.shares
        each = 1 / max(int(cells.a.sum()), 1) + 1 / max(int(cells.b.sum()), 1)
        data = pl.DataFrame(
            {
                "label": cells.sorted_by(some).labels(a.schema),
                "group": [""] * len(some),
                "a": p[some],
                "b": q[some],
                "band": 1.96 * np.sqrt(p[some] * each),
            }
        )
        title = f"Shares of {' x '.join(cells.columns)}; the band is where chance alone puts them"
        return Figure("scatter", title, data, x="share in A", y="share in B", logarithmic=True)


def _correlation(p: Shares, q: Shares) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.corrcoef(p, q)[0, 1])


def _diluted(a: Counts, b: Counts) -> float | None:
    """The correlation left when two samples follow the same shares: the true variance over the two noisy ones."""
    n, m = int(a.sum()), int(b.sum())
    pooled = (a + b) / (n + m)
    scatter = float(np.mean(pooled * (1 - pooled)))
    between = float(np.var(pooled)) - scatter / (n + m)
    if between <= 0:
        return None
    noise = [scatter / size for size in (n, m)]
    return between / float(np.sqrt((between + noise[0]) * (between + noise[1])))
