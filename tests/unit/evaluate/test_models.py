"""Coefficients of linear and logistic models, against statsmodels and pyfixest."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.least_squares import DesignMatrix, Errors, Estimates, by_pyfixest, designs, least_squares
from hedgerow.evaluate.logistic import logistic
from hedgerow.evaluate.regressions import (
    CoefficientAgreement,
    LinearModel,
    LogisticModel,
    combined,
    expected_overlap,
    interval_overlap,
)
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from tests.unit.evaluate import tables
from tests.unit.evaluate.tables import needs_shared

sm = pytest.importorskip("statsmodels.api")
RNG = np.random.default_rng(0)
PAY = "ln(pay) ~ sex + race + age + I(age^2) | agency + occupation"


def dummies(codes: Any) -> Any:
    used = np.unique(codes)
    return (codes[:, None] == used[None, 1:]).astype(float)


def pay_design(rows: int = 3000, formula: str = PAY) -> tuple[DesignMatrix, pl.DataFrame]:
    made, schema = tables.world(rows, 4)
    return designs(Formula.parse(formula), [tables.table(made.confidential, schema)], schema)[0], made.confidential


@pytest.mark.parametrize(("errors", "law"), [("iid", "nonrobust"), ("hetero", "HC1")])
def test_absorbed_least_squares_is_least_squares_with_dummies(errors: Errors, law: str) -> None:
    design, _ = pay_design()
    x = np.column_stack([design.block(slice(0, None)), np.ones(design.rows), *map(dummies, design.absorbed)])
    slow = sm.OLS(design.response, x).fit(cov_type=law)
    fast = least_squares(design, errors=errors)
    k = len(design.names)
    assert fast.values == pytest.approx(slow.params[:k], rel=1e-7, abs=1e-9)
    assert fast.errors == pytest.approx(slow.bse[:k], rel=1e-6)


def test_clustered_errors_are_those_of_statsmodels_up_to_the_small_sample_factor() -> None:
    design, frame = pay_design(3000, "ln(pay) ~ sex + age")
    who = np.unique(frame["person"].to_numpy(), return_inverse=True)[1]
    x = np.column_stack([design.block(slice(0, None)), np.ones(design.rows)])
    slow = sm.OLS(design.response, x).fit(cov_type="cluster", cov_kwds={"groups": who})
    assert least_squares(design, errors="cluster", cluster=who).errors == pytest.approx(slow.bse[:-1], rel=1e-6)


@pytest.mark.parametrize("errors", ["iid", "hetero", "cluster"])
def test_pyfixest_finds_the_same(errors: Errors) -> None:
    pytest.importorskip("pyfixest")
    design, frame = pay_design()
    who = np.unique(frame["person"].to_numpy(), return_inverse=True)[1]
    ours, theirs = (f(design, errors=errors, cluster=who) for f in (least_squares, by_pyfixest))
    assert ours.values == pytest.approx(theirs.values, rel=1e-8, abs=1e-12)
    assert ours.errors == pytest.approx(theirs.errors, rel=1e-8)


def test_a_term_that_the_others_determine_has_no_coefficient() -> None:
    made, schema = tables.world(3000, 4)
    frame = made.confidential.with_columns(months=pl.col("age") * 12)
    design = designs(Formula.parse("ln(pay) ~ sex + age + months | agency"), [tables.table(frame, schema)], schema)[0]
    found = least_squares(design)
    assert np.isnan(found.values[-1]) and np.isfinite(found.values[:-1]).all()


def test_the_true_gap_of_the_simulation_is_found_by_year() -> None:
    made, schema = tables.world(40_000, 7)
    a, b = tables.table(made.confidential, schema), tables.table(made.target, schema)
    found = LinearModel(formula=PAY.replace("sex", "C(sex, ref=M)"), errors="cluster", cluster="person").of(
        a, b, rng=RNG
    )
    gaps = found.table.filter(pl.col("coefficient") == "sex[female]")
    assert gaps["at"].to_list() == ["2008", "2009", "2010", "2011"]
    for row in gaps.iter_rows(named=True):
        true = made.effects_in(int(row["at"]))["F"]
        assert abs(row["a"] - true) < 4 * row["a_error"]
    assert found.value == pytest.approx(0.71, abs=0.15)


@needs_shared
def test_logistic_coefficients_of_adult_are_those_of_statsmodels() -> None:
    a, b, schema = tables.adult()
    terms = "race + relationship + number(`education-num`) + number(age)"
    design = designs(Formula.parse(f"sex=1 ~ {terms}"), [a], schema)[0]
    varying = np.ptp(design.block(slice(0, None)), axis=0) > 0
    slow = sm.Logit(design.response, sm.add_constant(design.block(slice(0, None))[:, varying])).fit(
        disp=0, maxiter=100
    )
    found = logistic(design)
    kept = np.concatenate([[True], varying])
    assert found.estimates.values[kept] == pytest.approx(slow.params, abs=1e-5)
    assert found.estimates.errors[kept] == pytest.approx(slow.bse, rel=1e-4)


def test_the_logistic_metric_leaves_out_levels_too_rare_to_compare() -> None:
    made, schema = tables.world(3000, 4)
    a, b = tables.table(made.confidential, schema), tables.table(made.target, schema)
    found = LogisticModel(formula="sex=F ~ occupation + age", least=60).of(a, b, rng=RNG)
    counts = made.confidential["occupation"].value_counts()
    rare = counts.filter(pl.col("count") < 60)["occupation"].to_list()
    assert rare and not any(f"[{r}]" in c for r in rare for c in found.table["coefficient"])
    assert any("left out" in n for n in found.notes)


def test_a_label_of_two_values_is_found_where_the_schema_has_a_cell_for_what_it_does_not_know() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"quit": rng.choice(["yes", "no"], 2000), "plan": rng.choice(["a", "b", "c"], 2000)})
    schema = Schema.draft(frame)
    a, b = (tables.table(half, schema) for half in (frame[:1000], frame[1000:]))
    assert schema.column("quit").size == 3
    assert LogisticModel().of(a, b, rng=RNG).parts["formula"] == "quit=no ~ C(plan)"


@pytest.mark.parametrize(
    "wrong", ["pay sex", "ln(pay) ~", "ln(pay) ~ sex * race", "ln(pay) ~ sex | age^2", "ln(pay ~ sex"]
)
def test_a_formula_that_cannot_be_read_is_refused_with_an_example(wrong: str) -> None:
    with pytest.raises(JobError, match=r"Write it as: ln\(pay\) ~"):
        Formula.parse(wrong)


def test_a_model_of_absent_columns_does_not_apply() -> None:
    a, b, schema = tables.pair()
    with pytest.raises(DoesNotApply, match="wage"):
        LinearModel(formula="wage ~ sex").of(a, b, rng=RNG)


def test_a_year_that_tells_no_coefficient_is_left_out_of_a_model_by_year() -> None:
    made, schema = tables.world(3000, 4)
    year = made.confidential["year"].unique().sort()[0]
    men = pl.col("sex") == "M"
    a, b = (tables.table(f.filter((pl.col("year") != year) | men), schema) for f in (made.confidential, made.target))
    found = LinearModel(formula="ln(pay) ~ sex", by="year").of(a, b, rng=RNG)
    assert len(found.table) and str(year) not in found.table["at"].to_list()


def test_the_reference_level_can_be_named_by_value_or_label() -> None:
    a, b, schema = tables.pair()
    for ref in ("F", "female"):
        design = designs(Formula.parse(f"ln(pay) ~ C(sex, ref={ref})"), [a], schema)[0]
        assert design.names == ("sex[male]",)
    with pytest.raises(JobError, match="no level"):
        designs(Formula.parse("ln(pay) ~ C(sex, ref=Z)"), [a], schema)


def test_overlap_is_one_for_equal_intervals_and_nothing_for_distant_ones() -> None:
    one = np.ones(1)
    assert interval_overlap(one, one, one, one)[0] == pytest.approx(1)
    assert interval_overlap(one, one, 9 * one, one)[0] == 0
    half_inside = interval_overlap(0 * one, one, 0 * one, one / 2)
    assert half_inside[0] == pytest.approx((0.5 + 1) / 2)


def test_the_expected_overlap_is_what_pairs_of_estimates_show() -> None:
    rng = np.random.default_rng(1)
    for ratio in (1.0, 2.5):
        a, b = rng.normal(0, 1, 20_000), rng.normal(0, ratio, 20_000)
        seen = interval_overlap(a, np.ones(20_000), b, np.full(20_000, ratio)).mean()
        assert expected_overlap(np.ones(1), np.array([ratio]))[0] == pytest.approx(seen, abs=0.01)


def test_agreement_tells_sign_and_significance() -> None:
    names = ("x", "y", "z")
    a = Estimates(names, np.array([1.0, -1.0, np.nan]), np.array([0.1, 1.0, 1.0]), 10)
    b = Estimates(names, np.array([-1.0, -1.2, 1.0]), np.array([0.1, 0.1, 1.0]), 10)
    table = CoefficientAgreement.of(a, b).table
    assert table["coefficient"].to_list() == ["x", "y"]
    assert table["same_sign"].to_list() == [False, True]
    assert table["same_significance"].to_list() == [True, False]


@pytest.mark.parametrize("rule", ["simple", "partial", "full"])
def test_combining_rules_cover_the_truth_in_the_case_each_is_made_for(rule: Any) -> None:
    """The mean of a normal population: copies from the fit, or from drawn parameters, in part or in full.

    The variance of the full rule is a difference of two, so it needs many copies; the others do with few.
    """
    rng = np.random.default_rng(5)
    n, m, runs, hits = 400, 60 if rule == "full" else 10, 600, 0
    for _ in range(runs):
        y = rng.normal(0.3, 1, n)
        copies = []
        for _ in range(m):
            centre = y.mean() if rule == "simple" else rng.normal(y.mean(), 1 / np.sqrt(n))
            real = n // 2 if rule == "partial" else 0
            copy = np.concatenate([y[:real], rng.normal(centre, 1, n - real)])
            error = np.array([copy.std(ddof=1) / np.sqrt(n)])
            copies.append(Estimates(("mean",), np.array([copy.mean()]), error, n))
        got = combined(copies, rule, rows=n)
        hits += abs(got.values[0] - 0.3) < 1.96 * got.errors[0]
    assert 0.92 < hits / runs < 0.99


def test_a_mere_mean_of_copies_would_claim_too_much() -> None:
    """What the rules are for: pooling m copies as if they were m samples covers far too seldom."""
    rng = np.random.default_rng(6)
    n, m, hits = 400, 10, 0
    for _ in range(400):
        y = rng.normal(0, 1, n)
        pooled = np.concatenate([rng.normal(y.mean(), 1, n) for _ in range(m)])
        hits += abs(pooled.mean()) < 1.96 * pooled.std() / np.sqrt(len(pooled))
    assert hits / 400 < 0.6
