"""Urns by exhaustion: the law of the draw, and the largest ratio over all neighbours, in exact fractions."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from hedgerow.errors import JobError
from hedgerow.private import urns
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal, Tree
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.urn import Urn, price_urn
from hedgerow.public.schema import Schema
from tests.oracles import dirichlet_multinomial as dm
from tests.privacy.urn_checks import check_crossing, check_urn_law, law_of
from tests.privacy.world import SCHEMA


def test_a_row_that_crosses_groups_tells_no_more_than_its_price() -> None:
    check_crossing()


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
    assert moved == urn.ratio(1, len(alphas), crosses=False) == dm.largest_ratio(weights, size)
    assert added <= urn.ratio(1, len(alphas), crosses=False)


def test_the_ratio_of_add_remove_is_approached_as_the_table_grows() -> None:
    near = [dm.probability((3, 0), (1, n), (1, 1)) / dm.probability((3, 0), (0, n), (1, 1)) for n in (1, 30, 3000)]
    assert near == sorted(near)
    assert Fraction(399, 100) < near[-1] < Urn((3,), (1, 1), 1).ratio(1, 2, crosses=False) == 4


def test_a_row_that_changes_its_group_pays_in_both() -> None:
    urn = Urn((3,), (2,), 1, groups=1)
    bound = urn.ratio(2, 2, crosses=True)
    assert bound == (1 + Fraction(3, 2)) * (1 + Fraction(3, 4))
    leave = max(
        dm.probability((3, 0), (1, n), (2, 2)) / dm.probability((3, 0), (0, n), (2, 2)) for n in (0, 5, 100, 5000)
    )
    enter = dm.probability((0, 3), (0, 0), (2, 2)) / dm.probability((0, 3), (1, 0), (2, 2))
    assert Fraction(99, 100) * bound < leave * enter <= bound
    assert urn.ratio(2, 2, crosses=False) == 1 + Fraction(3, 2)


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
    assert urns.draw(Urn((5,), (1,), 1), np.zeros(1, np.int64), 1).tolist() == [[5]]
    assert urns.draw(Urn((5,), (1,), 10**6), np.array([10**12, 0]), 1).sum() == 5
    assert urns.draw(Urn((0,), (1,), 1), np.array([3, 4]), 1).tolist() == [[0, 0]]


class _Cheap(Urn):
    def ratio(self, groups: int, cells: int, *, crosses: bool) -> Fraction:
        return Fraction(1)


def test_what_could_be_priced_wrongly_is_refused() -> None:
    coding = Schema.loads(SCHEMA).coding
    tariff = Tariff(coding, Guarantee(), "pure")
    sex, urn = Marginal(("sex",)), Urn((1,), (1,), 1)
    assert price_urn(tariff, sex, urn, Fraction(1)).cost == 1
    split = Tree.of(("race",), 2, [0], [0], [-1 - c % 2 for c in range(coding.sizes["race"])])
    for question, odd in (
        (Marginal(("sex",), split), urn),  # its leaves would be groups that nobody prices
        (sex, Urn((1,), (5 * 10**17,), 10**18)),  # counts times this grain would pass 64 bits
        (sex, _Cheap((1,), (1,), 1)),  # not our arithmetic
    ):
        with pytest.raises(JobError, match="urn needs"):
            price_urn(tariff, question, odd, Fraction(1))


def test_copies_are_further_balls_of_the_same_urn() -> None:
    urn = Urn((2,), (1, 2), 1, copies=2)
    both, law = law_of(urn, (1, 0), 1), dm.pmf((1, 0), (1, 2), 4)
    for whole, chance in law.items():
        parts = {z: p for z, p in both.items() if tuple(np.array(z).reshape(2, 2).sum(axis=0).tolist()) == whole}
        assert sum(parts.values()) == chance
        for z, p in parts.items():  # given the sum, how it falls into copies tells nothing: hypergeometric
            ways = [comb(2, z[0]) * comb(2, z[2]), comb(4, whole[0])]
            assert p == chance * Fraction(*ways)
    assert urn.ratio(1, 2, crosses=False) == 1 + Fraction(4, 1)


def test_balls_drawn_in_blocks_follow_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = law_of(Urn((4,), (1, 1), 1), (1, 0), 1)
    drawn = [int(urns.draw(Urn((4,), (1, 1), 1), np.array([1, 0]), 1)[0, 0]) for _ in range(400)]
    monkeypatch.setattr(urns, "_BLOCK", 2)
    blocks = [int(urns.draw(Urn((4,), (1, 1), 1), np.array([1, 0]), 1)[0, 0]) for _ in range(4000)]
    for z in range(5):
        chance = float(whole[z, 4 - z])
        assert abs(blocks.count(z) - 4000 * chance) < 6 * np.sqrt(4000 * chance)
        assert abs(drawn.count(z) - 400 * chance) < 6 * np.sqrt(400 * chance) + 1
