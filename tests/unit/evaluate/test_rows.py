"""Metrics on whole rows: numbers, telling apart, prediction, validity, matches; by other libraries and by hand."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from hedgerow.evaluate.audit import NearestRecords, UniqueMatches
from hedgerow.evaluate.base import DoesNotApply
from hedgerow.evaluate.classifiers import TellingApart, TrainOnSynthetic, _held_out, auc, boosted_scores
from hedgerow.evaluate.numeric import NumericDistances
from hedgerow.evaluate.validity import Validity
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from tests.unit.evaluate import tables
from tests.unit.evaluate.tables import needs_shared

RNG = np.random.default_rng(0)
LETTERS = "\n".join(f'[columns.{c}]\nkind = "categorical"\nvalues = ["a", "b", "c", "d"]' for c in ("x", "y", "z"))


def letters(rows: int, seed: int, odd: float = 0.0) -> pl.DataFrame:
    """Random rows; with ``odd``, the third column follows the first in so many of them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (rows, 3))
    codes[:, 2] = np.where(rng.random(rows) < odd, codes[:, 0], codes[:, 2])
    return pl.DataFrame({n: np.array(list("abcd"))[codes[:, i]] for i, n in enumerate("xyz")})


def test_numeric_distances_are_those_of_scipy() -> None:
    a, b, schema = tables.pair()
    found = NumericDistances().of(a, b, rng=RNG)
    for row in found.table.iter_rows(named=True):
        x, y = (t.frame[row["column"]].to_numpy().astype(float) for t in (a, b))
        assert row["distance"] == pytest.approx(stats.wasserstein_distance(x, y) / x.std())
        assert row["largest_gap"] == pytest.approx(stats.ks_2samp(x, y).statistic)
        assert row["a_q50"] == pytest.approx(np.median(x))


def test_the_null_of_numeric_distances_is_what_two_samples_show() -> None:
    schema = Schema.loads('[columns.pay]\nkind = "real"\nbins = { low = -9, high = 9, width = 1 }')
    rng, seen = np.random.default_rng(3), []
    for _ in range(60):
        a, b = (tables.table(pl.DataFrame({"pay": rng.normal(0, 1, n)}), schema) for n in (500, 800))
        found = NumericDistances().of(a, b, rng=RNG)
        seen.append((found.value, found.null))
    value, null = np.mean(np.array(seen, float), axis=0)
    assert value == pytest.approx(null, rel=0.15)


@needs_shared
def test_pmse_is_that_of_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    a, b, schema = tables.adult()
    names = ("sex", "race", "relationship")
    found = TellingApart(columns=names, most=10**9).of(a, b, rng=RNG)
    codes = np.concatenate([np.stack([t.codes([n])[n] for n in names], 1) for t in (a, b)])
    label = np.repeat([0, 1], [a.rows, b.rows])
    wide = np.concatenate([(codes[:, [i]] == np.unique(codes[:, i])[1:]).astype(float) for i in range(3)], axis=1)
    model = linear.LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(wide, label)
    share = label.mean()
    assert found.parts["pmse"] == pytest.approx(((model.predict_proba(wide)[:, 1] - share) ** 2).mean(), rel=1e-3)
    assert found.parts["coefficients"] == wide.shape[1] + 1


def test_the_pmse_of_two_samples_is_on_average_what_its_null_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.evaluate.classifiers.is_installed", lambda: False)  # for speed
    schema, ratios = Schema.loads(LETTERS), []
    for seed in range(60):
        a, b = (tables.table(letters(n, 2 * seed + i), schema) for i, n in enumerate((400, 600)))
        parts = TellingApart().of(a, b, rng=RNG).parts
        ratios.append(float(str(parts["pmse_ratio"])))
        assert float(str(parts["snoke_ratio"])) == pytest.approx(ratios[-1] / 0.4)  # 1 - c, with 600 of 1,000 rows
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios) / np.sqrt(len(ratios)))


def test_levels_that_only_one_table_has_are_told_on_held_out_rows_too() -> None:
    """A fold has its own intercept; without a ridge such levels have no finite coefficient, rare ones drown it."""
    for seed in range(2):
        rng, label = np.random.default_rng(seed), np.repeat([0.0, 1.0], 3000)
        year = rng.integers(0, 3, 6000) + 3 * label.astype(np.int64)
        others = [np.minimum(rng.zipf(1.2, 6000), 400) for _ in range(4)]
        score = _held_out([year, *others], label, ["year", *"abcd"], rng)
        assert auc(label, score) > 0.9995, seed


def test_rows_that_are_all_alike_cannot_be_told_apart_and_it_is_said() -> None:
    schema = Schema.loads(LETTERS)
    alike = CodedTable(schema, letters(1, 0))
    with pytest.raises(DoesNotApply, match="all rows of both tables are alike"):
        TellingApart().of(alike, alike, rng=RNG)


def test_boosted_trees_see_what_a_linear_model_cannot() -> None:
    pytest.importorskip("sklearn")
    schema = Schema.loads(LETTERS)
    a, b = tables.table(letters(3000, 1), schema), tables.table(letters(3000, 2, odd=0.7), schema)
    found = TellingApart().of(a, b, rng=RNG).parts
    assert float(str(found["auc_boosting"])) > 0.65 > 0.55 > float(str(found["auc_logistic"]))


