"""Panels (c) and (d) of the RDT reports: slopes, and correlations, between levels of different columns."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, DoesNotApply, Figure, Result, Scale, Table
from hedgerow.evaluate.levels import TwoLevelPairs, level_pairs
from hedgerow.public.schema import Schema

_POINTS = 3000
_Vector = npt.NDArray[np.float64]


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

    def of(self, a: Table, b: Table, schema: Schema, *, rng: np.random.Generator) -> Result:
        """The agreement of all pairs, and the pairs furthest apart in units of chance."""
        pairs = level_pairs(a, b, schema, self.columns)
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
        some = np.arange(n) if n <= _POINTS else np.sort(rng.choice(n, _POINTS, replace=False))
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
