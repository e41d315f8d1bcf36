"""Every plan gives the counts of the plain way, and refuses what it cannot hold before allocating it."""

import tracemalloc
from itertools import combinations
from math import prod

import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.counting import plan as plan_module
from hedgerow.counting.kernel import TILE
from hedgerow.counting.plan import COVER, MOST, CountPlan
from hedgerow.errors import JobError, SchemaError
from hedgerow.public.costs.question import TOTAL, Marginal, Tree
from tests.unit.counting.worlds import codes_of, coding_of, plainly

SIZES = st.dictionaries(
    st.sampled_from("abcdef"), st.sampled_from([1, 2, 3, 7, 40, 255, 256, 257, 65536, 65537]), min_size=1
)


@given(sizes=SIZES, rows=st.integers(0, 60), at_a_time=st.sampled_from([1, 1 << 18]), data=st.data())
def test_any_plan_counts_what_the_plain_way_counts(
    sizes: dict[str, int], rows: int, at_a_time: int, data: st.DataObject
) -> None:
    coding = coding_of(sizes)
    crosses = st.lists(st.sampled_from(sorted(sizes)), unique=True, max_size=4).map(tuple)
    asked = data.draw(st.lists(crosses.filter(lambda c: prod(sizes[n] for n in c) <= 1 << 20), max_size=8))
    questions = [Marginal(c) for c in asked]
    codes = codes_of(sizes, rows, np.random.default_rng(rows))
    plan = CountPlan(questions, coding, at_a_time)
    vector = plan.count(codes)

    assert vector.dtype == np.int64 and len(vector) == plan.size
    for question, counts in zip(questions, plan.split(vector), strict=True):
        assert np.array_equal(counts, plainly(question, codes, coding))


@pytest.mark.parametrize("rows", [TILE - 1, TILE, TILE + 1, 2 * TILE + 5])
def test_tiles_add_up(rows: int) -> None:
    sizes = {"a": 3, "b": 300, "c": 70_000}
    coding, codes = coding_of(sizes), codes_of(sizes, rows, np.random.default_rng(1))
    questions = [TOTAL, Marginal(("a", "b")), Marginal(("c",)), Marginal(("c", "a"))]
    plan = CountPlan(questions, coding)
    for question, counts in zip(questions, plan.split(plan.count(codes)), strict=True):
        assert np.array_equal(counts, plainly(question, codes, coding))


def test_the_vectors_of_batches_add() -> None:
    sizes = {"a": 5, "b": 7, "c": 2}
    coding, codes = coding_of(sizes), codes_of(sizes, 1000, np.random.default_rng(2))
    plan = CountPlan([Marginal(p) for p in combinations("abc", 2)], coding)
    parts = [plan.count({n: c[low : low + 300] for n, c in codes.items()}) for low in range(0, 1000, 300)]
    assert np.array_equal(np.sum(parts, axis=0), plan.count(codes))


