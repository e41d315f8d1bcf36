"""Can a model tell the tables apart? pMSE with its null expectation, and the AUC of classifiers."""

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, DoesNotApply, Result, Scale
from hedgerow.evaluate.boosting import boosted_scores, is_installed
from hedgerow.evaluate.cells import in_both
from hedgerow.evaluate.design import CategoricalTerm, DesignMatrix, Floats
from hedgerow.evaluate.logistic import logistic

_FOLDS = 2


@final
@dataclass(frozen=True)
class TellingApart(AbstractMetric):
    """The propensity mean squared error of a logistic model, as a multiple of what equal populations would give.

    The pooled rows are labelled by their table, and a logistic model with every level of every column predicts the
    label.  pMSE is the mean of (prediction - c)^2, where c is B's share of the N rows.  For two samples of one
    population it is on average (k - 1) c (1 - c) / N with k coefficients.  Snoke et al. (2018) take as null a
    synthesis by the right model fitted to A, which gives 1 - c times that: their numbers are told too.

    Attributes:
        columns: what the model sees; all columns that both tables have, by default.
        most: so many rows of each table at most, chosen at random.
    """

    name = "telling-apart"
    title = "Telling the tables apart (pMSE and AUC)"
    scale = Scale(0, float("inf"), 0, "times chance")
    null = "1, by theory, for two samples of one population; 0 for equal tables"
    reading = (
        "The pMSE ratio: 1 is as close as another sample, 10 is clearly different. An AUC of 0.5 means that a "
        "classifier cannot tell the tables apart, 1 that it always can."
    )
    columns: tuple[str, ...] | None = None
    most: int = 50_000

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The ratio, its standardized form, and AUCs on rows that the models did not see."""
        names = [n for n in in_both(a, b, self.columns) if a.schema.size([n]) > 1]
        if not names:
            raise DoesNotApply("the tables share no column that varies")
        codes, label = _pooled(a, b, names, self.most, rng)
        fit = logistic(_design(codes, label, names))
        c, n = float(label.mean()), len(label)
        k = 1 + sum(len(np.unique(x)) - 1 for x in codes)
        pmse = float(np.mean((fit.fitted - c) ** 2))
        expected = (k - 1) * (1 - c) * c / n
        snoke = (1 - c) * expected
        found = {
            "pmse": pmse,
            "expected_pmse": expected,
            "pmse_ratio": pmse / expected,
            "snoke_ratio": pmse / snoke,
            "snoke_standardized": (pmse - snoke) / (snoke * sqrt(2 / (k - 1))),
            "coefficients": float(k),
            "auc_logistic": auc(label, _held_out(codes, label, names, rng)),
        }
        notes = [f"on {self.most:,} rows of a table at most"] if max(a.rows, b.rows) > self.most else []
        if is_installed():
            found["auc_boosting"] = auc(label, boosted_scores(np.stack(codes, 1), label, rng))
        else:
            notes.append("no boosted trees: pip install 'hedgerow[models]'")
        best = max(v for name, v in found.items() if name.startswith("auc"))
        table = pl.DataFrame({"number": list(found), "value": list(found.values())})
        return Result(
            self.name,
            found["pmse_ratio"],
            1.0,
            f"A logistic model tells the tables apart {found['pmse_ratio']:.1f} times as well as it would two "
            f"samples of one population; the better classifier is right about a pair of rows in {100 * best:.0f} of "
            "100 cases (50 is guessing).",
            table,
            parts=found,
            notes=tuple(notes),
        )


def _pooled(
    a: CodedTable, b: CodedTable, names: list[str], most: int, rng: np.random.Generator
) -> tuple[list[npt.NDArray[np.int64]], Floats]:
    sides = []
    for t in (a, b):
        some = np.arange(t.rows) if t.rows <= most else np.sort(rng.choice(t.rows, most, replace=False))
        sides.append([t.codes([n])[n][some].astype(np.int64) for n in names])
    label = np.repeat([0.0, 1.0], [len(s[0]) for s in sides])
    return [np.concatenate(pair) for pair in zip(*sides, strict=True)], label


def _design(codes: list[npt.NDArray[np.int64]], label: Floats, names: list[str]) -> DesignMatrix:
    factors = []
    for name, code in zip(names, codes, strict=True):
        levels, place = np.unique(code, return_inverse=True)
        reference = int(np.bincount(place).argmax())
        factors.append(CategoricalTerm(name, place, tuple(map(str, levels.tolist())), reference))
    return DesignMatrix(label, (), tuple(factors), (), np.arange(len(label)))


def _held_out(
    codes: list[npt.NDArray[np.int64]], label: Floats, names: list[str], rng: np.random.Generator
) -> Floats:
    """The log odds of each row by the logistic model of the other fold; a level unseen there says nothing."""
    fold, score = rng.integers(0, _FOLDS, len(label)), np.zeros(len(label))
    for i in range(_FOLDS):
        seen, rest = fold != i, fold == i
        if len(np.unique(label[seen])) < 2:
            continue
        design = _design([c[seen] for c in codes], label[seen], names)
        effect = dict(zip(design.names, logistic(design).estimates.values[1:], strict=True))
        for name, code in zip(names, codes, strict=True):
            by_level = np.array([effect.get(f"{name}[{v}]", 0.0) for v in range(int(code.max()) + 1)])
            score[rest] += np.clip(by_level, -20, 20)[code[rest]]
    return score


def auc(label: Floats, score: Floats) -> float:
    """The chance that a row with label 1 has a higher score than one with label 0; ties count half.

    >>> auc(np.array([0.0, 0, 1, 1]), np.array([1.0, 2, 2, 3]))
    0.875
    """
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    ones = label > 0.5
    n, m = int(ones.sum()), int((~ones).sum())
    return float((rank[ones].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")
