"""The product model: every attribute on its own. Exact for independent attributes; loses every association."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np

from hedgerow.model.base import AbstractModel, Expected
from hedgerow.model.rounding import systematic_counts
from hedgerow.model.simplex import pooled_total, project
from hedgerow.public.coding import Codes, Coding, code_type
from hedgerow.public.costs.question import Marginal, Measurement


@final
@dataclass(frozen=True, eq=False)
class ProductModel(AbstractModel):
    """Independent attributes.

    Attributes:
        total: the estimated number of records.
        shares: for each attribute, the share of each code.
        coding: what the columns are made of, joined ones included.
    """

    total: int
    shares: Mapping[str, Expected]
    coding: Coding

    def expected(self, question: Marginal) -> Expected:
        """The counts the model expects. A part of a joined attribute is summed out of it."""
        if not question.columns:
            return np.array([float(self.total)])
        factors, axes = [], []
        for name in self._attributes_of(question.columns):
            parts, share = ((name,), self.shares[name]) if name in question.columns else self._unfold(name)
            inside = [p for p in parts if p in question.columns]
            factors.append(share.sum(axis=tuple(i for i, p in enumerate(parts) if p not in question.columns)))
            axes.extend(inside)
        joint = reduce(np.multiply.outer, factors)
        order = [axes.index(c) for c in question.columns]
        return np.asarray(self.total * joint.transpose(order).ravel())

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records: each attribute has its shares to within one record, in an order of its own."""
        out = {}
        for name, share in self.shares.items():
            column = np.repeat(np.arange(len(share)), systematic_counts(share, n, rng))
            out[name] = rng.permutation(column).astype(code_type(len(share)))
        return out

    def _attributes_of(self, columns: Sequence[str]) -> list[str]:
        joined = {p: j.name for j in self.coding.joined for p in j.parts if j.name in self.shares}
        return list(dict.fromkeys(c if c in self.shares else joined[c] for c in columns))

    def _unfold(self, name: str) -> tuple[tuple[str, ...], Expected]:
        for j in self.coding.joined:
            if j.name == name:
                codes = np.array(j.codes)
                spread = np.bincount(codes, minlength=j.size)
                return j.parts, (self.shares[name][codes] / spread[codes]).reshape(j.shape)
        return (name,), self.shares[name]


def fit_product(coding: Coding, one_ways: Sequence[Measurement], *, total: int | None = None) -> ProductModel:
    """The product model of noisy one-way tables, each projected to possible counts.

    The total is the given public one, or the mean of the tables' own sums weighted by their precision.
    """
    if total is None:
        sums = [float(m.counts.sum()) for m in one_ways]
        total = round(pooled_total(sums, [max(m.noise.variance, 1e-12) * len(m.counts) for m in one_ways]))
    total = max(total, 1)
    shares = {m.question.columns[0]: project(m.counts, total) / total for m in one_ways}
    return ProductModel(total, shares, coding)
