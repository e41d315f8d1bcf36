"""Figures told by one measured table, each with the standard deviation of its parts.

A figure is a function of a few moments of the rows, f(sum of M): a mean is the sum of y over the sum of 1; a
coefficient is told by the moments of two residuals.  The gate measured how many rows lie in each cell of a table; how
large the moments of a row are on average within a cell is taken from reference rows.  So the estimate is
f(sum over cells of noisy count x mean of M).  Its error has three parts:

- the noise, whose law is known: to first order a sum over cells;
- the sampling of the confidential rows, from the spread of a row's first-order effect among reference rows;
- what the cells leave out, where the reference differs from the confidential rows.  It is played: the reference is
  split in two parts that have drifted apart as past tables had from their relatives, one in each role, without noise.

Which table?  The one with the least of all three, as far as it can be told at once; and only one whose cells tell
most of how the figure varies from row to row.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Protocol, final

import numpy as np

from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.least_squares import designs, score_parts
from hedgerow.inference.evidence import NoisyTable
from hedgerow.inference.reference import Reference
from hedgerow.public import CodedTable, Floats, Places
from hedgerow.stand_in import DRIFT, drift_score, split_rows
from hedgerow.uses import Coefficient

SPLITS = 12
"""Times that the reference is split to see what the cells leave out."""
_CAUTION = 10.0  # sampling variances: what the cells leave out is taken to err so much while tables are compared
_SMOOTHING = 4.0  # rows of the group's mean that every cell is given
_SURE = 4.0  # standard deviations of its noise that the size of a group must have
_DROWNED = 10.0  # sampling deviations: a figure whose noise is larger is not told
_FEWEST = 30


@final
@dataclass(frozen=True, eq=False)
class RowMoments:
    """Moments of every row of a table, or of every person, a line for each, and the figure that sums of them give."""

    lines: Floats
    value: Callable[[Floats], float]


class Moments(Protocol):
    """A figure by its moments; ``tells`` is the share of the variance of a row's effect that cells must tell."""

    @property
    def tells(self) -> float:
        """How much cells must tell."""

    def of(self, table: CodedTable) -> RowMoments | None:
        """The moments of the rows of ``table``; None where they do not determine the figure."""


@final
@dataclass(frozen=True)
class RatioMoments:
    """A mean of numbers over the rows that have one."""

    numbers: Callable[[CodedTable], Floats]
    tells: float = 0.5

    def of(self, table: CodedTable) -> RowMoments | None:
        """The number, and whether there is one."""
        y = self.numbers(table)
        known = np.isfinite(y)
        return (
            RowMoments(np.stack([np.where(known, y, 0.0), known.astype(np.float64)]), _ratio) if known.any() else None
        )


def _ratio(sums: Floats) -> float:
    return float(sums[0] / sums[1]) if sums[1] > 0 else float("nan")


@final
@dataclass(frozen=True)
class ScoreMoments:
    """A coefficient by the moments of the residuals that a reference leaves of its term and of the response."""

    use: Coefficient
    tells: float = 0.7

    def of(self, table: CodedTable) -> RowMoments | None:
        """Products and means of both residuals, so that neither need have mean 0 where it is applied."""
        formula, name = self.use.bound(table.schema)
        try:
            (design,) = designs(formula, [table], table.schema)
            found = score_parts(design, name) if design.rows > 1 else None
        except DoesNotApply:
            return None
        if found is None:
            return None
        d, e, term = found.alone, found.left, found.term
        lines = np.zeros((6, table.rows))
        lines[:, found.origin] = d * e, d, e, d * term, term, np.ones(len(d))

        def value(sums: Floats) -> float:
            if sums[5] <= 0:
                return float("nan")
            de, mean_d, mean_e, dt, mean_t = sums[:5] / sums[5]
            below = dt - mean_d * mean_t
            return float(found.value + (de - mean_d * mean_e) / below) if below > 0 else float("nan")

        return RowMoments(lines, value)


@final
@dataclass(frozen=True, eq=False)
class Told:
    """What one table tells of the figure of a group.

    Attributes:
        value: the estimate.
        noise, sampling: standard deviations.
        unseen: the share of the variance of a row's effect within cells, that the table does not see.
        table: the table.
    """

    value: float
    noise: float
    sampling: float
    unseen: float
    table: NoisyTable

    @property
    def loss(self) -> float:
        """By what tables are compared."""
        return self.noise**2 + _CAUTION * self.unseen * self.sampling**2


