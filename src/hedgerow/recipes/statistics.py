"""Sufficient statistics of intended uses, as questions: one small table of bands for each figure.

A mean or a quantile of a wide column is decided by how many rows lie in a few bands of it: the noise of six bands
moves a mean far less than that of a hundred bins.  A coefficient of D in a least-squares model of y given X is the
mean product of two residuals, of D and of y, each given X (Frisch and Waugh 1933; Lovell 1963), over the mean square
of the first: it is decided by how many rows lie in the bands of one residual crossed with those of the other.  Both
residuals come from rows that are public or drawn from earlier answers.  Where these rows are a little off, each error
meets the other residual, which has mean 0, so that only their product is felt (Neyman's orthogonality).

A residual is a sum of one whole number for each column's code; a tree leads every row to the band of its sum, so the
gate counts bands of any table and reads no row to be asked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.model.constants import GUIDED_TREE, STATISTICS
from hedgerow.public import Formula, Marginal, Schema, Statistic, Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def has_bands(schema: Schema, said: Statistic) -> bool:
    """Whether bands tell a figure: not of columns that the model holds only as part of another, nor of few values."""
    columns = (*said.by, *(said.formula.columns if said.formula else (said.of,)))
    if any(c not in schema.attributes for c in columns) or len(set(columns)) < len(columns):
        return False
    numbers = np.empty(0) if said.formula else schema.column(said.of).code_numbers
    return said.formula is not None or int(np.isfinite(numbers).sum()) > STATISTICS.bands + 2 * len(said.at)


def question_of(
    schema: Schema, said: Statistic, codes: Mapping[str, npt.NDArray[Any]], margins: Mapping[str, Floats]
) -> Marginal | None:
    """The question that tells a figure, by rows that are like the confidential ones; None where there is none.

    ``codes`` are those of such rows: public ones, or drawn from earlier answers.  ``margins`` has the estimated
    counts of single columns: bands of one column are cut by them.
    """
    if not has_bands(schema, said):
        return None
    tree: Tree | None
    if said.formula is None:
        tree = value_bands(schema, said, margins[said.of])
    else:
        tree = _product_bands(schema, said.formula.bound(schema), said.term, codes)
    return None if tree is None else Marginal(tuple(said.by), tree)


def value_bands(schema: Schema, said: Statistic, counts: Floats) -> Tree:
    """Bands of one column's values, whose codes count so much; with quantiles, cuts on both sides of each."""
    numbers = schema.column(said.of).code_numbers
    known = np.flatnonzero(np.isfinite(numbers))
    rows = np.maximum(counts[known], 0.0)
    unit = max(float(np.ptp(numbers[known])), 1e-300) / 10_000
    points = np.rint((numbers[known] - numbers[known].min()) / unit).astype(np.int64)
    cuts = set(lloyd_cuts(points, np.maximum(rows, 1e-3), STATISTICS.bands))
    below = (np.cumsum(rows) - rows / 2) / max(float(rows.sum()), 1.0)
    for share in said.at:
        near = np.interp([share - STATISTICS.beside, share + STATISTICS.beside], below, points)
        cuts |= {int(c) + 1 for c in near}
    band = np.full(len(numbers), len(cuts) + 1, np.int64)  # what has no number is apart
    band[known] = np.searchsorted(sorted(cuts), points, side="right")
    used, band = np.unique(band, return_inverse=True)
    return Tree.of((said.of,), len(used), [0], [0], -1 - band)


def _product_bands(schema: Schema, formula: Formula, term: str, codes: Mapping[str, npt.NDArray[Any]]) -> Tree | None:
    """Bands of the term's residual crossed with bands of the response's."""
    columns, own = formula.columns, formula.place(term, schema)
    at = [i for i, t in enumerate(formula.terms) for _ in t.coefficients(schema.column(t.column))]
    named = formula.terms[at[own]]
    if sum(t.column == named.column for t in formula.terms) > 1:
        return None  # a square beside its number: neither is the whole of the column
    rows = np.stack([np.asarray(codes[c], np.int64) for c in columns])
    sizes, column = schema.shape(columns), schema.column(named.column)
    if named.form == "labels":
        level = [k for k in range(column.size) if k != named.base(column)][own - at.index(at[own])]
        d = np.asarray(np.arange(column.size) == level, np.float64)
    else:
        d = named.codes(column)
    y = formula.response.codes(schema.column(formula.response.column))
    here, response = columns.index(named.column), columns.index(formula.response.column)
    others = [i for i in range(len(columns)) if i not in (here, response)]
    forms = _forms(schema, formula, columns)
    left = [additive_points(rows, sizes, others, i, s, forms) for i, s in ((here, d), (response, y))]
    if any(p is None for p in left):
        return None
    return crossed_bands(columns, rows, [p for p in left if p is not None])


def response_bands(schema: Schema, formula: Formula, private: Sequence[str], codes: Mapping[str, Any]) -> Tree | None:
    """Bands of what the columns of a model that are not private leave of its response, by rows that have them.

    With them public row by row, the coefficient of a private label is decided by how the label lies in these bands.
    """
    columns = tuple(c for c in formula.columns if c not in private)
    rows, sizes = np.stack([np.asarray(codes[c], np.int64) for c in columns]), schema.shape(columns)
    own = columns.index(formula.response.column)
    y = formula.response.codes(schema.column(formula.response.column))
    others = [i for i in range(len(columns)) if i != own]
    points = additive_points(rows, sizes, others, own, y, _forms(schema, formula, columns))
    if points is None:
        return None
    sums = np.sum([p[line] for p, line in zip(points, rows, strict=True)], axis=0)
    cuts = lloyd_cuts(*np.unique(sums, return_counts=True), STATISTICS.bands)
    return tree_of_sums(columns, points, lambda s: np.searchsorted(cuts, s, side="right"), len(cuts) + 1)


