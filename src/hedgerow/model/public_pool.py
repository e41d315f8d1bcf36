"""Public records weighed anew until their two-way tables are near the targets: a pool that keeps records whole."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hedgerow.model.gum import PairTargets, Records
from hedgerow.model.raking import rake

MOST_KEYS = 50_000_000  # keys held at once: 200 MB


def public_pool(
    public: Records, targets: PairTargets, *, sweeps: int = 20
) -> tuple[Records, npt.NDArray[np.float64], PairTargets]:
    """Public records, the weight of each, and the tables they have with these weights.

    What the weighted records cannot show is mostly noise of the targets, so their own tables are the better
    ones to aim at as long as the public records have room for what changed.  Very many records are thinned.
    """
    tables = len(targets.design)
    keep = min(len(public), max(MOST_KEYS // max(tables, 1), 1))
    rows = public[np.arange(keep) * len(public) // keep]
    keys = np.empty((tables, keep), np.int32)
    cells = []
    for i, (a, b, width, start) in enumerate(targets.design):
        keys[i] = rows[:, a].astype(np.int32) * np.int32(width) + rows[:, b]
        cells.append(slice(start, start + targets.sizes[a] * (width or 1)))
    wanted = [targets.shares[c] * keep for c in cells]
    weights = rake(list(keys), wanted, np.ones(keep), sweeps=sweeps)
    shares = np.zeros_like(targets.shares)
    for key, c in zip(keys, cells, strict=True):
        shares[c] = np.bincount(key, weights, c.stop - c.start) / keep
    return rows, weights, replace(targets, shares=shares)
