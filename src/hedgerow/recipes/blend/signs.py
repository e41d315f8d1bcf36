"""A first look at all pairs where noise drowns their cells: which columns lie on the same side of their middle.

Of a pair with two bands each only one number is unknown once the one-way tables are: how many rows are on the same
side in both columns.  A table of its four cells spends half of its precision on what is known.  Two counts, the same
side or not, tell that number with half the variance; and one question about three columns, in four counts, tells it
for three pairs at once, with a third of the variance that three tables of four cells have at the same cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from hedgerow.model.tables import Floats, Key, Pair
from hedgerow.public import Marginal, Measurement, Tree, law_of
from hedgerow.recipes.blend.axes import Axes, Places
from hedgerow.recipes.blend.bands import BandedPair


@final
@dataclass(frozen=True, eq=False)
class Signs:
    """Noisy answers about which columns lie on the same side.

    Attributes:
        sides: 0 or 1 for every value of every column.
        answers: by the two or three columns of a question.
    """

    sides: Sequence[Places]
    answers: Mapping[Key, Measurement]

    def tables(self) -> dict[Pair, tuple[BandedPair, Floats, float]]:
        """For every pair its two bands each, a table of them, and the variance of the noise on its cells.

        The table says nothing of its own sums: it is for ``BandedPair.seen``, which gives it those that are expected.
        """
        found: dict[Pair, tuple[BandedPair, Floats, float]] = {}
        for key, m in self.answers.items():
            unlike = np.array(_unlike(len(key)))
            for a, b in combinations(range(len(key)), 2):
                apart = unlike[:, a] != unlike[:, b]
                same, other = float(m.counts[~apart].sum()), float(m.counts[apart].sum())
                table, pair = np.array([same, other, other, same]) / 2, (key[a], key[b])
                bands = BandedPair(self.sides[pair[0]], self.sides[pair[1]])
                found[pair] = bands, table, law_of(m.noise).variance * len(unlike) / 4
        return found


def sides_of(counts: Floats, *, steps: int) -> Places:
    """A side, 0 or 1, for every value of a column with these noisy counts; both have about as many rows.

    The first ``steps`` values stand in order and are cut once; of others each, the frequent first, joins the side
    that has less so far.  Two sides of the most frequent value and the rest would hide what the rest has to tell.

    >>> sides_of(np.array([5.0, 5.0, 5.0, 5.0, 9.0]), steps=5).tolist()
    [0, 0, 0, 1, 1]
    >>> sides_of(np.array([50.0, 20.0, 30.0, 40.0]), steps=0).tolist()
    [0, 0, 1, 1]
    """
    counts = np.maximum(counts, 0.0)
    steps = steps if steps > 2 else 0
    found, sums = np.zeros(len(counts), np.intp), np.zeros(2)
    if steps:
        ends = np.cumsum(counts[:steps])
        cut = int(np.argmin(np.abs(ends[:-1] - ends[-1] / 2))) + 1
        found[cut:steps] = 1
        sums += counts[:cut].sum(), counts[cut:steps].sum()
    for value in steps + np.argsort(-counts[steps:], kind="stable"):
        found[value] = int(sums[1] < sums[0])
        sums[found[value]] += counts[value] + 1e-9
    return found


def _unlike(columns: int) -> list[tuple[int, ...]]:
    """For every leaf: whether each column lies on the other side than the first."""
    return [(0, 0), (0, 1)] if columns == 2 else [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]


def sign_question(axes: Axes, key: Key, sides: Sequence[Places]) -> Marginal:
    """In which of two or three columns a row lies on the other side than in the first: a leaf for every case."""
    cuts = [sides[i] for i in key]
    look, child = [0], [1 + cuts[0]]
    if len(key) == 3:  # splits 1 and 2 look at the second column, 3 to 6 at the third
        look += [1, 1, 2, 2, 2, 2]
        child += [3 + 2 * side + (cuts[1] != side) for side in (0, 1)]
        child += [-1 - (2 * unlike + (cuts[2] != side)) for side in (0, 1) for unlike in (0, 1)]
    else:
        look += [1, 1]
        child += [-1 - (cuts[1] != side).astype(np.intp) for side in (0, 1)]
    starts = np.cumsum([0, *(len(c) for c in child[:-1])])
    names = tuple(axes.names[i] for i in key)
    return Marginal((), Tree.of(names, len(_unlike(len(key))), look, starts, np.concatenate(child)))


def in_threes(columns: Sequence[int]) -> list[Key]:
    """Every pair of ``columns`` in one question: in threes as far as these fit, else alone.

    >>> in_threes([0, 1, 2, 5])
    [(0, 1, 2), (0, 5), (1, 5), (2, 5)]
    """
    pairs = list(combinations(columns, 2))
    left, found = set(pairs), list[Key]()
    for a, b in pairs:
        if (a, b) in left:
            third = (c for c in columns if c > b and (a, c) in left and (b, c) in left)
            key = (a, b, *list(third)[:1])
            found.append(key)
            left -= set(combinations(key, 2))
    return found


def beyond_chance(chances: Mapping[Pair, float], level: float) -> list[Pair]:
    """The pairs that chance does not explain, given how often it would: of them, about ``level`` are wrong.

    The rule is that of Benjamini and Hochberg (1995).

    >>> beyond_chance({(0, 1): 0.01, (0, 2): 0.9, (1, 2): 0.15}, 0.3)
    [(0, 1), (1, 2)]
    """
    order = sorted(chances, key=lambda p: (chances[p], p))
    kept = max((n for n, p in enumerate(order, 1) if chances[p] <= level * n / len(order)), default=0)
    return order[:kept]
