"""``careers``: synthetic people with several records each, a first one and steps from one to the next.

First records come from one of the blends, asked in tables in which everybody counts once.  Steps come from tables of
moves in which a person counts at most ``rows_per_person`` - 1 times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.answers import Answers, NoisierAnswers
from hedgerow.counting.plan import leaf_of
from hedgerow.errors import NOTHING, JobError
from hedgerow.model.base import AbstractModel
from hedgerow.model.careers import CareerModel, MoveTable, moved_shares, shrunk_shares
from hedgerow.model.constants import CAREERS
from hedgerow.model.trees.regression_tree import as_tree, grow, prune
from hedgerow.public import (
    GAP,
    MOVE,
    SPAN,
    Budget,
    CareerCoding,
    CodedTable,
    Codes,
    Counts,
    Law,
    Marginal,
    Measure,
    Measurement,
    PublicData,
    Schema,
    Spend,
    Tariff,
    Tree,
    career_codes,
    first_names,
    law_of,
    start_schema,
    start_table,
)
from hedgerow.recipes.base import AbstractRecipe, drawable
from hedgerow.recipes.blend.public_blend import PublicBlend
from hedgerow.recipes.blend.tree_blend import TreeBlend


@final
@dataclass(frozen=True)
class Careers(AbstractRecipe):
    """First records by ``public_blend`` (without a public table ``tree_blend``), then steps by tables of moves.

    Attributes:
        time: the column by which a person's records follow each other: ordered, a number or a date.
        step_share: the part of the budget for steps; the rest is for first records and how far careers span.
        people: the number of people when it is public; otherwise the noisy tables tell.
    """

    name: ClassVar[str] = "careers"
    time: str = ""
    step_share: float = 0.3
    people: int | None = None

    def rules(self) -> dict[str, bool]:
        """There is a time; a part of the budget is a part; a number of people is one that a table can have."""
        return {
            "time is the column by which a person's records follow each other, such as 'year'": bool(self.time),
            "step_share lies between 0 and 1": 0 < self.step_share < 1,
            "people is 1 or more": self.people is None or self.people >= 1,
        }

    @property
    def career_time(self) -> str:
        """The column of the time."""
        return self.time

    @property
    def accounting(self) -> Measure:
        """All its noise is Gaussian."""
        return "gdp"

    def requests(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[Spend, ...]:
        """All tables of steps, and the first look at first records. The second look depends on the answers."""
        chain = self._chain(tariff, budget, public)
        steps = tariff.measure_all(chain.questions, self._for_steps(budget), weights=chain.weights)
        starts = self._starts(tariff, budget, public)
        firsts = starts.recipe.requests(starts.tariff, starts.budget, starts.public)
        return (steps, *(starts.renamed(f, tariff) for f in firsts))

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What steps are asked in, from public knowledge alone."""
        chain = self._chain(tariff, budget, public)
        treed = [f"{q.columns[0].removeprefix(MOVE)} ({q.leaves})" for q in chain.questions if q.tree]
        leaves = f" Leaves that tell moves apart: {', '.join(treed)}." if treed else ""
        most = tariff.guarantee.rows_per_person - 1
        return (
            f"People count once, by their first record and the span to their last; steps at most {most} times a",
            f"person, in {len(chain.questions)} tables.{leaves}",
        )

    def memory(self, public: PublicData, rows: int) -> int:
        """First records by a blend; all records of a shard with their decoded values."""
        blend = PublicBlend() if public.relative is not None else TreeBlend()
        return blend.memory(public, rows) + 60 * len(public.schema.columns) * rows

    def surplus(self, requests: Sequence[Spend]) -> int:
        """The number of people is a noisy one, unless it is declared."""
        return 0 if self.people else TreeBlend().surplus(requests[1:])

    def fit(self, gate: Answers, public: PublicData) -> CareerModel:
        """Ask for steps, then for first records, and put them together."""
        steps = self._steps(gate, public)
        starts = self._starts(gate.tariff, gate.budget, public)
        return self._people(gate.tariff, steps, starts, starts.recipe.fit(starts.asking(gate), starts.public))

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> CareerModel:
        """The same of noisier answers; the blend knows which of its questions depend on answers."""
        steps = self._steps(gate, public)
        starts = self._starts(gate.tariff, gate.budget, public)
        asked = NoisierAnswers(starts.asking(gate.known), gate.rng)
        return self._people(gate.tariff, steps, starts, starts.recipe.fit_again(asked, starts.public, starts.public))

    def _steps(self, gate: Answers, public: PublicData) -> list[MoveTable]:
        """The table of gaps, and those of moves."""
        chain = self._chain(gate.tariff, gate.budget, public)
        answers = gate.measure(chain.questions, self._for_steps(gate.budget), weights=chain.weights)
        return [chain.table(a) for a in answers]

    def _people(
        self, tariff: Tariff, steps: Sequence[MoveTable], starts: "_Starts", first: AbstractModel
    ) -> CareerModel:
        drawable(first.total)
        coding, (gaps, *moves) = _career_coding(tariff), steps
        schema, person = starts.public.schema, tariff.guarantee.person
        return CareerModel(first.total, first, schema, coding, gaps.shares[0], moves, person)

    def _for_steps(self, budget: Budget) -> Fraction:
        return budget.total * Fraction(str(self.step_share))

    def _starts(self, tariff: Tariff, budget: Budget, public: PublicData) -> "_Starts":
        coding, person = _career_coding(tariff), tariff.guarantee.person
        schema = start_schema(public.schema, self.time)
        key, relative, rows = ("careers", self.time), public.relative, public.assumed_rows
        if key not in public.memo:
            table = relative and start_table(relative, schema, coding, person)
            if rows and relative and table:
                rows = max(1, round(rows * table.rows / relative.rows))  # people, not rows
            public.memo[key] = PublicData(schema, table, assumed_rows=rows)
        right = ((self.time, SPAN),)  # who is there in which year
        recipe: PublicBlend | TreeBlend = TreeBlend(rows=self.people, tables=right)
        if relative is not None:  # time and span are of another period by their nature
            recipe = PublicBlend(rows=self.people, tables=right, drift_apart=True)
        own = Tariff(schema.coding, replace(tariff.guarantee, rows_per_person=1), tariff.measure, tariff.delta)
        part = _PartOfBudget(budget, 1 - Fraction(str(self.step_share)))
        return _Starts(recipe, own, part, public.memo[key])

    def _chain(self, tariff: Tariff, budget: Budget, public: PublicData) -> "_Chain":
        """The tables of moves, by what the public table's steps tell: worked out once for a plan and its run."""
        coding = _career_coding(tariff)
        key = "chain", repr(self), repr(tariff.guarantee), tariff.measure, budget.total
        if key not in public.memo:
            public.memo[key] = _chain_of(coding, tariff, self._for_steps(budget), public)
        return public.memo[key]  # type: ignore[no-any-return]


