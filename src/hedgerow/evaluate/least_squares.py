"""Least squares with absorbed fixed effects, exactly and in two passes over the rows.

The levels of absorbed columns are projected out by solving their own normal equations: the widest column is
eliminated by hand, the others by one symmetric matrix with as many rows as they have levels.  Nothing iterates, and
memory holds a block of the model matrix, never all of it.

From a formula and tables to the numbers a model is fitted to: the same columns, in one order, for each table.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.errors import JobError, MissingExtra
from hedgerow.evaluate.base import CodedTable, DoesNotApply
from hedgerow.public import BINNED, Formula, Schema, Term, as_text

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class CategoricalTerm:
    """A column by its levels: the place of each row's level, and which levels have a coefficient."""

    column: str
    codes: Places
    labels: tuple[str, ...]
    reference: int

    @cached_property
    def kept(self) -> Places:
        """The levels with a coefficient: all but the reference."""
        return np.delete(np.arange(len(self.labels)), self.reference)


@final
@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """What a model is fitted to, rows with something missing left out.

    Attributes:
        response: of each row.
        numbers: named numeric terms.
        factors: terms by level.
        absorbed: for each absorbed column, the place of each row's level.
        origin: which row of the table each row is.
    """

    response: Floats
    numbers: tuple[tuple[str, Floats], ...]
    factors: tuple[CategoricalTerm, ...]
    absorbed: tuple[Places, ...]
    origin: Places

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.response)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the coefficients are called, levels first; there is no intercept among them."""
        levels = (f"{f.column}[{f.labels[k]}]" for f in self.factors for k in f.kept)
        return (*levels, *(name for name, _ in self.numbers))

    def block(self, part: slice) -> Floats:
        """Some rows of the model matrix, without an intercept."""
        wide = [(f.codes[part, None] == f.kept[None, :]).astype(np.float64) for f in self.factors]
        wide += [x[part, None] for _, x in self.numbers]
        size = len(self.response[part])
        return np.concatenate(wide, axis=1) if wide else np.zeros((size, 0))

    def where(self, keep: npt.NDArray[np.bool_]) -> "DesignMatrix":
        """The same design on some of the rows."""
        return DesignMatrix(
            self.response[keep],
            tuple((n, x[keep]) for n, x in self.numbers),
            tuple(CategoricalTerm(f.column, f.codes[keep], f.labels, f.reference) for f in self.factors),
            tuple(a[keep] for a in self.absorbed),
            self.origin[keep],
        )


def designs(formula: Formula, tables: Sequence[CodedTable], schema: Schema) -> list[DesignMatrix]:
    """The design of each table; levels are the same in all, and a reference is the most frequent of the first."""
    for table in tables:
        if absent := [c for c in formula.columns if c not in table.frame.columns]:
            raise DoesNotApply(f"{table.name} has no column {', '.join(absent)}, which the model {formula} needs")
    made = [_Making(t, schema) for t in tables]
    parts: list[list[tuple[str, Floats] | CategoricalTerm]] = [[] for _ in tables]
    for term in formula.terms:
        if _is_number(term, tables[0], schema):
            for part, making in zip(parts, made, strict=True):
                part.append((str(term), making.number(term)))
        else:
            for part, factor in zip(parts, _factors(term, made), strict=True):
                part.append(factor)
    return [
        _complete(making.number(formula.response), part, [making.levels(c)[0] for c in formula.absorbed])
        for part, making in zip(parts, made, strict=True)
    ]


@final
@dataclass(frozen=True, eq=False)
class _Making:
    """Reads terms off one table."""

    table: CodedTable
    schema: Schema

    def number(self, term: Term) -> Floats:
        """A term as numbers; NaN where it is missing or has none."""
        series = self.table.frame[term.column]
        column = next((c for c in self.schema.columns if c.name == term.column), None)
        if term.form == "equals":
            return self._equal(term)
        if column is not None and column.kind in BINNED:
            x = column.coded.numbers(series)
            x = np.where(column.coded.encode(series) < column.bin_count, x, np.nan)
        elif column is not None and column.kind == "yes-no":
            x = np.asarray(self.table.codes([term.column])[term.column], np.float64)
            x[x > 1] = np.nan
        else:
            x = as_text(series).cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        return term.of(x)

    def _equal(self, term: Term) -> Floats:
        codes, labels = self.levels(term.column)
        texts = next((c.cell_texts for c in self.schema.columns if c.name == term.column), labels)
        named = [i for i, pair in enumerate(zip(labels, texts, strict=True)) if term.level in pair]
        if not named:
            raise JobError(
                f"The column {term.column} has no value {term.level!r}. It has: {', '.join(labels[:20])}.\n"
                "Name one of them in the formula. No confidential row was read for this and nothing was spent."
            )
        return np.isin(codes, named).astype(np.float64)

    def levels(self, column: str) -> tuple[Places, tuple[str, ...]]:
        """The level of every row, and what levels are called."""
        if any(c.name == column for c in self.schema.columns):
            return self.table.codes([column])[column].astype(np.int64), self.schema.cell_labels(column)
        text = as_text(self.table.frame[column]).fill_null("missing")
        labels = text.unique().sort()
        place = text.replace_strict(labels, np.arange(len(labels)), return_dtype=pl.Int64)
        return place.to_numpy(), tuple(labels)


def _is_number(term: Term, table: CodedTable, schema: Schema) -> bool:
    if term.form != "plain":
        return term.form != "labels"
    kind = next((c.kind for c in schema.columns if c.name == term.column), None)
    return kind in BINNED if kind else table.frame[term.column].dtype.is_numeric()


def _factors(term: Term, made: Sequence[_Making]) -> list[CategoricalTerm]:
    """The term by levels in every table, levels in one common order."""
    read = [m.levels(term.column) for m in made]
    labels = list(dict.fromkeys(label for _, names in read for label in names))
    place = {label: i for i, label in enumerate(labels)}
    codes = [np.array([place[n] for n in names], np.int64)[c] for c, names in read]
    reference = int(np.bincount(codes[0], minlength=len(labels)).argmax())
    if term.reference:
        column = next((c for c in made[0].schema.columns if c.name == term.column), None)
        texts = list(column.cell_texts) if column else labels
        named = [i for i, label in enumerate(labels) if term.reference == label]
        named += [i for i, text in enumerate(texts) if term.reference == text]
        if not named:
            raise JobError(f"The column {term.column} has no level {term.reference!r} to refer to.")
        reference = named[0]
    return [CategoricalTerm(term.column, c, tuple(labels), reference) for c in codes]


def _complete(
    response: Floats, parts: list[tuple[str, Floats] | CategoricalTerm], absorbed: list[Places]
) -> DesignMatrix:
    """The rows with nothing missing."""
    numbers = tuple(p for p in parts if isinstance(p, tuple))
    factors = tuple(p for p in parts if isinstance(p, CategoricalTerm))
    keep = np.isfinite(response)
    for _, x in numbers:
        keep &= np.isfinite(x)
    whole = DesignMatrix(response, numbers, factors, tuple(absorbed), np.arange(len(keep)))
    return whole if keep.all() else whole.where(keep)


ROWS = 1 << 17
MOST_LEVELS = 4000
"""Of all absorbed columns but the widest, together."""
Errors = Literal["iid", "hetero", "cluster"]


@final
@dataclass(frozen=True, eq=False)
class Estimates:
    """Coefficients and their standard errors; NaN for those that the rows do not determine.

    Attributes:
        names: of the coefficients.
        values: the coefficients.
        errors: their standard errors.
        rows: that were used.
    """

    names: tuple[str, ...]
    values: Floats
    errors: Floats
    rows: int


def least_squares(design: DesignMatrix, *, errors: Errors = "hetero", cluster: Places | None = None) -> Estimates:
    """The coefficients of ``design``, its absorbed columns projected out, or an intercept when there are none.

    Standard errors are the usual ones (``iid``), those robust to unequal variance (``hetero``, with the factor
    n / (n - k)), or those that let the rows of one ``cluster`` go together.
    """
    k = len(design.names)
    values, spread = np.full(k, np.nan), np.full(k, np.nan)
    if design.rows > 1:
        off = _Projection.of(design.absorbed or (np.zeros(design.rows, np.int64),))
        left = _residuals(design, off)
        used = _independent(left.gram[:k, :k], left.scale)
        free = design.rows - off.rank - len(used)
        if free > 0 and len(used):
            inverse = np.linalg.inv(left.gram[np.ix_(used, used)])
            beta = inverse @ left.gram[used, k]
            if errors == "iid":
                covariance = inverse * (left.gram[k, k] - beta @ left.gram[used, k]) / free
            else:
                middle, factor = left.middle(used, beta, cluster if errors == "cluster" else None)
                covariance = inverse @ middle @ inverse * factor / free
            values[used], spread[used] = beta, np.sqrt(np.maximum(np.diag(covariance), 0))
    return Estimates(design.names, values, spread, design.rows)


@final
@dataclass(frozen=True, eq=False)
class ScoreParts:
    """What one coefficient is made of, row by row (Frisch and Waugh).

    Attributes:
        value: the coefficient.
        term: its term, as it is.
        alone: what the other terms leave of it, scaled so that its mean product with ``term`` is 1.
        left: what all terms leave of the response.
        origin: which row of the table each row is.
    """

    value: float
    term: Floats
    alone: Floats
    left: Floats
    origin: Places


def score_parts(design: DesignMatrix, name: str) -> ScoreParts | None:
    """The parts of the coefficient ``name``; None when the rows do not determine it."""
    k, place = len(design.names), design.names.index(name)
    off = _Projection.of(design.absorbed or (np.zeros(design.rows, np.int64),))
    found = _residuals(design, off)
    used = _independent(found.gram[:k, :k], found.scale)
    if place not in used or design.rows <= off.rank + len(used):
        return None
    inverse = np.linalg.inv(found.gram[np.ix_(used, used)])
    beta, own = inverse @ found.gram[used, k], int(np.searchsorted(used, place))
    whole = _block(design, slice(0, design.rows), np.zeros(k + 1))
    z = whole - found.centre - found.wide[off.widest]
    for other in off.others:
        z -= found.rest[other]
    x = z[:, used]
    return ScoreParts(
        float(beta[own]), whole[:, place], x @ inverse[:, own] * design.rows, z[:, -1] - x @ beta, design.origin
    )


def by_pyfixest(design: DesignMatrix, *, errors: Errors = "hetero", cluster: Places | None = None) -> Estimates:
    """The same coefficients by the library pyfixest, for whoever trusts it more than us."""
    try:
        import pandas as pd
        import pyfixest as pf
    except ImportError:
        raise MissingExtra(needed_for="A model fitted by pyfixest", extra="models") from None
    terms = [f"x{j}" for j in range(len(design.names))]
    matrix = design.block(slice(0, design.rows))
    data = pd.DataFrame(matrix, columns=terms).assign(response=design.response)
    for i, codes in enumerate(design.absorbed):
        data[f"f{i}"] = codes
    law: Any = errors
    if errors == "cluster":
        data["cluster"] = cluster
        law = {"CRV1": "cluster"}
    varying = [t for j, t in enumerate(terms) if np.ptp(matrix[:, j]) > 0]
    values, spread = np.full(len(terms), np.nan), np.full(len(terms), np.nan)
    if varying and design.rows > len(varying) + 1:
        fixed = " + ".join(f"f{i}" for i in range(len(design.absorbed)))
        formula = f"response ~ {' + '.join(varying)}" + (f" | {fixed}" if fixed else "")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the library's own use of pandas; what is collinear shows as NaN
            found = pf.feols(formula, data=data, vcov=law, fixef_rm="none", fixef_tol=1e-12)
        got, error = found.coef(), found.se()
        for j, term in enumerate(terms):
            if term in got.index:
                values[j], spread[j] = float(got[term]), float(error[term])
    return Estimates(design.names, values, spread, design.rows)


@final
@dataclass(frozen=True, eq=False)
class _Projection:
    """The projection off the levels of absorbed columns."""

    widest: Places
    others: tuple[Places, ...]
    size: Floats
    cross: Floats
    solve: Floats
    rank: int

    @classmethod
    def of(cls, absorbed: tuple[Places, ...]) -> "_Projection":
        levels = [int(a.max()) + 1 if len(a) else 1 for a in absorbed]
        first = int(np.argmax(levels))
        widest, rest = absorbed[first], [i for i in range(len(absorbed)) if i != first]
        if (many := sum(levels[i] for i in rest)) > MOST_LEVELS:
            raise DoesNotApply(
                f"the absorbed columns but the widest have {many:,} levels; {MOST_LEVELS:,} can be projected out "
                "here, more with pyfixest: pip install 'hedgerow[models]', then --fit-with pyfixest "
                "(in Python: library='pyfixest')"
            )
        start = np.cumsum([0, *(levels[i] for i in rest)])
        others = tuple(absorbed[i] + s for i, s in zip(rest, start, strict=False))
        size = np.bincount(widest, minlength=levels[first]).astype(np.float64)
        wide = int(start[-1])
        cross = np.zeros((levels[first], wide))
        inner = np.zeros((wide, wide))
        for one in others:
            cross += np.bincount(widest * wide + one, minlength=cross.size).reshape(cross.shape)
            for other in others:
                inner += np.bincount(one * wide + other, minlength=inner.size).reshape(inner.shape)
        schur = inner - cross.T @ (cross / np.maximum(size, 1)[:, None])
        value, vector = np.linalg.eigh(schur) if wide else (np.zeros(0), np.zeros((0, 0)))
        real = value > 1e-10 * max(value.max(initial=0.0), 1.0)
        solve = (vector[:, real] / value[real]) @ vector[:, real].T
        return cls(widest, others, size, cross, solve, int((size > 0).sum() + real.sum()))

    def effects(self, sums: Floats, other_sums: Floats) -> tuple[Floats, Floats]:
        """The effects of the levels that explain columns best, from the columns' sums within levels."""
        mean = sums / np.maximum(self.size, 1)[:, None]
        of_others = self.solve @ (other_sums - self.cross.T @ mean)
        return mean - (self.cross @ of_others) / np.maximum(self.size, 1)[:, None], of_others


