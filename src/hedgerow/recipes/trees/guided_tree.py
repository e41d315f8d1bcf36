"""``guided_tree``: private columns for public rows, by one tree that public knowledge grows and noisy leaves fill.

What is asked (the tree, the tables, and how the budget is divided) comes from public knowledge; what comes back
corrects a public model of the labels, first for drift, then for chance (``model/trees/label_counts.py``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import ClassVar, Literal, final

import numpy as np
import numpy.typing as npt

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.model.base import AbstractAttachment
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees.boosted_trees import fit_boosted_trees, model_seconds
from hedgerow.model.trees.label_counts import (
    LabelCounts,
    apply_drift,
    label_totals,
    posterior_mode,
    raked,
    trusted,
)
from hedgerow.model.trees.regression_tree import Shares, as_tree, grow, prune
from hedgerow.model.trees.row_shares import Lines, RowShares, most_lines
from hedgerow.public import (
    Budget,
    Marginal,
    Measurement,
    PublicData,
    Relation,
    Spend,
    Tariff,
    Tree,
    people_facts,
)
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.trees.attach import (
    Aside,
    AttachInputs,
    Columns,
    are_linked,
    cells_of,
    code_rows,
    columns_of,
    is_ordered,
    one_hot,
    some_places,
    stacked,
    tables_first,
    target_of,
    without_labels,
)
from hedgerow.recipes.trees.outcome import banded, budget_parts, outcome_of, tables_for_uses
from hedgerow.recipes.trees.people import carried, counted
from hedgerow.recipes.trees.requests import (
    PrunedTrees,
    TreeRequest,
    corrected,
    count_variance,
    digest_of,
    label_counts,
    measured,
    own_tables,
    public_shares,
    uniform,
    without_few,
)
from hedgerow.recipes.trees.trial import LabelTrial, are_foreign

_ASIDE: dict[Aside, str] = {
    "unlinked": "The public labels go with no other column and are put aside",
    "few": "Public rows with labels are so few that answers tell more than they do: they are put aside",
    "foreign": "Other columns of the public rows have other values than the target's: their labels are put aside",
    "refuted": "A trial refutes the public labels: confidential ones do not go with other columns as they do. They "
    "are put aside",
}
_FEW = "Public rows with labels are few, a starting point and no more"


@final
@dataclass(frozen=True)
class GuidedTree(AbstractRecipe):
    """One tree grown on the public table and pruned for the noise to come; joint noisy leaves correct a public model.

    Attributes:
        columns: the private attributes to attach; those the target lacks by default.
        outcomes: given attributes, each the outcome of a model with private attributes among its terms: what the
            other given ones leave of it is measured in bands together with the private ones.
        analyses: further tables to get right, each a list of given attributes: they are measured together with all
            private ones.
        uses: whether what intended uses are read from is measured like ``outcomes`` and ``analyses``.
        share: the part of the budget that goes to ``outcomes`` and ``analyses``.  By default a third; with outcomes
            the least of a sixth, a third and a half that tells half of what chance did to them.
        tables: the part of the rest that goes to attribute x private tables; by default the one with which the
            public table expects the least error.  Without public labels they come first, with a half of all.
        priorities: how much an attribute's own table matters against 1 for those not named; at 0 the attribute is
            neither measured nor split by.
        prior: ``boosted``, ``leaves`` (the public shares of each leaf), or ``none`` (labels of the public table grow
            the tree and are not used as values).
        rows: a public guess of how many rows the confidential table has; the target's number by default.
        seed: of the public sample and the held-out rows; not of any noise.
    """

    name: ClassVar[str] = "guided_tree"
    relation: ClassVar[Relation] = "label-change"
    attaches: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    columns: Sequence[str] = ()
    outcomes: Sequence[str] = ()
    analyses: Sequence[Sequence[str]] = ()
    uses: bool = True
    share: float | None = None
    tables: float | None = None
    priorities: Mapping[str, float] = field(default_factory=dict)
    prior: Literal["boosted", "leaves", "none"] = "boosted"
    rows: int | None = None
    seed: int = 0

    def rules(self) -> dict[str, bool]:
        """Parts of the budget are parts; numbers are possible ones."""
        return {
            "share lies between 0 and 1": self.share is None or 0 < self.share < 1,
            "tables lies between 0 and 1": 0 <= (self.tables or 0.0) < 1,
            "rows is 1 or more": self.rows is None or self.rows >= 1,
            "seed is 0 or more": self.seed >= 0,
            "priorities are 0 or more": all(w >= 0 for w in self.priorities.values()),
        }

    @property
    def private_columns(self) -> tuple[str, ...]:
        """The attributes to attach, as far as they are named."""
        return tuple(self.columns)

    @property
    def outcome_columns(self) -> tuple[str, ...]:
        """The outcomes."""
        return tuple(self.outcomes)

    def memory(self, public: PublicData, rows: int) -> int:
        """And labels by every given value; of many target rows, those with equal codes share their labels' shares."""
        rest = super().memory(public, rows) + 300 * self.labels(public) * self.given_values(public)
        if public.target is None:
            return rest
        lines = most_lines(public.target, self.columns)
        grown = 50 * lines if tables_first(public, self.attached(public)) else 0  # the tree grows on target rows
        return int(rest + self.labels(public) * (grown - 16 * (public.target.rows - lines)))

    def seconds(self, public: PublicData, rows: int) -> float:
        """Reading and writing rows, the public model, and corrections of lines."""
        target, known = public.target, 0 if public.relative is None else public.relative.rows
        lines, rows = (most_lines(target, self.columns), max(rows, target.rows)) if target is not None else (0, rows)
        known, names = min(known, GUIDED_TREE.public_rows), public.schema.attributes
        work = model_seconds(self.labels(public), len(names), known, lines, self.given_values(public))
        if tables_first(public, self.attached(public)):  # lines are corrected twice, and the tree grows on them
            work += 1.7e-7 * lines * len(names) * (self.labels(public) + 1)
        return super().seconds(public, rows) + work

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """A trial of public labels, then leaves and tables; without public labels the tables, which come first."""
        known = self._known(tariff, budget, public)
        tried = () if known.trial is None else (known.trial.spend(tariff),)
        weights = known.request.weights
        return (*tried, tariff.measure_all(known.request.questions, known.cost, weights=weights, law="laplace"))

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """How many leaves, how large, and what each outcome is asked in, from public knowledge alone."""
        known = self._known(tariff, budget, public)
        inputs, request = known.inputs, known.request
        if request.grown is None:
            return (
                f"{_ASIDE.get(inputs.aside, _FEW if inputs.few else 'No public labels')}: "
                "attribute tables are asked first, and the tree grows on what they say. Its leaves",
                "are not known yet; they get what is left of the budget. The tables are used as well.",
            )
        leaf, many = leaf_of(request.tree, inputs.codes(inputs.code_rows)), inputs.lines.many
        rows = np.bincount(leaf, many, minlength=request.tree.leaves)
        bands, own = [], own_tables(inputs)
        for q, w in zip(request.questions[1:], request.weights[1:], strict=True):
            gets = f"gets {float(w):.0%} of the budget."
            if q in inputs.wanted and q not in own:
                what = "the table of bands" if q.tree else "the table"
                bands.append(f"For a use, {what} {q} {gets}")
            elif q.tree is not None:
                what = f"Outcomes ({', '.join(self.outcomes)}): what the other columns leave of it"
                bands.append(f"{what}, in {q.leaves} bands with {' and '.join(q.columns)}, {gets}")
        units = "people of the target" if people_facts(tariff.coding) else "target rows"
        leaves = "1 leaf; it" if request.tree.leaves == 1 else f"{request.tree.leaves:,} leaves; the median one"
        tried = () if known.trial is None else known.trial.remarks(budget)
        return (
            f"The tree has {leaves} has {int(np.median(rows)):,} {units}.",
            *bands,
            *tried,
        )

    def fit(self, gate: Answers, public: PublicData) -> AbstractAttachment:
        """Ask once, twice without public labels, and correct the starting point by what came back."""
        inputs, request, answers = self._asked(gate, public)
        start, counts = self._start(inputs, request, public), label_counts(inputs, answers)
        begun, power = trusted(start, counts)
        public.memo[("power", repr(self), digest_of(answers))] = power
        return self._made(gate.tariff, inputs, request, counts, begun, public)

    def findings(self, answers: Answers, public: PublicData) -> tuple[str, ...]:
        """How far the answers bear the public labels out."""
        inputs, request, heard = self._asked(answers, public)
        if inputs.aside:
            return (f"{_ASIDE[inputs.aside]}.",)
        if (inputs.labels is None and inputs.few is None) or self.prior == "none":
            return ()
        if (known := public.memo.get(("power", repr(self), digest_of(heard)))) is None:
            known = trusted(self._start(inputs, request, public), label_counts(inputs, heard))[1]
        power = float(known)
        if power == 1:
            return (
                "Nothing in the answers speaks against the public labels: the labels drawn here start from them.",
            )
        if power == 0:
            return ("The answers do not bear the public labels out: they were put aside.",)
        return (
            "The answers bear the public labels out in part only: the labels drawn here start from public shares to "
            f"the power {power:g}, nearer to equal ones.",
        )

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> AbstractAttachment:
        """The same questions; noisier answers, and where labels are known those of the rows of ``other``."""
        inputs, request, answers = self._asked(gate.known, public)
        known = attach_inputs(self, gate.tariff, other)
        start = uniform(inputs) if inputs.aside else self._start(known, request, other)
        counts, own = label_counts(inputs, tuple(map(gate.noisier, answers))), own_tables(inputs)
        told = [e for m, e in zip(answers[1:], counts[1:], strict=True) if m.question.tree or m.question not in own]
        return self._made(gate.tariff, inputs, request, counts, trusted(start, counts)[0], public, told)

    def _asked(self, gate: Answers, public: PublicData) -> tuple[AttachInputs, TreeRequest, tuple[Measurement, ...]]:
        """What came back, to one request, or to two without public labels: the last request's answers come first."""
        recipe = _in_facts(self, gate.tariff)
        known = self._known(gate.tariff, gate.budget, public)
        if (trial := known.trial) is not None:
            (counts,) = gate.measure([trial.question], trial.cost, law="laplace")
            if trial.slope(counts).is_below(GUIDED_TREE.trial_slope):
                known = self._known(gate.tariff, gate.budget, public, refuted=True)
        inputs, request = known.inputs, known.request
        answers = measured(gate, request, known.cost)
        if inputs.labels is None:
            tables = label_counts(inputs, answers)
            start, _ = trusted(self._start(inputs, request, public), tables)
            drifted = apply_drift(start, [label_totals(tables)], tables, least=inputs.least_drift)
            guess = posterior_mode(drifted, tables)[slice(None) if inputs.places is None else inputs.places]
            request = best_request(recipe, inputs, guess, gate.tariff, gate.left)
            answers = (*measured(gate, request, gate.left), *answers)
        return inputs, request, answers

    @staticmethod
    def _made(
        tariff: Tariff,
        inputs: AttachInputs,
        request: TreeRequest,
        counts: Sequence[LabelCounts],
        begun: Shares,
        public: PublicData,
        told: Sequence[LabelCounts] = (),
    ) -> AbstractAttachment:
        """The starting point, as far as it is trusted, corrected by all counts; at last by those ``told`` as such."""
        shares = corrected(begun, counts, request, inputs.least_drift)
        shares = raked(shares, told) if told else shares
        groups = (*(e.group for e in counts), *inputs.code_rows)
        found = RowShares(inputs.target.schema, inputs.private, shares, groups, inputs.target, line=inputs.lines.line)
        return carried(found, inputs.private, public, tariff)

    def _known(self, tariff: Tariff, budget: Budget, public: PublicData, *, refuted: bool = False) -> "_Known":
        """What is known and asked first: worked out once for a plan and its run.

        ``refuted``: after a trial that refutes the public labels, as if there were none.
        """
        key = "guided_tree", repr(self), repr(tariff.guarantee), people_facts(tariff.coding)
        if key not in public.memo:
            inputs = attach_inputs(self, tariff, public)
            public.memo[key] = inputs, LabelTrial.of(inputs, tariff)
        (inputs, trial), priced = public.memo[key], (*key, tariff.measure, budget.total, refuted)
        if priced not in public.memo:
            trial = trial and trial.priced(tariff, budget)
            left = budget.total - (trial.cost if trial else 0)
            inputs = without_labels(replace(inputs, aside="refuted"), self.seed) if refuted else inputs
            request, cost = first_request(_in_facts(self, tariff), inputs, tariff, left)
            public.memo[priced] = _Known(without_few(inputs, request, tariff, cost), trial, request, cost)
        found: _Known = public.memo[priced]
        return found

    def _start(self, inputs: AttachInputs, request: TreeRequest, public: PublicData) -> Shares:
        """The labels' shares for each target row, from the public table alone; equal ones where it tells nothing."""
        if (told := inputs.told) is None or self.prior == "none":
            return uniform(inputs)
        if self.prior == "boosted" or inputs.labels is None:
            key = "boosted", self.seed, inputs.private, inputs.given
            if key not in public.memo:
                rng = np.random.Generator(np.random.PCG64(self.seed))
                model = fit_boosted_trees(*told, inputs.label_count, inputs.sizes, inputs.ordered, rng)
                public.memo[key] = model.shares(inputs.code_rows)
            return np.asarray(public.memo[key])
        shares = public_shares(inputs, one_hot(told[1], inputs.label_count), request.tree)
        return np.asarray(shares.astype(np.float32)[leaf_of(request.tree, inputs.codes(inputs.code_rows))])


