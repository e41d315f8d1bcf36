"""Boosted trees, by the library scikit-learn: the one learner of this room that is not linear."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.evaluate.base import DoesNotApply

Floats = npt.NDArray[np.float64]
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
        if len(np.unique(y[fold != i])) == 2:
            score[fold == i] = probability(boosted(x[fold != i], y[fold != i], rng), x[fold == i])
    return score
