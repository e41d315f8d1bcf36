"""Weighted rows as a model: known combinations with weights, drawn by systematic sampling."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from hedgerow.model.base import AbstractModel, Expected
from hedgerow.model.blend import coded, counts_of, fixed_stream, with_parts
from hedgerow.model.descent import PairTargets, Records, descend
from hedgerow.model.rounding import systematic_counts
from hedgerow.public.coding import Codes, Coding
from hedgerow.public.costs.question import Marginal


@final
@dataclass(frozen=True, eq=False)
class SupportModel(AbstractModel):
    """Rows of a support, each worth its weight.

    Attributes:
        total: the estimated number of records.
        attributes: the names of the columns of ``rows``.
        coding: what the columns are made of, joined ones included.
        rows: the support, one record a row.
        weights: how many records each row stands for.
        targets: what drawn records are fitted to at last; None: they stay rows of the support.
        sweeps: how often every record is looked at then.
    """

    total: int
    attributes: tuple[str, ...]
    coding: Coding
    rows: Records
    weights: npt.NDArray[np.float64]
    targets: PairTargets | None = None
    sweeps: int = 12

    def expected(self, question: Marginal) -> Expected:
        """The counts of one draw with a fixed stream, scaled to ``total``."""
        return counts_of(self._shown, question, self.coding, self.total)

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records: equal steps along the sorted support, which adds hardly any error of its own."""
        order = self._sorted
        copies = systematic_counts(self.weights[order], n, rng)
        drawn = np.repeat(self.rows[order], copies, axis=0)
        if self.targets is not None:
            drawn = descend(drawn, self.targets, rng, sweeps=self.sweeps)
        return coded(rng.permutation(drawn), self.attributes, self.coding)

    @cached_property
    def _sorted(self) -> npt.NDArray[np.intp]:
        return np.lexsort(self.rows.T[::-1])

    @cached_property
    def _shown(self) -> dict[str, Codes]:
        return with_parts(dict(self.draw(max(self.total, 1000), fixed_stream())), self.coding)
