"""What the plan of an attach job says besides its requests: costs by relation and person, trees, expected error.

Every number comes from the trees, the public table, the target and a public guess of the confidential size.  No
confidential row is read for any of them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import sqrt
from time import process_time
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.figures import many
from hedgerow.planning.forecast import Plan
from hedgerow.planning.interval import EPSILONS, MOST, least_n
from hedgerow.public import (
    CodedTable,
    Marginal,
    PricedQuestion,
    PublicData,
    Relation,
    Tree,
    epsilon_of,
    law_of,
    people_facts,
    shares,
    total_variation,
)
from hedgerow.recipes import AbstractRecipe, counted
from hedgerow.stand_in import Parts, fit_once

_MOST = 100_000  # public rows of the run on public tables
_RUNS = 10.5  # fits of a forecast before a run asks, if it has uses: nine, and three on half of the rows
_READ_NOTHING = "worked out from public tables and the schema; no confidential row was read for it"
_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class LeafInterval:
    """The interval a leaf should keep: the synthetic share of a label of share ``p`` within ``width``."""

    p: float = 0.25
    width: float = 0.1
    level: float = 0.9


@dataclass(frozen=True)
class TreeReport:
    """One tree before it is filled. Distributions are quantiles at 0, .1, .25, .5, .75, .9 and 1; None: not known.

    Attributes:
        labels: the columns counted in its leaves.
        epsilon: what the tree gets of the budget; under a delta, the pure epsilon of this tree alone.
        noise_sd: of one count.
        splits: how many nodes are split.
        leaves: how many leaves are asked for.
        other_leaves: how many more no target row can reach; they are asked for as one.
        empty_leaves: how many of those asked for have no public row; they get noise all the same.
        depth: splits above a leaf, over leaves.
        columns_per_path: columns that decide the leaf of a target row (a public one without a target), on average.
        public_rows: public rows per leaf.
        expected_rows: confidential rows per leaf, if they lie as the rows of ``expected_from`` do: the public table,
            or the target when that has the confidential table's own rows, or when most of its rows are in leaves
            without a public one (a year that the public table does not have).
        target_rows: target rows per leaf.
        se: standard error that noise gives a label's share in the leaf of a target row: median.
        least_rows: how many rows a leaf needs for the wanted interval; None when no size is enough.
        below: share of leaves expected to have fewer.
        rows_below: share of target rows in such leaves.
    """

    labels: tuple[str, ...]
    epsilon: float
    noise_sd: float
    splits: int
    leaves: int
    other_leaves: int
    empty_leaves: int | None
    depth: tuple[float, ...]
    columns_per_path: float | None
    public_rows: tuple[float, ...] | None
    expected_rows: tuple[float, ...] | None
    expected_from: str
    target_rows: tuple[float, ...] | None
    se: float | None
    least_rows: int | None
    below: float | None
    rows_below: float | None

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def tree_report(
    asked: PricedQuestion, public: PublicData, *, rows: int | None, wanted: LeafInterval, own: bool = False
) -> TreeReport:
    """The report of one question that has a tree; ``own``: the target has the confidential table's own rows."""
    question, tree = asked.question, asked.question.tree
    assert tree is not None
    here, there = _per_leaf(tree, public.relative), _target_per_leaf(tree, public)
    reached = np.ones(tree.leaves, np.bool_) if there is None else there > 0
    depth, masks = _paths(tree)
    like, source = _alike(here, there, own=own)
    size = public.target.rows if own and public.target else rows
    expected = None if like is None or not size else like * (size / max(like.sum(), 1))
    need, variance = _least(1 / float(asked.noise.scale), wanted), law_of(asked.noise).variance
    weights = there if there is not None else here
    small = None if expected is None or need is None else expected < need
    return TreeReport(
        labels=question.columns or (question.only,),
        epsilon=float(asked.cost),
        noise_sd=sqrt(variance),
        splits=len(tree.arrays[0]),
        leaves=tree.leaves,
        other_leaves=max(int((tree.arrays[2] < 0).sum()) - int(reached.sum()), 0),
        empty_leaves=None if here is None else int((here[reached] == 0).sum()),
        depth=_spread(depth[reached]),
        columns_per_path=None if weights is None else float(np.average(masks, weights=weights + 1e-12)),
        public_rows=None if here is None else _spread(here[reached]),
        expected_rows=None if expected is None else _spread(expected[reached]),
        expected_from=source,
        target_rows=None if there is None else _spread(there[reached]),
        se=None if expected is None or weights is None else _typical_se(expected, weights, variance),
        least_rows=need,
        below=None if small is None else float(small[reached].mean()),
        rows_below=None if small is None or there is None else float(there[small].sum() / max(there.sum(), 1)),
    )


