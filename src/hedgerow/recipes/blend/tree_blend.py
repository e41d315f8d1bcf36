"""``tree_blend``: whole records without a public relative."""

from bisect import bisect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from math import erfc, sqrt
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.model.base import AbstractModel
from hedgerow.model.constants import TREE_BLEND
from hedgerow.model.records import Triple
from hedgerow.model.tables import Floats, Key, Pair, drift_of
from hedgerow.public import Budget, Laplace, Measure, Measurement, PublicData, Spend, Tariff, law_of
from hedgerow.recipes.base import Spared, pair_tables_memory
from hedgerow.recipes.blend.allocation import Price, moved, shares_by_gain, worth_of
from hedgerow.recipes.blend.axes import Axes
from hedgerow.recipes.blend.bands import BandedPair, Banding
from hedgerow.recipes.blend.base import AbstractBlend, quiet_paths, with_triples, with_worst_triples
from hedgerow.recipes.blend.noisy_tables import NoisyTables, outer
from hedgerow.recipes.blend.signs import Signs, beyond_chance, in_threes, sides_of, sign_question

TRIPLES = 3  # where the job names no number


@final
@dataclass(frozen=True)
class TreeBlend(AbstractBlend):
    """One-way tables, the pairs worth their noise, a second look where it helps most; records by descent.

    Settings beside those of ``AbstractBlend``:
        one_way_share: the part of the budget for one-way tables.
        first_share: the part for the first look at pairs; the rest goes where it lowers the error most.
        bearable: a pair is measured when its noise is expected to move at most this share of the rows; otherwise in
            the finest bands of which that is true.
        one_way_worth: how much of an error in a one-way table shows in each pair of its column.
        rare: in pairs, values that count less than this many standard deviations of the noise are one; 0: none are.
        triples: how many paths of three columns in the tree are measured besides, the worst first, if they are quiet
            and the promise is not kept by Gaussian noise alone (above an epsilon of 1 or so); 3 if nothing is said.
        triple_share: the part of the last look for ``triples``, if their noise is small enough.
    """

    name: ClassVar[str] = "tree_blend"
    has_rows: ClassVar[bool] = False
    one_way_share: float = 0.10
    first_share: float = 0.25
    bearable: float = 0.4
    one_way_worth: float = 0.5
    rare: float = 1.0
    triples: int | None = None
    triple_share: float = 0.03

    @property
    def draws_from_public(self) -> bool:
        """Records come from the answers alone."""
        return False

    def rules(self) -> dict[str, bool]:
        """Parts of the budget are parts; numbers are possible ones."""
        return {
            "one_way_share is above 0": self.one_way_share > 0,
            "first_share is above 0, and below 1 together with one_way_share": (
                self.first_share > 0 and self.one_way_share + self.first_share < 1
            ),
            "bearable is above 0": self.bearable > 0,
            "table_share is above 0": self.table_share > 0,
            "figure_share is above 0": self.figure_share > 0,
            "triple_share is above 0, and below 1 together with table_share and figure_share": (
                self.triple_share > 0 and self.table_share + self.figure_share + self.triple_share < 1
            ),
            "triples is 0 or more": self.triples is None or self.triples >= 0,
            "rare is 0 or more": self.rare >= 0,
            "rows is 1 or more": self.rows is None or self.rows >= 1,
        }

    @property
    def accounting(self) -> Measure:
        """All its noise is Gaussian where that buys more; elsewhere triples are chosen, by another law of noise."""
        return "gdp"

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """That triples were asked for in vain, after what is measured for uses."""
        said = super().remarks(tariff, budget, public)
        if self.triples and tariff.measure == "gdp":
            return (
                *said,
                f"triples = {self.triples} has no effect: at this epsilon and delta the promise is kept by Gaussian "
                "noise alone, by which no triple can be chosen (name tables with tables = [[...]])",
            )
        return said

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first request: one-way tables. What follows depends on the answers.

        One column that no use wants a figure of is asked for once: there is nothing else to ask.
        """
        axes = self._axes(public)
        more = len(axes.names) > 1 or bool(self._banded(axes, public, by_rows=False))
        share = self._part(self.one_way_share) if more else Fraction(1)
        questions = [axes.question((i,)) for i in range(len(axes.names))]
        return (tariff.measure_all(questions, budget.total * share, weights=one_way_weights(axes)),)

    def asking_memory(self, public: PublicData, rows: int) -> int:
        """Without the tables of pairs: which of them are asked for is known by the noise of the first request."""
        return self.memory(public, rows) - pair_tables_memory(public.schema, public.schema.attributes)

    def spared(self, requests: Sequence[Spend], public: PublicData, rows: int) -> Spared:
        """What the pairs would take that are not asked for: by even halves of every column, at the noise to come.

        A pair of halves moves four cells by about 0.8 standard deviations of the noise each, which grows as the root
        of the number of pairs.  By signs three times as many can be borne; beyond that only the quietest are asked.
        """
        pairs, asked = len(public.schema.attributes) * (len(public.schema.attributes) - 1) // 2, requests[0].asked[0]
        power = 2 if isinstance(law_of(asked.noise), Laplace) else 1
        more = self.first_share / self.one_way_share * float(requests[0].cost / asked.cost)
        alone = law_of(asked.noise).variance / more**power  # of the noise of a pair if it were the only one
        many = ((self.bearable * (self.rows or rows) / 3.2) ** 2 / max(alone, 1e-12)) ** (1 / power)
        if pairs <= 3 * many:
            return Spared()
        left = pairs - int(many)
        held = pair_tables_memory(public.schema, public.schema.attributes) / pairs
        # each is looked at, if not asked for
        return Spared(left * (super().seconds(public, rows) / pairs - 2e-4), int(left * (held - 1000)))

    def fit(self, gate: Answers, public: PublicData) -> AbstractModel:
        """Ask in up to three requests, and fit records to what came back."""
        return records_of(self._asked(gate, public))

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> AbstractModel:
        """The same questions, noisier answers."""
        return records_of(self._asked(gate.known, public).changed(gate.noisier))

    def _asked(self, gate: Answers, public: PublicData) -> "AskedTables":
        ones = self._first_answers(gate, public)
        noisy = NoisyTables(self._axes(public), {(i,): [m] for i, m in enumerate(ones)}, self.rows, self.rare)
        return self.go_on(gate, public, noisy)

    def go_on(
        self, gate: Answers, public: PublicData, noisy: NoisyTables, like: Mapping[str, Any] | None = None
    ) -> "AskedTables":
        """All that follows the one-way tables: what is left of the budget, and what came back.

        ``like`` has the codes of rows like the confidential ones, where there are any: without them nothing says how
        the columns of a model go together, and the bands of a coefficient are not asked.
        """
        axes, price = noisy.axes, Price(gate.tariff)
        ones = [axes.question((i,)) for i in range(len(axes.names))]
        cost = gate.budget.total * self._part(self.first_share)
        margins = noisy.margins()
        first = self._predicted(axes, public)
        looked_at = self._first_look(axes, margins, price, float(cost), first)
        noisy = looked_at.asked(gate, noisy, cost)
        left = gate.left
        part = self._part(self.table_share) * left
        required = self._required(noisy, public, price, float(part), self.bearable)
        kept = part if required else Fraction(0)
        part = self._part(self.figure_share) * left
        figures = self._figures(axes, public, like or {}, noisy.margins(), price, float(part))
        kept_figures = part if figures else Fraction(0)
        wished = TRIPLES if self.triples is None else self.triples
        each = self._part(self.triple_share) * left / max(wished, 1)
        choosing = gate.tariff.measure != "gdp"  # which has no law but the Gaussian
        triples = wished if choosing and quiet_paths(noisy, noisy.tree(), price, each) else 0
        rest = left - kept - kept_figures - triples * each
        if noisy.pairs():
            noisy = self._second_look(gate, noisy, rest, first)
        elif rest > 0:
            again = gate.measure(ones, rest, weights=one_way_weights(axes))
            noisy = noisy.plus({(i,): m for i, m in enumerate(again)})
        if required:
            answers = gate.measure([noisy.axes.question(k) for k in required], kept)
            noisy = noisy.plus(dict(zip(required, answers, strict=True)))
        told = gate.measure(figures, kept_figures) if figures else ()
        model, noisy, keys = with_worst_triples(gate, noisy, triples, each, NoisyTables.model)
        return AskedTables(noisy, required, told, keys, model)

    def _resolutions(
        self,
        axes: Axes,
        margins: Sequence[Floats],
        price: Price,
        cost: float,
        predicted: Collection[int] = (),
        pairs: Sequence[Pair] | None = None,
    ) -> tuple[list[Pair], dict[Pair, BandedPair]]:
        """The pairs that are measured cell by cell, and those that are measured in bands, and which.

        Every pair makes the noise of all larger, so that those which two bands of each column do not make bearable
        are left out, the noisiest first, and those with a column that a use predicts last.  Where some are, all pairs
        are looked at by signs instead, if that can be borne.  None left is the low-budget regime: no pair is worth
        its noise.
        """
        pairs = list(combinations(range(len(axes.names)), 2)) if pairs is None else pairs
        plain = [len(parts) == 1 for parts in axes.parts]  # a cross of groups has no bands
        banding = Banding(margins, axes.steps)
        least = {
            p: banding.pair(p, (2, 2)).independent(p, margins) if plain[p[0]] and plain[p[1]] else outer(margins, *p)
            for p in pairs
        }
        usual = sqrt(price.variance(cost / max(len(pairs), 1)))
        order = sorted(pairs, key=lambda p: (not set(p) & set(predicted), moved(least[p], usual), p))

        def noisiest(many: int) -> float:
            sd = sqrt(price.variance(cost / many))
            return max(moved(least[p], sd) for p in order[:many])

        many = bisect(range(1, len(order) + 1), self.bearable, key=noisiest)  # it grows with every pair
        if not many:
            return [], {}
        sd = sqrt(price.variance(cost / many))
        fine = {p: moved(outer(margins, *p), sd) <= self.bearable for p in order[:many]}
        bands = {p: banding.bearable(p, sd, self.bearable) for p, is_fine in fine.items() if not is_fine}
        return [p for p, is_fine in fine.items() if is_fine], bands

    def _first_look(
        self, axes: Axes, margins: Sequence[Floats], price: Price, cost: float, predicted: Collection[int]
    ) -> "FirstLook":
        """The pairs that are looked at cell by cell, in bands, and by signs.

        All are looked at by signs where cells would leave pairs out.  Where cells leave out none but are noisy (more
        than ``TREE_BLEND.sign_noise`` of the rows moved), those are whose columns have an order or two values each:
        of others two sides may hide what there is.  None are where the noise of signs cannot be borne either.
        Where they are quiet, pairs with an order begin with few bands: see ``_coarser``.
        """
        chosen, bands = self._resolutions(axes, margins, price, cost, predicted)
        plain, even = FirstLook(chosen, bands), np.full(4, float(margins[0].sum()) / 4)
        pairs = list(combinations(range(len(axes.names)), 2))
        if not (chosen or bands) or axes.crossed is not None or min(axes.shape) < 2:
            return plain
        everything = in_threes(range(len(axes.names)))
        if moved(even, sqrt(price.variance(4 * cost / sum(2 ** (len(k) - 1) for k in everything)))) > self.bearable:
            return plain
        if len(chosen) + len(bands) < len(pairs):
            return FirstLook([], {}, everything)
        if moved(even, sqrt(price.variance(cost / len(pairs)))) <= TREE_BLEND.sign_noise:
            return self._coarser(plain, axes, margins, sqrt(price.variance(cost / len(pairs))))
        steps = axes.steps
        sided = [i for i, size in enumerate(axes.shape) if size == 2 or steps[i] > 2]
        signs = in_threes(sided)
        rest = [p for p in pairs if not set(p) <= set(sided)]
        if not rest:
            return FirstLook([], {}, signs)
        saved = 4 * len(rest) / (4 * len(rest) + sum(2 ** (len(k) - 1) for k in signs))
        chosen, bands = self._resolutions(axes, margins, price, cost * saved, predicted, rest)
        return FirstLook(chosen, bands, signs)

    @staticmethod
    def _coarser(plain: "FirstLook", axes: Axes, margins: Sequence[Floats], sd: float) -> "FirstLook":
        """The same look, pairs with an order in bands so few that noise of ``sd`` moves hardly a row.

        A trend along an order is in the sums of many cells, whose noise adds up: few bands tell it many times as well
        for the same cost.  What lies within the bands is left to the second look.  A pair whose cells are quiet, or
        hardly more than the bands, is asked for cell by cell at once.
        """
        banding, coarse = Banding(margins, axes.steps), {}
        for p in (*plain.cells, *plain.bands):
            mean = plain.bands[p].independent(p, margins) if p in plain.bands else outer(margins, *p)
            if max(axes.steps[p[0]], axes.steps[p[1]]) < 3 or moved(mean, sd) <= TREE_BLEND.quiet_cells:
                continue
            few = banding.bearable(p, sd, TREE_BLEND.coarse_noise)
            if min(few.shape) > 1 and TREE_BLEND.coarser * few.size <= len(mean):
                coarse[p] = few
        cells = [p for p in plain.cells if p not in coarse]
        return FirstLook(cells, {p: b for p, b in plain.bands.items() if p not in coarse}, coarse=coarse)

    def _second_look(
        self, gate: Answers, noisy: NoisyTables, cost: Fraction, predicted: Collection[int] = ()
    ) -> NoisyTables:
        """What is left of the budget, spent where it lowers the predicted error of all pairs most.

        An error in a one-way table is an error in every pair of its column.  The pairs that were looked at in few
        bands are asked for cell by cell, or in the finest bands that can be borne; so are those by signs that chance
        does not explain, and those with a column that a use predicts.
        """
        axes, margins, price = noisy.axes, noisy.margins(), Price(gate.tariff)
        pairs = [p for p in noisy.pairs() if p not in noisy.first_looks]
        told = {p: look[0].seen(look[1], outer(margins, *p), look[2]) for p, look in noisy.first_looks.items()}
        chances = {
            p: erfc(abs(float(seen[0] - mean[0])) / sqrt(2 * left))
            for p, (seen, mean, left) in told.items()
            if p not in noisy.coarse
        }
        kept = [*noisy.coarse, *beyond_chance(chances, TREE_BLEND.false_pairs)]
        kept += [p for p in chances if p not in kept and set(p) & set(predicted)]
        sd = sqrt(price.variance(float(cost) / max(len(pairs) + len(kept), 1)))
        banding = Banding(margins, axes.steps)
        cells = {p for p in noisy.coarse if moved(outer(margins, *p), sd) <= self.bearable}
        finer = {p: banding.bearable(p, sd, self.bearable) for p in kept if p not in cells}
        singles = [(i,) for i in range(len(axes.names))]
        spread = [m**2 for m in margins] + noisy.spread(pairs)
        noise_of = [v for _, v in noisy.noisy_margins]
        noise_of += [(noisy.pooled[p] if p in noisy.tables else noisy.pooled_bands[p])[1] for p in pairs]
        for p in kept:
            seen, mean, left = told[p]
            fine = outer(margins, *p) if p in cells else finer[p].independent(p, margins)
            spread.append(drift_of([seen], [mean], [left]).variance(fine))
            shape = (axes.shape[p[0]], axes.shape[p[1]]) if p in cells else finer[p].shape
            few, _, noise = noisy.first_looks[p]
            noise_of.append(noise * free_cells(shape) / free_cells(few.shape))  # so few of these were told
        worth = [self.one_way_worth * len(singles)] * len(singles) + worth_of([*pairs, *kept], predicted)
        asked = shared_out([*singles, *pairs, *kept], shares_by_gain(spread, noise_of, worth, price, float(cost)))
        bands = {k: b for k, b in noisy.bands.items() if k not in noisy.tables} | finer
        questions = [
            axes.banded_question((k[0], k[1]), bands[k[0], k[1]].first, bands[k[0], k[1]].second)
            if k in bands
            else axes.question(k)
            for k in asked
        ]
        answers = dict(zip(asked, gate.measure(questions, cost, weights=list(asked.values())), strict=True))
        noisy = noisy.plus({k: m for k, m in answers.items() if k not in bands})
        return noisy.plus_bands(finer, {(k[0], k[1]): m for k, m in answers.items() if k in bands})

    @staticmethod
    def _part(share: float) -> Fraction:
        return Fraction(str(share))


@final
@dataclass(frozen=True, eq=False)
class AskedTables:
    """All that a blend was told.

    Attributes:
        noisy: all noisy tables.
        required: those that must be right.
        figures: the answers about figures of uses.
        triples: paths of three columns that were chosen, in their order.
        model: what the tables and triples give, where that is known.
    """

    noisy: NoisyTables
    required: tuple[Key, ...]
    figures: tuple[Measurement, ...]
    triples: tuple[Triple, ...] = ()
    model: AbstractModel | None = None

    def changed(self, change: Callable[[Measurement], Measurement]) -> "AskedTables":
        """The same with every answer changed."""
        return AskedTables(self.noisy.changed(change), self.required, tuple(map(change, self.figures)), self.triples)


def records_of(asked: AskedTables) -> AbstractModel:
    """Records that agree with all answers, without a public table."""
    model = asked.model or with_triples(asked.noisy, asked.triples, NoisyTables.model)
    return AbstractBlend.with_tables(model, asked.noisy, asked.required, asked.figures)


@final
@dataclass(frozen=True, eq=False)
class FirstLook:
    """What is asked of pairs first.

    Attributes:
        cells: the pairs that are asked for cell by cell.
        bands: those in bands, and which.
        signs: the questions by signs, of two or three columns each.
        coarse: the pairs that are asked for in few bands, and in more afterwards; none with signs.
    """

    cells: list[Pair]
    bands: dict[Pair, BandedPair]
    signs: Sequence[Key] = ()
    coarse: Mapping[Pair, BandedPair] = field(default_factory=dict)

    def asked(self, gate: Answers, noisy: NoisyTables, cost: Fraction) -> NoisyTables:
        """What came back, besides what was known: all counts have the same noise if there are signs among them."""
        if not (self.cells or self.bands or self.signs or self.coarse):
            return noisy
        axes, told = noisy.axes, zip(noisy.margins(), noisy.axes.steps, strict=True)
        sides = [sides_of(m, steps=s) for m, s in told]
        questions = [axes.question(p) for p in self.cells]
        questions += [
            axes.banded_question(p, b.first, b.second) for p, b in (*self.bands.items(), *self.coarse.items())
        ]
        weights = [Fraction(4)] * len(questions)  # as a question by signs that has four counts
        questions += [sign_question(axes, k, sides) for k in self.signs]
        weights += [Fraction(2 ** (len(k) - 1)) for k in self.signs]
        answers = list(gate.measure(questions, cost, weights=weights))
        many, known = len(self.cells), len(self.cells) + len(self.bands)
        noisy = noisy.plus(dict(zip(self.cells, answers, strict=False)))
        noisy = noisy.plus_bands(self.bands, dict(zip(self.bands, answers[many:known], strict=True)))
        if not self.signs:
            coarse = {p: (b, m) for (p, b), m in zip(self.coarse.items(), answers[known:], strict=True)}
            return replace(noisy, coarse=coarse)
        return replace(noisy, signs=Signs(sides, dict(zip(self.signs, answers[known:], strict=True))))


def free_cells(shape: tuple[int, int]) -> int:
    """How many cells of a pair its one-way tables leave open; at least one.

    >>> free_cells((2, 2)), free_cells((3, 5))
    (1, 8)
    """
    return max((shape[0] - 1) * (shape[1] - 1), 1)


def shared_out(keys: Sequence[Key], shares: Floats) -> dict[Key, Fraction]:
    """The tables that get a share of a cost, like shares together: each scale of noise is prepared once."""
    weights = [Fraction(float(s)).limit_denominator(10**6) for s in shares]
    return dict(sorted(((k, w) for k, w in zip(keys, weights, strict=True) if w > 0), key=lambda a: a[1]))


def one_way_weights(axes: Axes) -> list[Fraction]:
    """Larger tables get more: with cells^(2/3) the summed error of all tables is least."""
    return [Fraction(round(1000 * size ** (2 / 3))) for size in axes.shape]
