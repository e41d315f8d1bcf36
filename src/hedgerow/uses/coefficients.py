"""One coefficient of a model, in every group of a table: what a use of kind ``coefficient`` asks for."""

from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.design import designs
from hedgerow.evaluate.least_squares import Estimates, least_squares
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicTable
from hedgerow.uses.uses import Use

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


Fits = dict[tuple[str, tuple[str, ...]], dict[int, Estimates]]
"""The models that were fitted to a table: by formula and group columns, then by group."""


def by_group(
    use: Use, schema: Schema, frame: pl.DataFrame, group: Places, known: Fits
) -> tuple[Floats, Floats, Floats]:
    """The coefficient in every group, its standard error, and the rows behind it; NaN where rows do not tell.

    Standard errors are robust to unequal variance.  Levels are compared with one that
    follows from formula and schema, so the coefficient means the same whichever table it is fitted to.
    Uses of one model share its fits, kept in ``known``.
    """
    formula, name = settled(use, schema)
    key = str(formula), use.columns
    try:
        if key not in known:
            known[key] = _fitted(formula, schema, frame, group)
    except DoesNotApply as why:
        raise JobError(
            f"The use {use.name!r} cannot be judged: {why}. Nothing confidential was read or spent."
        ) from None
    found = np.full((3, prod(schema.shape(use.columns))), np.nan)
    found[2] = 0
    for g, fit in known[key].items():
        place = fit.names.index(name)
        found[:, g] = fit.values[place], fit.errors[place], fit.rows
    return found[0], found[1], found[2]


def _fitted(formula: Formula, schema: Schema, frame: pl.DataFrame, group: Places) -> dict[int, Estimates]:
    (design,) = designs(formula, [PublicTable(schema, frame)], schema)
    here = group[design.origin]
    return {int(g): least_squares(design.where(here == g)) for g in np.unique(here)}


def settled(use: Use, schema: Schema) -> tuple[Formula, str]:
    """The formula with every term settled by the schema, and the full name of the coefficient."""
    try:
        formula = Formula.parse(use.formula).bound(schema)
        return formula, formula.names(schema)[formula.place(use.term, schema)]
    except JobError as wrong:
        raise JobError(f"The use {use.name!r} cannot be judged. {wrong}") from None