@dataclass(frozen=True)
class SmallLeaves:
    """Of one leaf table: how many leaves a target row can reach, how many are small, and the target rows in those.

    RDT-2018 leaves rows of a leaf with few *public* rows without a label ("nUnsynthesized"); here every leaf has one.
    """

    labels: tuple[str, ...]
    leaves: int
    small: int
    target_rows: float


def small_leaves(asked: Sequence[PricedQuestion], public: PublicData, least: int) -> tuple[SmallLeaves, ...]:
    """For every tree that is asked for, its leaves with fewer than ``least`` rows of the public table."""
    found = []
    for question in (a.question for a in asked):
        if (tree := question.tree) is None or (here := _per_leaf(tree, public.relative)) is None:
            continue
        there = _target_per_leaf(tree, public)
        reached = np.ones(tree.leaves, np.bool_) if there is None else there > 0
        few = reached & (here < least)
        rows = 0.0 if there is None else float(there[few].sum())
        found.append(SmallLeaves(question.columns or (question.only,), int(reached.sum()), int(few.sum()), rows))
    return tuple(found)


def is_banded(tree: Tree) -> bool:
    """Whether leaves are bands of a sum, each reached from several splits: then depth and size say nothing.

    A tree that was drawn or grown has at most one such leaf: the one of all that no target row can reach.
    """
    look, first, child = tree.arrays
    owner = np.repeat(np.arange(len(look)), np.diff(first, append=len(child)))
    pairs = np.unique(np.stack([child, owner])[:, child < 0], axis=1)
    return int((np.unique(pairs[0], return_counts=True)[1] > 1).sum()) > 1


def _per_leaf(tree: Tree, table: CodedTable | None) -> npt.NDArray[np.float64] | None:
    """How many rows of a table are in each leaf; None when it lacks a column that the tree looks at."""
    if table is None or not set(table.schema.coding.needs(tree.columns)) <= set(table.frame.columns):
        return None
    return np.bincount(leaf_of(tree, table.codes(tree.columns)), minlength=tree.leaves).astype(np.float64)


def _target_per_leaf(tree: Tree, public: PublicData) -> npt.NDArray[np.float64] | None:
    """How many target rows are expected in each leaf: labels they do not have yet come as in the public table."""
    target, schema = public.target, public.schema
    if target is None:
        return None
    drawn = [c for c in tree.columns if not set(schema.coding.needs([c])) <= set(target.frame.columns)]
    if not drawn:
        return _per_leaf(tree, target)
    codes = target.codes([c for c in tree.columns if c not in drawn])
    total = np.zeros(tree.leaves)
    for cell, share in _mix(public, drawn):
        held = {c: np.full(target.rows, code, np.uint16) for c, code in zip(drawn, cell, strict=True)}
        total += share * np.bincount(leaf_of(tree, {**codes, **held}), minlength=tree.leaves)
    return total


def _mix(public: PublicData, names: list[str]) -> list[tuple[tuple[int, ...], float]]:
    """Every combination of these columns and its share of the public rows; equal shares when it lacks them."""
    shape = public.schema.shape(names)
    counts, relative = np.ones(shape), public.relative
    if relative is not None and set(public.schema.coding.needs(names)) <= set(relative.frame.columns):
        codes = relative.codes(names)
        np.add.at(counts, tuple(codes[n] for n in names), 1)
    shares = counts / counts.sum()
    return [(cell, float(shares[cell])) for cell in np.ndindex(*shape)]


