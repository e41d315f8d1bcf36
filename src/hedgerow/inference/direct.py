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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import final

import numpy as np

from hedgerow.inference.evidence import NoisyTable, drawn_to
from hedgerow.inference.moments import Moments, RowMoments
from hedgerow.inference.reference import Reference
from hedgerow.public import CodedTable, Floats, Places
from hedgerow.stand_in import DRIFT, drift_score, split_rows

SPLITS = 12
"""Times that the reference is split to see what the cells leave out."""
_CAUTION = 10.0  # sampling variances: what the cells leave out is taken to err so much while tables are compared
_SMOOTHING = 4.0  # rows of the group's mean that a cell is given, unless all of its rows are alike
_SURE = 4.0  # standard deviations of its noise that the size of a group must have
_DROWNED = 10.0  # sampling deviations: a figure whose noise is larger is not told
_MISPLACED = 0.5  # deviations within a cell: records that noise placed are taken to be further off on average never
_FEWEST = 30


@final
@dataclass(frozen=True, eq=False)
class Told:
    """What one table tells of the figure of a group.

    Attributes:
        value: the estimate.
        noise, sampling: standard deviations.
        unseen: the share of the variance of a row's effect within cells, that the table does not see.
        table: the table.
        effect: what a row more in each cell of the table does to the estimate.
    """

    value: float
    noise: float
    sampling: float
    unseen: float
    table: NoisyTable
    effect: Floats

    @property
    def loss(self) -> float:
        """By what tables are compared."""
        return self.noise**2 + _CAUTION * self.unseen * self.sampling**2


