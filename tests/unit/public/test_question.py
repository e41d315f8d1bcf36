"""Questions with trees, as plain data and back; and what is not a question."""

from typing import Any

import pytest

from hedgerow.public.costs.question import Marginal, Tree
from hedgerow.public.costs.statement import question_from_json, question_to_json

TREE = Tree.of(("age", "job"), 3, [0, 1], [0, 2], [1, -1, -2, -3])


@pytest.mark.parametrize(
    "question",
    [
        Marginal(()),
        Marginal(("sex", "race")),
        Marginal(("sex",), TREE),
        Marginal((), TREE, "sex"),
        Marginal(("a",), None, "b"),
    ],
)
def test_a_question_comes_back_from_plain_data(question: Marginal) -> None:
    again = question_from_json(question_to_json(question))
    assert again == question and repr(again) == repr(question)
    assert again.tree is None or not again.tree.arrays, "a tree comes back by its hash alone"


@pytest.mark.parametrize(
    "data",
    [
        "sex",
        ["sex", 1],
        {"columns": ["sex"], "more": 1},
        {"columns": ["sex"], "tree": {"columns": ["a"], "leaves": 0, "sha256": "x"}},
        {"columns": ["sex"], "tree": {"columns": ["a"], "leaves": True, "sha256": "x"}},
        {"columns": ["sex"], "tree": {"columns": "a", "leaves": 2, "sha256": "x"}},
        {"columns": ["sex"], "tree": {"columns": ["a"], "leaves": 2, "sha256": 5}},
        {"columns": ["sex"], "tree": {"columns": ["a"], "leaves": 2}},
        {"columns": ["sex"], "only": 3},
        {"tree": None},
    ],
)
def test_what_is_no_question_is_refused(data: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        question_from_json(data)


def test_questions_say_what_they_are() -> None:
    assert str(Marginal(("sex",), TREE)) == "3 leaves x sex"
    assert str(Marginal((), TREE, "sex")) == "3 leaves x first sex"
    assert str(Marginal((), TREE)) == f"3 leaves of {', '.join(TREE.columns)}"


def test_a_tree_is_known_by_all_it_does() -> None:
    others = [
        Tree.of(("job", "age"), 3, [0, 1], [0, 2], [1, -1, -2, -3]),
        Tree.of(("age", "job"), 4, [0, 1], [0, 2], [1, -1, -2, -3]),
        Tree.of(("age", "job"), 3, [0, 1], [0, 2], [1, -1, -3, -2]),
        Tree.of(("age", "job"), 3, [0], [0, 2, 1], [1, -1, -2, -3]),
    ]
    assert len({TREE.sha256, *(t.sha256 for t in others)}) == 5
