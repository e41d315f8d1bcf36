"""What both blends share: settings, and tables beyond the pairs.

These are required tables, triples that public rows recommend, and those that the model fits worst.  Required are the
tables that a recipe is told to measure and those that intended uses are read from.  The worst triples are paths of
three columns in the tree, chosen through the gate and measured where their noise is small.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import pi, prod, sqrt
from typing import Any, ClassVar

import numpy as np

from hedgerow.answers import Answers
from hedgerow.errors import JobError
from hedgerow.model.base import SHARD, AbstractModel
from hedgerow.model.constants import BLEND, TREE_BLEND
from hedgerow.model.records import (
    MOST,
    BlendModel,
    CrossedModel,
    Records,
    TreeModel,
    Triple,
    WiderTables,
    counts_of,
    fixed_stream,
    paths,
)
from hedgerow.model.tables import Floats, Key, fit_margins, project, shrink
from hedgerow.public import Budget, Marginal, Measurement, PublicData, Spend, Statistic, Tariff, law_of
from hedgerow.recipes.base import AbstractRecipe, noise_on_total, pair_cells, pair_records_memory
from hedgerow.recipes.blend.allocation import Price, moved
from hedgerow.recipes.blend.axes import MOST_CELLS, Axes, axes_of
from hedgerow.recipes.blend.noisy_tables import NoisyTables
from hedgerow.recipes.statistics import has_bands, question_of


@dataclass(frozen=True)
class AbstractBlend(AbstractRecipe):
    """Whole records from noisy one-way and two-way tables, and from further ones that must be right.

    Attributes:
        rows: the number of records when it is public; otherwise the noisy tables tell.
        groups: columns whose cross makes the groups; with two or more, the cross is one column of the model.
        tables: tables that must be right, by the names of their columns.
        uses: whether the tables that intended uses are read from are measured like ``tables``, if worth their noise.
        table_share: the part of the last look for tables that are measured besides, if there are any.
        figure_share: the part of the last look for means, quantiles and coefficients of uses, if there are any.
    """

    has_rows: ClassVar[bool]  # whether public rows, like the confidential ones, are looked at

    rows: int | None = None
    groups: Sequence[str] = ()
    tables: Sequence[Sequence[str]] = ()
    uses: bool = True
    table_share: float = 0.2
    figure_share: float = 0.2

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """Which tables the intended uses make it measure."""
        axes = self._axes(public)
        keys = tables_of_uses(axes, public) if self.uses else ()
        named = [" x ".join(axes.names[i] for i in k) for k in keys]
        named += [f.in_words for f in self._banded(axes, public, by_rows=self.has_rows)]
        told = [f"for the intended uses, where worth their noise, measures: {', '.join(named)}"] if named else []
        if found := [axes.names[i] for i in sorted(self._predicted(axes, public))]:
            told.append(f"for prediction, more of the budget goes to the pairs of: {', '.join(found)}")
        return tuple(told)

    def _banded(self, axes: Axes, public: PublicData, *, by_rows: bool) -> tuple[Statistic, ...]:
        """The figures of intended uses that bands tell; of a model only by rows that say how its columns go together.

        A cross of groups hides the columns that it is made of.
        """
        said = public.figures if self.uses and axes.crossed is None else ()
        return tuple(f for f in said if has_bands(public.schema, f) and (by_rows or f.formula is None))

    def _predicted(self, axes: Axes, public: PublicData) -> frozenset[int]:
        """The axes of columns that intended uses predict."""
        return frozenset(i for c in public.predicted for i in axes.covering((c,))) if self.uses else frozenset()

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, and the records that are fitted to them."""
        names, records = public.schema.attributes, self.rows or rows
        codes = 3 * len(names) * records
        return pair_records_memory(public.schema, names, records=min(records, SHARD)) + codes

    def seconds(self, public: PublicData, rows: int) -> float:
        """Records are fitted to every pair, cell by cell, and the pages show each; as measured by bench/cost.py."""
        names = public.schema.attributes
        pairs = len(names) * (len(names) - 1) / 2 * (7e-3 + 2e-8 * (self.rows or rows))
        return super().seconds(public, rows) + pairs + 8e-7 * pair_cells(public.schema, names)

    def surplus(self, requests: Sequence[Spend]) -> int:
        """The number of records is a noisy one, unless it is declared."""
        return 0 if self.rows else noise_on_total(requests)

    def _axes(self, public: PublicData) -> Axes:
        axes = axes_of(public.schema, self._group_columns(public), recipe=self.name)
        if (values := sum(axes.shape)) > MOST:
            raise JobError(
                f"The attributes have {values:,} values together; {self.name} fits records to at most {MOST:,}.\n"
                "Give columns fewer bins or values in the schema. No confidential row was read, nothing was spent."
            )
        return axes

    def _group_columns(self, public: PublicData) -> tuple[str, ...]:
        """The columns whose cross makes the groups."""
        return tuple(self.groups)

    def _first_answers(self, gate: Answers, public: PublicData) -> tuple[Measurement, ...]:
        """What ``requests`` announces, asked."""
        self._axes(public).keys(self.tables, self.name)  # a mistake in them is told before anything is asked
        (first,) = self.requests(gate.tariff, gate.budget, public)
        weights = [a.cost / first.cost for a in first.asked]
        return gate.measure([a.question for a in first.asked], first.cost, weights=weights)

    def _required(
        self, noisy: NoisyTables, public: PublicData, price: Price, cost: float, bearable: float
    ) -> tuple[Key, ...]:
        """The tables that must be right; those of uses only if their noise is bearable."""
        used = tables_of_uses(noisy.axes, public) if self.uses and cost else ()
        used = worth_their_noise(used, noisy, price, cost, bearable=bearable)
        return tuple(dict.fromkeys((*noisy.axes.keys(self.tables, self.name), *used)))

    def _figures(
        self,
        axes: Axes,
        public: PublicData,
        rows: Mapping[str, Any],
        margins: Sequence[Floats],
        price: Price,
        cost: float,
    ) -> tuple[Marginal, ...]:
        """The questions that tell the figures of intended uses, by rows like the confidential ones and by margins.

        Those whose noise would move half of the rows are left out, the widest first.
        """
        said = self._banded(axes, public, by_rows=bool(rows)) if cost else ()
        named, total = dict(zip(axes.names, margins, strict=True)), float(margins[0].sum())
        found = [question_of(public.schema, f, rows, named) for f in said]
        left = list(dict.fromkeys(q for q in found if q is not None))

        def cells(question: Marginal) -> int:
            return question.leaves * axes.coding.cells(question.columns)

        while left:
            widest = max(left, key=cells)
            if sqrt(price.variance(cost / len(left)) * 2 / pi) * cells(widest) <= 2 * BLEND.figure_noise * total:
                break
            left.remove(widest)
        return tuple(left)

    @staticmethod
    def with_tables(
        model: AbstractModel, noisy: NoisyTables, keys: Sequence[Key], figures: Sequence[Measurement] = ()
    ) -> AbstractModel:
        """The model, its records chosen so that they agree with what was measured of ``keys`` and ``figures``.

        Groups are uncrossed.
        """
        axes, wide = noisy.axes, [k for k in keys if len(k) > 2]
        if wide or figures:
            tables = [(tuple(axes.names[i] for i in k), estimated(model, noisy, k)) for k in wide]
            bands = estimated_bands(model, noisy, figures)
            model = WiderTables(model, axes.names, axes.coding, tables, bands)
        return model if axes.crossed is None else CrossedModel(model, axes.crossed, axes.coding)


