"""A trial of public labels: two counts tell a relative from labels that were exchanged, and cost next to nothing."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.counting.plan import CountPlan, checked, leaf_of
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees import row_shares
from hedgerow.public import Budget, CodedTable, Guarantee, Marginal, Measurement, PublicData, Schema, Tariff, Tree
from hedgerow.recipes import GuidedTree
from hedgerow.recipes.trees.guided_tree import attach_inputs
from hedgerow.recipes.trees.trial import LabelTrial, sided
from hedgerow.release.words import labels_put_aside

SIZES = {"a": 6, "b": 5, "c": 4, "sex": 2, "race": 3}
SCHEMA = Schema.loads(
    "".join(f'[columns.{n}]\nkind = "categorical"\nvalues = {[*map(str, range(k))]}\n' for n, k in SIZES.items())
)
GIVEN, PRIVATE = ("a", "b", "c"), ("sex", "race")
TARIFF = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
ONE = Budget("1")


def people(seed: int, rows: int = 6000) -> pl.DataFrame:
    """Sex and race lean on a and b; low values are frequent in all given columns."""
    rng = np.random.default_rng(seed)
    found = {c: (SIZES[c] * rng.random(rows) ** 2).astype(int) for c in GIVEN}
    found["sex"] = (rng.random(rows) < 0.2 + 0.12 * found["a"]).astype(int)
    found["race"] = np.minimum((rng.random(rows) * (1 + found["b"])).astype(int), 2)
    return pl.DataFrame({c: v.astype(str) for c, v in found.items()})


def exchanged(table: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """Every value of these columns is another one."""
    return table.with_columns((SIZES[c] - 1 - pl.col(c).cast(pl.Int64)).cast(pl.Utf8).alias(c) for c in columns)


SECRET = people(1)
TRUTH = CodedTable.read(SECRET, SCHEMA)


def public_side(relative: pl.DataFrame) -> PublicData:
    target = CodedTable.read(SECRET.select(GIVEN), SCHEMA, role="target")
    return PublicData(SCHEMA, CodedTable.read(relative, SCHEMA, role="target"), target)


def trial_of(relative: pl.DataFrame, tariff: Tariff = TARIFF) -> LabelTrial | None:
    return LabelTrial.of(attach_inputs(GuidedTree(), tariff, public_side(relative)), tariff)


def asked(relative: pl.DataFrame, budget: Budget = ONE, seed: int = 3) -> tuple[RecordedAnswers, tuple[str, ...]]:
    """What a run asked and was told, and what it found; noise is pretended."""
    live = StandInGate(TARIFF, budget, TRUTH, TRUTH.rows, np.random.default_rng(seed))
    answers, public, recipe = RecordedAnswers(TARIFF, budget, [], live=live), public_side(relative), GuidedTree()
    recipe.fit(answers, public)
    assert sum((a.spend.cost for a in answers.record), Fraction(0)) == budget.total
    return answers, recipe.findings(RecordedAnswers(TARIFF, budget, answers.record), public)


def slope(trial: LabelTrial, labels: pl.DataFrame = SECRET) -> float:
    """Without noise."""
    gate = StandInGate(TARIFF, Budget("1000000"), CodedTable.read(labels, SCHEMA), 6000, np.random.default_rng(0))
    return trial.slope(gate.measure([trial.question], Fraction(1_000_000), law="laplace")[0]).value


def test_labels_of_a_relative_have_slope_one_exchanged_ones_less_than_zero() -> None:
    good, bad = trial_of(people(0)), trial_of(exchanged(people(0), PRIVATE))
    assert good is not None and bad is not None
    assert slope(good) == pytest.approx(1, abs=0.15) and slope(bad) < -0.2


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_labels_that_go_with_nothing_have_slope_zero_whatever_their_totals(share: float) -> None:
    trial, rng = trial_of(people(0)), np.random.default_rng(0)
    assert trial is not None
    sex = (rng.random(6000) < share).astype(int).astype(str)
    other = SECRET.with_columns(sex=pl.Series(sex), race=pl.Series(rng.choice(list("012"), 6000, p=[0.1, 0.1, 0.8])))
    assert slope(trial, other) == pytest.approx(0, abs=0.2)


def test_below_every_leaf_a_row_falls_by_whether_its_label_is_likely_there() -> None:
    tree = Tree.of(("a", "b"), 3, [0, 1], [0, 6], [1, 1, 1, -1, -1, -1, -2, -2, -3, -3, -3])
    likely = np.random.default_rng(0).random((3, 6)) < 0.5
    made = checked(sided(tree, PRIVATE, (2, 3), likely), SCHEMA.coding)
    lines = np.array(list(product(*map(range, SIZES.values()))), np.uint8).T
    codes = dict(zip(SIZES, lines, strict=True))
    side = likely[leaf_of(tree, codes), codes["sex"] * 3 + codes["race"]]
    assert (leaf_of(made, codes) == np.where(side, 0, 1)).all()


def test_each_row_is_in_one_of_two_counts() -> None:
    trial = trial_of(people(0))
    assert trial is not None and trial.question.columns == () and trial.question.leaves == 2
    counted = CountPlan([trial.question], SCHEMA.coding).count(TRUTH.codes(trial.question.tree.columns))  # type: ignore[union-attr]
    assert counted.sum() == TRUTH.rows


def test_exchanged_labels_are_refuted_and_all_goes_on_as_without_them() -> None:
    answers, said = asked(exchanged(people(0), PRIVATE))
    first, tables, leaves = answers.record
    assert first.measurements[0].question.leaves == 2 and first.spend.cost <= ONE.total / 50
    assert [m.question for m in tables.measurements] == [Marginal((a, *PRIVATE)) for a in GIVEN]
    assert tables.spend.cost == (ONE.total - first.spend.cost) / 2
    assert leaves.measurements[0].question.tree is not None
    assert said[0].startswith("A trial refutes the public labels")


def test_a_relative_stands_its_trial_and_loses_a_hundredth_at_most() -> None:
    for seed in range(20):
        answers, said = asked(people(0), seed=seed)
        first, request = answers.record
        assert first.spend.cost <= ONE.total / 100 and request.spend.cost >= ONE.total * Fraction(99, 100)
        assert "Nothing in the answers speaks against" in said[0]


def test_given_columns_of_other_values_are_found_out_without_a_question() -> None:
    answers, said = asked(exchanged(people(0), GIVEN))
    assert len(answers.record) == 2, "there is nothing to try"
    assert "have other values than the target's" in said[0]
    assert "have other values" in GuidedTree().remarks(TARIFF, ONE, public_side(exchanged(people(0), GIVEN)))[0]


def test_one_given_column_of_other_values_speaks_against_no_labels() -> None:
    answers, _ = asked(exchanged(people(0), ("c",)))
    assert answers.record[0].measurements[0].question.leaves == 2, "a trial decides"


def test_a_plan_has_the_trial_and_says_what_it_takes() -> None:
    public, recipe = public_side(people(0)), GuidedTree()
    trial, request = recipe.requests(TARIFF, ONE, public)
    assert trial.cost + request.cost == ONE.total and [a.cells for a in trial.asked] == [2]
    said = " ".join(recipe.remarks(TARIFF, ONE, public))
    assert f"A trial of public labels, by two counts, takes {float(trial.cost):.1%} of the budget" in said
    answers, _ = asked(people(0))
    assert [a.spend for a in answers.record] == [trial, request]


def test_there_is_no_trial_where_noise_would_drown_it() -> None:
    public = public_side(people(0))
    parts = [float(GuidedTree().requests(TARIFF, Budget(e), public)[0].cost) / float(e) for e in ("0.3", "0.6", "3")]
    assert parts[0] > parts[1] > parts[2] == float(GUIDED_TREE.trial_parts[0]), "more budget, a smaller part of it"
    assert len(GuidedTree().requests(TARIFF, Budget("0.01"), public)) == 1


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_there_is_none_where_the_target_may_have_other_rows(relation: Any) -> None:
    tariff = Tariff(SCHEMA.coding, Guarantee(relation=relation), "pure")
    assert trial_of(people(0), tariff) is None and trial_of(people(0)) is not None


def test_answers_that_refute_nothing_leave_the_labels_alone() -> None:
    trial = trial_of(people(0))
    assert trial is not None
    inside = trial.even + trial.strength
    for share, refuted in (
        (inside, False),
        (trial.even + 0.4 * trial.strength, False),
        (trial.even, True),
        (0.1, True),
    ):
        counts = np.array([round(1e6 * share), round(1e6 * (1 - share))])
        (asked_for,) = TARIFF.measure_all([trial.question], Fraction(1), law="laplace").asked
        told = Measurement(trial.question, counts, asked_for.noise)
        assert trial.slope(told).is_below(GUIDED_TREE.trial_slope) is refuted


def test_a_report_says_why_public_labels_did_not_decide_what_was_asked() -> None:
    found = {}
    for name, table in {
        "good": people(0),
        "bad": exchanged(people(0), PRIVATE),
        "none": people(0).select(GIVEN),
    }.items():
        found[name] = labels_put_aside(asked(table)[0].statement(recipe="guided_tree"))
    assert found["good"] == "" and "trial refuted" in found["bad"] and "it has no labels" in found["none"]


def test_rows_written_once_for_all_that_are_like_them_count_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = trial_of(people(0))
    monkeypatch.setattr(row_shares, "GUIDED_TREE", replace(GUIDED_TREE, shared_rows=(1000, 8)))
    inputs = attach_inputs(GuidedTree(), TARIFF, public_side(people(0)))
    assert inputs.lines.many is not None
    assert LabelTrial.of(inputs, TARIFF) == apart
