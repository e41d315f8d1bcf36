"""How well a model that was trained on the file predicts a column in true rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.evaluate.classifiers import auc, boosted, is_installed, probability
from hedgerow.public import CodedTable, Floats, Schema
from hedgerow.uses.base import NOTHING, AbstractColumnUse, Quantity, is_names

_MOST = 15_000
"""So many rows train a model, and so many test it, at most."""
_HALVES = 3  # each takes a model of its own


@final
@dataclass(frozen=True)
class Prediction(AbstractColumnUse):
    """The AUC that a classifier of ``of`` loses when it is trained on the file and not on true rows.

    Boosted trees see all other columns.  Half of the true rows train one model, the others test both that and the one
    trained on the file.  A model of the file that is no worse loses nothing: the error is 0 then.

    Attributes:
        values: what is told from everything else; by default the second of two listed values.

    >>> Prediction("income", [">50K"], tolerance=0.02).what
    'prediction of income = >50K: difference of AUC'
    >>> Prediction("sick", by=["sex"], tolerance=0.02).name
    'prediction of sick by sex'
    """

    kind: ClassVar[str] = "prediction"
    told_by_file: ClassVar[bool] = False

    values: Sequence[str] = ()

    @classmethod
    def problems(cls, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with the values of some keys."""
        yield from super().problems(values)
        if not is_names(values.get("values", ())):
            yield "values", 'must be a list of texts, such as [">50K"]'

    @property
    def subject(self) -> str:
        """What is looked at."""
        return f"prediction of {self.of}" + (f" = {' or '.join(self.values)}" if self.values else "")

    @property
    def _aside(self) -> str:
        return " of AUC"

    @property
    def table(self) -> tuple[str, ...]:
        """No one table gives it; all pairs with the column that is predicted help."""
        return ()

    @property
    def predicted(self) -> str:
        """The column that is predicted."""
        return self.of

    def error_in_words(self, error: float) -> str:
        """What is lost, and of what.

        >>> Prediction("sick", tolerance=0.02).error_in_words(0.013)
        'about 0.013 of AUC lost by a model trained on the file'
        """
        return f"about {self.size_in_words(error)} of {'the ' * self.as_share}AUC lost by a model trained on the file"

    def check(self, schema: Schema) -> None:
        """Refuse a column that the schema lacks, one without listed values, or values that it does not list."""
        super().check(schema)
        column = schema.column(self.of)
        listed = list(column.cell_texts) if not column.bin_count else []
        known = ", ".join(t for t in listed[:12] if t)
        told = " or ".join(self.values)
        strange = [v for v in self.values if v not in listed]
        if column.bin_count or strange and column.kind != "yes-no" and not column.yes:
            raise JobError(
                f"The use {self.name!r} predicts {self.of}{f' = {told}' if told else ''}, which the schema does\n"
                f"not list. {f'Its values are: {known}' if known else 'A column in bins has no listed values'}.\n"
                f"{NOTHING}"
            )
        if not self.values and len(column.values) != 2 and column.kind != "yes-no":
            raise JobError(
                f"The use {self.name!r} predicts {self.of}, which has not just two listed values: say which,\n"
                f"such as values = [{listed[0]!r}]. {NOTHING}"
            )

    def works_on(self, table: CodedTable) -> bool:
        """A model is trained on records, by a library that is an extra."""
        return super().works_on(table) and table.counts is None and is_installed()

    def figures(self, table: CodedTable) -> Quantity:
        """The AUC, in every group, of a model trained on half of the rows and tested on the others; both are kept."""
        if table.counts is not None:
            raise JobError("A prediction cannot be judged on a table of counts: it needs records. Nothing was spent.")
        key = "prediction", self.of, self.values, self.groups
        if key not in table.memo:
            table.memo[key] = self._figures(table)
        return Quantity(*table.memo[key])

    def _figures(self, table: CodedTable) -> tuple[Floats, Floats, Floats, "_Trained"]:
        schema, rng = table.schema, np.random.Generator(np.random.PCG64(0))
        names = [c.name for c in schema.columns if c.name != self.of and c.name in table.frame.columns]
        codes = table.codes(names)
        x = np.stack([codes[n] for n in names], 1).astype(np.int64)
        y = self._truth(table)
        order, half = rng.permutation(table.rows), min(_MOST, max(table.rows // 2, 1))
        train, test = order[:half], order[half:][:_MOST]
        if not is_installed():
            raise JobError(
                f"The use {self.name!r} cannot be judged without scikit-learn: pip install 'hedgerow[models]'.\n"
                f"{NOTHING}"
            )
        model = boosted(x[train], y[train], rng) if len(np.unique(y[train])) == 2 else None
        size = schema.size(self.groups)
        group = table.cells(self.groups)[test]
        trained = _Trained(model, x[test], y[test], group, size, x[train], y[train])
        sizes = np.bincount(group, minlength=size) * (table.rows / max(len(test), 1))
        return trained.auc_of(trained), sizes.astype(np.float64), np.empty(0), trained

    def _truth(self, table: CodedTable) -> Any:
        """Which rows have the value that is predicted."""
        if self.values:
            return table.has(self.of, self.values)
        return np.asarray(table.codes((self.of,))[self.of]) == 1

    def scaled(self, made: Quantity, true: Quantity) -> Floats:
        """The AUC of the model of ``made`` in the test rows of ``true``; no more than that of the true model."""
        found = true.rest.auc_of(made.rest)
        return np.minimum(np.where(np.isfinite(true.values), found, np.nan), true.values)

    def half_sample_error(
        self, table: CodedTable, true: Quantity, rng: np.random.Generator, *, scale: float = 1.0
    ) -> float:
        """The mean over a few random halves of the training rows, each with a model of its own.

        The rows that test a model are never among those that train it.
        """
        if table.counts is not None:
            return float("nan")
        found, all_of_it = [], true.rest
        for _ in range(_HALVES):
            kept = rng.permutation(len(all_of_it.seen_y))[: max(1, len(all_of_it.seen_y) // 2)]
            x, y = all_of_it.seen_x[kept], all_of_it.seen_y[kept]
            half = replace(all_of_it, model=boosted(x, y, rng) if len(np.unique(y)) == 2 else None)
            found.append(self.error(replace(true, rest=half), true, scale=scale).error)
        return float(np.mean(found)) / sqrt(scale)


@final
@dataclass(frozen=True, eq=False)
class _Trained:
    """A model, the rows of its own table that test it and others, and those that it has seen."""

    model: Any
    x: Any
    y: Any
    group: Any
    groups: int
    seen_x: Any
    seen_y: Any

    def auc_of(self, other: "_Trained") -> Floats:
        """The AUC of another's model in these rows, group by group; 0.5 where it had one value only to learn."""
        score = np.zeros(len(self.y)) if other.model is None else probability(other.model, self.x)
        found = [auc(self.y[self.group == g].astype(float), score[self.group == g]) for g in range(self.groups)]
        return np.array(found)
