"""Panels (a) and (b) of the RDT reports: joint categories side by side, and against each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import Cells, correlation, expected_distance, in_both, joint_cells, like_sample
from hedgerow.public import Counts, shares

_PRIVATE = ("sex", "race")


@final
@dataclass(frozen=True)
class JointProportions(AbstractMetric):
    """The shares of joint categories, such as sex x race x a third column, in both tables.

    Attributes:
        columns: what to cross; by default private columns (sex and race if not known) and the smallest others.
        private: columns that are synthetic where the others were given; not known when empty.
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
    private: tuple[str, ...] = ()
    most: int = 60

    def with_options(self, options: CompareOptions) -> Self:
        """The columns to cross, and those that are private."""
        return replace(self, columns=options.joint or self.columns, private=options.private or self.private)

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
        first = [n for n in _private(names, self.private) if n in small][:2]
        chosen = first + [n for n in small if n not in first]
        if not chosen:
            raise DoesNotApply("the tables share no column with two values or more")
        return tuple(chosen[:3])


def _private(names: Sequence[str], told: Sequence[str]) -> list[str]:
    """Those of ``names`` that are private: as ``told``, or else sex and race where both are there."""
    if told:
        return [n for n in names if n in told]
    found = [n for p in _PRIVATE for n in names if n.lower() == p]
    return found if len(found) == len(_PRIVATE) else []


_CATEGORIES_DRAWN = 2000


@final
@dataclass(frozen=True)
class JointScatter(AbstractMetric):
    """The correlation of joint shares over all categories that occur in either table.

    Attributes:
        columns: what to cross; by default private columns (sex and race if not known), then the others in file order,
            while their cells are at most twice A's rows.
        private: columns that are synthetic where the others were given; not known when empty.
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
    private: tuple[str, ...] = ()

    def with_options(self, options: CompareOptions) -> Self:
        """The columns to cross, and those that are private."""
        return replace(self, columns=options.scatter or self.columns, private=options.private or self.private)

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
        value, null = correlation(p, q), _shares_diluted(cells.a, cells.b)
        title, dealt = " x ".join(cells.columns), self._dealt(a, b, cells.columns, rng)
        return Result(
            self.name,
            value,
            null,
            f"The shares of the {len(p):,} categories of {title} correlate by {value:.4f}"
            + ("." if null is None else f"; two samples of one population would by about {null:.4f}.")
            + ("" if dealt is None else f" The same private values dealt out at random would by {dealt:.4f}."),
            table,
            parts={
                "columns": title,
                "dealt_at_random": dealt,
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
        names = in_both(a, b)
        first = _private(names, self.private)
        for name in (*first, *(n for n in names if n not in first)):
            if a.schema.size([name]) > 1 and a.schema.size([*chosen, name]) <= 2 * a.rows:
                chosen.append(name)
        if not chosen:
            raise DoesNotApply("the tables share no column that is small enough to cross")
        return tuple(chosen)

    def _dealt(
        self, a: CodedTable, b: CodedTable, columns: tuple[str, ...], rng: np.random.Generator
    ) -> float | None:
        """The correlation if B's private values were dealt out anew: what the given columns reach alone."""
        mine = [c for c in columns if c in self.private]
        if not mine or len(mine) == len(columns):
            return None
        anew = b.frame.select(mine)[rng.permutation(b.rows)]
        cells = joint_cells(a, CodedTable(b.schema, b.frame.with_columns(anew)), columns)
        return correlation(*cells.shares)

    def _figure(self, a: CodedTable, cells: Cells, rng: np.random.Generator) -> Figure:
        n = len(cells.a)
        some = np.arange(n) if n <= _CATEGORIES_DRAWN else np.sort(rng.choice(n, _CATEGORIES_DRAWN, replace=False))
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


def _shares_diluted(a: Counts, b: Counts) -> float | None:
    """The correlation left when two samples follow the same shares: the true variance over the two noisy ones."""
    n, m = int(a.sum()), int(b.sum())
    pooled = (a + b) / (n + m)
    scatter = float(np.mean(pooled * (1 - pooled)))
    between = float(np.var(pooled)) - scatter / (n + m)
    if between <= 0:
        return None
    noise = [scatter / size for size in (n, m)]
    return between / float(np.sqrt((between + noise[0]) * (between + noise[1])))
