"""How ``guided_tree`` asks about an outcome: bands of the residual that the other columns leave, with private labels.

The coefficient of a private label in a least-squares model of the outcome y given the columns X is that of the label
in a regression of the residual of y on X (Frisch and Waugh 1933; Lovell 1963): it is decided by how often the label
occurs where y is above, or below, what X alone predicts.  The table of y and the label does not say it when X
explains most of y; the table of bands of that residual and the label does.

The residual is a sum of one whole number for each column's code, found from public rows.  A tree whose splits are
shared by all paths with the same sum so far leads every row to the band of its sum: it asks about any table, and
reads no row to be made.

    >>> left = residual_of(np.array([[0, 0, 1, 1], [0, 1, 1, 2]]), (2, 3), outcome=1, scores=np.arange(3.0))
    >>> left.of(np.array([[0, 0], [0, 1]])) < 0
    array([ True, False])

How many bands, whether the private attributes are counted together or each by itself, and how much of the budget
they take is decided by the target's public columns and the mix of public labels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.errors import JobError
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.public import BINNED, Marginal, PublicData, Schema, Statistic, Tree
from hedgerow.recipes.statistics import Ints, has_bands, lloyd_cuts, response_bands, tree_of_sums, value_bands
from hedgerow.recipes.trees.attach import Columns, is_ordered, target_of

Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Residual:
    """A whole number for each code of each column; a row's residual is the sum of its own, in steps of equal size."""

    points: tuple[Ints, ...]

    def of(self, code_rows: npt.NDArray[Any]) -> Ints:
        """The residual of each row."""
        out = np.zeros(code_rows.shape[1], np.int64)
        for p, codes in zip(self.points, code_rows, strict=True):
            out += p[codes]
        return out

    def tree(self, columns: tuple[str, ...], cuts: Sequence[int]) -> Tree:
        """The tree whose leaf is the number of ``cuts`` that are at or below a row's residual."""
        return tree_of_sums(columns, self.points, lambda s: np.searchsorted(cuts, s, side="right"), len(cuts) + 1)


