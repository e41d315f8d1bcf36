"""``public_blend``: whole records with the help of a public relative.

``PublicPrior`` sets noisy tables beside public rows: what each says of the other, and records that agree with both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel
from hedgerow.model.constants import BLEND, PUBLIC_BLEND
from hedgerow.model.records import (
    BlendModel,
    PairTargets,
    Records,
    SupportModel,
    fixed_stream,
    stratified,
)
from hedgerow.model.tables import (
    Drift,
    Floats,
    Key,
    Widths,
    fit_margins,
    pooled_drifts,
    posterior,
    project_pair,
    rake_rows,
    smoothed,
    smoothed_line,
    smoothing_widths,
)
from hedgerow.public import Budget, Measure, PublicData, Spend, Tariff, shares, total_variation
from hedgerow.recipes.base import pair_cells
from hedgerow.recipes.blend.allocation import Price, Stakes, moved, shares_by_error
from hedgerow.recipes.blend.axes import Axes
from hedgerow.recipes.blend.base import AbstractBlend, strong_triples
from hedgerow.recipes.blend.noisy_tables import NoisyTables, estimated_tree, outer, project_known, tree_pairs
from hedgerow.recipes.blend.tree_blend import AskedTables, TreeBlend, one_way_weights, records_of
from hedgerow.recipes.blend.trust import (
    Doubt,
    association,
    chance_of_pairs,
    clipped_slope,
    counted,
    drifts_apart,
    is_stranger,
    linked,
    regression,
    shares_of_trust,
)


@final
@dataclass(frozen=True)
class PublicBlend(AbstractBlend):
    """All pairs, a second look where the public table is furthest off, each shrunk towards the public table.

    Settings beside those of ``AbstractBlend``:
        first_share: the part of the budget for the first look at all pairs.
        one_way_share: the part of the first look that goes to one-way tables.
        tail: extra rows, drawn from a tree of the estimated pairs, as a share of the public rows.
        refine: whether drawn records are moved off the support towards the estimated pairs.
        triples: how many tables of three columns are measured besides, where the public table shows interaction.
        drift_apart: whether public one-way tables that do not fit say nothing of how far the others drifted.
    """

    name: ClassVar[str] = "public_blend"
    first_share: float = 0.3
    one_way_share: float = 0.5
    tail: float = 0.2
    refine: bool = True
    triples: int = 0
    drift_apart: bool = False

    def rules(self) -> dict[str, bool]:
        """Parts of the budget are parts; numbers are possible ones."""
        return {
            "first_share lies between 0 and 1": 0 < self.first_share < 1,
            "one_way_share lies between 0 and 1": 0 < self.one_way_share < 1,
            "table_share is above 0": self.table_share > 0,
            "figure_share is above 0, and below 1 together with table_share": (
                self.figure_share > 0 and self.table_share + self.figure_share < 1
            ),
            "tail is 0 or more": self.tail >= 0,
            "triples is 0 or more": self.triples >= 0,
            "rows is 1 or more": self.rows is None or self.rows >= 1,
        }

    @property
    def accounting(self) -> Measure:
        """All its noise is Gaussian."""
        return "gdp"

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """The first look at all one-way tables. Pairs follow, all of them if the public table seems a relative."""
        axes = self._axes(public)
        questions = [axes.question((i,)) for i in range(len(axes.names))]
        cost = budget.total * self._one_way_part(tariff)
        return (tariff.measure_all(questions, cost, weights=one_way_weights(axes)),)

    def _one_way_part(self, tariff: Tariff) -> Fraction:
        """The part of the budget for one-way tables before it is known whether there is a relative.

        No more than without a public table, lest a stranger cost something; more follows with the pairs.  Laplace
        noise has no second look for free: there all is asked at once.
        """
        part = Fraction(str(self.first_share)) * Fraction(str(self.one_way_share))
        return part if tariff.measure == "pure" else min(part, Fraction(str(TreeBlend.one_way_share)))

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What the public rows alone tell of their use, after what is measured for uses."""
        said = super().remarks(tariff, budget, public)
        if self._association(public) < PUBLIC_BLEND.least_association:
            return (
                *said,
                "the columns of the public table are independent of each other: only its one-way tables help",
            )
        return said

    def memory(self, public: PublicData, rows: int) -> int:
        """Every pair, and the records that are fitted to them; the public rows and their tail are weighed."""
        names = public.schema.attributes
        known = public.relative.rows if public.relative is not None else 0
        support = max(round(known * (1 + self.tail)), min(self.rows or rows, PUBLIC_BLEND.support_rows))
        allocating = 60 * pair_cells(public.schema, names)
        weighing = support * (8 * len(names) + 40)
        return super().memory(public, rows) + allocating + weighing

    def fit(self, gate: Answers, public: PublicData) -> AbstractModel:
        """Ask, estimate every table, and weigh the public rows and a tail accordingly.

        One-way tables first: they and the public rows tell whether there is a relative.  Without one, go on as
        ``tree_blend`` does.
        """
        asked, relative = self._asked(gate, public)
        return self._made(asked, public) if relative else records_of(asked)

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> AbstractModel:
        """The same questions; noisier answers, and the rows of ``other``, if the public table is a relative."""
        asked, relative = self._asked(gate.known, public)
        again = asked.changed(gate.noisier)
        return self._made(again, other) if relative else records_of(again)

    def _asked(self, gate: Answers, public: PublicData) -> tuple[AskedTables, bool]:
        """What was asked and answered, and whether the public table is a relative."""
        axes = self._axes(public)
        assert public.relative is not None
        rows = axes.rows(public.relative)
        answers = self._first_answers(gate, public)
        noisy = NoisyTables(axes, {(i,): [m] for i, m in enumerate(answers)}, self.rows)
        if doubt := self._doubt(gate, public, self._prior(noisy, public)):
            one_ways = None if doubt == "stranger" else lambda known: self._prior(known, public).margins
            tree = self._without_relative(gate)
            like = public.relative.codes(public.schema.attributes) if doubt == "few" else None
            return tree.go_on(gate, public, replace(noisy, rare=tree.rare, one_ways=one_ways), like), False
        noisy = self._first_pairs(gate, noisy)
        kept, price = float(gate.left) * self.table_share, Price(gate.tariff)
        required = self._required(noisy, public, price, kept, PUBLIC_BLEND.bearable)
        chosen = tuple(dict.fromkeys((*required, *self._triples(public, rows, axes))))
        codes, part = public.relative.codes(public.schema.attributes), Fraction(str(self.figure_share))
        first = self._prior(noisy, public)
        figures = self._figures(axes, public, codes, first.margins, price, float(gate.left * part))
        part = part if figures else Fraction(0)
        again = self._shares(gate, noisy, first.stakes(self._predicted(axes, public)), chosen, part)
        questions = [*(axes.question(k) for k in again), *figures]
        weights = [*again.values(), *(part / len(figures) for _ in figures)]
        second = gate.measure(questions, gate.left, weights=weights)
        noisy = noisy.plus(dict(zip(again, second, strict=False)))
        return AskedTables(noisy, chosen, second[len(again) :]), True

    def _made(self, asked: AskedTables, public: PublicData) -> AbstractModel:
        """Records that agree with the public rows and all answers."""
        prior = self._prior(asked.noisy, public)
        model = prior.without_unlike().model(self.tail, refine=self.refine)
        return self.with_tables(model, asked.noisy, asked.required, asked.figures)

    def _prior(self, noisy: NoisyTables, public: PublicData) -> "PublicPrior":
        axes = noisy.axes
        assert public.relative is not None
        known = public.memo.setdefault(("smoothing", axes.names), {})
        return PublicPrior(noisy, axes.rows(public.relative), known, apart=self.drift_apart)

    def _doubt(self, gate: Answers, public: PublicData, prior: "PublicPrior") -> Doubt:
        """Why the public table is not used for pairs, by its rows and the noisy one-way tables."""
        noisy = prior.noisy
        pairs = list(combinations(range(len(noisy.shape)), 2))
        if not pairs:
            return ""
        if is_stranger(prior.said_alone, noisy.noisy_margins):
            return "stranger"
        if self._association(public) < PUBLIC_BLEND.least_association:
            return "unlinked"
        sd = Price(gate.tariff).variance(float(gate.left) / len(pairs)) ** 0.5
        noise = float(np.mean([moved(outer(prior.margins, *p), sd) for p in pairs]))
        chance = chance_of_pairs(prior.public, noisy.shape)
        return "few" if chance > max(PUBLIC_BLEND.few_chance, noise) else ""

    def _association(self, public: PublicData) -> float:
        """That of the public rows, worked out once."""
        axes = self._axes(public)
        assert public.relative is not None
        key = "association", axes.names
        if key not in public.memo:
            public.memo[key] = association(axes.rows(public.relative), axes.shape)
        return float(public.memo[key])

    def _without_relative(self, gate: Answers) -> TreeBlend:
        """What goes on without a public table; choosing triples takes noise that is not Gaussian."""
        shared: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(AbstractBlend)}
        return TreeBlend(**shared) if gate.tariff.measure != "gdp" else TreeBlend(**shared, triples=0)

    def _first_pairs(self, gate: Answers, noisy: NoisyTables) -> NoisyTables:
        """All pairs alike, and the one-way tables again, with what is left of the first look."""
        axes, alone = noisy.axes, Fraction(str(self.one_way_share))
        pairs = [(i, j) for i, j in combinations(range(len(axes.names)), 2)]
        cost = Fraction(str(self.first_share))
        again = cost * alone - self._one_way_part(gate.tariff)
        singles = [(i,) for i in range(len(axes.names))] if again > 0 else []
        known = one_way_weights(axes)
        weights = [again * w / sum(known) for w in known[: len(singles)]]
        weights += [cost * (1 - alone) / len(pairs) for _ in pairs]
        keys: list[Key] = [*singles, *pairs]
        if not keys:
            return noisy
        asked = [axes.question(k) for k in keys]
        answers = gate.measure(asked, gate.budget.total * sum(weights, Fraction(0)), weights=weights)
        return noisy.plus(dict(zip(keys, answers, strict=True)))

    def _shares(
        self, gate: Answers, noisy: NoisyTables, stakes: Stakes, chosen: Sequence[Key], figures: Fraction
    ) -> dict[Key, Fraction]:
        """What part of the second look each table gets; like shares together: each scale of noise takes preparing.

        ``figures`` is the part that goes to figures of intended uses.
        """
        keys, part = list(noisy.tables), Fraction(str(self.table_share)) if chosen else Fraction(0)
        known = {k: 1 / noisy.pooled[k][1] for k in keys}
        rest = 1 - part - figures
        cost = float(gate.left * rest)
        shares = shares_by_error(stakes, known, Price(gate.tariff), cost, keys=keys)
        rounded = [Fraction(float(s)).limit_denominator(10**6) * rest for s in shares]
        weight = dict(zip(keys, rounded, strict=True))
        weight |= {k: weight.get(k, Fraction(0)) + part / len(chosen) for k in chosen}
        return {k: w for k, w in sorted(weight.items(), key=lambda asked: asked[1]) if w > 0}

    def _triples(self, public: PublicData, rows: Records, axes: Axes) -> tuple[Key, ...]:
        """The triples that public rows recommend, worked out once for all runs on these rows."""
        key = "triples", axes.names, self.triples
        if key not in public.memo:
            public.memo[key] = strong_triples(rows, axes.shape, self.triples)
        return tuple(public.memo[key])

    def _axes(self, public: PublicData) -> Axes:
        if public.relative is None:
            raise JobError(
                "public_blend needs a public relative: add [public] table = '...' to the job (in Python:\n"
                "public=Public(...)), or use tree_blend. "
                "No confidential row was read and nothing was spent."
            )
        return super()._axes(public)


