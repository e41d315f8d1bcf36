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

from hedgerow.counting.plan import leaf_of
from hedgerow.model.base import AbstractModel, AbstractPeople, Expected
from hedgerow.model.constants import CAREERS
from hedgerow.model.tables import Floats, drift_of, posterior, project
from hedgerow.public import FIRST, GAP, MOVE, CareerCoding, Codes, Marginal, Schema, Tree, code_type

Ints = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class MoveTable:
    """What becomes of a column in one step.

    Attributes:
        column: its name; of the table of gaps, ``gap``.
        tree: in the leaves of which shares differ; None: they are the same for all.
        shares: of every move, a line for each leaf.
    """

    column: str
    tree: Tree | None
    shares: Floats

    def draw(self, known: Mapping[str, Codes], n: int, rng: np.random.Generator) -> Ints:
        """A move for each of ``n`` people, given what is ``known`` of them."""
        leaf = leaf_of(self.tree, known) if self.tree else np.zeros(n, np.int64)
        up_to = np.cumsum(self.shares, axis=1)
        up_to = up_to / up_to[:, -1:] + np.arange(len(up_to))[:, None]
        found = np.searchsorted(up_to.ravel(), leaf + rng.random(n), side="right") - leaf * self.shares.shape[1]
        return np.asarray(np.minimum(found, self.shares.shape[1] - 1))


def shrunk_shares(noisy: npt.ArrayLike, noise: float, known: Floats | None, stay: int) -> Floats:
    """The shares of every move in every leaf: noisy counts shrunk towards ``known`` shares, a line for each leaf.

    Moves that the public table hardly has are believed as far as their noisy number is beyond chance.  Without known
    shares the counts are projected; where noise is all there is, everybody moves by ``stay``.
    """
    counts = np.asarray(noisy, np.float64)
    total = np.maximum(counts.sum(axis=1), 0.0)
    still = np.zeros(counts.shape[1])
    still[stay] = 1.0
    if known is None:
        return np.stack([project(c, t) / t if t > 0 else still for c, t in zip(counts, total, strict=True)])
    # a sum over all moves has the noise of all: against it the many who stay would seem to drift
    fitted = np.maximum((counts * known).sum(axis=1) / (known**2).sum(axis=1), 0.0)
    drift = drift_of([counts.ravel()], [(known * fitted[:, None]).ravel()], [noise], caution=CAREERS.beyond_chance)
    known = _with_unknown(counts, noise, known, stay)
    mean = (known * total[:, None]).ravel()
    found = posterior(counts.ravel(), mean, noise, drift).reshape(counts.shape)
    # cut at 0 alone, noise would add to every rare move and nothing would be taken from staying
    return np.stack([project(f, t) / t if t > 0 else k for f, t, k in zip(found, total, known, strict=True)])


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


def moved_shares(fine: Floats, found: Floats, coarse: Floats) -> Floats:
    """Finer public shares, moved as the shares of coarser leaves were found to have moved; a line for each leaf."""
    odds = np.divide(found, coarse, out=np.ones_like(found), where=coarse > 0)
    made = fine * odds + np.where(coarse > 0, 0.0, found)
    sums = made.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > 0, made / np.where(sums > 0, sums, 1.0), found))


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
    """

    total: int
    starts: AbstractModel
    schema: Schema
    coding: CareerCoding
    gaps: Floats
    moves: Sequence[MoveTable]
    person: str

    def expected(self, question: Marginal) -> Expected:
        """The people expected in the cells of a table of first records, flat, last column fastest."""
        return self.starts.expected(Marginal(tuple(c.removeprefix(FIRST) for c in question.columns)))

    def go_on(
        self, first: Mapping[str, Codes], span: Ints, rng: np.random.Generator
    ) -> tuple[Ints, dict[str, Codes]]:
        """The codes of all records, person by person in the order of time, and the person of each."""
        time, n = self.coding.time, len(span)
        sizes = {c.name: c.size for c in self.coding.columns}
        now = {c: first[c].astype(np.int64) for c in sizes}
        end = np.minimum(now[time] + span, self._ordered[time] - 1)
        rows, who = [now], [np.arange(n)]
        for _ in range(CAREERS.records * sizes[time]):
            on = rows[-1][time] < end[who[-1]]
            if not on.any():
                break
            here, whose = {c: v[on] for c, v in rows[-1].items()}, who[-1][on]
            rows.append(self._next(here, end[whose] - here[time], sizes, rng))
            who.append(whose)
        whose = np.concatenate(who)
        order = np.argsort(whose, kind="stable")
        codes = {c: np.concatenate([r[c] for r in rows])[order].astype(code_type(sizes[c])) for c in sizes}
        return whose[order], codes

    @property
    def _ordered(self) -> dict[str, int]:
        return dict(self.coding.ordered)

    def _next(
        self, here: Mapping[str, Ints], left: Ints, sizes: Mapping[str, int], rng: np.random.Generator
    ) -> dict[str, Ints]:
        """The next record of everybody, at most ``left`` codes of the time ahead."""
        n, time = len(left), self.coding.time
        up_to = np.cumsum(self.gaps)
        gap = np.searchsorted(up_to, rng.random(n) * up_to[left], side="right")
        gap = np.where(up_to[left] > 0, np.minimum(gap, left), left)
        known: dict[str, Any] = {c: v.astype(np.uint32) for c, v in here.items()} | {GAP: gap.astype(np.uint32)}
        found = {**here, time: here[time] + gap}  # what no table tells of stays
        for table in self.moves:
            move = table.draw(known, n, rng)
            known[MOVE + table.column] = move.astype(np.uint32)
            found[table.column] = self._moved(table.column, here[table.column], move, sizes[table.column])
        return found

    def _moved(self, column: str, old: Ints, move: Ints, size: int) -> Ints:
        """The code that a move leads to: the reverse of ``CareerCoding.moved``."""
        if not (reach := self.coding.reach(column)):
            return np.asarray(np.where(move == 0, old, move - 1))
        inside = self._ordered[column]
        there = np.clip(old + move - reach, 0, inside - 1)
        return np.asarray(np.where(old >= inside, old, np.where(move > 2 * reach, size - 1, there)))
