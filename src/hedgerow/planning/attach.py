"""What the plan of an attach job says besides its requests: costs by relation and person, trees, expected error."""

from dataclasses import dataclass, replace
from fractions import Fraction
from time import process_time
from typing import Any, get_args

import numpy as np

from hedgerow.planning.forecast import Plan
from hedgerow.planning.tree_report import TreeReport, Wanted, is_banded, tree_report
from hedgerow.public.costs import Marginal, Relation, epsilon_of
from hedgerow.public.shares import shares, total_variation
from hedgerow.public.table import PublicData
from hedgerow.recipes import AbstractRecipe
from hedgerow.stand_in.stand_in import Parts, fit_once

_MOST = 100_000  # public rows of the pretended run
_RUNS = 3  # that a run plays before it asks, if it has uses
_READ_NOTHING = "worked out from public tables and the schema; no confidential row was read for it"


@dataclass(frozen=True)
class AttachPlan:
    """The forecast of a job that attaches columns.

    Attributes:
        epsilons: what the same noise is worth under each relation, for one unit.
        delta: with which these hold.
        per_row: what of it one row of a person bears, and the most rows that count.
        trees: every tree before it is filled.
        expected_tv: mean total-variation distance of (attribute, labels) tables, from a pretended run that takes one
            half of the public table for the confidential one; None when the public table lacks labels.
        wanted: the interval that leaves are held against.
    """

    epsilons: dict[str, float]
    delta: float
    per_row: tuple[float, int]
    trees: tuple[TreeReport, ...]
    expected_tv: float | None
    wanted: Wanted

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
        out = [
            "worth      " + ", ".join(f"epsilon {e:.4g} under {r}" for r, e in self.epsilons.items()) + delta,
            f"per row    epsilon {self.per_row[0]:.4g}; at most {self.per_row[1]} row(s) of one unit count",
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
    plan: Plan, recipe: AbstractRecipe, public: PublicData, *, wanted: Wanted, rng: np.random.Generator
) -> Plan:
    """``plan`` with the forecast of its trees, if it has any."""
    if not recipe.attaches or public.target is None:
        return plan
    guarantee = plan.tariff.guarantee
    treed = [a for a in plan.asked if a.question.tree is not None and not is_banded(a.question.tree)]
    reports = tuple(
        replace(
            tree_report(a, public, rows=plan.assumed_rows, wanted=wanted, own=recipe.own_rows),
            epsilon=float(plan.tariff.guarantee_of(a.question).l1 / a.noise.scale),
        )
        for a in treed
    )
    played = _played(plan, recipe, public, rng)
    found = AttachPlan(
        epsilons={r: _worth(plan, r) for r in get_args(Relation)},
        delta=float(plan.budget.delta),
        per_row=(_worth(plan, guarantee.relation, 1), guarantee.rows_per_person),
        trees=reports,
        expected_tv=played.error,
        wanted=wanted,
    )
    kinds = max((plan.tariff.coding.cells(a.question.columns or (a.question.only,)) for a in treed), default=0)
    rows = public.target.rows
    return replace(
        plan,
        attach=found,
        memory=plan.memory + rows * (8 * kinds + 8 * len(treed)) + 16 * sum(r.leaves * kinds for r in reports),
        seconds=plan.seconds + played.seconds + 1e-7 * len(treed) * rows + 1e-8 * rows * kinds,
    )


@dataclass(frozen=True)
class _Played:
    """A pretended run: its error, and the CPU seconds that the real one will take by it."""

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


def _played(plan: Plan, recipe: AbstractRecipe, public: PublicData, rng: np.random.Generator) -> _Played:
    """A pretended run: one half of the public table decides, the other stands in and receives.

    Its time grows with the rows of all three tables; a run plays the uses through on halves, too, before it asks.
    """
    schema, relative = public.schema, public.relative
    labels = _labels(plan)
    needed = schema.coding.needs(schema.attributes)
    if not labels or relative is None or not set(needed) <= set(relative.frame.columns) or relative.rows < 20:
        return _Played()
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
    return _Played(
        float(np.mean(errors)) if errors else None,
        took * (real / (first.rows + second.rows + target.rows) + (_RUNS if plan.verdicts else 0)),
    )


def _labels(plan: Plan) -> tuple[str, ...]:
    """The private columns: all that are counted in leaves."""
    treed = (a.question for a in plan.asked if a.question.tree is not None)
    return tuple(dict.fromkeys(c for q in treed for c in (*q.columns, q.only) if c))
