"""``random_trees``: the variable-depth random decision trees of the RDT papers, with their true cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, ClassVar, final

from hedgerow.errors import JobError
from hedgerow.public.accounting import Budget, Guarantee, Relation
from hedgerow.public.spend import Spend, Tariff
from hedgerow.recipes.base import AbstractRecipe, Answers, PublicData
from hedgerow.recipes.forest import Forest, plan_steps, questions

_NOTHING = "No confidential row was read and nothing was spent."
_SEQUENCES = {
    "joint": "",
    "chain": "",
    "papers-2018": "the 2018 paper's sequence: private, but the association between the private columns is lost",
    "papers-2019": "the 2019 paper's sequence: routes rows by a private column, which is declared public here",
}


@final
@dataclass(frozen=True)
class RandomTrees(AbstractRecipe):
    """An ensemble of random trees split by public counts, its leaves filled with noisy label counts.

    Attributes:
        private: the attributes to attach, in order; those the target lacks by default.
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
    partial_public: ClassVar[bool] = True
    private: Sequence[str] = ()
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
        listed = isinstance(self.private, list | tuple) and all(isinstance(p, str) for p in self.private)
        whole = {n: getattr(self, n) for n in ("trees", "n_b", "depth", "seed")}
        checks = {
            "private is a list of columns, each once": listed and len(set(self.private)) == len(self.private),
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
        }
        if wrong := [rule for rule, held in checks.items() if not held]:
            raise JobError(f"[random_trees] cannot be read so: {'; '.join(wrong)}. {_NOTHING}")
        object.__setattr__(self, "private", tuple(self.private))

    @property
    def stated(self) -> str:
        """The recipe as a statement names it: the papers' own sequences are marked as what they are."""
        said = _SEQUENCES[self.sequence]
        return f"{self.name} ({said})" if said else self.name

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """One request: every tree of every step, at equal cost."""
        steps = plan_steps(self, tariff.guarantee, public)
        return (tariff.measure_all(questions(steps), budget.total, law="laplace"),)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What the budget is divided into, and what it amounts to for a person."""
        steps = plan_steps(self, tariff.guarantee, public)
        many = sum(len(s.trees) for s in steps)
        lines = [f"every one of {many} leaf tables gets 1/{many} of the budget, on each of the columns drawn with it"]
        if self.partition:
            lines.append(
                f"a row is counted in one of {self.trees} trees, by {self.partition}: each has the whole budget"
            )
        if self.by:
            lines += _by_person(self.by, tariff.guarantee, float(budget.epsilon))
        if said := _SEQUENCES[self.sequence]:
            lines.append(f"sequence = {self.sequence!r}: {said}")
        return tuple(lines)

    def fit(self, gate: Answers, public: PublicData) -> Forest:
        """Draw the trees, ask for their leaves, and keep what came back."""
        steps = plan_steps(self, gate.tariff.guarantee, public)
        answers = iter(gate.measure(questions(steps), gate.left, law="laplace"))
        filled = tuple((s, tuple(next(answers) for _ in s.trees)) for s in steps)
        return Forest(self, public, _open_columns(gate.tariff.guarantee), filled)


def _open_columns(guarantee: Guarantee) -> tuple[str, ...]:
    return guarantee.public_columns if guarantee.relation == "label-change" else ()


def _by_person(by: str, guarantee: Guarantee, epsilon: float) -> list[str]:
    """What one fit for each group costs somebody who is in several of them."""
    if guarantee.unit == "person":
        m = guarantee.rows_per_person
        return [
            f"by {by}: a person's rows count at most {m} times over all groups together, whatever the file holds;",
            f"one row in one group costs epsilon {epsilon / m:g}, a person in {m} groups the whole {epsilon:g}",
        ]
    return [
        f"by {by}: epsilon {epsilon:g} holds for one record in one group. Somebody with a record in g groups bears g",
        "times as much; to promise it for the person, set unit = 'person' and rows_per_person",
    ]
