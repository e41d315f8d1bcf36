"""What is measured of a synthetic table: coefficients of a model by group, or joint proportions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError
from hedgerow.experiment.grid import Measure
from hedgerow.planning.quantities import Judged
from hedgerow.public.claim import fit_sums
from hedgerow.public.column import BINNED
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema

Floats = npt.NDArray[np.float64]
_NOTHING = "No confidential row was read and nothing was spent."


@final
@dataclass(frozen=True)
class Reading:
    """One number of one synthetic table beside the authentic one."""

    measure: str
    term: str
    at: str
    authentic: float
    synthetic: float
    error: float


Figures = dict[str, dict[str, float]]
"""For every group the coefficients by name; or, of joint proportions, the share of each cell, under the name ''."""


def figures(measure: Measure, table: Judged) -> Figures:
    """What is measured of records, or of a table of counts."""
    if measure.columns:
        return {"": {str(i): s for i, s in enumerate(_shares(table, measure.columns).tolist()) if s}}
    if table.counts is not None:
        raise JobError(
            f"The recipe gives a table of counts, in which no model can be fitted: leave {measure.name!r} out, and\n"
            f"measure tables: [[measure]] name = '...', columns = [...]. {_NOTHING}"
        )
    formula = Formula.parse(measure.model, measure.reference).bound(table.schema)
    names = wanted(measure, formula, table.schema)
    found = coefficients(formula, table.schema, table.frame, measure.by)
    return {at: {name: fit[name] for name in names} for at, fit in found.items()}


def readings(measure: Measure, authentic: Figures, synthetic: Figures) -> Iterator[Reading]:
    """Everything ``measure`` says of a synthetic table beside the authentic one.

    A coefficient that the synthetic table does not determine counts as if it were 0: leaving it out would favour
    settings that lose whole groups.
    """
    if measure.columns:
        one, two = authentic[""], synthetic[""]
        error = sum(abs(one.get(cell, 0.0) - two.get(cell, 0.0)) for cell in {**one, **two}) / 2
        yield Reading(measure.name, "total variation", "", 0.0, error, error)
        return
    for at, fit in authentic.items():
        for name, a in fit.items():
            b = synthetic.get(at, {}).get(name, float("nan"))
            yield Reading(measure.name, name, at, a, b, abs(a - b) if np.isfinite(b) else abs(a))


def wanted(measure: Measure, formula: Formula, schema: Schema) -> tuple[str, ...]:
    """The coefficients that are measured: those named, or all that compare labels."""
    known = formula.names(schema)
    if unknown := [t for t in measure.terms if t not in known]:
        raise JobError(
            f"The model has no coefficient {', '.join(unknown)}. It has: {', '.join(known[:20])}. {_NOTHING}"
        )
    return measure.terms or tuple(n for n in known if "[" in n) or known


def coefficients(formula: Formula, schema: Schema, frame: pl.DataFrame, by: str) -> dict[str, dict[str, float]]:
    """The model's coefficients in every group of ``by``, or in all rows under the name ''."""
    names = formula.names(schema)
    if not by:
        return {"": dict(zip(names, fit_rows(formula, schema, frame).tolist(), strict=True))}
    groups = frame.partition_by(by, as_dict=True)
    found = {str(key[0]): fit_rows(formula, schema, part) for key, part in groups.items()}
    return {k: dict(zip(names, v.tolist(), strict=True)) for k, v in sorted(found.items())}


def fit_rows(formula: Formula, schema: Schema, frame: pl.DataFrame) -> Floats:
    """Least squares on the rows themselves: numbers as they stand, rows without a number left out.

    Fixed effects are indicators within sums of products, which takes memory for the square of their number: hundreds
    of levels, not thousands.
    """
    forms = (formula.response, *formula.terms)
    number = {t: t.of(_numbers(schema, frame, t.column)) for t in forms if t.form != "labels"}
    keep = np.logical_and.reduce([np.isfinite(x) for x in number.values()])
    labelled = [t.column for t in formula.terms if t.form == "labels"]
    codes = schema.coding.encode(frame.filter(keep), [*labelled, *formula.absorbed])
    pieces: list[_Piece] = []
    for t in formula.terms:
        if t.form == "labels":
            column = schema.column(t.column)
            shown = np.delete(np.arange(column.size), formula.reference(column))
            pieces.append(_Piece(codes[t.column].astype(np.int64), shown, column.size))
        else:
            pieces.append(_Piece.of(number[t][keep]))
    interest = sum(p.width for p in pieces)
    pieces.append(_Piece.of(np.ones(int(keep.sum())), centre=False))
    for c in formula.absorbed:
        pieces.append(_Piece(codes[c].astype(np.int64), np.arange(schema.column(c).size), schema.column(c).size))
    pieces.append(_Piece.of(number[formula.response][keep]))
    return fit_sums(_products(pieces), interest)


@final
@dataclass(frozen=True, eq=False)
class _Piece:
    """Columns of a design: one number, or an indicator for each of the ``shown`` of ``size`` codes."""

    rows: npt.NDArray[Any]
    shown: npt.NDArray[np.int64] | None = None
    size: int = 1

    @classmethod
    def of(cls, number: Floats, *, centre: bool = True) -> "_Piece":
        return cls(number - number.mean() if centre and len(number) else number)

    @property
    def width(self) -> int:
        return 1 if self.shown is None else len(self.shown)

    def times(self, other: "_Piece") -> Floats:
        """The sums of products of these columns with those."""
        if self.shown is None and other.shown is None:
            return np.array([[float(self.rows @ other.rows)]])
        if self.shown is None:
            return other.times(self).T
        if other.shown is None:
            return np.asarray(np.bincount(self.rows, other.rows, self.size)[self.shown][:, None], np.float64)
        table = np.bincount(self.rows * other.size + other.rows, minlength=self.size * other.size)
        return table.reshape(self.size, other.size)[np.ix_(self.shown, other.shown)].astype(np.float64)


def _products(pieces: list[_Piece]) -> Floats:
    ends = np.cumsum([0, *(p.width for p in pieces)])
    made = np.zeros((ends[-1], ends[-1]))
    for i, one in enumerate(pieces):
        for j in range(i, len(pieces)):
            block = one.times(pieces[j])
            made[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = block
            made[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = block.T
    return made


def _numbers(schema: Schema, frame: pl.DataFrame, name: str) -> Floats:
    """A column as it stands, as numbers; NaN where it has none."""
    column = schema.column(name)
    if column.kind == "yes-no":
        code = schema.coding.encode(frame, [name])[name].astype(np.float64)
        return np.where(code <= 1, code, np.nan)
    values = column.coded.numbers(frame[name]) if column.kind in BINNED else _plain(frame[name])
    return np.asarray(values, np.float64)


def _plain(series: pl.Series) -> Floats:
    return series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()


def _shares(table: Judged, columns: tuple[str, ...]) -> Floats:
    found = np.bincount(table.cells(columns), table.counts, table.schema.size(columns))
    return np.asarray(found / max(table.rows, 1), np.float64)
