"""``public_blend``: whole records with the help of a public relative."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import ClassVar, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.model.blend import fixed_stream
from hedgerow.model.descent import MOST, Records, pair_targets
from hedgerow.model.raking import Keys, rake
from hedgerow.model.shrinkage import Drift, fit_margins, pooled_drifts, posterior, shrink
from hedgerow.model.simplex import project
from hedgerow.model.support import SupportModel
from hedgerow.model.tree import TreeModel, spanning_forest
from hedgerow.public.accounting import Budget
from hedgerow.public.question import Marginal
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData
from hedgerow.recipes.evidence import Evidence, Floats, outer, said_by
from hedgerow.recipes.memory import pair_records_memory
from hedgerow.recipes.pairs import Price, shares_by_gain

_TRACE = 0.003  # of independence in the public tables, so that no cell is impossible
_LEAST = 1.5  # of chance: both tables are samples, and the public one is smoothed
_TAIL = 0.01  # of all weight lies on the extra rows before they are raked


@final
@dataclass(frozen=True)
class PublicBlend(AbstractRecipe):
    """All pairs, a second look where the public table is furthest off, each drawn towards the public table.

    Attributes:
        rows: the number of records when it is public; otherwise the noisy tables tell.
        first_share: the part of the budget for the first look at all pairs.
        one_way_share: the part of the first look that goes to one-way tables.
        tail: extra rows, drawn from a tree of the estimated pairs, as a share of the public rows.
        refine: whether drawn records are moved off the support towards the estimated pairs.
    """

    name: ClassVar[str] = "public_blend"
    rows: int | None = None
    first_share: float = 0.6
    one_way_share: float = 0.6
    tail: float = 0.2
    refine: bool = True

    def __post_init__(self) -> None:
        if (
            not (0 < self.first_share < 1 and 0 < self.one_way_share < 1)
            or self.tail < 0
            or (self.rows is not None and self.rows < 1)
        ):
            raise JobError(
                "[public_blend] first_share and one_way_share must lie between 0 and 1, tail must be 0 or more,\n"
                f"rows 1 or more. Got {self.first_share}, {self.one_way_share}, {self.tail}, {self.rows}. "
                "Nothing was read or spent."
            )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first look: all one-way and two-way tables. The second depends on the answers."""
        names = self._attributes(public)
        keys = _tables(len(names))
        cost = budget.total * Fraction(str(self.first_share))
        alone = [s ** (2 / 3) for s in public.schema.shape(names)]
        pairs = max(len(keys) - len(names), 1)
        weights = [
            self.one_way_share * alone[k[0]] / sum(alone) if len(k) == 1 else (1 - self.one_way_share) / pairs
            for k in keys
        ]
        questions = [Marginal(tuple(names[i] for i in k)) for k in keys]
        return (tariff.measure_all(questions, cost, weights=[Fraction(w).limit_denominator(10**6) for w in weights]),)

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, and the records that are fitted to them; the public rows and their tail are weighed."""
        names = public.schema.attributes
        known = public.relative.rows if public.relative is not None else 0
        return pair_records_memory(
            public.schema, names, records=self.rows or rows, support=round(known * (1 + self.tail))
        )

    def fit(self, gate: Answers, public: PublicData) -> SupportModel:
        """Ask twice, estimate every table, and weigh the public rows and a tail accordingly."""
        names, keys = self._attributes(public), _tables(len(public.schema.attributes))
        first = self.requests(gate.tariff, gate.budget, public)[0]
        weights = [a.cost / first.cost for a in first.asked]
        answers = gate.measure([a.question for a in first.asked], first.cost, weights=weights)
        tables = {k: [m] for k, m in zip(keys, answers, strict=True)}
        evidence = Evidence(names, gate.tariff.coding, tables, self.rows, public.schema)
        relative = _Relative(evidence, _codes(public, names))
        left = gate.left
        spread = relative.spread(keys)
        noise = [evidence.pooled(k)[1] for k in keys]
        shares = shares_by_gain(
            spread, noise, Price(gate.tariff), float(left), worth=[len(names) / len(k) ** 3 for k in keys]
        )
        fractions = [Fraction(float(s)).limit_denominator(10**6) for s in shares]
        again = [(k, s) for k, s in zip(keys, fractions, strict=True) if s > 0]
        questions = [Marginal(tuple(names[i] for i in k)) for k, _ in again]
        second = gate.measure(questions, left, weights=[s for _, s in again])
        evidence = evidence.plus({k: m for (k, _), m in zip(again, second, strict=True)})
        return _Relative(evidence, relative.rows).model(self.tail, refine=self.refine)

    @staticmethod
    def _attributes(public: PublicData) -> tuple[str, ...]:
        names = public.schema.attributes
        if public.relative is None:
            raise JobError(
                "public_blend needs a public relative: add [public] table = '...' to the job, or use tree_blend.\n"
                "No confidential row was read and nothing was spent."
            )
        if (values := sum(public.schema.shape(names))) > MOST:
            raise JobError(
                f"The attributes have {values:,} values together; public_blend fits at most {MOST:,}.\n"
                "Give columns fewer bins or values in the schema. No confidential row was read, nothing was spent."
            )
        return names


def _tables(columns: int) -> list[tuple[int, ...]]:
    """Every column and every pair."""
    return [*((i,) for i in range(columns)), *combinations(range(columns), 2)]


def _codes(public: PublicData, names: Sequence[str]) -> Records:
    """The public rows in codes."""
    assert public.relative is not None
    codes = public.relative.codes(names)
    return np.stack([codes[n].astype(np.uint16) for n in names], axis=1)


@final
@dataclass(frozen=True, eq=False)
class _Relative:
    """Noisy tables beside the public rows."""

    evidence: Evidence
    rows: Records

    def spread(self, keys: Sequence[tuple[int, ...]]) -> list[Floats]:
        """The variance of the true cells of each table around what the tilted public table says."""
        means = self._means(self._tilted(), keys)
        drifts = self._drifts(means, keys)
        return [drifts[k].variance(means[k]) + 1e-3 * means[k] for k in keys]

    def model(self, tail: float, *, refine: bool) -> SupportModel:
        """Public rows and a tail, raked to the estimates."""
        e = self.evidence
        keys = list(e.tables)
        weights = self._tilted()
        estimates = self._estimates(self._means(weights, keys), keys)
        rows, start = self.rows, weights
        extra = round(tail * len(rows))
        if extra and len(e.names) > 1:
            rows = np.concatenate([rows, self._tree(estimates).draw(extra, fixed_stream())])
            start = np.concatenate([weights * (1 - _TAIL), np.full(extra, _TAIL * weights.sum() / extra)])
        raked = rake([_cells(rows, e.shape, k) for k in keys], [estimates[k] for k in keys], start)
        pairs = {(k[0], k[1]): estimates[k] for k in keys if len(k) == 2}
        targets = pair_targets(e.shape, pairs, float(e.total)) if refine and pairs else None
        return SupportModel(e.total, e.names, e.coding, rows, raked, targets)

    @cached_property
    def _cells_of_columns(self) -> list[Keys]:
        return [_cells(self.rows, self.evidence.shape, (i,)) for i in range(len(self.evidence.names))]

    @cached_property
    def _margins(self) -> list[Floats]:
        """The estimated one-way tables: the public ones, as far as the noisy ones do not differ beyond chance."""
        e, total = self.evidence, float(self.evidence.total)
        means = [
            _counted(c, np.ones(len(c)), size) + 0.01 for c, size in zip(self._cells_of_columns, e.shape, strict=True)
        ]
        means = [m * (total / float(m.sum())) for m in means]
        noisy = e.noisy_margins()
        drifts = pooled_drifts([t for t, _ in noisy], means, [v for _, v in noisy], least=_LEAST)
        return [project(posterior(t, m, v, d), total) for (t, v), m, d in zip(noisy, means, drifts, strict=True)]

    def _tilted(self) -> Floats:
        """Weights of the public rows, raked to the estimated one-way tables."""
        start = np.full(len(self.rows), float(self.evidence.total) / len(self.rows))
        return rake(self._cells_of_columns, self._margins, start)

    def _means(self, weights: Floats, keys: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], Floats]:
        """What the weighted public rows say of each table.

        The public table is a sample too: its own chance is taken out by drawing each pair towards what a tree
        of the public pairs says of it (the pairs of the tree towards independence), the variance of a public
        cell being its mean.
        """
        e, total = self.evidence, float(weights.sum())
        scale = total / len(self.rows)
        found = {k: _counted(_cells(self.rows, e.shape, k), weights, _size(e.shape, k)) for k in keys}
        found |= {(i,): found[i,] + 1e-6 for i in range(len(e.names))}
        margins = [found[i,] for i in range(len(e.names))]
        pairs = [(k[0], k[1]) for k in keys if len(k) == 2]
        for p in pairs:
            alone = outer(margins, *p)
            found[p] = (1 - _TRACE) * np.maximum(shrink(found[p], alone, scale * alone), 0) + _TRACE * alone
        tree = self._tree(found)
        said = said_by(tree, pairs)
        for p in pairs:
            if p not in tree.tables:
                raw = _counted(_cells(self.rows, e.shape, p), weights, _size(e.shape, p))
                mean = total * ((1 - _TRACE) * said[p] + _TRACE * outer(margins, *p) / total)
                found[p] = np.maximum(shrink(raw, mean, scale * mean), 0)
            found[p] = found[p] * (total / found[p].sum())
        return found

    def _drifts(
        self, means: Mapping[tuple[int, ...], Floats], keys: Sequence[tuple[int, ...]]
    ) -> dict[tuple[int, ...], Drift]:
        known = [self.evidence.pooled(k) for k in keys]
        found = pooled_drifts([t for t, _ in known], [means[k] for k in keys], [v for _, v in known], least=_LEAST)
        return dict(zip(keys, found, strict=True))

    def _estimates(
        self, means: Mapping[tuple[int, ...], Floats], keys: Sequence[tuple[int, ...]]
    ) -> dict[tuple[int, ...], Floats]:
        """Every table drawn towards the public one."""
        e, drifts = self.evidence, self._drifts(means, keys)
        found: dict[tuple[int, ...], Floats] = {k: self._margins[k[0]] for k in keys if len(k) == 1}
        for k in (k for k in keys if len(k) == 2):
            table, noise = e.pooled(k)
            drawn = np.maximum(posterior(table, means[k], noise, drifts[k]), 0.0) + 1e-9 * means[k]
            square = drawn.reshape(e.shape[k[0]], e.shape[k[1]])
            found[k] = fit_margins(square, [self._margins[i] for i in k], sweeps=8).ravel()
        return found

    def _tree(self, estimates: Mapping[tuple[int, ...], Floats]) -> TreeModel:
        """A tree of the estimated pairs, whose records fill in what the public table lacks."""
        e = self.evidence
        total = float(e.total)
        pairs = {(k[0], k[1]): t for k, t in estimates.items() if len(k) == 2}
        square = {k: t.reshape(e.shape[k[0]], e.shape[k[1]]) / total for k, t in pairs.items()}
        margins = [estimates[i,] / total for i in range(len(e.names))]
        strength = {k: float(np.abs(t - np.outer(t.sum(axis=1), t.sum(axis=0))).sum()) for k, t in square.items()}
        edges = spanning_forest(len(e.names), strength)
        return TreeModel(margins, {k: square[k] for k in edges})


def _counted(cells: Keys, weights: Floats, size: int) -> Floats:
    """The weight in each cell."""
    return np.asarray(np.bincount(cells, weights, size), np.float64)


def _size(shape: Sequence[int], key: tuple[int, ...]) -> int:
    """How many cells a table has."""
    return int(np.prod([shape[i] for i in key]))


def _cells(rows: Records, shape: Sequence[int], key: tuple[int, ...]) -> Keys:
    """The cell of every row in a table."""
    cell = np.zeros(len(rows), np.int32)
    for i in key:
        cell = cell * np.int32(shape[i]) + rows[:, i].astype(np.int32)
    return cell
