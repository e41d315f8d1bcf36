"""``guided_tree``: private columns for public rows, by one tree that public knowledge grows and noisy leaves fill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from hedgerow.answers.protocol import Answers
from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError
from hedgerow.model.attached import Attached
from hedgerow.model.boosted import boost
from hedgerow.model.evidence import Evidence, Shares, follow, merged, on_target, settle, together
from hedgerow.model.growing import above
from hedgerow.public.costs.accounting import Budget, Relation
from hedgerow.public.costs.question import Measurement
from hedgerow.public.costs.spend import Spend, Tariff
from hedgerow.public.table import PublicData
from hedgerow.recipes.base import AbstractRecipe
from hedgerow.recipes.trees.attach import cells_of
from hedgerow.recipes.trees.guided_tree_asked import (
    Asked,
    Known,
    Wishes,
    as_shares,
    first_tables,
    known,
    leaves_and_tables,
    public_shares,
)

_PRIORS = ("boosted", "leaves", "none")
_LEVELS = (1, 2, 4, 8, 16)  # depths whose nodes are corrected before the leaves


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
    columns: Sequence[str] = ()
    outcomes: Sequence[str] = ()
    analyses: Sequence[Sequence[str]] = ()
    share: float | None = None
    tables: float | None = None
    priorities: Mapping[str, float] = field(default_factory=dict)
    prior: str = "boosted"
    rows: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        listed = self.outcomes
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "outcomes", tuple(listed))
        object.__setattr__(self, "analyses", tuple(tuple(a) for a in self.analyses))
        wrong = [
            *([] if not isinstance(listed, str) else ["outcomes is a list of attributes"]),
            *([f"prior is one of {', '.join(_PRIORS)}, not {self.prior!r}"] if self.prior not in _PRIORS else []),
            *([] if self.share is None or 0 < self.share < 1 else [f"share lies between 0 and 1, not {self.share}"]),
            *([] if 0 <= (self.tables or 0.0) < 1 else [f"tables lies between 0 and 1, not {self.tables}"]),
            *([] if self.rows is None or self.rows >= 1 else [f"rows is 1 or more, not {self.rows}"]),
            *([] if all(w >= 0 for w in self.priorities.values()) else ["priorities are 0 or more"]),
        ]
        if wrong:
            raise JobError(f"[guided_tree] {'; '.join(wrong)}. Nothing was read or spent.")

    @property
    def wishes(self) -> Wishes:
        """The settings that decide what is asked."""
        return Wishes(
            tuple(self.columns),
            tuple(tuple(a) for a in self.analyses),
            tuple(self.outcomes),
            None if self.share is None else Fraction(self.share).limit_denominator(1000),
            None if self.tables is None else Fraction(self.tables).limit_denominator(1000),
            dict(self.priorities),
            self.prior == "boosted",
            self.rows,
            self.seed,
        )

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """Leaves with all labels, and tables; without public labels only the tables, which come first."""
        asked, cost = self._first(known(self.wishes, tariff, public), tariff, budget)
        return (tariff.measure_all(asked.questions, cost, weights=asked.weights, law="laplace"),)

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """How many leaves, how large, and what each outcome is asked in, from public knowledge alone."""
        have = known(self.wishes, tariff, public)
        asked, _ = self._first(have, tariff, budget)
        if asked.grown is None:
            return (
                "No public labels: attribute tables are asked first, and the tree grows on what they say. Its leaves",
                "are not known yet; they get what is left of the budget. The tables are used as well.",
            )
        rows = np.bincount(leaf_of(asked.tree, have.codes(have.lines)), minlength=asked.tree.leaves)
        bands = [
            f"Outcomes ({', '.join(self.outcomes)}): what the other columns leave of it, in {q.leaves} bands with "
            f"{' and '.join(q.columns)}, gets {float(w):.0%} of the budget."
            for q, w in zip(asked.questions[1:], asked.weights[1:], strict=True)
            if q.tree is not None
        ]
        return (
            f"The tree has {asked.tree.leaves:,} leaves; the median one has {int(np.median(rows)):,} target rows.",
            *bands,
        )

    def fit(self, gate: Answers, public: PublicData) -> Attached:
        """Ask once, twice without public labels, and correct the starting point by what came back."""
        have = known(self.wishes, gate.tariff, public)
        asked, cost = self._first(have, gate.tariff, gate.budget)
        evidence = _answered(gate, have, asked, cost)
        if have.labels is not None:
            start = self._start(have, asked)
        else:
            start, tables = _uniform(have), evidence
            guess = settle(_with_tables(start, tables), tables)
            asked = leaves_and_tables(self.wishes, have, guess, gate.tariff, gate.left)
            evidence = [*_answered(gate, have, asked, gate.left), *tables]
        shares = _corrected(start, evidence, asked)
        return Attached(public.schema, have.private, shares, (*(e.group for e in evidence), *have.lines), have.target)

    def _first(self, have: Known, tariff: Tariff, budget: Budget) -> tuple[Asked, Fraction]:
        """The first request and its cost."""
        if have.labels is None:
            asked, part = first_tables(self.wishes, have)
            return asked, budget.total * part
        shares = as_shares(have.labels, have.kinds)
        return leaves_and_tables(self.wishes, have, shares, tariff, budget.total), budget.total

    def _start(self, have: Known, asked: Asked) -> Shares:
        """The labels' shares for each target row, from the public table alone."""
        assert have.labels is not None
        if self.prior == "boosted":
            rng = np.random.Generator(np.random.PCG64(self.seed))
            model = boost(have.public, have.labels, have.kinds, have.sizes, have.ordered, rng)
            return model.shares(have.lines)
        if self.prior == "none":
            return _uniform(have)
        held = public_shares(have, as_shares(have.labels, have.kinds), asked.tree)
        return np.asarray(held.astype(np.float32)[leaf_of(asked.tree, have.codes(have.lines))])


