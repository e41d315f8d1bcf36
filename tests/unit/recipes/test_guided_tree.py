"""guided_tree on simulated tables: it keeps associations, a shifted or unlabelled public table does no harm."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow import pipeline
from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.errors import JobError
from hedgerow.model.constants import GUIDED_TREE
from hedgerow.model.trees import row_shares
from hedgerow.model.trees.label_counts import to_target, trusted
from hedgerow.model.trees.regression_tree import above, as_tree, grow, prune
from hedgerow.model.trees.row_shares import RowShares
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import GuidedTree
from hedgerow.recipes.trees import guided_tree
from hedgerow.recipes.trees.attach import are_linked, cells_of, one_hot
from hedgerow.recipes.trees.guided_tree import attach_inputs, best_request
from tests.unit.recipes.attach_world import SCHEMA as TEXT
from tests.unit.recipes.attach_world import world

SCHEMA = Schema.loads(TEXT)
GIVEN, PRIVATE = ("age", "job"), ("sex", "race")
SECRET = world(3000, 2)


def public_side(relative: pl.DataFrame | None, target: pl.DataFrame) -> PublicData:
    known = None if relative is None else CodedTable.read(relative, SCHEMA, role="target")
    return PublicData(SCHEMA, known, CodedTable.read(target.select(GIVEN), SCHEMA, role="target"))


def made(
    recipe: GuidedTree,
    folder: Path,
    relative: pl.DataFrame | None,
    epsilon: str = "8",
    secret: pl.DataFrame = SECRET,
) -> Any:
    """A real run through the gate on the confidential table's own rows: the table, and what came out."""
    public = public_side(relative, secret)
    gate = pipeline.open_gate(
        secret,
        SCHEMA,
        Budget(epsilon),
        relation="label-change",
        public_columns=GIVEN,
        ledger=folder / "ledger.db",
        name="t",
    )
    assert public.target is not None
    fitted = recipe.fit(gate, public)
    out, again = (fitted.attach(public.target, np.random.default_rng(s)) for s in (0, 1))
    assert sum((a.spend.cost for a in gate.record), Fraction(0)) == Fraction(epsilon), "copies cost nothing"
    assert not out.equals(again)
    assert out.select(GIVEN).equals(public.target.frame.select(GIVEN))
    return secret, out


def odds_ratio(frame: pl.DataFrame) -> float:
    c = {k: len(frame.filter((pl.col("sex") == k[0]) & (pl.col("race") == k[1]))) for k in ("FA", "FB", "MA", "MB")}
    return c["FA"] * c["MB"] / max(c["FB"] * c["MA"], 1)


def keeps_what_is_there(secret: pl.DataFrame, out: pl.DataFrame) -> None:
    for job in ("x", "z"):
        true, got = ((f.filter(pl.col("job") == job)["sex"] == "F").mean() for f in (secret, out))
        assert got == pytest.approx(true, abs=0.04)
    assert odds_ratio(out) == pytest.approx(odds_ratio(secret), rel=0.25)


@pytest.mark.parametrize("prior", ["boosted", "leaves", "none"])
def test_what_job_says_about_sex_and_sex_about_race_is_kept(tmp_path: Path, prior: Any) -> None:
    keeps_what_is_there(*made(GuidedTree(prior=prior), tmp_path, world(3000, 1)))


def test_a_declared_analysis_is_measured_and_kept(tmp_path: Path) -> None:
    secret, out = made(GuidedTree(analyses=[["age"]]), tmp_path, world(3000, 1))
    true, got = ((f.filter(pl.col("age") == "3")["sex"] == "F").mean() for f in (secret, out))
    assert got == pytest.approx(true, abs=0.02)


def older_women(n: int, seed: int, effect: float) -> pl.DataFrame:
    """The usual people, their age by job and, with an ``effect``, by sex."""
    frame, rng = world(n, seed), np.random.default_rng(seed + 100)
    job, sex = (frame["job"] == "z").to_numpy(), (frame["sex"] == "F").to_numpy()
    age = np.clip(np.rint(2 * job + effect * sex + rng.normal(0.5, 0.7, n)), 0, 3).astype(int)
    return frame.with_columns(pl.Series("age", age.astype(str)))


