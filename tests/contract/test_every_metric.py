"""What every metric must hold to, whatever it measures."""

import json
from dataclasses import replace
from functools import cache
from math import isfinite

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import JobError
from hedgerow.evaluate.base import AbstractMetric, CompareOptions, DoesNotApply, Result
from hedgerow.evaluate.compare import chosen, compare, metrics_for
from hedgerow.evaluate.registry import METRICS
from hedgerow.public.schema import Schema
from hedgerow.public.table import CodedTable
from hedgerow.simulate.personnel import personnel, personnel_schema

SCHEMA = Schema.loads(personnel_schema())
WORLD = personnel(1500, 5, labelled_target=True)
NAMES = list(METRICS)


def table(frame: pl.DataFrame) -> CodedTable:
    return CodedTable.read(frame, SCHEMA, role="target")


A, B = table(WORLD.confidential), table(WORLD.target)


@cache
def found(name: str, a: CodedTable = A, b: CodedTable = B, seed: int = 0) -> Result:
    try:
        return METRICS[name]().of(a, b, rng=np.random.default_rng(seed))
    except DoesNotApply as why:
        pytest.skip(f"{name}: {why}")


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_says_what_it_is(name: str) -> None:
    metric = METRICS[name]
    assert metric.name == name and name == name.lower() and " " not in name
    for text in (metric.title, metric.null, metric.reading):
        assert len(text) > 5 and text[0].strip()
    assert metric.scale.low <= metric.scale.best <= metric.scale.high
    assert issubclass(metric, AbstractMetric)


@pytest.mark.parametrize("name", NAMES)
def test_a_number_lies_on_its_scale_and_json_holds_it(name: str) -> None:
    result = found(name)
    assert result.metric == name
    assert result.value is None or result.value in METRICS[name].scale
    assert result.null is None or result.null in METRICS[name].scale
    assert result.sentence.strip()
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))["metric"] == name
    assert result.table.height <= 1000


@pytest.mark.parametrize("name", NAMES)
def test_equal_generators_give_equal_results(name: str) -> None:
    again = found.__wrapped__(name)  # not the remembered one
    assert json.dumps(found(name).to_json()) == json.dumps(again.to_json())


@pytest.mark.parametrize("name", [n for n in NAMES if not METRICS[n].appendix])
def test_a_table_is_as_close_to_itself_as_the_scale_goes_or_as_chance(name: str) -> None:
    """Who splits rows cannot reach the best, but a table must not be further from itself than a drifted one."""
    itself, other = found(name, A, A), found(name, A, table(WORLD.public))
    if itself.value is None or other.value is None:
        pytest.skip("no single number")
    best = METRICS[name].scale.best
    assert abs(itself.value - best) <= abs(other.value - best) + 1e-9
    assert abs(itself.value - best) < 0.1 * max(
        1.0, abs(METRICS[name].scale.high) if isfinite(METRICS[name].scale.high) else 1.0
    )


def test_a_comparison_holds_every_metric_once_and_the_reasons_of_the_rest() -> None:
    got = compare(A, B, rng=np.random.default_rng(1))
    assert sorted([r.metric for r in got.results] + [name for name, _ in got.skipped]) == sorted(METRICS)
    assert json.dumps(got.to_json(), allow_nan=False)


def test_copies_are_counted_and_their_spread_is_told() -> None:
    got = compare(A, [B, A], rng=np.random.default_rng(1), metrics=chosen(["two-way"]))
    assert got.b.copies == 2
    assert got["two-way"].parts["lowest"] == 0 < float(str(got["two-way"].parts["highest"]))


def test_asking_for_fewer_metrics_changes_no_number() -> None:
    many = compare(A, B, rng=np.random.default_rng(1), metrics=chosen(["joint-scatter", "three-way", "slopes"]))
    few = compare(A, B, rng=np.random.default_rng(1), metrics=chosen(["three-way", "slopes"]))
    for result in few.results:
        assert result.to_json() == many[result.metric].to_json()


def test_an_unknown_metric_is_refused_with_the_names_of_the_known() -> None:
    with pytest.raises(JobError, match="one-way"):
        chosen(["quality"])


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_without_a_choice_keeps_its_defaults(name: str) -> None:
    metric = METRICS[name]()
    assert metric.with_options(CompareOptions()) == metric


def test_each_metric_takes_from_the_options_what_concerns_it() -> None:
    options = CompareOptions(
        model="pay ~ sex",
        by="none",
        logistic="sex=F ~ agency",
        cluster="person",
        group=("agency", "year"),
        joint=("sex",),
        label="sex=F",
    )
    changed = {m.name: m for m in metrics_for(options) if m != METRICS[m.name]()}
    assert sorted(changed) == [
        "joint-proportions",
        "k-marginal",
        "linear-model",
        "logistic-model",
        "small-groups",
        "train-on-synthetic",
    ]
    linear, small, train = (vars(changed[n]) for n in ("linear-model", "small-groups", "train-on-synthetic"))
    assert (linear["formula"], linear["by"], linear["errors"], linear["cluster"]) == (
        "pay ~ sex",
        "none",
        "cluster",
        "person",
    )
    assert small["group"] == "agency" and (train["label"], train["value"]) == ("sex", "F")


def test_a_comparison_shows_itself_in_one_line_and_as_a_plain_table() -> None:
    hostile = replace(B, name="<script>alert(1)</script>")
    got = compare(A, hostile, rng=np.random.default_rng(1), metrics=chosen(["one-way", "validity"]))
    assert "\n" not in repr(got) and repr(got).endswith("2 measures>") and f"{B.rows:,} rows" in repr(got)
    page = got._repr_html_()
    assert page.count("<tr>") == 3 and METRICS["one-way"].title in page and "color" not in page
    assert "<script" not in page and "&lt;script&gt;" in page
