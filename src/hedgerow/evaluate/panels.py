"""The four panels of the RDT reports: joint categories side by side (a) and against each other (b); slopes (c) and
correlations (d) between levels of different columns.

Levels are yes-no indicators, and every pair of them is taken at once.  For indicators x and y the least-squares slope
of y on x is P(y | x) - P(y | not x), and their correlation is that slope times sd(x) / sd(y): the identity that
RDT-2018 states.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.plan import CountPlan
from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.cells import Cells, expected_distance, in_both, joint_cells, like_sample
from hedgerow.public import Counts, Marginal, shares

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


_CATEGORIES_DRAWN = 2000


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
        value, null = _correlation(p, q), _shares_diluted(cells.a, cells.b)
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


Matrix = npt.NDArray[np.float64]
MOST = 3000
"""The most levels of all columns together; the widest columns are left out beyond it."""
_PAIRS_DRAWN = 3000
_Vector = npt.NDArray[np.float64]


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


@dataclass(frozen=True)
class AbstractLevelScatter(AbstractMetric):
    """How far what ties two levels together is the same in both tables, over all pairs of levels.

    Attributes:
        columns: whose levels; all columns that both tables have, by default.
        least: a level counts only with at least so many rows in each table; the slope on a rarer one is chance.
    """

    what: ClassVar[Literal["slope", "correlation"]]
    scale = Scale(-1, 1, 1, "correlation of the points")
    null = "what two samples of one population would give: sampling variance of each number dilutes 1"
    columns: tuple[str, ...] | None = None
    least: int = 20

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The agreement of all pairs, and the pairs furthest apart in units of chance."""
        pairs = level_pairs(a, b, self.columns)
        x, y = self._places(pairs)
        if len(x) < 3:
            raise DoesNotApply("fewer than three pairs of levels occur often enough in both tables")
        one, other = (getattr(t, self.what)[x, y] for t in (pairs.a, pairs.b))
        noise = [getattr(t, self.what + "_variance")[x, y] for t in (pairs.a, pairs.b)]
        band = np.sqrt(noise[0] + noise[1])
        away = np.divide(other - one, band, out=np.zeros(len(x)), where=band > 0)
        value = _correlation(one, other)
        rms, chance = float(np.sqrt(np.mean((other - one) ** 2))), float(np.sqrt(np.mean(band**2)))
        order = np.argsort(-np.abs(away), kind="stable")[:50]
        table = pl.DataFrame(
            {
                "pair": [pairs.label(i, j) for i, j in zip(x[order].tolist(), y[order].tolist(), strict=True)],
                "a": one[order],
                "b": other[order],
                "chances_away": away[order],
            }
        )
        null = _diluted(one, noise)
        return Result(
            self.name,
            value,
            null,
            f"Over {len(x):,} pairs of levels the {self.what}s of the tables correlate by {value:.3f}"
            + (f" (two samples of one population: about {null:.3f})" if null is not None else "")
            + f"; they differ by {rms:.3f}, of which chance explains {chance:.3f}.",
            table,
            parts={
                "pairs": len(x),
                "rms_difference": rms,
                "rms_chance": chance,
                "line": float(np.dot(one, other) / max(np.dot(one, one), 1e-300)),
                "beyond_chance": float(np.mean(np.abs(away) > 1.96)),
            },
            figures=(self._figure(pairs, (x, y), one, other, rng),),
            notes=self._notes(pairs),
        )

    def _notes(self, pairs: TwoLevelPairs) -> tuple[str, ...]:
        rare = int((np.minimum(pairs.a.one, pairs.b.one) < self.least).sum())
        said = [f"{rare} of {len(pairs.labels)} levels have fewer than {self.least} rows in a table"] if rare else []
        return tuple(said + [f"{name} is left out: too many levels" for name in pairs.left_out])

    def _places(self, pairs: TwoLevelPairs) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        often = np.minimum(pairs.a.one, pairs.b.one) >= self.least
        keep = pairs.usable & np.outer(often, often)
        return np.nonzero(np.triu(keep) if self.what == "correlation" else keep)  # type: ignore[return-value]

    def _figure(
        self,
        pairs: TwoLevelPairs,
        places: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]],
        one: _Vector,
        other: _Vector,
        rng: np.random.Generator,
    ) -> Figure:
        n = len(one)
        some = np.arange(n) if n <= _PAIRS_DRAWN else np.sort(rng.choice(n, _PAIRS_DRAWN, replace=False))
        x, y = (p[some].tolist() for p in places)
        data = pl.DataFrame(
            {
                "label": [pairs.label(i, j) for i, j in zip(x, y, strict=True)],
                "group": [pairs.names[pairs.columns[j]] for j in y],
                "a": one[some],
                "b": other[some],
            }
        )
        return Figure("scatter", self.title, data, x=f"{self.what} in A", y=f"{self.what} in B")


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


def _correlation(one: _Vector, other: _Vector) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(one, other)[0, 1])


def _diluted(one: _Vector, noise: list[_Vector]) -> float | None:
    """The correlation to expect of two samples: the variance that is not noise, over both with their noise."""
    first, second = (float(np.mean(v)) for v in noise)
    between = float(np.var(one)) - first
    return None if between <= 0 else between / float(np.sqrt((between + first) * (between + second)))