def coefficient(frame: pl.DataFrame) -> float:
    """Of sex in a model of age given job."""
    x = np.column_stack([np.ones(len(frame)), *(frame["job"] == j for j in "yz"), frame["sex"] == "F"])
    return float(np.linalg.lstsq(x.astype(float), frame["age"].cast(pl.Int64).to_numpy(), rcond=None)[0][-1])


@pytest.mark.parametrize("relative", [older_women(3000, 1, 0.0), None], ids=["no such effect", "no public table"])
def test_the_coefficient_of_a_declared_outcome_is_kept(relative: pl.DataFrame | None, tmp_path: Path) -> None:
    secret = older_women(3000, 2, 0.8)
    _, out = made(GuidedTree(outcomes=["age"]), tmp_path, relative, secret=secret)
    assert coefficient(secret) > 0.5
    assert coefficient(out) == pytest.approx(coefficient(secret), abs=0.12)


def asked_for(recipe: GuidedTree, epsilon: str) -> dict[Any, float]:
    """The questions of a recipe, each with its part of the budget."""
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    public = public_side(world(3000, 1), world(3000, 2))
    *_, request = recipe.requests(tariff, Budget(epsilon), public)  # after a trial of the labels
    return {a.question: float(a.cost) / float(epsilon) for a in request.asked}


def test_an_outcome_takes_half_of_a_small_budget_and_less_of_a_large_one() -> None:
    small, large = (asked_for(GuidedTree(outcomes=["age"]), e) for e in ("0.05", "20"))
    assert [sum(list(a.values())[1:]) for a in (small, large)] == pytest.approx(
        [1 / 2, 1 / 6 + 5 / 6 * 3 / 4], abs=0.01
    )
    few, many = ([q.leaves for q in a if q.tree is not None][1:] for a in (small, large))
    assert min(many) > max(few), "a larger budget pays for more bands"
    fixed = asked_for(GuidedTree(outcomes=["age"], analyses=[["job"]], share=0.4), "1")
    assert fixed[Marginal(("job", "sex", "race"))] == pytest.approx(0.2 * sum(fixed.values()))


@pytest.mark.parametrize("relative", [None, world(2000, 1).select(GIVEN)], ids=["no table", "no labels"])
def test_without_public_labels_noisy_tables_grow_the_tree(tmp_path: Path, relative: pl.DataFrame | None) -> None:
    keeps_what_is_there(*made(GuidedTree(), tmp_path, relative))


def far(truth: CodedTable, frame: pl.DataFrame) -> float:
    """The mean total-variation distance of (attribute, labels) tables."""
    got, off = CodedTable.read(frame, SCHEMA, role="synthetic"), []
    for a in GIVEN:
        names = (a, *PRIVATE)
        held = [np.bincount(cells_of(t, names), minlength=SCHEMA.size(names)) for t in (truth, got)]
        off.append(np.abs(held[0] - held[1]).sum() / 2 / truth.rows)
    return float(np.mean(off))


def errors(relative: pl.DataFrame | None, epsilon: str, seeds: int = 6) -> float:
    """The mean error over ``seeds`` pretended runs."""
    secret = world(4000, 2)
    public, truth = public_side(relative, secret), CodedTable.read(secret, SCHEMA)
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    assert public.target is not None
    off = []
    for seed in range(seeds):
        gate = StandInGate(tariff, Budget(epsilon), truth, truth.rows, np.random.default_rng(seed))
        off.append(far(truth, GuidedTree().fit(gate, public).attach(public.target, np.random.default_rng(seed))))
    return float(np.mean(off))


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "2"])
def test_a_shifted_public_table_does_not_hurt(epsilon: str) -> None:
    """Public sex goes with job the wrong way round, race with sex hardly: never worse than that table as it is."""
    wrong = world(4000, 1, lean=-0.2, other=0.6)
    as_it_is = errors(wrong, "0.000001")  # at no budget to speak of, the labels are the public table's
    assert as_it_is > 0.15
    got = errors(wrong, epsilon)
    assert got < as_it_is + 0.01
    if epsilon == "2":
        assert got < 0.25 * as_it_is
        assert got < 1.5 * errors(None, epsilon) + 0.01, "as if it had no labels"


