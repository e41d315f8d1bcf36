"""Which combinations of levels are run: all of them, or a regular fraction whose confusions are known and stated.

A fraction is made for the factors that have the same prime number s of levels.  Levels are numbers modulo s, and
some factors follow from the others by a sum modulo s: with s = 2 this is the two-level fractional factorial of Box
and Hunter, with one following factor of s levels each it is a Latin square.  Groups of factors with different numbers
of levels are crossed in full.  All levels of a factor, and all pairs of levels of two, occur equally often.

    >>> d = fraction((2, 2, 2), at_most=4)
    >>> d.cells, d.words
    (((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)), ((1, 1, 1),))
    >>> d.confused(("A", "B", "C"))
    ['A = B x C', 'B = A x C', 'C = A x B', 'A x B = C', 'A x C = B', 'B x C = A']
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from math import prod
from typing import final

from hedgerow.errors import JobError

Cell = tuple[int, ...]
Word = tuple[int, ...]
_TRIES = 4000


@final
@dataclass(frozen=True)
class Design:
    """Which cells are run.

    Attributes:
        levels: of each factor, how many.
        cells: the level of every factor, for each cell that is run.
        words: sums of levels that are the same in every cell: a whole number for each factor, the defining relation.
    """

    levels: tuple[int, ...]
    cells: tuple[Cell, ...]
    words: tuple[Word, ...] = ()

    @property
    def share(self) -> float:
        """How much of all combinations is run."""
        return len(self.cells) / prod(self.levels)

    @property
    def resolution(self) -> int | None:
        """The fewest factors in a word: at 3 factors are confused with pairs, at 4 pairs with pairs; None if full."""
        return min((sum(1 for x in w if x) for w in self.words), default=None)

    def confused(self, names: Sequence[str]) -> list[str]:
        """Which main effects and two-way interactions cannot be told apart, or only in part, a line for each."""
        effects = [e for k in (1, 2) for e in combinations(range(len(names)), k)]
        label = {e: " x ".join(names[i] for i in e) for e in effects}
        lines = []
        for e in effects:
            met = self._met_by(e)
            if other := [label[f] for f in effects if f in met]:
                lines.append(f"{label[e]} = {', '.join(other)}")
        return lines

    def _met_by(self, effect: tuple[int, ...]) -> set[tuple[int, ...]]:
        """The effects a part of which is, in these cells, the same as a part of ``effect``."""
        met = set()
        for part in product(*(range(1, self.levels[i]) for i in effect)):
            at = dict(zip(effect, part, strict=True))
            for word in self.words:
                s = next(n for x, n in zip(word, self.levels, strict=True) if x)
                for k in range(1, s):
                    moved = [
                        (at.get(i, 0) + k * x) % n for i, (x, n) in enumerate(zip(word, self.levels, strict=True))
                    ]
                    met.add(tuple(i for i, x in enumerate(moved) if x))
        return met - {effect}


def full(levels: Sequence[int]) -> Design:
    """Every combination."""
    return Design(tuple(levels), tuple(product(*map(range, levels))))


def fraction(levels: Sequence[int], *, at_most: int) -> Design:
    """The largest regular fraction of no more than ``at_most`` cells, of the best resolution that is found."""
    levels = tuple(levels)
    groups = {s: [i for i, n in enumerate(levels) if n == s] for s in sorted(set(levels)) if _is_prime(s)}
    following = dict.fromkeys(groups, 0)
    size = prod(levels)
    while size > at_most:
        able = [s for s, g in groups.items() if _room(s, len(g), following[s] + 1)]
        if not able:
            raise JobError(
                f"No fraction of {prod(levels)} cells with {at_most} or fewer keeps all main effects apart: the\n"
                f"smallest has {size}. Raise runs_at_most, or give factors fewer levels (2 or 3, the same for\n"
                "several, are best). Nothing was read or spent."
            )
        best = max(able, key=lambda s: (len(groups[s]) - following[s], -s))
        following[best] += 1
        size //= best
    words = [_spread(w, g, levels) for s, g in groups.items() for w in _best_words(s, len(g), following[s])]
    cells = [c for c in product(*map(range, levels)) if all(_holds(w, c, levels) for w in words)]
    return Design(levels, tuple(cells), tuple(_span(words, levels)))


def _holds(word: Word, cell: Cell, levels: tuple[int, ...]) -> bool:
    s = next(n for x, n in zip(word, levels, strict=True) if x)
    return sum(x * c for x, c in zip(word, cell, strict=True)) % s == 0


def _spread(word: Word, group: Sequence[int], levels: tuple[int, ...]) -> Word:
    at = dict(zip(group, word, strict=True))
    return tuple(at.get(i, 0) for i in range(len(levels)))


def _span(words: Sequence[Word], levels: tuple[int, ...]) -> Iterator[Word]:
    """Every sum of multiples of the words of one group, once up to a factor."""
    for s in sorted(set(levels)):
        own = [w for w in words if any(x and n == s for x, n in zip(w, levels, strict=True))]
        seen = set()
        for times in product(range(s), repeat=len(own)):
            word = tuple(sum(t * w[i] for t, w in zip(times, own, strict=True)) % s for i in range(len(levels)))
            first = next((x for x in word if x), 0)
            if first:
                seen.add(tuple(x * pow(first, -1, s) % s for x in word))
        yield from sorted(seen)


def _best_words(s: int, factors: int, following: int) -> list[Word]:
    """For each following factor a word; the set with the longest shortest word, and the fewest of that length."""
    free = factors - following
    sums = [c for c in product(range(s), repeat=free) if sum(1 for x in c if x) >= 2]
    sums.sort(key=lambda c: -sum(1 for x in c if x))
    best: tuple[tuple[int, int], list[Word]] | None = None
    for chosen in islice(combinations(sums, following), _TRIES):
        words = [
            (*((-x) % s for x in c), *(1 if j == i else 0 for j in range(following))) for i, c in enumerate(chosen)
        ]
        spanned = list(_span(words, (s,) * factors))
        lengths = [sum(1 for x in w if x) for w in spanned]
        if lengths and min(lengths) < 3:
            continue
        score = (min(lengths, default=factors + 1), -lengths.count(min(lengths, default=0)))
        if best is None or score > best[0]:
            best = score, words
    return best[1] if best else []


def _room(s: int, factors: int, following: int) -> bool:
    """Whether so many following factors can be kept apart from each other and from the free ones."""
    free = factors - following
    return free >= 2 and factors <= (s**free - 1) // (s - 1)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))