def _forms(schema: Schema, formula: Formula, columns: Sequence[str]) -> list[Floats | None]:
    """What a model makes of the codes of each column, a line for each term after one of ones; None: levels, all free.

    A code without a number counts as the mean of the others.
    """
    found: list[Floats | None] = []
    for name in columns:
        terms, column = [t for t in formula.terms if t.column == name], schema.column(name)
        numbers = [] if any(t.form == "labels" for t in terms) else [t.codes(column) for t in terms]
        spread = [(x - np.nanmean(x)) / max(float(np.nanstd(x)), 1e-300) for x in numbers]
        found.append(np.vstack([np.ones(column.size), *map(np.nan_to_num, spread)]) if spread else None)
    return found


def additive_points(
    rows: npt.NDArray[np.int64],
    sizes: Sequence[int],
    others: Sequence[int],
    own: int,
    scores: Floats,
    forms: Sequence[Floats | None],
) -> tuple[Ints, ...] | None:
    """Whole numbers for the codes of every column whose sum is what ``others`` leave of a row's score, in steps.

    Least squares by backfitting (Gauss-Seidel), one effect for each code, or a sum of the model's ``forms`` of it: a
    line in age that bands did not follow would come back, and hang on how old people are.  None when nothing is left.
    """
    score = np.where(np.isfinite(scores), scores, np.nanmean(scores[rows[own]]) if len(rows[own]) else 0.0)
    y = score[rows[own]]
    left, effects = y - y.mean(), [np.zeros(s) for s in sizes]
    many = [np.maximum(np.bincount(rows[a], minlength=s), STATISTICS.fewest) for a, s in enumerate(sizes)]
    for _ in range(STATISTICS.sweeps):
        for a in others:
            step = np.bincount(rows[a], weights=left, minlength=sizes[a]) / many[a]
            if (lines := forms[a]) is not None:
                weight = np.sqrt(many[a])
                step = np.linalg.lstsq((lines * weight).T, step * weight, rcond=None)[0] @ lines
            effects[a] += step
            left -= step[rows[a]]
    if left.std() <= 1e-3 * max(float(y.std()), 1e-12):
        return None
    unit = left.std() / STATISTICS.steps
    effects[own] = y.mean() - score
    return tuple(np.asarray(-np.rint(e / unit), np.int64) for e in effects)


def crossed_bands(columns: tuple[str, ...], rows: npt.NDArray[np.int64], points: Sequence[tuple[Ints, ...]]) -> Tree:
    """The tree whose leaves are the crosses of the bands of two sums, cut where ``rows`` lie."""
    sums = [np.sum([p[codes] for p, codes in zip(each, rows, strict=True)], axis=0) for each in points]
    cuts = [
        lloyd_cuts(*np.unique(s, return_counts=True), bands)
        for s, bands in zip(sums, (STATISTICS.term_bands, STATISTICS.response_bands), strict=True)
    ]
    low = sum(int(p.min()) for p in points[1])
    width = sum(int(p.max()) for p in points[1]) - low + 1

    def leaf(total: Ints) -> Ints:
        first, second = np.divmod(total - low, width)
        bands = [np.searchsorted(c, s, side="right") for c, s in zip(cuts, (first, second + low), strict=True)]
        return np.asarray(bands[0] * (len(cuts[1]) + 1) + bands[1], np.int64)

    both = [width * a + b for a, b in zip(*points, strict=True)]
    return tree_of_sums(columns, both, leaf, (len(cuts[0]) + 1) * (len(cuts[1]) + 1))


def tree_of_sums(columns: tuple[str, ...], points: Sequence[Ints], leaf: Callable[[Ints], Any], leaves: int) -> Tree:
    """The tree that adds up a row's points, one whole number for each column's code, and ends in the sum's leaf."""
    look, wide, child, sums, splits = [], [], [], np.zeros(1, np.int64), 1
    order = sorted(range(len(columns)), key=lambda a: -len(points[a]))  # wide columns while sums are few
    for place, a in enumerate(order):
        after = sums[:, None] + points[a]
        if place + 1 == len(order):
            child.append((-1 - leaf(after.ravel())).ravel())
        else:
            nexts = np.unique(after)
            child.append((splits + np.searchsorted(nexts, after)).ravel())
        look += [a] * len(sums)
        wide += [len(points[a])] * len(sums)
        if place + 1 < len(order):
            sums, splits = nexts, splits + len(nexts)
    return Tree.of(columns, leaves, look, np.cumsum(wide) - wide, np.concatenate(child))


def lloyd_cuts(values: Ints, many: Ints | Floats, bands: int) -> list[int]:
    """Cuts that part ``many`` rows of each of ``values`` in at most so many bands, each as like itself as can be.

    Lloyd's algorithm (one-dimensional k-means) from equal parts; a value at a cut belongs to the upper band.
    """
    middle = np.interp((np.arange(bands) + 0.5) / bands, (np.cumsum(many) - many / 2) / many.sum(), values)
    for _ in range(GUIDED_TREE.lloyd_rounds):
        band = np.searchsorted((middle[1:] + middle[:-1]) / 2, values)
        rows = np.bincount(band, weights=many, minlength=bands)
        mean = np.bincount(band, weights=many * values, minlength=bands) / np.maximum(rows, 1)
        middle = np.where(rows > 0, mean, middle)
    return sorted({int(np.floor(c)) + 1 for c in (middle[1:] + middle[:-1]) / 2})
