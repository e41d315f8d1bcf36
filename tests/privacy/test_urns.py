"""Urns by exhaustion: the law of the draw, and the largest ratio over all neighbours, in exact fractions."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hedgerow.model import dirichlet_multinomial as dm
from hedgerow.model import gamma_poisson as gp
from hedgerow.private import entropy, urns
from hedgerow.public.urn import Urn
from tests.privacy.urn_checks import check_urn_law, law_of


def test_the_draw_follows_its_law_exactly() -> None:
    check_urn_law()


@pytest.mark.parametrize(
    ("rows", "size", "alphas"), [(3, 3, (1, 1)), (2, 2, (2, 1, 3)), (3, 4, (1, 1, 2)), (1, 5, (3, 2)), (4, 1, (1, 1))]
)
def test_the_largest_ratio_over_all_neighbours_is_the_one_that_is_priced(
    rows: int, size: int, alphas: tuple[int, ...]
) -> None:
    urn = Urn((size,), alphas, 2)
    weights = [Fraction(a, 2) for a in alphas]
    laws = {y: dm.pmf(y, weights, size) for n in (rows, rows - 1) for y in dm.tables(len(alphas), n)}
    moved, added = Fraction(1), Fraction(1)
    for one, two in product(laws, repeat=2):
        ratio = max(laws[one][z] / laws[two][z] for z in laws[one])
        gap = [a - b for a, b in zip(one, two, strict=True)]
        if sorted(gap)[:1] + sorted(gap)[-1:] == [-1, 1] and sum(map(abs, gap)) == 2:
            moved = max(moved, ratio)
        elif sum(map(abs, gap)) == 1:
            added = max(added, ratio)
    assert moved == urn.ratio(1, len(alphas), moves=True, crosses=False) == dm.largest_ratio(weights, size)
    assert added <= urn.ratio(1, len(alphas), moves=False, crosses=False)


def test_the_ratio_of_add_remove_is_approached_as_the_table_grows() -> None:
    near = [dm.probability((3, 0), (1, n), (1, 1)) / dm.probability((3, 0), (0, n), (1, 1)) for n in (1, 30, 3000)]
    assert near == sorted(near)
    assert Fraction(399, 100) < near[-1] < Urn((3,), (1, 1), 1).ratio(1, 2, moves=False, crosses=False) == 4


def test_a_row_that_changes_its_group_pays_in_both() -> None:
    urn = Urn((3,), (2,), 1, groups=1)
    bound = urn.ratio(2, 2, moves=True, crosses=True)
    assert bound == (1 + Fraction(3, 2)) * (1 + Fraction(3, 4))
    leave = max(
        dm.probability((3, 0), (1, n), (2, 2)) / dm.probability((3, 0), (0, n), (2, 2)) for n in (0, 5, 100, 5000)
    )
    enter = dm.probability((0, 3), (0, 0), (2, 2)) / dm.probability((0, 3), (1, 0), (2, 2))
    assert Fraction(99, 100) * bound < leave * enter <= bound
    assert urn.ratio(2, 2, moves=True, crosses=False) == 1 + Fraction(3, 2)


@pytest.mark.parametrize("odds", [(1, 2), (3, 5, 4), (1, 9)])
def test_unequal_odds_never_tell_more_than_is_priced(odds: tuple[int, ...]) -> None:
    a = [1, 2, 1][: len(odds)]
    urn = Urn((4,), tuple(a), 1, odds=odds)
    pis = [Fraction(o, 10) for o in odds]
    laws = {y: gp.pmf(y, a, pis, 4) for n in range(4) for y in dm.tables(len(odds), n)}
    moved, added = Fraction(1), Fraction(1)
    for one, two in product(laws, repeat=2):
        ratio = max(laws[one][z] / laws[two][z] for z in laws[one])
        gap = sum(abs(x - y) for x, y in zip(one, two, strict=True))
        if gap == 2 and sum(one) == sum(two):
            moved = max(moved, ratio)
        elif gap == 1:
            added = max(added, ratio)
    assert moved <= urn.ratio(1, len(odds), moves=True, crosses=False)
    assert added <= urn.ratio(1, len(odds), moves=False, crosses=False)
    assert moved > dm.largest_ratio(a, 4), "the Dirichlet-multinomial formula would under-state it"


def test_the_draw_given_the_sum_follows_its_law_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    urn, y = Urn((2,), (1, 2, 1), 1, odds=(1, 3, 2)), np.array([1, 0, 1])
    law: Counter[tuple[int, ...]] = Counter()

    def explore(path: tuple[int, ...], chance: Fraction) -> None:
        asked: list[int] = []
        left = list(path)

        def below(n: int) -> int:
            asked.append(n)
            return left.pop(0) if left else -1

        monkeypatch.setattr(entropy, "below", below)
        drawn = urns.draw(urn, y, 1)
        if len(asked) == len(path):
            law[tuple(drawn.tolist())] += chance  # type: ignore[assignment]
            return
        for u in range(asked[len(path)]):
            explore((*path, u), chance / asked[len(path)])

    monkeypatch.setattr(entropy, "below", lambda n: 0)
    explore((), Fraction(1))
    assert law == gp.pmf((1, 0, 1), (1, 2, 1), (Fraction(1, 4), Fraction(3, 4), Fraction(2, 4)), 2)


def test_uniform_numbers_below_many_bounds_are_uniform() -> None:
    bounds = np.tile(np.array([1, 2, 3, 5, 8, 1000], np.int64), 20_000)
    drawn = urns.below_each(bounds).reshape(-1, 6)
    for column, bound in zip(drawn.T, (1, 2, 3, 5, 8), strict=False):
        counts = np.bincount(column, minlength=bound)
        assert len(counts) == bound
        assert np.abs(counts - 20_000 / bound).max() < 6 * np.sqrt(20_000 / bound)
    assert drawn[:, 5].max() < 1000


def test_groups_are_drawn_apart_and_each_to_its_own_size() -> None:
    urn = Urn((3, 0, 4), (1,) * 6, 1, groups=1)
    for _ in range(50):
        drawn = urns.draw(urn, np.array([10**6, 0, 5, 5, 0, 10**6]), 3).reshape(3, 2)
        assert drawn.sum(axis=1).tolist() == [3, 0, 4]

    two = law_of(Urn((1, 2), (1, 1, 1, 2), 1, groups=1), (1, 0, 0, 1), 2)
    one, other = dm.pmf((1, 0), (1, 1), 1), dm.pmf((0, 1), (1, 2), 2)
    assert two == {(*a, *b): p * q for a, p in one.items() for b, q in other.items()}


def test_huge_counts_and_empty_tables_can_be_drawn() -> None:
    assert urns.draw(Urn((5,), (1,), 1), np.zeros(1, np.int64), 1).tolist() == [5]
    assert urns.draw(Urn((5,), (1,), 10**6), np.array([10**12, 0]), 1).sum() == 5
    assert urns.draw(Urn((0,), (1,), 1), np.array([3, 4]), 1).tolist() == [0, 0]
