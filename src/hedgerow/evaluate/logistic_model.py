"""Logistic regression of a yes-no label on any columns, from both tables (figures 10 to 14 of RDT-2018)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.coefficients import CoefficientAgreement, Rule, combined
from hedgerow.evaluate.design import DesignMatrix, designs
from hedgerow.evaluate.logistic import Logistic, logistic
from hedgerow.figures import many
from hedgerow.public import BINNED, Formula, Term

_LEVELS = 60


@final
@dataclass(frozen=True)
class LogisticModel(AbstractMetric):
    """The overlap of the 95 % intervals of the log odds ratios, averaged; and every one beside its twin.

    Attributes:
        formula: the model, such as ``sex=F ~ agency + occupation``; when empty, the first two-valued column on all
            others with at most 60 levels, numbers left out.
        least: a level takes part only if in both tables it has so many rows, and the label both of its values.
        rule: how several copies are combined.
    """

    name = "logistic-model"
    title = "A logistic model, coefficient by coefficient"
    scale = Scale(0, 1, 1, "overlap of 95 % intervals")
    null = "about 0.71 for two samples of one size: each estimate has an error of its own"
    reading = "1: an analyst would draw the same odds ratios from either table; 0: their intervals do not touch."
    formula: str = ""
    least: int = 20
    rule: Rule = "simple"

    def with_options(self, options: CompareOptions) -> Self:
        """The formula."""
        return replace(self, formula=options.logistic)

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The agreement of all coefficients."""
        return self.of_copies(a, [b], rng=rng)

    def of_copies(self, a: CodedTable, copies: Sequence[CodedTable], *, rng: np.random.Generator) -> Result:
        """The same, the copies' estimates combined by ``rule``."""
        tables = [a, *copies]
        formula = Formula.parse(self.formula) if self.formula else _first_label(tables)
        made = designs(formula, tables, a.schema)
        if any(not np.isin(d.response, (0, 1)).all() for d in made):
            raise DoesNotApply(f"the label {formula.response} must be 0 or 1: write it as column=VALUE")
        made, rare = _common_levels(made, self.least)
        if any(d.rows == 0 or np.ptp(d.response) == 0 for d in made):
            raise DoesNotApply(f"{formula.response} has one value only in the rows that can be used")
        fits = [logistic(d) for d in made]
        others = [f.estimates for f in fits[1:]]
        other = others[0] if len(others) == 1 else combined(others, self.rule, rows=made[0].rows)
        found = CoefficientAgreement.of(fits[0].estimates, other)
        if not len(found.table):
            raise DoesNotApply(f"no coefficient of {formula} can be estimated from both tables")
        return self._result(formula, found, fits, rare)

    def _result(
        self, formula: Formula, found: CoefficientAgreement, fits: Sequence[Logistic], rare: list[str]
    ) -> Result:
        s = found.summary
        notes = (
            [] if not rare else [f"{many(len(rare), 'level')} left out, too rare in a table: {', '.join(rare[:8])}"]
        )
        if not all(f.converged for f in fits):
            notes.append("a fit did not converge: some levels together predict the label without error")
        figure = found.table.select(pl.col("coefficient").alias("label"), pl.lit("").alias("group"), "a", "b")
        worst = found.table.sort("overlap").head(200)
        return Result(
            self.name,
            s["overlap"],
            s["chance"],
            f"{formula}: the intervals of {len(found.table)} coefficients overlap by {s['overlap']:.2f} on average "
            f"(chance: {s['chance']:.2f}); {100 * s['sign_kept']:.0f} % keep their sign and "
            f"{100 * s['significance_kept']:.0f} % their significance.",
            worst,
            parts={"formula": str(formula), "coefficients": len(found.table), **s},
            figures=(Figure("scatter", str(formula), figure, x="coefficient in A", y="coefficient in B"),),
            notes=tuple(notes),
        )


def _first_label(tables: Sequence[CodedTable]) -> Formula:
    there = [c for c in tables[0].schema.columns if all(c.name in t.frame.columns for t in tables)]
    labels = [c for c in there if c.size == 2 and c.kind not in BINNED]
    labels.sort(key=lambda c: c.name.lower() not in ("sex", "gender"))
    if not labels:
        raise DoesNotApply("no column has two values: give a formula such as 'race=B ~ agency'")
    label = labels[0]
    few = [c.name for c in there if c is not label and c.kind not in BINNED and 1 < c.size <= _LEVELS]
    terms = [Term(n, "labels") for n in few if len(_shared_levels(tables, n)) > 1]
    if not terms:
        raise DoesNotApply(f"no other column of few values could explain {label.name}: give a formula")
    return Formula(Term(label.name, "equals", level=label.cell_texts[0]), tuple(terms))


def _shared_levels(tables: Sequence[CodedTable], name: str) -> set[int]:
    return set.intersection(*(set(np.unique(t.codes([name])[name]).tolist()) for t in tables))


def _common_levels(made: Sequence[DesignMatrix], least: int) -> tuple[list[DesignMatrix], list[str]]:
    """The designs on rows whose levels all tables have often enough, and with both values of the label."""
    designs_, rare = list(made), list[str]()
    for _ in range(5):  # leaving rows out may make other levels rare
        keep = [np.ones(d.rows, np.bool_) for d in designs_]
        changed = False
        for i, factor in enumerate(designs_[0].factors):
            size = len(factor.labels)
            enough = np.ones(size, np.bool_)
            for d in designs_:
                n = np.bincount(d.factors[i].codes, minlength=size)
                yes = np.bincount(d.factors[i].codes, d.response, size)
                enough &= (n >= least) & (yes > 0) & (yes < n)
            present = np.logical_or.reduce([np.bincount(d.factors[i].codes, minlength=size) > 0 for d in designs_])
            rare += [f"{factor.column}={factor.labels[k]}" for k in np.flatnonzero(present & ~enough)]
            changed |= bool((present & ~enough).any())
            for k, d in zip(keep, designs_, strict=True):
                k &= enough[d.factors[i].codes]
        designs_ = [d.where(k) for d, k in zip(designs_, keep, strict=True)]
        if not changed:
            break
    return designs_, rare
