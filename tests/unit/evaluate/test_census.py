"""Metrics on the census workers of 1995 and 1994, by statsmodels, pyfixest, scikit-learn, scipy and by hand."""

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.evaluate.classifiers import TrainOnSynthetic
from hedgerow.evaluate.least_squares import DesignMatrix, Errors, by_pyfixest, designs, least_squares
from hedgerow.evaluate.levels import level_pairs
from hedgerow.evaluate.numeric import NumericDistances
from hedgerow.evaluate.panels import JointProportions, JointScatter
from hedgerow.evaluate.regressions import LinearModel
from hedgerow.public.formula import Formula
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from tests.unit.evaluate.tables import listed, needs_shared, real, table
from tests.unit.evaluate.test_models import dummies

sm = pytest.importorskip("statsmodels.api")
stats = pytest.importorskip("scipy.stats")
pytestmark = needs_shared
RNG = np.random.default_rng(0)
LISTED = ["sex", "race", "education", "major_industry", "major_occupation", "class_of_worker", "income"]
NUMBERS = {"age": "low = 18, high = 90, width = 1", "wage_per_hour": "low = 0, high = 10000, width = 50"}
PAY = "ln(wage_per_hour) ~ sex + race + age + I(age^2) + education | major_industry + major_occupation"


@cache
def workers() -> tuple[CodedTable, CodedTable, Schema]:
    """Every second worker of 1995, and of 1994."""
    parts = real("census")
    frames = [pl.from_pandas(parts[p][[*LISTED, *NUMBERS]][::2]) for p in ("confidential", "public")]
    counted = "\n".join(f'[columns.{n}]\nkind = "integer"\nbins = {{ {b} }}' for n, b in NUMBERS.items())
    schema = Schema.loads(listed(*(f.select(LISTED) for f in frames)).dumps() + "\n" + counted)
    return table(frames[0], schema), table(frames[1], schema), schema


@cache
def pay() -> DesignMatrix:
    a, _, schema = workers()
    return designs(Formula.parse(PAY), [a], schema)[0]


@pytest.mark.parametrize(("errors", "law"), [("iid", "nonrobust"), ("hetero", "HC1")])
def test_the_pay_model_is_that_of_statsmodels_with_a_dummy_for_every_level(errors: Errors, law: str) -> None:
    design = pay()
    wide = design.block(slice(0, None))
    varying = np.ptp(wide, axis=0) > 0
    x = np.column_stack([wide[:, varying], np.ones(design.rows), *map(dummies, design.absorbed)])
    slow, fast = sm.OLS(design.response, x).fit(cov_type=law), least_squares(design, errors=errors)
    k = int(varying.sum())
    assert k > 20 and 2000 < design.rows < 10_000 and np.isnan(fast.values[~varying]).all()
    assert fast.values[varying] == pytest.approx(slow.params[:k], rel=1e-7, abs=1e-9)
    assert fast.errors[varying] == pytest.approx(slow.bse[:k], rel=1e-6)
    female = design.names.index("sex[Female]")
    assert -0.3 < fast.values[female] < -5 * fast.errors[female], "women are paid less, beyond doubt"


@pytest.mark.parametrize("errors", ["iid", "hetero"])
def test_the_library_and_our_own_solver_agree_to_eight_digits(errors: Errors) -> None:
    pytest.importorskip("pyfixest")
    ours, theirs = (f(pay(), errors=errors) for f in (least_squares, by_pyfixest))
    assert np.isnan(ours.values).tolist() == np.isnan(theirs.values).tolist()
    assert ours.values == pytest.approx(theirs.values, rel=1e-8, abs=1e-12, nan_ok=True)
    assert ours.errors == pytest.approx(theirs.errors, rel=1e-8, nan_ok=True)


def test_the_metric_itself_may_be_fitted_by_the_library() -> None:
    pytest.importorskip("pyfixest")
    a, b, schema = workers()
    ours, theirs = (LinearModel(formula=PAY, library=x).of(a, b, rng=RNG) for x in ("hedgerow", "pyfixest"))
    assert ours.table["coefficient"].to_list() == theirs.table["coefficient"].to_list()
    assert ours.value == pytest.approx(theirs.value, rel=1e-7)


