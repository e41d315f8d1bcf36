"""What is measured of a synthetic table: coefficients of a model by group, or joint proportions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.design import designs
from hedgerow.evaluate.least_squares import least_squares
from hedgerow.experiment.grid import Measure
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicTable

Floats = npt.NDArray[np.float64]


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


def read(measure: Measure, schema: Schema, authentic: pl.DataFrame, synthetic: pl.DataFrame) -> Iterator[Reading]:
    """Everything ``measure`` says of a synthetic table.

    A coefficient that the synthetic table does not determine counts as if it were 0: leaving it out would favour
    settings that lose whole groups.
    """
    if measure.columns:
        one, two = (_shares(f, measure, schema) for f in (authentic, synthetic))
        error = float(np.abs(one - two).sum() / 2)
        yield Reading(measure.name, "total variation", "", 0.0, error, error)
        return
    formula = Formula.parse(measure.model, measure.reference).bound(schema)
    names = wanted(measure, formula, schema)
    true, made = (coefficients(formula, schema, f, measure.by) for f in (authentic, synthetic))
    for at, fit in true.items():
        for said, name in names.items():
            a, b = fit[name], made.get(at, {}).get(name, float("nan"))
            yield Reading(measure.name, said, at, a, b, abs(a - b) if np.isfinite(b) else abs(a))


def wanted(measure: Measure, formula: Formula, schema: Schema) -> dict[str, str]:
    """The full names of the coefficients that are measured, by how they were named: or all that compare levels."""
    known = formula.names(schema)
    named = {t: known[formula.place(t, schema)] for t in measure.terms}
    return named or {n: n for n in known if "[" in n} or {n: n for n in known}


def coefficients(formula: Formula, schema: Schema, frame: pl.DataFrame, by: str) -> dict[str, dict[str, float]]:
    """The coefficients of a bound formula in every group of ``by``, or in all rows under the name ''."""
    (design,) = designs(formula, [PublicTable(schema, frame)], schema)
    group = frame[by].cast(pl.String).gather(design.origin).to_numpy() if by else np.full(design.rows, "")
    found = {}
    for at in sorted(set(group.tolist())):
        fit = least_squares(design.where(group == at), errors="iid")
        known = dict(zip(fit.names, fit.values.tolist(), strict=True))
        found[at] = {name: known[name] for name in formula.names(schema)}
    return found


def _shares(frame: pl.DataFrame, measure: Measure, schema: Schema) -> Floats:
    codes = schema.coding.encode(frame, measure.columns)
    at = np.ravel_multi_index([codes[c].astype(np.int64) for c in measure.columns], schema.shape(measure.columns))
    return np.bincount(at, minlength=schema.size(measure.columns)) / max(frame.height, 1)