def _alike(
    here: npt.NDArray[np.float64] | None, there: npt.NDArray[np.float64] | None, *, own: bool
) -> tuple[npt.NDArray[np.float64] | None, str]:
    """Which table the confidential rows are taken to lie like, row counts per leaf, and its name."""
    if there is not None and (own or here is None or 2 * there[here == 0].sum() > there.sum()):
        return there, "target"
    return here, "public"


def _paths(tree: Tree) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """How many splits, and how many different columns, lie above each leaf; of several places the last."""
    look, first, child = tree.arrays
    if not len(look):
        return np.zeros(1, np.int64), np.zeros(1)
    owner = np.repeat(np.arange(len(look)), np.diff(first, append=len(child)))
    above = np.full(len(look), -1)
    above[child[child >= 0]] = owner[child >= 0]
    seen = np.zeros((len(look), len(tree.columns)), np.bool_)
    depth = np.zeros(len(look), np.int64)
    level = np.zeros(1, np.int64)
    while len(level):
        seen[level, look[level]] = True
        after = np.flatnonzero(np.isin(above, level))
        seen[after] |= seen[above[after]]
        depth[after] = depth[above[after]] + 1
        level = after
    ends, columns = np.zeros(tree.leaves, np.int64), np.zeros(tree.leaves)
    leaf, over = -1 - child[child < 0], owner[child < 0]
    ends[leaf], columns[leaf] = depth[over] + 1, seen[over].sum(axis=1)
    return ends, columns


def _least(epsilon: float, wanted: LeafInterval) -> int | None:
    """The rows a leaf needs for the wanted interval; None when no leaf of up to ten million has it."""
    try:
        held = min(max(epsilon, EPSILONS[0]), EPSILONS[1])
        return least_n(wanted.p, held, width=wanted.width, level=wanted.level)
    except JobError as wrong:
        if f"{MOST:,}" in str(wrong):
            return None
        raise


def _typical_se(expected: npt.NDArray[Any], weights: npt.NDArray[Any], variance: float) -> float:
    """The median over rows of the noise's standard deviation over the rows of their leaf; at most 1."""
    se = np.minimum(sqrt(variance) / np.maximum(expected, 1e-9), 1.0)
    order = np.argsort(se)
    half = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
    return float(se[order][min(int(half), len(se) - 1)])


def _spread(numbers: npt.NDArray[Any]) -> tuple[float, ...]:
    return tuple(float(q) for q in np.quantile(numbers, _QUANTILES)) if len(numbers) else ()


