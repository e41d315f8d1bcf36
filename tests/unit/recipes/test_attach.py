"""Attach recipes on small tables: hand-worked trees, routing, counts, estimates, refusals."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import pipeline
from hedgerow.answers import StandInGate
from hedgerow.counting.plan import CountPlan, checked, leaf_of
from hedgerow.errors import JobError, Refused
from hedgerow.model.trees.random_tree import combine, join_trees, leaf_counts, number_reached, sketch_tree, with_hash
from hedgerow.model.trees.row_shares import draw_stratified
from hedgerow.public.coding import CodedColumn, Coding
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Marginal, Tree
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RandomTrees
from hedgerow.recipes.trees.random_trees import plan_steps
from tests.unit.recipes.attach_world import SCHEMA, world


def draw_tree(lines: Any, sizes: dict[str, int], weights: list[float], **more: Any) -> Tree:
    return with_hash(sketch_tree(lines, sizes, weights, **more))


SIZES = {"a": 2, "b": 3, "c": 4}
CODING = Coding(tuple(CodedColumn(n, "text", s, 0, 0) for n, s in {**SIZES, "y": 2}.items()))
HAND = Tree.of(("a", "b"), 4, [0, 1], [0, 2], [-1, 1, -2, -3, -4])  # a = 0: leaf 0; a = 1: by b to leaves 1, 2, 3


def some_codes(n: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {c.name: rng.integers(0, c.size, n).astype(np.uint8) for c in CODING.columns}


def slow_leaf(tree: Tree, row: dict[str, int]) -> int:
    assert tree.arrays
    look, first, child = tree.arrays
    at = 0 if len(look) else -1
    while at >= 0:
        at = child[first[at] + row[tree.columns[look[at]]]]
    return -1 - at


def test_a_hand_worked_tree_sends_every_row_to_its_leaf() -> None:
    codes = {"a": np.array([0, 1, 1, 1], np.uint8), "b": np.array([2, 0, 1, 2], np.uint8)}
    assert leaf_of(HAND, codes).tolist() == [0, 1, 2, 3]


@given(st.integers(0, 1000), st.integers(1, 40))
def test_random_trees_route_as_a_slow_reference_and_their_leaves_sum_to_the_marginal(seed: int, n_b: int) -> None:
    codes = some_codes(200, seed)
    lines = np.stack([codes[c] for c in SIZES])
    tree = draw_tree(lines, SIZES, [1.0, 2.0, 0.5], n_b=n_b, depth=3, rng=np.random.default_rng(seed))
    checked(tree, CODING)
    rows = [{c: int(codes[c][r]) for c in SIZES} for r in range(200)]
    assert leaf_of(tree, codes).tolist() == [slow_leaf(tree, r) for r in rows]
    plan = CountPlan([Marginal(("y",), tree), Marginal(("y",))], CODING)
    leaves, marginal = plan.split(plan.count(codes))
    assert (leaves.reshape(-1, 2).sum(axis=0) == marginal).all()


def test_only_leaves_that_the_target_reaches_are_counted_and_nothing_else_changes() -> None:
    codes = some_codes(300, 1)
    few = {c: v[:20] for c, v in some_codes(300, 2).items()}
    lines = np.stack([codes[c] for c in SIZES])
    tree = draw_tree(lines, SIZES, [1.0] * 3, n_b=5, depth=3, rng=np.random.default_rng(3))
    small = number_reached(tree, few)
    checked(small, CODING)
    assert small.leaves == len(set(leaf_of(tree, few).tolist())) + 1, "and one for all that no target row reaches"
    full, part = (CountPlan([Marginal(("y",), t)], CODING).count(codes).reshape(-1, 2) for t in (tree, small))
    assert (full[leaf_of(tree, few)] == part[leaf_of(small, few)]).all()


def test_the_same_seed_gives_the_same_tree_and_weights_decide_who_is_drawn() -> None:
    lines = np.stack([some_codes(300, 1)[c] for c in SIZES])
    one, two = (draw_tree(lines, SIZES, [1.0] * 3, n_b=5, depth=3, rng=np.random.default_rng(8)) for _ in range(2))
    assert one == two
    only = draw_tree(lines, SIZES, [0.0, 1.0, 0.0], n_b=5, depth=3, rng=np.random.default_rng(8))
    assert only.arrays
    assert only.arrays[0].tolist() == [1]


def test_trees_joined_by_a_column_count_every_row_once() -> None:
    codes = some_codes(300, 4)
    lines = np.stack([codes[c] for c in ("a", "b")])
    sizes = {"a": 2, "b": 3}
    rng = np.random.default_rng(1)
    tree = with_hash(
        join_trees("c", [sketch_tree(lines, sizes, [1.0] * 2, n_b=20, depth=2, rng=rng) for _ in range(4)], 4)
    )
    checked(tree, CODING)
    assert CountPlan([Marginal(("y",), tree)], CODING).count(codes).sum() == 300


@pytest.mark.parametrize(
    "arrays",
    [
        ([0], [0], [0, -1]),  # leads to itself: the walk would never end
        ([0], [0], [-1]),  # a code without a child
        ([0], [0], [-1, -9]),  # a leaf that does not exist
        ([7], [0], [-1, -2]),  # a column that does not exist
        ([0], [0], [-1, 5]),  # a split that does not exist
    ],
)
def test_a_tree_that_could_not_be_walked_is_refused_before_a_row_is_read(arrays: tuple[list[int], ...]) -> None:
    with pytest.raises(JobError, match="no tree"):
        CountPlan([Marginal(("y",), Tree.of(("a",), 2, *arrays))], CODING)


def test_a_tree_under_the_name_of_another_is_refused() -> None:
    other = Tree.of(("a", "b"), 4, [0, 1], [0, 2], [-2, 1, -1, -3, -4])
    forged = Tree(HAND.columns, HAND.leaves, HAND.sha256, other.arrays)
    with pytest.raises(JobError, match="no tree"):
        CountPlan([Marginal(("y",), forged)], CODING)
    with pytest.raises(JobError, match="no tree"):
        CountPlan([Marginal(("y",), Tree(HAND.columns, HAND.leaves, HAND.sha256))], CODING)


def test_a_small_leaf_takes_the_counts_of_the_split_above() -> None:
    noisy = np.array([[90.0, 10.0], [1.0, 0.0], [20.0, 20.0], [0.0, 2.0]])
    held = leaf_counts(HAND, noisy, 5)
    assert held[0].tolist() == [90, 10]
    assert held[2].tolist() == [20, 20]
    assert held[1].tolist() == held[3].tolist() == [21, 22]


def test_the_three_ways_to_combine_trees() -> None:
    counts = [np.array([[30.0, 70.0]]), np.array([[600.0, 400.0]])]
    leaves = [np.zeros(1, np.int64)] * 2
    assert combine("mean", counts, leaves, [1, 1])[0].tolist() == pytest.approx([0.45, 0.55])
    assert combine("pooled", counts, leaves, [1, 1])[0].tolist() == pytest.approx([630 / 1100, 470 / 1100])
    assert 0.3 < combine("precision", counts, leaves, [1, 1])[0, 0] < 0.6


def test_stratified_draws_are_off_by_far_less_than_independent_ones() -> None:
    shares = np.tile(np.array([[0.7, 0.2, 0.1]], np.float32), (5000, 1))
    strata = np.repeat(np.arange(10), 500)
    cells = draw_stratified(shares, strata, np.random.default_rng(1))
    table = np.bincount(strata * 3 + cells).reshape(10, 3)
    assert np.abs(table - [350, 100, 50]).max() <= 6


def made(recipe: RandomTrees, folder: Path, epsilon: str = "8") -> tuple[pl.DataFrame, pl.DataFrame]:
    schema = Schema.loads(SCHEMA)
    secret = world(3000, 2)
    target = CodedTable.read(world(3000, 3).select("age", "job"), schema, role="target")
    public = PublicData(schema, CodedTable.read(world(3000, 1), schema), target)
    gate = pipeline.open_gate(
        secret,
        schema,
        Budget(epsilon),
        relation="label-change",
        public_columns=("age", "job"),
        ledger=folder / "ledger.db",
        name="t",
    )
    out = recipe.fit(gate, public).attach(target, np.random.default_rng(0))
    assert sum((a.spend.cost for a in gate.record), Fraction(0)) == Fraction(epsilon)
    assert out.select("age", "job").equals(target.frame.select("age", "job"))
    return secret, out


def odds_ratio(frame: pl.DataFrame) -> float:
    c = {k: len(frame.filter((pl.col("sex") == k[0]) & (pl.col("race") == k[1]))) for k in ("FA", "FB", "MA", "MB")}
    return c["FA"] * c["MB"] / max(c["FB"] * c["MA"], 1)


@pytest.mark.parametrize("sequence", ["joint", "chain"])
def test_joint_leaves_and_the_chain_rule_keep_the_association(tmp_path: Path, sequence: Any) -> None:
    secret, out = made(RandomTrees(sequence=sequence, n_b=100), tmp_path, "30")
    assert odds_ratio(out) == pytest.approx(odds_ratio(secret), rel=0.35)


def test_the_papers_sequence_of_2018_loses_the_association_as_the_theory_says(tmp_path: Path) -> None:
    secret, out = made(RandomTrees(sequence="papers-2018", n_b=100), tmp_path, "30")
    assert odds_ratio(out) < 2 < 10 < odds_ratio(secret), "what is left comes from job, which sex and race share"


def test_the_second_column_of_2018_is_trained_on_labels_that_were_drawn() -> None:
    """A tree that splits by sex alone: both branches hold race as all rows do, and together every row once."""
    schema, secret = Schema.loads(SCHEMA), world(20_000, 2)
    target = CodedTable.read(world(300, 3).select("age", "job"), schema, role="target")
    public = PublicData(schema, CodedTable.read(world(3000, 1), schema), target)
    known = Guarantee(relation="label-change", public_columns=("age", "job"))
    gate = StandInGate(
        Tariff(schema.coding, known, "pure"),
        Budget("1000"),
        CodedTable.read(secret, schema),
        len(secret),
        np.random.default_rng(0),
    )
    weights = {"age": 0.0, "job": 0.0}
    recipe = RandomTrees(columns=("sex", "race"), sequence="papers-2018", trees=1, weights=weights)
    (_, first), (step, (second,)) = recipe.fit(gate, public).steps
    assert step.trees[0].arrays[0].tolist() == [step.trees[0].columns.index("sex")]
    by_sex = second.counts.reshape(2, 2)
    assert abs(by_sex.sum() - len(secret)) < 5
    drawn, true = by_sex.sum(axis=1) / by_sex.sum(), first[0].counts / first[0].counts.sum()
    assert drawn == pytest.approx(true, abs=0.02), "the drawn labels have the shares of the first column"
    races = by_sex[:, 0] / by_sex.sum(axis=1)
    assert races[0] == pytest.approx(races[1], abs=0.03), "though they differ by 0.6 between the sexes in truth"


def test_the_leaky_sequence_is_refused_unless_the_column_is_declared_public() -> None:
    schema = Schema.loads(SCHEMA)
    public = PublicData(
        schema,
        CodedTable.read(world(500, 1), schema),
        CodedTable.read(world(50, 3).select("age", "job", "race"), schema, role="target"),
    )
    leaky = RandomTrees(columns=("sex", "race"), sequence="papers-2019", n_b=50)
    with pytest.raises(Refused, match="no epsilon covers"):
        plan_steps(leaky, Guarantee(relation="label-change", public_columns=("age", "job")), public)
    with pytest.raises(Refused, match="no epsilon covers"):
        plan_steps(leaky, Guarantee(relation="add-remove", public_columns=("age", "job", "race")), public)
    steps = plan_steps(leaky, Guarantee(relation="label-change", public_columns=("age", "job", "race")), public)
    assert [s.labels for s in steps] == [("sex",), ("race",)]


def test_a_target_that_has_a_protected_column_is_refused() -> None:
    schema, guarantee = Schema.loads(SCHEMA), Guarantee(relation="label-change", public_columns=("age", "job"))
    target = CodedTable.read(world(50, 3).select("age", "job", "race"), schema, role="target")
    with pytest.raises(Refused, match="has race, which label-change protects"):
        plan_steps(RandomTrees(columns=("sex",)), guarantee, PublicData(schema, None, target))


@pytest.mark.parametrize("setting", ["by", "partition"])
def test_rows_are_never_sent_by_their_own_private_value(setting: str) -> None:
    schema = Schema.loads(SCHEMA)
    public = PublicData(schema, None, CodedTable.read(world(50, 3), schema, role="target"))
    settings: dict[str, Any] = {"columns": ("sex", "race"), setting: "sex"}
    with pytest.raises(JobError, match="sex is not a given attribute"):
        plan_steps(RandomTrees(**settings), Guarantee(), public)


def test_partitioned_rows_give_every_tree_the_whole_budget(tmp_path: Path) -> None:
    schema = Schema.loads(SCHEMA)
    public = PublicData(
        schema,
        CodedTable.read(world(500, 1), schema),
        CodedTable.read(world(50, 3).select("age", "job"), schema, role="target"),
    )
    guarantee = Guarantee(relation="label-change", public_columns=("age", "job"))
    (step,) = plan_steps(RandomTrees(partition="age", trees=4, n_b=50), guarantee, public)
    assert len(step.trees) == 1
    made(RandomTrees(partition="age", trees=4, n_b=50), tmp_path)
    (tmp_path / "x").mkdir()
    made(RandomTrees(by="age", n_b=50), tmp_path / "x")


@pytest.mark.parametrize(
    "settings", [{"trees": 0}, {"n_b": 0}, {"sequence": "x"}, {"combine": "x"}, {"by": "a", "partition": "b"}]
)
def test_settings_that_make_no_sense_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(JobError, match="random_trees"):
        RandomTrees(**settings)
