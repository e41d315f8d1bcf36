"""Settings of every recipe: names, types and rules are refused in one way, from Python and from a job file."""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from hedgerow.errors import JobError
from hedgerow.recipes import RECIPES, AbstractRecipe, GuidedTree, Independent, RandomTrees
from tests.jobs import loads
from tests.unit.recipes.attach_world import SCHEMA

EVERY = pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))


@EVERY
def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(recipe: type[AbstractRecipe]) -> None:
    with pytest.raises(JobError, match=rf"(?s)\[{recipe.name}\] does not know: no_such_setting.*It knows.*Nothing"):
        recipe(no_such_setting=1)


@EVERY
def test_a_setting_of_another_type_is_refused_by_its_name(recipe: type[AbstractRecipe]) -> None:
    for f in fields(recipe):  # type: ignore[arg-type]
        with pytest.raises(JobError, match=rf"\[{recipe.name}\] {f.name} is .*, not .*Nothing was read or spent"):
            recipe(**{f.name: {1: object()}})


@EVERY
def test_what_is_given_as_a_list_equals_what_is_given_as_a_tuple_and_can_be_copied(
    recipe: type[AbstractRecipe],
) -> None:
    kinds = get_type_hints(recipe)
    lists = [f.name for f in fields(recipe) if kinds[f.name] == fields_of_names()]  # type: ignore[arg-type]
    least: Any = {"time": "year"} if recipe.name == "careers" else {}  # what it cannot do without
    made = recipe(**least, **{n: ["a"] for n in lists[:1]})
    assert (
        made
        == recipe(**least, **{n: ("a",) for n in lists[:1]})
        == copy.copy(made)
        == pickle.loads(pickle.dumps(made))
    )  # noqa: S301


def fields_of_names() -> Any:
    return get_type_hints(RandomTrees)["columns"]


@pytest.mark.parametrize(
    ("recipe", "settings", "said"),
    [
        (RandomTrees, {"tres": 3}, "Did you mean trees?"),
        (RandomTrees, {"trees": True}, "trees is a whole number, not True"),
        (RandomTrees, {"trees": 3.0}, "trees is a whole number, not 3.0"),
        (RandomTrees, {"trees": 0, "n_b": 0}, "trees is between 1 and 1000, not 0; n_b is 1 or more, not 0"),
        (RandomTrees, {"columns": "sex"}, "columns is a list of names, such as [\"sex\"], not 'sex'"),
        (RandomTrees, {"weights": {"age": float("nan")}}, "weights is a table of names, each with a number, not"),
        (RandomTrees, {"combine": "median"}, "combine is 'mean' or 'pooled' or 'precision', not 'median'"),
        (RandomTrees, {"by": "a", "partition": "b"}, "either by or partition is given, not both"),
        (GuidedTree, {"analyses": ["age"]}, "analyses is a list, each a list of names"),
        (GuidedTree, {"share": "half"}, "share is a number or left out, not 'half'"),
        (Independent, {"rows": 0}, "rows is 1 or more, not 0"),
    ],
)
def test_a_refusal_says_what_is_allowed(recipe: type[AbstractRecipe], settings: Mapping[str, Any], said: str) -> None:
    with pytest.raises(JobError) as refusal:
        recipe(**settings)
    assert said in str(refusal.value)


def test_a_recipe_of_ones_own_is_checked_like_ours() -> None:
    @dataclass(frozen=True)
    class Mine(Independent):  # type: ignore[misc]  # final for type checkers
        name = "mine"
        depth: int = 1

    assert Mine(depth=2).depth == 2
    with pytest.raises(JobError, match=r"\[mine\] does not know: dept\. Did you mean depth\?"):
        Mine(dept=2)  # type: ignore[call-arg]
    with pytest.raises(JobError, match=r"\[mine\] rows is 1 or more, not 0"):
        Mine(rows=0)


@pytest.mark.parametrize(
    ("written", "settings"),
    [
        ("prio = 'none'", {"prio": "none"}),
        ("prior = 'nothing'", {"prior": "nothing"}),
        ("columns = 'sex'", {"columns": "sex"}),
        ("rows = 0\nshare = 2", {"rows": 0, "share": 2}),
    ],
)
def test_a_job_file_and_python_refuse_in_the_same_words(
    tmp_path: Path, written: str, settings: Mapping[str, Any]
) -> None:
    tables = "[confidential]\ntable = 'c.csv'\n[target]\ntable = 't.csv'\n[budget]\nepsilon = 1\n"
    (tmp_path / "schema.toml").write_text(SCHEMA, "utf-8")
    with pytest.raises(JobError) as python:
        GuidedTree(**settings)
    with pytest.raises(JobError) as file:
        loads(f"{tables}[guided_tree]\n{written}\n", tmp_path / "job.toml")
    assert str(file.value) == f"{tmp_path / 'job.toml'}: {python.value}"
