"""Shares of moves: public ones where noise is all that differs, measured ones where more does; and what is drawn."""

from dataclasses import replace

import numpy as np
import polars as pl

from hedgerow.answers import StandInGate
from hedgerow.counting.plan import leaf_of
from hedgerow.model.career_paths import PublicPaths, coupled
from hedgerow.model.career_times import best_window
from hedgerow.model.careers import (
    Growth,
    MoveTable,
    Rises,
    StepNumber,
    bands_of,
    changes_by_ratio,
    crossed,
    destinations,
    moved_shares,
    shrunk_shares,
)
from hedgerow.public import (
    CareerCoding,
    CodedTable,
    Guarantee,
    PublicData,
    Schema,
    Tariff,
    Tree,
    Window,
    budget_for,
    coding_of,
    nearest_values,
)
from hedgerow.public.coding import CodedColumn
from hedgerow.recipes.careers import Careers
from hedgerow.records import draw_one

KNOWN = np.array([[0.96, *[0.04 / 24] * 24]])
STEPS = 14_000


def test_noise_on_many_rare_moves_is_not_taken_for_people_who_move() -> None:
    """Nearly all stay, and the noise of 25 cells is in the sum of all: that must not look like a drift."""
    rng = np.random.default_rng(1)
    moving = []
    for _ in range(200):
        noisy = KNOWN * STEPS + rng.normal(0, 250, KNOWN.shape)
        moving.append(1 - shrunk_shares(noisy, 250.0**2, KNOWN, 0)[0, 0])
    assert np.mean(np.abs(np.array(moving) - 0.04) < 1e-6) > 0.95, np.unique(np.round(moving, 3), return_counts=True)


def test_moves_that_became_more_frequent_are_found_and_shares_are_shares() -> None:
    rng = np.random.default_rng(2)
    true = np.array([[0.76, 0.2, *[0.04 / 23] * 23]])
    found = shrunk_shares(true * STEPS + rng.normal(0, 20, true.shape), 400.0, KNOWN, 0)
    assert abs(found[0, 0] - 0.76) < 0.03 and abs(found[0, 1] - 0.2) < 0.03
    assert (found >= 0).all() and np.allclose(found.sum(axis=1), 1)


def test_fewer_who_stay_are_told_from_fewer_steps_by_the_other_tables() -> None:
    """Of 15,000 steps 12 % are moves, where 4 % were: by this table alone it could be 13,750 steps and some noise."""
    known, steps, noise = np.array([[0.96, 0.04]]), 15_000, 180.0**2
    rng = np.random.default_rng(4)
    others = StepNumber.by_most([StepNumber(n, noise) for n in (14_900.0, 15_050.0, 13_800.0, 15_200.0)])
    assert others is not None and others.number == 14_900
    found, alone, even = [], [], []
    for _ in range(100):
        noisy, same = np.array([[[0.88, 0.12]], known]) * steps + rng.normal(0, noise**0.5, (2, 1, 2))
        found.append(shrunk_shares(noisy, noise, known, 0, 2.0, 1.7, others)[0, 1])
        alone.append(shrunk_shares(noisy, noise, known, 0, 2.0, 1.7)[0, 1])
        even.append(shrunk_shares(same, noise, known, 0, 2.0, 1.7, others)[0, 1])
    assert abs(np.mean(found) - 0.12) < 0.02, np.mean(found)
    assert abs(np.mean(alone) - 0.12) > abs(np.mean(found) - 0.12), (np.mean(alone), np.mean(found))
    assert np.abs(np.array(even) - 0.04).max() < 0.005, max(even)


def test_a_window_is_found_through_noise() -> None:
    """Public careers of eight times, from 0 on; the confidential table has times 8 to 12, and its own people."""
    rng = np.random.default_rng(3)
    first, span = rng.integers(-20, 8, 60_000), rng.geometric(0.1, 60_000) - 1
    known, noisy = np.zeros((13, 13)), np.zeros((13, 13))
    for table, low, high, to in ((known, 0, 7, 0), (noisy, 3, 7, 8)):
        here = (first + span >= low) & (first <= high)
        begins, ends = np.maximum(first[here], low), np.minimum(first + span, high)[here]
        np.add.at(table, (begins - low + to, ends - begins), 1)
    noise = float(np.square(0.01 * noisy.sum()))
    found = best_window(noisy + rng.normal(0, noise**0.5, noisy.shape), noise, known)
    assert found == Window(3, 5, 8)
    assert best_window(known + rng.normal(0, noise**0.5, known.shape), noise, known) in (None, Window(0, 8, 0))


