"""Synthetic people: a first record each, then steps from record to record, drawn from shrunk tables of moves.

The law of a step is a chain of tables.  First how far the next record lies ahead; then, column by column, what
becomes of it, given the leaf of a tree over the record before, the gap, and the moves of the columns that came
earlier in the chain: a Bayesian network with tree-structured conditional tables (Friedman and Goldszmidt 1996).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import polars as pl

from hedgerow.counting.plan import leaf_of
from hedgerow.model.base import AbstractModel, AbstractPeople, Expected
from hedgerow.model.career_constants import CAREERS
from hedgerow.model.career_paths import PublicPaths as PublicPaths
from hedgerow.model.career_paths import coupled
from hedgerow.model.tables import Floats, drift_of, posterior, project
from hedgerow.public import (
    FIRST,
    GAP,
    MOVE,
    CareerCoding,
    Codes,
    Marginal,
    Schema,
    Tree,
    code_type,
    nearest_values,
)

Ints = npt.NDArray[np.int64]
_GOLDEN = (5**0.5 - 1) / 2


def leaves_of(tree: Tree | None, known: Mapping[str, Codes], n: int) -> Ints:
    """The leaf of each of ``n`` steps; without a tree all are in one."""
    return np.asarray(leaf_of(tree, known) if tree else np.zeros(n), np.int64)


def changes_by_ratio(old: Floats, new: Floats) -> bool:
    """Whether numbers that became others did so by a factor, as pay does, and not by so much more, as age.

    By the likelihoods of normal changes of numbers and of their logarithms.
    """
    shown = ~np.isnan(old) & ~np.isnan(new)
    old, new = old[shown], new[shown]
    if not len(old) or min(old.min(), new.min()) <= 0:
        return False
    return bool(np.std(np.log(new / old)) * np.exp(np.log(new).mean()) < np.std(new - old))


@final
@dataclass(frozen=True, eq=False)
class Rises:
    """By how much a number rises in a step: as in a public step of the same leaf and move.

    A cell is a leaf and a move.  ``by`` has the rises of all public steps, cell by cell, ``begins`` where those of
    each cell begin; ``own`` has the rise of every public step, NaN where none is shown.
    """

    begins: Ints
    by: Floats
    own: Floats

    @classmethod
    def of(cls, leaf: Ints, moves: Codes, shares: Floats, old: Floats, new: Floats) -> "Rises":
        """What public steps show; those without two numbers show nothing."""
        cell = leaf * shares.shape[1] + moves
        shown = np.flatnonzero(~np.isnan(new - old))
        shown = shown[np.argsort(cell[shown], kind="stable")]
        return cls(np.searchsorted(cell[shown], np.arange(shares.size + 1)), (new - old)[shown], new - old)

    def after(self, cell: Ints, path: Ints, old: Floats, followed: Any, rng: np.random.Generator) -> Floats:
        """The numbers after a step, as in the one that is ``followed``; NaN where no public step shows one."""
        many = self.begins[cell + 1] - self.begins[cell]
        some = self.begins[cell] + (rng.random(len(cell)) * many).astype(np.int64)
        by = self.by[np.minimum(some, len(self.by) - 1)] if len(self.by) else np.full(len(cell), np.nan)
        by = np.where(many > 0, by, np.nan)
        return np.asarray(old + np.where(followed & ~np.isnan(self.own[path]), self.own[path], by))


@final
@dataclass(frozen=True, eq=False)
class Growth:
    """By which factor a number grows: its logarithm by the mean of the leaf, and what a public person's did beyond.

    Whoever has had a good year mostly has a worse one after it, which tables of single steps do not show.  So a
    synthetic person follows one public person for as long as that one has steps.

    Attributes:
        means: of the growth of logarithms in each leaf, by the shares of moves there.
        spreads: its standard deviation.
        beyond: of every public step, in these deviations.
        moves: how many a leaf has.
    """

    means: Floats
    spreads: Floats
    beyond: Floats
    moves: int

    @classmethod
    def of(cls, leaf: Ints, moves: Codes, shares: Floats, old: Floats, new: Floats) -> "Growth":
        """What public steps show: of a move that none of a leaf makes, all that make it; else the whole leaf."""
        leaves, size = shares.shape
        growth, shown = np.zeros(len(old)), ~np.isnan(new - old)
        growth[shown] = np.log(new[shown] / old[shown])
        whole, squares = (_means(leaf, g, shown, leaves, 0.0) for g in (growth, growth**2))
        anywhere = _means(moves.astype(np.int64), growth, shown, size, float(growth[shown].mean()))
        own = _means(leaf * size + moves, growth, shown, leaves * size, np.nan).reshape(leaves, size)
        told = np.where(np.isnan(own), anywhere, own)
        spread = np.sqrt(np.maximum(squares - whole**2, 0.0))
        beyond = np.divide(
            growth - whole[leaf], spread[leaf], out=np.zeros(len(old)), where=shown & (spread[leaf] > 0)
        )
        return cls((shares * told).sum(axis=1), spread, beyond, size)

    def after(self, cell: Ints, path: Ints, old: Floats, followed: Any, rng: np.random.Generator) -> Floats:
        """The numbers after a step of people who follow the public steps ``path``."""
        leaf = cell // self.moves
        return np.asarray(old * np.exp(self.means[leaf] + self.spreads[leaf] * self.beyond[path]))


def _means(cell: Ints, values: Floats, shown: npt.NDArray[np.bool_], cells: int, none: float | Floats) -> Floats:
    """The mean of what is shown in each cell; ``none`` where nothing is."""
    many = np.bincount(cell[shown], minlength=cells)
    return np.where(many > 0, np.bincount(cell[shown], values[shown], cells) / np.maximum(many, 1), none)


@final
@dataclass(frozen=True, eq=False)
class MoveTable:
    """What becomes of a column in one step.

    Attributes:
        column: its name; of the table of gaps, ``gap``.
        tree: in the leaves of which shares differ; None: they are the same for all.
        shares: of every move, a line for each leaf.
        changes: how a number changes.
        towards: of a column without an order, where those who do not stay go: a line of shares for each value.
        public: the public shares of every move, a line for each leaf.
        made: the move of every public step.
    """

    column: str
    tree: Tree | None
    shares: Floats
    changes: Rises | Growth | None = None
    towards: Floats | None = None
    public: Floats | None = None
    made: Codes | None = None

    def follow(
        self, leaf: Ints, move: Ints, path: Ints, alike: Any, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Who makes the move of the public step ``path``, and all moves: as drawn of those who are not ``alike``."""
        followed, moves, some = np.zeros(len(move), bool), move.copy(), np.flatnonzero(alike)
        if self.public is not None and self.made is not None:
            theirs = self.made[path[some]].astype(np.int64)
            followed[some], moves[some] = coupled(theirs, leaf[some], self.shares, self.public, rng)
        return followed, moves

    def draw(self, known: Mapping[str, Codes], n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """A leaf and a move for each of ``n`` people, given what is ``known`` of them.

        People of a leaf get numbers that lie at even distances, as those of all leaves together do (multiples of the
        golden section, modulo 1): drawing adds hardly anything to the error of the shares.
        """
        leaf = leaves_of(self.tree, known, n)
        mixed = rng.permutation(n)
        even = np.empty(n)
        even[mixed[np.argsort(leaf[mixed], kind="stable")]] = (rng.random() + _GOLDEN * np.arange(n)) % 1
        return leaf, _drawn(self.shares, leaf, even)

    def elsewhere(self, move: Ints, leaf: Ints, old: Ints, rng: np.random.Generator) -> Ints:
        """The moves, with one to the value that somebody has drawn anew: who does not stay goes somewhere else."""
        move, here = move.copy(), 1 + old
        gone = np.flatnonzero((move > 0) & (self.towards is not None or move == here))
        shares = np.zeros((len(gone), self.shares.shape[1]))
        shares[:, 1:] = self.shares[leaf[gone], 1:] if self.towards is None else self.towards[old[gone]]
        shares[np.arange(len(gone)), here[gone]] = 0.0
        shares[shares.sum(axis=1) == 0, 0] = 1.0
        even = np.asarray((rng.random() + _GOLDEN * np.arange(len(gone))) % 1, np.float64)
        by = np.argsort(old[gone], kind="stable")
        move[gone[by]] = _drawn(shares[by], np.arange(len(gone)), even)
        return move


def destinations(old: Ints, moves: Codes, before: Floats, after: Floats) -> Floats:
    """Where public people go from each value; of few, nearly where all go. Moved as all moves were found to be.

    How much all count is chosen so that each public step is told best by the others.

    Args:
        old: the value before every public step.
        moves: what became of it: 0 if it stayed, else one more than the new value.
        before: the public shares of moves.
        after: the shares that were found.
    """
    size, gone = len(before) - 1, moves > 0
    counts = np.bincount(old[gone] * size + moves[gone] - 1, minlength=size * size).reshape(size, size)
    every = counts.sum(axis=0) / max(counts.sum(), 1)
    odds = np.divide(after[1:], before[1:], out=np.ones(size), where=before[1:] > 0)
    made = counts + max(CAREERS.destinations, key=lambda w: _told(counts, w * every)) * every
    return np.asarray(made * odds + np.where(before[1:] > 0, 0.0, after[1:]))


def _told(counts: Ints, prior: Floats) -> float:
    """The log likelihood of each step given the others from the same value and ``prior`` ones."""
    others = (counts - 1 + prior) / np.maximum(counts.sum(axis=1, keepdims=True) - 1 + prior.sum(), 1e-300)
    return float((counts[counts > 0] * np.log(np.maximum(others[counts > 0], 1e-300))).sum())


def _drawn(shares: Floats, line: Ints, at: Floats) -> Ints:
    """The place in its line of shares at which each number from 0 to 1 stands."""
    up_to = np.cumsum(shares, axis=1)
    up_to = up_to / up_to[:, -1:] + np.arange(len(up_to))[:, None]
    found = np.searchsorted(up_to.ravel(), line + at, side="right") - line * shares.shape[1]
    return np.asarray(np.minimum(found, shares.shape[1] - 1))


@final
@dataclass(frozen=True)
class StepNumber:
    """How many steps there are, as noisy tables tell it, and the variance of that."""

    number: float
    variance: float

    @classmethod
    def fitted(cls, noisy: npt.ArrayLike, noise: float, known: Floats) -> "StepNumber":
        """What one table of moves tells if its shares are the known ones: by least squares in every leaf."""
        numbers, variances = _fitted(np.asarray(noisy, np.float64), noise, known)
        return cls(float(numbers.sum()), float(variances.sum()))

    @classmethod
    def by_most(cls, told: "Sequence[StepNumber]") -> "StepNumber | None":
        """The median of what tables tell, by precision: a table whose shares have drifted cannot move it far.

        >>> StepNumber.by_most([StepNumber(100.0, 4.0), StepNumber(60.0, 4.0), StepNumber(102.0, 4.0)]).number
        100.0
        """
        if not told:
            return None
        ranked = sorted(told, key=lambda t: t.number)
        weights = np.array([1 / max(t.variance, 1e-9) for t in ranked])
        middle = ranked[int(np.searchsorted(weights.cumsum(), weights.sum() / 2))]
        return cls(middle.number, float(np.pi / 2 / weights.sum()))  # of a median of normal numbers

    def with_sum(self, noisy: Floats, noise: float) -> "StepNumber":
        """With what the sum of a table tells, which drift of its shares does not move."""
        own, other = 1 / max(noise * noisy.size, 1e-9), 1 / max(self.variance, 1e-9)
        return StepNumber(float(own * noisy.sum() + other * self.number) / (own + other), 1 / (own + other))


def _fitted(counts: Floats, noise: float, known: Floats) -> tuple[Floats, Floats]:
    """The steps in every leaf if their shares are the known ones, and the variance of that."""
    squares = (known**2).sum(axis=1)
    return np.maximum((counts * known).sum(axis=1) / squares, 0.0), noise / squares


def shrunk_shares(
    noisy: npt.ArrayLike,
    noise: float,
    known: Floats | None,
    stay: int,
    chance: float = 0.0,
    long: float = 1.0,
    others: StepNumber | None = None,
) -> Floats:
    """The shares of every move in every leaf: noisy counts shrunk towards ``known`` shares, a line for each leaf.

    True counts lie around the public ones with a variance of ``chance`` times these, because both are samples, and
    further only where noisy counts say so beyond chance.  So do moves that the public table hardly has.  Without
    known shares the counts are projected; where noise is all there is, everybody moves by ``stay``.  Noise must be
    exceeded by ``long`` times as much as normal noise.  ``others`` is what other tables tell of the number of steps:
    by a table's own, fewer who stay would seem to be fewer steps.
    """
    counts = np.asarray(noisy, np.float64)
    total = np.maximum(counts.sum(axis=1), 0.0)
    still = np.zeros(counts.shape[1])
    still[stay] = 1.0
    if known is None:
        return np.stack([project(c, t) / t if t > 0 else still for c, t in zip(counts, total, strict=True)])
    # a sum over all moves has the noise of all: against it the many who stay would seem to drift
    fitted = _fitted(counts, noise, known)[0][:, None]
    spread: float | Floats = noise
    if others is not None and fitted.any():
        there, parts = others.with_sum(counts, noise), fitted / fitted.sum()
        fitted = parts * max(there.number, 0.0)
        spread = (noise + (known * parts) ** 2 * there.variance).ravel()
    expected = (known * fitted).ravel()
    drift = drift_of([counts.ravel()], [expected], [spread], caution=CAREERS.beyond_chance * long, least=chance)
    known = _with_unknown(counts, noise * long**2, known, stay)
    found = posterior(counts.ravel(), (known * fitted).ravel(), spread, drift).reshape(counts.shape)
    # cut at 0 alone, noise would add to every rare move and nothing would be taken from staying
    sums = found.sum(axis=1)
    return np.stack([project(f, t) / t if t > 0 else k for f, t, k in zip(found, sums, known, strict=True)])


def _with_unknown(counts: Floats, noise: float, known: Floats, stay: int) -> Floats:
    """Known shares, with more that move if noisy counts say so beyond chance; where to, these counts say as well."""
    whole, others = float(counts.sum()), np.arange(counts.shape[1]) != stay
    if whole <= 0 or not others.any():
        return known
    expected = float(np.maximum(counts.sum(axis=1), 0.0) @ known[:, others].sum(axis=1))
    chance = CAREERS.beyond_chance * float(noise * counts[:, others].size) ** 0.5
    more = min(max(float(counts[:, others].sum()) - expected - chance, 0.0) / whole, 1.0)
    towards = np.where(others, np.maximum(counts.sum(axis=0) - (noise * len(counts)) ** 0.5, 0.0), 0.0)
    towards = towards / towards.sum() if towards.any() else others / others.sum()
    return np.asarray((1 - more) * known + more * towards)


def bands_of(counts: Floats, least: float, stay: int, ordered: bool) -> Ints:
    """The band of every move: staying is one, and moves are put together until each has ``least`` expected steps.

    In order, those next to each other; else the rarest.

    >>> bands_of(np.array([3.0, 30.0, 900.0, 40.0, 20.0, 5.0]), 25.0, 2, ordered=True).tolist()
    [1, 1, 0, 2, 3, 3]
    """
    band = np.zeros(len(counts), np.int64)
    away = np.delete(np.arange(len(counts)), stay)
    sides = [away[away < stay][::-1], away[away > stay]] if ordered else [away[np.argsort(-counts[away])]]
    last = 0
    for side in sides:
        begun, held = False, 0.0
        for place, move in enumerate(side):
            if not begun or held >= least and counts[side[place:]].sum() >= least:
                last, begun, held = last + 1, True, 0.0
            band[move] = last
            held += counts[move]
    return np.arange(len(counts)) if last + 1 == len(counts) else band


def crossed(tree: Tree | None, column: str, band: Ints) -> Tree:
    """The tree whose leaves are those of ``tree``, each divided by the bands of the codes of a column."""
    columns, leaves, bands = tree.columns if tree else (), tree.leaves if tree else 1, int(band.max()) + 1
    look, first, child = tree.arrays if tree else (np.zeros(0, np.int64),) * 3
    below = np.where(child < 0, len(look) - 1 - child, child)  # what was a leaf is a split by the column now
    ends = -1 - (np.arange(leaves)[:, None] * bands + band)
    look = np.concatenate([look, np.full(leaves, len(columns))])
    first = np.concatenate([first, len(child) + np.arange(leaves) * len(band)])
    return Tree.of((*columns, column), leaves * bands, look, first, np.concatenate([below, ends.ravel()]))


def moved_shares(fine: Floats, found: Floats, coarse: Floats, band: Ints) -> Floats:
    """Finer public shares, moved as bands of moves in coarser leaves were found to be; a line for each leaf."""
    odds = np.divide(found, coarse, out=np.ones_like(found), where=coarse > 0)
    alone = np.where(coarse > 0, 0.0, found) / np.bincount(band)  # what no public step says is spread over a band
    made = fine * odds[:, band] + alone[:, band]
    sums = made.sum(axis=1, keepdims=True)
    even = (found / np.bincount(band))[:, band]
    return np.asarray(np.where(sums > 0, made / np.where(sums > 0, sums, 1.0), even))


@final
@dataclass(frozen=True, eq=False)
class CareerModel(AbstractPeople):
    """First records from a model of their own, and the tables by which they go on.

    Attributes:
        total: the estimated number of people.
        starts: the model of first records.
        schema: of first records: the columns of a record, and the span of a career.
        coding: how careers are coded.
        gaps: how far ahead the next record lies.
        moves: what becomes of each column, in the order of the chain.
        person: what the column that tells people apart is called.
        paths: public people to follow; None without any.
    """

    total: int
    starts: AbstractModel
    schema: Schema
    coding: CareerCoding
    gaps: MoveTable
    moves: Sequence[MoveTable]
    person: str
    paths: PublicPaths | None

    def expected(self, question: Marginal) -> Expected:
        """The people expected in the cells of a table of first records, flat, last column fastest."""
        return self.starts.expected(Marginal(tuple(c.removeprefix(FIRST) for c in question.columns)))

    def go_on(
        self, first: Mapping[str, Codes], numbers: Mapping[str, Floats], span: Ints, rng: np.random.Generator
    ) -> tuple[Ints, dict[str, Codes], dict[str, Floats]]:
        """The person of each record, person by person in the order of time, its codes, and numbers that changed."""
        time, n = self.coding.time, len(span)
        sizes = {c.name: c.size for c in self.coding.columns}
        now = {c: first[c].astype(np.int64) for c in sizes}
        carried = {t.column: numbers[t.column] for t in self.moves if t.changes}
        end = np.minimum(now[time] + span, self._ordered[time] - 1)
        rows, held, who = [now], [carried], [np.arange(n)]
        path = self.paths.nearest(now, span, rng) if self.paths else np.zeros(n, np.int64)
        for _ in range(CAREERS.records * sizes[time]):
            on = rows[-1][time] < end[who[-1]]
            if not on.any():
                break
            whose = who[-1][on]
            here, values = ({c: v[on] for c, v in last[-1].items()} for last in (rows, held))
            left = end[whose] - here[time]
            path = path[on]
            there, values = self._next(here, values, path, left, sizes, rng)
            path = self.paths.further(path, there, end[whose] - there[time], rng) if self.paths else path
            rows.append(there)
            held.append(values)
            who.append(whose)
        whose = np.concatenate(who)
        order = np.argsort(whose, kind="stable")
        codes = {c: np.concatenate([r[c] for r in rows])[order].astype(code_type(sizes[c])) for c in sizes}
        return whose[order], codes, {c: np.concatenate([h[c] for h in held])[order] for c in carried}

    @property
    def _ordered(self) -> dict[str, int]:
        return dict(self.coding.ordered)

    def _next(
        self,
        here: Mapping[str, Ints],
        values: Mapping[str, Floats],
        path: Ints,
        left: Ints,
        sizes: Mapping[str, int],
        rng: np.random.Generator,
    ) -> tuple[dict[str, Ints], dict[str, Floats]]:
        """The next record of everybody, at most ``left`` codes of the time ahead, and the numbers in it."""
        n, time = len(left), self.coding.time
        gap = self._gap(path, left, rng)
        known: dict[str, Any] = {c: v.astype(np.uint32) for c, v in here.items()} | {GAP: gap.astype(np.uint32)}
        found, numbers = {**here, time: here[time] + gap}, dict[str, Floats]()  # what no table tells of stays
        for table in self.moves:
            name, old = table.column, here[table.column]
            leaf, move = table.draw(known, n, rng)
            alike = self.paths.alike(name, old, path) if self.paths else np.zeros(n, bool)
            followed, move = table.follow(leaf, move, path, alike, rng)
            if not self.coding.reach(name):
                move = table.elsewhere(move, leaf, old, rng)
            found[name] = self._moved(name, old, move, sizes[name])
            if table.changes:
                cell = leaf * table.shares.shape[1] + move
                after = table.changes.after(cell, path, values[name], followed, rng)
                found[name], numbers[name] = self._with_numbers(name, old, found[name], values[name], after)
                move = self.coding.moved(name, old, found[name])
            known[MOVE + name] = np.asarray(move).astype(np.uint32)
        return found, numbers

    def _gap(self, path: Ints, left: Ints, rng: np.random.Generator) -> Ints:
        """How far ahead the next record of everybody lies: as far as that of ``path`` does, at most ``left``."""
        none = np.zeros(len(left), np.int64)
        if self.paths:
            return np.minimum(self.gaps.follow(none, none, path, np.ones(len(left), bool), rng)[1], left)
        up_to = np.cumsum(self.gaps.shares[0])
        gap = np.searchsorted(up_to, rng.random(len(left)) * up_to[left], side="right")
        return np.where(up_to[left] > 0, np.minimum(gap, left), left)

    def _with_numbers(self, name: str, old: Ints, codes: Ints, before: Floats, after: Floats) -> tuple[Ints, Floats]:
        """The codes of numbers after a step, and these as the column may have them; else the codes that are given.

        Without a public step to follow, a number keeps its place between the cuts of its bin.
        """
        column, (coded,) = self.schema.column(name), (c for c in self.coding.columns if c.name == name)
        values = column.bin_values
        inside = np.flatnonzero(~np.isnan(before) & (np.maximum(old, codes) < self._ordered[name]))
        was, now, number = old[inside], codes[inside], after[inside]
        with np.errstate(invalid="ignore"):  # a bin without an end has no places
            place = (before[inside] - values.low[was]) / (values.high - values.low)[was]
            kept = values.low[now] + place * (values.high - values.low)[now]
        number = np.clip(np.where(np.isnan(number), kept, number), values.low[0], values.highest[-1])
        bins = coded.encode(pl.Series(number)).astype(np.int64)
        good = ~np.isnan(number) & (bins < self._ordered[name])
        codes, found, bins = codes.copy(), np.full(len(codes), np.nan), bins[good]
        codes[inside[good]], found[inside[good]] = bins, nearest_values(column, bins, number[good])
        return codes, found

    def _moved(self, column: str, old: Ints, move: Ints, size: int) -> Ints:
        """The code that a move leads to: the reverse of ``CareerCoding.moved``."""
        if not (reach := self.coding.reach(column)):
            return np.asarray(np.where(move == 0, old, move - 1))
        inside = self._ordered[column]
        there = np.clip(old + move - reach, 0, inside - 1)
        return np.asarray(np.where(old >= inside, old, np.where(move > 2 * reach, size - 1, there)))
