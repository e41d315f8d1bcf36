"""A figure of rows by a few moments of each row: means, and coefficients of least squares."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.least_squares import ScoreParts, designs, score_parts
from hedgerow.inference.evidence import NoisyTable
from hedgerow.public import CodedTable, Floats, Places
from hedgerow.uses import Coefficient, PersonRate


@final
@dataclass(frozen=True, eq=False)
class RowMoments:
    """Moments of every row of a table, or of every person, a line for each, and the figure that sums of them give."""

    lines: Floats
    value: Callable[[Floats], float]


class Moments(Protocol):
    """A figure by its moments.

    ``tells`` is the share of the variance of a row's effect that cells must tell; of the lines of moments the first
    ``given`` are those of columns that are known row by row.
    """

    @property
    def tells(self) -> float:
        """How much cells must tell."""

    @property
    def given(self) -> int:
        """How many lines are known."""

    def of(self, table: CodedTable) -> RowMoments | None:
        """The moments of the rows of ``table``; None where they do not determine the figure."""

    def in_parts(self, table: CodedTable) -> Callable[[Places], RowMoments | None]:
        """What ``of`` gives for some rows of ``table``, in their order; what they share is worked out once."""

    def of_cells(self, table: NoisyTable) -> Floats | None:
        """The moments of a row in the middle of each cell; None unless cells are values of the figure's column."""


@final
@dataclass(frozen=True)
class RatioMoments:
    """A mean of numbers over the rows that have one; of a ``column`` alone, if it is named."""

    numbers: Callable[[CodedTable], Floats]
    tells: float = 0.5
    given: int = 0
    column: str = ""

    def of(self, table: CodedTable) -> RowMoments | None:
        """The number, and whether there is one."""
        y = self.numbers(table)
        known = np.isfinite(y)
        return (
            RowMoments(np.stack([np.where(known, y, 0.0), known.astype(np.float64)]), _ratio) if known.any() else None
        )

    def in_parts(self, table: CodedTable) -> Callable[[Places], RowMoments | None]:
        """The same for some rows."""
        whole = self.of(table)

        def of(rows: Places) -> RowMoments | None:
            lines = None if whole is None else whole.lines[:, rows]
            return RowMoments(lines, _ratio) if lines is not None and lines[1].any() else None

        return of

    def of_cells(self, table: NoisyTable) -> Floats | None:
        """The number of the code, and whether it has one."""
        if self.column not in table.columns:
            return None
        codes = pl.DataFrame({self.column: list(table.schema.cell_labels(self.column))}).with_columns(count=1.0)
        found = self.of(CodedTable.of_counts(table.schema, codes))
        return None if found is None else found.lines[:, table.columns[self.column]]


def _ratio(sums: Floats) -> float:
    return float(sums[0] / sums[1]) if sums[1] > 0 else float("nan")


@final
@dataclass(frozen=True)
class ScoreMoments:
    """A coefficient by the moments of the residuals that a reference leaves of its term and of the response."""

    use: Coefficient
    tells: float = 0.7
    given: int = 0

    def of(self, table: CodedTable) -> RowMoments | None:
        """Products and means of both residuals, so that neither need have mean 0 where it is applied."""
        return self.in_parts(table)(np.arange(table.rows))

    def in_parts(self, table: CodedTable) -> Callable[[Places], RowMoments | None]:
        """The same for some rows: the columns are read once, and the model is fitted to the rows alone."""
        parts = _scores(self.use, table)

        def of(rows: Places) -> RowMoments | None:
            found = parts(rows)
            return None if found is None else self._of(*found, len(rows))

        return of

    def of_cells(self, table: NoisyTable) -> Floats | None:
        """None: no cell is a value of a residual."""

    def _of(self, found: ScoreParts, at: Places, rows: int) -> RowMoments:
        """The moments of rows that stand ``at`` these places of so many."""
        d, e, term = found.alone, found.left, found.term
        lines = np.zeros((6, rows))
        lines[:, at] = d * e, d, e, d * term, term, np.ones(len(d))

        def value(sums: Floats) -> float:
            if sums[5] <= 0:
                return float("nan")
            de, mean_d, mean_e, dt, mean_t = sums[:5] / sums[5]
            below = dt - mean_d * mean_t
            return float(found.value + (de - mean_d * mean_e) / below) if below > 0 else float("nan")

        return RowMoments(lines, value)