def test_noise_alone_does_not_choose_a_window() -> None:
    """421 people of twenty times, as the public ones are: with so much noise some window always looks nearer."""
    rng, size = np.random.default_rng(6), 21
    first, last = np.sort(rng.integers(0, size, (2, 3000)), axis=0)
    known = np.bincount(first * size + last - first, minlength=size**2).reshape(size, size)
    drawn = [known * (421 / 3000) + rng.normal(0, 19, known.shape) for _ in range(40)]
    found = [best_window(noisy, 19.0**2, known) for noisy in drawn]
    assert sum(w is not None for w in found) <= 1, found


def paths(on: int = 0) -> PublicPaths:
    """Two public people of three steps each, and one of one: of a at levels 0, 9 and 5, of b at 0, 1 and 0."""
    who, times = np.array([0, 0, 0, 1, 1, 1, 2]), np.array([0, 1, 3, 0, 1, 3, 2], np.uint8)
    codes = {
        "t": times,
        "a": np.array([0, 0, 1, 9, 9, 8, 5], np.uint8),
        "b": np.array([0, 0, 0, 1, 1, 1, 0], np.uint8),
    }
    gaps = np.array([1, 2, 2, 1, 2, 2, 1], np.uint8)
    columns = tuple(CodedColumn(n, "text", size + 2, size, size) for n, size in (("t", 6), ("a", 10), ("b", 2)))
    return PublicPaths.of(codes, CareerCoding(columns, (), "t", (("t", 6), ("a", 10))), gaps, who, on)


def test_public_people_have_steps_and_time_left() -> None:
    assert paths().still.tolist() == [3, 2, 1, 3, 2, 1, 1]
    assert paths().spans.tolist() == [5, 4, 2, 5, 4, 2, 1]


def test_a_person_follows_the_public_one_who_is_most_like_them_with_as_long_to_go() -> None:
    here = {"t": np.zeros(4, np.int64), "a": np.array([0, 9, 0, 9]), "b": np.array([0, 1, 0, 1])}
    rng = np.random.default_rng(1)
    assert paths().nearest(here, np.array([5, 5, 5, 5]), rng).tolist() == [0, 3, 0, 3]
    later = {**here, "t": np.full(4, 2)}
    assert paths(2).nearest(later, np.array([5, 5, 5, 5]), rng).tolist() == [0, 3, 0, 3], "as moved by a window"
    odd = {"t": np.zeros(1, np.int64), "a": np.array([11]), "b": np.array([1])}
    assert paths().nearest(odd, np.array([5]), rng).tolist() == [3], "a missing value is far from all, others are not"


def test_who_has_no_public_step_left_goes_on_with_another_public_person() -> None:
    there = {"t": np.array([1, 3]), "a": np.array([0, 8]), "b": np.array([0, 1])}
    found = paths().further(np.array([0, 2]), there, np.array([4, 2]), np.random.default_rng(2))
    assert found.tolist() == [1, 5]


def test_public_steps_are_followed_in_values_alone_that_are_like_the_public_persons() -> None:
    old, path = np.array([0, 5, 9]), np.array([0, 0, 3])
    assert paths().alike("a", old, path).tolist() == [True, False, True]
    assert paths().alike("b", np.array([0, 1, 1]), path).tolist() == [True, False, True]


def test_moves_that_are_followed_come_as_often_as_the_tables_found_them() -> None:
    """Rarer here than in public: some are drawn anew, no more than must be; where all is as in public, none."""
    rng, n = np.random.default_rng(3), 50_000
    public, shares = np.array([[0.7, 0.2, 0.1]]), np.array([[0.5, 0.2, 0.3]])
    theirs = np.repeat([0, 1, 2], (n * public[0]).astype(int))
    leaf = np.zeros(n, np.int64)
    made, moves = coupled(theirs, leaf, shares, public, rng)
    assert np.abs(np.bincount(moves) / n - shares[0]).max() < 0.01
    assert (moves[made] == theirs[made]).all() and abs(made.mean() - 0.8) < 0.01
    made, moves = coupled(theirs, leaf, public, public, rng)
    assert made.all() and (moves == theirs).all()


