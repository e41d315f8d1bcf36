"""Panel (a) of the RDT reports: the shares of joint categories of two or three columns, side by side."""

from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import in_both, joint_cells
from hedgerow.evaluate.sampling import expected_distance, like_sample
from hedgerow.public import shares

_PRIVATE = ("sex", "race")


@final
@dataclass(frozen=True)
class JointProportions(AbstractMetric):
    """The shares of joint categories, such as sex x race x a third column, in both tables.

    Attributes:
        columns: what to cross; by default sex, race and the smallest other column, or the three smallest columns.
        most: how many categories the table and the figure show, the most frequent of A first.
    """

    name = "joint-proportions"
    title = "Shares of joint categories (panel a)"
    scale = Scale(0, 1, 0, "total variation")
    null = "the distance between two samples of one population, from the sizes of the tables and of the cells"
    reading = (
        "Bars of equal height mean that the joint shares are kept; the number is the share of rows out of place."
    )
    columns: tuple[str, ...] | None = None
    most: int = 60

    def with_options(self, options: CompareOptions) -> Self:
        """The columns to cross."""
        return replace(self, columns=options.joint) if options.joint else self

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The shares side by side and their distance."""
        cells = joint_cells(a, b, self._chosen(a, b))
        p, q = cells.shares
        order = np.argsort(-p, kind="stable")
        shown = cells.sorted_by(order[: self.most])
        band = 1.96 * np.sqrt((pooled := shares(cells.a + cells.b)) * (1 - pooled) * (1 / a.rows + 1 / b.rows))
        table = pl.DataFrame(
            {
                "category": shown.labels(a.schema),
                "a": p[order[: self.most]],
                "b": q[order[: self.most]],
                "chance": band[order[: self.most]],
            }
        )
        distance, beyond = cells.distance, float(np.mean(np.abs(p - q) > band))
        title = " x ".join(cells.columns)
        hidden = len(p) - len(shown.a)
        return Result(
            self.name,
            distance,
            expected_distance(pooled, a.rows, b.rows),
            f"{100 * distance:.1f} % of rows are out of place in {title}; {100 * beyond:.0f} % of its {len(p):,} "
            "categories differ by more than chance explains (5 % would by chance).",
            table,
            parts={
                "columns": title,
                "categories": len(p),
                "beyond_chance": beyond,
                "like_sample": like_sample(distance, p, a.rows),
            },
            figures=(Figure("bars", f"Shares of {title}", table.rename({"category": "label"}), y="share of rows"),),
            notes=(f"{hidden:,} rarer categories are counted but not shown",) if hidden else (),
        )

    def _chosen(self, a: CodedTable, b: CodedTable) -> tuple[str, ...]:
        if self.columns is not None:
            return in_both(a, b, self.columns)
        names = in_both(a, b)
        small = sorted((n for n in names if a.schema.size([n]) > 1), key=lambda n: a.schema.size([n]))
        private = [n for p in _PRIVATE for n in names if n.lower() == p]
        chosen = (private if len(private) == len(_PRIVATE) else []) + [n for n in small if n not in private]
        if not chosen:
            raise DoesNotApply("the tables share no column with two values or more")
        return tuple(chosen[:3])
