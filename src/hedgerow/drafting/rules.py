"""Order between columns of numbers, and values bound to a range of another column.

>>> service = np.arange(1000.0) % 30
>>> always_below({"service": service, "age": 20 + service + np.arange(1000) % 7 * 5, "n": service[::-1]})
()
>>> always_below({"low": service, "high": service + np.arange(1000) % 3})
(('low', 'high'),)
"""

from collections.abc import Mapping
from itertools import permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer]
_VIOLATIONS, _LEAST_ROWS, _MOST_RULES, _COMPARABLE = 50, 100, 12, 0.2


class Split(NamedTuple):
    """Values of ``column`` that occur exactly up to ``last`` of ``by``, all others only from ``first`` on."""

    column: str
    codes: tuple[int, ...]
    by: str
    last: float
    first: float


def always_below(numbers: Mapping[str, Floats]) -> tuple[tuple[str, str], ...]:
    """Pairs with left <= right in every row where both are known, although unrelated rows would break it.

    Unrelated is judged by moving one column on by a third of the table.  A left column that hardly varies
    beside the right one (a number of persons, an age) is no comparison.  Pairs that follow from two others
    are left away.
    """
    held: set[tuple[str, str]] = set()
    for left, right in permutations(numbers, 2):
        a, b = numbers[left], numbers[right]
        known = ~(np.isnan(a) | np.isnan(b))
        if known.sum() < _LEAST_ROWS or (a[known] > b[known]).any() or (a[known] == b[known]).all():
            continue
        moved = np.roll(b, len(b) // 3)
        if (a > moved).sum() >= _VIOLATIONS and _spread(a[known]) >= _COMPARABLE * _spread(b[known]):
            held.add((left, right))
    implied = {(a, c) for a, b in held for b2, c in held if b == b2 and (a, c) in held}
    return tuple(sorted(held - implied, key=lambda p: [list(numbers).index(n) for n in p]))[:_MOST_RULES]


def _spread(x: Floats) -> float:
    return float(np.subtract(*np.quantile(x, [0.99, 0.01])))


def splits(lists: Mapping[str, tuple[Codes, int]], numbers: Mapping[str, Floats]) -> tuple[Split, ...]:
    """Values of a list that lie wholly below (or above) all the others along a number: N/A under 15."""
    out = []
    for column, (codes, size) in lists.items():
        for by, number in numbers.items():
            known = ~np.isnan(number)
            if by == column or known.sum() < _LEAST_ROWS:
                continue
            if (found := _split(column, codes[known], size, by=by, number=number[known])) is not None:
                out.append(found)
                break
    return tuple(out)[:_MOST_RULES]


def _split(column: str, codes: Codes, size: int, *, by: str, number: Floats) -> Split | None:
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
    return Split(column, tuple(int(c) for c in order[:k]), by, float(reach[k - 1]), float(low[order[k]]))
