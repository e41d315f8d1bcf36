"""Noisy tables beside a public relative: what each says of the other, and records that agree with both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from hedgerow.model.blend import fixed_stream
from hedgerow.model.descent import Records, pair_targets
from hedgerow.model.raking import Keys, rake
from hedgerow.model.shrinkage import Drift, fit_margins, pooled_drifts, posterior
from hedgerow.model.simplex import project
from hedgerow.model.smoothing import smoothed, smoothed_line
from hedgerow.model.support import SupportModel
from hedgerow.model.tree import TreeModel, spanning_forest
from hedgerow.public.column import BINNED, Column
from hedgerow.recipes.allocation import Key, Stakes
from hedgerow.recipes.evidence import Evidence, Floats, outer

_TRACE = 0.003  # of independence in the public tables, so that no cell is impossible
_LEAST = 1.5  # of chance: both tables are samples, and the public one is smoothed
_TAIL = 0.01  # of all weight lies on the extra rows before they are raked


@final
@dataclass(frozen=True, eq=False)
class Relative:
    """Noisy tables beside the public rows.

    Attributes:
        evidence: every noisy table so far.
        rows: the public rows in codes.
    """

    evidence: Evidence
    rows: Records

    def stakes(self) -> Stakes:
        """What the tilted public table expects of every table, and how far the truth seems to be from it."""
        e = self.evidence
        drifts = self._drifts
        means = {k: self._means[k] for k in self._keys if len(k) > 1}
        spread = {k: drifts[k].variance(m) + 1e-3 * m for k, m in means.items()}
        alone = [d.variance(m) + 1e-3 * m for d, m in zip(self._margin_drifts, self._public_margins, strict=True)]
        return Stakes(e.shape, means, spread, self._margins, alone)

    def model(self, tail: float, *, refine: bool) -> SupportModel:
        """Public rows and a tail, raked to the estimates."""
        e, keys = self.evidence, self._keys
        estimates = self.estimates
        rows, start = self.rows, self._tilted
        extra = round(tail * len(rows))
        if extra and len(e.names) > 1:
            rows = np.concatenate([rows, self._tree(estimates).draw(extra, fixed_stream())])
            start = np.concatenate([start * (1 - _TAIL), np.full(extra, _TAIL * start.sum() / extra)])
        raked = rake([cells(rows, e.shape, k) for k in keys], [estimates[k] for k in keys], start)
        pairs = {(k[0], k[1]): estimates[k] for k in keys if len(k) == 2}
        targets = pair_targets(e.shape, pairs, float(e.total)) if refine and pairs else None
        return SupportModel(e.total, e.names, e.coding, rows, raked, targets)

    @cached_property
    def estimates(self) -> dict[Key, Floats]:
        """Every table, drawn from its noisy counts towards the public one."""
        e = self.evidence
        found: dict[Key, Floats] = {k: self._margins[k[0]] for k in self._keys if len(k) == 1}
        for k in (k for k in self._keys if len(k) == 2):
            table, noise = e.pooled(k)
            mean = self._means[k]
            drawn = np.maximum(posterior(table, mean, noise, self._drifts[k]), 0.0) + 1e-9 * mean
            square = drawn.reshape(e.shape[k[0]], e.shape[k[1]])
            found[k] = fit_margins(square, [self._margins[i] for i in k], sweeps=8).ravel()
        return found

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """How many of the first values of each column stand in order."""
        schema = self.evidence.schema
        plain = {} if schema is None else {c.name: in_order(c) for c in schema.columns}
        return tuple(plain.get(n, 0) for n in self.evidence.names)

    @property
    def _keys(self) -> list[Key]:
        return list(self.evidence.tables)

    @cached_property
    def _columns(self) -> list[Keys]:
        return [cells(self.rows, self.evidence.shape, (i,)) for i in range(len(self.evidence.names))]

    @cached_property
    def _public_margins(self) -> list[Floats]:
        """The public one-way tables, scaled to the number of records."""
        total = float(self.evidence.total)
        counts = [
            smoothed_line(counted(c, np.ones(len(c)), size), steps=steps) + 0.01
            for c, size, steps in zip(self._columns, self.evidence.shape, self.steps, strict=True)
        ]
        return [m * (total / float(m.sum())) for m in counts]

    @cached_property
    def _margin_drifts(self) -> tuple[Drift, ...]:
        noisy = self.evidence.noisy_margins()
        return pooled_drifts([t for t, _ in noisy], self._public_margins, [v for _, v in noisy], least=_LEAST)

    @cached_property
    def _margins(self) -> list[Floats]:
        """The estimated one-way tables: the public ones, as far as the noisy ones do not differ beyond chance."""
        total, noisy = float(self.evidence.total), self.evidence.noisy_margins()
        return [
            project(posterior(t, m, v, d), total)
            for (t, v), m, d in zip(noisy, self._public_margins, self._margin_drifts, strict=True)
        ]

    @cached_property
    def _tilted(self) -> Floats:
        """Weights of the public rows, raked to the estimated one-way tables."""
        start = np.full(len(self.rows), float(self.evidence.total) / len(self.rows))
        return rake(self._columns, self._margins, start)

    @cached_property
    def _means(self) -> dict[Key, Floats]:
        """What the weighted public rows say of each table; they are a sample too, and their chance is taken out."""
        e, weights, total = self.evidence, self._tilted, float(self.evidence.total)
        found = {k: counted(cells(self.rows, e.shape, k), weights, _size(e.shape, k)) for k in self._keys}
        margins = self._margins
        for k in (k for k in self._keys if len(k) == 2):
            square = found[k].reshape(e.shape[k[0]], e.shape[k[1]])
            steps = (self.steps[k[0]], self.steps[k[1]])
            mixed = (1 - _TRACE) * smoothed(square, total / len(self.rows), steps=steps).ravel()
            mixed = mixed + _TRACE * outer(margins, k[0], k[1])
            found[k] = mixed * (total / mixed.sum())
        return found

    @cached_property
    def _drifts(self) -> dict[Key, Drift]:
        keys = self._keys
        known = [self.evidence.pooled(k) for k in keys]
        means = [self._means[k] for k in keys]
        return dict(
            zip(keys, pooled_drifts([t for t, _ in known], means, [v for _, v in known], least=_LEAST), strict=True)
        )

    def _tree(self, estimates: Mapping[Key, Floats]) -> TreeModel:
        """A tree of the estimated pairs, whose records fill in what the public table lacks."""
        e = self.evidence
        total = float(e.total)
        pairs = {(k[0], k[1]): t for k, t in estimates.items() if len(k) == 2}
        square = {k: t.reshape(e.shape[k[0]], e.shape[k[1]]) / total for k, t in pairs.items()}
        margins = [estimates[i,] / total for i in range(len(e.names))]
        strength = {k: float(np.abs(t - np.outer(t.sum(axis=1), t.sum(axis=0))).sum()) for k, t in square.items()}
        edges = spanning_forest(len(e.names), strength)
        return TreeModel(margins, {k: square[k] for k in edges})


def in_order(column: Column) -> int:
    """How many of the first values of a column stand in order; 0 where there is none."""
    if column.kind == "ordered":
        return len(column.values)
    return column.bin_count if column.kind in BINNED else 0


def counted(at: Keys, weights: Floats, size: int) -> Floats:
    """The weight in each cell."""
    return np.asarray(np.bincount(at, weights, size), np.float64)


def cells(rows: Records, shape: Sequence[int], key: Key) -> Keys:
    """The cell of every row in a table."""
    cell = np.zeros(len(rows), np.int32)
    for i in key:
        cell = cell * np.int32(shape[i]) + rows[:, i].astype(np.int32)
    return cell


def _size(shape: Sequence[int], key: Key) -> int:
    """How many cells a table has."""
    return int(np.prod([shape[i] for i in key]))