def test_a_starting_point_is_trusted_as_far_as_noisy_counts_tell() -> None:
    rng, n = np.random.default_rng(4), 6000
    group = rng.integers(0, 6, n)
    rate = np.linspace(0.1, 0.9, 6)[group]
    label = rng.random(n) < rate
    counts = np.stack([np.bincount(group[label == k], minlength=6) for k in (True, False)], axis=1)
    right = np.stack([rate, 1 - rate], axis=1).astype(np.float32)
    for scale in (1.0, 10.0):
        noisy = counts + np.rint(rng.laplace(0, scale, counts.shape))
        told = [to_target(group, noisy, 2 * scale**2)]
        assert trusted(right, told)[1] == 1
        made, power = trusted(right[:, ::-1], told)
        assert power == 0
        assert made == pytest.approx(0.5)
    assert trusted(right[:, ::-1], [to_target(group, counts + rng.laplace(0, 1e4, counts.shape), 2e8)])[1] == 1


def test_other_label_totals_are_drift_and_no_reason_to_doubt_what_goes_together() -> None:
    """Rare labels have become frequent everywhere alike: flatter shares fit that, and would lose what is right."""
    tilt = np.exp(np.outer(np.linspace(-0.5, 0.5, 4), [1, -1, 0.5, -0.5, 0.5, -0.5]))
    before = tilt * [0.46, 0.40, 0.06, 0.04, 0.02, 0.02]
    before /= before.sum(axis=1, keepdims=True)
    now = before * [1, 1, 1.5, 1.5, 1.5, 1.5]
    now /= now.sum(axis=1, keepdims=True)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 4, 2000)
        label = (rng.random(2000)[:, None] > np.cumsum(now[group], axis=1)[:, :-1]).sum(axis=1)
        counts = np.bincount(6 * group + label, minlength=24).reshape(4, 6)
        noisy = counts + np.rint(rng.laplace(0, 10, counts.shape))
        assert trusted(before[group].astype(np.float32), [to_target(group, noisy, 200)])[1] == 1, seed


def test_public_labels_that_go_with_nothing_are_put_aside_and_the_plan_says_so() -> None:
    order, good = np.random.default_rng(0).permutation(4000), world(4000, 1)
    shuffled = good.with_columns(pl.Series(c, good[c].to_numpy()[order]) for c in PRIVATE)
    assert errors(shuffled, "2", 2) == pytest.approx(errors(None, "2", 2)), "as if it had no labels"
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    said = [
        GuidedTree().remarks(tariff, Budget("1"), public_side(t, SECRET))[0]
        for t in (shuffled, good, good[:140], None)
    ]
    assert said[0].startswith(
        "The public labels go with no other column and are put aside: attribute tables are asked"
    )
    assert said[1].startswith("The tree has")
    assert said[2].startswith("Public rows with labels are few, a starting point and no more: attribute tables")
    assert said[3].startswith("No public labels: attribute tables are asked first")


