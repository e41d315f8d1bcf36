"""``random_trees``: the variable-depth random decision trees of the RDT papers, with their true cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isfinite
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.answers.protocol import Answers
from hedgerow.errors import JobError
from hedgerow.public.costs.accounting import Budget, Guarantee, Relation, epsilon_of, floor_sqrt
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.public.table import PublicData
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.trees.forest import Forest, Step, plan_steps, questions

_NOTHING = "No confidential row was read and nothing was spent."
_SEQUENCES = {
    "joint": "",
    "chain": "",
    "papers-2018": "the 2018 paper's sequence, trained on synthetic labels: private, but the association between the "
    "private columns is lost",
    "papers-2019": "the 2019 paper's sequence: routes rows by a private column, which is declared public here",
}


@final
@dataclass(frozen=True)
class RandomTrees(AbstractRecipe):
    """An ensemble of random trees split by public counts, its leaves filled with noisy label counts.

    Attributes:
        columns: the private attributes to attach, in order; those the target lacks by default.
        trees: how many; the total epsilon is divided among them.
        n_b: a node is split while it has at least this many public rows.
        depth: the most splits on a path.
        weights: how likely an attribute is drawn, against 1 for those not named.
        leaf_min: a leaf whose noisy total is below this takes the counts of the split above it.
        leaf_sizes: ``public`` says that the target has the confidential table's own rows, so that under label-change
            the size of every leaf is known; a private column with two values then needs one count a leaf.
        combine: ``mean`` of proportions (the papers'), ``pooled`` counts, or ``precision``.
        sequence: ``joint`` leaves of all private columns; ``chain``: each trained on the authentic ones before it and
            routed on the synthetic ones; the papers' own two, see the docs.
        by: a given attribute, such as the year: one set of trees for each of its values.
        partition: a given attribute whose code, modulo ``trees``, says in which one tree a row is counted; then every
            tree has the whole epsilon.
        ratio: by which numbers of the public table are multiplied before they are compared, or the columns by which
            that ratio is taken from the public table and the target.
        mapping: other names for values of the public table, column by column.
        seed: of the trees' structure; not of any noise.
    """

    name: ClassVar[str] = "random_trees"
    relation: ClassVar[Relation] = "label-change"
    attaches: ClassVar[bool] = True
    columns: Sequence[str] = ()
    trees: int = 3
    n_b: int = 500
    depth: int = 12
    weights: Mapping[str, float] = field(default_factory=dict)
    leaf_min: float = 0.0
    leaf_sizes: str = "noisy"
    combine: str = "mean"
    sequence: str = "joint"
    by: str = ""
    partition: str = ""
    ratio: Mapping[str, Any] = field(default_factory=dict)
    mapping: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        listed = isinstance(self.columns, list | tuple) and all(isinstance(p, str) for p in self.columns)
        whole = {n: getattr(self, n) for n in ("trees", "n_b", "depth", "seed")}
        checks = {
            "columns is a list of names, each once": listed and len(set(self.columns)) == len(self.columns),
            **{f"{n} is a whole number": type(v) is int for n, v in whole.items()},
            "trees is between 1 and 1000": self.trees in range(1, 1001),
            "n_b is 1 or more": self.n_b >= 1,
            "depth is between 1 and 60": self.depth in range(1, 61),
            "seed is 0 or more": self.seed >= 0,
            "weights are numbers of 0 or more": all(isfinite(w) and w >= 0 for w in self.weights.values()),
            "leaf_min is 0 or more": isfinite(self.leaf_min) and self.leaf_min >= 0,
            "leaf_sizes is noisy or public": self.leaf_sizes in ("noisy", "public"),
            "combine is mean, pooled or precision": self.combine in ("mean", "pooled", "precision"),
            f"sequence is {', '.join(_SEQUENCES)}": self.sequence in _SEQUENCES,
            "by and partition exclude each other": not (self.by and self.partition),
            "papers-2018 goes with combine = 'mean' and no partition": self.sequence != "papers-2018"
            or (self.combine == "mean" and not self.partition),
        }
        if wrong := [rule for rule, held in checks.items() if not held]:
            raise JobError(f"[random_trees] cannot be read so: {'; '.join(wrong)}. {_NOTHING}")
        object.__setattr__(self, "columns", tuple(self.columns))

    @property
    def stated(self) -> str:
        """The recipe as a statement names it: the papers' own sequences are marked as what they are."""
        said = _SEQUENCES[self.sequence]
        return f"{self.name} ({said})" if said else self.name

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """Every tree of every step, at equal cost, in one request; those of the 2018 paper's sequence one by one."""
        parts = self._parts(plan_steps(self, tariff.guarantee, public), budget.total)
        spends = [tariff.measure_all(questions(steps), cost, law="laplace") for steps, cost in parts]
        return (spends[0], *(replace(s, verb="relabel") for s in spends[1:]))

    def _parts(self, steps: Sequence[Step], total: Fraction) -> list[tuple[tuple[Step, ...], Fraction]]:
        """Which steps are asked together, and at what cost."""
        if self.sequence != "papers-2018":
            return [(tuple(steps), total)]
        many = sum(len(s.trees) for s in steps)
        return [((s,), total * len(s.trees) / many) for s in steps]

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What the budget is divided into, and what it amounts to for a person."""
        steps = plan_steps(self, tariff.guarantee, public)
        many = sum(len(s.trees) for s in steps)
        lines = [f"every one of {many} leaf tables gets 1/{many} of the budget, on each of the columns drawn with it"]
        if self.partition:
            lines.append(
                f"a row is counted in one of {self.trees} trees, by {self.partition}: each has the whole budget"
            )
        if self.by and public.relative is not None:
            held = np.bincount(public.relative.codes([self.by])[self.by], minlength=public.schema.size([self.by]))
            if few := int((held < self.n_b).sum()):
                lines.append(
                    f"{few} of {len(held)} groups have fewer than n_b public rows: trees drawn on all of them"
                )
        if self.by:
            lines += _by_person(self.by, public.schema.size([self.by]), tariff.guarantee, budget)
        pure = float(many * floor_sqrt(2 * budget.total / many)) if budget.measure == "zcdp" else inf
        if pure < budget.epsilon:
            lines.append(f"the same noise is worth epsilon {pure:.4g} with delta = 0: a delta buys nothing here")
        if said := _SEQUENCES[self.sequence]:
            lines.append(f"sequence = {self.sequence!r}: {said}")
        return tuple(lines)

    def fit(self, gate: Answers, public: PublicData) -> Forest:
        """Draw the trees, ask for their leaves, and keep what came back."""
        filled = Forest(self, public, _open_columns(gate.tariff.guarantee), ())
        for steps, cost in self._parts(plan_steps(self, gate.tariff.guarantee, public), gate.left):
            asked, laws = questions(steps), filled.laws() if filled.steps else ()
            answers = iter(
                gate.measure_relabelled(asked, laws, cost) if laws else gate.measure(asked, cost, law="laplace")
            )
            filled = filled.plus((s, tuple(next(answers) for _ in s.trees)) for s in steps)
        return filled


def _open_columns(guarantee: Guarantee) -> tuple[str, ...]:
    return guarantee.public_columns if guarantee.relation == "label-change" else ()


def _by_person(by: str, groups: int, guarantee: Guarantee, budget: Budget) -> list[str]:
    """What one fit for each group costs somebody who is in several of them."""
    m, whole = guarantee.rows_per_person, _worth(budget, Fraction(1))
    if guarantee.unit == "person":
        return [
            f"by {by}: a person's rows count at most {m} times over all groups together, whatever the file holds;",
            f"one row in one group costs {_worth(budget, Fraction(1, m))}, all {m} of them the whole {whole}",
        ]
    told = "g times as much" if budget.measure == "pure" else "more than g times as much (rho grows with g squared)"
    return [
        f"by {by}: {whole} holds for one record in one group. Somebody with a record in each",
        f"of g groups bears {told}: {_worth(budget, Fraction(2))} in two,",
        f"{_worth(budget, Fraction(groups))} in all {groups}. To promise it for the person, set unit = 'person' and",
        "rows_per_person",
    ]


def _worth(budget: Budget, rows: Fraction) -> str:
    """What the budget comes to for somebody who moves every count by ``rows`` times what it was priced for."""
    if budget.measure == "pure":
        return f"epsilon {float(budget.epsilon * rows):.4g}"
    return f"epsilon {epsilon_of(budget.total * rows**2, budget.delta):.4g} with delta {float(budget.delta):g}"
