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
from hedgerow.errors import NOTHING, JobError
from hedgerow.model.base import AbstractModel
from hedgerow.model.career_constants import CAREERS
from hedgerow.model.career_times import best_window
from hedgerow.model.careers import (
    CareerModel,
    Growth,
    MoveTable,
    PublicPaths,
    Rises,
    StepNumber,
    bands_of,
    changes_by_ratio,
    crossed,
    destinations,
    leaves_of,
    moved_shares,
    shrunk_shares,
)
from hedgerow.model.records import fixed_stream
from hedgerow.model.trees.regression_tree import as_tree, grow, prune
from hedgerow.public import (
    FIRST,
    GAP,
    MOVE,
    SPAN,
    Budget,
    CareerCoding,
    CodedTable,
    Codes,
    Laplace,
    Marginal,
    Measure,
    Measurement,
    PublicData,
    Schema,
    Spend,
    Tariff,
    Tree,
    Window,
    career_codes,
    first_names,
    known_numbers,
    law_of,
    seen_through,
    start_schema,
    start_table,
    step_rows,
)
from hedgerow.recipes.base import AbstractRecipe, drawable
from hedgerow.recipes.blend.public_blend import PublicBlend
from hedgerow.recipes.blend.tree_blend import TreeBlend
from hedgerow.recipes.first_records import FirstRecords, PartOfBudget