def tables_of_uses(axes: Axes, public: PublicData) -> tuple[Key, ...]:
    """The axes of the tables that intended uses are read from; those too large to be counted are left out."""
    narrow = ((*f.by, f.of) for f in public.figures if f.of and not has_bands(public.schema, f))
    found = (axes.covering(columns) for columns in (*public.wanted, *narrow))
    return tuple(dict.fromkeys(k for k in found if k and prod(axes.shape[i] for i in k) <= MOST_CELLS))


def worth_their_noise(
    keys: Sequence[Key], noisy: NoisyTables, price: Price, cost: float, *, bearable: float
) -> tuple[Key, ...]:
    """Those of ``keys`` whose noise moves less than ``bearable`` of the rows, all sharing ``cost`` alike."""
    left = list(keys)
    while left:
        sd = sqrt(price.variance(cost / len(left)))
        loss = [moved(independent(noisy, k), sd) for k in left]
        worst = int(np.argmax(loss))
        if loss[worst] <= bearable:
            break
        left.pop(worst)
    return tuple(left)


def independent(noisy: NoisyTables, key: Key) -> Floats:
    """The counts of a table if its columns were independent, flat."""
    total = max(float(noisy.total), 1.0)
    shares = [noisy.margins()[i] / total for i in key]
    return np.asarray(total * reduce(np.multiply.outer, shares).ravel())


def strong_triples(rows: Records, shape: Sequence[int], count: int) -> tuple[Key, ...]:
    """The ``count`` triples in which public rows show most that their pairs do not; fewer if chance explains them."""
    found = []
    for key in combinations(range(len(shape)), 3):
        sizes = tuple(shape[i] for i in key)
        if count and prod(sizes) <= BLEND.widest_triple:
            flat = np.ravel_multi_index([rows[:, i].astype(np.intp) for i in key], sizes)
            table = np.bincount(flat, minlength=prod(sizes)).astype(np.float64).reshape(sizes)
            found.append((interaction(table), key))
    return tuple(key for strength, key in sorted(found, reverse=True)[:count] if strength > 0)


