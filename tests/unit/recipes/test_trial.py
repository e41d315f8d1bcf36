"""A trial of the public relations: a few counts tell a relative from a stranger whose one-way tables are right."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import RecordedAnswers, StandInGate
from hedgerow.counting.plan import CountPlan
from hedgerow.public import CodedTable, Guarantee, PublicData, Schema, Tariff, budget_for
from hedgerow.recipes import PublicBlend, TreeBlend
from hedgerow.recipes.blend.axes import axes_of
from hedgerow.recipes.blend.noisy_tables import NoisyTables
from hedgerow.recipes.blend.public_prior import PublicPrior
from hedgerow.recipes.blend.trial import Slope, Trial, sided_question
from hedgerow.records import draw_one

SIZES = {"a": 6, "b": 5, "c": 4, "d": 3}
SCHEMA = Schema.loads(
    "".join(f'[columns.{n}]\nkind = "categorical"\nvalues = {[*map(str, range(k))]}\n' for n, k in SIZES.items())
)
ROWS, MOST = 6000, Fraction("0.04")
AXES = axes_of(SCHEMA, (), recipe="public_blend")


def people(seed: int, *, against: bool = False) -> CodedTable:
    """A chain of columns, each like the one before it, or ``against`` it; their one-way tables are the same."""
    rng, found = np.random.default_rng(seed), {}
    level = rng.random(ROWS)
    for name, k in SIZES.items():
        level = np.where(rng.random(ROWS) < 0.6, 1 - level if against else level, rng.random(ROWS))
        found[name] = (k * level**2).astype(int)
    return CodedTable.read(pl.DataFrame(found), SCHEMA)


SECRET, RELATIVE, STRANGER = people(1), people(0), people(0, against=True)


def gate_of(epsilon: str, seed: int = 2, schema: Schema = SCHEMA, secret: CodedTable = SECRET) -> StandInGate:
    budget = budget_for(epsilon, "1e-6", "gdp")
    tariff = Tariff(schema.coding, Guarantee(), budget.measure)
    return StandInGate(tariff, budget, secret, secret.rows, np.random.default_rng(seed))


def prior_of(public: CodedTable, gate: StandInGate, unlike: tuple[int, ...] = ()) -> PublicPrior:
    """The public rows beside noisy one-way tables."""
    answers = gate.measure([AXES.question((i,)) for i in range(4)], gate.budget.total / 10)
    noisy = NoisyTables(AXES, {(i,): [m] for i, m in enumerate(answers)}, ROWS)
    return PublicPrior(noisy, AXES.rows(public), unlike=unlike)


def slope_of(public: CodedTable, epsilon: str, seed: int, unlike: tuple[int, ...] = ()) -> Slope:
    gate = gate_of(epsilon, seed)
    trial = Trial.of(prior_of(public, gate, unlike), gate, MOST)
    assert trial is not None
    return trial.slope(gate.measure(trial.questions(), gate.budget.total * trial.part))


def error(made: pl.DataFrame) -> float:
    """The mean L1 distance of the six pairs."""
    sides, off = (SECRET.frame, made), []
    for i, a in enumerate(SIZES):
        for b in list(SIZES)[i + 1 :]:
            codes = [t[a].cast(int).to_numpy() * 6 + t[b].cast(int).to_numpy() for t in sides]
            cells = [np.bincount(c, minlength=36) / len(c) for c in codes]
            off.append(np.abs(cells[0] - cells[1]).sum())
    return float(np.mean(off))


def test_the_slope_is_about_one_for_a_relative_and_none_for_a_stranger_with_the_same_one_way_tables() -> None:
    relative, stranger = ([slope_of(t, "1", s).value for s in range(6)] for t in (RELATIVE, STRANGER))
    assert min(relative) > 0.8 and max(relative) < 1.2 and max(stranger) < 0.1


@pytest.mark.parametrize("epsilon", ["0.3", "1"])
def test_a_stranger_with_the_same_one_way_tables_costs_next_to_nothing(epsilon: str) -> None:
    """Cells of pairs would tell too late: half of the budget and the records' start had gone by then."""
    found = []
    for recipe, public in ((PublicBlend(), STRANGER), (TreeBlend(), None)):
        data, off = PublicData(SCHEMA, public), []
        for seed in range(4):
            made = recipe.fit(gate_of(epsilon, seed), data)
            off.append(error(draw_one(made, data, np.random.default_rng(3)).frame))
        found.append(np.mean(off))
    assert found[0] < 1.05 * found[1]


