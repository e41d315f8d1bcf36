"""Claims as plain data: the same coefficients as on rows, from counts alone; and what is refused."""

import numpy as np
import polars as pl
import pytest

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.experiment.runs import coefficients
from hedgerow.public.costs.claim import Claim, fit_sums
from hedgerow.public.formula import Formula, make_claim, read_claim
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema

TABLE = personnel(rows=3000, seed=8).confidential
SCHEMA = Schema.loads(personnel_schema())
MODEL = "ln(pay) ~ sex + race + age + I(age^2) + number(education) | agency + occupation"


def from_counts(claim: Claim, frame: pl.DataFrame) -> float:
    codes = SCHEMA.coding.encode(frame, claim.columns)
    keep = np.logical_and.reduce([u[codes[c]] for c, u in zip(claim.columns, claim.usable, strict=True)])
    plan = CountPlan(claim.questions, SCHEMA.coding)
    return claim.coefficient(plan.split(plan.count({c: x[keep] for c, x in codes.items()})))


@pytest.mark.parametrize("name", ["sex[F]", "race[B]", "age", "I(age^2)", "education"])
def test_the_coefficient_from_counts_is_that_of_rows_at_the_middle_of_their_bins(name: str) -> None:
    formula = Formula.parse(MODEL, {"sex": "M", "race": "E"}).bound(SCHEMA)
    middles = SCHEMA.column("pay").code_numbers[SCHEMA.coding.encode(TABLE, ["pay"])["pay"]]
    binned = TABLE.with_columns(pay=pl.Series(middles))
    expected = list(coefficients(formula, CodedTable(SCHEMA, binned), "")[""].values())[formula.place(name, SCHEMA)]
    assert from_counts(make_claim(f"{name} > 0", formula, SCHEMA), TABLE) == pytest.approx(
        expected, rel=2e-3, abs=1e-6
    )


def test_a_claim_may_be_about_a_share() -> None:
    formula = Formula.parse("sex=F ~ age + race", {"race": "E"}).bound(SCHEMA)
    expected = coefficients(formula, CodedTable(SCHEMA, TABLE), "")[""]["age"]
    assert from_counts(make_claim("age > 0", formula, SCHEMA), TABLE) == pytest.approx(expected, rel=2e-3, abs=1e-6)


def test_rows_in_another_order_give_the_same_bits() -> None:
    claim = make_claim("sex[F] < 0", Formula.parse(MODEL, {"sex": "M"}), SCHEMA)
    mixed = TABLE.sample(fraction=1, shuffle=True, seed=3)
    assert from_counts(claim, TABLE).hex() == from_counts(claim, mixed).hex()


def test_a_part_that_does_not_determine_the_coefficient_does_not_agree() -> None:
    claim = make_claim("-9 < sex[F] < 9", Formula.parse(MODEL, {"sex": "M"}), SCHEMA)
    for frame in (TABLE.head(0), TABLE.head(1), TABLE.filter(pl.col("sex") == "M").head(50)):
        codes = SCHEMA.coding.encode(frame, claim.columns)
        plan = CountPlan(claim.questions, SCHEMA.coding)
        with np.errstate(all="raise"):
            assert not claim.holds(plan.split(plan.count(codes)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sex[F] < -0.02", ("sex[F]", -np.inf, -0.02)),
        ("age > 1e-3", ("age", 1e-3, np.inf)),
        ("-.12 < I(age^2) < +0.5", ("I(age^2)", -0.12, 0.5)),
    ],
)
def test_claims_are_read(text: str, found: tuple[str, float, float]) -> None:
    assert read_claim(text) == found


@pytest.mark.parametrize("text", ["sex[F]", "sex[F] = 0", "0.2 < age < 0.1", "< 3", "age < x", ""])
def test_claims_that_say_nothing_clear_are_refused(text: str) -> None:
    with pytest.raises(JobError, match="Cannot read the claim"):
        read_claim(text)


def test_a_claim_about_nothing_in_the_model_is_refused() -> None:
    with pytest.raises(JobError, match=r"It has: sex\[female\]"):
        make_claim("sex[M] < 0", Formula.parse("pay ~ sex"), SCHEMA)


def test_what_is_of_interest_is_given_up_before_fixed_effects() -> None:
    x = np.column_stack([np.ones(6), np.repeat([0.0, 1], 3), np.repeat([1.0, 0], 3), np.arange(6)])
    assert np.isnan(fit_sums(x.T @ x, interest=2)).any()