def test_many_trees_are_walked_some_rows_at_a_time() -> None:
    """Every tree is a column more of a tile: 600 of them held 2.4 kB a row, 300 MB a tile, and hold a byte each."""
    rng, rows, trees = np.random.default_rng(4), 40_000, 600
    coding, codes = coding_of({"a": 60}), codes_of({"a": 60}, rows, rng)
    leaf = rng.integers(0, 9, (trees, 60))
    asked = [Marginal((), Tree.of(("a",), 9, [0], [0], -1 - line)) for line in leaf]
    plan = CountPlan(asked, coding)
    tracemalloc.start()
    counts = plan.split(plan.count(codes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * rows * trees  # the leaves, and once more as the kernel takes them
    for line, found in zip(leaf, counts, strict=True):
        assert np.array_equal(found, np.bincount(line[codes["a"]], minlength=9))


def test_a_tile_has_fewer_rows_where_columns_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"a": 3, "b": 30, "c": 5}
    coding, codes = coding_of(sizes), codes_of(sizes, 5000, np.random.default_rng(5))
    questions = [Marginal(p) for p in combinations("abc", 2)]
    monkeypatch.setattr(plan_module, "MOST", 3000)  # 1,001 rows of three columns
    plan = CountPlan(questions, coding)
    for question, counts in zip(questions, plan.split(plan.count(codes)), strict=True):
        assert np.array_equal(counts, plainly(question, codes, coding))


def test_blocks_of_many_questions_are_found_column_by_column() -> None:
    """Every pair of 60 columns, and triples among them: each question is inside its block, and blocks are few."""
    sizes = {f"c{i:02}": 2 + i % 17 for i in range(60)}
    triples = list(combinations(sizes, 3))[::57]
    plan = CountPlan([Marginal(p) for p in (*combinations(sizes, 2), *triples)], coding_of(sizes))
    assert all(set(q.columns) <= set(block) for q, block in plan.homes.items())
    assert len(set(plan.homes.values())) < 0.6 * len(plan.questions)


def test_all_pairs_share_blocks_that_fit_the_first_cache() -> None:
    sizes = {f"c{i:02}": 2 + i for i in range(20)}
    plan = CountPlan([Marginal(p) for p in combinations(sizes, 2)], coding_of(sizes))
    places, _ = plan._layout
    assert len(places) < 190 / 3
    assert all(place.stop - place.start <= COVER for place in places.values())


@pytest.mark.parametrize("worth", ["rows", "sets"])
def test_blocks_are_shared_only_when_it_pays(worth: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = dict.fromkeys("abcd", 3)
    monkeypatch.setattr(plan_module, "WORTH_SETS", 5 if worth == "sets" else 6)
    plan = CountPlan(
        [Marginal(p) for p in combinations("abcd", 2)], coding_of(sizes), 100 if worth == "rows" else TILE
    )
    assert len(plan._layout[0]) == 6


def test_a_question_that_is_not_near_others_is_counted_as_it_stands() -> None:
    plan = CountPlan([Marginal(("b", "a")), Marginal(("c",))], coding_of({"a": 100, "b": 100, "c": 5, "d": 2}))
    assert set(plan._layout[0]) == {("a", "b"), ("c",)}


def test_only_needed_columns_are_named() -> None:
    coding = coding_of({"a": 2, "b": 3, "one": 1})
    assert CountPlan([Marginal(("b",))], coding).columns == ("b",)
    assert CountPlan([Marginal(("one", "b"))], coding).columns == ("b",)
    assert CountPlan([TOTAL], coding).columns == ("a",)


def test_no_question_gives_no_count() -> None:
    plan = CountPlan([], coding_of({"a": 2}))
    assert plan.size == 0
    assert plan.split(plan.count({"a": np.zeros(3, np.uint8)})) == ()


def test_too_many_cells_are_refused_before_anything_is_allocated() -> None:
    sizes = {f"c{i}": 1000 for i in range(4)}
    tracemalloc.start()
    with pytest.raises(JobError) as refused:
        CountPlan([Marginal(("c0",)), Marginal(tuple(sizes))], coding_of(sizes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    for part in (f"{10**12 + 1000:,}", f"{MOST:,}", "c0 x c1 x c2 x c3", "fewer columns", "No row was read"):
        assert part in str(refused.value)


def test_many_small_questions_are_refused_by_their_sum() -> None:
    with pytest.raises(JobError, match="can be counted at once"):
        CountPlan([Marginal(("a", "b"))] * 300, coding_of({"a": 1000, "b": 1000}))


def test_a_column_named_twice_is_refused() -> None:
    with pytest.raises(JobError, match="names a column twice"):
        CountPlan([Marginal(("a", "a"))], coding_of({"a": 2}))


def test_an_unknown_column_is_refused_by_name() -> None:
    with pytest.raises(SchemaError, match="no column 'z'"):
        CountPlan([Marginal(("z",))], coding_of({"a": 2}))


@pytest.mark.parametrize(
    "codes",
    [np.array([0, 2], np.uint8), np.array([0, -1], np.int64), np.array([0], np.uint8), np.zeros(2 * TILE, np.uint8)],
    ids=["beyond the size", "signed", "too short", "too long by whole tiles"],
)
def test_codes_that_could_write_elsewhere_never_reach_the_kernel(codes: np.ndarray) -> None:
    plan = CountPlan([Marginal(("b", "a"))], coding_of({"a": 2, "b": 2}))
    with pytest.raises((ValueError, BeartypeCallHintViolation)):
        plan.count({"a": codes, "b": np.zeros(TILE if len(codes) > TILE else 2, np.uint8)})


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_three_way_tables_of_many_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = {f"c{i}": int(rng.integers(1, 30)) for i in range(8)}
    coding, codes = coding_of(sizes), codes_of(sizes, 500, rng)
    questions = [Marginal(tuple(rng.permutation(t).tolist())) for t in combinations(sizes, 3)]
    plan = CountPlan(questions, coding)
    for question, counts in zip(questions, plan.split(plan.count(codes)), strict=True):
        assert np.array_equal(counts, plainly(question, codes, coding))
