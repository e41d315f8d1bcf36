"""Rehearsals: two parts of a public table, runs over epsilons, and the least that meets every tolerance."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable, PublicData
from hedgerow.recipes import RECIPES
from hedgerow.release.rehearsal_folder import saved_rehearsal, write_meanwhile
from hedgerow.stand_in import stand_in
from hedgerow.stand_in.drift import moved
from hedgerow.stand_in.rehearsal import _SEEN, FIRST, RUNS, TIMES, Point, Rehearsal, _rests_on, band, quick, rehearse
from hedgerow.stand_in.stand_in import StandIn, split
from hedgerow.uses import AbstractUse, Mean, Table, Verdict
from tests.contract.test_every_recipe import SETTINGS
from tests.privacy.world import SCHEMA, frame

SCHEMA_ = Schema.loads(SCHEMA)
ROWS = (
    ("F", "A", "5", "n", "a"),
    ("M", "B", "12", "s", "b"),
    ("M", None, "39", "n", "c"),
    ("F", "C", "25", "s", "d"),
)
USES = (
    Table(["race"], tolerance=0.03),
    Mean("pay", by=["sex"], tolerance=2.0, name="pay"),
    Table(["race", "pay"], tolerance=0.3, name="pair"),
)


def a_stand_in(
    rows: int = 400,
    *,
    recipe: str = "independent",
    assumed: int | None = None,
    uses: tuple[AbstractUse, ...] = USES,
    person: pl.Series | None = None,
    guarantee: Guarantee | None = None,
) -> StandIn:
    table = frame((ROWS * rows)[:rows])
    target = CodedTable.read(table.drop("race"), SCHEMA_, role="target")  # for recipes that attach columns
    public = PublicData(SCHEMA_, CodedTable.read(table, SCHEMA_), target)
    tariff = Tariff(SCHEMA_.coding, guarantee or Guarantee(), "pure")
    return StandIn(RECIPES[recipe](**SETTINGS[recipe]), public, tariff, uses, assumed or rows, person)


def made(here: StandIn, epsilon: str = "1", **more: object) -> Rehearsal:
    rng = np.random.default_rng(3)
    return rehearse(here, budget=Budget(epsilon), workers=1, rng=rng, **more)  # type: ignore[arg-type]


def test_the_parts_share_no_row_and_make_up_the_table() -> None:
    here = a_stand_in(401)
    parts = split(here, np.random.default_rng(0))
    assert (parts.truth.rows, parts.relative.rows) == (200, 201)
    assert parts.counted is parts.truth and parts.scale == 401 / 200
    again = pl.concat([parts.truth.frame, parts.relative.frame])
    assert again.sort(pl.all()).equals(here.table.frame.sort(pl.all()))


def test_a_small_confidential_table_takes_no_more_rows_than_it_is_assumed_to_have() -> None:
    parts = split(a_stand_in(400, assumed=50), np.random.default_rng(0))
    assert (parts.truth.rows, parts.relative.rows, parts.scale) == (50, 350, 1.0)


def test_a_huge_public_table_is_not_played_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_in, "MOST", 60)
    for halved, due in ((False, 60), (True, 30)):
        parts = split(a_stand_in(400), np.random.default_rng(0), halved=halved)
        assert (parts.truth.rows, parts.relative.rows, parts.scale) == (due, due, 400 / due)


def test_a_person_is_on_one_side_only_and_counts_as_often_as_the_gate_would_count() -> None:
    who = pl.Series([f"p{i // 5}" for i in range(395)] + [None] * 5)
    promise = Guarantee(unit="person", person="id", rows_per_person=2)
    marked = frame(tuple((*ROWS[i % 4][:2], str(i % 40), *ROWS[i % 4][3:]) for i in range(400)))
    public = PublicData(SCHEMA_, CodedTable.read(marked, SCHEMA_))
    here = StandIn(RECIPES["independent"](), public, Tariff(SCHEMA_.coding, promise, "pure"), USES, 400, who)
    parts = split(here, np.random.default_rng(1))
    assert 200 <= parts.truth.rows <= 205
    assert parts.truth.rows + parts.relative.rows == 400
    named = parts.truth.rows - parts.truth.rows % 5  # rows that name nobody go one by one
    assert parts.counted.rows == named // 5 * 2, "two rows of each person, none of those that name nobody"


def test_half_of_both_parts_is_a_part_of_them() -> None:
    for here in (
        a_stand_in(401),
        a_stand_in(400, assumed=50),
        a_stand_in(400, person=pl.Series([f"p{i // 4}" for i in range(400)])),
    ):
        whole = split(here, np.random.default_rng(0))
        half = split(here, np.random.default_rng(0), halved=True)
        for of, part in ((whole.truth, half.truth), (whole.relative, half.relative)):
            assert of.rows / 2 - 4 <= part.rows <= of.rows / 2 + 4
            assert part.frame.join(of.frame, on=part.frame.columns, how="anti", nulls_equal=True).is_empty()
        assert half.scale * half.truth.rows == pytest.approx(here.rows)


def test_a_table_that_hardly_names_a_person_is_refused() -> None:
    promise = Guarantee(unit="person", person="id", rows_per_person=2)
    with pytest.raises(JobError, match="Hardly a public row names a person in 'id'"):
        split(
            a_stand_in(40, person=pl.Series([None] * 40, dtype=pl.String), guarantee=promise),
            np.random.default_rng(0),
        )


@pytest.mark.parametrize("rows", [1, 3])
def test_too_few_rows_are_refused(rows: int) -> None:
    with pytest.raises(JobError, match="too few"):
        split(a_stand_in(rows), np.random.default_rng(0))


def test_one_person_cannot_be_split() -> None:
    with pytest.raises(JobError, match="one person"):
        split(a_stand_in(40, person=pl.Series(["me"] * 40)), np.random.default_rng(0))


def test_a_use_that_a_table_of_counts_cannot_answer_is_refused() -> None:
    for recipe in {"integer_counts", "dirichlet_multinomial", "gamma_poisson"} & set(RECIPES):
        with pytest.raises(JobError, match="does not have"):
            made(a_stand_in(recipe=recipe, uses=USES[2:]), runs=2, epsilons=[Fraction(1)])


@pytest.mark.parametrize("recipe", [r for r in RECIPES if r != "careers"])  # its people: end_to_end/test_careers.py
def test_every_recipe_can_be_rehearsed(recipe: str) -> None:
    """Uses of every kind that the recipe's own columns, if it has any, can answer."""
    named = SETTINGS[recipe].get("columns", SETTINGS[recipe].get("column"))
    columns = [named] if isinstance(named, str) else named
    kept = tuple(Table([str(c)], tolerance=0.1) for c in columns) if isinstance(columns, list) else USES
    found = made(a_stand_in(recipe=recipe, uses=kept), runs=2, epsilons=[Fraction(1)])
    assert [v.expected_met is not None for v in found.here.verdicts] == [True] * len(kept)
    assert all(v.low is None and v.high is not None for v in found.here.verdicts), "two runs make no band"


