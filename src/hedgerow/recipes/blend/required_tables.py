"""Tables that must be right: those a recipe is told to measure, and those that intended uses are read from."""

from collections.abc import Sequence
from functools import reduce
from math import prod, sqrt

import numpy as np

from hedgerow.public.table import PublicData
from hedgerow.recipes.blend.allocation import Key
from hedgerow.recipes.blend.axes import MOST_CELLS, Axes
from hedgerow.recipes.blend.noisy_tables import Evidence, Floats
from hedgerow.recipes.blend.pairs import Price, moved


def tables_of_uses(axes: Axes, public: PublicData) -> tuple[Key, ...]:
    """The axes of the tables that intended uses are read from; those too large to be counted are left out."""
    found = (axes.covering(columns) for columns in public.wanted)
    return tuple(dict.fromkeys(k for k in found if k and prod(axes.shape[i] for i in k) <= MOST_CELLS))


def worth_their_noise(
    keys: Sequence[Key], evidence: Evidence, price: Price, cost: float, *, bearable: float
) -> tuple[Key, ...]:
    """Those of ``keys`` whose noise moves less than ``bearable`` of the rows, all sharing ``cost`` alike."""
    left = list(keys)
    while left:
        sd = sqrt(price.variance(cost / len(left)))
        loss = [moved(independent(evidence, k), sd) for k in left]
        worst = int(np.argmax(loss))
        if loss[worst] <= bearable:
            break
        left.pop(worst)
    return tuple(left)


def said_of_uses(axes: Axes, public: PublicData) -> tuple[str, ...]:
    """What a plan says of the tables of intended uses."""
    keys = tables_of_uses(axes, public)
    named = ", ".join(" x ".join(axes.names[i] for i in k) for k in keys)
    return (f"for the intended uses, where worth their noise, measures: {named}",) if named else ()


def independent(evidence: Evidence, key: Key) -> Floats:
    """The counts of a table if its columns were independent, flat."""
    total = max(float(evidence.total), 1.0)
    shares = [evidence.margins()[i] / total for i in key]
    return np.asarray(total * reduce(np.multiply.outer, shares).ravel())
