"""Noisy tables beside public rows: what each says of the other, and records that agree with both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np

from hedgerow.model.base import AbstractModel
from hedgerow.model.constants import BLEND, PUBLIC_BLEND
from hedgerow.model.records import (
    BlendModel,
    JunctionModel,
    PairTargets,
    Records,
    SupportModel,
    TreeModel,
    Triple,
    fixed_stream,
    stratified,
)
from hedgerow.model.tables import (
    Drift,
    Floats,
    Key,
    NoisyPair,
    Pair,
    Widths,
    cell_weights,
    fit_margins,
    pooled_drifts,
    posterior,
    posteriors_together,
    project_pair,
    rake_rows,
    smoothed,
    smoothed_line,
    smoothing_widths,
)
from hedgerow.public import shares, total_variation
from hedgerow.recipes.blend.allocation import Stakes
from hedgerow.recipes.blend.group_tables import within_groups
from hedgerow.recipes.blend.noisy_tables import NoisyTables, estimated_tree, outer, project_known, tree_pairs
from hedgerow.recipes.blend.trust import (
    clipped_slope,
    likely_most,
    linked,
    regression,
    shares_of_trust,
)
from hedgerow.recipes.blend.whole_rows import evened

_BORNE_OUT = 0.995  # as a percentage it is 100
_OF_ALL_COLUMNS = (
    "steps",
    "said_alone",
    "apart",
    "_margin_trust",
    "_public_margins",
    "_margin_drifts",
    "margins",
    "_alone",
)
"""What is worked out of a prior without regard to which columns are of other people."""


@final
@dataclass(frozen=True, eq=False)
class PublicPrior:
    """Noisy tables beside the public rows.

    Attributes:
        noisy: every noisy table so far.
        public: the public rows in codes.
        chosen: how public tables of pairs are smoothed, as far as that is known: it does not depend on noise.
        unlike: further columns that are taken to be of other people.
        drift: by which share public one-way counts are known to be off, in standard deviations.
        ranked: the columns whose public values have become those of the same rank.
        ranked_chosen: how the pairs of these are smoothed: it depends on noise, so that no other run may use it.
    """

    noisy: NoisyTables
    public: Records
    chosen: dict[Key, Widths] = field(default_factory=dict)
    unlike: tuple[int, ...] = ()
    drift: float = 0.0
    ranked: tuple[int, ...] = ()
    ranked_chosen: dict[Key, Widths] = field(default_factory=dict)

    def without_unlike(self) -> "PublicPrior":
        """The same without the columns whose public pairs, all together, fit less than the tree's do.

        The worst goes first: weighing rows to its one-way table has moved the pairs of the others too.
        """
        found = self
        while odd := found._least_like():
            found = found._with_unlike(odd)
        return found

    def _with_unlike(self, odd: tuple[int, ...]) -> "PublicPrior":
        """The same with further columns of other people; what does not hang on these is not worked out again."""
        found, kept = replace(self, unlike=(*self.unlike, *odd)), vars(self)
        vars(found).update({name: kept[name] for name in _OF_ALL_COLUMNS if name in kept})
        return found

    def _least_like(self) -> tuple[int, ...]:
        """The column whose public pairs fit least, if it is too little for chance in so many; else none."""
        sums: dict[int, list[tuple[float, float]]] = {}
        for k, s in self._regressed.items():
            for i in k:
                sums.setdefault(i, []).append(s)
        sure = likely_most(len(sums))
        slopes = {i: clipped_slope(sum(a for a, _ in s), sum(b for _, b in s), sure) for i, s in sums.items()}
        odd = min(slopes, key=lambda i: slopes[i], default=None)
        return () if odd is None or slopes[odd] >= PUBLIC_BLEND.unlike_trust else (odd,)

    @property
    def findings(self) -> tuple[str, ...]:
        """How far the answers bear the public table out, in sentences for a report."""
        said = []
        if names := self._named([i for i in self.ranked if i not in self.foreign]):
            said.append(
                f"The answers place {names} elsewhere than the public table does: each public value was replaced by "
                "the one of the same rank."
            )
        if names := self._named(self.foreign):
            said.append(
                f"In {names} the answers do not bear the public table out: there the records follow the "
                "answers alone."
            )
        if (trust := self._trust_of_all) < _BORNE_OUT:
            said.append(
                "The answers bear the relations between public columns out in part only: they were trusted with "
                f"{100 * trust:.0f} %."
            )
        return tuple(said) or ("Nothing in the answers speaks against the public table: all its columns were used.",)

    def _named(self, columns: Sequence[int]) -> str:
        """The names of columns, for a sentence."""
        return ", ".join(" x ".join(self.noisy.axes.question((i,)).columns) for i in columns)

    def stakes(self, predicted: frozenset[int] = frozenset()) -> Stakes:
        """What the tilted public table expects of every table, and how far the truth seems to be from it."""
        e = self.noisy
        drifts = self._drifts
        means = {k: self.means[k] for k in self.keys if len(k) > 1}
        spread = {k: drifts[k].variance(m) + 1e-3 * m for k, m in means.items()}
        odd = [(k[0], k[1]) for k in self._strange]  # what is known of these is what is known without public rows
        spread |= {k: np.maximum(spread[k], own) for k, own in zip(odd, e.spread(odd), strict=True)}
        alone = [d.variance(m) + 1e-3 * m for d, m in zip(self._margin_drifts, self._public_margins, strict=True)]
        return Stakes(e.shape, means, spread, self.margins, alone, predicted)

    def model_of_tree(self, cliques: Mapping[Triple, Floats]) -> BlendModel:
        """Records of a tree of the estimates, no public row among them; ``cliques``: estimates of paths of it."""
        e, pairs = self.noisy, {k: t for k, t in self.estimates.items() if len(k) == 2}
        shares = {k: (t / t.sum()).reshape([e.shape[i] for i in k]) for k, t in cliques.items()}
        targets = PairTargets(e.shape, pairs, float(e.total), BLEND.descent_power)
        return BlendModel(e.total, e.axes.names, e.axes.coding, JunctionModel(self.tree, shares), targets)

    def model(self, tail: float, *, refine: bool, grouped: bool = False) -> AbstractModel:
        """Public rows and a tail, raked to the estimates; records of a tree of these where few rows are trusted.

        ``grouped``: the values of the first column are groups, each of which is fitted by itself.
        """
        e, keys = self.noisy, self.keys
        estimates = self.estimates
        pairs = {k: estimates[k] for k in keys if len(k) == 2}
        targets = PairTargets(e.shape, pairs, float(e.total), BLEND.descent_power) if refine and pairs else None
        trusted = self._trust_of_all * min(1.0, len(self.rows) / e.total)
        alike = 1 - len(self._strange) / max(len(pairs), 1)
        unlike = trusted * alike < PUBLIC_BLEND.support_trust or not (grouped or self.rows_hold)
        if targets is not None and unlike:
            return self.model_of_tree({})
        rows, start = linked(self.rows, e.shape, self.foreign, estimates), self.weights
        extra = max(round(tail * len(rows)), min(e.total, PUBLIC_BLEND.support_rows) - len(rows) if tail else 0)
        if extra and len(e.axes.names) > 1:
            rows = np.concatenate([rows, self.tree.draw(extra, fixed_stream())])
            new = max(PUBLIC_BLEND.tail_weight, 1 - trusted)
            start = np.concatenate([start * (1 - new), np.full(extra, new * start.sum() / extra)])
        sweeps, power = PUBLIC_BLEND.light_raking if refine else PUBLIC_BLEND.full_raking
        raked = rake_rows(rows, e.shape, {k: estimates[k] for k in keys}, start, sweeps=sweeps, power=power)
        by_group = within_groups(estimates, e.shape, rows, raked) if grouped and targets is not None else None
        weights, toll = raked, PUBLIC_BLEND.stay
        if targets is not None and by_group is None:  # groups of few rows gain by what all rows say, so they change
            known = len(self.rows)  # the tail is no people: it has what the estimates lack
            weights, toll = np.concatenate([evened(rows[:known], raked[:known]), raked[known:]]), self._toll
        stay = tuple(0.0 if i in self.foreign else toll for i in range(len(e.shape)))
        return SupportModel(
            e.total, e.axes.names, e.axes.coding, rows, weights, targets, stay=stay, by_group=by_group
        )

    @cached_property
    def estimates(self) -> dict[Key, Floats]:
        """Every table, shrunk from its noisy counts towards the public one."""
        e = self.noisy
        found: dict[Key, Floats] = {k: self.margins[k[0]] for k in self.keys if len(k) == 1}
        for k, drawn in self._posteriors.items():
            mean = self.means[k]
            square = drawn.reshape(e.shape[k[0]], e.shape[k[1]])
            square = project_pair(square, self.margins[k[0]], self.margins[k[1]], lending=False)
            square = square + 1e-9 * mean.reshape(square.shape)
            found[k] = fit_margins(
                square * e.allowed((k[0], k[1])), {(a,): self.margins[i] for a, i in enumerate(k)}, sweeps=8
            ).ravel()
        return found

    @cached_property
    def tree(self) -> TreeModel:
        """A tree of the estimates."""
        return estimated_tree(self.noisy, self.estimates)

    @cached_property
    def rows_hold(self) -> bool:
        """Whether the answers bear all public relations out, or else their pairs are nearer than an estimated tree's.

        What rows know of three columns is worth keeping as far as they are right about two.  Chance is taken out of
        public pairs, as the tree has none.
        """
        if self._trust_of_all >= _BORNE_OUT and not self.foreign:
            return True
        pairs, total = [(k[0], k[1]) for k in self.keys if len(k) == 2], float(self.noisy.total)
        tree, estimates = tree_pairs(self.tree, pairs), self.estimates
        far = sum(float(np.abs(self.said[k] - estimates[k]).sum()) for k in pairs)
        return far <= sum(float(np.abs(total * tree[k] - estimates[k]).sum()) for k in pairs)

    @property
    def _posteriors(self) -> dict[Pair, Floats]:
        """Every pair drawn from its noisy counts towards what is expected; all tell of each other, as rows go."""
        e, keys = self.noisy, [(k[0], k[1]) for k in self.keys if len(k) == 2]
        known = [
            NoisyPair(k, e.pooled[k][0], self.means[k], self._drifts[k].variance(self.means[k]), e.pooled[k][1])
            for k in keys
        ]
        if not known:
            return {}
        drawn = posteriors_together(self.rows, self.weights, e.shape, known, like=self._trust_of_all)
        return dict(zip(keys, drawn, strict=True))

    @property
    def _toll(self) -> float:
        """What changing a value of a row costs in descent, in records: more where the answers tell hardly anything.

        There the estimated pairs are the public ones, smoothed, and a row knows more than these.
        """
        told = []
        for k in (k for k in self.keys if len(k) == 2):
            mean, noise = self.means[k], self.noisy.pooled[k][1]
            spread = self._drifts[k].variance(mean)
            told.append(float((spread / (spread + max(noise, 1e-12))) @ mean) / max(float(mean.sum()), 1e-300))
        known = float(np.mean(told)) if told else 1.0
        shy = (PUBLIC_BLEND.told_enough / max(known, 1e-12)) ** 0.5
        return float(PUBLIC_BLEND.stay * np.clip(shy, 1.0, PUBLIC_BLEND.most_shy))

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """How many of the first values of each column stand in order."""
        return self.noisy.axes.steps

    @property
    def keys(self) -> list[Key]:
        """The tables of one column or two."""
        return [k for k in self.noisy.tables if len(k) < 3]

    @property
    def rows(self) -> Records:
        """The public rows. A column whose public values are of other people (other places) gets the measured ones.

        Such a column is independent of the others then: its groups are taken to be alike until their tables differ.
        """
        return self._weighed[1]

    @property
    def foreign(self) -> list[int]:
        """The columns whose public values are of other people."""
        return self._weighed[0]

    @cached_property
    def _weighed(self) -> tuple[list[int], Records, Floats]:
        """The columns of other people, the public rows without them, and weights raked to estimated one-way tables.

        Most rows of a column of other people have values that are rare here; shares that crossed one half, such as
        those of women, are no reason to forget what goes with them.  Of columns that cannot all be met, as those of
        years which the public rows do not know, raking would leave a handful of rows.  So while their effective
        number (Kish: the squared sum of weights over the sum of squares) is small, the column that has moved most is
        one of other people too.
        """
        apart = self.apart
        far = [i for i, t in enumerate(self._margin_trust) if t < PUBLIC_BLEND.foreign_trust < apart[i]]
        foreign, alone = (
            sorted({*far, *self.moved_away, *self.unlike}),
            {(i,): m for i, m in enumerate(self.margins)},
        )
        while True:
            rows = self.public.copy(order="F")  # read column by column
            for i in foreign:
                rows[:, i] = stratified(self.margins[i], len(rows), fixed_stream())
            start = np.full(len(rows), float(self.noisy.total) / len(rows))
            weights = rake_rows(rows, self.noisy.shape, alone, start, sweeps=20)
            effective = float(weights.sum()) ** 2 / max(float((weights**2).sum()), 1e-300)
            left = [i for i in range(len(apart)) if i not in foreign and apart[i] > PUBLIC_BLEND.least_moved]
            if effective >= PUBLIC_BLEND.effective_rows * len(rows) or not left:
                return foreign, rows, weights
            foreign = sorted([*foreign, max(left, key=lambda i: apart[i])])

    @cached_property
    def apart(self) -> list[float]:
        """How far each public one-way table is from the estimated one: total variation."""
        return [total_variation(shares(s), shares(m)) for s, m in zip(self.said_alone, self.margins, strict=True)]

    @cached_property
    def _strange(self) -> list[Key]:
        """The pairs with such a column."""
        return [k for k in self.keys if len(k) == 2 and set(k) & set(self.foreign)]

    @cached_property
    def _margin_trust(self) -> list[float]:
        """How much of what is expected of each one-way table is the public one's; the rest is even. See _trust.

        Of many columns some are off by two standard errors by chance, and their public table would be given up.
        """
        found, chance = [], likely_most(len(self.said_alone))
        for said, (table, noise) in zip(self.said_alone, self.noisy.noisy_margins, strict=True):
            even = float(said.sum()) / len(said)
            found.append(clipped_slope(*regression(table, noise, said, even), chance))
        return found

    @cached_property
    def moved_away(self) -> frozenset[int]:
        """The columns most of whose rows have values that few public rows have, by the answers less their noise.

        Trust does not tell these where public shares are nearly even, as those of days.
        """
        found = []
        for i, (said, (table, noise)) in enumerate(zip(self.said_alone, self.noisy.noisy_margins, strict=True)):
            chance = len(said) * (2 * noise / np.pi) ** 0.5
            beyond = (float(np.abs(table - said).sum()) - chance) / max(2 * float(said.sum()), 1e-300)
            found += [i] if beyond > PUBLIC_BLEND.moved_away else []
        return frozenset(found)

    @cached_property
    def said_alone(self) -> list[Floats]:
        """The public one-way tables, smoothed and scaled to the number of records."""
        total, shape = float(self.noisy.total), self.noisy.shape
        keys = [(i,) for i in range(len(shape))]
        plain = [table for _, table in cell_weights(self.public, shape, keys, np.ones(len(self.public)))]
        counts = [smoothed_line(m, steps=s) + 1 / len(m) for m, s in zip(plain, self.steps, strict=True)]
        return [m * (total / float(m.sum())) for m in counts]

    @cached_property
    def _public_margins(self) -> list[Floats]:
        """What is expected of each one-way table before its own noisy counts."""
        return [t * m + (1 - t) * m.sum() / len(m) for t, m in zip(self._margin_trust, self.said_alone, strict=True)]

    @cached_property
    def _margin_drifts(self) -> tuple[Drift, ...]:
        """How far each one-way table is from what is expected; columns of other people are a kind of their own.

        States of which the public table has none would lend their drift to all others, and these then follow noise.
        """
        noisy, found = self.noisy.noisy_margins, dict[int, Drift]()
        away = self.moved_away
        like = [t >= PUBLIC_BLEND.foreign_trust and i not in away for i, t in enumerate(self._margin_trust)]
        for kind in (True, False):
            own = [i for i, known in enumerate(like) if known is kind]
            tables, means = [noisy[i][0] for i in own], [self._public_margins[i] for i in own]
            drifts = pooled_drifts(tables, means, [noisy[i][1] for i in own], least=PUBLIC_BLEND.known_chance)
            found |= dict(zip(own, drifts, strict=True))
        return tuple(replace(found[i], shift=max(found[i].shift, self.drift**2)) for i in range(len(noisy)))

    @cached_property
    def margins(self) -> list[Floats]:
        """The estimated one-way tables: the public ones, as far as the noisy ones do not differ beyond chance."""
        total, noisy, found = float(self.noisy.total), self.noisy.noisy_margins, []
        tails = self.noisy.quiet_margins()
        for i, ((t, v), m, d) in enumerate(zip(noisy, self._public_margins, self._margin_drifts, strict=True)):
            nobody = np.isnan(tails[i]) & (np.bincount(self.public[:, i], minlength=len(m)) == 0)
            found.append(project_known(np.where(nobody, np.nan, posterior(t, m, v, d)), total))
        return found

    @property
    def weights(self) -> Floats:
        """Weights of the public rows, raked to the estimated one-way tables."""
        return self._weighed[2]

    @cached_property
    def means(self) -> dict[Key, Floats]:
        """What is expected of each table before its own noisy counts: the public tables and the tree, in between."""
        found = dict(self.said)
        for k, share in self._trust.items():
            found[k] = share * self.said[k] + (1 - share) * self._alone[k]
        for k in self._strange:
            even = outer(self.margins, k[0], k[1])
            found[k] = even + self._borne_out * (self._alone[k] - even)
        return found

    @cached_property
    def _borne_out(self) -> float:
        """How much of what the tree says of other people's columns their own answers bear out.

        An edge of the tree to such a column may be noise, and would pass for association with every other column.
        """
        tree, sums = self.noisy.tree().tables, np.zeros(2)
        for k in (k for k in self._strange if k not in tree):
            sums += regression(*self.noisy.pooled[k], self._alone[k], outer(self.margins, k[0], k[1]))
        above, below = map(float, sums)
        return min(max((above - below**0.5) / below, 0.0), 1.0) if below > 0 else 0.0

    @cached_property
    def said(self) -> dict[Key, Floats]:
        """What the weighted public rows say of each table; they are a sample too, and their chance is taken out."""
        return self.said_of(self.keys)

    def said_of(self, keys: Sequence[Key]) -> dict[Key, Floats]:
        """The same of some tables."""
        e, weights, total = self.noisy, self.weights, float(self.noisy.total)
        found = dict(cell_weights(self.rows, e.shape, keys, weights))
        self._choose_widths(keys)
        margins, strange = self.margins, set(self._strange)
        for k in (k for k in keys if len(k) == 2):
            square = found[k].reshape(e.shape[k[0]], e.shape[k[1]])
            steps = (self.steps[k[0]], self.steps[k[1]])
            widths = None if k in strange else self._chosen(k)[k]
            even = smoothed(square, total / len(self.rows), steps=steps, widths=widths)
            mixed = (1 - PUBLIC_BLEND.public_trace) * even
            mixed = mixed + PUBLIC_BLEND.public_trace * outer(margins, k[0], k[1]).reshape(square.shape)
            found[k] = fit_margins(mixed, {(a,): margins[i] for a, i in enumerate(k)}, sweeps=8).ravel()
        return found

    def _choose_widths(self, keys: Sequence[Key]) -> None:
        """How the public tables of pairs are smoothed: chosen once, on the public rows as they are.

        Not of pairs with a column that was replaced: there the weighted rows themselves decide.
        """
        shape, strange = self.noisy.shape, set(self._strange)
        open_ = [k for k in keys if len(k) == 2 and k not in strange and k not in self._chosen(k)]
        for k, counts in cell_weights(self.public, shape, open_, np.ones(len(self.public))):
            steps = (self.steps[k[0]], self.steps[k[1]])
            self._chosen(k)[k] = smoothing_widths(counts.reshape(shape[k[0]], shape[k[1]]), steps=steps)

    def _chosen(self, key: Key) -> dict[Key, Widths]:
        """Where it is kept how a pair is smoothed."""
        return self.ranked_chosen if set(key) & set(self.ranked) else self.chosen

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
        return shares_of_trust(self._regressed, self.noisy.tree().tables) | dict.fromkeys(self._strange, 0.0)

    @property
    def _trust_of_all(self) -> float:
        """The same for all pairs together; less than 1 only by what two standard errors do not explain."""
        sums = list(self._regressed.values())
        return clipped_slope(float(sum(above for above, _ in sums)), float(sum(below for _, below in sums)))

    @cached_property
    def _regressed(self) -> dict[Key, tuple[float, float]]:
        """For every pair of columns that are of the same people, the two sums of its regression."""
        strange = set(self._strange)
        pairs = (k for k in self.keys if len(k) == 2 and k not in strange)
        return {k: regression(*self.noisy.pooled[k], self.said[k], self._alone[k]) for k in pairs}

    @cached_property
    def _drifts(self) -> dict[Key, Drift]:
        """How far each table is from what is expected; pairs of other people's columns are a kind of their own."""
        found, strange = dict[Key, Drift](), set(self._strange)
        for keys in ([k for k in self.keys if k not in strange], self._strange):
            known = [self.noisy.pooled[k] for k in keys]
            means = [self.means[k] for k in keys]
            drifts = pooled_drifts(
                [t for t, _ in known], means, [v for _, v in known], least=PUBLIC_BLEND.known_chance
            )
            found |= dict(zip(keys, drifts, strict=True))
        return found