def test_somebody_unlike_the_public_person_moves_as_drawn() -> None:
    shares = np.array([[0.5, 0.5]])
    table = MoveTable("b", None, shares, None, None, shares, np.array([1, 1, 1], np.uint8))
    followed, moves = table.follow(
        np.zeros(3, np.int64),
        np.zeros(3, np.int64),
        np.arange(3),
        np.array([True, False, True]),
        np.random.default_rng(4),
    )
    assert followed.tolist() == [True, False, True] and moves.tolist() == [1, 0, 1]


def test_bands_are_told_apart_as_far_as_steps_suffice_and_are_the_leaves_of_a_tree() -> None:
    counts = np.array([900.0, 1.0, 60.0, 2.0, 30.0])
    assert bands_of(counts, 0.0, 0, ordered=False).tolist() == [0, 1, 2, 3, 4], (
        "without noise all moves are asked for"
    )
    band = bands_of(counts, 25.0, 0, ordered=False)
    assert band.tolist() == [0, 2, 1, 2, 2], "rare moves are counted together"
    tree = Tree.of(("a",), 2, [0], [0], [-1, -2])
    codes = {"a": np.array([0, 1, 1], np.uint8), "move b": np.array([2, 4, 0], np.uint8)}
    assert leaf_of(crossed(tree, "move b", band), codes).tolist() == [1, 3 + 2, 3]
    assert leaf_of(crossed(None, "move b", band), codes).tolist() == [1, 2, 0]


def test_shares_within_a_band_are_the_public_ones_and_bands_the_measured_ones() -> None:
    fine, band = np.array([[0.9, 0.06, 0.02, 0.02]]), np.array([0, 1, 2, 2])
    found = moved_shares(fine, np.array([[0.8, 0.1, 0.1]]), np.array([[0.9, 0.06, 0.04]]), band)
    assert np.allclose(found, [[0.8, 0.1, 0.05, 0.05]])


def test_draws_have_nearly_the_shares_of_their_leaf_and_all_together() -> None:
    rng = np.random.default_rng(4)
    tree = Tree.of(("a",), 2, [0], [0], [-1, -2])
    table = MoveTable("b", tree, np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]))
    codes = {"a": rng.integers(0, 2, 1000).astype(np.uint8)}
    leaf, move = table.draw(codes, 1000, rng)
    for one in (0, 1):
        drawn = np.bincount(move[leaf == one], minlength=3) / (leaf == one).sum()
        assert np.abs(drawn - table.shares[one]).max() < 0.012, "independent draws would be off by 0.02 and more"


def test_who_goes_goes_elsewhere_and_where_others_from_there_went() -> None:
    """From 0 all go to 1, from 1 to 2 and from 2 to 0: not where most go, and never to where they are."""
    rng, old = np.random.default_rng(5), np.repeat(np.arange(3), 200)
    moves = np.where(np.arange(600) % 4 == 0, 1 + (old + 1) % 3, 0)
    shares = np.bincount(moves, minlength=4) / 600
    towards = destinations(old, moves.astype(np.uint8), shares, shares)
    table = MoveTable("b", None, shares[None, :], None, towards)
    found = table.elsewhere(np.full(600, 1), np.zeros(600, np.int64), old, rng)
    assert (found != 1 + old).all() and np.mean(found == 1 + (old + 1) % 3) > 0.97


def test_pay_grows_by_factors_and_comes_back_as_that_of_a_public_person_does() -> None:
    """Each person's pay is level with a good or bad year now and then: what rose last falls next."""
    rng = np.random.default_rng(6)
    level = np.exp(rng.normal(10, 0.5, 2000))[:, None] * 1.02 ** np.arange(5)
    pay = level * np.exp(rng.normal(0, 0.05, level.shape))
    old, new = pay[:, :-1].ravel(), pay[:, 1:].ravel()
    assert changes_by_ratio(old, new) and not changes_by_ratio(np.arange(9.0) + 20, np.arange(9.0) + 21)
    leaf, moves = np.zeros(len(old), np.int64), np.zeros(len(old), np.uint8)
    growth = Growth.of(leaf, moves, np.ones((1, 1)), old, new)
    assert abs(growth.means[0] - np.log(1.02)) < 0.002
    path = np.arange(0, len(old), 4)
    first, one = np.zeros(len(path), np.int64), np.full(len(path), 100.0)
    two = growth.after(first, path, one, True, rng)
    three = growth.after(first, path + 1, two, True, rng)
    assert np.corrcoef(np.log(two / one), np.log(three / two))[0, 1] < -0.4
    assert np.isnan(growth.after(first[:1], path[:1], np.array([np.nan]), True, rng)).all()