def test_errors_fall_with_epsilon_and_the_least_that_will_do_is_named() -> None:
    found = made(a_stand_in(), runs=3)
    errors = [p.verdicts[0].error for p in found.points]
    assert all(a is not None and b is not None and a >= b for a, b in zip(errors, errors[1:], strict=False))
    assert found.smallest is None, "independence cannot meet the pair"
    assert found.smallest_for(2) is None
    least = found.smallest_for(0)
    assert least is not None
    assert all(p.verdicts[0].expected_met for p in found.points if p.epsilon >= least)
    assert not all(p.verdicts[0].expected_met for p in found.points)


def test_around_the_least_epsilon_more_are_tried() -> None:
    plain = made(a_stand_in(uses=USES[:1]), runs=3, epsilons=[Fraction(1, 8), Fraction(1)])
    closer = made(a_stand_in(uses=USES[:1]), runs=3)
    assert len(plain.points) == 2
    assert closer.smallest is not None
    assert len(closer.points) > 6
    assert closer.smallest in [p.epsilon for p in closer.points]
    below = [p for p in closer.points if p.epsilon < closer.smallest][-1]
    assert not below.expected_met
    assert closer.smallest / below.epsilon < 1.5, "twice halved, on a logarithmic scale"


def test_the_same_seed_gives_the_same_rehearsal_in_one_process_or_in_two() -> None:
    alone = made(a_stand_in(uses=USES[:2]), runs=2, epsilons=[Fraction(1)])
    again = made(a_stand_in(uses=USES[:2]), runs=2, epsilons=[Fraction(1)])
    assert alone == again
    rng = np.random.default_rng(3)
    told: list[tuple[int, int]] = []
    two = rehearse(
        a_stand_in(uses=USES[:2]),
        budget=Budget("1"),
        runs=2,
        epsilons=[Fraction(1)],
        workers=2,
        watch=lambda done, of, left: told.append((done, of)),
        rng=rng,
    )
    assert two == alone
    assert told == [(1, 2), (2, 2)]