def _scores(use: Coefficient, table: CodedTable) -> Callable[[Places], tuple[ScoreParts, Places] | None]:
    """The model fitted to some rows of ``table``: the parts of its score, and the places of the rows that it has."""
    formula, name = use.bound(table.schema)
    try:
        (whole,) = designs(formula, [table], table.schema)
    except DoesNotApply:
        return lambda rows: None

    def of(rows: Places) -> tuple[ScoreParts, Places] | None:
        place = np.full(table.rows, -1, np.int64)
        place[rows] = np.arange(len(rows))
        at = place[whole.origin]
        design = whole.where(at >= 0)
        try:
            found = score_parts(design, name) if design.rows > 1 else None
        except DoesNotApply:
            found = None
        return None if found is None else (found, at[at >= 0])

    return of


@final
@dataclass(frozen=True)
class LabelMoments:
    """The coefficient of a label that was attached to given rows, by how often it lies in bands of their residuals.

    What the given columns leave of the response is known row by row, whatever the labels.  So the product of label
    and residual needs the counts of ``table`` alone; records and their labels say only how much of the label other
    columns tell.  Within bands the share of a label is taken to go on as it goes from band to band: steps would lose
    as much of the coefficient as bands lose of the residual's variance.

    Attributes:
        use: the coefficient.
        table: noisy counts of the label in bands of given columns.
        tells: the share of the residual's variance that lies between bands.
    """

    use: Coefficient
    table: NoisyTable
    tells: float = 0.7
    given: int = 3

    def of(self, table: CodedTable) -> RowMoments | None:
        """Products and means of the term and the residual, then what other columns leave of the term."""
        return self.in_parts(table)(np.arange(table.rows))

    def in_parts(self, table: CodedTable) -> Callable[[Places], RowMoments | None]:
        """The same for some rows; None where the term is not the table's label, or bands tell too little."""
        parts, cells = _scores(self.use, table), self.table.cells(table)
        bands = cells // self.table.schema.size(self.table.question.columns)

        def of(rows: Places) -> RowMoments | None:
            found = parts(rows)
            return None if found is None else self._of(*found, cells[rows], bands[rows])

        return of

    def of_cells(self, table: NoisyTable) -> Floats | None:
        """None: no cell is a value of a residual."""

    def _of(self, found: ScoreParts, at: Places, cells: Places, bands: Places) -> RowMoments | None:
        left = 1 / float(np.mean(found.alone**2))  # of the term's variance, beside the other columns
        known = found.left + found.value * left * found.alone  # what these leave of the response
        band, term = bands[at], found.term
        rows = np.maximum(np.bincount(band), 1)
        middle = (np.bincount(band, known) / rows)[band]
        label = np.zeros(int(cells.max()) + 1)
        label[cells[at]] = term
        between = float(np.var(middle))
        if between < self.tells * float(np.var(known)) or np.abs(label[cells[at]] - term).max() > 0:
            return None
        middle *= float(np.var(known)) / between
        lines = np.zeros((7, len(cells)))
        lines[:, at] = (
            term * middle,
            term,
            middle,
            left * found.alone * term,
            left * found.alone,
            term,
            np.ones(len(at)),
        )

        def value(sums: Floats) -> float:
            if sums[6] <= 0:
                return float("nan")
            te, mean_t, mean_e, dt, mean_d, again = sums[:6] / sums[6]
            below = dt - mean_d * again
            return float((te - mean_t * mean_e) / below) if below > 0 else float("nan")

        return RowMoments(lines, value)


def inside(columns: tuple[str, ...], cell: int) -> Callable[[CodedTable], Floats]:
    """Whether a row lies in a cell."""
    return lambda table: (table.cells(columns) == cell).astype(np.float64)


def last_row_in(use: PersonRate, group: int) -> Callable[[CodedTable], Floats]:
    """Of people whose last row lies in a group, whether it is ever true of them."""
    return lambda table: np.where(table.cells(use.groups) == group, use.of_last_rows(table), np.nan)


def below(of: str, value: float, among: Floats) -> Callable[[CodedTable], Floats]:
    """Whether a row lies at or below a value; below it, if none ``among`` these is larger: all are at or below."""
    under = np.less if value >= among.max() else np.less_equal

    def numbers(table: CodedTable) -> Floats:
        y = table.numbers(of)
        return np.where(np.isfinite(y), under(y, value).astype(np.float64), np.nan)

    return numbers
