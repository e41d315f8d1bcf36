"""The interval of a synthetic share: the reference rows, what must hold everywhere, and what is refused."""

import json
import time
from math import comb, exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import JobError
from hedgerow.planning.interval import Kind, interval, laplace_binomial, least_epsilon, least_n

ORACLE = Path(__file__).parents[4] / "shared" / "oracles" / "laplace_binomial.json"
CLAIM = "claim_p0_.25_lam_.4_n_1000"
KINDS: dict[str, Kind] = {"sym": "symmetric", "eqt": "equal-tailed"}
needs_oracle = pytest.mark.skipif(not ORACLE.exists(), reason="the reference rows are not on this machine")
shares = st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.25, 0.5, 1.0])
epsilons = st.floats(-3, 3).map(lambda x: 10**x)
sizes = st.integers(1, 400)
kinds = st.sampled_from(["symmetric", "equal-tailed"])


def oracle() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ORACLE.read_text("utf-8"))
    return found


@needs_oracle
@pytest.mark.parametrize("short", KINDS)
def test_every_reference_row_is_met_to_a_millionth(short: str) -> None:
    rows = oracle()["table"] + [oracle()[CLAIM]]
    assert len(rows) > 200
    for row in rows:
        found = interval(row["p0"], row["lam"], row["n"], kind=KINDS[short])
        expected = [*row[short], row["mean"], row["sd"]]
        assert np.allclose([found.low, found.high, found.mean, found.sd], expected, rtol=0, atol=1e-9), row
        if short == "sym":
            x = round(row["n"] * row["p0"])
            assert found.counts == (max(0, x - row["sym_delta"]), min(row["n"], x + row["sym_delta"]))
            assert abs(found.mass - row["sym_mass"]) < 1e-9


@needs_oracle
def test_single_probabilities_agree_with_two_other_quadratures() -> None:
    for n, p, epsilon, count, *expected in oracle()["pmf_checks"]:
        assert np.allclose(laplace_binomial(p, epsilon, n).at(count), expected, rtol=0, atol=1e-9)


@needs_oracle
def test_every_reference_least_n_is_found() -> None:
    for row in oracle()["planner_min_n"]:
        assert least_n(row["p0"], row["lam"], width=row["width"]) == row["n_min"], row


@needs_oracle
def test_the_papers_simulation_agrees_to_one_label() -> None:
    for row in oracle()["figure2_montecarlo_lam_.3_n_1000"]:
        found = interval(row["p0"], 0.3, 1000, kind="equal-tailed")
        assert np.allclose([found.low, found.high], row["mc_eqt"], rtol=0, atol=1.001e-3)


def test_the_papers_example_is_narrower_than_it_says_and_reaches_above_it() -> None:
    found = interval(0.25, 0.4, 1000)
    assert (round(found.low, 6), round(found.high, 6)) == (0.227239, 0.272761)
    assert found.counts == (227, 273) and round(found.mass, 5) == 0.90359
    other = interval(0.25, 0.4, 1000, kind="equal-tailed")
    assert (round(other.low, 6), round(other.high, 6)) == (0.226393, 0.272915)
    assert [least_n(0.25, e, width=0.05) for e in (0.1, 0.25, 0.4, 0.75, 1)] == [1402, 955, 874, 831, 823]


def test_the_effect_of_epsilon_is_not_negligible_at_a_thousand_records() -> None:
    ratios = [interval(p, 0.1, 1000).width / interval(p, 1, 1000).width for p in (0.5, 0.25, 0.05, 0.01)]
    wide = [interval(p, 0.1, 1000, kind="equal-tailed").width for p in (0.5, 0.25, 0.05, 0.01)]
    narrow = [interval(p, 1, 1000, kind="equal-tailed").width for p in (0.5, 0.25, 0.05, 0.01)]
    assert min(ratios) > 1.3 and min(np.divide(wide, narrow)) > 1.3


def test_without_noise_the_law_is_binomial() -> None:
    law = laplace_binomial(0.3, 1e6, 12)
    assert np.allclose([law.at(k) for k in range(13)], [comb(12, k) * 0.3**k * 0.7 ** (12 - k) for k in range(13)])


