"""One coefficient of a model, in every group of a table: what a use of kind ``coefficient`` asks for."""

from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.design import designs
from hedgerow.evaluate.least_squares import least_squares
from hedgerow.planning.uses import Use
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicTable

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def by_group(use: Use, schema: Schema, frame: pl.DataFrame, group: Places) -> tuple[Floats, Floats, Floats]:
    """The coefficient in every group, its standard error, and the rows behind it; NaN where rows do not tell.

    Standard errors are robust to unequal variance.  Levels are compared with one that
    follows from formula and schema, so the coefficient means the same whichever table it is fitted to.
    """
    formula, name = settled(use, schema)
    try:
        (design,) = designs(formula, [PublicTable(schema, frame)], schema)
        place = design.names.index(name)
        size = prod(schema.shape(use.columns))
        found = np.full((3, size), np.nan)
        here = group[design.origin]
        found[2] = np.bincount(here, minlength=size)
        for g in np.flatnonzero(found[2]):
            fit = least_squares(design.where(here == g))
            found[0, g], found[1, g] = fit.values[place], fit.errors[place]
    except DoesNotApply as why:
        raise JobError(
            f"The use {use.name!r} cannot be judged: {why}. Nothing confidential was read or spent."
        ) from None
    return found[0], found[1], found[2]


def settled(use: Use, schema: Schema) -> tuple[Formula, str]:
    """The formula with every term settled by the schema, and the full name of the coefficient."""
    try:
        formula = Formula.parse(use.formula).bound(schema)
        return formula, formula.names(schema)[formula.place(use.term, schema)]
    except JobError as wrong:
        raise JobError(f"The use {use.name!r} cannot be judged. {wrong}") from None
