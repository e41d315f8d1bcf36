"""Records of one model, chosen so that tables of three or more columns count what was measured of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.model.base import AbstractModel, Expected
from hedgerow.model.blend import fixed_stream, with_parts
from hedgerow.model.raking import Floats, Keys, rake_rows
from hedgerow.model.rounding import systematic_counts
from hedgerow.public.coding import Codes, Coding
from hedgerow.public.costs.question import Marginal

_SHOWN = 200_000
_SWEEPS, _POWER = 4, 0.5  # more brings the tables no nearer: they have the last word anyway


@final
@dataclass(frozen=True, eq=False)
class WiderTables(AbstractModel):
    """Records of ``inner``, weighed so that they agree with ``tables``; a few are taken twice, a few not at all.

    The pairs of a column of these tables with a column outside keep the counts they have in ``inner`` as far as
    possible.  Met up to rounding, where ``inner`` draws every combination that the tables ask for.

    Attributes:
        inner: where records come from.
        attributes: its columns.
        coding: what they are made of.
        tables: for each table, its columns and its estimated counts, flat.
    """

    inner: AbstractModel
    attributes: tuple[str, ...]
    coding: Coding
    tables: Sequence[tuple[tuple[str, ...], Floats]]

    @property
    def total(self) -> int:  # type: ignore[override]
        """The estimated number of records."""
        return self.inner.total

    def expected(self, question: Marginal) -> Expected:
        """The counts of one draw with a fixed stream, scaled to ``total``."""
        cell = self._cells(self._shown, question.columns)
        counts = np.bincount(cell, minlength=self.coding.cells(question.columns))
        return np.asarray(counts * (self.total / len(cell)))

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records in random order."""
        codes = self.inner.draw(n, rng)
        sets = [set(columns) for columns, _ in self.tables]
        pairs = [p for p in combinations(self.attributes, 2) if any(s & set(p) and not set(p) <= s for s in sets)]
        at = {name: i for i, name in enumerate(self.attributes)}
        kept = {tuple(at[c] for c in p): self._counted(codes, p) for p in pairs}
        moved = [self._cells(codes, c) for c, _ in self.tables]
        wanted = [t * (n / max(float(t.sum()), 1e-300)) for _, t in self.tables]
        pulls = {tuple(at[c] for c in columns): t for (columns, _), t in zip(self.tables, wanted, strict=True)}
        rows = np.stack([codes[a].astype(np.uint16) for a in self.attributes], axis=1)
        shape = [self.coding.sizes[a] for a in self.attributes]
        weights = rake_rows(rows, shape, kept | pulls, np.ones(n), sweeps=_SWEEPS, power=_POWER)
        order = np.lexsort([codes[a] for a in self.attributes[::-1]])
        chosen = np.repeat(order, systematic_counts(_scaled(weights, moved, wanted)[order], n, rng))
        chosen = rng.permutation(chosen)
        return {a: codes[a][chosen] for a in self.attributes}

    def _counted(self, codes: Mapping[str, Codes], columns: Sequence[str]) -> Floats:
        return np.bincount(self._cells(codes, columns), minlength=self.coding.cells(columns)).astype(np.float64)

    def _cells(self, codes: Mapping[str, Codes], columns: Sequence[str]) -> Keys:
        """The cell of every record in a table."""
        cell: npt.NDArray[np.int32] = np.zeros(
            len(codes[columns[0]]) if columns else len(codes[self.attributes[0]]), np.int32
        )
        for c in columns:
            cell = cell * np.int32(self.coding.sizes[c]) + codes[c].astype(np.int32)
        return cell

    @cached_property
    def _shown(self) -> dict[str, Codes]:
        return with_parts(dict(self.draw(min(max(self.total, 1000), _SHOWN), fixed_stream())), self.coding)


def _scaled(weights: Floats, keys: Sequence[Keys], tables: Sequence[Floats], *, sweeps: int = 10) -> Floats:
    """The weights scaled to the tables in turn (proportional fitting): the last word is theirs."""
    for _ in range(sweeps):
        for key, table in zip(keys, tables, strict=True):
            now = np.bincount(key, weights, len(table))
            weights = weights * np.divide(table, now, out=np.zeros_like(now), where=now > 0)[key]
    return np.asarray(weights)
