"""What holds between the columns of a public table.

It is suggested for a person to judge, never switched on.  It is looked for on an even sample of rows: fixed columns,
few combinations and what excludes what in codes, as the drafted schema makes them; order and one-sided values in
numbers.  Only a relation far from what unrelated columns would show is suggested.

>>> area = np.arange(4000) % 40
>>> Relations({"area": area, "state": area // 10}, {"area": 40, "state": 4}).determined
{'state': 'area'}
>>> service = np.arange(1000.0) % 30
>>> always_below({"service": service, "age": 20 + service + np.arange(1000) % 7 * 5, "n": service[::-1]})
()
>>> always_below({"low": service, "high": service + np.arange(1000) % 3})
(('low', 'high'),)
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

_EVIDENCE = 100.0
_MOST_SIZE, _MOST_CELLS, _MOST_PARTS, _SMALL = 40, 4_000, 6, 64
_FEW, _GAIN, _SOME_GAIN = 0.76, 0.6, 0.95
_VIOLATIONS, _LEAST_ROWS, _MOST_RULES, _COMPARABLE, _MANY_BROKEN = 50, 100, 12, 0.2, 0.02
_EXPECTED, _MOST_STATES, _MOST_EXCLUSIONS = 25.0, 20, 3
Codes = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]


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
        if _evidence(code, repeats) >= _EVIDENCE and np.array_equal(code[first][group], code):
            out.append(name)
    return tuple(out)


def _evidence(codes: Codes, repeats: int) -> float:
    """Of so many rows that repeat a group, how many would differ from it in an unrelated column."""
    share = np.bincount(codes) / max(len(codes), 1)
    return float(repeats * (1 - (share**2).sum()))


class FewCombinations(NamedTuple):
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
                if name == head or name in found or not 2 <= seen[name] <= seen[head] or name in found.values():
                    continue
                codes, repeats = self.codes[name], self.rows - seen[head]
                if _evidence(codes, repeats) >= _EVIDENCE and np.array_equal(codes[first][group], codes):
                    found[name] = head
        return found

    @cached_property
    def joins(self) -> tuple[FewCombinations, ...]:
        """Sets of columns, none in two of them, that occur in far fewer combinations than chance gives."""
        free = [n for n in self.lists if 2 <= self.sizes[n] <= _MOST_SIZE and n not in self.determined]
        strength = {p: s for p in combinations(free, 2) if (s := self._shortage(p)) < _FEW}
        out: list[FewCombinations] = []
        used: set[str] = set()
        for pair in sorted(strength, key=lambda p: (strength[p], p)):
            if used & {*pair}:
                continue
            group = self._grown(pair, [n for n in free if n not in used and n not in pair], strength)
            used |= {*group}
            ordered = tuple(n for n in self.codes if n in group)
            out.append(FewCombinations(ordered, len(np.unique(self._crossed(ordered))), self._cells(ordered)))
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


class Threshold(NamedTuple):
    """Values of ``column`` that occur exactly up to ``last`` of ``by``, all others only from ``first`` on."""

    column: str
    codes: tuple[int, ...]
    by: str
    last: float
    first: float


def always_below(numbers: Mapping[str, Floats]) -> tuple[tuple[str, str], ...]:
    """Pairs with left <= right in every row where both are known, although unrelated rows would break it.

    Unrelated is judged by moving one column on by a third of the table.  A left column that hardly varies
    beside the right one (a number of persons, an age) is no comparison, unless many unrelated rows would break the
    order (the pay of a month, and of the year to date).  Pairs that follow from two others are left away.
    """
    ordered: set[tuple[str, str]] = set()
    for left, right in permutations(numbers, 2):
        a, b = numbers[left], numbers[right]
        known = ~(np.isnan(a) | np.isnan(b))
        if known.sum() < _LEAST_ROWS or (a[known] > b[known]).any() or (a[known] == b[known]).all():
            continue
        broken = int((a > np.roll(b, len(b) // 3)).sum())
        alike = _spread(a[known]) >= _COMPARABLE * _spread(b[known]) or broken >= _MANY_BROKEN * len(a)
        if broken >= _VIOLATIONS and alike:
            ordered.add((left, right))
    implied = {(a, c) for a, b in ordered for b2, c in ordered if b == b2 and (a, c) in ordered}
    return tuple(sorted(ordered - implied, key=lambda p: [list(numbers).index(n) for n in p]))[:_MOST_RULES]


def _spread(x: Floats) -> float:
    return float(np.subtract(*np.quantile(x, [0.99, 0.01])))


class Exclusion(NamedTuple):
    """States of ``column`` that never stand beside states of ``other``, where chance would give so many rows."""

    column: str
    states: tuple[int, ...]
    other: str
    others: tuple[int, ...]
    expected: float


def exclusions(states: Mapping[str, tuple[Codes, int]], known: Set[frozenset[str]]) -> tuple[Exclusion, ...]:
    """States that exclude each other, but for pairs of columns that are ``known`` to be related otherwise.

    Pairs of columns with more than a few of them are left to joins.

    >>> works = np.arange(4000) % 2
    >>> exclusions({"works": (works, 2), "hours": (np.where(works == 0, 0, np.arange(4000) // 2 % 2), 2)}, set())
    (Exclusion(column='works', states=(0,), other='hours', others=(1,), expected=500.0),)
    """
    found: list[Exclusion] = []
    for a, b in combinations([n for n, (_, size) in states.items() if 2 <= size <= _MOST_STATES], 2):
        (x, rows), (y, columns) = states[a], states[b]
        both = np.bincount(x * columns + y, minlength=rows * columns).reshape(rows, columns)
        expected = np.outer(both.sum(1), both.sum(0)) / max(both.sum(), 1)
        never = (both == 0) & (expected >= _EXPECTED)
        patterns = [p for p in np.unique(never, axis=0) if p.any()]
        if frozenset((a, b)) in known or len(patterns) > _MOST_EXCLUSIONS:
            continue
        for p in patterns:
            mine = np.flatnonzero((never == p).all(1))
            others = tuple(np.flatnonzero(p).tolist())
            found.append(Exclusion(a, tuple(mine.tolist()), b, others, float(expected[mine][:, p].sum())))
    return tuple(sorted(found, key=lambda e: -e.expected))[:_MOST_RULES]


def thresholds(lists: Mapping[str, tuple[Codes, int]], numbers: Mapping[str, Floats]) -> tuple[Threshold, ...]:
    """Values of a list that lie wholly below (or above) all the others along a number: N/A under 15."""
    out = []
    for column, (codes, size) in lists.items():
        for by, number in numbers.items():
            known = ~np.isnan(number)
            if by == column or known.sum() < _LEAST_ROWS:
                continue
            if (found := _threshold(column, codes[known], size, by=by, number=number[known])) is not None:
                out.append(found)
                break
    return tuple(out)[:_MOST_RULES]


def _threshold(column: str, codes: Codes, size: int, *, by: str, number: Floats) -> Threshold | None:
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, codes, number)
    np.maximum.at(high, codes, number)
    count = np.bincount(codes, minlength=size)
    order = np.argsort(low)
    order = order[count[order] > 0]
    reach = np.maximum.accumulate(high[order])
    cuts = [k for k in range(1, len(order)) if reach[k - 1] < low[order[k]]]
    if len(cuts) != 1:  # several: the list is a banding of the number, not a gate at one point
        return None
    k = cuts[0]
    below = int(count[order[:k]].sum())
    if min(below, len(codes) - below) < _VIOLATIONS:
        return None
    return Threshold(column, tuple(int(c) for c in order[:k]), by, float(reach[k - 1]), float(low[order[k]]))