@final
@dataclass(frozen=True)
class Careers(AbstractRecipe):
    """First records by ``public_blend`` (without a public table ``tree_blend``), then steps by tables of moves.

    Attributes:
        time: the column by which a person's records follow each other: ordered, a number or a date.
        step_share: the part of the budget for steps; the rest is for first records and how far careers span.
        window_share: the part of the budget that tells which times of the public table are like those here.
        people: the number of people when it is public; otherwise the noisy tables tell.
    """

    name: ClassVar[str] = "careers"
    time: str = ""
    step_share: float = 0.15
    window_share: float = 0.05
    people: int | None = None

    def rules(self) -> dict[str, bool]:
        """There is a time; a part of the budget is a part; a number of people is one that a table can have."""
        return {
            "time is the column by which a person's records follow each other, such as 'year'": bool(self.time),
            "step_share lies between 0 and 1": 0 < self.step_share < 1,
            "window_share is above 0, and below 1 together with step_share": (
                0 < self.window_share < 1 - self.step_share
            ),
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
        windows = [tariff.measure_all([self._when], w)] if (w := self._for_window(budget, public)) else []
        return (*windows, steps, *(starts.renamed(f, tariff) for f in firsts))

    def remarks(self, tariff: Tariff, budget: Budget, public: PublicData) -> tuple[str, ...]:
        """What steps are asked in, from public knowledge alone."""
        chain = self._chain(tariff, budget, public)
        treed = [f"{t.name.removeprefix(MOVE)} ({t.tree.leaves})" for t in chain.tables if t.tree]
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

    def seconds(self, public: PublicData, rows: int) -> float:
        """First records by a blend; then steps are asked for and drawn, record by record; by bench/cost.py."""
        blend = PublicBlend() if public.relative is not None else TreeBlend()
        return blend.seconds(public, rows) + 0.9 + 2e-6 * rows * len(public.schema.columns)

    def surplus(self, requests: Sequence[Spend]) -> int:
        """The number of people is a noisy one, unless it is declared."""
        return 0 if self.people else TreeBlend().surplus(requests[-1:])

    def fit(self, gate: Answers, public: PublicData) -> CareerModel:
        """Ask when people were there, for steps, then for first records, and put them together."""
        window, steps = self._window(gate, public), self._steps(gate, public)
        starts = self._starts(gate.tariff, gate.budget, public, window)
        first = starts.recipe.fit(starts.asking(gate), starts.public)
        return self._people(gate, public, (window, steps), starts, first)

    def fit_again(self, gate: NoisierAnswers, public: PublicData, other: PublicData) -> CareerModel:
        """The same of noisier answers; the blend knows which of its questions depend on answers."""
        window, steps = self._window(gate.known, public), self._steps(gate, public)
        starts = self._starts(gate.tariff, gate.budget, public, window)
        asked = NoisierAnswers(starts.asking(gate.known), gate.rng)
        first = starts.recipe.fit_again(asked, starts.public, starts.public)
        return self._people(gate, public, (window, steps), starts, first)

    @property
    def _when(self) -> Marginal:
        """When people are there: the time of the first record, and the span to the last."""
        return Marginal(first_names((self.time, SPAN)))

    def _for_window(self, budget: Budget, public: PublicData) -> Fraction:
        return budget.total * Fraction(str(self.window_share)) if public.relative is not None else Fraction(0)

    def _window(self, gate: Answers, public: PublicData) -> Window | None:
        """The part of the public careers that looks like the confidential ones, and the times it stands for."""
        if not (cost := self._for_window(gate.budget, public)):
            return None
        (answer,) = gate.measure([self._when], cost)
        coding = _career_coding(gate.tariff)
        assert public.relative is not None
        codes = career_codes(public.relative, coding, gate.tariff.guarantee.person, "people", 1)
        size = coding.parts["people"][SPAN]
        cells = codes[FIRST + self.time].astype(np.int64) * size + codes[SPAN]
        known = np.bincount(cells, minlength=size * size).reshape(size, size)
        return best_window(answer.counts.reshape(size, size), law_of(answer.noise).variance, known)

    def _steps(self, gate: Answers, public: PublicData) -> list[MoveTable]:
        """The table of gaps, and those of moves."""
        chain = self._chain(gate.tariff, gate.budget, public)
        answers = gate.measure(chain.questions, self._for_steps(gate.budget), weights=chain.weights)
        return chain.answered(answers)

    def _people(
        self,
        gate: Answers,
        public: PublicData,
        told: tuple[Window | None, Sequence[MoveTable]],
        starts: FirstRecords,
        first: AbstractModel,
    ) -> CareerModel:
        drawable(first.total)
        coding, (window, (gaps, *moves)) = _career_coding(gate.tariff), told
        schema, person = starts.public.schema, gate.tariff.guarantee.person
        chain = self._chain(gate.tariff, gate.budget, public)
        paths = chain.paths(window.stands_for - window.begins if window else 0)
        return CareerModel(first.total, first, schema, coding, gaps, moves, person, paths)

    def _for_steps(self, budget: Budget) -> Fraction:
        return budget.total * Fraction(str(self.step_share))

    def _starts(
        self, tariff: Tariff, budget: Budget, public: PublicData, window: Window | None = None
    ) -> FirstRecords:
        coding, person = _career_coding(tariff), tariff.guarantee.person
        schema = start_schema(public.schema, self.time)
        key, relative, rows = ("careers", self.time, window), public.relative, public.assumed_rows
        if key not in public.memo:
            seen = seen_through(relative, coding, window, fixed_stream()) if relative and window else relative
            table = seen and start_table(seen, schema, coding, person)
            if rows and seen and table:
                rows = max(1, round(rows * table.rows / seen.rows))  # people, not rows
            public.memo[key] = PublicData(schema, table, assumed_rows=rows)
        recipe: PublicBlend | TreeBlend = TreeBlend(rows=self.people, tables=((self.time, SPAN),))
        if relative is not None:
            recipe = PublicBlend(rows=self.people, drift=CAREERS.drift)
        own = Tariff(schema.coding, replace(tariff.guarantee, rows_per_person=1), tariff.measure, tariff.delta)
        part = PartOfBudget(
            budget,
            1 - Fraction(str(self.step_share)) - (Fraction(str(self.window_share)) if relative is not None else 0),
        )
        return FirstRecords(recipe, own, part, public.memo[key])

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
@dataclass(frozen=True, eq=False)
class _Chain:
    """Tables of gaps and moves, in the order in which a step is drawn, and what public steps say of them.

    Attributes:
        coding: how careers are coded.
        known: the codes of the public steps; None without any.
        tables: what is asked of each column.
        who: the person of each public step.
        over: confidential steps for each public one, by the public guess of rows.
    """

    coding: CareerCoding
    known: Mapping[str, Codes] | None
    tables: "tuple[_Moves, ...]"
    who: Any
    over: float

    @property
    def questions(self) -> tuple[Marginal, ...]:
        """What is asked, in the order of the chain."""
        return tuple(t.question for t in self.tables)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """What part of the budget each table gets, against others."""
        return tuple(t.weight for t in self.tables)

    def answered(self, answers: Sequence[Measurement]) -> list[MoveTable]:
        """The tables of moves by their answers, which all count the same steps."""
        if self.known is None:
            return [self._without_public(m, a) for m, a in zip(self.tables, answers, strict=True)]
        public = [self._public(m) for m in self.tables]
        told = [
            StepNumber.fitted(m.noisy(a), law_of(a.noise).variance, said)
            for m, a, (_, said) in zip(self.tables, answers, public, strict=True)
        ]
        others = [StepNumber.by_most([*told[:i], *told[i + 1 :]]) for i in range(len(told))]
        return [self._table(*each) for each in zip(self.tables, answers, public, others, strict=True)]

    def paths(self, on: int) -> PublicPaths | None:
        """The public people whom synthetic ones follow; ``on``: see the window."""
        if self.known is None:
            return None
        codes = {c.name: self.known[c.name] for c in self.coding.columns}
        return PublicPaths.of(codes, self.coding, self.known[GAP], self.who, on)

    def _without_public(self, moves: "_Moves", answer: Measurement) -> MoveTable:
        shares = shrunk_shares(moves.noisy(answer), law_of(answer.noise).variance, None, int(moves.stay))
        return MoveTable(moves.name.removeprefix(MOVE), moves.tree, shares)

    def _public(self, moves: "_Moves") -> tuple[Any, Any]:
        """The leaf of every public step, and the public shares of every band of moves in each leaf."""
        assert self.known is not None
        coarse = leaves_of(moves.tree, self.known, len(self.known[GAP]))
        leaves = moves.tree.leaves if moves.tree else 1
        public = _shares(coarse, self.known[moves.name], leaves, self.coding.parts["steps"][moves.name])
        said = np.zeros((leaves, int(moves.band.max()) + 1))
        np.add.at(said.T, moves.band, public.T)
        return coarse, said

    def _table(
        self, moves: "_Moves", answer: Measurement, public: tuple[Any, Any], others: StepNumber | None
    ) -> MoveTable:
        """The shares of every move: noisy ones shrunk to the public ones, which are finer and moved as they are."""
        assert self.known is not None
        name, tree, band = moves.name, moves.tree, moves.band
        size, column = self.coding.parts["steps"][name], name.removeprefix(MOVE)
        counts, noise = moves.noisy(answer), law_of(answer.noise).variance
        coarse, said = public
        long = CAREERS.laplace if isinstance(law_of(answer.noise), Laplace) else 1.0
        found = shrunk_shares(counts, noise, said, int(band[moves.stay]), 1 + self.over, long, others)
        finer = moves.finer or tree
        fine = leaves_of(finer, self.known, len(self.known[GAP]))
        leaves = finer.leaves if finer else 1
        above = np.zeros(leaves, np.int64)
        above[fine] = coarse  # the leaves of the finer tree lie each in one of the other
        own = _shares(fine, self.known[name], leaves, size)
        shares = moved_shares(own, found[above], said[above], band)
        changes: Rises | Growth | None = None
        if moves.numbers is not None:
            kind = Growth if changes_by_ratio(*moves.numbers) else Rises
            changes = kind.of(fine, self.known[name], shares, *moves.numbers)
        towards = None
        if name != GAP and not self.coding.reach(column):
            steps = np.bincount(fine, minlength=leaves)
            towards = destinations(self.known[column].astype(np.int64), self.known[name], steps @ own, steps @ shares)
        return MoveTable(column, finer, shares, changes, towards, own, self.known[name])


@final
@dataclass(frozen=True, eq=False)
class _Moves:
    """What is asked of one column's moves, or of the gaps.

    Attributes:
        name: of what is counted.
        stay: the code of no move; of gaps, of the next time.
        tree: in which leaves.
        finer: the leaves in which the public table tells more.
        band: which codes are counted together.
        weight: what part of the budget it gets, against others.
        numbers: those of the column before and after every public step, if it has any.
    """

    name: str
    stay: int
    tree: Tree | None
    finer: Tree | None
    band: Any
    weight: Fraction
    numbers: tuple[Any, Any] | None

    @property
    def question(self) -> Marginal:
        """Moves in each leaf; in bands, where not all moves are told apart."""
        if int(self.band.max()) + 1 == len(self.band):
            return Marginal((self.name,), self.tree)
        return Marginal((), crossed(self.tree, self.name, self.band))

    def noisy(self, answer: Measurement) -> Any:
        """The answer, a line for each leaf."""
        return answer.counts.reshape(-1, int(self.band.max()) + 1)


def _shares(leaf: Any, moves: Codes, leaves: int, size: int) -> Any:
    """The public shares of every move in each leaf, smoothed by the mix of all."""
    counts = np.bincount(leaf * size + moves, minlength=leaves * size).reshape(leaves, size)
    smooth = counts + CAREERS.smoothing * counts.sum(axis=0) / max(counts.sum(), 1)
    return smooth / smooth.sum(axis=1, keepdims=True)


def _chain_of(coding: CareerCoding, tariff: Tariff, cost: Fraction, public: PublicData) -> _Chain:
    """The gaps, then columns by their number of values: what is told in few words first."""
    schema, sizes = public.schema, {c.name: c.size for c in coding.columns}
    columns = sorted((n for n in _plain(schema) if n != coding.time), key=lambda n: (sizes[n], n))
    known, rows = _public_steps(public.relative, coding, tariff)
    names = [GAP, *(MOVE + n for n in columns)]
    still = {n: known is not None and _share_unlike(known[n]) <= CAREERS.still for n in names}
    weights = {n: CAREERS.still_weight if still[n] or n == GAP else Fraction(1) for n in names}
    tables, over = list[_Moves](), _over(public)
    for place, name in enumerate(names):
        column, size = name.removeprefix(MOVE), coding.parts["steps"][name]
        stay = min(1 if name == GAP else coding.reach(column), size - 1)
        tree, finer, band, numbers = None, None, np.arange(size), None
        if known is not None:
            numbers = _numbers(public, column, rows) if name != GAP else None
            # how a number grows does not hang on the number: an earlier period's are lower, and would seem to fall
            own = [column] if numbers and changes_by_ratio(*numbers) else []
            seen = [n for n in (*columns, *names[:place]) if coding.parts["steps"][n] > 1 and n not in own]
            part = cost * weights[name] / sum(weights.values())
            noise = law_of(tariff.measure_all([Marginal((name,))], part).asked[0].noise).variance
            expected = np.bincount(known[name], minlength=size).astype(np.float64) * over
            ordered = name == GAP or coding.reach(column) > 0
            band = bands_of(expected, CAREERS.band * noise**0.5, stay, ordered)
            if name != GAP and not still[name]:
                tree, finer = _trees(coding, known, name, seen, noise * (int(band.max()) + 1), over)
        tables.append(_Moves(name, stay, tree, finer, band, weights[name], numbers))
    return _Chain(coding, known, tuple(tables), rows[0], over)


def _numbers(public: PublicData, column: str, rows: tuple[Any, Any, Any]) -> tuple[Any, Any] | None:
    """The numbers of a column before and after every public step, if it has any that its records show."""
    held = public.schema.column(column)
    if public.relative is None or held.kind not in ("integer", "number") or held.decode == "midpoint":
        return None
    numbers = known_numbers(held, public.relative.frame[column])
    return numbers[rows[1]], numbers[rows[2]]


def _plain(schema: Schema) -> tuple[str, ...]:
    """The columns that others do not determine."""
    return schema.coding.needs(schema.attributes)


def _public_steps(
    relative: CodedTable | None, coding: CareerCoding, tariff: Tariff
) -> tuple[Mapping[str, Codes] | None, tuple[Any, Any, Any]]:
    """The codes of public steps, and of each the person and the rows; of some people where there are very many."""
    none = np.zeros(0, np.int64)
    if relative is None:
        return None, (none, none, none)
    person = tariff.guarantee.person
    found = career_codes(relative, coding, person, "steps", relative.rows)
    who, *rows = step_rows(relative, coding, person)
    if not len(who):
        return None, (none, none, none)
    number = np.cumsum(np.diff(who, prepend=-1) != 0) - 1  # of the person, among those who have steps
    some = np.flatnonzero(number % -(-len(who) // CAREERS.public_steps) == 0)
    return {name: codes[some] for name, codes in found.items()}, (who[some], rows[0][some], rows[1][some])


def _share_unlike(moves: Codes) -> float:
    """In which share of the public steps a column does not move as it mostly does."""
    return 1 - float(np.bincount(moves).max() / len(moves))


def _over(public: PublicData) -> float:
    """Confidential steps for each public one, by the public guess of rows."""
    known = public.relative.rows if public.relative is not None else 0
    return (public.assumed_rows or known) / known if known else 1.0


def _trees(
    coding: CareerCoding, known: Mapping[str, Codes], name: str, seen: Sequence[str], noise: float, over: float
) -> tuple[Tree | None, Tree | None]:
    """In which leaves moves of a column differ, as far as noise lets them be told apart; and in the public table."""
    sizes, size = coding.parts["steps"], coding.parts["steps"][name]
    rows = np.stack([known[n].astype(np.uint16) for n in seen])
    labels = np.eye(size, dtype=np.float32)[known[name]]
    ordered = [n == GAP or bool(coding.reach(n.removeprefix(MOVE))) for n in seen]
    limits = {"smallest": CAREERS.smallest_leaf, "deepest": CAREERS.deepest_leaf}
    grown = grow(rows, labels, [sizes[n] for n in seen], ordered, **limits)
    asked = prune(grown, noise=noise, over=over, chance=CAREERS.leaf_chance)
    told = prune(grown, noise=0.0, over=over, chance=CAREERS.leaf_chance) | asked
    first, finer = (as_tree(grown, stays, tuple(seen))[0] for stays in (asked, told))
    return first if first.leaves > 1 else None, finer if finer.leaves > 1 else None
