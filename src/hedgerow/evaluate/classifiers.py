"""What classifiers make of the tables: can they tell them apart, and what is lost by training on B instead of A?

The propensity score (pMSE) with its null expectation, the AUC of classifiers, and train on synthetic, test on real.
Boosted trees, by the library scikit-learn, are the one learner of this room that is not linear.
"""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import sqrt
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Result, Scale
from hedgerow.evaluate.cells import in_both
from hedgerow.evaluate.least_squares import CategoricalTerm, DesignMatrix, Floats
from hedgerow.evaluate.logistic import logistic

Codes = npt.NDArray[np.int64]


def is_installed() -> bool:
    """Whether the library is there; nothing is imported to find out."""
    return find_spec("sklearn") is not None


def boosted(x: Codes, y: npt.NDArray[Any], rng: np.random.Generator) -> Any:
    """A classifier trained on coded columns, codes taken as ordered."""
    if not is_installed():
        raise DoesNotApply("it needs scikit-learn: pip install 'hedgerow[models]'")
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits  # a library of scikit-learn itself

    model = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=31, early_stopping=False, random_state=int(rng.integers(1 << 31))
    )
    with threadpool_limits(1):  # threads that wait for each other take more CPU than they save on tables of this size
        return model.fit(x.astype(np.float32), y)


def probability(model: Any, x: Codes) -> Floats:
    """The probability of label 1 for each row."""
    return np.asarray(model.predict_proba(x.astype(np.float32))[:, 1], np.float64)


def boosted_scores(x: Codes, y: npt.NDArray[Any], rng: np.random.Generator) -> Floats:
    """For each row, the probability of label 1 by trees grown on the other half of the rows."""
    fold, score = rng.integers(0, 2, len(y)), np.zeros(len(y))
    for i in (0, 1):
        if (fold == i).any() and len(np.unique(y[fold != i])) == 2:  # of two rows all may lie in one half
            score[fold == i] = probability(boosted(x[fold != i], y[fold != i], rng), x[fold == i])
    return score