@dataclass(frozen=True)
class AttachPlan:
    """The forecast of a job that attaches columns.

    Attributes:
        epsilons: what the same noise is worth under each relation, for one unit.
        delta: with which these hold.
        per_row: what of it one row of a person bears, and the most rows that count.
        trees: every tree before it is filled.
        expected_tv: mean total-variation distance of (attribute, labels) tables, from a run that takes one half
            of the public table for the confidential one; None when the public table lacks labels.
        wanted: the interval that leaves are held against.
        people: whether people are counted, not rows.
    """

    epsilons: dict[str, float]
    delta: float
    per_row: tuple[float, int]
    trees: tuple[TreeReport, ...]
    expected_tv: float | None
    wanted: LeafInterval
    people: bool = False

    def to_json(self) -> dict[str, Any]:
        """The forecast as plain data."""
        return {
            "epsilon_by_relation": self.epsilons,
            "delta": self.delta,
            "epsilon_per_row": self.per_row[0],
            "rows_per_person": self.per_row[1],
            "expected_total_variation": self.expected_tv,
            "interval": {"p": self.wanted.p, "width": self.wanted.width, "level": self.wanted.level},
            "trees": [t.to_json() for t in self.trees],
            "source": _READ_NOTHING,
        }

    def lines(self) -> list[str]:
        """The forecast for people."""
        w, delta = self.wanted, f", all with delta {self.delta:g}" if self.delta else ""
        each = f"per person epsilon {self.per_row[0]:.4g}: each counts once, with all rows, however many"
        out = [
            "worth      " + ", ".join(f"epsilon {e:.4g} under {r}" for r, e in self.epsilons.items()) + delta,
            each
            if self.people
            else f"per row    epsilon {self.per_row[0]:.4g}; at most {many(self.per_row[1], 'row')} of one unit "
            + ("counts" if self.per_row[1] == 1 else "count"),
        ]
        if self.expected_tv is not None:
            out += [
                f"expected   mean total-variation distance {self.expected_tv:.4f} of attribute x labels tables,",
                "           in a rehearsal with one half of the public table as public, the other as confidential",
            ]
        if not self.trees:
            return [*out, _READ_NOTHING.capitalize() + "."]
        out += ["", f"interval   a label of share {w.p:g} within {w.width:g} at level {w.level:g}", ""]
        out.append(
            f"{'tree':<5}{'labels':<18}{'epsilon':>9}{'leaves':>10}{'empty':>9}{'depth':>7}{'rows':>9}{'se':>8}"
            f"{'need':>9}{'below':>8}"
        )
        for i, t in enumerate(self.trees[:20], 1):
            out.append(
                f"{i:<5}{' x '.join(t.labels)[:17]:<18}{t.epsilon:>9.4g}{t.leaves:>10,}"
                f"{_some(t.empty_leaves, ',d'):>9}"
                f"{t.depth[3]:>7.0f}{_some(t.expected_rows and t.expected_rows[3], ',.0f'):>9}{_some(t.se, '.3f'):>8}"
                f"{_some(t.least_rows, ',d'):>9}{_some(t.below, '.0%'):>8}"
            )
        if len(self.trees) > 20:
            out.append(f"... and {len(self.trees) - 20} more (--json shows all)")
        return [
            *out,
            "depth, rows: of the median leaf; se: of a label's share for the median target row, from noise alone;",
            "need: rows of a leaf for the interval; below: share of leaves expected to have fewer.",
            *self._guessed(),
            _READ_NOTHING.capitalize() + ".",
        ]

    def _guessed(self) -> list[str]:
        """What the expected rows are guessed from, where that is not the public table."""
        from_target = [str(i) for i, t in enumerate(self.trees, 1) if t.expected_from == "target"]
        if not from_target:
            return []
        named = f"of tree {', '.join(from_target[:20])} " if len(from_target) < len(self.trees) else ""
        return [f"rows {named}are guessed from the target: it has the very rows, or the public table none like them."]


def _some(value: Any, form: str) -> str:
    return "?" if value is None else format(value, form)


def with_attach(
    plan: Plan, recipe: AbstractRecipe, public: PublicData, *, wanted: LeafInterval, rng: np.random.Generator
) -> Plan:
    """``plan`` with the forecast of its trees, if it has any."""
    if not recipe.attaches or public.target is None:
        return plan
    seen, guarantee = counted(replace(public, assumed_rows=plan.assumed_rows), plan.tariff)
    treed = [a for a in plan.asked if a.question.tree is not None and not is_banded(a.question.tree)]
    reports = tuple(
        replace(
            tree_report(a, seen, rows=seen.assumed_rows, wanted=wanted, own=recipe.own_rows),
            epsilon=float(plan.tariff.guarantee_of(a.question).l1 / a.noise.scale),
        )
        for a in treed
    )
    run = _public_run(replace(plan, assumed_rows=seen.assumed_rows), recipe, seen, rng)
    found = AttachPlan(
        epsilons={r: _worth(plan, r) for r in get_args(Relation)},
        delta=float(plan.budget.delta),
        per_row=(_worth(plan, guarantee.relation, 1), guarantee.rows_per_person),
        trees=reports,
        expected_tv=run.error,
        wanted=wanted,
        people=bool(people_facts(plan.tariff.coding)),
    )
    kinds = max((plan.tariff.coding.cells(a.question.columns or (a.question.only,)) for a in treed), default=0)
    rows = public.target.rows
    return replace(
        plan,
        attach=found,
        memory=plan.memory + rows * (8 * kinds + 8 * len(treed)) + 16 * sum(r.leaves * kinds for r in reports),
        seconds=plan.seconds + run.seconds + 1e-7 * len(treed) * rows + 1e-8 * rows * kinds,
    )


