"""A synthetic table of counts with labels, margins and standard errors; and ``reconcile``, which makes answers one.

``reconcile`` is weighted least squares in closed form.  A table over columns splits into one part per set of columns:
the grand total, what each column adds, what each pair adds beyond that, and so on (analysis of variance).  Noise that
is equal on all cells of a table is equal and independent in all these parts, so the best estimate of a part is the
mean of every answer that contains it, weighted by precision.  No matrix is built: a million cells take a few sums.

    >>> made = reconcile(np.array([[4.0, 6.0], [5.0, 5.0]]), 1.0, [Margin((), np.array(24.0), 4.0)])
    >>> made.table.tolist(), made.variance((0, 1)), made.variance(())
    ([[4.5, 6.5], [5.5, 5.5]], 0.875, 2.0)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError
from hedgerow.model.base import AbstractTabulation, Expected
from hedgerow.model.tables.fitting import Floats, whole_counts
from hedgerow.public import Marginal, Schema

Axes = tuple[int, ...]
FIGURES = ("count", "standard_error", "low", "high")
"""The columns of a table of counts that are no labels; the last three stand only where noise was added."""
ALL = "(all)"
NORMAL = 1.959963984540054
"""Half the width of a normal 95 % interval, in standard errors."""


@final
@dataclass(frozen=True, eq=False)
class CountTable(AbstractTabulation):
    """Synthetic counts of the cross of ``columns``.

    Attributes:
        schema: what the columns mean.
        columns: the label columns, groups first.
        estimate: possible counts of every cell, flat, last column fastest; they sum to whole numbers by group.
        groups: the first so many columns divide the table; counts are made whole within each group.
        centre: the estimate before it was made possible; intervals are around it. None for a draw.
        deviation: the standard error of each cell of ``centre``. None for a draw, whose law is its own.
        half_width: of the 95 % interval around each cell of ``centre``.
        margin_deviation: the standard error of a margin, by the columns it keeps, where it is known.
        further: further copies of the estimate, of a table that was drawn several times.
        drawn: whether the estimate was drawn by the gate, so that another copy would cost more.
    """

    schema: Schema
    columns: tuple[str, ...]
    estimate: Expected
    groups: int = 0
    centre: Expected | None = None
    deviation: Expected | None = None
    half_width: Expected | None = None
    margin_deviation: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    further: tuple[Expected, ...] = ()
    drawn: bool = False

    def expected(self, question: Marginal) -> Expected:
        """The counts of a table within this one, flat, last column fastest."""
        if missing := [c for c in question.columns if c not in self.columns]:
            raise JobError(f"The table of {' x '.join(self.columns)} cannot tell about {', '.join(missing)}.")
        return self._summed(self.estimate, question.columns)

    @property
    def copies(self) -> int | None:
        """How many copies there are; None: as many as one likes, they differ in how counts are made whole."""
        return 1 + len(self.further) if self.drawn else None

    def counts(self, rng: np.random.Generator, copy: int = 0) -> pl.DataFrame:
        """One row per cell: a column per label column, ``count``, and the interval where there is one."""
        whole = self.whole(rng, copy if self.drawn else 0)
        frame = self._labels(self.columns).with_columns(count=pl.Series(whole, dtype=pl.Int64))
        if self.centre is None or self.deviation is None or self.half_width is None:
            return frame
        return frame.with_columns(*_interval(self.centre, self.deviation, self.half_width))

    def margins(self, counts: pl.DataFrame) -> pl.DataFrame:
        """The total, one-way and two-way margins of ``counts``; a column that is summed over says ``(all)``."""
        whole = counts["count"].to_numpy()
        kept = [m for k in range(min(len(self.columns), 3)) for m in combinations(self.columns, k)]
        frames = []
        for margin in kept:
            frame = self._labels(margin).cast(pl.String) if margin else pl.DataFrame({"_": [0]})
            frame = frame.select(pl.col(c) if c in margin else pl.lit(ALL).alias(c) for c in self.columns)
            frame = frame.with_columns(count=pl.Series(self._summed(whole, margin), dtype=pl.Int64))
            deviation = self.margin_deviation.get(margin)
            if self.centre is not None and deviation is not None:
                centre = self._summed(self.centre, margin)
                error = np.broadcast_to(deviation, len(centre))
                frame = frame.with_columns(*_interval(centre, error, NORMAL * error))
            frames.append(frame)
        return pl.concat(frames, how="diagonal")

    def whole(self, rng: np.random.Generator, copy: int = 0) -> npt.NDArray[np.int64]:
        """The counts as whole numbers, summing group by group to what the estimate sums to."""
        estimate = (self.estimate, *self.further)[copy]
        if self.drawn:
            return np.asarray(np.rint(estimate), np.int64)
        size = len(estimate) // self._group_count
        parts = [estimate[i : i + size] for i in range(0, len(estimate), size)]
        return np.concatenate([whole_counts(p, round(float(p.sum())), rng) for p in parts])

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return self.schema.shape(self.columns)

    @property
    def _group_count(self) -> int:
        return prod(self._shape[: self.groups])

    def _summed(self, counts: npt.NDArray[Any], columns: Sequence[str]) -> npt.NDArray[Any]:
        kept = [self.columns.index(c) for c in columns]
        summed = np.einsum(counts.reshape(self._shape), list(range(len(self._shape))), kept)
        return np.asarray(summed).ravel()

    def _labels(self, columns: Sequence[str]) -> pl.DataFrame:
        """One row per cell of the cross of ``columns``, with its labels."""
        shape = self.schema.shape(columns)
        made = []
        for i, (name, size) in enumerate(zip(columns, shape, strict=True)):
            code = np.tile(np.repeat(np.arange(size, dtype=np.uint32), prod(shape[i + 1 :])), prod(shape[:i]))
            labels = table_labels(self.schema, name)
            made.append(pl.Series(name, labels, dtype=pl.Enum(labels)).gather(code))
        return pl.DataFrame(made)


def table_labels(schema: Schema, name: str) -> tuple[str, ...]:
    """A label per cell of a column as a table of counts writes it: for people, unless two would be the same."""
    labels, texts = schema.column(name).cell_labels, schema.column(name).cell_texts
    return labels if len(set(labels)) == len(labels) else texts


def check_columns(recipe: str, schema: Schema, columns: Sequence[str]) -> None:
    """Refuse a table that cannot be labelled, before anything is asked."""
    plain = [c.name for c in schema.columns]
    wrong = [c for c in columns if c not in plain or c in FIGURES]
    if not columns or wrong or len(set(columns)) < len(columns):
        twice = [c for c in columns if list(columns).count(c) > 1]
        listed = ", ".join(map(repr, wrong or dict.fromkeys(twice)))
        why = f"not possible: {listed}" if listed else "none is named"
        raise JobError(
            f"[{recipe}] needs columns = [...] (in Python: columns=[...] of the recipe), each a column of the\n"
            f"schema and named once; {why}. The schema has: {', '.join(plain)}.\n"
            "No confidential row was read and nothing was spent."
        )


def _interval(centre: Expected, deviation: Expected, half: Expected) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Standard errors and 95 % intervals, cut at zero and rounded outwards (by what is more than float error)."""
    low, high = centre - half, centre + half
    low, high = np.floor(np.round(low, 6, out=low), out=low), np.ceil(np.round(high, 6, out=high), out=high)
    return (
        pl.Series("standard_error", np.round(deviation, 4)),
        pl.Series("low", np.maximum(low, 0, out=low).astype(np.int64)),
        pl.Series("high", np.maximum(high, 0, out=high).astype(np.int64)),
    )