def test_a_first_look_comes_early_and_is_a_part_of_the_whole() -> None:
    here, looks, done = a_stand_in(100), list[Rehearsal](), list[int]()
    found = made(here, look=looks.append, watch=lambda n, of, left: done.append(n))
    assert found.to_json() == made(here).to_json(), "who looks changes nothing"
    first, second = looks
    assert [float(p.epsilon) for p in first.points] == [0.25, 1, 4] and first.runs == FIRST < RUNS
    assert all(f"{FIRST} runs ({RUNS} make a band" in v.note for v in first.here.verdicts)
    assert second.runs == RUNS and [p.epsilon for p in second.points] == [Fraction(t) for t in TIMES]
    assert done.count(3 * FIRST) == 1 and done[-1] == RUNS * len(found.points), "no run is made twice"


def test_a_first_look_is_not_written_over_a_fuller_rehearsal(tmp_path: Path) -> None:
    few = made(a_stand_in(100), epsilons=[Fraction(1)], runs=1)
    full = replace(few, runs=2)
    for found, kept in ((few, few), (full, full), (few, full), (replace(few, key="another job"), few)):
        write_meanwhile(found, tmp_path)
        known = saved_rehearsal(tmp_path)
        assert known is not None and known.runs == kept.runs


def test_a_rehearsal_reads_back() -> None:
    found = made(a_stand_in(), runs=2)
    assert Rehearsal.from_json(found.to_json()) == found
    assert found.to_json()["confidential_rows_read"] == 0


def test_the_least_epsilon_has_no_miss_above_it() -> None:
    def point(epsilon: int, error: float) -> Point:
        return Point(Fraction(epsilon), (Verdict(USES[0], error, None, ""),))

    lucky = [point(1, 0.01), point(2, 0.5), point(3, 0.02), point(4, 0.01)]
    found = Rehearsal("", "r", Fraction(1), Fraction(0), 2, 10, (5, 5), 0.5, tuple(lucky))
    assert found.smallest == 3


def test_nine_runs_in_ten_lie_below_the_band() -> None:
    """Of one more run, whatever the law: errors here are far from normal."""
    rng = np.random.default_rng(0)
    for runs in (9, 14, 20):
        errors, more = rng.lognormal(0, 1.5, (4000, runs)), rng.lognormal(0, 1.5, 4000)
        bands = np.array([band(e.tolist()) for e in errors])
        assert np.mean(more < bands[:, 1]) == pytest.approx(0.9, abs=0.02), runs
        assert np.mean(more < bands[:, 0]) == pytest.approx(0.1, abs=0.02), runs


def test_fewer_than_nine_runs_make_no_band_and_are_judged_by_the_worst() -> None:
    assert band([1.0] * 8) is None
    found = made(a_stand_in(uses=USES[:1]), runs=3, epsilons=[Fraction(1)])
    (verdict,) = found.here.verdicts
    assert verdict.low is None
    assert verdict.high is not None and verdict.error is not None and verdict.high > verdict.error


def test_a_plan_and_a_rehearsal_say_the_same_of_one_epsilon() -> None:
    here, budget = a_stand_in(), Budget("1")
    planned = quick(here, budget, RUNS, np.random.default_rng(3))
    assert planned == made(here, epsilons=[Fraction(1), Fraction(2)]).here.verdicts
    assert all(v.low is not None and v.high is not None for v in planned)


def test_the_two_parts_of_a_drifting_rehearsal_differ_by_more_than_chance() -> None:
    """In many splits, the shares of a column differ about as the drift says; without drift, by chance alone."""

    def apart(drift: float) -> float:
        here, found = replace(a_stand_in(4000), drift=drift), []
        for seed in range(20):
            parts = split(here, np.random.default_rng(seed))
            ours, theirs = (np.mean(t.frame["sex"].to_numpy() == "F") for t in (parts.truth, parts.relative))
            found.append(abs(ours - theirs))
        return float(np.mean(found))

    chance = np.sqrt(2 / np.pi * 0.25 * 2 / 2000)
    assert apart(0.0) < 1.6 * chance
    assert apart(0.5) > 4 * chance


