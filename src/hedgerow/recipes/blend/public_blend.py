"""``public_blend``: whole records with the help of a public relative. How it helps: ``public_prior.py``."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, final

import numpy as np

from hedgerow.answers import Answers, NoisierAnswers, digest_of
from hedgerow.errors import JobError
from hedgerow.model.base import AbstractModel
from hedgerow.model.constants import PUBLIC_BLEND
from hedgerow.model.records import Triple
from hedgerow.model.tables import Floats, Key
from hedgerow.public import Budget, Measure, PublicData, Spend, Tariff
from hedgerow.recipes.base import pair_cells
from hedgerow.recipes.blend.allocation import Price, Stakes, moved, shares_by_error
from hedgerow.recipes.blend.axes import Axes
from hedgerow.recipes.blend.base import AbstractBlend, quiet_paths, strong_triples, with_triples, with_worst_triples
from hedgerow.recipes.blend.noisy_tables import NoisyTables, outer
from hedgerow.recipes.blend.public_prior import PublicPrior
from hedgerow.recipes.blend.ranks import as_answers_bear_out
from hedgerow.recipes.blend.tree_blend import TRIPLES, AskedTables, TreeBlend, one_way_weights, records_of
from hedgerow.recipes.blend.trial import tried
from hedgerow.recipes.blend.trust import (
    FINDINGS,
    ONE_WAYS_TOO,
    Doubt,
    association,
    chance_of_pairs,
    is_stranger,
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
        drift: by which share public one-way counts are known to be off, in standard deviations: an earlier period's.
    """

    name: ClassVar[str] = "public_blend"
    has_rows: ClassVar[bool] = True
    first_share: float = 0.3
    one_way_share: float = 0.5
    tail: float = 0.2
    refine: bool = True
    triples: int = 0
    drift: float = 0.0

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
            "drift is 0 or more": self.drift >= 0,
            "rows is 1 or more": self.rows is None or self.rows >= 1,
        }

    @property
    def accounting(self) -> Measure:
        """All its noise is Gaussian where that buys more; elsewhere triples may be chosen, by another law."""
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
        if not self.groups and (found := self._group_columns(public)):
            said = (
                *said,
                f"intended uses are read by {found[0]}, which counts as if groups named it",
            )
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

    def seconds(self, public: PublicData, rows: int) -> float:
        """The same, and public rows are counted and weighed in every pair, and all its cells smoothed."""
        names, known = public.schema.attributes, public.relative.rows if public.relative is not None else 0
        pairs = len(names) * (len(names) - 1) / 2 * 4e-8 * known
        return super().seconds(public, rows) + pairs + 8e-6 * pair_cells(public.schema, names)

    def fit(self, gate: Answers, public: PublicData) -> AbstractModel:
        """Ask, estimate every table, and weigh the public rows and a tail accordingly.

        One-way tables first: they and the public rows tell whether there is a relative.  Without one, go on as
        ``tree_blend`` does.
        """
        asked, doubt = self._asked(gate, public)
        prior = None if doubt else as_answers_bear_out(self._prior(asked.noisy, public))
        said = (FINDINGS[doubt],) if prior is None else prior.findings
        if (told := digest_of(gate)) is not None:
            public.memo["findings", repr(self)] = told, said
        return records_of(asked) if prior is None else self._made(asked, prior, public)

    def findings(self, answers: Answers, public: PublicData) -> tuple[str, ...]:
        """Why the public table was put aside, or in which columns it was not borne out.

        Most of ``fit`` would be done again for it; so ``fit`` leaves these sentences, with a hash of the answers that
        they are about.
        """
        told, said = public.memo.get(("findings", repr(self)), (None, ()))
        if told is not None and told == digest_of(answers):
            return tuple(said)
        asked, doubt = self._asked(answers, public)
        return (FINDINGS[doubt],) if doubt else as_answers_bear_out(self._prior(asked.noisy, public)).findings

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> AbstractModel:
        """The same questions; noisier answers, and the rows of ``other``, if the public table is a relative."""
        asked, doubt = self._asked(gate.known, public)
        again = asked.changed(gate.noisier)
        return (
            records_of(again)
            if doubt
            else self._made(again, as_answers_bear_out(self._prior(again.noisy, other)), other)
        )

    def _asked(self, gate: Answers, public: PublicData) -> tuple[AskedTables, Doubt]:
        """What was asked and answered, and why the public table is no relative, if it is none."""
        axes = self._axes(public)
        assert public.relative is not None
        answers = self._first_answers(gate, public)
        noisy = NoisyTables(axes, {(i,): [m] for i, m in enumerate(answers)}, self.rows)
        first = self._prior(noisy, public)
        doubt = self._doubt(gate, public, first)
        paid = Fraction(0)
        if not doubt and gate.tariff.measure != "pure":  # Laplace noise: a trial costs more than it tells
            paid, refuted = tried(gate, first)
            doubt = "refuted" if refuted else ""
        if doubt:
            one_ways = None if doubt in ONE_WAYS_TOO else lambda known: self._prior(known, public).margins
            named = {f.name: getattr(self, f.name) for f in fields(AbstractBlend)}
            tree = TreeBlend(**named | {"groups": self._group_columns(public)})
            like = public.relative.codes(public.schema.attributes) if doubt == "few" else None
            return tree.go_on(gate, public, replace(noisy, rare=tree.rare, one_ways=one_ways), like), doubt
        noisy = self._first_pairs(gate, noisy, paid)
        kept, price = float(gate.left) * self.table_share, Price(gate.tariff)
        required = self._required(noisy, public, price, kept, PUBLIC_BLEND.bearable)
        chosen = tuple(dict.fromkeys((*required, *self._triples(public, axes))))
        codes, part = public.relative.codes(public.schema.attributes), Fraction(str(self.figure_share))
        first = as_answers_bear_out(self._prior(noisy, public))
        figures = self._figures(axes, public, codes, first.margins, price, float(gate.left * part))
        part = part if figures else Fraction(0)
        again = self._shares(
            gate, noisy, first.stakes(self._counting_more(gate, public, first.margins)), chosen, part
        )
        questions = [*(axes.question(k) for k in again), *figures]
        weights = [*again.values(), *(part / len(figures) for _ in figures)]
        each, many = self._worst_triples(gate, public, first)
        second = gate.measure(questions, gate.left - many * each, weights=weights)
        noisy = noisy.plus(dict(zip(again, second, strict=False)))
        worst: tuple[Triple, ...] = ()
        if many:
            prior = as_answers_bear_out(self._prior(noisy, public))
            _, noisy, worst = with_worst_triples(gate, noisy, many, each, lambda _, found: prior.model_of_tree(found))
        return AskedTables(noisy, chosen, second[len(again) :], worst), ""

    def _worst_triples(self, gate: Answers, public: PublicData, first: PublicPrior) -> tuple[Fraction, int]:
        """What ``tree_blend`` would spend on each triple, and on how many, where records start from a tree as its do.

        Public rows that hold know more of three columns than answers tell.
        """
        each = gate.left * Fraction(str(TreeBlend.triple_share)) / TRIPLES
        grouped = not self.refine or bool(self._group_columns(public))
        if grouped or gate.tariff.measure == "gdp" or first.rows_hold:
            return each, 0
        return each, TRIPLES if quiet_paths(first.noisy, first.tree, Price(gate.tariff), each) else 0

    def _made(self, asked: AskedTables, prior: PublicPrior, public: PublicData) -> AbstractModel:
        """Records that agree with the public rows and all answers."""
        model: AbstractModel
        if asked.triples:
            model = with_triples(asked.noisy, asked.triples, lambda _, found: prior.model_of_tree(found))
        else:
            model = prior.model(self.tail, refine=self.refine, grouped=bool(self._group_columns(public)))
        return self.with_tables(model, asked.noisy, asked.required, asked.figures)

    def _prior(self, noisy: NoisyTables, public: PublicData) -> PublicPrior:
        axes = noisy.axes
        assert public.relative is not None
        known = public.memo.setdefault(("smoothing", axes.names), {})
        return PublicPrior(noisy, axes.rows(public.relative), known, drift=self.drift)

    def _doubt(self, gate: Answers, public: PublicData, prior: PublicPrior) -> Doubt:
        """Why the public table is not used for pairs, by its rows and the noisy one-way tables."""
        noisy = prior.noisy
        pairs = list(combinations(range(len(noisy.shape)), 2))
        if not pairs:
            return ""
        if is_stranger(prior.said_alone, noisy.noisy_margins) and not self._rest_is_near(prior):
            return "stranger"
        if self._association(public) < PUBLIC_BLEND.least_association:
            return "unlinked"
        sd = Price(gate.tariff).variance(float(gate.left) / len(pairs)) ** 0.5
        noise = float(np.mean([moved(outer(prior.margins, *p), sd) for p in pairs]))
        chance = chance_of_pairs(prior.public, noisy.shape)
        return "few" if chance > max(PUBLIC_BLEND.few_chance, noise) else ""

    @staticmethod
    def _rest_is_near(prior: PublicPrior) -> bool:
        """Whether a few columns of other people, as states of which the public table has none, are all that is far.

        They say nothing of the rest.  But where there are some, the rest gets no benefit of the doubt.
        """
        away, told = prior.moved_away, [*zip(prior.said_alone, prior.noisy.noisy_margins, strict=True)]
        rest = [table for i, table in enumerate(told) if i not in away]
        few = 0 < 2 * len(away) < len(told)
        return few and not is_stranger([said for said, _ in rest], [noisy for _, noisy in rest], sure=0.0)

    def _association(self, public: PublicData) -> float:
        """That of the public rows, worked out once."""
        axes = self._axes(public)
        assert public.relative is not None
        key = "association", axes.names
        if key not in public.memo:
            public.memo[key] = association(axes.rows(public.relative), axes.shape)
        return float(public.memo[key])

    def _first_pairs(self, gate: Answers, noisy: NoisyTables, paid: Fraction) -> NoisyTables:
        """All pairs alike, and the one-way tables again, with what is left of the first look.

        ``paid`` is the part of the budget that a trial took: it looked at pairs too.
        """
        axes, alone = noisy.axes, Fraction(str(self.one_way_share))
        pairs = [(i, j) for i, j in combinations(range(len(axes.names)), 2)]
        cost = Fraction(str(self.first_share))
        again = cost * alone - self._one_way_part(gate.tariff)
        singles = [(i,) for i in range(len(axes.names))] if again > 0 else []
        known = one_way_weights(axes)
        weights = [again * w / sum(known) for w in known[: len(singles)]]
        weights += [max(cost * (1 - alone) - paid, cost * (1 - alone) / 2) / len(pairs) for _ in pairs]
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

    def _counting_more(self, gate: Answers, public: PublicData, margins: Sequence[Floats]) -> frozenset[int]:
        """The axes in whose pairs an error counts more: columns that uses predict, and that of the groups.

        The groups not where an equal share for every pair leaves noise that is more than bearable in theirs: then
        groups cannot be told apart, and what is spent on them is missing elsewhere.
        """
        axes = self._axes(public)
        named, many = self._predicted(axes, public), len(axes.names)
        if not self._group_columns(public) or many < 2:
            return named
        sd = Price(gate.tariff).variance(float(gate.left) / (many * (many - 1) / 2)) ** 0.5
        noise = float(np.mean([moved(outer(margins, 0, j), sd) for j in range(1, many)]))
        return named | {0} if noise <= PUBLIC_BLEND.bearable else named

    def _triples(self, public: PublicData, axes: Axes) -> tuple[Key, ...]:
        """The triples that public rows recommend, worked out once for all runs on these rows."""
        key = "triples", axes.names, self.triples
        if key not in public.memo:
            assert public.relative is not None
            public.memo[key] = strong_triples(axes.rows(public.relative), axes.shape, self.triples)
        return tuple(public.memo[key])

    def _group_columns(self, public: PublicData) -> tuple[str, ...]:
        """The ``groups``; where there are none, the column by which most intended uses are read.

        One column alone: means and coefficients of uses are not measured where groups are a cross.
        """
        read = [c for c in public.read_by if c in public.schema.attributes] if self.uses else []
        return tuple(self.groups or read[:1])

    def _axes(self, public: PublicData) -> Axes:
        if public.relative is None:
            raise JobError(
                "public_blend needs a public relative: add [public] table = '...' to the job (in Python:\n"
                "public=Public(...)), or use tree_blend. "
                "No confidential row was read and nothing was spent."
            )
        return super()._axes(public)
