"""Models of whole records: what noisy tables become, and how records are drawn from it.

``ProductModel`` has independent columns, ``BlendModel`` a tree and pairs, ``SupportModel`` weighted rows;
``CrossedModel`` and ``WiderTables`` wrap another model.  Groups: ``groups.py``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import leaf_of
from hedgerow.model.base import SHARD, AbstractModel, Expected, shard_sizes
from hedgerow.model.constants import BLEND
from hedgerow.model.records.descent import GroupTargets, PairTargets, Records, descend
from hedgerow.model.records.tree import JunctionModel
from hedgerow.model.tables import Floats, pooled_total, project, rake_rows, systematic_counts, systematic_shards
from hedgerow.public import Codes, Coding, Marginal, Measurement, code_type, law_of


class AbstractDrawnModel(AbstractModel):
    """A model that is known by its draws: what it expects are the counts of one draw with a fixed stream."""

    coding: Coding
    most_drawn: ClassVar[float] = 200_000
    """The most records from which expected counts are worked out."""

    def expected(self, question: Marginal) -> Expected:
        """The counts of one draw with a fixed stream, scaled to ``total``."""
        return counts_of(self._example, question, self.coding, self.total)

    @cached_property
    def _example(self) -> dict[str, Codes]:
        return with_parts(self.draw(int(min(max(self.total, 1000), self.most_drawn)), fixed_stream()), self.coding)


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

    def shards(self, rngs: Sequence[np.random.Generator]) -> Iterator[Mapping[str, npt.NDArray[np.int64]]]:
        """The whole counts of every attribute in each shard: they add up to those of one drawing."""
        parts = {n: systematic_shards(s, self.total, len(rngs), rngs[0]) for n, s in self.shares.items()}
        return ({n: next(part) for n, part in parts.items()} for _ in rngs)

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        """Records with such counts, each attribute in an order of its own."""
        columns = {n: np.repeat(np.arange(len(c)), c).astype(code_type(len(c))) for n, c in part.items()}
        return {n: rng.permutation(column) for n, column in columns.items()}, None

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
        total = round(pooled_total(sums, [max(law_of(m.noise).variance, 1e-12) * len(m.counts) for m in one_ways]))
    total = max(total, 1)
    shares = {m.question.columns[0]: project(m.counts, total) / total for m in one_ways}
    return ProductModel(total, shares, coding)


@final
@dataclass(frozen=True, eq=False)
class BlendModel(AbstractDrawnModel):
    """Records drawn from ``start``, then moved until their pairs count what ``targets`` say.

    Attributes:
        total: the estimated number of records.
        attributes: the names of the columns, in the order of the tree.
        coding: what the columns are made of, joined ones included.
        start: a tree, or one with cliques, that records are drawn from first.
        targets: the two-way tables that were measured, denoised.
        sweeps: how often every record is looked at.
    """

    total: int
    attributes: tuple[str, ...]
    coding: Coding
    start: JunctionModel
    targets: PairTargets
    sweeps: int = 4

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records in random order."""
        return self._drawn(n, rng, None)

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        """Records fitted to their share of the targets, less what is over."""
        residual = self.targets.nothing_over() if over is None else over.copy()
        return self._drawn(part, rng, residual), residual

    def _drawn(self, n: int, rng: np.random.Generator, over: npt.NDArray[np.float32] | None) -> Mapping[str, Codes]:
        fitted = descend(self.start.draw(n, rng), self.targets, rng, sweeps=self.sweeps, over=over)
        return coded(rng.permutation(fitted), self.attributes, self.coding)


