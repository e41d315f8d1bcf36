"""What a command line asks of a comparison: which metrics, with which columns and models."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

from hedgerow.errors import JobError
from hedgerow.evaluate.base import AbstractMetric
from hedgerow.evaluate.compare import chosen
from hedgerow.evaluate.joint_proportions import JointProportions
from hedgerow.evaluate.k_marginal import KMarginal
from hedgerow.evaluate.linear_model import LinearModel
from hedgerow.evaluate.logistic_model import LogisticModel
from hedgerow.evaluate.registry import METRICS
from hedgerow.evaluate.small_groups import SmallGroups
from hedgerow.evaluate.train_on_synthetic import TrainOnSynthetic
from hedgerow.public.formula import Formula


@final
@dataclass(frozen=True)
class Asked:
    """The choices of a comparison; what is empty keeps its default.

    Attributes:
        only: names of metrics; all when empty.
        model: the formula of the linear model.
        by: the column by whose values it is fitted.
        logistic: the formula of the logistic model.
        cluster: the column of rows that go together, for its standard errors.
        group: columns whose values are groups.
        joint: columns of panel (a).
        label: the column to predict.
        library: what fits linear models.
    """

    only: tuple[str, ...] = ()
    model: str = ""
    by: str = ""
    logistic: str = ""
    cluster: str = ""
    group: tuple[str, ...] = ()
    joint: tuple[str, ...] = ()
    label: str = ""
    library: Literal["hedgerow", "pyfixest"] = "hedgerow"

    def metrics(self) -> list[AbstractMetric]:
        """The metrics, their settings as asked."""
        for formula in filter(None, (self.model, self.logistic)):
            Formula.parse(formula)  # a mistake shows before any table is read
        return [self._set(m) for m in chosen(self.only or tuple(METRICS))]

    def _set(self, metric: AbstractMetric) -> AbstractMetric:
        if isinstance(metric, LinearModel):
            errors: Literal["hetero", "cluster"] = "cluster" if self.cluster else "hetero"
            return replace(
                metric, formula=self.model, by=self.by, cluster=self.cluster, errors=errors, library=self.library
            )
        if isinstance(metric, LogisticModel):
            return replace(metric, formula=self.logistic)
        if isinstance(metric, KMarginal) and self.group:
            return replace(metric, group=self.group)
        if isinstance(metric, SmallGroups) and self.group:
            return replace(metric, group=self.group[0])
        if isinstance(metric, JointProportions) and self.joint:
            return replace(metric, columns=self.joint)
        if isinstance(metric, TrainOnSynthetic) and self.label:
            name, _, value = self.label.partition("=")
            return replace(metric, label=name, value=value)
        return metric


def names(text: str) -> tuple[str, ...]:
    """Names written with commas between them.

    >>> names("agency, year")
    ('agency', 'year')
    """
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(set(found)) < len(found):
        raise JobError(f"{text!r} names a column twice. Name each once. Nothing was read or spent.")
    return found


def known(only: Sequence[str]) -> tuple[str, ...]:
    """Names of metrics, written one by one or with commas."""
    return tuple(n for text in only for n in names(text))