@final
@dataclass(frozen=True, eq=False)
class _Known:
    """What is known before the first answer: the public side, a trial of its labels, if any, and what is asked."""

    inputs: AttachInputs
    trial: LabelTrial | None
    request: TreeRequest
    cost: Fraction


def first_request(
    recipe: GuidedTree, inputs: AttachInputs, tariff: Tariff, left: Fraction
) -> tuple[TreeRequest, Fraction]:
    """The first request and its cost, of what is ``left`` for all of them."""
    if inputs.labels is None:
        request, part = attribute_tables(recipe, inputs)
        return request, left * part
    shares = one_hot(inputs.labels, inputs.label_count)
    return best_request(recipe, inputs, shares, tariff, left), left


def attach_inputs(recipe: GuidedTree, tariff: Tariff, public: PublicData) -> AttachInputs:
    """What the recipe knows before it asks: from the public table, or from the target when there is none."""
    public, guarantee = counted(public, tariff)
    recipe = _in_facts(recipe, tariff)
    target, schema = target_of(public), public.schema
    found = columns_of(public, guarantee, recipe.columns)
    given = tuple(a for a in found.given if recipe.priorities.get(a, 1.0) > 0)
    tables = [a for t in recipe.analyses for a in t]
    if wrong := [a for a in (*tables, *recipe.outcomes, *recipe.priorities) if a not in found.given]:
        raise JobError(
            f"[guided_tree] analyses, outcomes or priorities name {', '.join(wrong)}, which is no given attribute.\n"
            f"The given attributes are {', '.join(found.given)}. Nothing was read or spent."
        )
    if out := [a for a in recipe.outcomes if a not in given]:
        raise JobError(
            f"[guided_tree] {', '.join(out)} has priority 0 and is an outcome too. Take it out of one of the two.\n"
            "Nothing was read or spent."
        )
    if not given:
        raise JobError("[guided_tree] priorities leave no attribute to depend on. Nothing was read or spent.")
    wanted = tuple(Marginal((*t, *found.private)) for t in recipe.analyses)
    if recipe.uses and not people_facts(tariff.coding):  # uses are about rows
        wanted = tables_for_uses(public, Columns(found.private, given), wanted)
    asked = [c for q in wanted for c in q.columns if c not in found.private]
    lines = Lines.of(target, tuple(dict.fromkeys((*given, *asked))))
    sizes, label_count, relative = schema.shape(given), schema.size(found.private), public.relative
    rows = stacked(lines.codes, given)
    known, labels, few = rows, None, None
    aside: Aside = ""
    if relative is not None and set(schema.coding.needs(found.private)) <= set(relative.frame.columns):
        some = some_places(relative.rows, recipe.seed)
        known, labels = code_rows(relative, given)[:, some], cells_of(relative, found.private)[some]
        told = len(labels) >= GUIDED_TREE.link_rows  # fewer rows could not show it
        if told and not are_linked(known, sizes, labels, label_count, GUIDED_TREE.least_link):
            aside = "unlinked"
        elif are_foreign(known, rows, lines.many, sizes):
            aside = "foreign"
        elif tables_first(public, found.private):
            few = known, labels
        labels = None if aside or few else labels
    inputs = AttachInputs(
        found.private,
        given,
        label_count,
        sizes,
        tuple(is_ordered(schema, a) for a in given),
        target,
        rows,
        known,
        labels,
        recipe.rows or public.assumed_rows or target.rows,
        wanted,
        lines,
        tuple(f.name for f in people_facts(tariff.coding) if f.rule == "mean"),
        None,
        aside,
        few,
    )
    return without_labels(inputs, recipe.seed) if labels is None else inputs


