"""A model of crossed group columns, seen column by column."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.model.base import AbstractModel, Expected
from hedgerow.public.coding import Codes, Coding, code_type
from hedgerow.public.costs.question import Marginal


@final
@dataclass(frozen=True, eq=False)
class CrossedModel(AbstractModel):
    """``inner``, whose column ``name`` is the cross of several; records show these instead.

    Attributes:
        inner: a model with the crossed column.
        name: the crossed column, a joined column of ``coding`` with every combination.
        coding: what the columns are made of.
    """

    inner: AbstractModel
    name: str
    coding: Coding

    @property
    def total(self) -> int:  # type: ignore[override]
        """The estimated number of records."""
        return self.inner.total

    def expected(self, question: Marginal) -> Expected:
        """What the inner model expects: it knows the parts of the cross too."""
        return self.inner.expected(question)

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records, the cross split into its columns."""
        codes = dict(self.inner.draw(n, rng))
        (join,) = (j for j in self.coding.joined if j.name == self.name)
        split = np.unravel_index(codes.pop(self.name).astype(np.int64), join.shape)
        parts = {p: c.astype(code_type(self.coding.sizes[p])) for p, c in zip(join.parts, split, strict=True)}
        return parts | codes
