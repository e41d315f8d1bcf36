"""The recipes for tables of counts: what they make of noisy answers."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.api.job import Job
from hedgerow.errors import JobError
from hedgerow.model.tables.count_table import Margin, reconcile
from hedgerow.model.tables.fitting import project, whole_counts
from hedgerow.model.tables.shrinkage import shrink_by_gaps
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.noise_laws import Gaussian, Laplace
from hedgerow.public.costs.question import Marginal, Measurement, Noise
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.public.table import PublicData, shares, total_variation
from hedgerow.recipes import IntegerCounts
from tests.holding import assert_holds

CE = np.array([816, 109, 7, 39, 6, 17])
SCHEMA = """
[columns.sex]
kind = "categorical"
values = ["F", "M"]
[columns.age]
kind = "integer"
bins = { low = 0, high = 2, width = 1 }
[columns.area]
kind = "categorical"
values = ["n", "s"]
[[zero]]
where = { sex = ["M"], age = { below = 1 } }
"""


def test_least_squares_with_margins_is_that_of_the_normal_equations() -> None:
    rng = np.random.default_rng(1)
    table, row, total = rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal()
    made = reconcile(table, 2.0, [Margin((0,), row, 1.0), Margin((), np.array(total), 0.5)])
    design = np.vstack([np.eye(6), np.kron(np.eye(2), np.ones(3)), np.ones((1, 6))])
    weight = np.diag([1 / 2.0] * 6 + [1.0] * 2 + [2.0])
    covariance = np.linalg.inv(design.T @ weight @ design)
    due = covariance @ design.T @ weight @ np.concatenate([table.ravel(), row, [total]])
    assert made.table.ravel() == pytest.approx(due)
    assert made.variance((0, 1)) == pytest.approx(covariance[0, 0])
    assert made.variance(()) == pytest.approx(covariance.sum())
    summed = np.kron(np.eye(3).repeat(1, 0), np.ones((1, 1)))
    column = np.tile(summed, (1, 2))
    assert made.variance((1,)) == pytest.approx((column @ covariance @ column.T)[0, 0])


def _made(counts: dict[tuple[str, ...], list[int]], **settings: object) -> pl.DataFrame:
    recipe = IntegerCounts(columns=("sex", "age"), **settings)  # type: ignore[arg-type]
    law = Noise("laplace", Fraction(2))
    answers = tuple(Measurement(Marginal(c), np.array(n, np.int64), law) for c, n in counts.items())
    fitted = recipe.made(PublicData(Schema.loads(SCHEMA)), answers)
    frame = fitted.counts(np.random.default_rng(0))
    assert (
        fitted.margins(frame).filter(pl.all_horizontal(pl.col("sex", "age") == "(all)"))["count"][0]
        == frame["count"].sum()
    )
    return frame


def test_counts_are_whole_possible_and_sum_to_the_total() -> None:
    frame = _made({("sex", "age"): [5, -3, 9, 4, 1, -2]}, total=20)
    assert frame["count"].sum() == 20
    assert (frame["count"] >= 0).all()
    zero = frame.filter((pl.col("sex") == "M") & (pl.col("age") == "0"))
    assert zero["count"].item() == 0 and zero["standard_error"].item() == 0, "a structural zero stays empty"
    assert (frame["low"] <= frame["high"]).all()


@pytest.mark.parametrize("cells", [[0] * 6, [-5] * 6, [10**12, 0, 0, 0, 0, 0]])
def test_empty_negative_and_huge_tables_work(cells: list[int]) -> None:
    frame = _made({("sex", "age"): cells})
    assert frame["count"].sum() == max(sum(cells), 0)


def test_a_prior_is_never_much_worse_than_the_better_of_prior_and_counts() -> None:
    rng = np.random.default_rng(3)
    for drift in (0.0, 0.1, 1.0):
        prior = rng.gamma(0.3, 100, 2000)
        true = rng.poisson(prior * np.exp(rng.normal(0, drift, 2000) - drift**2 / 2)).astype(np.float64)
        for scale in (1.0, 5.0, 50.0):
            noisy = true + rng.laplace(0, scale, 2000)
            mean = shrink_by_gaps(noisy, prior, 2 * scale**2, scale=true.sum() / prior.sum()).mean
            alone, counts = np.abs(prior - true).sum(), np.abs(project(noisy, true.sum()) - true).sum()
            assert np.abs(project(mean, true.sum()) - true).sum() <= 1.03 * min(alone, counts)


def _wide(cells: int) -> Schema:
    """A schema of one column of so many values; the last takes what is unknown."""
    return Schema.loads(f"[columns.x]\nkind = 'categorical'\nvalues = {[f'v{i}' for i in range(cells)]}")


def _ratio_to_plain(true: np.ndarray, scale: Fraction, seeds: int, rng: np.random.Generator) -> float:
    """The mean distance of the published shares over that of counts cut at zero."""
    recipe, schema, law = IntegerCounts(columns=("x",)), _wide(len(true)), Laplace(scale)
    off = np.zeros(2)
    for _ in range(seeds):
        noisy = true + law.sample_whole(rng, len(true))
        table = recipe.made(PublicData(schema), (Measurement(Marginal(("x",)), noisy, Noise("laplace", scale)),))
        for i, made in enumerate((table.whole(rng), np.maximum(noisy, 0))):
            off[i] += np.abs(made / made.sum() - true / true.sum()).sum() / 2
    return float(off[0] / off[1])


@pytest.mark.parametrize(
    ("mean", "scale", "least", "most"),
    [(20, 10, 0.0, 0.6), (3, 5, 0.0, 0.9), (20, 1, 0.97, 1.02), (3, 1, 0.9, 1.03), (100, 2, 0.97, 1.02)],
)
def test_a_table_without_empty_cells_is_no_worse_than_plain_noise_and_better_where_noise_rules(
    mean: int, scale: int, least: float, most: float
) -> None:
    rng = np.random.default_rng(mean * scale)
    ratios = [_ratio_to_plain(rng.poisson(mean, 100), Fraction(scale), 4, rng) for _ in range(3)]
    assert least <= np.mean(ratios) <= most


def test_a_table_of_mostly_empty_cells_is_much_better_than_plain_noise() -> None:
    rng = np.random.default_rng(3)
    true = np.where(rng.random(2000) < 0.1, rng.poisson(60, 2000), 0)
    assert _ratio_to_plain(true, Fraction(3), 1, rng) < 0.5


def test_the_noisy_total_is_kept_within_its_standard_error() -> None:
    rng = np.random.default_rng(4)
    true = rng.poisson(2, 400)
    noisy = true + Laplace(Fraction(5)).sample_whole(rng, 400)
    answer = Measurement(Marginal(("x",)), noisy, Noise("laplace", Fraction(5)))
    whole = IntegerCounts(columns=("x",)).made(PublicData(_wide(400)), (answer,)).whole(rng)
    assert abs(int(whole.sum()) - int(noisy.sum())) <= np.sqrt(400 * Laplace(Fraction(5)).variance) + 1
    told = IntegerCounts(columns=("x",), total=800).made(PublicData(_wide(400)), (answer,)).whole(rng)
    assert told.sum() == 800, "a public total is kept to the last record"


@pytest.mark.parametrize("share", [None, 0.3])
@pytest.mark.parametrize("budget", [Budget(1), Budget(1, delta=Fraction(1, 10**6))])
def test_margins_get_their_part_and_its_price_is_told(budget: Budget, share: float | None) -> None:
    schema = Schema.loads(SCHEMA)
    tariff = Tariff(schema.coding, Guarantee(), budget.measure)
    recipe = IntegerCounts(columns=("sex", "age", "area"), margins=[("sex",), ()], margins_share=share)
    (spend,) = recipe.requests(tariff, budget, PublicData(schema))
    table, *margins = (a.noise for a in spend.asked)
    noise = Laplace(table.scale) if table.law == "laplace" else Gaussian(table.scale)
    (remark,) = recipe.remarks(tariff, budget, PublicData(schema))
    alone = tariff.measure_all([recipe.table], budget.total).asked[0].noise
    plain = (Laplace(alone.scale) if alone.law == "laplace" else Gaussian(alone.scale)).variance
    shape = schema.shape(("sex", "age", "area"))
    zeros = np.zeros(shape)
    left = reconcile(
        zeros,
        noise.variance,
        [
            Margin(axes, np.zeros([shape[a] for a in axes]), type(noise)(m.scale).variance)
            for axes, m in zip([(0,), ()], margins, strict=True)
        ],
    )
    assert f"a cell: {left.variance((0, 1, 2)) ** 0.5:.3g} ({plain**0.5:.3g} without margins)" in remark
    assert (
        f"sex {left.variance((0,)) ** 0.5:.3g} (" in remark
        and f"the total {left.variance(()) ** 0.5:.3g} (" in remark
    )
    told = 3 / 10 if share else 1 - float(spend.asked[0].cost / spend.cost)
    assert f"take {told:.0%} of the budget" in remark
    if share is None:
        assert left.variance((0, 1, 2)) <= 1.21 * plain, "cells keep most of their accuracy"


def test_sparse_rounding_keeps_stretches_and_dense_rounding_is_nearest() -> None:
    rng = np.random.default_rng(1)
    assert whole_counts(np.full(1000, 0.1), 100, rng).reshape(10, 100).sum(axis=1).tolist() == [10] * 10
    assert np.abs(whole_counts(np.array([3.2, 4.9, 1.9]), 10, rng) - [3.2, 4.9, 1.9]).max() < 1


@pytest.mark.parametrize(
    "settings", [{"columns": ()}, {"columns": ("sex", "height")}, {"columns": ("sex",), "prior": "public"}]
)
def test_tables_that_cannot_be_made_are_refused_before_anything_is_asked(
    settings: dict[str, tuple[str, ...]],
) -> None:
    with pytest.raises(JobError, match="nothing was spent"):
        schema = Schema.loads(SCHEMA)
        tariff = Tariff(schema.coding, Guarantee(), "pure")
        IntegerCounts(**settings).requests(tariff, Budget(1), PublicData(schema))  # type: ignore[arg-type]


def test_the_distance_of_noisy_counts_on_the_ce_table_is_that_of_the_reference() -> None:
    rng, off = np.random.default_rng(5), []
    for _ in range(4000):  # discrete Laplace of scale 2: replace-one, epsilon 1
        noisy = CE + rng.geometric(1 - np.exp(-0.5), 6) - rng.geometric(1 - np.exp(-0.5), 6)
        made = whole_counts(project(noisy, int(noisy.sum())), int(noisy.sum()), rng)
        off.append(np.abs(made / made.sum() - CE / 994).sum() / 2)
    assert np.mean(off) == pytest.approx(0.00677, rel=0.1)


EXAMPLE = Path(__file__).parents[3] / "examples" / "tabulate-ce"


@pytest.mark.parametrize("job", ["dirichlet", "integer"])
def test_the_example_of_the_lecture_runs_and_verifies(tmp_path: Path, job: str) -> None:
    for file in EXAMPLE.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    folder = Job.load(tmp_path / f"{job}.toml").run().folder
    assert_holds(folder)
    counts = pl.read_csv(folder / "counts.csv")
    assert counts.columns == ["Race", "count"]
    assert counts["Race"].to_list()[:2] == ["White", "Black"]
    assert counts["count"].sum() == 994
    if job == "dirichlet":
        statement = json.loads((folder / "statement.json").read_text())
        assert statement["events"][0]["detail"]["urn"]["alphas"] == [6742953]
        assert not any("theta" in file.read_text("utf-8", "ignore") for file in folder.iterdir())


def test_the_plan_warns_when_the_prior_is_most_of_what_is_published(tmp_path: Path) -> None:
    for file in EXAMPLE.iterdir():
        text = file.read_text().replace("epsilon = 5", "epsilon = 1")
        (tmp_path / file.name).write_text(text)
    forecasts = {f.recipe: f for f in Job.load(tmp_path / "dirichlet.toml").plan().recipe_forecasts}
    assert forecasts["dirichlet_multinomial"].prior_weight == pytest.approx(0.7774, abs=1e-3)
    assert "mostly its prior: 78 %" in forecasts["dirichlet_multinomial"].warning
    ours, paper = (forecasts[r].total_variation for r in ("integer_counts", "dirichlet_multinomial"))
    assert ours is not None and paper is not None and ours < 0.02 < paper


def test_a_table_with_margins_is_made_possible_as_well_as_one_without() -> None:
    """Counts are all alike and noise rules: cutting at zero and projecting leave all of it."""
    rng, names, law = np.random.default_rng(4), ("x", "y"), Laplace(Fraction(15))
    lines = (f"[columns.{c}]\nkind = 'categorical'\nvalues = {[f'v{i}' for i in range(20)]}" for c in names)
    recipe, public = IntegerCounts(columns=names, margins=[["x"], ["y"]]), PublicData(Schema.loads("\n".join(lines)))
    ours, plain = 0.0, 0.0
    for _ in range(3):
        true = rng.poisson(25.0, (20, 20)).astype(np.int64)
        told = {names: true, ("x",): true.sum(axis=1), ("y",): true.sum(axis=0)}
        answers = tuple(
            Measurement(Marginal(c), t.ravel() + law.sample_whole(rng, t.size), Noise("laplace", law.scale))
            for c, t in told.items()
        )
        known = shares(true.ravel().astype(np.float64))
        made = recipe.made(public, answers).whole(rng).astype(np.float64)
        ours += total_variation(shares(made), known)
        plain += total_variation(shares(np.maximum(answers[0].counts, 0).astype(np.float64)), known)
    assert ours < 0.8 * plain