def _in_facts(recipe: GuidedTree, tariff: Tariff) -> GuidedTree:
    """The recipe with facts where its settings name columns, if people are counted."""
    if not (facts := people_facts(tariff.coding)):
        return recipe
    known = {f.name for f in facts}

    def of(column: str) -> list[str]:
        return [column] if column in known else [f.name for f in facts if f.column == column] or [column]

    outcomes = tuple(f"residual {o}" if f"residual {o}" in known else o for o in recipe.outcomes)
    tables = tuple(tuple(of(c)[-1] for c in t) for t in recipe.analyses)
    weights = {f: w for c, w in recipe.priorities.items() for f in of(c)}
    return replace(recipe, outcomes=outcomes, analyses=tables, priorities=weights)


def attribute_tables(recipe: GuidedTree, inputs: AttachInputs) -> tuple[TreeRequest, Fraction]:
    """Without public labels: every attribute's own table, and its part of the budget."""
    weights = _weights(recipe, inputs.given)
    request = TreeRequest(tuple(Marginal((a, *inputs.private)) for a in weights), tuple(weights.values()))
    return request, _fraction(recipe.tables) or GUIDED_TREE.first_part


def best_request(
    recipe: GuidedTree, inputs: AttachInputs, shares: Shares, tariff: Tariff, cost: Fraction
) -> TreeRequest:
    """The request with the least expected error: which tree, and how much for tables.

    ``shares`` are the labels of the public rows: a 1 each, or a guess.
    """
    over = inputs.rows / inputs.public.shape[1]
    analyses = _analyses(recipe, inputs, shares, lambda part: count_variance(tariff, cost * part))
    rest = 1 - sum(analyses.values(), Fraction(0))
    least = count_variance(tariff, cost * rest) * inputs.label_count
    limits = {"smallest": GUIDED_TREE.smallest_leaf, "deepest": GUIDED_TREE.deepest_leaf}
    # two halves of n / 2 rows carry 4 / n of noise where one node carries 1 / n: a split must repay the difference
    grown = grow(inputs.public, shares, inputs.sizes, inputs.ordered, **limits, worth=3 * least / over)
    parts = GUIDED_TREE.table_parts if (tables := _fraction(recipe.tables)) is None else (tables,)
    if inputs.labels is None:
        parts = (Fraction(0),)  # the tables have been asked
    # without a model of the labels the tree itself must tell rows apart: then a leaf is charged its noise, no more
    charges = GUIDED_TREE.leaf_charges if recipe.prior == "boosted" else (1.0,)

    ways = []
    for part, charge in product(parts, charges):
        variance = count_variance(tariff, cost * rest * (1 - part))
        ways.append((part, variance, prune(grown, noise=charge * variance * inputs.label_count, over=over)))
    trees = PrunedTrees(inputs, grown, [stays for *_, stays in ways], shares)

    def candidate(part: Fraction, variance: float, stays: npt.NDArray[np.bool_]) -> TreeRequest:
        tree, ends = as_tree(grown, stays, inputs.given)
        asked = _questions(recipe, inputs, tree, part, analyses)
        noise = {q: count_variance(tariff, cost * p) for q, p in asked.items()}
        own = [noise.get(Marginal((a, *inputs.private))) for a in inputs.given]
        off = trees.expected_error(ends, variance, own)
        return TreeRequest(tuple(asked), tuple(asked.values()), grown, ends, off)

    return min((candidate(*way) for way in ways), key=lambda r: r.expected)