@final
@dataclass(frozen=True, eq=False)
class _Residuals:
    """Terms and response, response last, after the projection.

    Attributes:
        gram: their cross-products.
        scale: the size of each term before the projection, to tell what is left from rounding.
        centre: what was taken off every row, for accuracy.
        wide: the effects of the widest column's levels on each.
        rest: those of the other absorbed columns.
    """

    design: DesignMatrix
    off: _Projection
    gram: Floats
    scale: Floats
    centre: Floats
    wide: Floats
    rest: Floats

    def middle(self, used: Places, beta: Floats, cluster: Places | None) -> tuple[Floats, float]:
        """The middle of the sandwich, by row or by cluster, and its factor for small samples before 1 / (n - k)."""
        groups = 0 if cluster is None else int(cluster.max()) + 1
        inside, total = np.zeros((groups, len(used))), np.zeros((len(used), len(used)))
        for part in _parts(self.design.rows):
            z = _block(self.design, part, self.centre) - self.wide[self.off.widest[part]]
            for other in self.off.others:
                z -= self.rest[other[part]]
            x = z[:, used]
            score = x * (z[:, -1] - x @ beta)[:, None]
            if cluster is None:
                total += score.T @ score
            else:
                for j in range(len(used)):
                    inside[:, j] += np.bincount(cluster[part], score[:, j], groups)
        if cluster is None:
            return total, float(self.design.rows)
        return inside.T @ inside, groups / max(groups - 1, 1) * (self.design.rows - 1)


