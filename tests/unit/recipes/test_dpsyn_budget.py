"""The division of a budget against the figures worked out from the paper."""

import json
from functools import partial
from math import inf, nan, nextafter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import JobError
from hedgerow.recipes.dpsyn.budget import PaperRule, split_budget, total_share

ORACLE = Path(__file__).parents[4] / "shared" / "oracles" / "dpsyn_budget.json"
SCALES = {
    "N_laplace": "total_laplace",
    "puma_year_laplace": "group_laplace",
    "one_way_laplace": "one_way_laplace",
    "one_way_gauss_alt": "one_way_gaussian",
    "two_way_gauss": "two_way_gaussian",
}


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    if not ORACLE.exists():
        pytest.skip("the reference values are not on this machine")
    return dict(json.loads(ORACLE.read_text("utf-8")))


def check(row: dict[str, Any], eps: float, rows: float, delta: float) -> None:
    theta = row.get("theta", 1)
    split = split_budget(eps, delta=delta, theta=theta, rows=rows)
    assert split.regime == row["regime"], row
    assert split.round_to == row["K"]
    assert split.total == pytest.approx(row["spent_total_count"], rel=1e-12)
    assert split.group == pytest.approx(row["puma_year"], rel=1e-12)
    assert split.tables == pytest.approx(row.get("one_way", row.get("two_way", 0)), rel=1e-12)
    assert split.tau1 == (pytest.approx(row["tau1"], rel=1e-12) if "tau1" in row else None)
    assert split.tau2 == (pytest.approx(row["tau2"], rel=1e-12) if "tau2" in row else None)
    assert split.reason == row.get("reason", "")
    if "scales" in row:
        expected = {SCALES[name]: pytest.approx(scale, rel=1e-9) for name, scale in row["scales"].items()}
        assert split.scales(theta, delta) == expected


def test_every_row_of_the_oracle_is_reproduced(oracle: dict[str, Any]) -> None:
    assert len(oracle["rows"]) >= 100
    for row in oracle["rows"]:
        check(row, row["eps"], row["N"], oracle["delta"])


def test_the_edges_of_the_oracle_are_reproduced(oracle: dict[str, Any]) -> None:
    edge = oracle["edge"]
    check(edge["eps_equals_e2"], 1 / 35, 1e6, oracle["delta"])
    check(edge["negative_N_guarded"], 1.0, -500, oracle["delta"])


def test_the_kinks_are_where_the_oracle_has_them(oracle: dict[str, Any]) -> None:
    for rows, _, eps, before, after in oracle["kinks"]:
        below = split_budget(eps - 1e-9, delta=oracle["delta"], theta=1, rows=rows)
        above = split_budget(eps + 1e-9, delta=oracle["delta"], theta=1, rows=rows)
        assert below.group == pytest.approx(before, abs=2e-9)
        assert above.group == pytest.approx(after, abs=2e-9)


@given(
    eps=st.floats(1e-4, 50),
    delta=st.sampled_from([0.0, 1e-9, 2.5e-5]),
    theta=st.integers(1, 300),
    rows=st.floats(-1e5, 1e8),
)
def test_the_parts_add_up_and_none_is_negative(eps: float, delta: float, theta: int, rows: float) -> None:
    split = split_budget(eps, delta=delta, theta=theta, rows=rows)
    assert split.total + split.group + split.tables == pytest.approx(eps)
    assert min(split.total, split.group, split.tables) >= 0
    assert split.group > 0
    assert split.total == total_share(eps, theta)
    assert (split.tables > 0) == (split.regime != "public_only")
    assert delta > 0 or split.regime != "two_way", "Gaussian noise under a pure promise"


def test_the_thresholds_are_those_of_the_oracle(oracle: dict[str, Any]) -> None:
    stated = oracle["edge"]["thresholds_theta1"]
    assert PaperRule().thresholds(1) == pytest.approx([stated[e] for e in ("e0", "e1", "e2", "e3")], rel=1e-12)
    assert PaperRule().thresholds(20) == pytest.approx([20 * stated[e] for e in ("e0", "e1", "e2", "e3")], rel=1e-12)


@pytest.mark.parametrize("theta", [1, 7, 20, 200])
def test_an_epsilon_at_a_threshold_belongs_to_the_regime_above_it(theta: int) -> None:
    rows = 1e6
    split = partial(split_budget, delta=2.5e-5, theta=theta, rows=rows)
    first, least, middle, _ = PaperRule().thresholds(theta)
    assert split(middle).total == first
    assert split(nextafter(middle, 0)).total == 0
    tau2 = 6 * (1500 * theta / rows)
    assert split(first + least + tau2).regime == "two_way"
    assert split(nextafter(first + least + tau2, 0)).regime == "one_way"


@given(rows=st.floats(max_value=0) | st.just(nan))
def test_a_table_that_seems_empty_never_gets_the_richest_method(rows: float) -> None:
    assert split_budget(8.0, delta=1e-6, theta=1, rows=rows).regime == "public_only"


def test_settings_replace_the_constants() -> None:
    rule = PaperRule(one_way=15, two_way=2, high=5, round_measured=1)
    split = split_budget(0.1, delta=1e-6, theta=1, rows=10_000, rule=rule)
    assert (split.regime, split.round_to) == ("two_way", 1)


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"epsilon": nan}, {"epsilon": inf}, {"delta": 1.0}, {"theta": 0}])
def test_numbers_without_meaning_are_refused(bad: dict[str, Any]) -> None:
    given = {"epsilon": 1.0, "delta": 1e-6, "theta": 1, "rows": 10.0, **bad}
    with pytest.raises(JobError, match="nothing was spent"):
        split_budget(given.pop("epsilon"), **given)
