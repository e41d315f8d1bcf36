"""Panels (c) and (d) of the RDT reports: slopes and correlations between levels of different columns.

Levels are yes-no indicators, and every pair of them is taken at once.  For indicators x and y the least-squares slope
of y on x is P(y | x) - P(y | not x), and their correlation is that slope times sd(x) / sd(y): the identity that
RDT-2018 states.

Where private columns are attached to given rows, pairs of given columns are as they were given, whatever is attached.
So who knows the private columns scores what ties them to the given ones, and shows the rest apart.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.plan import CountPlan
from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import correlation, in_both
from hedgerow.public import Marginal

Matrix = npt.NDArray[np.float64]
MOST = 3000
"""The most levels of all columns together; the widest columns are left out beyond it."""
_PAIRS_DRAWN = 3000
Vector = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class LevelPairs:
    """How often each level, and each pair of levels of different columns, occurs in one table.

    Attributes:
        rows: of the table.
        one: rows of each level.
        both: rows that have both levels of a pair, as a square matrix; only pairs of different columns count.
    """

    rows: int
    one: Matrix
    both: Matrix

    @cached_property
    def slope(self) -> Matrix:
        """The slope of level j (y) on level i (x), at place [i, j]: P(y | x) - P(y | not x)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            given, without = self._conditional
            return np.asarray(given - without)

    @cached_property
    def correlation(self) -> Matrix:
        """The correlation of the two indicators."""
        p = self.one / self.rows
        spread = np.sqrt(p * (1 - p))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.both / self.rows - np.outer(p, p)) / np.outer(spread, spread))

    @cached_property
    def slope_variance(self) -> Matrix:
        """The sampling variance of each slope; shares are drawn in by half a row, so that none counts as certain."""
        n, rest = self.one[:, None], self.rows - self.one[:, None]
        given = (self.both + 0.5) / (n + 1)
        without = (self.one[None, :] - self.both + 0.5) / (rest + 1)
        return np.asarray(given * (1 - given) / (n + 1) + without * (1 - without) / (rest + 1))

    @cached_property
    def correlation_variance(self) -> Matrix:
        """The sampling variance of each correlation, from that of the slope by the identity."""
        p = self.one / self.rows
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.slope_variance * np.outer(p * (1 - p), 1 / (p * (1 - p))))

    @property
    def _conditional(self) -> tuple[Matrix, Matrix]:
        n = self.one[:, None]
        return self.both / n, (self.one[None, :] - self.both) / (self.rows - n)