def _analyses(
    recipe: GuidedTree, inputs: AttachInputs, shares: Shares, variance: Callable[[Fraction], float]
) -> dict[Marginal, Fraction]:
    """The declared analyses and outcomes, each with its part of the budget."""
    schema = inputs.target.schema
    cross = shares.mean(axis=0, dtype=np.float64).reshape(schema.shape(inputs.private))
    every = code_rows(inputs.target, inputs.given) if recipe.outcomes else inputs.code_rows
    others = [tuple(j for j in range(cross.ndim) if j != i) for i in range(cross.ndim)]
    labels = {p: np.asarray(cross.sum(axis=o)) for p, o in zip(inputs.private, others, strict=True)}
    outcomes = [
        banded(o, every[inputs.given.index(o)], schema.size([o]))
        if o in inputs.residuals
        else outcome_of(schema, inputs.given, every, o)
        for o in recipe.outcomes
    ]
    return budget_parts(
        inputs.wanted,
        outcomes,
        labels,
        _fraction(recipe.share),
        variance,
        uses=len(inputs.wanted) > len(recipe.analyses),
    )


def _questions(
    recipe: GuidedTree, inputs: AttachInputs, tree: Tree, part: Fraction, analyses: Mapping[Marginal, Fraction]
) -> dict[Marginal, Fraction]:
    """The leaves, the attributes' own tables when they get a ``part``, and the analyses; each with its weight."""
    rest = 1 - sum(analyses.values(), Fraction(0))
    weights = (
        _weights(recipe, [a for a in inputs.given if Marginal((a, *inputs.private)) not in analyses]) if part else {}
    )
    part = part if weights else Fraction(0)
    parts: dict[Marginal, Fraction] = {Marginal(inputs.private, tree): rest * (1 - part)}
    for a, w in weights.items():
        parts[Marginal((a, *inputs.private))] = rest * part * w / sum(weights.values())
    return {**parts, **analyses}


def _weights(recipe: GuidedTree, names: Sequence[str]) -> dict[str, Fraction]:
    """How much the table of each attribute matters."""
    return {a: Fraction(str(recipe.priorities.get(a, 1))) for a in names}


def _fraction(part: float | None) -> Fraction | None:
    """A part of the budget as costs are reckoned: exactly."""
    return None if part is None else Fraction(part).limit_denominator(1000)