@final
@dataclass(frozen=True, eq=False)
class GroupFigure:
    """One figure of one group of rows, as reference rows have it.

    Attributes:
        moments: the figure by its moments.
        reference: the rows that say how moments lie within cells.
        by: the columns of the groups.
        group: the group, as a place in the cross of ``by``.
    """

    moments: Moments
    reference: Reference
    by: tuple[str, ...]
    group: int

    @cached_property
    def part(self) -> Reference:
        """The units that may have rows in the group."""
        return self.reference.members(self.by, self.group)

    @cached_property
    def found(self) -> RowMoments | None:
        """The moments of these units."""
        return _moments_of(self.part, self.moments, self.by, self.group)

    def here(self, table: NoisyTable) -> Places:
        """The cells of ``table`` that are of the group."""
        places = table.places(self.reference.told(self.by))
        return np.flatnonzero(places == self.reference.group(self.by, self.group))

    def middles(self, table: NoisyTable) -> Floats | None:
        """The moments in the middle of each of these cells, where cells are values of the figure's own column."""
        found = self.moments.of_cells(table) if self.reference.who is None else None
        return None if found is None else found[:, self.here(table)]

    def told_by(self, table: NoisyTable) -> Told | None:
        """What ``table`` tells of the figure; None where it does not tell most of it."""
        here = self.here(table)
        counts = table.counts[here]
        total, spread = float(counts.sum()), sqrt(table.variance * len(here))
        if total < max(_SURE * spread, 1.0) or self.part.units.rows < _FEWEST or self.found is None:
            return None
        cells = _position(here, table.cells(self.part.units))
        means = _cell_means(self.found.lines, cells, len(here), self.middles(table))
        value, own, whole, unseen = _told(self.found, means, cells, counts)
        if not np.isfinite(value) or whole <= 0:
            return None
        noise = sqrt(table.variance * float(own @ own))
        each = np.zeros(len(table.counts))
        each[here] = own
        told = Told(value, noise, sqrt(total * whole), unseen, table, each)
        return told if unseen <= 1 - self.moments.tells and noise <= _DROWNED * told.sampling else None

    def best(self, tables: Iterable[NoisyTable]) -> Told | None:
        """The table that tells most of the figure; None where none tells enough."""
        found = []
        for t in tables:
            if t.covers(self.reference.told(self.by)) and t.reads(self.reference.units):
                told = self.told_by(t)
                found += [told] if told is not None else []
        return min(found, key=lambda f: f.loss, default=None)

    def beside_all(self, table: NoisyTable, known: Told) -> Told | None:
        """What ``table`` tells of a column that is none of its own, held against all rows.

        Then reference rows alone link cells and values, and may have drifted: pay within grades rises from year to
        year.  The same cells and rows give the figure of all rows, too, which a table of the column has ``known``; by
        what they miss of that the figure of a group is moved, as surveys are benchmarked.
        """
        mine, every = self.told_by(table), GroupFigure(self.moments, self.reference, (), 0).told_by(table)
        if mine is None or every is None:
            return None
        apart = mine.effect - every.effect
        noise = sqrt(table.variance * float(apart @ apart) + known.noise**2)
        return replace(mine, value=mine.value - every.value + known.value, noise=noise, effect=apart)

    def placing(self, table: NoisyTable, codes: CodedTable, counts: Floats, variance: Floats) -> float:
        """The noise in where rows lie within cells, where records say so: these were placed by noisy answers.

        ``codes`` has a row for each code of the figure's column, in this group; ``counts`` says how many rows of all
        groups have it, and ``variance`` is that of the noise on each.  It counts where a wide cell has a thin tail.
        """
        here, lines = self.here(table), self.moments.of(codes)
        if self.found is None or lines is None or not table.reads(codes):
            return 0.0
        cells, own = _position(here, table.cells(codes)), _position(here, table.cells(self.part.units))
        means = _cell_means(self.found.lines, own, len(here), self.middles(table))
        mine = np.maximum(table.counts[here], 0.0)
        slope = _slope(self.found.value, means @ table.counts[here])
        rows = np.maximum(np.bincount(cells, np.maximum(counts, 0.0), len(here)), np.maximum(mine, 1.0))
        effect = slope @ means
        apart, within = slope @ lines.lines - effect[cells], slope @ self.found.lines - effect[own]
        noise = np.bincount(cells, variance * apart**2, len(here)) * (mine / rows) ** 2
        most = np.bincount(own, within**2, len(here)) / np.maximum(np.bincount(own, minlength=len(here)), 1)
        return sqrt(float(np.minimum(noise, most * (_MISPLACED * mine) ** 2).sum()))

    def left_out(self, table: NoisyTable, known: str = "") -> float:
        """The root mean square error when the parts of a drifted split play both tables, without noise.

        Of a ``known`` column the shares of all rows are told, and the reference was drawn to them; so is the part
        that plays it.
        """
        part, here, middles, errors = self.part, self.here(table), self.middles(table), list[float]()
        cells = _position(here, table.cells(part.units))
        moments = _moments_in_parts(part, self.moments, self.by, self.group)
        for ours, theirs in self._halves_drawn_to(known) if known else _drifted_halves(part.units):
            true, other = moments(ours), moments(theirs)
            if true is None or other is None:
                continue
            means = _cell_means(other.lines, cells[theirs], len(here), middles)
            means[: self.moments.given] = _cell_means(true.lines, cells[ours], len(here))[: self.moments.given]
            counts = np.bincount(cells[ours], minlength=len(here)).astype(np.float64)
            found = _told(other, means, cells[theirs], counts)[0]
            errors.append(found - true.value(true.lines.sum(axis=1)))
        return float(np.sqrt(np.mean(np.square(errors)))) if errors else float("nan")

    def _halves_drawn_to(self, column: str) -> Iterator[tuple[Places, Places]]:
        """The group's rows in the parts of each split of all rows, the second drawn to the shares of the first."""
        rows, told = self.reference.units, self.reference.told(self.by)
        inside = rows.cells(told) == self.reference.group(self.by, self.group)
        place, codes = np.where(inside, np.cumsum(inside) - 1, -1), rows.cells((column,))
        for ours, theirs in _drifted_halves(rows):
            mine, others = place[ours], place[theirs[drawn_to(codes[ours], codes[theirs])]]
            yield mine[mine >= 0], others[others >= 0]

    def as_large(self, played: float, told: Told, reference: Reference) -> tuple[float, float]:
        """What halves of these rows ``played``, with the chance of whole tables; and the sampling between cells.

        Chance moves the mean of n rows within cells by the variance w / n.  Two halves of n rows differ by 4 w / n;
        the confidential rows and all of ``reference`` by less, and that is the whole of chance within cells.
        """
        rows, within = float(told.table.counts[self.here(told.table)].sum()), told.unseen * told.sampling**2
        halves = 4 * within * rows / self.part.units.rows
        both = within * (1 + rows / max(reference.units.rows, 1))
        return sqrt(max(played**2 - halves, 0.0) + both), told.sampling * sqrt(max(1 - told.unseen, 0.0))

    def further_than_played(self, table: NoisyTable) -> float:
        """How many times as far the answers lie from the reference, in these cells, as the halves from each other.

        The distance is that of chi-squared; the noise's own share of it is taken off, less one standard deviation.
        """
        here, cells = self.here(table), _position(self.here(table), table.cells(self.part.units))
        counts, size = table.counts[here], len(here)
        share = (np.bincount(cells, minlength=size) + 0.5) / (len(cells) + 0.5 * size)
        noise = table.variance / max(float(counts.sum()), 1.0) ** 2 / share
        far = float(((counts / max(float(counts.sum()), 1.0) - share) ** 2 / share).sum() - noise.sum())
        far += sqrt(2 * float((noise**2).sum()))
        near = []
        for halves in _drifted_halves(self.part.units):
            ours, theirs = (np.bincount(cells[rows], minlength=size) / len(rows) for rows in halves)
            near.append(float(((ours - theirs) ** 2 / share).sum()))
        return sqrt(max(far, 0.0) / max(float(np.mean(near)), 1e-12))

    def told_beside(self, other: "GroupFigure", table: NoisyTable) -> float:
        """The figure by the lines of moments that are given here, and for the rest by the rows of ``other``."""
        if self.found is None or other.found is None:
            return float("nan")
        here, means = self.here(table), []
        for figure in (other, self):
            cells = _position(here, table.cells(figure.part.units))
            means.append(_cell_means(figure.found.lines, cells, len(here)) if figure.found else np.empty(0))
        means[0][: self.moments.given] = means[1][: self.moments.given]
        return self.found.value(means[0] @ table.counts[here])

    def told_apart(self, table: NoisyTable, needed: Iterable[str]) -> bool:
        """Whether cells of people tell each of the labels that the figure needs."""
        labels = [c for c in needed if c not in self.reference.given]
        return self.reference.who is not None and all(c in table.columns for c in labels)

    def relabelled(self, table: NoisyTable) -> float:
        """The root mean square error of the figure of people when labels change places within the cells of facts.

        Given rows are known with all their values; which of the people in a cell of facts have which label is not.
        So the labels of all people of a cell are dealt out among them anew, and each cell keeps its counts.
        """
        true, errors = self._whole(self.reference), []
        for other in _dealt_anew(self.reference, table):
            errors.append(self._whole(other) - true)
        return float(np.sqrt(np.mean(np.square(errors))))

    def _whole(self, reference: Reference) -> float:
        part = reference.members(self.by, self.group)
        found = _moments_of(part, self.moments, self.by, self.group) if part.units.rows else None
        return float("nan") if found is None else found.value(found.lines.sum(axis=1))