@final
@dataclass(frozen=True, eq=False)
class TwoLevelPairs:
    """The pairs of both tables and what they are called.

    Attributes:
        a: of table A.
        b: of table B.
        columns: the column of each level, as a place in ``names``.
        names: of the columns.
        labels: of the levels.
        left_out: columns that were too wide.
    """

    a: LevelPairs
    b: LevelPairs
    columns: npt.NDArray[np.int64]
    names: tuple[str, ...]
    labels: tuple[str, ...]
    left_out: tuple[str, ...]

    @cached_property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Pairs of levels of different columns, both of which vary in both tables."""
        varies = np.logical_and.reduce([(t.one > 0) & (t.one < t.rows) for t in (self.a, self.b)])
        return np.asarray((self.columns[:, None] != self.columns[None, :]) & np.outer(varies, varies))

    def label(self, i: int, j: int) -> str:
        """What a pair is called: the level that is explained, and by which."""
        names = [f"{self.names[self.columns[k]]}={self.labels[k]}" for k in (j, i)]
        return " on ".join(names)


def level_pairs(a: CodedTable, b: CodedTable, columns: tuple[str, ...] | None = None) -> TwoLevelPairs:
    """All pairs of levels of ``columns`` (all that both tables have), counted in both tables."""
    names = [n for n in in_both(a, b, columns) if a.schema.size([n]) > 1]
    left_out = []
    while sum(a.schema.shape(names)) > MOST:
        left_out.append(names.pop(int(np.argmax(a.schema.shape(names)))))
    if len(names) < 2:
        raise DoesNotApply("the tables share fewer than two columns whose levels could be paired")
    return TwoLevelPairs(
        _pairs(a, names),
        _pairs(b, names),
        np.repeat(np.arange(len(names)), a.schema.shape(names)),
        tuple(names),
        tuple(label for n in names for label in a.schema.cell_labels(n)),
        tuple(left_out),
    )


def _pairs(table: CodedTable, names: list[str]) -> LevelPairs:
    sizes = table.schema.shape(names)
    start = np.cumsum([0, *sizes])
    both = np.zeros((start[-1], start[-1]))
    order = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    plan = CountPlan([Marginal((names[i], names[j])) for i, j in order], table.schema.coding)
    for (i, j), counts in zip(order, plan.split(plan.count(table.codes(plan.columns))), strict=True):
        block = counts.reshape(sizes[i], sizes[j])
        both[start[i] : start[i + 1], start[j] : start[j + 1]] = block
        both[start[j] : start[j + 1], start[i] : start[i + 1]] = block.T
    one = np.concatenate(
        [both[start[i] : start[i + 1], start[k := (i == 0) * 1] : start[k + 1]].sum(1) for i in range(len(names))]
    )
    return LevelPairs(table.rows, one, both)


@final
@dataclass(frozen=True, eq=False)
class _Points:
    """What ties some pairs of levels together in both tables, and the variance that chance gives it.

    Attributes:
        x: the level that explains, of each pair.
        y: the level that is explained.
        one: the number of table A.
        other: of table B.
        noise: the sampling variance of both.
    """

    x: npt.NDArray[np.intp]
    y: npt.NDArray[np.intp]
    one: Vector
    other: Vector
    noise: tuple[Vector, Vector]

    def where(self, kept: npt.NDArray[Any]) -> "_Points":
        """Some of them."""
        noise = (self.noise[0][kept], self.noise[1][kept])
        return _Points(self.x[kept], self.y[kept], self.one[kept], self.other[kept], noise)

    @property
    def value(self) -> float:
        """How the numbers of the two tables correlate."""
        return correlation(self.one, self.other)

    @property
    def null(self) -> float | None:
        """How two samples would: the variance that is not noise, over both with their noise."""
        first, second = (float(np.mean(v)) for v in self.noise)
        between = float(np.var(self.one)) - first
        return None if between <= 0 else between / float(np.sqrt((between + first) * (between + second)))

    @property
    def difference(self) -> float:
        """By how much the numbers differ: the root of the mean square."""
        return float(np.sqrt(np.mean((self.other - self.one) ** 2)))

    @property
    def chance(self) -> float:
        """By how much those of two samples would."""
        return float(np.sqrt(np.mean(self.noise[0] + self.noise[1])))

    @property
    def away(self) -> Vector:
        """Each difference in units of chance."""
        band = np.sqrt(self.noise[0] + self.noise[1])
        return np.divide(self.other - self.one, band, out=np.zeros(len(band)), where=band > 0)


@dataclass(frozen=True)
class AbstractLevelScatter(AbstractMetric):
    """How far what ties two levels together is the same in both tables, over pairs of levels of different columns.

    Where private columns are known, each has a number of its own, from its pairs with given columns; the worst is the
    metric's.  Other pairs are shown apart: given columns are as they were given.

    Attributes:
        columns: whose levels; all columns that both tables have, by default.
        private: columns that are synthetic where the others were given; not known when empty.
        least: a level counts only with at least so many rows in each table; the slope on a rarer one is chance.
    """

    what: ClassVar[Literal["slope", "correlation"]]
    scale = Scale(-1, 1, 1, "correlation of the points")
    null = "what two samples of one population would give: sampling variance of each number dilutes 1"
    columns: tuple[str, ...] | None = None
    private: tuple[str, ...] = ()
    least: int = 20

    def with_options(self, options: CompareOptions) -> Self:
        """The columns that are private."""
        return replace(self, private=options.private or self.private)

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The agreement of the pairs that are scored, and those furthest apart in units of chance."""
        pairs = level_pairs(a, b, self.columns)
        points = self._points(pairs)
        if len(points.x) < 3:
            raise DoesNotApply("fewer than three pairs of levels occur often enough in both tables")
        mine = np.isin(pairs.names, self.private)
        if mine.any() and not mine.all():
            return self._attached(pairs, points, mine, rng)
        order = np.argsort(-np.abs(points.away), kind="stable")[:50]
        far = points.where(order)
        table = pl.DataFrame(
            {
                "pair": [pairs.label(i, j) for i, j in zip(far.x.tolist(), far.y.tolist(), strict=True)],
                "a": far.one,
                "b": far.other,
                "chances_away": far.away,
            }
        )
        value, null = points.value, points.null
        return Result(
            self.name,
            value,
            null,
            f"Over {len(points.x):,} pairs of levels the {self.what}s of the tables correlate by {value:.3f}"
            + (f" (two samples of one population: about {null:.3f})" if null is not None else "")
            + f"; they differ by {points.difference:.3f}, of which chance explains {points.chance:.3f}.",
            table,
            parts=self._parts(points),
            figures=(self._figure(pairs, points, self.title, rng),),
            notes=self._notes(pairs),
        )

    def _attached(
        self, pairs: TwoLevelPairs, points: _Points, mine: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> Result:
        """A number for each private column, from its pairs with given ones; the rest apart."""
        of_x, of_y = pairs.columns[points.x], pairs.columns[points.y]
        crossed = mine[of_x] != mine[of_y]
        own, other = np.where(mine[of_x], of_x, of_y), np.where(mine[of_x], of_y, of_x)
        each, rows = list[tuple[str, float, float | None]](), list[dict[str, Any]]()
        for p in np.flatnonzero(mine).tolist():
            name, here = pairs.names[p], crossed & (own == p)
            scored = points.where(here)
            if len(scored.x) >= 3 and np.isfinite(scored.value):
                each.append((name, scored.value, scored.null))
            for g in np.flatnonzero(~mine).tolist():
                rows.append(_row(name, pairs.names[g], points.where(here & (other == g)), scored=True))
        if not each:
            raise DoesNotApply("fewer than three pairs of a private and a given level occur often enough")
        rows.sort(key=lambda r: r["chance"] / max(r["difference"], 1e-300))
        among = {kind: points.where(~crossed & (mine[of_x] == (kind == "private"))) for kind in ("private", "given")}
        rows += [_row(f"{kind} columns", "each other", p, scored=False) for kind, p in among.items()]
        apart = [f"{len(p.x):,} pairs of {kind} columns with each other" for kind, p in among.items() if len(p.x)]
        scored, worst = points.where(crossed), min(each, key=lambda e: e[1])
        told = " and ".join(
            f"{value:.3f} for {name}" + ("" if null is None else f" (two samples: about {null:.3f})")
            for name, value, null in each
        )
        figures = [self._figure(pairs, scored, f"{self.title}: private with given columns", rng, own[crossed])]
        figures += [
            self._figure(pairs, p, f"Not scored: {kind} columns with each other", rng)
            for kind, p in among.items()
            if len(p.x)
        ]
        return Result(
            self.name,
            worst[1],
            worst[2],
            f"The {self.what}s that tie a private level to a given one correlate by {told}; they differ by "
            f"{scored.difference:.3f}, of which chance explains {scored.chance:.3f}."
            + (f" Not scored: {' and '.join(apart)}." if apart else ""),
            pl.DataFrame([r for r in rows if r["pairs"]], infer_schema_length=None),
            parts={**self._parts(scored), "pairs_apart": sum(len(p.x) for p in among.values())},
            figures=tuple(figures),
            notes=self._notes(pairs),
            each=tuple(each),
        )

    def _points(self, pairs: TwoLevelPairs) -> _Points:
        often = np.minimum(pairs.a.one, pairs.b.one) >= self.least
        keep = pairs.usable & np.outer(often, often)
        x, y = np.nonzero(np.triu(keep) if self.what == "correlation" else keep)
        one, other = (getattr(t, self.what)[x, y] for t in (pairs.a, pairs.b))
        noise = [getattr(t, self.what + "_variance")[x, y] for t in (pairs.a, pairs.b)]
        return _Points(x, y, one, other, (noise[0], noise[1]))

    def _parts(self, points: _Points) -> dict[str, float | int]:
        return {
            "pairs": len(points.x),
            "rms_difference": points.difference,
            "rms_chance": points.chance,
            "line": float(np.dot(points.one, points.other) / max(np.dot(points.one, points.one), 1e-300)),
            "beyond_chance": float(np.mean(np.abs(points.away) > 1.96)),
        }

    def _notes(self, pairs: TwoLevelPairs) -> tuple[str, ...]:
        rare = int((np.minimum(pairs.a.one, pairs.b.one) < self.least).sum())
        said = [f"{rare} of {len(pairs.labels)} levels have fewer than {self.least} rows in a table"] if rare else []
        return tuple(said + [f"{name} is left out: too many levels" for name in pairs.left_out])

    def _figure(
        self,
        pairs: TwoLevelPairs,
        points: _Points,
        title: str,
        rng: np.random.Generator,
        group: npt.NDArray[np.int64] | None = None,
    ) -> Figure:
        """The pairs as points, those of one column together: of the level that is explained, or of ``group``."""
        n = len(points.x)
        some = np.arange(n) if n <= _PAIRS_DRAWN else np.sort(rng.choice(n, _PAIRS_DRAWN, replace=False))
        shown, of = points.where(some), pairs.columns[points.y] if group is None else group
        data = pl.DataFrame(
            {
                "label": [pairs.label(i, j) for i, j in zip(shown.x.tolist(), shown.y.tolist(), strict=True)],
                "group": [pairs.names[c] for c in of[some]],
                "a": shown.one,
                "b": shown.other,
            }
        )
        return Figure("scatter", title, data, x=f"{self.what} in A", y=f"{self.what} in B")


def _row(name: str, other: str, points: _Points, *, scored: bool) -> dict[str, Any]:
    """How the levels of one column go with those of another; without a correlation where two points make a line."""
    n = len(points.x)
    known = n >= 3 and np.isfinite(points.value)
    return {
        "private": name,
        "with": other,
        "scored": scored,
        "pairs": n,
        "correlation": points.value if known else None,
        "by_chance": points.null if known else None,
        "difference": points.difference if n else 0.0,
        "chance": points.chance if n else 0.0,
    }


@final
@dataclass(frozen=True)
class Slopes(AbstractLevelScatter):
    """The least-squares slope of every level on every level of another column."""

    name, what = "slopes", "slope"
    title = "Slopes between levels (panel c)"
    reading = (
        "A slope is a difference of shares: of y among rows with x, and without. Points on the line mean that "
        "such differences, as the share of women in an agency against the rest, are kept."
    )


@final
@dataclass(frozen=True)
class Correlations(AbstractLevelScatter):
    """The correlation of every pair of levels of different columns."""

    name, what = "correlations", "correlation"
    title = "Correlations between levels (panel d)"
    reading = "Points on the line mean that levels go together in the synthetic table as they do in the other."