def _uniform(have: Known) -> Shares:
    return np.full((have.lines.shape[1], have.kinds), 1 / have.kinds, np.float32)


def _answered(gate: Answers, have: Known, asked: Asked, cost: Fraction) -> list[Evidence]:
    """What came back, as evidence of the target's rows."""
    answers: Sequence[Measurement] = gate.measure(asked.questions, cost, weights=asked.weights, law="laplace")
    found, schema = [], have.target.schema
    cells = dict(zip(have.private, np.unravel_index(np.arange(have.kinds), schema.shape(have.private)), strict=True))
    for a in answers:
        if a.question.tree is not None:
            group = leaf_of(a.question.tree, have.codes(have.lines))
        else:
            group = cells_of(have.target, [c for c in a.question.columns if c not in have.private])
        counted = tuple(c for c in a.question.columns if c in have.private)
        one = None if counted == have.private else cells[counted[0]]
        found.append(on_target(group, a.counts.reshape(-1, schema.size(counted)), a.noise.variance, one))
    return found


def _with_tables(start: Shares, tables: Sequence[Evidence]) -> Shares:
    """The starting point moved by the drift of the label totals, then of the tables."""
    return follow(follow(start, [together(tables)]), tables)


def _corrected(start: Shares, evidence: Sequence[Evidence], asked: Asked) -> Shares:
    """Drift first, from the totals over tables and bands and the tree's upper levels to its leaves; then chance."""
    treed = [i for i, q in enumerate(asked.questions) if q.tree is not None]
    leaves, bands = evidence[0], [evidence[i] for i in treed[1:]]
    tables = [e for i, e in enumerate(evidence) if i not in treed]
    shares = follow(start, [together([e for e in evidence if e.label is None])])
    for part in ([tables] if tables else []) + [[e] for e in bands]:  # an outcome strays by itself
        shares = follow(shares, part)
    assert asked.grown is not None and asked.ends is not None
    deepest = int(asked.grown.depth[asked.ends].max())
    for level in (n for n in _LEVELS if n < deepest):
        shares = follow(shares, [merged(leaves, above(asked.grown, asked.ends, level))])
    return settle(follow(shares, [leaves]), [*tables, *bands, leaves])
