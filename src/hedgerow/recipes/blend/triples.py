"""Tables of three and more columns: which the public table recommends, and how their answers reach the records."""

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from hedgerow.model.base import AbstractModel
from hedgerow.model.descent import Records
from hedgerow.model.interaction import fit_pairs, interaction
from hedgerow.model.shrinkage import shrink
from hedgerow.model.simplex import Floats, project
from hedgerow.model.wider_tables import WiderTables
from hedgerow.recipes.blend.allocation import Key
from hedgerow.recipes.blend.noisy_tables import Evidence

MOST_OF_TRIPLE = 3000  # cells of a triple that is chosen by itself
_TRACE = 0.01  # of evenness in what a model expects, so that no cell is impossible


def strong_triples(rows: Records, shape: Sequence[int], count: int) -> tuple[Key, ...]:
    """The ``count`` triples in which public rows show most that their pairs do not; fewer if chance explains them."""
    found = []
    for key in combinations(range(len(shape)), 3):
        sizes = tuple(shape[i] for i in key)
        if count and prod(sizes) <= MOST_OF_TRIPLE:
            flat = np.ravel_multi_index([rows[:, i].astype(np.intp) for i in key], sizes)
            table = np.bincount(flat, minlength=prod(sizes)).astype(np.float64).reshape(sizes)
            found.append((interaction(table), key))
    return tuple(key for strength, key in sorted(found, reverse=True)[:count] if strength > 0)


def estimated(model: AbstractModel, evidence: Evidence, key: Key) -> Floats:
    """A table of three or more axes, drawn from its noisy counts towards what the model expects of it.

    Its pairs are the model's, which knows more of them: the sums of this table, and their own noisy counts.
    """
    said = model.expected(evidence.question(key))
    mean = (1 - _TRACE) * said + _TRACE * said.sum() / len(said)
    table, noise = evidence.pooled(key)
    drawn = project(shrink(table, mean, noise), float(evidence.total)) + 1e-6 * mean
    pairs = {(a, b): model.expected(evidence.question((key[a], key[b]))) for a, b in combinations(range(len(key)), 2)}
    return fit_pairs(drawn.reshape([evidence.shape[i] for i in key]), pairs).ravel()


def with_tables(model: AbstractModel, evidence: Evidence, keys: Sequence[Key]) -> AbstractModel:
    """The model, its records chosen so that they agree with what was measured of ``keys``."""
    if not keys:
        return model
    axes = evidence.axes
    tables = [(tuple(axes.names[i] for i in k), estimated(model, evidence, k)) for k in keys]
    return WiderTables(model, axes.names, axes.coding, tables)