def test_auc_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(4)
    label, score = rng.integers(0, 2, 500), rng.integers(0, 20, 500)
    assert auc(label.astype(float), score.astype(float)) == pytest.approx(metrics.roc_auc_score(label, score))


def test_training_on_a_table_without_the_relation_loses_the_prediction() -> None:
    pytest.importorskip("sklearn")
    schema = Schema.loads(LETTERS)
    a = tables.table(letters(4000, 1, odd=0.6), schema)
    same, broken = tables.table(letters(4000, 2, odd=0.6), schema), tables.table(letters(4000, 3), schema)
    metric = TrainOnSynthetic(label="z", value="a", repeats=1)
    assert abs(metric.of(a, same, rng=RNG).value or 0) < 0.03
    assert (metric.of(a, broken, rng=RNG).value or 0) > 0.1  # .145 to .17, by what tests before it drew


def test_without_scikit_learn_the_hint_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.loads(LETTERS)
    a, b = tables.table(letters(300, 1), schema), tables.table(letters(300, 2), schema)
    monkeypatch.setattr("hedgerow.evaluate.classifiers.is_installed", lambda: False)
    with pytest.raises(DoesNotApply, match=r"hedgerow\[models\]"):
        TrainOnSynthetic().of(a, b, rng=RNG)
    found = TellingApart().of(a, b, rng=RNG)
    assert "auc_boosting" not in found.parts and any("hedgerow[models]" in n for n in found.notes)


def test_impossible_records_are_counted_by_rule() -> None:
    schema = Schema.loads("""
[columns.age]
kind = "integer"
bins = { low = 0, high = 99, width = 1 }
[columns.service]
kind = "integer"
bins = { low = 0, high = 80, width = 1 }
[columns.marital]
kind = "categorical"
values = ["married", "single"]
[[zero]]
where = { marital = ["married"], age = { below = 15 } }
[[rule]]
left = "service"
right = "age"
""")
    a = pl.DataFrame({"age": [30, 40], "service": [3, 4], "marital": ["married", "single"]})
    b = pl.DataFrame(
        {"age": [12, 40, 50, 60], "service": [1, 50, 4, 4], "marital": ["married", "single", "?", "single"]}
    )
    found = Validity().of(tables.table(a, schema), tables.table(b, schema), rng=RNG)
    broken = dict(zip(found.table["rule"], found.table["b"], strict=True))
    assert broken["never marital in (married) and age < 15"] == 0.25
    assert broken["service <= age"] == 0.25
    assert broken["marital is a value of the schema"] == 0.25
    assert (found.parts["a_breaks"], found.parts["b_breaks"]) == (0, 0.5)


def test_unique_matches_are_counted_and_called_no_verdict() -> None:
    schema = Schema.loads(LETTERS)
    a = pl.DataFrame({"x": list("aabc"), "y": list("aabc"), "z": list("aabc")})
    b = pl.DataFrame({"x": list("abbd"), "y": list("abbd"), "z": list("abbd")})
    found = UniqueMatches().of(tables.table(a, schema), tables.table(b, schema), rng=RNG)
    assert found.table["value"].to_list() == [2, 1, 0, 3]  # b and c are unique; b is in B, twice; a, b, b are in A
    assert "not a privacy verdict" in found.sentence and UniqueMatches.appendix


def test_nearest_records_are_those_of_a_loop() -> None:
    schema = Schema.loads(LETTERS)
    a, b = letters(40, 1), letters(30, 2)
    found = NearestRecords().of(tables.table(a, schema), tables.table(b, schema), rng=RNG)
    x, y = a.rows(), b.rows()
    near = [min(sum(p != q for p, q in zip(r, s, strict=True)) for s in x) for r in y]
    own = [
        min(sum(p != q for p, q in zip(r, s, strict=True)) for j, s in enumerate(x) if j != i)
        for i, r in enumerate(x)
    ]
    assert found.value == pytest.approx(np.mean(near)) and found.null == pytest.approx(np.mean(own))


@pytest.mark.parametrize("seed", range(12))
def test_boosted_trees_judge_tables_of_one_row_each(seed: int) -> None:
    """All rows may fall into one half: then there is none to judge in the other."""
    pytest.importorskip("sklearn")
    score = boosted_scores(np.array([[0, 1], [1, 1]]), np.array([0, 1]), np.random.default_rng(seed))
    assert score.shape == (2,) and np.isfinite(score).all()


def test_the_word_for_what_the_schema_does_not_know_is_no_impossible_value() -> None:
    """A release writes it, and its own pages say that every value is one that the schema allows."""
    schema = Schema.loads('[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\nother = "other"\n')
    a = CodedTable.read(pl.DataFrame({"sex": ["F", "M"] * 5}), schema, "target")
    for odd, share in (("other", 0.0), ("X", 0.1)):
        b = CodedTable.read(pl.DataFrame({"sex": ["F", "M"] * 4 + ["F", odd]}), schema, "target", outside=1)
        assert Validity().of(a, b, rng=RNG).value == share
