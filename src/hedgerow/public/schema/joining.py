"""Several columns as one: which combinations have a code, and which code the others take."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.public.coding import JoinedColumn
from hedgerow.public.schema.column import Column
from hedgerow.public.schema.structure import Join

Cells = npt.NDArray[np.int64]


def allowed_cells(join: Join, columns: Sequence[Column]) -> Cells:
    """The allowed combinations, in order, each once: its place in the full cross, last column fastest."""
    assert join.combinations is not None, "the join is not resolved"
    texts = zip(*join.combinations, strict=True)
    codes = [c.coded.encode(pl.Series(t, dtype=pl.String)) for c, t in zip(columns, texts, strict=True)]
    flat = np.ravel_multi_index([c.astype(np.intp) for c in codes], tuple(c.size for c in columns))
    return np.array(list(dict.fromkeys(flat.tolist())), np.int64)


def joined_column(join: Join, columns: Sequence[Column]) -> JoinedColumn:
    """The rule that codes the joined column.

    A combination that is not allowed takes the code of an allowed one: the one that agrees with it on the
    most leading columns, and is next to it in order.  So every code decodes to an allowed combination.
    """
    shape = tuple(c.size for c in columns)
    cells = allowed_cells(join, columns)
    order = np.argsort(cells)
    ranked, every = cells[order], np.arange(int(np.prod(shape)))
    above = np.minimum(np.searchsorted(ranked, every), len(ranked) - 1)
    below = np.where(ranked[above] == every, above, np.maximum(above - 1, 0))
    # Dropping trailing columns one at a time: the first quotient on which they agree is the longest lead.
    tail = np.cumprod((1, *shape[:0:-1]))
    apart = [sum((every // t != ranked[near] // t).astype(np.int64) for t in tail) for near in (above, below)]
    gap = [np.abs(every - ranked[near]) for near in (above, below)]
    nearer = (apart[0] < apart[1]) | ((apart[0] == apart[1]) & (gap[0] <= gap[1]))
    codes = order[np.where(nearer, above, below)]
    return JoinedColumn(join.name, join.columns, shape, tuple(codes.tolist()), len(cells))


def combination_labels(join: Join, columns: Sequence[Column]) -> tuple[str, ...]:
    """A label for every code of the joined column."""
    parts = np.unravel_index(allowed_cells(join, columns), tuple(c.size for c in columns))
    labels = [[c.cell_labels[i] for i in codes] for c, codes in zip(columns, parts, strict=True)]
    return tuple(", ".join(row) for row in zip(*labels, strict=True))
