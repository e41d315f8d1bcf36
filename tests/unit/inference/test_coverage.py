"""Intervals hold the truth as often as they say, in a small world drawn over and over; ``make coverage`` has more."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hedgerow.answers import StandInGate
from hedgerow.inference import Evidence, estimates, figures
from hedgerow.inference.direct import GroupFigure
from hedgerow.inference.evidence import NoisyTable, drawn_to
from hedgerow.inference.moments import RatioMoments, ScoreMoments
from hedgerow.inference.reference import Reference
from hedgerow.public import Budget, CodedTable, Guarantee, Marginal, Measurement, Schema, Statistic, Tariff
from hedgerow.recipes.statistics import additive_points, question_of, response_bands
from hedgerow.uses import AbstractUse, Coefficient, Mean, Quantile, Rate, Table

SCHEMA = Schema.loads("""
[columns.sex]
kind = "categorical"
values = ["F", "M"]
[columns.grade]
kind = "categorical"
values = ["a", "b", "c", "d", "e"]
[columns.pay]
kind = "real"
bins = { low = 0, high = 100, width = 2 }
""")
MODEL = "pay ~ C(sex, ref=M) | grade"
GAP = -4.0
WORLDS = 20


def rows(n: int, rng: np.random.Generator, drift: float = 0.0) -> CodedTable:
    """So many people; with ``drift`` the mix of grades and what they pay are others."""
    mix = np.array([0.3, 0.3, 0.2, 0.15, 0.05]) + drift * np.array([-0.1, 0.0, 0.05, 0.05, 0.0])
    grade = rng.choice(5, n, p=mix)
    woman = rng.random(n) < 0.7 - 0.1 * grade
    pay = 30 + (6 + drift) * grade + GAP * woman + rng.normal(0, 6, n)
    frame = pl.DataFrame(
        {"sex": np.where(woman, "F", "M"), "grade": np.array(list("abcde"))[grade], "pay": np.clip(pay, 0, 99)}
    )
    return CodedTable(SCHEMA, frame)


def answered(secret: CodedTable, public: CodedTable, epsilon: float, rng: np.random.Generator) -> Evidence:
    """What a recipe would know that measures one table and the statistics of three figures."""
    codes = public.codes(SCHEMA.attributes)
    margins = {"pay": np.bincount(public.cells(("pay",)), minlength=SCHEMA.size(("pay",))).astype(float)}
    use = Coefficient(MODEL, "sex[F]", tolerance=1)
    figures = [Statistic(("sex",), "pay"), Statistic(("sex",), "pay", (0.5,)), use.statistic]
    asked = [Marginal(("grade", "sex")), *(question_of(SCHEMA, f, codes, margins) for f in figures)]
    assert None not in asked
    budget = Budget(epsilon)
    gate = StandInGate(Tariff(SCHEMA.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    answers: tuple[Measurement, ...] = gate.measure([q for q in asked if q], budget.total)
    return Evidence(SCHEMA, answers, public, public)


USES: dict[str, tuple[AbstractUse, Callable[[CodedTable], np.ndarray]]] = {
    "table": (Table(["grade", "sex"], tolerance=1), lambda t: _shares(t, ("grade", "sex"))),
    "one-way": (Table(["grade"], tolerance=1), lambda t: _shares(t, ("grade",))),
    "rate": (Rate("sex", ["F"], by=["grade"], tolerance=1), lambda t: _figures(t, "rate")),
    "mean": (Mean("pay", by=["sex"], tolerance=1), lambda t: _figures(t, "mean")),
    "quantile": (Quantile("pay", 0.5, by=["sex"], tolerance=1), lambda t: _figures(t, "quantile")),
    "coefficient": (Coefficient(MODEL, "sex[F]", tolerance=1), lambda t: _figures(t, "coefficient")),
}


def _shares(table: CodedTable, columns: tuple[str, ...]) -> np.ndarray:
    return np.bincount(table.cells(columns), minlength=SCHEMA.size(columns)) / table.rows


def _figures(table: CodedTable, kind: str) -> np.ndarray:
    return USES[kind][0].figures(table).values


@pytest.mark.parametrize("drift", [0.0, 1.0])
@pytest.mark.parametrize("kind", USES)
def test_ninety_five_in_a_hundred_intervals_hold_the_figure_of_the_population(kind: str, drift: float) -> None:
    use, figures = USES[kind]
    truth = figures(rows(200_000, np.random.default_rng(0)))
    held = []
    for world in range(WORLDS):
        rng = np.random.default_rng([world, 1])
        evidence = answered(rows(2000, rng), rows(2000, rng, drift), 1.0, rng)
        for e, true in zip(estimates(evidence, use), truth, strict=True):
            assert e.estimate is not None and e.low is not None and e.high is not None, e.basis
            assert e.low <= e.estimate <= e.high
            held.append(e.low <= true <= e.high)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / WORLDS), np.mean(held)


def test_without_the_sampling_part_the_interval_is_for_the_confidential_table_and_narrower() -> None:
    rng = np.random.default_rng(3)
    secret = rows(3000, rng)
    evidence = answered(secret, rows(3000, rng), 100.0, rng)
    use, figures = USES["mean"]
    for whole, own, true in zip(
        estimates(evidence, use), estimates(evidence, use, sampling=False), figures(secret), strict=True
    ):
        assert own.parts["sampling"] == 0 < whole.parts["sampling"]
        assert own.high - own.low < whole.high - whole.low  # type: ignore[operator]
        assert own.low <= true <= own.high


def test_more_noise_is_a_wider_interval_and_a_figure_that_drowns_in_it_is_refused() -> None:
    rng = np.random.default_rng(4)
    secret, public = rows(3000, rng), rows(3000, rng)
    use, _ = USES["coefficient"]
    widths = [estimates(answered(secret, public, e, rng), use)[0].parts["noise"] for e in (0.5, 1.0, 4.0)]
    assert widths[0] > widths[1] > widths[2] > 0
    (lost,) = estimates(answered(secret, public, 0.002, rng), use)
    assert lost.estimate is None and "cannot tell" in lost.basis


def test_a_coefficient_that_was_not_measured_is_refused_with_the_use_to_declare() -> None:
    rng = np.random.default_rng(5)
    evidence = answered(rows(3000, rng), rows(3000, rng), 1.0, rng)
    plain = Evidence(SCHEMA, evidence.answers[:1], evidence.records, evidence.relative)
    (lost,) = estimates(plain, USES["coefficient"][0])
    assert lost.estimate is None and lost.low is None
    assert "This release cannot tell" in lost.basis and 'formula = "pay ~ C(sex, ref=M) | grade"' in lost.basis


def test_a_use_that_was_declared_is_not_said_to_need_declaring() -> None:
    """A run settles what a coefficient is compared with, so the use on record is another, word by word."""
    rng = np.random.default_rng(5)
    evidence = answered(rows(3000, rng), rows(3000, rng), 1.0, rng)
    declared = Coefficient("pay ~ sex | grade", "sex[F]", tolerance=0.1, name="gap")
    plain = Evidence(SCHEMA, evidence.answers[:1], evidence.records, evidence.relative, declared=(declared,))
    (lost,) = estimates(plain, replace(declared, reference="M"))
    assert "It was declared" in lost.basis and "Declare it" not in lost.basis


def test_where_records_alone_place_values_within_cells_the_noise_that_placed_them_counts() -> None:
    """The tail of pay was cut in the records: the top cell's mean is off by more than the cells' own noise."""
    rng, budget = np.random.default_rng(6), Budget(4.0)
    secret = rows(3000, rng)
    tailed = secret.with_frame(
        secret.frame.with_columns(pl.when(pl.col("pay") > 52).then(95.0).otherwise("pay").alias("pay"))
    )
    cut = secret.with_frame(
        secret.frame.with_columns(pl.when(pl.col("pay") > 52).then(53.0).otherwise("pay").alias("pay"))
    )
    margins = {"pay": np.bincount(secret.cells(("pay",)), minlength=SCHEMA.size(("pay",))).astype(float)}
    bands = question_of(SCHEMA, Statistic(("sex",), "pay"), secret.codes(SCHEMA.attributes), margins)
    assert bands is not None
    tariff = Tariff(SCHEMA.coding, Guarantee(), budget.measure)
    answers = StandInGate(tariff, budget, tailed, tailed.rows, rng).measure([bands, Marginal(("pay",))], budget.total)
    use = Mean("pay", by=["sex"], tolerance=1)
    for e, known in zip(
        estimates(Evidence(SCHEMA, answers, cut), use),
        estimates(Evidence(SCHEMA, answers, cut, cut), use),
        strict=True,
    ):
        assert e.estimate is not None and known.estimate is not None
        assert e.parts["noise"] > 1.05 * known.parts["noise"]


def test_a_mean_of_a_column_whose_values_the_cells_tell_leaves_nothing_out() -> None:
    """However few rows a cell has, its value is known: it is not drawn to the mean of all."""
    listed = 'kind = "ordered"\ntype = "integer"\nvalues = ["0", "1", "2", "3", "40"]'
    schema = Schema.loads(f'[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n[columns.years]\n{listed}')
    rng, budget = np.random.default_rng(8), Budget(2.0)
    years = rng.choice(["0", "1", "2", "3", "40"], 3000, p=[0.4, 0.3, 0.2, 0.06, 0.04])
    secret = CodedTable(schema, pl.DataFrame({"sex": rng.choice(["F", "M"], 3000), "years": years}))
    gate = StandInGate(Tariff(schema.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    answers = gate.measure([Marginal(("sex", "years"))], budget.total)
    for e in estimates(Evidence(schema, answers, secret), Mean("years", by=["sex"], tolerance=1)):
        assert e.parts["recipe"] < 0.01 * e.parts["noise"] and e.parts["noise"] < e.parts["sampling"]


def test_a_coefficient_is_the_wider_the_further_the_answers_lie_from_the_public_rows() -> None:
    """In the cells that tell it, beside halves that play drift: a good relative is not paid for as a bad one."""
    wide = []
    for drift in (0.0, 2.5):
        rng, ratios = np.random.default_rng(9), []
        for _ in range(5):
            public = rows(6000, rng, drift)
            evidence = answered(rows(6000, rng), public, 4.0, rng)
            moments = ScoreMoments(Coefficient(MODEL, "sex[F]", tolerance=1))
            figure = GroupFigure(moments, evidence.reference(public), (), 0)
            told = figure.best(evidence.tables)
            assert told is not None
            ratios.append(figure.further_than_played(told.table))
        wide.append(max(ratios) if drift == 0 else min(ratios))
    assert wide[0] < 1.0 < 1.75 < wide[1], wide


def test_the_coefficient_of_an_attached_label_does_not_lean_on_the_labels_that_were_drawn() -> None:
    """A third of the labels are dealt anew within grades, so that the file's own coefficient is a third too small."""
    rng, budget = np.random.default_rng(10), Budget(100.0)
    secret, public = rows(40_000, rng), rows(40_000, rng)
    sex, grade = secret.frame["sex"].to_numpy().copy(), secret.frame["grade"].to_numpy()
    for g in "abcde":
        some = np.flatnonzero((grade == g) & (rng.random(len(sex)) < 1 / 3))
        sex[some] = sex[rng.permutation(some)]
    drawn = secret.with_frame(secret.frame.with_columns(pl.Series("sex", sex)))
    use = Coefficient(MODEL, "sex[F]", tolerance=1)
    tree = response_bands(SCHEMA, use.bound(SCHEMA)[0], ("sex",), public.codes(SCHEMA.attributes))
    gate = StandInGate(Tariff(SCHEMA.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    answers = gate.measure([Marginal(("sex",), tree)], budget.total)
    (found,) = estimates(Evidence(SCHEMA, answers, drawn, public, ("grade", "pay")), use)
    own, file = (_figures(t, "coefficient")[0] for t in (secret, drawn))
    assert abs(file - own) > 0.3 * abs(own)
    assert found.estimate is not None and abs(found.estimate - own) < 0.03 * abs(own)


def test_a_mean_that_cells_of_other_columns_tell_is_held_against_the_mean_of_all() -> None:
    """Pay within grades was lower when the public rows were made; answers about pay say by how much."""
    rng, budget = np.random.default_rng(11), Budget(50.0)
    secret, public = rows(20_000, rng), rows(20_000, rng)
    old = public.with_frame(public.frame.with_columns((pl.col("pay") - 8).clip(0)))
    gate = StandInGate(Tariff(SCHEMA.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    answers = gate.measure([Marginal(("grade", "sex")), Marginal(("pay",))], budget.total)
    use, figures = USES["mean"]
    for e, true in zip(estimates(Evidence(SCHEMA, answers, old, old), use), figures(secret), strict=True):
        assert e.estimate is not None and abs(e.estimate - true) < 2, e
        assert "held against the answers about pay" in e.basis
    for e in estimates(Evidence(SCHEMA, answers[:1], old, old), use):
        assert e.estimate is None and "cannot tell" in e.basis


def test_records_do_not_link_columns_that_no_answer_holds_together() -> None:
    """In records of a model pay may go with sex by grade alone: no part of them shows what all of them lack."""
    rng, budget = np.random.default_rng(12), Budget(50.0)
    secret = rows(20_000, rng)
    gate = StandInGate(Tariff(SCHEMA.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    asked = [Marginal(("grade", "sex")), Marginal(("pay",)), Marginal(("pay", "sex"))]
    cells, pay, both = gate.measure(asked, budget.total)
    use, figures = USES["mean"]
    assert all(e.estimate is None for e in estimates(Evidence(SCHEMA, (cells, pay), secret), use))
    for e, true in zip(estimates(Evidence(SCHEMA, (cells, pay, both), secret), use), figures(secret), strict=True):
        assert e.estimate is not None and abs(e.estimate - true) < 0.2 and "pay x sex" in e.basis


def test_cells_of_the_column_itself_keep_their_place_where_no_record_is() -> None:
    """The tails of pay are missing in the records: they were given the mean of the group."""
    rng, budget = np.random.default_rng(13), Budget(50.0)
    secret = rows(20_000, rng)
    gate = StandInGate(Tariff(SCHEMA.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    answers = gate.measure([Marginal(("pay", "sex"))], budget.total)
    middle = secret.take(np.flatnonzero(np.abs(secret.numbers("pay") - 36) < 6))
    assert np.abs(_figures(middle, "mean") - _figures(secret, "mean")).max() > 2
    found = estimates(Evidence(SCHEMA, answers, middle), USES["mean"][0])
    for e, true in zip(found, _figures(secret, "mean"), strict=True):
        assert e.estimate is not None and abs(e.estimate - true) < 0.1


def test_halves_play_no_more_chance_within_cells_than_the_tables_have() -> None:
    """Means of n rows within cells have a variance of w / n: halves differ by 4 w / n, whole tables by 2 w / n."""
    rng = np.random.default_rng(14)
    secret, public = rows(8000, rng), rows(8000, rng)
    evidence = answered(secret, public, 1e6, rng)
    moments = RatioMoments(lambda t: t.numbers("pay"))
    figure = GroupFigure(moments, Reference.of(public), (), 0)
    told = figure.told_by(next(t for t in evidence.tables if t.question == Marginal(("grade", "sex"))))
    assert told is not None and 0.2 < told.unseen < 0.8
    within = told.unseen * told.sampling**2
    played, between = figure.as_large(np.sqrt(5 * within), told, Reference.of(public))
    assert played**2 == pytest.approx(3 * within, rel=0.01)  # of the 5 one is drift
    assert between**2 + within == pytest.approx(told.sampling**2)
    few, _ = figure.as_large(0.0, told, Reference.of(public.take(np.arange(800))))
    assert few**2 == pytest.approx(11 * within, rel=0.01)


def test_public_rows_are_tilted_to_the_records_of_each_release() -> None:
    rng = np.random.default_rng(7)
    public, one, other = rows(2000, rng), rows(2000, rng), rows(2000, rng, drift=2.0)
    means = [
        Evidence(SCHEMA, (), records, public).tilted("grade").frame["pay"].mean()  # type: ignore[union-attr]
        for records in (one, other)
    ]
    assert means[1] > means[0] + 0.5  # type: ignore[operator]


def test_rows_are_drawn_to_the_shares_of_others() -> None:
    """As many as there are, each code by its share among those that can be drawn."""
    here, there = np.repeat([0, 1, 3], [60, 30, 10]), np.repeat([0, 1, 2], [25, 50, 25])
    drawn = drawn_to(here, there)
    assert len(drawn) == len(there) and np.array_equal(drawn, np.sort(drawn))
    assert np.bincount(there[drawn], minlength=3).tolist() == pytest.approx([100 * 2 / 3, 100 / 3, 0], abs=1)
    assert np.array_equal(drawn_to(there, there), np.arange(100))


def test_a_play_knows_the_shares_of_a_column_that_answers_tell() -> None:
    """The part in the role of public rows is drawn to the other's shares of pay, of all rows, and then by groups."""
    public = rows(8000, np.random.default_rng(21))
    sexes, moments = public.cells(("sex",)), RatioMoments(lambda t: t.numbers("pay"))
    figures = [GroupFigure(moments, Reference.of(public), ("sex",), group) for group in (0, 1)]
    pay = [public.take(np.flatnonzero(sexes == group)).cells(("pay",)) for group in (0, 1)]
    for both in zip(*(figure._halves_drawn_to("pay") for figure in figures), strict=True):
        ours, theirs = (
            np.bincount(np.concatenate([pay[g][part[half]] for g, part in enumerate(both)]), minlength=52)
            for half in (0, 1)
        )
        assert ours.sum() == theirs.sum() == 4000
        assert np.abs(ours - theirs).sum() < 200  # systematic: next to no chance
    table = NoisyTable(SCHEMA, Marginal(("sex",)), np.bincount(sexes).astype(float), 1.0)
    assert figures[0].left_out(table, "pay") != figures[0].left_out(table)


def test_of_a_column_whose_shares_are_told_both_plays_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    public, use = rows(2000, rng), Mean("pay", by=["sex"], tolerance=1)
    evidence = answered(rows(2000, rng), public, 2.0, rng)
    figure = GroupFigure(RatioMoments(lambda t: t.numbers("pay")), Reference.of(public), ("sex",), 0)
    monkeypatch.setattr(GroupFigure, "left_out", lambda self, table, known="": 1.0 if known else 7.0)
    asked = figures._Asked(evidence, use, 0.95, True)
    assert asked._played(figure, figure, evidence.tables[0], "pay") == pytest.approx(5.0)  # as the mean of squares
    assert asked._played(figure, figure, evidence.tables[0], "") == 7.0


def test_labels_dealt_anew_among_people_keep_the_counts_of_every_cell() -> None:
    """Five people of one to three rows: labels change places, rows keep all else, a person has one label."""
    frame = pl.DataFrame({"sex": list("FFMMMFFM"), "grade": list("aababbaa"), "pay": np.arange(8.0)})
    who = np.array([0, 0, 1, 1, 2, 3, 3, 4])
    units = CodedTable(SCHEMA, pl.DataFrame({"sex": list("FMMFM"), "grade": list("aabba")}))
    people = Reference(CodedTable(SCHEMA, frame), units, who, ("grade", "pay"))
    dealt = people.relabelled(np.array([1, 0, 3, 2, 4]))
    assert dealt.units.frame["sex"].to_list() == list("MFFMM")
    assert dealt.rows.frame["sex"].to_list() == list("MMFFFMMM")
    assert dealt.rows.frame.drop("sex").equals(frame.drop("sex"))


def test_bands_of_a_model_follow_the_line_that_it_draws() -> None:
    """Pay rises and falls with age: a model with age as a number leaves the curve in, and so do bands."""
    rng = np.random.default_rng(8)
    age, numbers = rng.integers(0, 40, 4000), np.arange(40.0)
    pay = np.rint(400 - (age - 20.0) ** 2 + rng.normal(0, 20, 4000)).astype(np.int64) - np.int64(-200)
    scores = np.arange(pay.max() + 1.0)
    left = pay - np.polyval(np.polyfit(age, pay, 1), age)
    for forms, apart in (([None, np.vstack([np.ones(40), numbers])], 0.02), ([None, None], 0.5)):
        points = additive_points(np.stack([pay, age]), (len(scores), 40), [1], 0, scores, forms)
        assert points is not None
        found = points[0][pay] + points[1][age]
        assert (1 - np.corrcoef(found, left)[0, 1] < apart) == (apart < 0.1), "levels of age take the curve out"


def test_a_quantile_of_listed_values_is_one_of_them_and_so_are_its_ends() -> None:
    schema = Schema.loads(
        '[columns.years]\nkind = "ordered"\ntype = "integer"\nvalues = [10, 12, 16, 20]\nother = 10'
    )
    rng, budget = np.random.default_rng(9), Budget(1.0)
    table = CodedTable(schema, pl.DataFrame({"years": rng.choice([10, 12, 16, 20], 2000, p=[0.1, 0.3, 0.4, 0.2])}))
    gate = StandInGate(Tariff(schema.coding, Guarantee(), budget.measure), budget, table, table.rows, rng)
    evidence = Evidence(schema, gate.measure([Marginal(("years",))], budget.total), table)
    (found,) = estimates(evidence, Quantile("years", 0.5, tolerance=1))
    assert (found.estimate, found.low, found.high) == (16.0, 16.0, 16.0), "there is nothing between values"


def test_a_median_may_be_the_highest_value() -> None:
    """All rows are at or below it, so that this share tells nothing; the share below it does."""
    listed = 'kind = "ordered"\ntype = "integer"\nvalues = ["0", "26", "52"]'
    schema = Schema.loads(f'[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n[columns.weeks]\n{listed}')
    rng, budget = np.random.default_rng(15), Budget(2.0)
    weeks = rng.choice(["0", "26", "52"], 3000, p=[0.3, 0.1, 0.6])
    secret = CodedTable(schema, pl.DataFrame({"sex": rng.choice(["F", "M"], 3000), "weeks": weeks}))
    gate = StandInGate(Tariff(schema.coding, Guarantee(), budget.measure), budget, secret, secret.rows, rng)
    answers = gate.measure([Marginal(("sex", "weeks"))], budget.total)
    for e in estimates(Evidence(schema, answers, secret), Quantile("weeks", 0.5, by=["sex"], tolerance=1)):
        assert (e.estimate, e.low, e.high) == (52.0, 52.0, 52.0)
