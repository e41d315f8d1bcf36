"""The pay model of the RDT reports, or any linear model: its coefficients from both tables, by year if asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.coefficients import CoefficientAgreement, Rule, Z, combined
from hedgerow.evaluate.design import DesignMatrix, Places, designs
from hedgerow.evaluate.least_squares import Errors, Estimates, by_pyfixest, least_squares
from hedgerow.public import Formula, as_text

_MOST_PERIODS = 60
_PAY = {"sex": "sex", "race": "race", "age": "age + I(age^2)", "education": "education"}


@final
@dataclass(frozen=True)
class LinearModel(AbstractMetric):
    """The overlap of the coefficients' 95 % intervals, averaged; and every coefficient beside its twin.

    Attributes:
        formula: the model; the pay model of RDT-2019, of the columns that are there, when empty.
        by: fit it for each value of this column on its own; ``year`` when empty and there, "none" for all at once.
        errors: usual, robust, or clustered standard errors.
        cluster: for clustered ones, the column that says which rows go together, such as the person.
        library: what fits it: our own exact least squares, or pyfixest, which gives the same to 1e-8 and is slower.
        rule: how several copies are combined.
    """

    name = "linear-model"
    title = "A linear model, coefficient by coefficient"
    scale = Scale(0, 1, 1, "overlap of 95 % intervals")
    null = "about 0.71 for two samples of one size: each estimate has an error of its own"
    reading = (
        "1: an analyst would draw the same interval from either table. 0: the intervals do not touch, and whoever "
        "uses the synthetic table is wrong about that effect."
    )
    formula: str = ""
    by: str = ""
    errors: Errors = "hetero"
    cluster: str = ""
    library: Literal["hedgerow", "pyfixest"] = "hedgerow"
    rule: Rule = "simple"

    def with_options(self, options: CompareOptions) -> Self:
        """The formula, by which column it is fitted, clusters, and the library."""
        return replace(
            self,
            formula=options.model,
            by=options.by,
            cluster=options.cluster,
            errors="cluster" if options.cluster else "hetero",
            library=options.library,
        )

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The agreement of all coefficients, by period."""
        return self.of_copies(a, [b], rng=rng)

    def of_copies(self, a: CodedTable, copies: Sequence[CodedTable], *, rng: np.random.Generator) -> Result:
        """The same, the copies' estimates combined by ``rule``."""
        tables = [a, *copies]
        formula = Formula.parse(self.formula) if self.formula else _pay_model(tables)
        by = self._period(tables, formula)
        fits = [dict(self._fits(d, t, by)) for d, t in zip(designs(formula, tables, a.schema), tables, strict=True)]
        periods = sorted(set(fits[0]).intersection(*fits[1:]))
        found = []
        for at in periods:
            one, others = fits[0][at], [f[at] for f in fits[1:]]
            other = others[0] if len(others) == 1 else combined(others, self.rule, rows=one.rows)
            found.append(CoefficientAgreement.of(one, other).table.select(pl.lit(at).alias("at"), pl.all()))
        if not sum(map(len, found)):
            raise DoesNotApply(f"no coefficient of {formula} can be estimated from both tables")
        used = sum(e.rows for e in fits[0].values())
        return self._result(formula, CoefficientAgreement(pl.concat(found)), by, used / a.rows, len(copies))

    def _fits(self, design: DesignMatrix, table: CodedTable, by: str) -> Iterator[tuple[str, Estimates]]:
        fit = by_pyfixest if self.library == "pyfixest" else least_squares
        cluster = _places(table, self.cluster) if self.errors == "cluster" else None
        periods = np.zeros(table.rows, np.int64) if not by else _places(table, by)
        names = [""] if not by else as_text(table.frame[by]).fill_null("missing").unique().sort().to_list()
        for i, name in enumerate(names):
            keep = periods[design.origin] == i
            part = design if keep.all() else design.where(keep)
            if part.rows:
                together = None if cluster is None else np.unique(cluster[part.origin], return_inverse=True)[1]
                yield name, fit(part, errors=self.errors, cluster=together)

    def _period(self, tables: Sequence[CodedTable], formula: Formula) -> str:
        by = "" if self.by == "none" else self.by or ("year" if "year" not in formula.columns else "")
        if any(by and by not in t.frame.columns for t in tables):
            if self.by:
                raise DoesNotApply(f"both tables must have the column {by} to fit by it")
            return ""
        if by and not 1 < tables[0].frame[by].n_unique() <= _MOST_PERIODS:
            if self.by:
                raise DoesNotApply(f"{by} must have 2 to {_MOST_PERIODS} values to fit by it")
            return ""
        shared = set.intersection(*({str(v) for v in t.frame[by].unique()} for t in tables)) if by else set()
        return by if shared or self.by else ""

    def _result(self, formula: Formula, found: CoefficientAgreement, by: str, used: float, copies: int) -> Result:
        s = found.summary
        notes = [f"fitted by {self.library}, {self.errors} standard errors" + (f", for each {by}" if by else "")]
        if used < 1:
            notes.append(f"{100 * (1 - used):.1f} % of A's rows lack something the model needs")
        if copies > 1:
            notes.append(f"{copies} copies combined by the rule {self.rule!r}; the gate's noise is not in its errors")
        table = found.table if by else found.table.drop("at")
        return Result(
            self.name,
            s["overlap"],
            s["chance"],
            f"{formula}: the intervals of {len(table)} coefficients overlap by {s['overlap']:.2f} on average "
            f"(chance: {s['chance']:.2f}), at worst {s['worst_overlap']:.2f}; {100 * s['sign_kept']:.0f} % keep "
            f"their sign and {100 * s['significance_kept']:.0f} % their significance.",
            table,
            parts={"formula": str(formula), "by": by, **s},
            figures=(_figure(found.table, str(formula), by),),
            notes=tuple(notes),
        )


def _pay_model(tables: Sequence[CodedTable]) -> Formula:
    """The model of RDT-2019 on the columns that all tables have."""
    there = {c for c in tables[0].frame.columns if all(c in t.frame.columns for t in tables)}
    terms = [t for c, t in _PAY.items() if c in there]
    fixed = [c for c in ("agency", "occupation") if c in there]
    if "pay" not in there or not terms:
        raise DoesNotApply("there is no pay with sex, race or age to explain it: give a formula with --model")
    return Formula.parse(f"ln(pay) ~ {' + '.join(terms)}" + (f" | {' + '.join(fixed)}" if fixed else ""))


def _places(table: CodedTable, column: str) -> Places:
    if column not in table.frame.columns:
        raise DoesNotApply(f"{table.name} has no column {column}")
    text = as_text(table.frame[column]).fill_null("missing")
    labels = text.unique().sort()
    return text.replace_strict(labels, np.arange(len(labels)), return_dtype=pl.Int64).to_numpy()


def _figure(table: pl.DataFrame, title: str, by: str) -> Figure:
    low_high = [
        (pl.col(side) + sign * Z * pl.col(f"{side}_error")).alias(f"{side}_{name}")
        for side in ("a", "b")
        for sign, name in ((-1, "low"), (1, "high"))
    ]
    data = table.select("at", pl.col("coefficient").alias("label"), "a", "b", *low_high)
    return Figure("coefficients", title, data, x=by, y="coefficient")