_FOLDS = 2
_RIDGE = 1.0  # on held-out rows: a level that tells one table without error weighs as much as its rows bear out
_PRECISION = 1e-5  # of the log likelihood: what predictions gain after that is nothing to look at


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
        most_judged: the AUCs are worked out on so many of these at most: more rows hardly change them.
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
    most_judged: int = 15_000

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The ratio, its standardized form, and AUCs on rows that the models did not see."""
        names = [n for n in in_both(a, b, self.columns) if a.schema.size([n]) > 1]
        if not names:
            raise DoesNotApply("the tables share no column that varies")
        codes, label = _pooled(a, b, names, self.most, rng)
        k = 1 + sum(len(np.unique(x)) - 1 for x in codes)
        if k == 1:
            raise DoesNotApply("all rows of both tables are alike")
        fit = logistic(_design(codes, label, names), precision=_PRECISION)
        c, n = float(label.mean()), len(label)
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
        }
        largest = max(a.rows, b.rows)
        notes = [f"pMSE on {self.most:,} rows of a table at most"] if largest > self.most else []
        notes += [f"AUC on {self.most_judged:,} rows of a table at most"] if largest > self.most_judged else []
        codes, label = _some(codes, label, self.most_judged, rng)
        found["auc_logistic"] = auc(label, _held_out(codes, label, names, rng))
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


def _some(
    codes: list[npt.NDArray[np.int64]], label: Floats, most: int, rng: np.random.Generator
) -> tuple[list[npt.NDArray[np.int64]], Floats]:
    """Of the rows of each table so many at most."""
    sides = [rng.permutation(np.flatnonzero(label == side))[:most] for side in (0.0, 1.0)]
    kept = np.sort(np.concatenate(sides))
    return [c[kept] for c in codes], label[kept]


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
        found = logistic(design, precision=10 * _PRECISION, ridge=_RIDGE).estimates.values
        effect = dict(zip(design.names, found[1:], strict=True))
        score[rest] = found[0]  # folds have reference levels of their own
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


_USUAL = ("income", "label", "outcome", "target", "supervisory")


@final
@dataclass(frozen=True)
class TrainOnSynthetic(AbstractMetric):
    """The AUC lost on A's held-out rows when the classifier is trained on B instead of on A's other rows.

    Attributes:
        label: the column to predict; one of the usual names, or the first with 2 to 12 values, by default.
        value: which of its values is 1; the least frequent of two, else the most frequent, by default.
        most: so many training rows at most, the same from A and from B.
        repeats: random splits of A, to see the spread.
    """

    name = "train-on-synthetic"
    title = "Train on synthetic, test on real"
    scale = Scale(-1, 1, 0, "AUC lost")
    null = "0: a classifier trained on another sample is as good"
    reading = "The AUC (0.5 is guessing, 1 is perfect) that a prediction model loses by being trained on B."
    label: str = ""
    value: str = ""
    most: int = 15_000
    repeats: int = 2

    def with_options(self, options: CompareOptions) -> Self:
        """The column to predict, and which of its values, as ``name`` or ``name=value``."""
        name, _, value = options.label.partition("=")
        return replace(self, label=name, value=value) if options.label else self

    def of(self, a: CodedTable, b: CodedTable, *, rng: np.random.Generator) -> Result:
        """The loss, with both AUCs of every split."""
        label, code = self._label(a, b)
        names = [n for n in in_both(a, b) if n != label and a.schema.size([n]) > 1]
        if not names:
            raise DoesNotApply(f"no other column could predict {label}")
        x, y = (np.stack([t.codes([n])[n] for n in names], 1).astype(np.int64) for t in (a, b))
        one, other = (t.codes([label])[label] == code for t in (a, b))
        rows = []
        for i in range(self.repeats):
            order = rng.permutation(a.rows)
            size = min(self.most, a.rows // 2, b.rows)
            train, test = order[:size], order[size:][: self.most]
            drawn = rng.choice(b.rows, size, replace=False)
            if any(len(np.unique(v)) < 2 for v in (one[train], one[test], other[drawn])):
                raise DoesNotApply(f"{label} has one value only in a part of the rows")
            trained = boosted(x[train], one[train], rng), boosted(y[drawn], other[drawn], rng)
            scores = [probability(model, x[test]) for model in trained]
            real, synthetic = (auc(one[test].astype(float), s) for s in scores)
            rows.append({"split": i + 1, "trained_on_a": real, "trained_on_b": synthetic, "lost": real - synthetic})
        table = pl.DataFrame(rows)
        real, synthetic, lost = (
            float(np.mean(table[c].to_numpy())) for c in ("trained_on_a", "trained_on_b", "lost")
        )
        named = f"{label}={a.schema.cell_labels(label)[code]}"
        return Result(
            self.name,
            lost,
            0.0,
            f"Predicting {named}: AUC {synthetic:.3f} when trained on B, {real:.3f} when trained on A.",
            table,
            parts={"label": named, "trained_on_a": real, "trained_on_b": synthetic, "training_rows": size},
        )

    def _label(self, a: CodedTable, b: CodedTable) -> tuple[str, int]:
        names = in_both(a, b, [self.label] if self.label else None)
        few = [n for n in names if 2 <= a.schema.size([n]) <= 12]
        usual = [n for n in few if n.lower() in _USUAL]
        chosen = ([self.label] if self.label else []) or usual or few
        if not chosen:
            raise DoesNotApply("no column has 2 to 12 values: name one with --label (in Python: label=...)")
        name = chosen[0]
        labels, texts = a.schema.cell_labels(name), a.schema.column(name).cell_texts
        if self.value:
            named = [i for i, pair in enumerate(zip(labels, texts, strict=True)) if self.value in pair]
            if not named:
                raise DoesNotApply(f"{name} has no value {self.value!r}")
            return name, named[0]
        counts = np.bincount(a.codes([name])[name], minlength=len(labels))
        used = np.flatnonzero(counts)
        return name, int(used[counts[used].argmin()] if len(used) == 2 else counts.argmax())
