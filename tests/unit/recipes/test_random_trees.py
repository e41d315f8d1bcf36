"""``random_trees`` beyond its trees: groups, partitions, leaf sizes, matching, refusals, a million rows."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow import pipeline
from hedgerow.answers import StandInGate
from hedgerow.counting.plan import leaf_of
from hedgerow.errors import JobError, Refused
from hedgerow.job.file import read_published
from hedgerow.model.trees.random_tree import sketch_tree, with_hash
from hedgerow.public.costs.accounting import Budget, Guarantee, epsilon_of
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RandomTrees
from hedgerow.recipes.trees.random_trees import matched, plan_steps
from tests.unit.recipes.attach_world import SCHEMA, world

LABEL_CHANGE = Guarantee(relation="label-change", public_columns=("age", "job"))


def public_data(*, labels: bool = True, target: pl.DataFrame | None = None) -> PublicData:
    schema = Schema.loads(SCHEMA)
    relative = world(2000, 1) if labels else world(2000, 1).select("age", "job")
    rows = world(1000, 3).select("age", "job") if target is None else target
    return PublicData(
        schema,
        CodedTable.read(relative, schema, role="target"),
        CodedTable.read(rows, schema, role="target"),
    )


def fitted(recipe: RandomTrees, secret: pl.DataFrame, epsilon: str, *, seed: int = 0, **more: Any) -> pl.DataFrame:
    public = public_data(**more)
    assert public.target is not None
    known = Guarantee(relation="label-change", public_columns=tuple(public.target.frame.columns))
    tariff = Tariff(public.schema.coding, known, "pure")
    stand_in = CodedTable.read(secret, public.schema)
    gate = StandInGate(tariff, Budget(epsilon), stand_in, stand_in.rows, np.random.default_rng(seed))
    return recipe.fit(gate, public).attach(public.target, np.random.default_rng(seed))


def share(frame: pl.DataFrame, job: str) -> float:
    return float((frame.filter(pl.col("job") == job)["sex"] == "F").mean())  # type: ignore[arg-type]


def test_a_million_rows_are_routed_as_by_a_slow_reference() -> None:
    rng = np.random.default_rng(0)
    sizes = {"a": 24, "b": 500, "c": 7, "d": 100}
    lines = np.stack([(rng.beta(0.6, 3, 1_000_000) * s).astype(np.uint16) for s in sizes.values()])
    tree = sketch_tree(lines[:, :50_000], sizes, [1.0, 1.0, 2.0, 0.5], n_b=50, depth=4, rng=rng)
    codes = dict(zip(sizes, lines, strict=True))
    found = leaf_of(tree, codes)
    look, first, child = (a.tolist() for a in tree.arrays)
    for r in rng.choice(1_000_000, 20_000, replace=False).tolist():
        at = 0
        while at >= 0:
            at = child[first[at] + int(lines[look[at], r])]
        assert found[r] == -1 - at
    assert found.min() >= 0 and found.max() < tree.leaves
    # and all million against another algorithm: level by level in NumPy
    ats = np.zeros(1_000_000, np.int64)
    while (live := np.flatnonzero(ats >= 0)).size:
        s = ats[live]
        ats[live] = tree.arrays[2][tree.arrays[1][s] + lines[tree.arrays[0][s], live]]
    assert (found == -1 - ats).all()


def test_every_node_draws_its_own_attribute_and_no_path_uses_one_twice() -> None:
    rng = np.random.default_rng(1)
    sizes = {"a": 3, "b": 3, "c": 3, "d": 3}
    lines = rng.integers(0, 3, (4, 5000)).astype(np.uint8)
    tree = sketch_tree(lines, sizes, [1.0] * 4, n_b=10, depth=4, rng=rng)
    look, first, child = tree.arrays
    stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    on_level = dict[int, set[int]]()
    while stack:
        at, used = stack.pop()
        assert look[at] not in used
        on_level.setdefault(len(used), set()).add(int(look[at]))
        stack += [(int(c), (*used, int(look[at]))) for c in child[first[at] : first[at] + 3] if c >= 0]
    assert len(on_level[1]) > 1, "nodes of one level draw for themselves"


def test_the_same_seed_gives_the_same_tree_on_every_machine() -> None:
    """The hash of a tree drawn from given rows and a given seed: PCG64 and whole-number counts, nothing else."""
    rows = np.arange(5000)
    lines = np.stack([rows % 4, (rows // 3) % 5, (rows * rows) % 7]).astype(np.uint8)
    rng = np.random.Generator(np.random.PCG64(11))
    tree = with_hash(sketch_tree(lines, {"a": 4, "b": 5, "c": 7}, [1.0, 2.0, 0.5], n_b=100, depth=3, rng=rng))
    assert tree.sha256[:16] == "c800f98784c65bff"
    wide = with_hash(
        sketch_tree(
            lines.astype(np.uint32),
            {"a": 4, "b": 5, "c": 7},
            [1.0, 2.0, 0.5],
            n_b=100,
            depth=3,
            rng=np.random.Generator(np.random.PCG64(11)),
        )
    )
    assert wide == tree, "whatever type the codes have"


def test_the_same_seed_gives_the_same_trees_whatever_engine_holds_the_tables(tmp_path: Path) -> None:
    schema, relative, rows = Schema.loads(SCHEMA), world(2000, 1), world(1000, 3).select("age", "job")
    relative.write_csv(tmp_path / "t.csv")
    relative.write_parquet(tmp_path / "t.parquet")
    engines: list[Any] = [relative, relative.to_pandas().convert_dtypes(), relative.to_arrow()]
    engines += [relative.lazy(), tmp_path / "t.csv", tmp_path / "t.parquet"]
    target = CodedTable.read(rows, schema, role="target")
    hashes = {
        tuple(t.sha256 for s in plan_steps(RandomTrees(n_b=50, seed=3), LABEL_CHANGE, public) for t in s.trees)
        for public in (PublicData(schema, CodedTable.read(e, schema), target) for e in engines)
    }
    assert len(hashes) == 1


def test_a_node_below_n_b_public_rows_is_a_leaf_and_one_with_n_b_is_split() -> None:
    lines = np.array([[0] * 10 + [1] * 9, [0, 1] * 9 + [0]], np.uint8)
    tree = sketch_tree(lines, {"a": 2, "b": 2}, [1.0, 0.0], n_b=10, depth=2, rng=np.random.default_rng(0))
    assert tree.arrays[0].tolist() == [0], "b has weight 0"
    both = sketch_tree(lines, {"a": 2, "b": 2}, [1e9, 1e-9], n_b=10, depth=2, rng=np.random.default_rng(0))
    assert both.arrays[0].tolist() == [0, 1], "a = 0 has 10 public rows and is split on, a = 1 has 9 and is not"
    assert both.arrays[2][1] < 0 <= both.arrays[2][0]


def test_one_count_a_leaf_is_as_accurate_as_promised(tmp_path: Path) -> None:
    own = world(3000, 2)
    errors = {}
    for sizes in ("noisy", "public"):
        recipe = RandomTrees(columns=("sex",), trees=1, n_b=100, leaf_sizes=sizes)
        got = [fitted(recipe, own, "0.1", seed=s, target=own.drop("sex")) for s in range(30)]
        errors[sizes] = np.mean([abs(share(g, j) - share(own, j)) for g in got for j in "xyz"])
    assert errors["public"] < 0.75 * errors["noisy"]


def test_leaf_sizes_are_public_only_under_label_change() -> None:
    with pytest.raises(Refused, match="label-change"):
        plan_steps(RandomTrees(leaf_sizes="public"), Guarantee(), public_data())


def test_a_public_table_without_labels_is_enough_for_joint_leaves_and_not_for_a_chain() -> None:
    secret = world(4000, 2)
    out = fitted(RandomTrees(columns=("sex", "race"), trees=1, n_b=300), secret, "20", labels=False)
    assert abs(share(out, "x") - share(secret, "x")) < 0.08
    with pytest.raises(JobError, match="lacks"):
        plan_steps(RandomTrees(columns=("sex", "race"), sequence="chain"), LABEL_CHANGE, public_data(labels=False))


def test_by_fits_each_group_on_its_own() -> None:
    secret = world(4000, 2).with_columns(
        pl.when(pl.col("age") == "0").then(pl.lit("F")).otherwise("sex").alias("sex")
    )
    out = fitted(RandomTrees(by="age", trees=1, n_b=10**6), secret, "20")
    assert (
        out.filter(pl.col("age") == "0")["sex"].to_list().count("F") > 0.97 * out.filter(pl.col("age") == "0").height
    )


def remarks(recipe: RandomTrees, budget: Budget, guarantee: Guarantee = LABEL_CHANGE) -> str:
    tariff = Tariff(public_data().schema.coding, guarantee, budget.measure)
    return " ".join(recipe.remarks(tariff, budget, public_data()))


PERSON = Guarantee("person", 4, "label-change", ("age", "job"), "id")


def test_the_plan_says_what_somebody_in_several_groups_bears() -> None:
    recipe = RandomTrees(by="age", n_b=100)
    said = remarks(recipe, Budget("2"))
    assert "bears g times as much: epsilon 4 in two, epsilon 8 in all 4" in said
    said = remarks(recipe, Budget("2"), PERSON)
    assert "epsilon 0.5, all 4 of them the whole epsilon 2" in said


def test_under_a_delta_groups_are_told_by_rho_and_a_useless_delta_is_named() -> None:
    recipe, budget = RandomTrees(by="age", n_b=100), Budget("2", "1e-6")
    twice, four = (epsilon_of(budget.total * k * k, budget.delta) for k in (2, 4))
    assert twice > 4 and four > 8, "more than in proportion"
    said = remarks(recipe, budget)
    assert f"epsilon {twice:.4g} with delta 1e-06 in two" in said and f"epsilon {four:.4g} with delta" in said
    row = epsilon_of(budget.total / 16, budget.delta)
    assert f"costs epsilon {row:.4g} with delta 1e-06, all 4" in remarks(recipe, budget, PERSON)
    (spend,) = recipe.requests(Tariff(public_data().schema.coding, LABEL_CHANGE, "zcdp"), budget, public_data())
    pure = sum(2 / a.noise.scale for a in spend.asked)
    assert f"worth epsilon {float(pure):.4g} with delta = 0" in said
    many = RandomTrees(by="age", n_b=100, trees=400)
    assert "delta = 0" not in remarks(many, budget), "so many tables are cheaper under a delta"


def test_a_partition_into_more_trees_than_values_is_refused() -> None:
    with pytest.raises(JobError, match="fewer values than there are trees"):
        plan_steps(RandomTrees(partition="age", trees=5, n_b=200), LABEL_CHANGE, public_data())


def test_a_partition_is_one_question_at_the_whole_price() -> None:
    recipe = RandomTrees(partition="age", trees=4, n_b=200)
    tariff = Tariff(public_data().schema.coding, LABEL_CHANGE, "pure")
    (spend,) = recipe.requests(tariff, Budget("2"), public_data())
    assert [a.cost for a in spend.asked] == [Fraction(2)]
    secret = world(4000, 2)
    assert abs(share(fitted(recipe, secret, "20"), "x") - share(secret, "x")) < 0.08


def test_small_leaves_fall_back_and_never_give_a_missing_value() -> None:
    out = fitted(RandomTrees(n_b=1, leaf_min=10.0**9), world(50, 2), "0.01")
    assert out.null_count().sum_horizontal().item() == 0
    assert set(out["sex"]) <= {"F", "M"}


PAY = """
[columns.pay]
kind = "integer"
bins = { low = 0, high = 100, width = 10 }
[columns.job]
kind = "categorical"
values = ["x", "y"]
"""


def pay_table(pay: list[int], job: list[str]) -> CodedTable:
    return CodedTable.read(pl.DataFrame({"pay": pay, "job": job}), Schema.loads(PAY), role="target")


def test_a_ratio_is_declared_or_taken_from_public_tables_group_by_group() -> None:
    basic, adjusted = pay_table([10, 20, 40], ["x", "x", "y"]), pay_table([20, 40, 60], ["x", "x", "y"])
    declared = matched(basic, adjusted, {"pay": 1.5}, {})
    assert declared.frame["pay"].to_list() == [15, 30, 60]
    assert declared.codes(["pay"])["pay"].tolist() == [1, 3, 6]
    taken = matched(basic, adjusted, {"pay": ["job"]}, {})
    assert taken.frame["pay"].to_list() == [20, 40, 60]
    overall = matched(basic, adjusted, {"pay": []}, {})
    assert overall.frame["pay"].to_list() == pytest.approx([10 * 12 / 7, 20 * 12 / 7, 40 * 12 / 7])
    renamed = matched(basic, adjusted, {}, {"job": {"x": "y"}})
    assert renamed.frame["job"].to_list() == ["y"] * 3


@pytest.mark.parametrize(
    ("ratio", "mapping"),
    [
        ({"pay": -1}, {}),
        ({"pay": True}, {}),
        ({"job": 2.0}, {}),
        ({"no": 2.0}, {}),
        ({"pay": ["no"]}, {}),
        ({}, {"job": {"x": "z"}}),
        ({}, {"job": {"w": "y"}}),
        ({}, {"no": {"x": "y"}}),
    ],
)
def test_a_ratio_or_mapping_that_makes_no_sense_is_named(ratio: dict[str, Any], mapping: dict[str, Any]) -> None:
    with pytest.raises(JobError, match="random_trees"):
        matched(pay_table([1], ["x"]), pay_table([2], ["x"]), ratio, mapping)


@pytest.mark.parametrize(
    "settings",
    [
        {"trees": True},
        {"depth": 61},
        {"weights": {"age": float("nan")}},
        {"weights": {"age": -1}},
        {"leaf_min": -1},
        {"leaf_sizes": "x"},
        {"columns": ["sex", "sex"]},
        {"columns": "sex"},
        {"seed": -1},
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(JobError, match="random_trees"):
        RandomTrees(**settings)


@pytest.mark.parametrize(
    "recipe", [RandomTrees(weights={"no": 2.0}), RandomTrees(by="no"), RandomTrees(partition="sex")]
)
def test_columns_that_are_not_given_are_named_before_anything_is_read(recipe: RandomTrees) -> None:
    with pytest.raises(JobError, match="not a given attribute"):
        plan_steps(recipe, LABEL_CHANGE, public_data())


def test_the_papers_sequences_are_marked_in_the_statement_and_the_plan() -> None:
    assert RandomTrees().stated == "random_trees"
    old = RandomTrees(sequence="papers-2018")
    assert "association" in old.stated
    tariff = Tariff(public_data().schema.coding, LABEL_CHANGE, "pure")
    assert any("association" in line for line in old.remarks(tariff, Budget("2"), public_data()))


def test_a_job_names_the_private_columns_as_columns() -> None:
    text = "[job]\nrecipe = 'random_trees'\n[random_trees]\ncolumns = ['sex']\n"
    text += "[confidential]\ntable = 'c.csv'\n[target]\ntable = 't.csv'\n[budget]\nepsilon = 1\n"
    assert read_published(text, Path("job.toml"), public_data().schema).recipe == RandomTrees(columns=("sex",))


def test_many_copies_come_from_one_measurement_and_differ() -> None:
    public = public_data()
    tariff = Tariff(public.schema.coding, LABEL_CHANGE, "pure")
    stand_in = CodedTable.read(world(500, 2), public.schema)
    gate = StandInGate(tariff, Budget("1"), stand_in, 500, np.random.default_rng(0))
    drawn = pipeline.draw_copies(RandomTrees(n_b=100).fit(gate, public), public, copies=3, seed=1)
    assert gate.left == 0 and len(drawn.records) == 3
    assert not drawn.records[0].equals(drawn.records[1])
