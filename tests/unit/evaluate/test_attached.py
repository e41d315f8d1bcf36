"""Private columns on given rows: panels that score the given columns too would call anything close."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from hedgerow.evaluate.base import AbstractMetric, CompareOptions
from hedgerow.evaluate.compare import compare, figure_card, metrics_from, page
from hedgerow.evaluate.levels import Correlations, Slopes
from hedgerow.evaluate.marginals import KMarginal
from hedgerow.evaluate.panels import JointProportions, JointScatter
from hedgerow.public.table import CodedTable
from tests.unit.evaluate import tables

PRIVATE = ("sex", "race")


def dealt(private: tuple[str, ...] = PRIVATE, seed: int = 1) -> tuple[CodedTable, CodedTable]:
    """A table, and the same rows with ``private`` values dealt out anew: all that ties them to the others is lost."""
    made, schema = tables.world(8000, 7)
    frame = made.confidential.drop("person")
    anew = frame.select(private)[np.random.default_rng(seed).permutation(frame.height)]
    return tables.table(frame, schema), tables.table(frame.with_columns(anew), schema)


def found(metric: AbstractMetric, a: CodedTable, b: CodedTable) -> Any:
    return metric.of(a, b, rng=np.random.default_rng(0))


@pytest.mark.parametrize("metric", [Slopes, Correlations])
def test_given_columns_do_not_flatter_slopes_and_correlations(metric: type[Slopes] | type[Correlations]) -> None:
    a, b = dealt()
    pooled = found(metric(), a, b)
    assert pooled.value > max(0.8, pooled.null), "most pairs are of given columns, equal by construction"
    told = found(metric(private=PRIVATE), a, b)
    each = {of: value for of, value, _ in told.each}
    assert set(each) == set(PRIVATE) and all(abs(v) < 0.3 for v in each.values())
    assert told.value == min(each.values())
    assert told.parts["pairs"] + told.parts["pairs_apart"] == pooled.parts["pairs"]
    scored = told.table.filter("scored")
    given = [c.name for c in a.schema.columns if c.name not in PRIVATE]
    assert set(scored["private"]) == set(PRIVATE) and set(scored["with"]) <= set(given)
    apart = {r["private"]: r for r in told.table.filter(~pl.col("scored")).iter_rows(named=True)}
    assert apart["given columns"]["correlation"] == pytest.approx(1) and apart["given columns"]["difference"] == 0
    for name, value in each.items():
        assert f"{value:.3f} for {name}" in told.sentence
    assert [f.title.startswith("Not scored") for f in told.figures] == [False, True, True]


def test_a_private_column_that_was_lost_is_not_hidden_by_one_that_was_kept() -> None:
    a, b = dealt(("race",))
    told = found(Slopes(private=PRIVATE), a, b)
    each = {of: value for of, value, _ in told.each}
    assert each["sex"] == pytest.approx(1) and abs(each["race"]) < 0.3 and told.value == each["race"]


def test_each_private_column_has_a_line_of_its_own_wherever_a_comparison_is_shown() -> None:
    a, b = dealt()
    metrics = metrics_from(only="slopes", private="sex,race")
    got = compare(a, b, rng=np.random.default_rng(0), metrics=metrics)
    titles = [row[0] for row in got.summary_rows()]
    assert titles == ["Slopes between levels (panel c): sex", "Slopes between levels (panel c): race"]
    html = page(got)
    assert all(title in html for title in titles)
    (result,) = json.loads(json.dumps(got.to_json()))["results"]
    assert [e["of"] for e in result["each"]] == ["sex", "race"]


def test_panel_b_crosses_private_columns_with_given_ones_and_says_what_given_ones_reach_alone() -> None:
    a, b = dealt()
    for metric in (JointScatter(), JointScatter(private=PRIVATE)):
        columns = found(metric, a, b).parts["columns"].split(" x ")
        assert set(PRIVATE) < set(columns), "both private columns, and given ones"
    told = found(JointScatter(private=PRIVATE), a, b)
    assert told.parts["dealt_at_random"] == pytest.approx(told.value, abs=0.05), "they were dealt at random"
    assert f"dealt out at random would by {told.parts['dealt_at_random']:.4f}" in told.sentence
    assert "race" in found(JointProportions(private=("race",)), a, b).parts["columns"]


def test_the_private_columns_are_an_option_of_the_four_panels() -> None:
    options = CompareOptions(private=("race",))
    for metric in (JointProportions(), JointScatter(), Slopes(), Correlations()):
        assert vars(metric.with_options(options))["private"] == ("race",)


def test_what_panel_b_crosses_is_an_option() -> None:
    a, b = dealt()
    (metric,) = metrics_from(only="joint-scatter", scatter="sex,race,pay")
    assert found(metric, a, b).parts["columns"] == "sex x race x pay"


def areas(number: int) -> tuple[CodedTable, CodedTable]:
    """Tables of many areas; in the last of them B has all values the wrong way round."""
    rng = np.random.default_rng(3)
    area = np.repeat(np.arange(number), 40)
    one = pl.DataFrame({"area": [f"a{i:03d}" for i in area], "x": rng.integers(0, 2, len(area)).astype(str)})
    one = one.with_columns(y=pl.col("x"))
    last = pl.col("area") == f"a{number - 1:03d}"
    wrong = {c: pl.when(last).then(pl.lit(v)).otherwise("x") for c, v in (("x", "0"), ("y", "1"))}
    other = one.with_columns(**wrong)
    schema = tables.listed(one)
    return tables.table(one, schema), tables.table(other, schema)


def test_k_marginal_by_group_leads_with_the_mean_of_the_groups_and_keeps_them_all() -> None:
    a, b = areas(300)
    metrics = metrics_from(only="k-marginal", group="area")
    got = compare(a, b, rng=np.random.default_rng(0), metrics=metrics)
    result = got["k-marginal"]
    assert result.table.height == 300 and result.value == pytest.approx(result.table["score"].mean())
    assert result.table["group"][0] == "a299" and result.table["score"].is_sorted()
    assert result.sentence.startswith(f"Within the 300 groups of area the mean score is {result.value:.0f} of 1000")
    assert f"{result.parts['pooled']:.0f} of 1000" in result.sentence
    assert len(got.to_json()["results"][0]["table"]) == 300, "JSON holds every group"
    assert got.csv_files()["k-marginal.csv"].count("\n") == 301, "and so does CSV"


@pytest.mark.parametrize("group", [("area",), ("area", "x")])
def test_a_figure_that_says_worst_first_has_the_worst_first(group: tuple[str, ...]) -> None:
    a, b = areas(60)
    (figure,) = KMarginal(k=1, group=group).of(a, b, rng=np.random.default_rng(0)).figures
    assert "worst first" in figure.title
    card = figure_card(figure)
    assert card is not None
    svg = str(card.panels[0].svg)
    assert svg.index("a059") < svg.index("a058" if "a058" in svg else "a000"), "the area that is wrong stands on top"