def _told(rows: RowMoments, means: Floats, cells: Places, counts: Floats) -> tuple[float, Floats, float, float]:
    """A figure by counts of cells and the means of moments in them, with what a row more in each cell does to it.

    Then the mean square of a row's effect, and the share of it within cells.
    """
    sums = means @ counts
    value, slope = rows.value(sums), _slope(rows.value, sums)
    effect, own = slope @ rows.lines, slope @ means
    whole, seen = float(effect @ effect) / len(effect), float((own[cells] ** 2).mean())
    return value, own, whole, max(1 - seen / whole, 0.0) if whole > 0 else 1.0


def _dealt_anew(reference: Reference, table: NoisyTable) -> list[Reference]:
    """The people with their labels dealt out anew within the cells of facts, so many times. Worked out once."""
    key = "labels dealt anew", table.question
    if key not in reference.units.memo:
        rng, units = np.random.Generator(np.random.PCG64(0)), reference.units
        leaf = table.cells(units) // table.schema.size(table.question.columns)
        at, found = np.argsort(leaf, kind="stable"), []
        for _ in range(SPLITS):
            donor = np.empty(units.rows, np.int64)
            donor[at] = np.lexsort((rng.random(units.rows), leaf))
            found.append(reference.relabelled(donor))
        units.memo[key] = found
    kept: list[Reference] = reference.units.memo[key]
    return kept


