"""Uses: the figures they are about, their errors, and the share of a sample that errs as much."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.uses import AbstractUse, Coefficient, Mean, Quantile, Rate, Table, Verdict
from hedgerow.uses.base import Quantity, like_sample

SCHEMA = Schema.loads(
    """
[columns.sex]
kind = "categorical"
labels = { F = "female", M = "male" }
[columns.pay]
kind = "integer"
bins = { low = 0, high = 1000, width = 10 }
special = { N = "none" }
[columns.union]
kind = "yes-no"
[columns.year]
kind = "ordered"
values = ["2001", "2002"]
type = "integer"
"""
)
TABLE = Table(["sex"], tolerance=0.01)
MEAN = Mean("pay", by=["sex"], tolerance=5)
MEDIAN = Quantile("pay", [0.5, 0.9], by=["sex"], tolerance=5)
UNION = Rate("union", ["true"], by=["year"], tolerance=0.1)


def people(n: int = 4000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    female = rng.random(n) < 0.3
    return pl.DataFrame(
        {
            "sex": np.where(female, "F", "M"),
            "pay": np.minimum(rng.gamma(4, np.where(female, 80, 100)).astype(int), 999),
            "union": rng.random(n) < 0.4,
            "year": rng.choice([2001, 2002], n),
        }
    )


def test_figures_are_those_that_polars_finds() -> None:
    frame = people()
    table = CodedTable(SCHEMA, frame)
    by_sex = {r["sex"]: r for r in frame.group_by("sex").agg(pl.len(), pl.col("pay").mean()).iter_rows(named=True)}
    assert TABLE.figures(table).values.tolist() == [by_sex["F"]["len"], by_sex["M"]["len"]]
    mean = MEAN.figures(table)
    assert mean.values == pytest.approx([by_sex["F"]["pay"], by_sex["M"]["pay"]])
    assert mean.sizes.tolist() == [by_sex["F"]["len"], by_sex["M"]["len"]]
    rate = frame.group_by("year").agg(pl.col("union").mean()).sort("year")["union"].to_list()
    assert UNION.figures(table).values == pytest.approx(rate)
    for i, sex in enumerate("FM"):
        pay = np.sort(frame.filter(pl.col("sex") == sex)["pay"].to_numpy())
        least = [pay[int(np.ceil(a * len(pay))) - 1] for a in (0.5, 0.9)]
        assert MEDIAN.figures(table).values[2 * i : 2 * i + 2].tolist() == least


def test_a_table_of_counts_gives_the_same_figures_as_its_rows_where_bins_are_narrow() -> None:
    schema = Schema.loads(SCHEMA.dumps().replace("width = 10", "width = 1").replace("width = 10", "width = 1"))
    frame = people(500)
    labelled = frame.select(
        pl.col("sex").replace_strict({"F": "female", "M": "male"}),
        pl.col("pay").cast(pl.String),
        pl.when("union").then(pl.lit("yes")).otherwise(pl.lit("no")).alias("union"),
        pl.col("year").cast(pl.String),
    )
    counted = labelled.group_by(pl.all()).len("count")
    rows, cells = CodedTable(schema, frame), CodedTable.of_counts(schema, counted)
    assert cells.total == 500
    for use in (TABLE, MEAN, MEDIAN, UNION):
        assert use.figures(cells).values == pytest.approx(use.figures(rows).values, abs=0.51), use.what


def test_values_that_are_no_number_are_left_out_of_a_mean() -> None:
    frame = pl.DataFrame({"sex": ["F", "F"], "pay": ["10", "N"], "union": [True, None], "year": [2001, 2001]})
    found = MEAN.figures(CodedTable(SCHEMA, frame))
    assert found.values[0] == 10 and found.sizes[0] == 1 and np.isnan(found.values[1])


def _got(*values: float) -> Quantity:
    return Quantity(np.array(values, float), np.array(values, float), np.empty(0))


def test_relative_error_looks_at_large_cells_only_and_at_their_shares() -> None:
    use = Table(["sex"], relative=0.1, cell_size=100)
    found = use.error(_got(110, 990, 5), _got(100, 1000, 5))
    assert found.error == pytest.approx((0.1 + 0.01) / 2)
    assert np.isnan(found.parts[2])
    assert replace(use, over="worst").error(_got(110, 990, 5), _got(100, 1000, 5)).error == pytest.approx(0.1)
    assert np.isnan(use.error(_got(1.0), _got(1)).error)
    assert use.error(_got(220, 1980, 10), _got(100, 1000, 5)).error == pytest.approx(0.055), "twice the records"
    assert use.error(_got(1.2, 9.9, 5), _got(1, 10, 5), scale=100).error > 0, (
        "the truth stands for 100 times its rows"
    )


def test_total_variation_is_half_the_summed_difference_of_shares() -> None:
    assert TABLE.error(_got(6, 4), _got(50, 50)).error == pytest.approx(0.1)
    assert TABLE.error(_got(-3, 4), _got(0, 50)).error == 0


def test_a_group_without_synthetic_rows_is_wholly_wrong() -> None:
    true, got = Quantity(np.array([5.0, 8.0]), np.array([9.0, 9.0]), np.empty(0)), _got(5, np.nan)
    use = Mean("pay", by=["sex"], relative=0.1, over="worst")
    assert use.error(got, true).error == 1.0


def test_a_sign_that_is_beyond_doubt_must_be_kept() -> None:
    use = Coefficient("y ~ x", "x", by=["year"], tolerance=0.5)
    true = Quantity(np.array([-0.1, 0.01]), np.array([9.0, 9.0]), np.array([0.01, 0.02]))
    assert use.error(_got(-0.08, -0.01), true).sign_kept is True, "the second sign is in doubt"
    assert use.error(_got(0.01, 0.01), true).sign_kept is False
    lost = Verdict(use, 0.01, None, "", sign_kept=False)
    assert lost.expected_met is False, "within the tolerance, and yet missed"
    assert lost.word == "sign expected to be lost"


GAP = Coefficient("ln(pay) ~ sex + union", "sex[F]", by=["year"], tolerance=0.1)


@pytest.mark.parametrize("use", [TABLE, MEAN, MEDIAN, UNION, GAP], ids=lambda u: u.kind)
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_like_sample_is_the_share_whose_sample_errs_as_much(use: AbstractUse, share: float) -> None:
    frame, rng = people(), np.random.default_rng(1)
    true = use.figures(CodedTable(SCHEMA, frame))
    drawn = [
        use.error(use.figures(CodedTable(SCHEMA, frame[rng.permutation(4000)[: int(4000 * share)]])), true).error
        for _ in range(150)
    ]
    spread = np.mean([use.half_sample_error(CodedTable(SCHEMA, frame), true, rng) for _ in range(12)])
    assert like_sample(float(np.mean(drawn)), float(spread)) == pytest.approx(share, abs=0.08)


def test_blowing_up_a_table_shrinks_what_a_half_of_it_misses() -> None:
    table = CodedTable(SCHEMA, people())
    for use in (TABLE, MEAN):
        true = use.figures(table)
        one, four = (use.half_sample_error(table, true, np.random.default_rng(2), scale=s) for s in (1, 4))
        assert one == pytest.approx(2 * four)


def test_a_coefficient_is_that_of_least_squares_in_each_group() -> None:
    frame = people().filter(pl.col("pay") > 0)
    found = GAP.figures(CodedTable(SCHEMA, frame))
    for i, year in enumerate((2001, 2002)):
        part = frame.filter(pl.col("year") == year)
        ones, female = np.ones(len(part)), (part["sex"] == "F").cast(float).to_numpy()
        x = np.column_stack([ones, female, part["union"].cast(float).to_numpy()])
        y = np.log(part["pay"].to_numpy())
        beta = np.linalg.lstsq(x, y, rcond=None)[0]
        bread = np.linalg.inv(x.T @ x)
        meat = (x * (y - x @ beta)[:, None] ** 2).T @ x * len(x) / (len(x) - 3)
        assert found.values[i] == pytest.approx(beta[1])
        assert found.errors[i] == pytest.approx(np.sqrt((bread @ meat @ bread)[1, 1]))
        assert found.sizes[i] == len(part)


@pytest.mark.parametrize("term", ["sex[F]", "sex[female]", "sex=F"])
def test_a_term_may_be_named_by_value_or_label(term: str) -> None:
    frame = people(400).filter(pl.col("pay") > 0)
    one, two = (replace(GAP, term=t).figures(CodedTable(SCHEMA, frame)).values for t in (term, "sex[F]"))
    assert one.tolist() == two.tolist()


def test_a_factor_is_compared_with_the_same_level_in_every_table() -> None:
    few = people(600).filter(pl.col("pay") > 0)
    women = few.filter((pl.col("sex") == "F") | (pl.int_range(pl.len()) % 7 == 0))  # here F is the most frequent
    assert (women["sex"] == "F").mean() > 0.6  # type: ignore[operator]
    assert np.isfinite(GAP.figures(CodedTable(SCHEMA, women)).values).all()
    turned = replace(GAP, formula="ln(pay) ~ C(sex, ref=F) + union", term="sex[M]")
    assert turned.figures(CodedTable(SCHEMA, few)).values == pytest.approx(
        -GAP.figures(CodedTable(SCHEMA, few)).values
    )


def test_groups_are_called_by_their_labels() -> None:
    assert MEDIAN.labels(SCHEMA, np.array([0, 3])) == ("female at 0.5", "male at 0.9")
    assert replace(UNION, by=()).labels(SCHEMA, np.array([0])) == ("all rows",)


@pytest.mark.parametrize(
    ("use", "word"),
    [
        (replace(MEAN, of="sex"), "make it a number in"),
        (replace(UNION, of="sex", values=("X",)), "does not list"),
        (replace(UNION, of="pay", values=("5",)), "does not list"),
        (replace(MEAN, by=("height",)), "height"),
        (replace(MEAN, of="height"), "height"),
        (replace(GAP, term="sex[M]"), "compared with"),
        (replace(GAP, term="race[A]"), "has no coefficient"),
        (replace(GAP, formula="pay ~ height"), "height"),
        (replace(GAP, formula="pay"), "cannot be read"),
    ],
)
def test_a_use_the_schema_cannot_answer_is_refused(use: AbstractUse, word: str) -> None:
    with pytest.raises(JobError, match=word):
        use.check(SCHEMA)


@pytest.mark.parametrize("use", [TABLE, MEAN, MEDIAN, UNION], ids=lambda u: u.kind)
def test_verdicts_and_uses_read_back(use: AbstractUse) -> None:
    verdict = Verdict(use, 0.1, None, "why", 0.05, 0.2, None, (("female", 0.3),))
    assert Verdict.from_json(verdict.to_json()) == verdict
    use.check(SCHEMA)
