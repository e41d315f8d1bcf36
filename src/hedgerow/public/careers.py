"""Careers: a person's first record and steps from record to record, coded from that person's rows alone.

Rows of a person are put in the order of the codes of a declared time; rows of one time by all their other codes.  Two
kinds of tables are counted, whose names do not mix.  *People*, each once: ``first X``, the code of X in the first
row, and ``span``, by how many codes of the time the last row is later.  *Steps*, from a row to the next one of the
same person: ``X``, the code before; ``gap``, by how many codes of the time the next row is later; ``move X``, what
becomes of X.  Of somebody with more steps than count, as many as count do, spread evenly over all of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from hedgerow.errors import NOTHING, JobError
from hedgerow.public.coding import Codes, Coding, code_type
from hedgerow.public.costs.question import Marginal

REACH = 12  # codes by which an ordered column may rise or fall in one step; further counts as so far
FIRST, MOVE = "first ", "move "
SPAN, GAP = "span", "gap"
Part = Literal["people", "steps"]


@dataclass(frozen=True)
class CareerCoding(Coding):
    """The rules of a table's columns, and how each person's rows become a first record and steps.

    ``joined`` joins columns of first records.  ``ordered`` says how many of the first codes of a column stand in
    order.  With a ``part`` it has the names of one kind only.
    """

    time: str = ""
    ordered: tuple[tuple[str, int], ...] = ()
    part: Part | None = None

    @cached_property
    def parts(self) -> dict[Part, dict[str, int]]:
        """How many codes each name has, by what is counted."""
        plain = {c.name: c.size for c in self.columns}
        joins = {j.name: j.size for j in self.joined if j.name.startswith(FIRST)}  # a plan joins leaves besides
        people = {SPAN: plain[self.time]} | {FIRST + n: s for n, s in plain.items()} | joins
        return {"people": people, "steps": plain | {GAP: plain[self.time]} | {MOVE + n: self.moves(n) for n in plain}}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many codes each name has."""
        held = {n: s for kind, own in self.parts.items() if self.part in (None, kind) for n, s in own.items()}
        return held | {j.name: j.size for j in self.joined if self.part in (None, "people") or j.name[0] == "\0"}

    def moves(self, column: str) -> int:
        """How many moves a column has: where it stands in order falls and rises, and out of order; else where to."""
        reach = self.reach(column)
        return 2 * reach + 2 if reach else 1 + next(c.size for c in self.columns if c.name == column)

    def reach(self, column: str) -> int:
        """By how many codes a column may rise or fall; 0 where it has no order."""
        return min(max(dict(self.ordered).get(column, 0) - 1, 0), REACH)

    def kind(self, names: Iterable[str]) -> Part:
        """What a table of ``names`` counts; a table of both is none. Without names: people."""
        names = tuple(filter(None, names))
        kinds: list[Part] = [k for k, held in self.parts.items() if set(names) <= set(held)]
        if not kinds:
            raise JobError(f"{', '.join(names)}: people and steps are counted in tables of their own. {NOTHING}")
        return kinds[0]

    def most(self, names: Iterable[str], rows: int) -> int:
        """How often somebody with any number of rows counts in a table: once, or with at most ``rows`` - 1 steps."""
        if rows < 2:
            raise JobError(f"Careers have steps: they take rows_per_person = 2 or more, not {rows}. {NOTHING}")
        return 1 if self.kind(names) == "people" else rows - 1

    def needs(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of the file behind any name: all, because rows of one time are ordered by all of them."""
        return tuple(c.name for c in self.columns)

    def only(self, part: Part) -> "CareerCoding":
        """The same with the names of one kind."""
        return replace(self, part=part)

    def order(self, who: Any, codes: Mapping[str, Codes]) -> Any:
        """The places of all rows, person by person, each in the order of time and then of all other codes."""
        rest = [codes[c.name] for c in reversed(self.columns) if c.name != self.time]
        return np.lexsort([*rest, codes[self.time], who])

    def reduce(self, who: Any, codes: Mapping[str, Codes], names: Sequence[str], most: int) -> dict[str, Codes]:
        """The codes ``names``, of one kind, for every person, or for every step that counts, ``most`` a person."""
        by, begins = self.order(who, codes), np.ones(len(who), bool)
        begins[1:] = who[by][1:] != who[by][:-1]
        first = np.flatnonzero(begins)
        if self.kind(names) == "people":
            last = np.flatnonzero(np.roll(begins, -1))
            heads = {c: codes[c][by[first]] for c in codes}
            found = {FIRST + n: c for n, c in heads.items()}
            found |= {j.name: j.encode([found[p] for p in j.parts]) for j in self.joined if j.name in names}
            found[SPAN] = codes[self.time][by[last]] - heads[self.time]
            return {n: found[n].astype(code_type(self.sizes[n])) for n in names}
        after = np.flatnonzero(~begins)
        number = after - first[np.cumsum(begins)[after] - 1] - 1  # of the step in its career, from 0 on
        steps = (np.diff(first, append=len(by)) - 1)[np.cumsum(begins)[after] - 1]
        kept = after[_spread(number, steps, most)]
        here, there = by[kept - 1], by[kept]
        return {n: self._step(n, codes, here, there).astype(code_type(self.sizes[n])) for n in names}

    def _step(self, name: str, codes: Mapping[str, Codes], here: Any, there: Any) -> Any:
        column = self.time if name == GAP else name.removeprefix(MOVE)
        old, new = (codes[column][rows].astype(np.int64) for rows in (here, there))
        return new - old if name == GAP else old if name == column else self.moved(column, old, new)

    def moved(self, column: str, old: Any, new: Any) -> Any:
        """The code of what became of a column: its rise, or 0 if it stayed and else one more than the new code."""
        if not (reach := self.reach(column)):
            return np.where(old == new, 0, 1 + new)
        inside = np.maximum(old, new) < dict(self.ordered)[column]
        return np.where(inside, np.clip(new - old, -reach, reach) + reach, 2 * reach + 1)


def _spread(number: Any, steps: Any, most: int) -> Any:
    """Which steps count: all, or ``most`` of them at even distances. ``number``: of each among all ``steps``."""
    kept = np.minimum(steps, most)
    return (number + 1) * kept // np.maximum(steps, 1) != number * kept // np.maximum(steps, 1)


def asked_of(question: Marginal) -> tuple[str, ...]:
    """Every name that a question looks at."""
    tree = question.tree.columns if question.tree else ()
    return (*question.columns, *tree, *filter(None, [question.only]))