def residual_of(
    code_rows: npt.NDArray[Any], sizes: Sequence[int], *, outcome: int, scores: Floats
) -> Residual | None:
    """The residual of ``scores`` of the codes in row ``outcome``, given the other columns: one effect for each code.

    None when nothing is left.  Least squares by backfitting (Gauss-Seidel): a code's effect is the mean of what the
    other columns leave of its rows.
    """
    code_rows = code_rows[:, :: max(code_rows.shape[1] // GUIDED_TREE.residual_rows, 1)]
    y = scores[code_rows[outcome]]
    left, mean = y - y.mean(), y.mean()
    others = [a for a in range(len(sizes)) if a != outcome]
    effects = [np.zeros(s) for s in sizes]
    rows = [np.maximum(np.bincount(codes, minlength=s), 1) for codes, s in zip(code_rows, sizes, strict=True)]
    for _ in range(GUIDED_TREE.residual_sweeps):
        for a in others:
            step = np.bincount(code_rows[a], weights=left, minlength=sizes[a]) / rows[a]
            effects[a] += step
            left -= step[code_rows[a]]
    if left.std() <= 1e-3 * max(y.std(), 1e-12):
        return None
    effects[outcome] = mean - scores
    unit = left.std() / GUIDED_TREE.residual_steps
    while _numbers([np.rint(e / unit) for e in effects]) > GUIDED_TREE.band_tree_numbers:
        unit *= 2
    return Residual(tuple(np.asarray(-np.rint(e / unit), np.int64) for e in effects))


def _numbers(points: Sequence[Floats]) -> float:
    """At most how many numbers the tree of these points has."""
    reach = np.cumsum([0.0, *(np.ptp(p) for p in sorted(points, key=len, reverse=True))])
    return float(sum((r + 1) * len(p) for r, p in zip(reach, sorted(points, key=len, reverse=True), strict=False)))


def unknown_deviation(
    values: Ints, many: Ints, cuts: Sequence[int], mix: Floats, noise: float
) -> tuple[float, float]:
    """How far the sums of residual x label are unknown when bands are counted with ``noise``, and when nothing is.

    ``mix`` has the share q of each label.  In a band of n rows chance gives its count the variance c = n q (1 - q),
    of which a count with noise v leaves c v / (c + v); the band's mean residual m makes it m^2 of the sum's.  How
    the label lies within the band stays unknown.  Standard deviations, added up over labels.
    """
    band = np.searchsorted(cuts, values, side="right")
    rows = np.bincount(band, weights=many, minlength=len(cuts) + 1)
    away = values - float(many @ values) / float(many.sum())
    mean = np.bincount(band, weights=many * away, minlength=len(rows)) / np.maximum(rows, 1)
    within = np.bincount(band, weights=many * (away - mean[band]) ** 2, minlength=len(rows)) / np.maximum(rows, 1)
    chance = rows[:, None] * mix * (1 - mix)
    kept = chance * noise / np.maximum(chance + noise, 1e-12)
    square = mean[:, None] ** 2
    left, whole = ((square * v + within[:, None] * chance).sum(axis=0) for v in (kept, chance))
    return float(np.sqrt(left).sum()), float(np.sqrt(whole).sum())


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """An outcome, and what the other given columns leave of it.

    Attributes:
        columns: the given attributes, of which it is one.
        residual: of each row, a sum over the codes of ``columns``.
        values: the residuals that target rows have, and ``many`` how many rows have each.
    """

    columns: tuple[str, ...]
    residual: Residual
    values: npt.NDArray[np.int64]
    many: npt.NDArray[np.int64]

    def questions(
        self, labels: Mapping[str, Floats], part: Fraction, variance: Callable[[Fraction], float]
    ) -> tuple[tuple[Marginal, ...], float]:
        """The questions with the least left unknown, and how much of the variance that chance makes they tell.

        ``labels`` has the mix of each private attribute; ``variance`` is that of a count that gets so much of the
        budget, of which the questions have a ``part`` together.
        """
        cells, options = float(np.prod([len(m) for m in labels.values()])), []
        for bands, apart in product(GUIDED_TREE.band_counts, (False, True) if len(labels) > 1 else (False,)):
            cuts = lloyd_cuts(self.values, self.many, bands)
            noise = variance(part / len(labels) if apart else part)
            each = [
                unknown_deviation(self.values, self.many, cuts, m, noise * (1.0 if apart else cells / len(m)))
                for m in labels.values()
            ]
            left, whole = np.sum(each, axis=0)
            options.append((float(left), float(whole), apart, cuts))
        left, whole, apart, cuts = min(options, key=lambda o: o[0])
        tree = self.residual.tree(self.columns, cuts)
        groups = [(p,) for p in labels] if apart else [tuple(labels)]
        return tuple(Marginal(g, tree) for g in groups), 1 - (left / max(whole, 1e-12)) ** 2


def outcome_of(
    schema: Schema, columns: tuple[str, ...], code_rows: npt.NDArray[Any], name: str, *, logs: bool = False
) -> Outcome:
    """What the other ``columns`` leave of the one called ``name``, on target rows with the codes in ``code_rows``.

    With ``logs``, if they leave a smaller part of the logarithms of a column of positive numbers, it is of these.
    """
    if not (is_ordered(schema, name) or schema.size([name]) == 2):
        raise JobError(
            f"[guided_tree] outcomes has {name}, whose values have no order. An outcome has an order or two values;\n"
            "for another one name the table: analyses = [[...]]. Nothing was read or spent."
        )
    at = columns.index(name)
    scales = [_scores(schema, name, code_rows[at])]
    if logs and (numbers := _logs(schema, name, code_rows[at])) is not None:
        scales.append(numbers)
    found = (residual_of(code_rows, schema.shape(columns), outcome=at, scores=s) for s in scales)
    residual = min(filter(None, found), key=lambda r: _left(r, code_rows, at), default=None)
    if residual is None:
        raise JobError(
            f"[guided_tree] outcomes has {name}, which the other columns of the target settle: it leaves nothing to\n"
            "measure. Take it out, or give the columns that settle it priority 0. Nothing was read or spent."
        )
    return Outcome(columns, residual, *np.unique(residual.of(code_rows), return_counts=True))


def banded(name: str, codes: npt.NDArray[Any], size: int) -> Outcome:
    """An attribute that is a residual itself, in bands: nothing is taken from it any more."""
    points = np.arange(size)
    return Outcome((name,), Residual((points,)), *np.unique(codes.astype(np.int64), return_counts=True))


def _scores(schema: Schema, name: str, codes: npt.NDArray[Any]) -> Floats:
    """A number for each code: its rank; for what has no place in the order (missing, other, special) the mean one."""
    scores = np.arange(float(schema.size([name])))
    column = next((c for c in schema.columns if c.name == name), None)
    if column is not None and is_ordered(schema, name):
        placed = column.bin_count if column.kind in BINNED else len(column.values)
        scores[placed:] = codes[codes < placed].mean() if (codes < placed).any() else 0.0
    return scores


def _logs(schema: Schema, name: str, codes: npt.NDArray[Any]) -> Floats | None:
    """The logarithm of the number of each code, the mean one for codes without; None unless all are positive."""
    column = next((c for c in schema.columns if c.name == name and c.kind in BINNED), None)
    if column is None or column.kind == "date" or not (np.nan_to_num(column.code_numbers, nan=1.0) > 0).all():
        return None
    logs = np.log(column.code_numbers)
    known = logs[codes][np.isfinite(logs[codes])]
    return np.where(np.isfinite(logs), logs, known.mean() if len(known) else 0.0)


def _left(residual: Residual, code_rows: npt.NDArray[Any], outcome: int) -> float:
    """The part of the outcome's variance that the other columns leave."""
    whole = residual.points[outcome][code_rows[outcome]]
    return float(residual.of(code_rows).var() / max(float(whole.var()), 1e-12))


def budget_parts(
    tables: Sequence[Marginal],
    outcomes: Sequence[Outcome],
    labels: Mapping[str, Floats],
    share: Fraction | None,
    variance: Callable[[Fraction], float],
    *,
    uses: bool = False,
) -> dict[Marginal, Fraction]:
    """The questions of all ``tables`` and ``outcomes``, each with its part of the budget.

    Their ``share`` together, when None, is a third, or a half where intended ``uses`` want some; with outcomes it is
    the least of a sixth, a third and a half with which half of what chance did to each is told.  ``variance`` is that
    of a count that gets so much of the budget.
    """
    if not (tables or outcomes):
        return {}
    parts: dict[Marginal, Fraction] = {}
    rest = GUIDED_TREE.uses_share if uses else GUIDED_TREE.analyses_share
    for whole in (share,) if share is not None else GUIDED_TREE.outcome_shares if outcomes else (rest,):
        part = whole / (len(tables) + len(outcomes))
        parts, least = dict.fromkeys(tables, part), 1.0
        for outcome in outcomes:
            questions, learnt = outcome.questions(labels, part, variance)
            parts |= dict.fromkeys(questions, part / len(questions))
            least = min(least, learnt)
        if least >= GUIDED_TREE.told_enough:
            break
    return parts


def tables_for_uses(public: PublicData, columns: Columns, analyses: Sequence[Marginal]) -> tuple[Marginal, ...]:
    """The declared ``analyses``, and what intended uses want in which a private attribute has a part.

    A use of one private attribute is counted with that one alone, of several with all.  Means, quantiles and
    coefficients of given columns are asked for in bands.
    """
    schema, target, tables = public.schema, target_of(public), list(analyses)
    for names in public.wanted:
        tables += [Marginal((*others, *counted)) for others, counted in _parted(names, columns)]
    for said in public.figures:
        if said.formula is not None:
            tables += _bands_of_model(said, public, columns)
            continue
        for others, counted in _parted((*said.by, said.of), columns):
            if others == (said.of,) and has_bands(schema, said):
                counts = np.bincount(target.cells(others), minlength=schema.size(others)).astype(np.float64)
                tables.append(Marginal(counted, value_bands(schema, said, counts)))
            else:
                tables.append(Marginal((*others, *counted)))
    plain = [set(t.columns) for t in tables if t.tree is None]
    within = [t for t in tables if t.tree is None and any(set(t.columns) < p for p in plain)]
    return tuple(dict.fromkeys(t for t in tables if t not in within))  # a larger table tells a smaller one


def _parted(names: Sequence[str], columns: Columns) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The given columns of a table and the private ones it is counted with; nothing where there are none of these."""
    labels = [p for p in columns.private if p in names]
    others = tuple(dict.fromkeys(c for c in names if c not in columns.private))
    if not labels or any(c not in columns.given for c in others):
        return []
    return [(others, (labels[0],) if len(labels) == 1 else columns.private)]


def _bands_of_model(said: Statistic, public: PublicData, columns: Columns) -> list[Marginal]:
    """Bands of what the given columns leave of a model's response, with the private column of the term."""
    assert said.formula is not None
    schema, formula = public.schema, said.formula.bound(public.schema)
    at = [t.column for t in formula.terms for _ in t.coefficients(schema.column(t.column))]
    label = at[formula.place(said.term, schema)]
    known = (*columns.given, *columns.private)
    if label not in columns.private or said.by or any(c not in known for c in formula.columns):
        return []
    if formula.response.column in columns.private:
        return []
    given = [c for c in formula.columns if c in columns.given]
    tree = response_bands(schema, formula, columns.private, target_of(public).codes(given))
    return [] if tree is None else [Marginal((label,), tree)]