def _drifted_halves(units: CodedTable) -> list[tuple[Places, Places]]:
    """The splits of a table in two that drift apart: the same for all figures, and so worked out once."""
    key = "halves that drift apart"
    if key not in units.memo:
        rng, half = np.random.Generator(np.random.PCG64(0)), (units.rows // 2, units.rows - units.rows // 2)
        apart = (DRIFT * drift_score(units, rng) for _ in range(SPLITS))
        units.memo[key] = [split_rows(units.rows, half, None, rng, log_odds=a) for a in apart]
    found: list[tuple[Places, Places]] = units.memo[key]
    return found


def _moments_of(part: Reference, moments: Moments, by: tuple[str, ...], group: int) -> RowMoments | None:
    """The moments of every unit: of its rows in the group, summed."""
    return _moments_in_parts(part, moments, by, group)(np.arange(part.units.rows))


def _moments_in_parts(
    part: Reference, moments: Moments, by: tuple[str, ...], group: int
) -> Callable[[Places], RowMoments | None]:
    """The moments of some units of ``part``: of their rows in the group, summed."""
    if part.who is None:
        return moments.in_parts(part.rows)
    who, (inside,) = part.who, np.nonzero(part.rows.cells(by) == group)
    of_rows = moments.in_parts(part.rows.take(inside)) if len(inside) else lambda rows: None

    def of(units: Places) -> RowMoments | None:
        place = np.full(part.units.rows, -1, np.int64)
        place[units] = np.arange(len(units))
        at = place[who[inside]]
        rows = np.flatnonzero(at >= 0)
        found = of_rows(rows) if len(rows) else None
        if found is None:
            return None
        sums = [np.bincount(at[rows], line, len(units)) for line in found.lines]
        return RowMoments(np.stack(sums), found.value)

    return of


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


def _cell_means(lines: Floats, cells: Places, size: int, middles: Floats | None = None) -> Floats:
    """The mean of each moment in each cell, drawn a little to the mean of all: a cell without rows has that.

    Where cells are values of the very column, they are drawn to their own ``middles``: the mean of all would move
    the tails of a distribution to its middle.  A moment that is the same in all rows of every cell is known, however
    few they are, and is not drawn to anything.
    """
    rows = np.bincount(cells, minlength=size)
    all_rows = lines.mean(axis=1, keepdims=True) if middles is None else middles
    sums = np.stack([np.bincount(cells, line, size) for line in lines])
    plain = np.where(rows > 0, sums / np.maximum(rows, 1), all_rows)
    apart = np.abs(lines - plain[:, cells]).max(axis=1, keepdims=True, initial=0.0)
    known = apart <= 1e-9 * np.abs(lines).max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(np.where(known, plain, (sums + _SMOOTHING * all_rows) / (rows + _SMOOTHING)))


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