@dataclass(frozen=True)
class _PublicRun:
    """A run on public tables: its error, and the CPU seconds that a plan has to add by it."""

    error: float | None = None
    seconds: float = 0.0


def _worth(plan: Plan, relation: Relation, rows: int = 0) -> float:
    """The epsilon of all requests under another relation, at the promised delta, for a unit of so many rows.

    What is asked only after the first answers is priced as these are, so it counts in proportion to its cost.
    """
    given = plan.tariff.guarantee
    held = replace(given, relation=relation, rows_per_person=rows or given.rows_per_person)
    tariff = replace(plan.tariff, guarantee=held)
    parts = [Fraction(tariff.guarantee_of(a.question).l1) / a.noise.scale for a in plan.asked]
    whole = plan.budget.total / sum((r.cost for r in plan.requests), Fraction(0))
    if plan.budget.measure == "pure":
        return float(sum(parts, Fraction(0)) * whole)
    return epsilon_of(sum((p * p for p in parts), Fraction(0)) / 2 * whole, plan.budget.delta)


def _public_run(plan: Plan, recipe: AbstractRecipe, public: PublicData, rng: np.random.Generator) -> _PublicRun:
    """A run on public tables: one half of the public table decides, the other stands in and receives.

    Where the recipe does not say how long it takes, this says it: time grows with the rows of all three tables.  The
    run itself is played through before the real one in any case, and again for uses.
    """
    schema, relative = public.schema, public.relative
    labels = _labels(plan)
    needed = schema.coding.needs(schema.attributes)
    if not labels or relative is None or not set(needed) <= set(relative.frame.columns) or relative.rows < 20:
        return _PublicRun()
    some = rng.permutation(relative.rows)[: 2 * _MOST]
    first, second = (relative.take(np.sort(some[k::2])) for k in range(2))
    private = set(schema.coding.needs(labels))
    had = set(public.target.frame.columns) if public.target else set[str]()
    target = second.take(np.arange(second.rows), [c for c in second.frame.columns if c not in private - had])
    rows = second.rows if recipe.own_rows or not plan.assumed_rows else plan.assumed_rows
    parts, begun = Parts(second, PublicData(schema, first, target, rows), second, rows / second.rows), process_time()
    model = fit_once(recipe, parts, tariff=plan.tariff, budget=plan.budget, rng=rng)
    took, real = process_time() - begun, relative.rows + rows + (public.target.rows if public.target else 0)
    given = [a for a in schema.attributes if a not in labels and not set(schema.coding.needs([a])) & private]
    errors, gate = [], parts.gate(plan.tariff, plan.budget, rng)
    for a in given[:30]:
        question = Marginal((a, *labels))
        got, true = model.expected(question), np.asarray(gate.truth([question])[0], np.float64)
        errors.append(total_variation(shares(got), shares(true)))
    told = type(recipe).seconds is not AbstractRecipe.seconds
    alike = 1.0 if told else real / (first.rows + second.rows + target.rows)
    return _PublicRun(float(np.mean(errors)) if errors else None, took * (alike + (_RUNS if plan.verdicts else 0)))


def _labels(plan: Plan) -> tuple[str, ...]:
    """The private columns: all that are counted in leaves."""
    treed = (a.question for a in plan.asked if a.question.tree is not None)
    return tuple(dict.fromkeys(c for q in treed for c in (*q.columns, q.only) if c))