def test_an_age_rises_as_in_public_steps_of_the_same_move() -> None:
    old, moves, shares = np.array([20.0, 30.0, 40.0]), np.array([0, 1, 1], np.uint8), np.array([[0.3, 0.7, 0.0]])
    rises = Rises.of(np.zeros(3, np.int64), moves, shares, old, old + np.array([0.0, 1.0, 1.0]))
    cell, ages, rng = np.array([0, 1, 2]), np.full(3, 50.0), np.random.default_rng(7)
    found = rises.after(cell, np.zeros(3, np.int64), ages, np.zeros(3, bool), rng)
    assert found[:2].tolist() == [50.0, 51.0] and np.isnan(found[2]), "no public step makes that move"
    assert rises.after(cell, np.array([1, 0, 2]), ages, np.ones(3, bool), rng).tolist() == [51.0, 50.0, 51.0]


def test_a_number_after_a_step_is_one_that_records_may_show() -> None:
    """Multiples of the unit; where records show public values, the nearest of these in the bin."""
    bins = "bins = { low = 0, high = 30, width = 10 }"
    plain = Schema.loads(f'[columns.pay]\nkind = "integer"\nunit = 5\n{bins}\nother = 0').column("pay")
    assert nearest_values(plain, np.array([0, 1, 2]), np.array([3.0, 19.9, 22.0])).tolist() == [5.0, 15.0, 20.0]
    held = replace(plain, decode="public", public_values=((1, 4), (), (25,)))
    assert nearest_values(held, np.array([0, 0, 1, 2]), np.array([2.0, 9.0, 19.9, 29.0])).tolist() == [
        1.0,
        4.0,
        15.0,
        25.0,
    ]


def test_people_keep_their_level_over_the_years() -> None:
    """Hours lie around a level of each person: a chain of single steps would walk away from it."""

    def panel(people: int, seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        level = rng.normal(40, 8, people)[:, None]
        hours = np.clip(np.round(level + rng.normal(0, 8, (people, 8))), 5, 75).astype(int)
        who, year = np.repeat(np.arange(people), 8), np.tile(np.arange(2000, 2008), people)
        return pl.DataFrame({"id": who, "year": year, "hours": hours.ravel(), "sex": who % 2})

    schema = Schema.loads(
        '[columns.year]\nkind = "integer"\nbins = { low = 2000, high = 2008, width = 1 }\nother = 2000\n'
        '[columns.hours]\nkind = "integer"\nbins = { low = 5, high = 80, width = 5 }\nother = 40\n'
        '[columns.sex]\nkind = "categorical"\nvalues = ["0", "1"]\nother = "0"\n'
    )
    public, secret = (CodedTable.read(panel(n, seed), schema, "target") for n, seed in ((1500, 1), (400, 2)))
    recipe = Careers(time="year")
    budget = budget_for("20", "1e-6", recipe.accounting)
    promise = Guarantee("person", 8, "add-remove", (), "id")
    tariff = Tariff(coding_of(schema, (), "year"), promise, budget.measure, budget.delta)
    gate = StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng(3))
    known = PublicData(schema, public, assumed_rows=secret.rows)
    drawn = draw_one(recipe.fit(gate, known), known, np.random.default_rng(4)).frame

    def kept(frame: pl.DataFrame) -> float:
        ends = (
            frame.sort("id", "year").group_by("id").agg(pl.col("hours").first(), pl.col("hours").last().alias("last"))
        )
        return float(np.corrcoef(ends["hours"], ends["last"])[0, 1])

    true = kept(secret.frame)
    assert abs(true - 0.5) < 0.1 and abs(kept(drawn) - true) < 0.15, kept(drawn)