def _residuals(design: DesignMatrix, off: _Projection) -> _Residuals:
    k = len(design.names) + 1
    plain, scale = np.zeros((k, k)), np.zeros(k - 1)
    sums, other_sums = np.zeros((len(off.size), k)), np.zeros((len(off.solve), k))
    first = _block(design, slice(0, ROWS), np.zeros(k))
    centre = first.mean(axis=0)
    for part in _parts(design.rows):
        z = first - centre if part.start == 0 else _block(design, part, centre)
        plain += z.T @ z
        scale += ((z + centre)[:, :-1] ** 2).sum(axis=0)
        for j, column in enumerate(np.ascontiguousarray(z.T)):
            sums[:, j] += np.bincount(off.widest[part], column, len(off.size))
            for other in off.others:
                other_sums[:, j] += np.bincount(other[part], column, len(off.solve))
    wide, rest = off.effects(sums, other_sums)
    return _Residuals(design, off, plain - sums.T @ wide - other_sums.T @ rest, scale, centre, wide, rest)


def _block(design: DesignMatrix, part: slice, centre: Floats) -> Floats:
    return np.column_stack([design.block(part), design.response[part]]) - centre


def _parts(rows: int) -> Iterator[slice]:
    for low in range(0, rows, ROWS):
        yield slice(low, min(low + ROWS, rows))


def _independent(gram: Floats, scale: Floats) -> Places:
    """The columns that earlier ones and the absorbed levels do not determine, in order."""
    left, used = gram.copy(), list[int]()
    for j in range(len(left)):
        if left[j, j] > 1e-9 * max(scale[j], 1e-300):
            used.append(j)
            left = left - np.outer(left[:, j], left[j]) / left[j, j]
    return np.array(used, np.int64)