def _career_coding(tariff: Tariff) -> CareerCoding:
    if not isinstance(tariff.coding, CareerCoding):
        raise JobError(f"[careers] needs a gate that counts careers, and this one counts rows. {NOTHING}")
    return tariff.coding


@final
class _PartOfBudget(Budget):
    """A part of a promise, as a recipe within a recipe sees it."""

    def __init__(self, whole: Budget, part: Fraction) -> None:
        super().__init__(whole.epsilon, whole.delta)
        object.__setattr__(self, "_whole", whole)
        object.__setattr__(self, "_part", part)

    @property
    def measure(self) -> Measure:
        """That of the whole."""
        return self._whole.measure  # type: ignore[attr-defined,no-any-return]

    @property
    def total(self) -> Fraction:
        """The part of the whole."""
        return self._whole.total * self._part  # type: ignore[attr-defined,no-any-return]


@final
@dataclass(frozen=True, eq=False)
class _Starts:
    """First records as a table of their own: who makes them, at what price, with which part of the budget."""

    recipe: PublicBlend | TreeBlend
    tariff: Tariff
    budget: Budget
    public: PublicData

    def renamed(self, spend: Spend, tariff: Tariff) -> Spend:
        """A request about first records as the gate of careers knows it."""
        return tariff.measure_all(
            [_first(a.question) for a in spend.asked], spend.cost, weights=[a.cost for a in spend.asked]
        )

    def asking(self, gate: Answers) -> "_FirstAnswers":
        """The gate of careers as one of a table of first records."""
        return _FirstAnswers(gate, self.tariff, self.budget)


