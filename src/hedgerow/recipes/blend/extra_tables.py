"""Tables beyond the pairs: required ones, triples that public rows recommend, and those that the model fits worst.

Required are the tables that a recipe is told to measure and those that intended uses are read from.  The worst
triples are paths of three columns in the tree, chosen through the gate and measured where their noise is small.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import prod, sqrt

import numpy as np

from hedgerow.answers import Answers
from hedgerow.model.base import AbstractModel
from hedgerow.model.constants import BLEND, TREE_BLEND
from hedgerow.model.records.descent import Records
from hedgerow.model.records.models import BlendModel, WiderTables
from hedgerow.model.records.tree import Triple, paths
from hedgerow.model.tables.fitting import Floats, Key, fit_margins, project
from hedgerow.model.tables.shrinkage import shrink
from hedgerow.public import PublicData
from hedgerow.recipes.blend.allocation import Price, moved
from hedgerow.recipes.blend.axes import MOST_CELLS, Axes
from hedgerow.recipes.blend.noisy_tables import NoisyTables


def tables_of_uses(axes: Axes, public: PublicData) -> tuple[Key, ...]:
    """The axes of the tables that intended uses are read from; those too large to be counted are left out."""
    found = (axes.covering(columns) for columns in public.wanted)
    return tuple(dict.fromkeys(k for k in found if k and prod(axes.shape[i] for i in k) <= MOST_CELLS))


def worth_their_noise(
    keys: Sequence[Key], noisy: NoisyTables, price: Price, cost: float, *, bearable: float
) -> tuple[Key, ...]:
    """Those of ``keys`` whose noise moves less than ``bearable`` of the rows, all sharing ``cost`` alike."""
    left = list(keys)
    while left:
        sd = sqrt(price.variance(cost / len(left)))
        loss = [moved(independent(noisy, k), sd) for k in left]
        worst = int(np.argmax(loss))
        if loss[worst] <= bearable:
            break
        left.pop(worst)
    return tuple(left)


def uses_remark(axes: Axes, public: PublicData) -> tuple[str, ...]:
    """What a plan says of the tables of intended uses."""
    keys = tables_of_uses(axes, public)
    named = ", ".join(" x ".join(axes.names[i] for i in k) for k in keys)
    return (f"for the intended uses, where worth their noise, measures: {named}",) if named else ()


def independent(noisy: NoisyTables, key: Key) -> Floats:
    """The counts of a table if its columns were independent, flat."""
    total = max(float(noisy.total), 1.0)
    shares = [noisy.margins()[i] / total for i in key]
    return np.asarray(total * reduce(np.multiply.outer, shares).ravel())


def strong_triples(rows: Records, shape: Sequence[int], count: int) -> tuple[Key, ...]:
    """The ``count`` triples in which public rows show most that their pairs do not; fewer if chance explains them."""
    found = []
    for key in combinations(range(len(shape)), 3):
        sizes = tuple(shape[i] for i in key)
        if count and prod(sizes) <= BLEND.widest_triple:
            flat = np.ravel_multi_index([rows[:, i].astype(np.intp) for i in key], sizes)
            table = np.bincount(flat, minlength=prod(sizes)).astype(np.float64).reshape(sizes)
            found.append((interaction(table), key))
    return tuple(key for strength, key in sorted(found, reverse=True)[:count] if strength > 0)


def estimated(model: AbstractModel, noisy: NoisyTables, key: Key) -> Floats:
    """A table of three or more axes, shrunk from its noisy counts towards what the model expects of it.

    Its pairs are the model's, which knows more of them: the sums of this table, and their own noisy counts.
    """
    expected = model.expected(noisy.question(key))
    mean = (1 - BLEND.wider_trace) * expected + BLEND.wider_trace * expected.sum() / len(expected)
    table, variance = noisy.pooled(key)
    shrunk = project(shrink(table, mean, variance), float(noisy.total)) + 1e-6 * mean
    pairs = {(a, b): model.expected(noisy.question((key[a], key[b]))) for a, b in combinations(range(len(key)), 2)}
    return fit_margins(shrunk.reshape([noisy.shape[i] for i in key]), pairs, sweeps=BLEND.wider_fit_sweeps).ravel()


def with_tables(model: AbstractModel, noisy: NoisyTables, keys: Sequence[Key]) -> AbstractModel:
    """The model, its records chosen so that they agree with what was measured of ``keys``."""
    if not keys:
        return model
    axes = noisy.axes
    tables = [(tuple(axes.names[i] for i in k), estimated(model, noisy, k)) for k in keys]
    return WiderTables(model, axes.names, axes.coding, tables)


def without_interaction(table: Floats) -> Floats:
    """The table with the same pairs and no interaction of all three columns.

    >>> odd = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> without_interaction(odd).tolist()
    [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]
    """
    even = np.full(table.shape, float(table.sum()) / table.size)
    pairs = {(0, 1): table.sum(axis=2), (0, 2): table.sum(axis=1), (1, 2): table.sum(axis=0)}
    return fit_margins(even, pairs, sweeps=BLEND.wider_fit_sweeps)


def interaction(table: Floats) -> float:
    """The share of records that must move to take the interaction of a sampled table away, beyond chance.

    Chance: a cell of a sample is off by sqrt(2 m / pi) on average.  At least 0.
    """
    fitted = without_interaction(table)
    far = float(np.abs(table - fitted).sum() - np.sqrt(2 * fitted / np.pi).sum())
    return max(far, 0.0) / max(2 * float(table.sum()), 1.0)


def quiet_paths(noisy: NoisyTables, price: Price, cost: Fraction) -> list[Triple]:
    """The paths of the tree, not too wide, whose noise is small when each has ``cost``; none if most are noisy."""
    if cost <= 0:
        return []
    sd = sqrt(price.variance(float(cost * (1 - TREE_BLEND.choice_part))))
    narrow = [k for k in paths(noisy.tree()) if prod(noisy.shape[i] for i in k) <= BLEND.widest_triple]
    loss = {k: moved(independent(noisy, k), sd) for k in narrow}
    if not narrow or float(np.median(list(loss.values()))) > TREE_BLEND.middle_path_noise:
        return []
    return [k for k in narrow if k not in noisy.tables and loss[k] <= TREE_BLEND.path_noise]


def with_worst_triples(gate: Answers, noisy: NoisyTables, count: int, cost: Fraction) -> BlendModel:
    """``count`` times: choose the path that the model misses most, measure it, draw records with it as a clique.

    Records begin with what the cliques say and are moved as little as the pairs ask for, so they keep most of it;
    weighing them until the cliques are met would cost the pairs more than the triples gain.
    """
    cliques: dict[Triple, Floats] = {}
    model = noisy.model()
    for _ in range(count):
        open_ = {noisy.question(k): k for k in quiet_paths(noisy, Price(gate.tariff), cost)}
        if not open_:
            break
        guesses = {q: np.rint(model.expected(q)).astype(np.int64) for q in open_}
        worst = gate.select(guesses, cost * TREE_BLEND.choice_part)
        key = open_[worst]
        (answer,) = gate.measure([worst], cost * (1 - TREE_BLEND.choice_part))
        noisy = noisy.plus({key: answer})
        cliques[key] = estimated(model, noisy, key)
        model = noisy.model(cliques)
    return model