@pytest.mark.parametrize("named", [False, True])
def test_the_parts_of_a_huge_table_are_parts_of_it_and_not_its_far_end(
    monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """Together they are like the table, people kept together; drifted apart they are from each other."""
    monkeypatch.setattr(stand_in, "MOST", 300)
    person, found = pl.Series(np.arange(12_000) % 6_000).cast(pl.String) if named else None, []
    for seed in range(12):
        parts = split(a_stand_in(12_000, person=person), np.random.default_rng(seed))
        both = np.concatenate([t.frame["sex"].to_numpy() == "F" for t in (parts.truth, parts.relative)])
        assert len(both) == 600
        found.append(abs(float(np.mean(both)) - 0.5))
    assert np.mean(found) < 0.04, "chance makes .016; the far end of a table of 20 times as many rows has about .1"


def test_a_forecast_says_what_it_takes_for_granted_of_drift() -> None:
    for drift, word in ((0.5, "drifted apart as past tables had"), (0.0, "is left out")):
        found = made(replace(a_stand_in(uses=USES[:1]), drift=drift), runs=2, epsilons=[Fraction(1)])
        assert word in found.here.verdicts[0].note
        assert found.drift == found.to_json()["drift"] == drift


def test_where_columns_are_attached_the_confidential_part_lies_where_the_target_does() -> None:
    """Later years and higher pay are nowhere in the public table; who earns more than whom stays as it was."""
    here = a_stand_in(recipe="guided_tree")
    later = here.table.frame.drop("race").with_columns(pay=pl.lit(39))
    known = replace(here.public, target=CodedTable.read(later, SCHEMA_, role="target"))
    parts = split(replace(here, public=known), np.random.default_rng(1))
    assert set(parts.truth.frame["pay"].to_list()) == {39}
    assert set(parts.relative.frame["pay"].to_list()) == {5, 12, 25, 39}
    assert set(split(replace(here, public=known, drift=0.0), np.random.default_rng(1)).truth.frame["pay"]) == {
        5,
        12,
        25,
        39,
    }
    same = split(here, np.random.default_rng(1)).truth.frame  # a target like the public table
    assert same.group_by("sex", "race").len().height == 4 and set(same["area"].to_list()) == {"n", "s"}
    assert "moved to where the target lies" in made(here, runs=1, epsilons=[Fraction(1)]).here.verdicts[0].note


def test_a_move_keeps_the_order_of_the_rows() -> None:
    here = a_stand_in(recipe="guided_tree", rows=40)
    raised = here.table.frame.with_columns(pay=pl.col("pay").cast(pl.Float64) / 2)
    found = moved(here.table, CodedTable.read(raised.drop("race"), SCHEMA_, role="target"), np.random.default_rng(0))
    assert (found.frame["pay"].cast(float) * 2).to_list() == here.table.frame["pay"].cast(float).to_list()


def test_all_epsilons_share_the_parts_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, real = list[bool](), stand_in.split

    def counted(*given: Any, **more: Any) -> Any:
        parts.append(more.get("halved", False))
        return real(*given, **more)

    monkeypatch.setattr(stand_in, "split", counted)
    found = made(a_stand_in(), epsilons=[Fraction(1), Fraction(2), Fraction(4)], runs=3)
    assert len(found.points) == 3 and {len(p.verdicts) for p in found.points} == {len(found.uses)}
    assert parts.count(False) == 3 + 1  # one a run, and one that tells chance
    assert parts.count(True) == 1  # of three runs one is made on half of the rows too


def test_what_a_forecast_says_of_past_errors_is_what_the_bench_has() -> None:
    """Tables of strangers, split by time or place: how many real errors passed the top of the band, and how far."""
    every = pl.read_csv("bench/forecast_strangers.csv").filter(pl.col("apart").is_in(["time", "place"]))
    past = every.with_columns(passed=pl.col("real") > pl.col("top_of_band"))
    worst = past.filter("passed").select((pl.col("real") / pl.col("forecast")).max()).item()
    said = _SEEN["public_blend"]
    assert f"{past['passed'].sum()} of {len(past)} real errors on real tables passed the band" in said
    assert f"by up to {worst:.0f} times the forecast" in said
    jobs = past.group_by("table", "look").agg(pl.col("passed").any())["passed"]
    assert jobs.mean() == 0.5 and "one or more in every second job" in said
    held = (past["real"] <= 1.5 * past["top_of_band"]).mean()
    assert held == pytest.approx(0.9, abs=0.02) and "1.5 times its top held nine in ten" in said
    for drift in (0.5, 0.0):
        told = _rests_on(replace(a_stand_in(recipe="public_blend"), drift=drift), RUNS)
        assert told.endswith(said) == bool(drift), told