def test_public_rows_are_many_or_few_by_all_there_are_not_by_those_a_model_is_grown_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 10^7 public rows 400,000 are taken, which are not few for that."""
    monkeypatch.setattr(guided_tree, "GUIDED_TREE", replace(GUIDED_TREE, public_rows=140))
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    good = world(4000, 1)
    said = [GuidedTree().remarks(tariff, Budget("1"), public_side(t, SECRET))[0] for t in (good, good[:140])]
    assert said[0].startswith("The tree has") and said[1].startswith("Public rows with labels are few")


def test_rare_cells_by_chance_are_no_link() -> None:
    """Many rare values and labels: a row where a hundredth is expected must not pass for association."""
    rng = np.random.default_rng(0)
    rare = 0.6 ** np.arange(20)
    codes, labels = (rng.choice(20, 4000, p=rare / rare.sum()) for _ in range(2))
    rows = np.stack([codes])
    found = [are_linked(rows, [20], rng.permutation(labels), 20, GUIDED_TREE.least_link) for _ in range(40)]
    assert not any(found)
    near = np.where(rng.random(4000) < 0.2, codes, labels)
    assert are_linked(rows, [20], near, 20, GUIDED_TREE.least_link), "a fifth of the rows goes together"


def test_few_public_rows_are_put_aside_where_the_answers_tell_more() -> None:
    few = world(4000, 1)[:140]
    assert errors(few, "20", 2) == pytest.approx(errors(None, "20", 2)), "as if there were none"
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    public, truth = public_side(few, SECRET), CodedTable.read(SECRET, SCHEMA)
    said = GuidedTree().remarks(tariff, Budget("20"), public)[0]
    assert said.startswith("Public rows with labels are so few that answers tell more than they do: they are put")
    gate = StandInGate(tariff, Budget("20"), truth, truth.rows, np.random.default_rng(0))
    assert "put aside" in GuidedTree().findings(gate, public)[0]


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "2"])
def test_few_public_rows_cost_nothing_since_their_chance_is_known(epsilon: str) -> None:
    """With two tables noise hardly hides the totals; 140 rows that were taken for sure cost up to 80 %."""
    few = [world(4000, seed)[:140] for seed in (1, 3, 4)]
    got = np.mean([errors(f, epsilon, 4) for f in few])
    assert got < 1.15 * errors(None, epsilon, 4)


def test_what_the_answers_tell_of_public_labels_is_said_in_the_report() -> None:
    order, good = np.random.default_rng(0).permutation(4000), world(4000, 1)
    tables = {
        "go with no other column": good.with_columns(pl.Series(c, good[c].to_numpy()[order]) for c in PRIVATE),
        "Nothing in the answers speaks against the public labels": good,
        "A trial refutes the public labels": world(4000, 1, lean=-0.2, other=0.6),
        "The answers ": world(4000, 1, lean=0.33),
    }
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    for said, table in tables.items():
        public = public_side(table, SECRET)
        truth = CodedTable.read(SECRET, SCHEMA)
        live = StandInGate(tariff, Budget("4"), truth, truth.rows, np.random.default_rng(3))
        answers = RecordedAnswers(tariff, Budget("4"), [], live=live)
        GuidedTree().fit(answers, public)
        (found,) = GuidedTree().findings(RecordedAnswers(tariff, Budget("4"), answers.record), public)
        assert said in found, found
        assert ("out in part only" in found or "do not bear" in found) == said.startswith("The answers ")


@pytest.mark.parametrize("epsilon", ["0.05", "1"])
def test_a_good_public_table_keeps_its_worth(epsilon: str) -> None:
    good = world(8000, 1)
    assert errors(good, epsilon, 4) < errors(good, "0.000001", 4) + 0.002


def test_a_guided_tree_finds_the_split_that_matters_and_noise_prunes_it() -> None:
    rng = np.random.default_rng(0)
    lines = np.stack([rng.integers(0, 6, 4000), rng.integers(0, 3, 4000)]).astype(np.uint8)
    y = (np.isin(lines[0], [1, 4]) ^ (rng.random(4000) < 0.1)).astype(int)
    known = np.eye(2, dtype=np.float32)[y]
    grown = grow(lines, known, (6, 3), (False, False), smallest=3, deepest=10)
    tree, ends = as_tree(grown, prune(grown, noise=200.0, over=1.0), ("a", "b"))
    assert tree.arrays
    first = tree.arrays[2][:6]
    assert len({int(first[c]) for c in (1, 4)}) == 1
    assert len({int(first[c]) for c in (0, 2, 3, 5)}) == 1
    assert above(grown, ends, 0).tolist() == [0] * len(ends)
    assert len(set(above(grown, ends, 1).tolist())) == 2
    assert above(grown, ends, 10).tolist() == list(range(len(ends)))
    none, _ = as_tree(grown, prune(grown, noise=1e9, over=1.0), ("a", "b"))
    assert none.leaves == 1, "with noise that large nothing is worth a split"


def test_more_budget_means_more_leaves_and_a_smaller_expected_error() -> None:
    public = public_side(world(2000, 1), world(2000, 2))
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    recipe = GuidedTree()
    inputs = attach_inputs(recipe, tariff, public)
    assert inputs.labels is not None
    shares = one_hot(inputs.labels, inputs.label_count)
    asked = [best_request(recipe, inputs, shares, tariff, Budget(e).total) for e in ("0.1", "1", "10")]
    assert asked[0].tree.leaves < asked[-1].tree.leaves
    assert asked[0].expected > asked[1].expected > asked[2].expected


def test_an_attribute_of_priority_zero_is_left_out() -> None:
    public = public_side(world(2000, 1), world(2000, 2))
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    recipe = GuidedTree(priorities={"age": 0}, tables=0.5)
    *_, spend = recipe.requests(tariff, Budget("1"), public)
    assert [q.question.columns for q in spend.asked] == [PRIVATE, ("job", *PRIVATE)]
    first = spend.asked[0].question
    assert first.tree is not None
    assert first.tree.columns == ("job",)


@pytest.mark.parametrize(
    "settings",
    [{"share": 1.0}, {"tables": 1.0}, {"prior": "x"}, {"rows": 0}, {"priorities": {"age": -1}}, {"outcomes": "age"}],
)
def test_settings_that_make_no_sense_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(JobError, match="guided_tree"):
        GuidedTree(**settings)


@pytest.mark.parametrize("settings", [{"analyses": [["sex"]]}, {"outcomes": ["sex"]}, {"priorities": {"pay": 2}}])
def test_names_that_are_not_given_attributes_are_refused(settings: dict[str, Any]) -> None:
    public = public_side(world(100, 1), world(100, 2))
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    with pytest.raises(JobError, match="age, job"):
        GuidedTree(**settings).requests(tariff, Budget("1"), public)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"outcomes": ["job"]}, "no order"),
        ({"outcomes": ["age"], "priorities": {"age": 0}}, "priority 0"),
    ],
)
def test_what_cannot_be_an_outcome_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(JobError, match=why):
        asked_for(GuidedTree(**settings), "1")


def test_an_outcome_that_another_column_settles_is_refused() -> None:
    settled = world(500, 1).with_columns(age=pl.col("job").replace({"x": "0", "y": "1", "z": "2"}))
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    with pytest.raises(JobError, match="settle"):
        GuidedTree(outcomes=["age"]).requests(tariff, Budget("1"), public_side(settled, settled))


def test_a_plan_and_its_run_grow_the_tree_and_boost_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counter[str]()
    for name in ("best_request", "fit_boosted_trees"):
        real = getattr(guided_tree, name)
        monkeypatch.setattr(guided_tree, name, lambda *a, n=name, f=real, **k: (calls.update([n]), f(*a, **k))[1])
    public = public_side(world(2000, 1), SECRET)
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    recipe, budget = GuidedTree(), Budget("1")
    recipe.requests(tariff, budget, public)
    recipe.remarks(tariff, budget, public)
    truth = CodedTable.read(SECRET, SCHEMA)
    gate = StandInGate(tariff, budget, truth, truth.rows, np.random.default_rng(0))
    recipe.fit(gate, public)
    assert calls == {"best_request": 1, "fit_boosted_trees": 1}
    recipe.requests(tariff, Budget("2"), public)
    assert calls["best_request"] == 2, "another budget is another request"


@pytest.mark.parametrize("labelled", [True, False])
def test_rows_with_equal_codes_share_their_work_and_come_to_the_same(
    labelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, recipe = CodedTable.read(SECRET, SCHEMA), GuidedTree(outcomes=["age"], analyses=[["job"]])
    tariff = Tariff(SCHEMA.coding, Guarantee(relation="label-change", public_columns=GIVEN), "pure")
    found = []
    for fewest in (10_000, 1_000):
        monkeypatch.setattr(row_shares, "GUIDED_TREE", replace(GUIDED_TREE, shared_rows=(fewest, 8)))
        public = public_side(world(900, 1) if labelled else None, SECRET)
        gate = StandInGate(tariff, Budget("4"), secret, 3000, np.random.default_rng(0))
        found.append((recipe.fit(gate, public), recipe.remarks(tariff, Budget("4"), public), public.target))
    (apart, said, _), (shared, same, target) = found
    assert isinstance(apart, RowShares) and isinstance(shared, RowShares) and target is not None
    assert apart.line is None and shared.line is not None and len(shared.shares) == 12 and said == same
    assert np.allclose(shared.shares[shared.line], apart.shares, atol=1e-4)
    for table in (("sex", "job"), ("age", "race"), ("race",)):
        q = Marginal(table)
        assert np.allclose(shared.expected(q), apart.expected(q), atol=0.2)
        made = CodedTable.read(shared.attach(target, np.random.default_rng(2)), SCHEMA).cells(table)
        off = np.bincount(made, minlength=SCHEMA.size(table)) - shared.expected(q)
        assert np.abs(off).max() < 6, "by chance alone it would be near 30"