def told_by(
    table: NoisyTable, moments: Moments, reference: Reference, by: tuple[str, ...], group: int
) -> Told | None:
    """What ``table`` tells of a figure in one group; None where it does not tell most of it."""
    here = np.flatnonzero(table.places(reference.told(by)) == reference.group(by, group))
    counts = table.counts[here]
    total, spread = float(counts.sum()), sqrt(table.variance * len(here))
    part = reference.members(by, group)
    if total < max(_SURE * spread, 1.0) or part.units.rows < _FEWEST:
        return None
    found = _moments_of(part, moments, by, group)
    if found is None:
        return None
    cells = _position(here, table.cells(part.units))
    means = _cell_means(found.lines, cells, len(here))
    sums = means @ counts
    value, slope = found.value(sums), _slope(found.value, sums)
    effect, own = slope @ found.lines, slope @ means
    whole = float(effect @ effect) / len(effect)
    seen = float((own[cells] ** 2).mean())
    if not np.isfinite(value) or whole <= 0:
        return None
    unseen = max(1 - seen / whole, 0.0)
    noise = sqrt(table.variance * float(own @ own))
    told = Told(value, noise, sqrt(total * whole), unseen, table)
    return told if unseen <= 1 - moments.tells and noise <= _DROWNED * told.sampling else None


def best(
    tables: Iterable[NoisyTable], moments: Moments, reference: Reference, by: tuple[str, ...], group: int
) -> Told | None:
    """The table that tells most of a figure; None where none tells enough."""
    found = []
    for t in tables:
        if t.covers(reference.told(by)) and t.reads(reference.units):
            told = told_by(t, moments, reference, by, group)
            found += [told] if told is not None else []
    return min(found, key=lambda f: f.loss, default=None)


def left_out(table: NoisyTable, moments: Moments, reference: Reference, by: tuple[str, ...], group: int) -> float:
    """The root mean square error of the figure when the parts of a drifted split play both tables, without noise."""
    rng = np.random.Generator(np.random.PCG64(0))  # the same splits for all figures
    part = reference.members(by, group)
    here = np.flatnonzero(table.places(reference.told(by)) == reference.group(by, group))
    cells, errors = _position(here, table.cells(part.units)), []
    units = part.units.rows
    half = (units // 2, units - units // 2)
    for _ in range(SPLITS):
        apart = DRIFT * drift_score(part.units, rng)
        ours, theirs = split_rows(units, half, None, rng, log_odds=apart)
        true, known = (_moments_of(part.take(side), moments, by, group) for side in (ours, theirs))
        if true is None or known is None:
            continue
        means = _cell_means(known.lines, cells[theirs], len(here))
        found = known.value(means @ np.bincount(cells[ours], minlength=len(here)))
        errors.append(found - true.value(true.lines.sum(axis=1)))
    return float(np.sqrt(np.mean(np.square(errors)))) if errors else float("nan")


def _moments_of(part: Reference, moments: Moments, by: tuple[str, ...], group: int) -> RowMoments | None:
    """The moments of every unit: of its rows in the group, summed."""
    if part.who is None:
        return moments.of(part.rows)
    inside = np.flatnonzero(part.rows.cells(by) == group)
    found = moments.of(part.rows.take(inside)) if len(inside) else None
    if found is None:
        return None
    sums = [np.bincount(part.who[inside], line, part.units.rows) for line in found.lines]
    return RowMoments(np.stack(sums), found.value)


def exactly(moments: Moments, reference: Reference, by: tuple[str, ...], group: int) -> tuple[float, float] | None:
    """A figure of rows that are all known, and its sampling deviation; None where they do not determine it."""
    rows = np.flatnonzero(reference.rows.cells(by) == group)
    part = reference.take(rows if reference.who is None else np.unique(reference.who[rows]))
    found = _moments_of(part, moments, by, group) if part.units.rows else None
    if found is None:
        return None
    sums = found.lines.sum(axis=1)
    effect = _slope(found.value, sums) @ found.lines
    return found.value(sums), sqrt(float(effect @ effect))


def _position(here: Places, cells: Places) -> Places:
    """The position of each of ``cells`` in ``here``, which is sorted and has them all."""
    return np.asarray(np.searchsorted(here, cells))


def _cell_means(lines: Floats, cells: Places, size: int) -> Floats:
    """The mean of each moment in each cell, drawn a little to the mean of all: a cell without rows has that."""
    rows = np.bincount(cells, minlength=size) + _SMOOTHING
    all_rows = lines.mean(axis=1, keepdims=True)
    sums = np.stack([np.bincount(cells, line, size) for line in lines])
    return np.asarray((sums + _SMOOTHING * all_rows) / rows)


def _slope(value: Callable[[Floats], float], sums: Floats) -> Floats:
    """The slope of a smooth function, by central differences."""
    step = 1e-5 * np.maximum(np.abs(sums), 1e-3 * np.abs(sums).max())
    out = np.zeros(len(sums))
    for i, h in enumerate(step):
        up, down = sums.copy(), sums.copy()
        up[i] += h
        down[i] -= h
        out[i] = (value(up) - value(down)) / (2 * h)
    return out
