"""Coefficients of one model from two tables: do their intervals overlap, is the sign kept, and the significance?

The pay model of the RDT reports, or any linear model, by year if asked; and the logistic regression of a yes-no label
on any columns (figures 10 to 14 of RDT-2018).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, Self, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Figure, Result, Scale
from hedgerow.evaluate.least_squares import (
    DesignMatrix,
    Errors,
    Estimates,
    Places,
    by_pyfixest,
    designs,
    least_squares,
)
from hedgerow.evaluate.logistic import Logistic, logistic
from hedgerow.figures import many
from hedgerow.public import BINNED, LISTED, Formula, Term, as_text

Floats = npt.NDArray[np.float64]
Z = NormalDist().inv_cdf(0.975)
Rule = Literal["simple", "partial", "full"]


def interval_overlap(a: Floats, a_error: Floats, b: Floats, b_error: Floats) -> Floats:
    """The overlap of two 95 % intervals, as the mean of its shares of either; 0 when they do not touch.

    >>> one = np.ones(1)
    >>> round(float(interval_overlap(0 * one, one, one, one)[0]), 3)
    0.745
    """
    low, high = np.maximum(a - Z * a_error, b - Z * b_error), np.minimum(a + Z * a_error, b + Z * b_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(high - low, 0) / (4 * Z) * (1 / a_error + 1 / b_error))


def expected_overlap(a_error: Floats, b_error: Floats) -> Floats:
    """The overlap to expect of two samples of one population, whose estimates differ by their errors alone."""
    levels = (np.arange(200) + 0.5) / 200
    normal = np.array([NormalDist().inv_cdf(p) for p in levels])
    apart = np.sqrt(a_error**2 + b_error**2)[:, None] * normal
    each = interval_overlap(np.zeros_like(apart), a_error[:, None], apart, b_error[:, None])
    return np.asarray(each.mean(axis=1))


@final
@dataclass(frozen=True, eq=False)
class CoefficientAgreement:
    """The coefficients of one model from table A and from table B, one row each.

    ``table`` has: coefficient, a, a_error, b, b_error, difference, overlap, chance (the overlap to expect),
    same_sign, same_significance.
    """

    table: pl.DataFrame

    @classmethod
    def of(cls, a: Estimates, b: Estimates) -> "CoefficientAgreement":
        """Coefficients that both determine, in the model's order; names that only one has are left out."""
        place = {name: i for i, name in enumerate(b.names)}
        pairs = [(i, place[n]) for i, n in enumerate(a.names) if n in place]
        i, j = (np.array([p[k] for p in pairs], np.int64) for k in (0, 1))
        known = np.isfinite(a.values[i]) & np.isfinite(b.values[j]) & (a.errors[i] > 0) & (b.errors[j] > 0)
        i, j = i[known], j[known]
        one, other, e, f = a.values[i], b.values[j], a.errors[i], b.errors[j]
        significant = [np.abs(x) > Z * s for x, s in ((one, e), (other, f))]
        return cls(
            pl.DataFrame(
                {
                    "coefficient": [a.names[k] for k in i.tolist()],
                    "a": one,
                    "a_error": e,
                    "b": other,
                    "b_error": f,
                    "difference": other - one,
                    "overlap": interval_overlap(one, e, other, f),
                    "chance": expected_overlap(e, f),
                    "same_sign": np.sign(one) == np.sign(other),
                    "same_significance": significant[0] == significant[1],
                }
            )
        )

    @property
    def summary(self) -> dict[str, float]:
        """Means and extremes over the coefficients."""
        t = self.table
        away = t["difference"].abs() / (t["a_error"] ** 2 + t["b_error"] ** 2).sqrt()
        numbers = {
            "overlap": t["overlap"].mean(),
            "chance": t["chance"].mean(),
            "worst_overlap": t["overlap"].min(),
            "sign_kept": t["same_sign"].mean(),
            "significance_kept": t["same_significance"].mean(),
            "mean_difference": t["difference"].abs().mean(),
            "largest_difference": t["difference"].abs().max(),
            "errors_away": away.mean(),
        }
        return {name: float(v) for name, v in numbers.items() if isinstance(v, int | float)}


def combined(copies: Sequence[Estimates], rule: Rule, *, rows: int) -> Estimates:
    """One estimate from m synthetic copies: the mean, with a variance that counts how the copies were made.

    With u the mean of the copies' own variances, b the variance between them, k the rows of a copy and n (``rows``)
    those of the table it stands for:

    * ``simple`` (Raab, Nowok and Dibben 2016): copies drawn from one fitted model, as ``hedgerow sample`` draws them:
      u (k / n + 1 / m).
    * ``partial`` (Reiter 2003): some columns synthetic, parameters drawn anew for each copy: u + b / m.
    * ``full`` (Raghunathan, Reiter and Rubin 2003): all synthetic, parameters drawn anew: (1 + 1/m) b - u, which
      needs many copies (tens); where it is not positive, Reiter's bound u k / n.

    None of them counts the gate's noise, which all copies of one release share: see docs/metrics.md.
    """
    m = len(copies)
    values = np.mean([c.values for c in copies], axis=0)
    within = np.mean([c.errors**2 for c in copies], axis=0)
    size = float(np.mean([c.rows for c in copies])) / max(rows, 1)
    between = np.var([c.values for c in copies], axis=0, ddof=1) if m > 1 else np.zeros_like(within)
    if rule == "simple":
        variance = within * (size + 1 / m)
    elif rule == "partial":
        variance = within + between / m
    else:
        variance = (1 + 1 / m) * between - within
        variance = np.where(variance > 0, variance, within * size)
    return Estimates(copies[0].names, values, np.sqrt(variance), round(size * rows))


class AbstractRegression(AbstractMetric):
    """The overlap of 95 % intervals of a model's coefficients, averaged; and every one beside its twin."""

    scale = Scale(0, 1, 1, "overlap of 95 % intervals")
    null = "about 0.71 for two samples of one size: each estimate has an error of its own"

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The agreement of all coefficients."""
        return self.of_copies(a, [b], rng=rng)


_MOST_PERIODS = 60
_PAY = {"sex": "sex", "race": "race", "age": "age + I(age^2)", "education": "education"}


@final
@dataclass(frozen=True)
class LinearModel(AbstractRegression):
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
            table = CoefficientAgreement.of(one, other).table.select(pl.lit(at).alias("at"), pl.all())
            found += [table] if len(table) else []  # in a year with one sex there is no coefficient of sex
        if not found:
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
        raise DoesNotApply(
            "there is no pay with sex, race or age to explain it: give a formula with --model (in Python: model=...)"
        )
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


_LEVELS = 60


@final
@dataclass(frozen=True)
class LogisticModel(AbstractRegression):
    """The overlap of the 95 % intervals of the log odds ratios, averaged; and every one beside its twin.

    Attributes:
        formula: the model, such as ``sex=F ~ agency + occupation``; when empty, the first two-valued column on all
            others with at most 60 levels, numbers left out.
        least: a level takes part only if in both tables it has so many rows, and the label both of its values.
        rule: how several copies are combined.
    """

    name = "logistic-model"
    title = "A logistic model, coefficient by coefficient"
    reading = "1: an analyst would draw the same odds ratios from either table; 0: their intervals do not touch."
    formula: str = ""
    least: int = 20
    rule: Rule = "simple"

    def with_options(self, options: CompareOptions) -> Self:
        """The formula."""
        return replace(self, formula=options.logistic)

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
    labels = [c for c in there if c.kind == "yes-no" or (c.kind in LISTED and len(c.values) == 2)]
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