def test_slopes_and_correlations_are_those_of_least_squares_and_keep_the_papers_identity() -> None:
    a, b, schema = workers()
    names = ("sex", "race", "education", "income")
    pairs = level_pairs(a, b, names)
    wide = {k: (a.codes([n])[n] == c).astype(float) for k, (n, c) in enumerate(_levels(names, schema))}
    spread = {k: x.std() for k, x in wide.items()}
    usable = np.argwhere(pairs.usable)
    assert len(usable) > 100
    for i, j in usable[:: len(usable) // 60]:
        slope = float(sm.OLS(wide[j], sm.add_constant(wide[i])).fit().params[1])
        assert pairs.a.slope[i, j] == pytest.approx(slope, abs=1e-10)
        assert pairs.a.correlation[i, j] == pytest.approx(np.corrcoef(wide[i], wide[j])[0, 1], abs=1e-10)
        assert pairs.a.correlation[i, j] == pytest.approx(slope * spread[i] / spread[j], abs=1e-10)
        both = pairs.a.slope[i, j] * pairs.a.slope[j, i]
        assert pairs.a.correlation[i, j] ** 2 == pytest.approx(both, abs=1e-12), (
            "r squared is one slope times the other"
        )


def _levels(names: tuple[str, ...], schema: Schema) -> list[tuple[str, int]]:
    return [(n, c) for n in names for c in range(schema.size([n]))]


def test_panels_a_and_b_are_those_of_groupby() -> None:
    a, b, schema = workers()
    names = ["sex", "race", "major_industry"]
    p, q = (t.frame.group_by(names).len().with_columns(pl.col("len") / t.rows) for t in (a, b))
    both = p.join(q, on=names, how="full", coalesce=True).fill_null(0.0)
    one, other = both["len"].to_numpy(), both["len_right"].to_numpy()
    panel = JointProportions(columns=tuple(names)).of(a, b, rng=RNG)
    assert panel.value == pytest.approx(np.abs(one - other).sum() / 2)
    shown = {r["category"]: (r["a"], r["b"]) for r in panel.table.iter_rows(named=True)}
    by_hand = {", ".join(r[:3]): r[3:] for r in both.iter_rows()}
    assert len(shown) > 20 and all(by_hand[c] == pytest.approx(v) for c, v in shown.items())
    assert JointScatter(columns=tuple(names)).of(a, b, rng=RNG).value == pytest.approx(np.corrcoef(one, other)[0, 1])


def test_distances_of_ages_and_wages_are_those_of_scipy() -> None:
    a, b, schema = workers()
    found = NumericDistances().of(a, b, rng=RNG).table
    assert set(found["column"]) == set(NUMBERS)
    for row in found.iter_rows(named=True):
        x, y = (t.frame[row["column"]].to_numpy().astype(float) for t in (a, b))
        assert row["distance"] == pytest.approx(stats.wasserstein_distance(x, y) / x.std())
        assert row["largest_gap"] == pytest.approx(stats.ks_2samp(x, y).statistic)


def test_training_on_one_year_and_testing_on_the_next_is_what_scikit_learn_says() -> None:
    """Its own classifier with a split of its own: the two AUCs agree within what a split moves them."""
    ensemble, metrics = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.metrics")
    a, b, schema = workers()
    found = TrainOnSynthetic(label="income", repeats=1).of(a, b, rng=np.random.default_rng(1))
    names = [n for n in schema.attributes if n != "income"]
    x, y = (np.stack([t.codes([n])[n] for n in names], 1).astype(float) for t in (a, b))
    one, other = (t.codes(["income"])["income"] == schema.cell_labels("income").index("50000+.") for t in (a, b))
    size, expected = a.rows // 2, dict[str, Any]()
    for name, wide, label in (("trained_on_a", x[:size], one[:size]), ("trained_on_b", y[:size], other[:size])):
        model = ensemble.HistGradientBoostingClassifier(max_iter=60, early_stopping=False).fit(wide, label)
        expected[name] = metrics.roc_auc_score(one[size:], model.predict_proba(x[size:])[:, 1])
    assert {k: found.parts[k] for k in expected} == pytest.approx(expected, abs=0.015)


def test_every_ordered_pair_of_levels_of_different_columns_has_its_own_slope() -> None:
    a, b, schema = workers()
    names = ("sex", "race", "income")
    pairs, places = level_pairs(a, b, names), _levels(names, schema)
    there = [len(np.unique(np.concatenate([t.codes([n])[n] for t in (a, b)]))) for n in names]
    assert int(pairs.usable.sum()) == sum(x * y for x, y in permutations(there, 2))
    assert len(pairs.labels) == len(places)