@final
@dataclass(frozen=True, eq=False)
class SupportModel(AbstractDrawnModel):
    """Rows of a support, each worth its weight.

    Attributes:
        total: the estimated number of records.
        attributes: the names of the columns of ``rows``.
        coding: what the columns are made of, joined ones included.
        rows: the support, one record a row.
        weights: how many records each row stands for.
        targets: what drawn records are fitted to at last; None: they stay rows of the support.
        sweeps: how often every record is looked at then.
        stay: by how many records cells must gain before a value of a row is changed; see ``descend``.
        by_group: what the records of each value of the first column are fitted to, instead of ``targets``.
    """

    total: int
    attributes: tuple[str, ...]
    coding: Coding
    rows: Records
    weights: npt.NDArray[np.float64]
    targets: PairTargets | None = None
    sweeps: int = 12
    stay: float | Sequence[float] = 0.0
    by_group: GroupTargets | None = None
    most_drawn: ClassVar[float] = 2 * SHARD

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records: equal steps along the sorted support, which adds hardly any error of its own."""
        return self._drawn(systematic_counts(self.weights[self._sorted], n, rng), rng, None)

    def shards(self, rngs: Sequence[np.random.Generator]) -> Iterator[npt.NDArray[np.int64]]:
        """Of the steps along the support each shard takes every so-many-th: how often it has each row."""
        return systematic_shards(self.weights[self._sorted], self.total, len(rngs), rngs[0])

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        """These rows, then as ``BlendModel``."""
        if self.targets is None or self.by_group is not None:
            return self._drawn(part, rng, None), None
        residual = self.targets.nothing_over() if over is None else over.copy()
        return self._drawn(part, rng, residual), residual

    def _drawn(
        self, copies: npt.NDArray[np.int64], rng: np.random.Generator, over: npt.NDArray[np.float32] | None
    ) -> Mapping[str, Codes]:
        """So many copies of each row of the sorted support, fitted to the targets."""
        drawn = self.rows[np.repeat(self._sorted, copies)]
        if self.by_group is not None:
            drawn = self.by_group.descend(drawn, rng, sweeps=self.sweeps, stay=self.stay)
        elif self.targets is not None:
            drawn = descend(drawn, self.targets, rng, sweeps=self.sweeps, over=over, stay=self.stay)
        return coded(rng.permutation(drawn), self.attributes, self.coding)

    @cached_property
    def _sorted(self) -> npt.NDArray[np.intp]:
        return np.lexsort(self.rows.T[::-1])


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
        return self._split(self.inner.draw(n, rng))

    def shards(self, rngs: Sequence[np.random.Generator]) -> Iterator[Any]:
        """The shards of the inner model."""
        return self.inner.shards(rngs)

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        """A shard of the inner model, the cross split."""
        codes, off = self.inner.draw_shard(part, rng, over)
        return self._split(codes), off

    def _split(self, drawn: Mapping[str, Codes]) -> Mapping[str, Codes]:
        codes = dict(drawn)
        (join,) = (j for j in self.coding.joined if j.name == self.name)
        split = np.unravel_index(codes.pop(self.name).astype(np.int64), join.shape)
        parts = {p: c.astype(code_type(self.coding.sizes[p])) for p, c in zip(join.parts, split, strict=True)}
        return parts | codes


@final
@dataclass(frozen=True, eq=False)
class WiderTables(AbstractDrawnModel):
    """Records of ``inner``, weighed so that they agree with ``tables``; a few are taken twice, a few not at all.

    The pairs of a column of these tables with a column outside keep the counts they have in ``inner`` as far as
    possible.  Met up to rounding, where ``inner`` draws every combination that the tables ask for.

    Attributes:
        inner: where records come from.
        attributes: its columns.
        coding: what they are made of.
        tables: for each table, its columns and its estimated counts, flat.
        bands: the same for tables of the leaves of a tree, leaf by leaf.
    """

    inner: AbstractModel
    attributes: tuple[str, ...]
    coding: Coding
    tables: Sequence[tuple[tuple[str, ...], Floats]]
    bands: Sequence[tuple[Marginal, Floats]] = ()

    @property
    def total(self) -> int:  # type: ignore[override]
        """The estimated number of records."""
        return self.inner.total

    def draw(self, n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        """``n`` coded records in random order."""
        return self._weighed(self.inner.draw(n, rng), n, rng)

    def shards(self, rngs: Sequence[np.random.Generator]) -> Iterator[Any]:
        """The shards of the inner model, each with its size."""
        return zip(self.inner.shards(rngs), shard_sizes(self.total, len(rngs)), strict=True)

    def draw_shard(self, part: Any, rng: np.random.Generator, over: Any = None) -> tuple[Mapping[str, Codes], Any]:
        """A shard of the inner model, weighed by itself."""
        inner, n = part
        codes, off = self.inner.draw_shard(inner, rng, over)
        return self._weighed(codes, n, rng), off

    def _weighed(self, codes: Mapping[str, Codes], n: int, rng: np.random.Generator) -> Mapping[str, Codes]:
        sets = [set(columns) for columns, _ in self.tables]
        inside = [{*q.columns, *q.tree.columns} for q, _ in self.bands if q.tree]
        pairs = [
            p
            for p in combinations(self.attributes, 2)
            if any(s & set(p) and not set(p) <= s for s in sets) or any(set(p) <= s for s in inside)
        ]
        at = {name: i for i, name in enumerate(self.attributes)}
        kept = {tuple(at[c] for c in p): counts_of(codes, Marginal(p), self.coding, n) for p in pairs}
        wanted = [t * (n / max(float(t.sum()), 1e-300)) for _, t in self.tables]
        pulls = {tuple(at[c] for c in columns): t for (columns, _), t in zip(self.tables, wanted, strict=True)}
        rows = np.stack([codes[a].astype(np.uint16) for a in self.attributes], axis=1)
        shape = [self.coding.sizes[a] for a in self.attributes]
        for q, t in self.bands:  # the leaf is one more column
            assert q.tree is not None
            pulls[(len(shape), *(at[c] for c in q.columns))] = t * (n / max(float(t.sum()), 1e-300))
            rows = np.column_stack([rows, np.asarray(leaf_of(q.tree, codes), np.uint16)])
            shape.append(q.tree.leaves)
        sweeps, power = BLEND.wider_raking
        weights = rake_rows(rows, shape, kept | pulls, np.ones(n), sweeps=sweeps, power=power)
        weights = rake_rows(rows, shape, pulls, weights, sweeps=BLEND.wider_last_sweeps, spare=0.0)
        order = np.lexsort([codes[a] for a in self.attributes[::-1]])
        chosen = rng.permutation(np.repeat(order, systematic_counts(weights[order], n, rng)))
        return {a: codes[a][chosen] for a in self.attributes}


def fixed_stream() -> np.random.Generator:
    """The same random numbers every time: what a recipe asks next may depend on the answers alone."""
    return np.random.Generator(np.random.PCG64(0))


def counts_of(codes: Mapping[str, Codes], question: Marginal, coding: Coding, total: int) -> Expected:
    """The table of drawn records, scaled to ``total``."""
    flat = np.zeros(len(next(iter(codes.values()))), np.int64)
    if question.tree:
        flat = np.asarray(leaf_of(question.tree, codes), np.int64)
    for name in question.columns:
        flat = flat * coding.sizes[name] + codes[name].astype(np.int64)
    counts = np.bincount(flat, minlength=question.leaves * coding.cells(question.columns))
    return np.asarray(counts * (total / max(len(flat), 1)))


def coded(records: Records, names: Sequence[str], coding: Coding) -> dict[str, Codes]:
    """Each column of ``records`` under its name, in the type of its codes."""
    return {n: records[:, i].astype(code_type(coding.sizes[n])) for i, n in enumerate(names)}


def with_parts(codes: Mapping[str, Codes], coding: Coding) -> dict[str, Codes]:
    """The codes, and those of the columns that a joined one is made of."""
    out = dict(codes)
    for join in coding.joined:
        if join.name in codes:
            first = np.zeros(join.size, np.int64)
            first[np.array(join.codes)[::-1]] = np.arange(len(join.codes))[::-1]
            for part, code in zip(join.parts, np.unravel_index(first[codes[join.name]], join.shape), strict=True):
                out[part] = code.astype(code_type(coding.sizes[part]))
    return out