def estimated(model: AbstractModel, noisy: NoisyTables, key: Key) -> Floats:
    """A table of three or more axes, shrunk from its noisy counts towards what the model expects of it.

    Its pairs are the model's, which knows more of them: the sums of this table, and their own noisy counts.
    """
    expected = model.expected(noisy.axes.question(key))
    mean = (1 - BLEND.wider_trace) * expected + BLEND.wider_trace * expected.sum() / len(expected)
    table, variance = noisy.pooled[key]
    shrunk = project(shrink(table, mean, variance), float(noisy.total)) + 1e-6 * mean
    inside, axes = combinations(range(len(key)), 2), noisy.axes
    pairs = {(a, b): model.expected(axes.question((key[a], key[b]))) for a, b in inside}
    return fit_margins(shrunk.reshape([noisy.shape[i] for i in key]), pairs, sweeps=BLEND.wider_fit_sweeps).ravel()


def estimated_bands(
    model: AbstractModel, noisy: NoisyTables, figures: Sequence[Measurement]
) -> list[tuple[Marginal, Floats]]:
    """Tables of bands, each shrunk from its noisy counts towards what records of the model give."""
    if not figures:
        return []
    codes, found = model.draw(noisy.total, fixed_stream()), []
    for m in figures:
        expected = counts_of(codes, m.question, noisy.axes.coding, noisy.total)
        mean = (1 - BLEND.wider_trace) * expected + BLEND.wider_trace * expected.sum() / len(expected)
        shrunk = shrink(m.counts.astype(np.float64), mean, law_of(m.noise).variance)
        found.append((m.question, project(shrunk, float(noisy.total)) + 1e-6 * mean))
    return found


def without_interaction(table: Floats) -> Floats:
    """The table with the same pairs and no interaction of all three columns.

    >>> odd = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> without_interaction(odd).tolist()
    [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]
    """
    even = np.full(table.shape, float(table.sum()) / table.size)
    pairs = {(0, 1): table.sum(axis=2), (0, 2): table.sum(axis=1), (1, 2): table.sum(axis=0)}
    return fit_margins(even, pairs, sweeps=BLEND.wider_fit_sweeps)


def interaction(table: Floats) -> float:
    """The share of records that must move to take the interaction of a sampled table away, beyond chance.

    Chance: a cell of a sample is off by sqrt(2 m / pi) on average.  At least 0.
    """
    fitted = without_interaction(table)
    far = float(np.abs(table - fitted).sum() - np.sqrt(2 * fitted / np.pi).sum())
    return max(far, 0.0) / max(2 * float(table.sum()), 1.0)


def quiet_paths(noisy: NoisyTables, tree: TreeModel, price: Price, cost: Fraction) -> list[Triple]:
    """The paths of ``tree``, not too wide, whose noise is small when each has ``cost``; none if most are noisy."""
    if cost <= 0:
        return []
    sd = sqrt(price.variance(float(cost * (1 - TREE_BLEND.choice_part))))
    narrow = [k for k in paths(tree) if prod(noisy.shape[i] for i in k) <= BLEND.widest_triple]
    loss = {k: moved(independent(noisy, k), sd) for k in narrow}
    if not narrow or float(np.median(list(loss.values()))) > TREE_BLEND.middle_path_noise:
        return []
    return [k for k in narrow if k not in noisy.tables and loss[k] <= TREE_BLEND.path_noise]


MakeModel = Callable[[NoisyTables, Mapping[Triple, Floats]], BlendModel]
"""Makes the model of noisy tables, with estimates of paths of its tree as cliques."""


def with_worst_triples(
    gate: Answers, noisy: NoisyTables, count: int, cost: Fraction, make: MakeModel
) -> tuple[BlendModel, NoisyTables, tuple[Triple, ...]]:
    """``count`` times: choose the path that the model misses most, measure it, draw records with it as a clique.

    Records begin with what the cliques say and are moved as little as the pairs ask for, so they keep most of it;
    weighing them until the cliques are met would cost the pairs more than the triples gain.  With the model come all
    noisy tables and the chosen triples.
    """
    cliques: dict[Triple, Floats] = {}
    model = make(noisy, cliques)
    for _ in range(count):
        open_ = {noisy.axes.question(k): k for k in quiet_paths(noisy, model.start.tree, Price(gate.tariff), cost)}
        if not open_:
            break
        guesses = {q: np.rint(model.expected(q)).astype(np.int64) for q in open_}
        worst = gate.select(guesses, cost * TREE_BLEND.choice_part)
        key = open_[worst]
        (answer,) = gate.measure([worst], cost * (1 - TREE_BLEND.choice_part))
        noisy = noisy.plus({key: answer})
        cliques[key] = estimated(model, noisy, key)
        model = make(noisy, cliques)
    return model, noisy, tuple(cliques)


def with_triples(noisy: NoisyTables, chosen: Sequence[Triple], make: MakeModel) -> BlendModel:
    """The model with triples that were chosen, and measured, before."""
    cliques: dict[Triple, Floats] = {}
    model = make(noisy, cliques)
    for key in chosen:
        cliques[key] = estimated(model, noisy, key)
        model = make(noisy, cliques)
    return model
