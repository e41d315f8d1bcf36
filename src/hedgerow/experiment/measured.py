"""What is measured of a synthetic table: coefficients of a model by group, or joint proportions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import polars as pl

from hedgerow.errors import JobError
from hedgerow.evaluate.design import designs
from hedgerow.evaluate.least_squares import least_squares
from hedgerow.experiment.grid import Measure
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.uses.base import Quantity

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


Figures = dict[str, dict[str, float]] | Quantity
"""For every group the coefficients by name; or, of joint proportions, the counts."""


def figures(measure: Measure, table: CodedTable) -> Figures:
    """What is measured of records, or of a table of counts."""
    if measure.columns:
        return measure.use.figures(table)
    if table.counts is not None:
        raise JobError(
            f"The recipe gives a table of counts, in which no model can be fitted: leave {measure.name!r} out, and\n"
            f"measure tables: [[measure]] name = '...', columns = [...]. {_NOTHING}"
        )
    formula = Formula.parse(measure.model, measure.reference).bound(table.schema)
    names = wanted(measure, formula, table.schema)
    found = coefficients(formula, table, measure.by)
    return {at: {said: fit[name] for said, name in names.items()} for at, fit in found.items()}


def readings(measure: Measure, authentic: Figures, synthetic: Figures) -> Iterator[Reading]:
    """Everything ``measure`` says of a synthetic table beside the authentic one.

    A coefficient that the synthetic table does not determine counts as if it were 0: leaving it out would favour
    settings that lose whole groups.
    """
    if isinstance(authentic, Quantity) or isinstance(synthetic, Quantity):
        assert isinstance(authentic, Quantity) and isinstance(synthetic, Quantity)
        error = measure.use.error(synthetic, authentic).error
        yield Reading(measure.name, "total variation", "", 0.0, error, error)
        return
    for at, fit in authentic.items():
        for name, a in fit.items():
            b = synthetic.get(at, {}).get(name, float("nan"))
            yield Reading(measure.name, name, at, a, b, abs(a - b) if np.isfinite(b) else abs(a))


def wanted(measure: Measure, formula: Formula, schema: Schema) -> dict[str, str]:
    """The full names of the coefficients that are measured, by how they were named: or all that compare levels."""
    known = formula.names(schema)
    named = {t: known[formula.place(t, schema)] for t in measure.terms}
    return named or {n: n for n in known if "[" in n} or {n: n for n in known}


def coefficients(formula: Formula, table: CodedTable, by: str) -> dict[str, dict[str, float]]:
    """The coefficients of a bound formula in every group of ``by``, or in all rows under the name ''."""
    (design,) = designs(formula, [table], table.schema)
    group = table.frame[by].cast(pl.String).gather(design.origin).to_numpy() if by else np.full(design.rows, "")
    found = {}
    for at in sorted(set(group.tolist())):
        fit = least_squares(design.where(group == at), errors="iid")
        known = dict(zip(fit.names, fit.values.tolist(), strict=True))
        found[at] = {name: known[name] for name in formula.names(table.schema)}
    return found
