"""The plan of an attach job: what it says of its trees is true of them, and it reads no confidential row."""

import numpy as np
import polars as pl
import pytest

from hedgerow.planning.attach import LeafInterval, with_attach
from hedgerow.planning.forecast import Plan, outline
from hedgerow.planning.interval import least_n
from hedgerow.public.costs.accounting import Budget, Guarantee, epsilon_of
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import AbstractRecipe, GuidedTree, RandomTrees

SCHEMA = Schema.loads(
    "\n".join(
        f'[columns.{n}]\nkind = "categorical"\nvalues = {list(v)!r}'.replace("'", '"')
        for n, v in {"age": "0123", "job": "xyz", "sex": "FM", "race": "AB"}.items()
    )
)
GIVEN = ("age", "job")
LABEL_CHANGE = Guarantee(relation="label-change", public_columns=GIVEN)


def world(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age, job = rng.integers(0, 4, n), rng.integers(0, 3, n)
    sex = rng.random(n) < 0.2 + 0.2 * job
    race = rng.random(n) < np.where(sex, 0.8, 0.2)
    letters = {"age": "0123", "job": "xyz", "sex": "FM", "race": "AB"}
    columns = {"age": age, "job": job, "sex": 1 - sex, "race": 1 - race}
    return pl.DataFrame({k: np.array(list(letters[k]))[v.astype(int)] for k, v in columns.items()})


def planned(
    recipe: AbstractRecipe,
    *,
    labels: bool = True,
    guarantee: Guarantee = LABEL_CHANGE,
    width: float = 0.1,
    budget: Budget = Budget("2"),  # noqa: B008  frozen
) -> Plan:
    relative = world(2000, 1) if labels else world(2000, 1).select(GIVEN)
    public = PublicData(
        SCHEMA,
        CodedTable.read(relative, SCHEMA, role="target"),
        CodedTable.read(world(600, 2).select(guarantee.public_columns), SCHEMA, role="target"),
    )
    tariff = Tariff(SCHEMA.coding, guarantee, budget.measure)
    rng = np.random.default_rng(0)
    plan = outline(recipe, public, tariff=tariff, budget=budget, rows=4000, rng=rng)
    return with_attach(plan, recipe, public, wanted=LeafInterval(width=width), rng=rng)


def details(plan: Plan) -> dict:  # type: ignore[type-arg]
    return plan.to_json()["attach"]  # type: ignore[no-any-return]


def test_epsilon_by_relation_by_row_and_by_tree() -> None:
    told = details(planned(RandomTrees(trees=2, n_b=300)))
    assert told["epsilon_by_relation"] == {"add-remove": 1.0, "replace-one": 2.0, "label-change": 2.0}
    assert [t["epsilon"] for t in told["trees"]] == [1.0, 1.0]
    person = Guarantee("person", 4, "label-change", GIVEN, "id")
    told = details(planned(RandomTrees(trees=2, n_b=300), guarantee=person))
    assert told["epsilon_by_relation"]["label-change"] == 2.0
    assert (told["epsilon_per_row"], told["rows_per_person"]) == (0.5, 4)


def test_under_a_delta_epsilons_are_worked_out_from_rho() -> None:
    budget, person = Budget("2", "1e-6"), Guarantee("person", 4, "label-change", GIVEN, "id")
    told = details(planned(RandomTrees(trees=2, n_b=300), guarantee=person, budget=budget))
    assert told["delta"] == 1e-6 and told["epsilon_by_relation"]["label-change"] == pytest.approx(2, rel=1e-6)
    for name, rho in (("add-remove", budget.total / 4), ("replace-one", budget.total)):
        assert told["epsilon_by_relation"][name] == pytest.approx(epsilon_of(rho, budget.delta), rel=1e-6)
    assert told["epsilon_per_row"] == pytest.approx(epsilon_of(budget.total / 16, budget.delta), rel=1e-6)
    tree = float(budget.total)  # rho of one of two trees: half of all, worth sqrt(2 rho) of pure epsilon
    assert told["trees"][0]["epsilon"] == pytest.approx(tree**0.5, rel=1e-6)


def test_without_public_labels_the_whole_budget_is_told_though_the_tree_is_not_known_yet() -> None:
    told = details(planned(GuidedTree(), labels=False))
    assert told["epsilon_by_relation"] == {"add-remove": 1.0, "replace-one": 2.0, "label-change": 2.0}
    assert told["trees"] == [] and told["expected_total_variation"] is None


def test_a_job_that_routes_by_a_column_declared_public_can_be_planned() -> None:
    known = Guarantee(relation="label-change", public_columns=(*GIVEN, "race"))
    plan = planned(RandomTrees(columns=("sex", "race"), sequence="papers-2019", n_b=200), guarantee=known)
    assert details(plan)["expected_total_variation"] > 0
    assert any("declared public here" in line for line in plan.remarks)


def test_trees_that_split_by_labels_still_to_come_are_told_like_the_others() -> None:
    told = details(planned(RandomTrees(sequence="chain", trees=1, n_b=100)))["trees"][1]
    assert told["labels"] == ["race"] and told["empty_leaves"] == 0
    assert 0 < told["se"] < 0.5 and sum(told["target_rows"]) > 0, "as if sex were spread as in the public table"


def test_where_the_target_has_the_confidential_rows_leaf_sizes_are_its_own() -> None:
    told = details(planned(RandomTrees(trees=1, n_b=1, depth=2, leaf_sizes="public")))["trees"][0]
    assert told["expected_from"] == "target" and told["expected_rows"] == told["target_rows"]


def test_years_that_the_public_table_lacks_are_guessed_from_the_target() -> None:
    old, new = world(2000, 1).filter(pl.col("age") < "2"), world(600, 2).filter(pl.col("age") >= "2")
    public = PublicData(SCHEMA, CodedTable.read(old, SCHEMA), CodedTable.read(new.select(GIVEN), SCHEMA, "target"))
    recipe, tariff = RandomTrees(by="age", trees=1, n_b=100), Tariff(SCHEMA.coding, LABEL_CHANGE, "pure")
    rng = np.random.default_rng(0)
    plan = outline(recipe, public, tariff=tariff, budget=Budget("2"), rows=4000, rng=rng)
    plan = with_attach(plan, recipe, public, wanted=LeafInterval(), rng=rng)
    told = details(plan)["trees"][0]
    assert told["expected_from"] == "target" and told["expected_rows"][3] > 100
    assert any("2 of 4 groups have fewer than n_b public rows" in line for line in plan.remarks)
    assert plan.attach is not None and "guessed from the target" in "\n".join(plan.attach.lines())


def test_a_plan_takes_the_size_of_the_target_as_the_run_does() -> None:
    """Forty rows by a public table of 2,000 were planned as 2,000: no leaf too small, and a share known to 0.001."""
    public = PublicData(
        SCHEMA,
        CodedTable.read(world(2000, 1), SCHEMA),
        CodedTable.read(world(40, 2).select(GIVEN), SCHEMA, "target"),
    )
    recipe, tariff, rng = GuidedTree(), Tariff(SCHEMA.coding, LABEL_CHANGE, "pure"), np.random.default_rng(0)
    plan = outline(recipe, public, tariff=tariff, budget=Budget("0.1"), rng=rng)
    assert plan.assumed_rows == 40
    assert "The tree has 1 leaf; it has 40 target rows." in plan.remarks
    told = details(with_attach(plan, recipe, public, wanted=LeafInterval(), rng=rng))["trees"][0]
    assert told["expected_rows"] == told["target_rows"] and told["se"] > 0.3


@pytest.mark.parametrize(
    ("recipe", "says", "times"),
    [
        (GuidedTree(), True, 1.0),
        (RandomTrees(trees=1, n_b=100), True, 1.0),
        (RandomTrees(trees=1, n_b=100), False, 2.2),
    ],
)
def test_a_run_on_public_tables_is_not_added_to_what_a_recipe_says_that_it_takes(
    recipe: AbstractRecipe, says: bool, times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two million rows were planned with 120 CPU seconds, which had taken 57: the same work was told twice.

    Of a recipe that does not say it is all that is told: 2,000 public, 4,000 assumed and 600 target rows, and 1,000
    of each here.
    """
    if not says:
        monkeypatch.delattr(RandomTrees, "seconds")
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("hedgerow.planning.attach.process_time", lambda: next(clock))
    told = recipe.seconds(PublicData(SCHEMA, None, CodedTable.read(world(600, 2), SCHEMA)), 4000)
    assert (planned(recipe).seconds - told) / 1000 == pytest.approx(times, abs=0.02)


def test_leaves_are_as_they_are_on_the_public_tables() -> None:
    told = details(planned(RandomTrees(trees=1, n_b=10_000)))["trees"][0]
    assert (told["splits"], told["leaves"], told["empty_leaves"]) == (0, 1, 0)
    assert told["public_rows"][3] == 2000 and told["expected_rows"][3] == 4000 and told["target_rows"][3] == 600
    told = details(planned(RandomTrees(trees=1, n_b=1, depth=2)))["trees"][0]
    assert told["leaves"] == 12 and told["depth"][3] == 2 and told["columns_per_path"] == 2
    assert sum(told["public_rows"][i] for i in (0, 6)) > 0


def test_leaves_below_the_interval_are_those_with_fewer_rows_than_it_needs() -> None:
    told = details(planned(RandomTrees(trees=1, n_b=1, depth=2), width=0.1))["trees"][0]
    assert told["least_rows"] == least_n(0.25, 1.0, width=0.1), "as `hedgerow interval` says"
    narrow = details(planned(RandomTrees(trees=1, n_b=1, depth=2), width=0.01))["trees"][0]
    assert narrow["below"] == narrow["rows_below"] == 1.0
    wide = details(planned(RandomTrees(trees=1, n_b=1, depth=2), width=0.5))["trees"][0]
    assert wide["below"] == 0.0


@pytest.mark.parametrize("recipe", [RandomTrees(trees=1, n_b=200), GuidedTree()])
def test_the_expected_error_is_that_of_a_run_on_half_the_public_table(recipe: AbstractRecipe) -> None:
    told = details(planned(recipe))["expected_total_variation"]
    assert 0 < told < 0.2
    assert details(planned(recipe))["expected_total_variation"] == told


def test_the_plan_of_a_guided_tree_has_one_expected_error_and_says_what_it_is() -> None:
    plan = planned(GuidedTree())
    assert plan.attach is not None
    said = "\n".join([*plan.remarks, *plan.attach.lines()])
    assert said.count("total-variation") == 1 and "rehearsal with one half of the public table" in said


def test_bands_of_an_outcome_are_told_in_words_and_are_no_tree_with_a_depth() -> None:
    sexes = Guarantee(relation="label-change", public_columns=("age", "job", "sex"))
    plan = planned(GuidedTree(outcomes=["sex"]), guarantee=sexes)
    banded = [a.question for a in plan.asked if a.question.tree is not None][1:]
    assert len(banded) == 1 and len(details(plan)["trees"]) == 1
    assert f"in {banded[0].leaves} bands with race" in "\n".join(plan.remarks)
    assert 0 < details(plan)["expected_total_variation"] < 0.2


def test_without_public_labels_the_plan_says_that_it_cannot_tell() -> None:
    plan = planned(RandomTrees(columns=("sex", "race"), trees=1, n_b=200), labels=False)
    assert details(plan)["expected_total_variation"] is None
    assert plan.attach is not None
    assert "no confidential row was read" in "\n".join(plan.attach.lines())


def test_one_count_a_leaf_is_planned_at_half_the_noise() -> None:
    known = Guarantee(relation="label-change", public_columns=("age", "job", "race"))
    both = [planned(RandomTrees(trees=1, leaf_sizes=s), guarantee=known) for s in ("noisy", "public")]
    assert [float(p.asked[0].noise.scale) for p in both] == [1.0, 0.5]
    assert [p.cells for p in both][1] * 2 == both[0].cells
    assert details(both[1])["epsilon_by_relation"]["label-change"] == 2.0
