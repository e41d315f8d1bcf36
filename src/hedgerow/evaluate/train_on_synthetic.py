"""Train on synthetic, test on real: what a prediction model loses when it is trained on B instead of A."""

from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import polars as pl

from hedgerow.evaluate.base import AbstractMetric, CodedTable, CompareOptions, DoesNotApply, Result, Scale
from hedgerow.evaluate.boosting import boosted, probability
from hedgerow.evaluate.cells import in_both
from hedgerow.evaluate.telling_apart import auc

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
    most: int = 20_000
    repeats: int = 3

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
            raise DoesNotApply("no column has 2 to 12 values: name one with --label")
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