@final
@dataclass(frozen=True, eq=False)
class PublicPrior:
    """Noisy tables beside the public rows.

    Attributes:
        noisy: every noisy table so far.
        public: the public rows in codes.
        chosen: how public tables of pairs are smoothed, as far as that is known: it does not depend on noise.
        unlike: further columns that are taken to be of other people.
        apart: whether one-way tables that do not fit say nothing of how far the others drifted.
    """

    noisy: NoisyTables
    public: Records
    chosen: dict[Key, Widths] = field(default_factory=dict)
    unlike: tuple[int, ...] = ()
    apart: bool = False

    def without_unlike(self) -> "PublicPrior":
        """The same without the columns whose public pairs, all together, fit less than the tree's do."""
        sums = [
            np.sum([s for k, s in self._regressed.items() if i in k], axis=0) for i in range(len(self.noisy.shape))
        ]
        odd = [i for i, s in enumerate(sums) if np.size(s) and clipped_slope(*s) < PUBLIC_BLEND.unlike_trust]
        return replace(self, unlike=tuple(odd)) if odd else self

    def stakes(self, predicted: frozenset[int] = frozenset()) -> Stakes:
        """What the tilted public table expects of every table, and how far the truth seems to be from it."""
        e = self.noisy
        drifts = self._drifts
        means = {k: self._means[k] for k in self._keys if len(k) > 1}
        spread = {k: drifts[k].variance(m) + 1e-3 * m for k, m in means.items()}
        alone = [d.variance(m) + 1e-3 * m for d, m in zip(self._margin_drifts, self._public_margins, strict=True)]
        return Stakes(e.shape, means, spread, self.margins, alone, predicted)

    def model(self, tail: float, *, refine: bool) -> AbstractModel:
        """Public rows and a tail, raked to the estimates; records of a tree of these where few rows are trusted."""
        e, keys = self.noisy, self._keys
        estimates = self.estimates
        pairs = {k: estimates[k] for k in keys if len(k) == 2}
        targets = PairTargets(e.shape, pairs, float(e.total), BLEND.descent_power) if refine and pairs else None
        trusted = self._trust_of_all * min(1.0, len(self.rows) / e.total)
        if targets is not None and trusted < PUBLIC_BLEND.support_trust:
            return BlendModel(e.total, e.axes.names, e.axes.coding, estimated_tree(e, estimates), targets)
        rows, start = linked(self.rows, e.shape, self._foreign, estimates), self._tilted
        extra = max(round(tail * len(rows)), min(e.total, PUBLIC_BLEND.support_rows) - len(rows) if tail else 0)
        if extra and len(e.axes.names) > 1:
            rows = np.concatenate([rows, estimated_tree(e, estimates).draw(extra, fixed_stream())])
            new = max(PUBLIC_BLEND.tail_weight, 1 - trusted)
            start = np.concatenate([start * (1 - new), np.full(extra, new * start.sum() / extra)])
        sweeps, power = PUBLIC_BLEND.light_raking if refine else PUBLIC_BLEND.full_raking
        raked = rake_rows(rows, e.shape, {k: estimates[k] for k in keys}, start, sweeps=sweeps, power=power)
        return SupportModel(e.total, e.axes.names, e.axes.coding, rows, raked, targets)

    @cached_property
    def estimates(self) -> dict[Key, Floats]:
        """Every table, shrunk from its noisy counts towards the public one."""
        e = self.noisy
        found: dict[Key, Floats] = {k: self.margins[k[0]] for k in self._keys if len(k) == 1}
        for k in (k for k in self._keys if len(k) == 2):
            table, noise = e.pooled[k]
            mean = self._means[k]
            square = posterior(table, mean, noise, self._drifts[k]).reshape(e.shape[k[0]], e.shape[k[1]])
            square = project_pair(square, self.margins[k[0]], self.margins[k[1]], lending=False)
            square = square + 1e-9 * mean.reshape(square.shape)
            found[k] = fit_margins(
                square * e.allowed((k[0], k[1])), {(a,): self.margins[i] for a, i in enumerate(k)}, sweeps=8
            ).ravel()
        return found

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """How many of the first values of each column stand in order."""
        return self.noisy.axes.steps

    @property
    def _keys(self) -> list[Key]:
        return [k for k in self.noisy.tables if len(k) < 3]

    @cached_property
    def rows(self) -> Records:
        """The public rows. A column whose public values are of other people (other places) gets the measured ones.

        Such a column is independent of the others then: its groups are taken to be alike until their tables differ.
        Most of its rows have values that are rare here.  Shares that crossed one half, such as those of women, are no
        reason to forget what goes with them.
        """
        rows = self.public.copy()
        for i in self._foreign:
            rows[:, i] = stratified(self.margins[i], len(rows), fixed_stream())
        return rows

    @cached_property
    def _foreign(self) -> list[int]:
        """The columns whose public values are of other people."""
        apart = [total_variation(shares(s), shares(m)) for s, m in zip(self.said_alone, self.margins, strict=True)]
        far = [i for i, t in enumerate(self._margin_trust) if t < PUBLIC_BLEND.foreign_trust < apart[i]]
        return sorted({*far, *self.unlike})

    @cached_property
    def _margin_trust(self) -> list[float]:
        """How much of what is expected of each one-way table is the public one's; the rest is even. See _trust."""
        found = []
        for said, (table, noise) in zip(self.said_alone, self.noisy.noisy_margins, strict=True):
            even = float(said.sum()) / len(said)
            found.append(clipped_slope(*regression(table, noise, said, even)))
        return found

    @cached_property
    def said_alone(self) -> list[Floats]:
        """The public one-way tables, smoothed and scaled to the number of records."""
        total, shape = float(self.noisy.total), self.noisy.shape
        each = np.ones(len(self.public))
        plain = [counted(self.public, each, shape, (i,)) for i in range(len(shape))]
        counts = [smoothed_line(m, steps=s) + 1 / len(m) for m, s in zip(plain, self.steps, strict=True)]
        return [m * (total / float(m.sum())) for m in counts]

    @cached_property
    def _public_margins(self) -> list[Floats]:
        """What is expected of each one-way table before its own noisy counts."""
        return [t * m + (1 - t) * m.sum() / len(m) for t, m in zip(self._margin_trust, self.said_alone, strict=True)]

    @cached_property
    def _margin_drifts(self) -> tuple[Drift, ...]:
        unfit = [self.apart and trust < PUBLIC_BLEND.unfit_trust for trust in self._margin_trust]
        return drifts_apart(self.noisy.noisy_margins, self._public_margins, unfit)

    @cached_property
    def margins(self) -> list[Floats]:
        """The estimated one-way tables: the public ones, as far as the noisy ones do not differ beyond chance."""
        total, noisy, found = float(self.noisy.total), self.noisy.noisy_margins, []
        tails = self.noisy.quiet_margins()
        for i, ((t, v), m, d) in enumerate(zip(noisy, self._public_margins, self._margin_drifts, strict=True)):
            nobody = np.isnan(tails[i]) & (np.bincount(self.public[:, i], minlength=len(m)) == 0)
            found.append(project_known(np.where(nobody, np.nan, posterior(t, m, v, d)), total))
        return found

    @cached_property
    def _tilted(self) -> Floats:
        """Weights of the public rows, raked to the estimated one-way tables."""
        start = np.full(len(self.rows), float(self.noisy.total) / len(self.rows))
        alone: dict[Key, Floats] = {(i,): m for i, m in enumerate(self.margins)}
        return rake_rows(self.rows, self.noisy.shape, alone, start, sweeps=20)

    @cached_property
    def _means(self) -> dict[Key, Floats]:
        """What is expected of each table before its own noisy counts: the public tables and the tree, in between."""
        found = dict(self._said)
        for k, share in self._trust.items():
            found[k] = share * self._said[k] + (1 - share) * self._alone[k]
        return found

    @cached_property
    def _said(self) -> dict[Key, Floats]:
        """What the weighted public rows say of each table; they are a sample too, and their chance is taken out."""
        e, weights, total = self.noisy, self._tilted, float(self.noisy.total)
        found = {k: counted(self.rows, weights, e.shape, k) for k in self._keys}
        margins = self.margins
        for k in (k for k in self._keys if len(k) == 2):
            square = found[k].reshape(e.shape[k[0]], e.shape[k[1]])
            steps = (self.steps[k[0]], self.steps[k[1]])
            even = smoothed(square, total / len(self.rows), steps=steps, widths=self._widths(k, steps))
            mixed = (1 - PUBLIC_BLEND.public_trace) * even
            mixed = mixed + PUBLIC_BLEND.public_trace * outer(margins, k[0], k[1]).reshape(square.shape)
            found[k] = fit_margins(mixed, {(a,): margins[i] for a, i in enumerate(k)}, sweeps=8).ravel()
        return found

    def _widths(self, pair: Key, steps: tuple[int, int]) -> Widths | None:
        """How the public table of a pair is smoothed: chosen once, on the public rows as they are.

        None where a column was replaced: then the weighted rows themselves decide.
        """
        if set(pair) & set(self._foreign):
            return None
        if pair not in self.chosen:
            shape = self.noisy.shape
            counts = counted(self.public, np.ones(len(self.public)), shape, pair)
            self.chosen[pair] = smoothing_widths(counts.reshape([shape[i] for i in pair]), steps=steps)
        return self.chosen[pair]

    @cached_property
    def _alone(self) -> dict[Key, Floats]:
        """What would be expected of each pair without a public table: what a tree of the noisy pairs says of it."""
        e, margins = self.noisy, self.margins
        tree = e.tree()
        said = tree_pairs(tree, e.pairs())
        found: dict[Key, Floats] = {}
        for p in e.pairs():
            alone = outer(margins, *p)
            table = (
                alone if p in tree.tables else (1 - BLEND.tree_trace) * e.total * said[p] + BLEND.tree_trace * alone
            )
            square = table.reshape(e.shape[p[0]], e.shape[p[1]])
            found[p] = fit_margins(square + 1e-9, {(a,): margins[i] for a, i in enumerate(p)}, sweeps=5).ravel()
        return found

    @cached_property
    def _trust(self) -> dict[Key, float]:
        """How much of the expectation of each pair is the public table's: the share that fits its noisy counts best.

        A regression of y - tree on public - tree, weighted by precision; see ``shares_of_trust``.
        """
        return shares_of_trust(self._regressed, self.noisy.tree().tables)

    @property
    def _trust_of_all(self) -> float:
        """The same for all pairs together; less than 1 only by what two standard errors do not explain."""
        sums = list(self._regressed.values())
        return clipped_slope(float(sum(above for above, _ in sums)), float(sum(below for _, below in sums)))

    @cached_property
    def _regressed(self) -> dict[Key, tuple[float, float]]:
        """For every pair, the two sums of its regression."""
        pairs = (k for k in self._keys if len(k) == 2)
        return {k: regression(*self.noisy.pooled[k], self._said[k], self._alone[k]) for k in pairs}

    @cached_property
    def _drifts(self) -> dict[Key, Drift]:
        keys = self._keys
        known = [self.noisy.pooled[k] for k in keys]
        means = [self._means[k] for k in keys]
        found = pooled_drifts([t for t, _ in known], means, [v for _, v in known], least=PUBLIC_BLEND.known_chance)
        return dict(zip(keys, found, strict=True))
