"""Public people whom synthetic ones follow, step by step: nearest neighbours among the records before public steps.

Tables of single steps know nothing of a person's level: who works short weeks for a year goes back to long ones, but
a chain of such tables walks at random.  A public person's steps have it.  So a synthetic person follows the public
one with the most similar record (Gower's distance), and a step that the noisy tables find rarer than in public is
drawn anew from what they find more often: a maximal coupling of both laws, which changes no more steps than it must.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hedgerow.model.career_constants import CAREERS
from hedgerow.model.records import fixed_stream
from hedgerow.model.records.descent import quick
from hedgerow.model.tables import Floats
from hedgerow.public import CareerCoding, Codes

Ints = npt.NDArray[np.int64]
_Numbers = npt.NDArray[np.float32]


@final
@dataclass(frozen=True, eq=False)
class PublicPaths:
    """Public steps in the order of each person's, by the record before each.

    Attributes:
        codes: of the record before every step.
        coding: how records are coded.
        on: by how many times public careers are moved to be those here.
        still: how many steps the person of each has left with it.
        spans: by how many codes of the time that person's last record is later.
    """

    codes: Mapping[str, Codes]
    coding: CareerCoding
    on: int
    still: Ints
    spans: Ints

    @classmethod
    def of(cls, codes: Mapping[str, Codes], coding: CareerCoding, gaps: Codes, who: Ints, on: int) -> "PublicPaths":
        """The steps of public people ``who``, each ``gaps`` later than the one before."""
        ends = np.flatnonzero(np.diff(who, append=-1))
        last = ends[np.searchsorted(ends, np.arange(len(who)))]
        times = codes[coding.time].astype(np.int64)
        return cls(codes, coding, on, last - np.arange(len(who)) + 1, (times + gaps)[last] - times)

    def nearest(self, here: Mapping[str, Ints], span: Ints, rng: np.random.Generator) -> Ints:
        """The public step to follow from each record: the most similar of some with about as long a ``span``."""
        order, ranks, marks = self._laid_out
        spans, most = self.spans[order], CAREERS.neighbours
        low, high = (np.searchsorted(spans, span, side) for side in ("left", "right"))
        short = np.maximum(most - (high - low), 0)
        low, high = np.maximum(low - short, 0), np.minimum(high + short, len(order))
        begin = (rng.random(len(span)) * (high - low)).astype(np.int64)
        own = self._ranked(here, 0), self._marked(here)
        found = np.zeros(len(span), np.int64)
        find_nearest(*own, span, ranks, marks, spans, np.stack([low, high - low, begin]), most, found)
        return np.asarray(order[found])

    def further(self, path: Ints, there: Mapping[str, Ints], left: Ints, rng: np.random.Generator) -> Ints:
        """The next steps of the same public people; of others, who are like the records ``there``, where none is."""
        found, none = path + 1, np.flatnonzero((self.still[path] == 1) & (left > 0))
        found[none] = self.nearest({c: codes[none] for c, codes in there.items()}, left[none], rng)
        return np.minimum(found, len(self.still) - 1)

    def alike(self, column: str, old: Ints, path: Ints) -> Any:
        """Who has a value like the public person's, or one next to it: the steps of that one tell of theirs alone."""
        theirs = self.codes[column][path].astype(np.int64)
        if not (many := self._ordered.get(column)):
            return theirs == old
        rank = self._ranks[column]
        beside = (np.abs(theirs - old) <= 1) & (np.maximum(theirs, old) < many)
        return beside | (np.abs(rank[theirs] - rank[old]) <= CAREERS.alike)

    @cached_property
    def _ordered(self) -> dict[str, int]:
        return dict(self.coding.ordered)

    @cached_property
    def _ranks(self) -> Mapping[str, _Numbers]:
        """Where each code stands among the public ones, from 0 to 1; codes without an order lie apart from all."""
        found = {}
        sizes = {c.name: c.size for c in self.coding.columns}
        for name, many in self._ordered.items():
            counts = np.bincount(self.codes[name], minlength=sizes[name])
            inside = counts[:many] / max(counts[:many].sum(), 1)
            apart = 2.0 + np.arange(len(counts) - many)
            found[name] = np.concatenate([np.cumsum(inside) - inside / 2, apart]).astype(np.float32)
        return found

    @cached_property
    def _laid_out(self) -> tuple[Ints, _Numbers, Codes]:
        """Public steps by their spans, those of one span mixed, and what is compared of each."""
        mixed = fixed_stream().permutation(len(self.spans))
        order = mixed[np.argsort(self.spans[mixed], kind="stable")]
        known = {c: codes[order].astype(np.int64) for c, codes in self.codes.items()}
        return order, self._ranked(known, self.on), self._marked(known)

    def _ranked(self, codes: Mapping[str, Ints], on: int) -> _Numbers:
        """The ranks of records in columns with an order, a line each; of the time, the share of all times."""
        columns = [self._ranks[c][codes[c]] for c in self._ordered if c != self.coding.time]
        times = (codes[self.coding.time] + on) / max(self._ordered[self.coding.time] - 1, 1)
        return np.stack([times, *columns], axis=1).astype(np.float32)

    def _marked(self, codes: Mapping[str, Ints]) -> Codes:
        """The codes of records in columns without an order, a line each."""
        plain = [codes[c] for c in self.codes if c not in self._ordered]
        return np.stack([*plain, np.zeros(len(codes[self.coding.time]))], axis=1).astype(np.uint16)


def coupled(
    moves: Ints, leaf: Ints, shares: Floats, public: Floats, rng: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Which public ``moves`` are made here too, and all moves: the others are drawn where ``shares`` are larger.

    Both tables have a line for each leaf.  Moves that come as often as ``public`` says come as ``shares`` say then.

    >>> theirs, leaf = np.repeat([0, 1], [8_000, 2_000]), np.zeros(10_000, np.int64)
    >>> shares, public, rng = np.array([[0.7, 0.3]]), np.array([[0.8, 0.2]]), np.random.default_rng(1)
    >>> made, moves = coupled(theirs, leaf, shares, public, rng)
    >>> float(moves.mean().round(1)), float(made.mean().round(1))
    (0.3, 0.9)
    """
    more = np.maximum(shares - public, 0.0).cumsum(axis=1)
    made = rng.random(len(moves)) * public[leaf, moves] <= shares[leaf, moves]
    made |= more[leaf, -1] <= 0  # equal but for rounding
    gone = np.flatnonzero(~made)
    lines, found = more[leaf[gone]], moves.copy()
    drawn = (lines <= (rng.random(len(gone)) * lines[:, -1])[:, None]).sum(axis=1)
    found[gone] = np.minimum(drawn, shares.shape[1] - 1)
    return made, found


@quick
def find_nearest(ranks, marks, spans, all_ranks, all_marks, all_spans, places, most, found):  # type: ignore[no-untyped-def]  # noqa: PLR0913  # pragma: no cover
    """The nearest of at most ``most`` steps: of a block from places[0], places[1] long, from places[2] on, around."""
    for p in range(len(found)):
        best, wide = np.float32(1e30), places[1, p]
        for i in range(min(wide, most)):
            at = places[0, p] + (places[2, p] + i) % wide
            far = np.float32(abs(all_spans[at] - spans[p]) / (1 + spans[p]))
            for c in range(ranks.shape[1]):
                far += abs(all_ranks[at, c] - ranks[p, c])
            if far >= best:
                continue
            for c in range(marks.shape[1]):
                far += np.float32(0.5) * np.float32(all_marks[at, c] != marks[p, c])
            if far < best:
                best, found[p] = far, at
