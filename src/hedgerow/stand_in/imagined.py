"""A table made up from the schema alone, for a job that has no public table to stand in for the confidential one.

Records fall into a few classes; in each class every column has shares of its own, so that columns go together.
Columns with an order have one hump in each class, the others a few frequent values and many rare ones.  Nobody's
table looks like it: what a forecast on such tables tells is what noise of this size does to a table of this size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.public import BINNED, CodedTable, Codes, Floats, Schema
from hedgerow.records import draw_records

_CLASSES = 5
_REST = 0.02  # of the rows of a class that have none of the ordered values: no value, another one


def imagined_table(schema: Schema, rows: int, rng: np.random.Generator) -> CodedTable:
    """So many made-up records that keep the zeros and rules of ``schema``; another generator, another table."""
    shares = {a: np.array([_shares(schema, a, rng) for _ in range(_CLASSES)]) for a in schema.attributes}
    return CodedTable(
        schema, draw_records(_Classes(rng.dirichlet(np.full(_CLASSES, 3.0)), shares), schema, rows, rng)
    )


@final
@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of records: their sizes, and for every attribute its shares in each."""

    sizes: Floats
    shares: Mapping[str, Floats]

    def draw(self, n: int, rng: np.random.Generator) -> dict[str, Codes]:
        """``n`` records in codes."""
        counts, order = rng.multinomial(n, self.sizes), rng.permutation(n)
        found: dict[str, Codes] = {}
        for name, shares in self.shares.items():
            drawn = [rng.choice(len(p), c, p=p) for p, c in zip(shares, counts, strict=True)]
            found[name] = np.concatenate(drawn)[order].astype(np.uint32)
        return found


def _shares(schema: Schema, attribute: str, rng: np.random.Generator) -> Floats:
    """The shares of one attribute in one class."""
    size, ordered = schema.size((attribute,)), _in_order(schema, attribute)
    if ordered < 2:
        falling = 1 / np.arange(1, size + 1)
        return np.asarray(rng.permutation(falling) / falling.sum())
    place = np.arange(ordered) / (ordered - 1)
    hump = np.exp(-(((place - rng.uniform(0.15, 0.85)) / rng.uniform(0.1, 0.3)) ** 2) / 2)
    rest = size - ordered
    return np.concatenate([hump / hump.sum() * (1 - _REST * (rest > 0)), np.full(rest, _REST / max(rest, 1))])


def _in_order(schema: Schema, attribute: str) -> int:
    """How many of the first cells of an attribute stand in order."""
    for column in schema.columns:
        if column.name == attribute:
            return len(column.values) if column.kind == "ordered" else column.bin_count * (column.kind in BINNED)
    return 0