@pytest.mark.parametrize(
    ("public", "said"), [(STRANGER, "do not bear out how the columns"), (RELATIVE, "Nothing in")]
)
def test_what_the_trial_found_is_said_and_the_record_of_answers_gives_it_again(public: CodedTable, said: str) -> None:
    gate, data = gate_of("1"), PublicData(SCHEMA, public)
    answers = RecordedAnswers(gate.tariff, gate.budget, [], live=gate)
    made = draw_one(PublicBlend().fit(answers, data), data, np.random.default_rng(3)).frame
    again = RecordedAnswers(gate.tariff, gate.budget, answers.record)
    fresh = PublicData(SCHEMA, public)
    assert said in PublicBlend().findings(again, fresh)[0]
    again = RecordedAnswers(gate.tariff, gate.budget, answers.record)
    assert made.equals(draw_one(PublicBlend().fit(again, fresh), fresh, np.random.default_rng(3)).frame)
    assert gate.left == 0


def test_noise_refutes_nothing_and_half_of_the_public_relations_is_too_little_without_noise() -> None:
    assert not Slope(0.0, 2.0).refutes and not Slope(0.6, 0.01).refutes
    assert Slope(0.0, 0.2).refutes and Slope(0.45, 0.01).refutes


def test_a_trial_takes_less_of_a_larger_budget_and_never_more_than_it_may() -> None:
    parts = []
    for epsilon in ("0.03", "0.3", "3"):
        gate = gate_of(epsilon)
        trial = Trial.of(prior_of(RELATIVE, gate), gate, MOST)
        assert trial is not None
        parts.append(trial.part)
    assert MOST >= parts[0] > 4 * parts[1] > 16 * parts[2] > 0
    gate = gate_of("1000")
    trial = Trial.of(prior_of(RELATIVE, gate), gate, MOST)
    assert trial is not None and trial.part == Fraction(1, 10_000), "nothing can be asked for nothing"


def test_no_trial_where_noise_drowns_every_pair_and_none_of_two_columns() -> None:
    gate = gate_of("0.001")
    assert Trial.of(prior_of(RELATIVE, gate), gate, MOST) is None
    two = Schema.loads("".join(f'[columns.{n}]\nkind = "categorical"\nvalues = ["0", "1", "2", "3"]\n' for n in "ab"))
    rng = np.random.default_rng(0)
    same = rng.integers(0, 4, ROWS)
    table = CodedTable.read(pl.DataFrame({"a": same, "b": same}), two)
    gate, axes = gate_of("1", schema=two, secret=table), axes_of(two, (), recipe="public_blend")
    answers = gate.measure([axes.question((i,)) for i in range(2)], gate.budget.total / 10)
    noisy = NoisyTables(axes, {(i,): [m] for i, m in enumerate(answers)}, ROWS)
    assert Trial.of(PublicPrior(noisy, axes.rows(table)), gate, MOST) is None


def test_a_column_of_other_people_counts_as_a_pair_of_which_nothing_is_borne_out() -> None:
    """Of three columns that hold there are two pairs, besides the one that does not."""
    assert slope_of(RELATIVE, "10", 1, unlike=(3,)).value == pytest.approx(2 / 3, abs=0.1)


def test_sides_are_asked_in_two_counts() -> None:
    side = np.random.default_rng(3).random((5, 3)) < 0.4
    (counts,) = CountPlan([sided_question(AXES, (1, 3), side)], SCHEMA.coding).split(
        CountPlan([sided_question(AXES, (1, 3), side)], SCHEMA.coding).count(SECRET.codes(["b", "d"]))
    )
    inside = int(side[SECRET.codes(["b"])["b"].astype(int), SECRET.codes(["d"])["d"].astype(int)].sum())
    assert counts.tolist() == [inside, ROWS - inside]
