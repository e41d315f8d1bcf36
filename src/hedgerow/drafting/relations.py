"""What holds between columns of a public table: suggestions for a person to judge, never switched on.

Everything is looked for in codes, as the drafted schema makes them, on an even sample of rows.  A relation
is suggested only when it is far from what columns that have nothing to do with each other would show.

    >>> area = np.arange(4000) % 40
    >>> relations = Relations({"area": area, "state": area // 10}, {"area": 40, "state": 4})
    >>> relations.determined
    {'state': 'area'}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

_EVIDENCE = 100.0
_MOST_SIZE, _MOST_CELLS, _MOST_PARTS, _SMALL = 40, 4_000, 6, 64
_FEW, _GAIN, _SOME_GAIN = 0.76, 0.6, 0.95
Codes = npt.NDArray[np.integer]


def steady_within(groups: Codes, codes: Mapping[str, Codes]) -> tuple[str, ...]:
    """The columns that never change between rows of one group, though chance would have changed them.

    >>> person = np.arange(3000) // 3
    >>> steady_within(person, {"sex": person % 7 % 2, "year": np.arange(3000) % 3})
    ('sex',)
    """
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    repeats = len(groups) - len(first)
    out = []
    for name, code in codes.items():
        share = np.bincount(code) / max(len(code), 1)
        beyond_chance = repeats * (1 - (share**2).sum()) >= _EVIDENCE
        if beyond_chance and np.array_equal(code[first][group], code):
            out.append(name)
    return tuple(out)


class Join(NamedTuple):
    """Columns that occur in few combinations: how many were seen, and how many could be."""

    columns: tuple[str, ...]
    seen: int
    possible: int


@final
@dataclass(frozen=True, eq=False)
class Relations:
    """The codes of some rows, and the relations they show.

    Attributes:
        codes: the code of every row, for each column.
        sizes: how many codes each column has.
        lists: the columns with a list of values, which may be joined.
    """

    codes: Mapping[str, Codes]
    sizes: Mapping[str, int]
    lists: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> int:
        """How many rows were looked at."""
        return len(next(iter(self.codes.values()), ()))

    @cached_property
    def determined(self) -> dict[str, str]:
        """Columns that another one fixes in every row, each with that one; chains are cut to their head.

        The column with most values comes first, so that what fixes is never itself fixed.
        """
        found: dict[str, str] = {}
        seen = {n: len(np.unique(c)) for n, c in self.codes.items()}
        place = {n: i for i, n in enumerate(self.codes)}
        heads = sorted((n for n in self.codes if 2 <= seen[n] <= self.rows / 20), key=lambda n: (-seen[n], place[n]))
        for head in heads:
            if head in found:
                continue
            _, first, group = np.unique(self.codes[head], return_index=True, return_inverse=True)
            for name in self.codes:
                if name == head or name in found or not 2 <= seen[name] <= seen[head] or self._is_head(name, found):
                    continue
                fixed = self.codes[name][first][group]
                if self._evidence(name, seen[head]) >= _EVIDENCE and np.array_equal(fixed, self.codes[name]):
                    found[name] = head
        return found

    @staticmethod
    def _is_head(name: str, found: Mapping[str, str]) -> bool:
        return name in found.values()

    def _evidence(self, name: str, groups: int) -> float:
        """How many rows would differ from their group if the column were drawn without regard to it."""
        share = np.bincount(self.codes[name]) / self.rows
        return float((self.rows - groups) * (1 - (share**2).sum()))

    @cached_property
    def joins(self) -> tuple[Join, ...]:
        """Sets of columns, none in two of them, that occur in far fewer combinations than chance gives."""
        free = [n for n in self.lists if 2 <= self.sizes[n] <= _MOST_SIZE and n not in self.determined]
        strength = {p: s for p in combinations(free, 2) if (s := self._shortage(p)) < _FEW}
        out: list[Join] = []
        used: set[str] = set()
        for pair in sorted(strength, key=lambda p: (strength[p], p)):
            if used & {*pair}:
                continue
            group = self._grown(pair, [n for n in free if n not in used and n not in pair], strength)
            used |= {*group}
            ordered = tuple(n for n in self.codes if n in group)
            out.append(Join(ordered, len(np.unique(self._crossed(ordered))), self._cells(ordered)))
        return tuple(out)

    def _grown(
        self, group: tuple[str, ...], free: list[str], strength: Mapping[tuple[str, str], float]
    ) -> tuple[str, ...]:
        """The group with further columns, while each is short of combinations with one already in it.

        A group that stays small may take a column for little gain; a large one must gain much.
        """
        for name in free:
            ties = [strength.get((a, name), strength.get((name, a), 1.0)) for a in group]
            wider = (*group, name)
            if len(wider) > _MOST_PARTS or min(ties) >= _FEW or self._cells(wider) > _MOST_CELLS:
                continue
            before, after = (len(np.unique(self._crossed(g))) for g in (group, wider))
            gain = _SOME_GAIN if after <= _SMALL else _GAIN
            if after <= gain * before * self.sizes[name]:
                group = wider
        return group

    def _shortage(self, pair: tuple[str, ...]) -> float:
        """Combinations seen, as a share of those that independent columns would show in as many rows."""
        a, b = pair
        if self._cells(pair) > _MOST_CELLS:
            return 1.0
        both = np.bincount(self._crossed(pair), minlength=self._cells(pair))
        table = both.reshape(self.sizes[a], self.sizes[b])
        expected = np.outer(table.sum(1), table.sum(0)) / max(self.rows, 1)
        surely = 1 - np.exp(-expected)
        return float((both > 0).sum() / max(surely.sum(), 1.0))

    def _crossed(self, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
        out = np.zeros(self.rows, np.int64)
        for name in names:
            out = out * self.sizes[name] + self.codes[name]
        return out

    def _cells(self, names: tuple[str, ...]) -> int:
        return int(np.prod([self.sizes[n] for n in names], dtype=np.int64))