@dataclass(frozen=True, eq=False)
class Margin:
    """A noisy margin of a table: which axes are kept (ascending), its counts, the variance of their noise."""

    axes: Axes
    counts: Floats
    variance: float


@final
@dataclass(frozen=True, eq=False)
class Reconciled:
    """The least-squares table.

    Attributes:
        table: the estimate; its margins are the best estimates of all margins.
        noise: the variance of the noise on each cell of the measured table.
        parts: the variance left in each part that some margin told of, in the same unit.
    """

    table: Floats
    noise: float
    parts: Mapping[Axes, float]

    def variance(self, axes: Axes) -> float:
        """The variance of the noise left on each cell of the margin that keeps ``axes``."""
        return left_variance(self.table.shape, self.noise, self.parts, axes)


def left_variance(shape: Sequence[int], noise: float, parts: Mapping[Axes, float], axes: Axes) -> float:
    """The variance left on each cell of a margin of a table of this shape: known before anything is measured."""
    cells = prod(shape[a] for a in axes)
    gained = sum(
        prod(shape[a] - 1 for a in part) / cells * (noise - left)
        for part, left in parts.items()
        if set(part) <= set(axes)
    )
    return float(max(prod(shape) / cells * (noise - gained), 0.0))


def reconciled_parts(shape: Sequence[int], variance: float, margins: Mapping[Axes, float]) -> dict[Axes, float]:
    """The variance left in each part that a margin tells of; ``margins``: the variance of each by its axes."""
    size = prod(shape)
    return {
        part: 1 / (size * sum(_precisions(shape, variance, margins, part)))
        for part in sorted({p for axes in margins for p in _within(axes)}, key=len)
    }


def _precisions(shape: Sequence[int], variance: float, margins: Mapping[Axes, float], part: Axes) -> list[float]:
    """How precisely the table, then each margin that has the part, tells it."""
    telling = [(axes, v) for axes, v in margins.items() if set(part) <= set(axes)]
    return [1 / (variance * prod(shape)), *(1 / (v * prod(shape[a] for a in axes)) for axes, v in telling)]


def reconcile(table: Floats, variance: float, margins: Sequence[Margin]) -> Reconciled:
    """The table nearest to all answers, each weighted by its precision."""
    made, noise = table.astype(np.float64, copy=bool(margins)), {m.axes: m.variance for m in margins}
    parts = reconciled_parts(table.shape, variance, noise)
    for part in parts:
        precision = _precisions(table.shape, variance, noise, part)
        own = _centred(_kept(table, range(table.ndim), part))
        others = [_centred(_kept(m.counts, m.axes, part)) for m in margins if set(part) <= set(m.axes)]
        better = sum(p * x for p, x in zip(precision, [own, *others], strict=True)) / sum(precision)
        spread = (better - own) * (own.size / table.size)
        made += np.expand_dims(spread, tuple(a for a in range(table.ndim) if a not in part))
    return Reconciled(made, variance, parts)


def _within(axes: Axes) -> Iterable[Axes]:
    return (p for k in range(len(axes) + 1) for p in combinations(axes, k))


def _kept(counts: Floats, axes: Iterable[int], part: Axes) -> Floats:
    """The counts summed over every axis that is not in ``part``."""
    return np.asarray(counts.sum(axis=tuple(i for i, a in enumerate(axes) if a not in part)))


def _centred(counts: Floats) -> Floats:
    """What the counts add beyond all their own margins."""
    for axis in range(counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    return counts