@given(shares, epsilons, sizes)
@settings(max_examples=60)
def test_mean_and_spread_are_those_of_the_cut_laplace(p: float, epsilon: float, n: int) -> None:
    """Closed forms: E P = p + (cut at 0) - (cut at 1); Var X/n by the law of total variance."""
    law, rate = laplace_binomial(p, epsilon, n), epsilon * n
    assert abs(float(law.mass.sum()) - 1) < 1e-11 and float(law.mass.min()) >= 0
    mean = p + (exp(-rate * p) - exp(-rate * (1 - p))) / (2 * rate)
    assert abs(law.mean - mean) < 1e-10 * max(1.0, 1 / rate)
    grid = np.linspace(0, 1, 200_001)  # E P^2 = integral of 2 t P(P > t) dt
    above = np.where(grid >= p, np.exp(-rate * np.abs(grid - p)) / 2, 1 - np.exp(-rate * np.abs(grid - p)) / 2)
    square = float(np.trapezoid(2 * grid * above, grid))
    assert abs(law.sd**2 - ((mean - square) / n + square - mean**2)) < 2e-5


@given(shares, epsilons, sizes, kinds, st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=80)
def test_whole_counts_around_an_interval_hold_the_level(
    p: float, epsilon: float, n: int, kind: Kind, level: float
) -> None:
    found = interval(p, epsilon, n, level=level, kind=kind)
    assert 0 <= found.low <= found.high <= 1
    assert found.mass >= level - 1e-9
    assert found.counts[0] <= found.low * n + 1e-9 and found.high * n <= found.counts[1] + 1e-9
    wider = interval(p, epsilon, n, level=(1 + level) / 2, kind=kind)
    assert wider.low <= found.low + 1e-12 and found.high <= wider.high + 1e-12


@given(st.floats(0.02, 0.5), st.floats(0.05, 5), st.floats(0.1, 0.8), kinds)
@settings(max_examples=25)
def test_from_the_least_n_on_the_width_is_kept_and_just_below_it_is_not(
    p: float, epsilon: float, width: float, kind: Kind
) -> None:
    n = least_n(p, epsilon, width=width, kind=kind)
    assert all(interval(p, epsilon, m, kind=kind).width <= width for m in range(n, n + 80))
    assert n == 1 or interval(p, epsilon, n - 1, kind=kind).width > width


@given(st.floats(0, 1), st.integers(100, 2000), kinds)
@settings(max_examples=25)
def test_the_least_epsilon_keeps_the_width_and_a_little_less_does_not(p: float, n: int, kind: Kind) -> None:
    width = (interval(p, 1e6, n, kind=kind).width + interval(p, 0.05, n, kind=kind).width) / 2
    epsilon = least_epsilon(p, n, width=width, kind=kind)
    assert interval(p, epsilon, n, kind=kind).width <= width < interval(p, epsilon * 0.99999, n, kind=kind).width


def test_a_slider_can_ask_on_every_move() -> None:
    slowest = 0.0
    interval(0.5, 1, 2000)
    for epsilon in (0.001, 0.1, 1):
        for p in (0, 0.25, 0.5):
            taken = []
            for _ in range(3):
                begun = time.process_time()
                interval(p, epsilon, 2000)
                taken.append(time.process_time() - begun)
            slowest = max(slowest, min(taken))
    assert slowest < 0.05


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"p": -0.1}, "--p is -0.1"),
        ({"p": float("nan")}, "--p is nan"),
        ({"epsilon": 0.0}, "--epsilon is 0.0"),
        ({"epsilon": float("inf")}, "--epsilon is inf"),
        ({"n": 0}, "--n is 0"),
        ({"n": 10**9}, "--n is 1000000000"),
        ({"level": 1.0}, "--level is 1.0"),
    ],
)
def test_what_is_not_a_leaf_is_refused_with_what_is_allowed(bad: dict[str, Any], named: str) -> None:
    with pytest.raises(JobError, match="it must be") as refused:
        interval(**({"p": 0.25, "epsilon": 0.4, "n": 100} | bad))
    assert named in str(refused.value) and "No table was read and nothing was spent." in str(refused.value)


def test_a_width_that_nothing_gives_is_refused_with_a_way_out() -> None:
    with pytest.raises(JobError, match=r"No epsilon is large enough.*\n.*larger --n \(in Python: width=, n=\)"):
        least_epsilon(0.5, 100, width=0.05)
    with pytest.raises(JobError, match=r"Every epsilon keeps this width(.|\n)*in Python: width="):
        least_epsilon(0.5, 25, width=0.999)
    with pytest.raises(JobError, match=r"No leaf of up to 10,000,000 records(.|\n)*in Python: width="):
        least_n(0.5, 1, width=0.0001)
    with pytest.raises(JobError, match="--width is 1.5"):
        least_n(0.5, 1, width=1.5)
