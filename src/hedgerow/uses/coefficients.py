"""One coefficient of a model, in every group of a table: what a use of kind ``coefficient`` asks for."""

from math import prod

import numpy as np

from hedgerow.errors import JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.design import designs
from hedgerow.evaluate.least_squares import Estimates, least_squares
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, Floats, Places
from hedgerow.uses.uses import Use


def by_group(use: Use, table: CodedTable) -> tuple[Floats, Floats, Floats]:
    """The coefficient in every group, its standard error, and the rows behind it; NaN where rows do not tell.

    Standard errors are robust to unequal variance.  Levels are compared with one that
    follows from formula and schema, so the coefficient means the same whichever table it is fitted to.
    Uses of one model share its fits, which the table keeps.
    """
    schema = table.schema
    formula, name = settled(use, schema)
    key = "least squares", str(formula), use.columns
    try:
        if key not in table.memo:
            table.memo[key] = _fitted(formula, table, table.cells(use.columns))
    except DoesNotApply as why:
        raise JobError(
            f"The use {use.name!r} cannot be judged: {why}. Nothing confidential was read or spent."
        ) from None
    found = np.full((3, prod(schema.shape(use.columns))), np.nan)
    found[2] = 0
    for g, fit in table.memo[key].items():
        place = fit.names.index(name)
        found[:, g] = fit.values[place], fit.errors[place], fit.rows
    return found[0], found[1], found[2]


def _fitted(formula: Formula, table: CodedTable, group: Places) -> dict[int, Estimates]:
    (design,) = designs(formula, [table], table.schema)
    here = group[design.origin]
    return {int(g): least_squares(design.where(here == g)) for g in np.unique(here)}


def settled(use: Use, schema: Schema) -> tuple[Formula, str]:
    """The formula with every term settled by the schema, and the full name of the coefficient."""
    try:
        formula = Formula.parse(use.formula).bound(schema)
        return formula, formula.names(schema)[formula.place(use.term, schema)]
    except JobError as wrong:
        raise JobError(f"The use {use.name!r} cannot be judged. {wrong}") from None