def _first(question: Marginal) -> Marginal:
    tree = question.tree
    assert not question.only, "blends ask for tables of all rows"
    if tree is not None:  # a pair in bands
        tree = Tree.of(first_names(tree.columns), tree.leaves, *tree.arrays)
    return Marginal(first_names(question.columns), tree)


@final
@dataclass
class _FirstAnswers:
    """Answers about first records, from a gate of careers."""

    gate: Answers
    tariff: Tariff
    budget: Budget
    spent: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What of the part is left."""
        return self.budget.total - self.spent

    def measure(
        self,
        questions: Sequence[Marginal],
        cost: Fraction,
        *,
        weights: Sequence[Fraction] | None = None,
        law: Law | None = None,
    ) -> tuple[Measurement, ...]:
        """The noisy counts of people by their first records."""
        self.spent += cost
        found = self.gate.measure([_first(q) for q in questions], cost, weights=weights, law=law)
        return tuple(replace(m, question=q) for m, q in zip(found, questions, strict=True))

    def select(self, estimates: Mapping[Marginal, Counts], cost: Fraction) -> Marginal:
        """The question whose estimate is furthest off."""
        self.spent += cost
        names = {_first(q): q for q in estimates}
        return names[self.gate.select({_first(q): e for q, e in estimates.items()}, cost)]

    def measure_relabelled(self, *given: Any) -> tuple[Measurement, ...]:
        """Refused: no blend asks for it."""
        raise JobError(f"First records are not relabelled. {NOTHING}")

    def draw_urn(self, *given: Any) -> tuple[Measurement, ...]:
        """Refused: no blend asks for it."""
        raise JobError(f"First records are not drawn from urns. {NOTHING}")


@final
@dataclass(frozen=True, eq=False)
class _Chain:
    """Tables of gaps and moves, in the order in which a step is drawn, and what public steps say of them."""

    coding: CareerCoding
    questions: tuple[Marginal, ...]
    weights: tuple[Fraction, ...]
    known: Mapping[str, Codes] | None
    finer: Mapping[str, Tree]

    def table(self, answer: Measurement) -> MoveTable:
        """The shares of every move: noisy ones shrunk to the public ones, which are finer and moved as they are."""
        (name,), tree = answer.question.columns, answer.question.tree
        size, column = self.coding.parts["steps"][name], name.removeprefix(MOVE)
        counts, noise = answer.counts.reshape(-1, size), law_of(answer.noise).variance
        stay = min(1 if name == GAP else self.coding.reach(column), size - 1)
        if self.known is None:
            return MoveTable(column, tree, shrunk_shares(counts, noise, None, stay))
        coarse = _leaves(tree, self.known)
        public = _shares(coarse, self.known[name], len(counts), size)
        found, finer = shrunk_shares(counts, noise, public, stay), self.finer.get(name)
        if finer is None:
            return MoveTable(column, tree, found)
        fine = _leaves(finer, self.known)
        above = np.zeros(finer.leaves, np.int64)
        above[fine] = coarse  # the leaves of the finer tree lie each in one of the other
        own = _shares(fine, self.known[name], finer.leaves, size)
        return MoveTable(column, finer, moved_shares(own, found[above], public[above]))


def _leaves(tree: Tree | None, known: Mapping[str, Codes]) -> Any:
    return leaf_of(tree, known) if tree else np.zeros(len(known[GAP]), np.int64)


def _shares(leaf: Any, moves: Codes, leaves: int, size: int) -> Any:
    """The public shares of every move in each leaf, smoothed by the mix of all."""
    counts = np.bincount(leaf * size + moves, minlength=leaves * size).reshape(leaves, size)
    smooth = counts + CAREERS.smoothing * counts.sum(axis=0) / max(counts.sum(), 1)
    return smooth / smooth.sum(axis=1, keepdims=True)


def _chain_of(coding: CareerCoding, tariff: Tariff, cost: Fraction, public: PublicData) -> _Chain:
    """The gaps, then columns by their number of values: what is told in few words first."""
    schema, sizes = public.schema, {c.name: c.size for c in coding.columns}
    columns = sorted((n for n in _plain(schema) if n != coding.time), key=lambda n: (sizes[n], n))
    known = _public_steps(public.relative, coding, tariff)
    still = {n: known is not None and _share_moved(coding, known, n) <= CAREERS.still for n in columns}
    weights = [CAREERS.still_weight, *(CAREERS.still_weight if still[n] else Fraction(1) for n in columns)]
    questions, finer = [Marginal((GAP,))], dict[str, Tree]()
    for place, name in enumerate(columns):
        seen = [n for n in (*columns, GAP, *(MOVE + n for n in columns[:place])) if coding.parts["steps"][n] > 1]
        tree = None
        if known is not None and not still[name]:
            part = cost * weights[place + 1] / sum(weights)
            noise = law_of(tariff.measure_all([Marginal((MOVE + name,))], part).asked[0].noise).variance
            tree, fine = _trees(coding, known, name, seen, noise, _over(public))
            finer |= {MOVE + name: fine} if fine else {}
        questions.append(Marginal((MOVE + name,), tree))
    return _Chain(coding, tuple(questions), tuple(weights), known, finer)


def _plain(schema: Schema) -> tuple[str, ...]:
    """The columns that others do not determine."""
    return schema.coding.needs(schema.attributes)


def _public_steps(relative: CodedTable | None, coding: CareerCoding, tariff: Tariff) -> Mapping[str, Codes] | None:
    if relative is None:
        return None
    most = tariff.guarantee.rows_per_person - 1
    found = career_codes(relative, coding, tariff.guarantee.person, "steps", most)
    if not (n := len(found[GAP])):
        return None
    some = np.linspace(0, n - 1, min(n, CAREERS.public_steps)).astype(np.int64)
    return {name: codes[some] for name, codes in found.items()}


def _share_moved(coding: CareerCoding, known: Mapping[str, Codes], name: str) -> float:
    """In which share of the public steps a column moves."""
    return float((known[MOVE + name] != coding.reach(name)).mean())


def _over(public: PublicData) -> float:
    """Confidential steps for each public one, by the public guess of rows."""
    assert public.relative is not None
    return (public.assumed_rows or public.relative.rows) / public.relative.rows


def _trees(
    coding: CareerCoding, known: Mapping[str, Codes], name: str, seen: Sequence[str], noise: float, over: float
) -> tuple[Tree | None, Tree | None]:
    """In which leaves moves of a column differ, as far as noise lets them be told apart; and in the public table."""
    sizes, size = coding.parts["steps"], coding.parts["steps"][MOVE + name]
    rows = np.stack([known[n].astype(np.uint16) for n in seen])
    labels = np.eye(size, dtype=np.float32)[known[MOVE + name]]
    ordered = [n == GAP or bool(coding.reach(n.removeprefix(MOVE))) for n in seen]
    limits = {"smallest": CAREERS.smallest_leaf, "deepest": CAREERS.deepest_leaf}
    grown = grow(rows, labels, [sizes[n] for n in seen], ordered, **limits)
    asked = prune(grown, noise=noise * size, over=over)
    told = prune(grown, noise=0.0, over=over) | asked
    first, finer = (as_tree(grown, stays, tuple(seen))[0] for stays in (asked, told))
    return first if first.leaves > 1 else None, finer if finer.leaves > 1 else None
