"""One coefficient of a model, in every group of a table: what a use of kind ``coefficient`` asks for."""

from dataclasses import replace
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.design import designs
from hedgerow.evaluate.formula import Formula, Term
from hedgerow.evaluate.least_squares import least_squares
from hedgerow.planning.uses import Use
from hedgerow.public.column import LISTED
from hedgerow.public.formula import compared_with
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicTable

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def by_group(use: Use, schema: Schema, frame: pl.DataFrame, group: Places) -> tuple[Floats, Floats, Floats]:
    """The coefficient in every group, its standard error, and the rows behind it; NaN where rows do not tell.

    Standard errors are robust to unequal variance.  A factor is compared with the level that ``settled`` says, so
    the coefficient means the same whichever table it is fitted to.
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
    """The formula with the level that each factor is compared with, and the full name of the term.

    That level is what ``C(race, ref=E)`` says; else ``compared_with``, as in ``hedgerow verify-model``.
    """
    given = Formula.parse(use.formula)
    formula = replace(given, terms=tuple(_settled(t, schema) for t in given.terms))
    for column in formula.columns:
        schema.column(column)
    names = [n for t in formula.terms for n in _names(t, schema)]
    wanted = [n for n in names if use.term in n]
    if not wanted:
        listed = ", ".join(n[0] for n in names[:20])
        raise JobError(
            f"The use {use.name!r} wants the coefficient of {use.term!r}, which {use.formula!r} does not have.\n"
            f"It has: {listed}. (The level that others are compared with has none: choose it with C(x, ref=LEVEL).)\n"
            "No confidential row was read and nothing was spent."
        )
    return formula, wanted[0][0]


def _settled(term: Term, schema: Schema) -> Term:
    column = schema.column(term.column)
    if term.shape not in ("plain", "factor") or term.reference:
        return term
    if term.shape == "plain" and column.kind not in (*LISTED, "yes-no"):
        return term
    return replace(term, shape="factor", reference=column.cell_labels[compared_with(column)])


def _names(term: Term, schema: Schema) -> list[tuple[str, ...]]:
    """What the coefficients of a term may be called: in full, by a level's label or its value; or a number's name."""
    if term.shape != "factor":
        return [(str(term),)]
    column = schema.column(term.column)
    both = zip(column.cell_labels, column.cell_texts, strict=True)
    return [
        (f"{term.column}[{label}]", f"{term.column}[{text}]", f"{term.column}={text}", f"{term.column}={label}")
        for label, text in both
        if term.reference not in (label, text)
    ]
