"""What requests cost: the table of sensitivities, and the conversions, against independent values."""

import json
from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import JobError
from hedgerow.public.costs.accounting import (
    Budget,
    Guarantee,
    Relation,
    epsilon_of,
    floor_sqrt,
    noise_for,
    rho_for,
)
from hedgerow.public.costs.noise_laws import law_of

ORACLE = Path(__file__).parents[4] / "shared" / "oracles" / "accounting.json"
rhos = st.fractions(Fraction(1, 10**6), Fraction(20), max_denominator=10**6)
RELATIONS: list[Relation] = ["add-remove", "replace-one", "label-change"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_no_unit_moves_a_table_further_than_the_sensitivity_and_some_unit_moves_it_as_far(
    relation: Relation, m: int
) -> None:
    guarantee = Guarantee("person", m, relation, ("x",) if relation == "label-change" else (), "id")
    cells = list(product(range(2), range(2)))  # (public x, private label)
    furthest_l1 = furthest_l2 = 0
    for before in product(cells, repeat=m):
        for after in product(cells, repeat=m):
            if relation == "label-change" and [x for x, _ in before] != [x for x, _ in after]:
                continue
            table = np.zeros((2, 2), np.int64)
            for x, y in before:
                table[x, y] += 1
            for x, y in after if relation != "add-remove" else ():
                table[x, y] -= 1
            furthest_l1 = max(furthest_l1, int(np.abs(table).sum()))
            furthest_l2 = max(furthest_l2, int((table**2).sum()))
    assert (furthest_l1, furthest_l2) == (guarantee.l1, guarantee.l2_squared)


@given(rho=rhos, delta=st.sampled_from([Fraction(1, 10**k) for k in (2, 5, 9, 12)]))
def test_the_reported_epsilon_is_a_valid_bound_at_many_orders_and_below_bun_steinke(
    rho: Fraction, delta: Fraction
) -> None:
    found = epsilon_of(rho, delta)
    r, target = float(rho), log(1 / float(delta))
    assert found <= r + 2 * (r * target) ** 0.5 + 1e-9
    a = 1 + np.geomspace(1e-3, 1e6, 40_000)  # fewer orders miss the best by more than what is compared
    best = max(0.0, float((a * r + (target - np.log(a)) / (a - 1) + np.log1p(-1 / a)).min()))
    assert found <= best + 1e-9, "a better order was missed"
    assert found >= best * (1 - 1e-4) - 1e-9, "below every bound: not valid"


@given(
    epsilon=st.fractions(Fraction(1, 100), Fraction(20)),
    delta=st.sampled_from([Fraction(1, 10**k) for k in (3, 6, 9)]),
)
def test_rho_keeps_its_promise_and_wastes_nothing(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_for(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho + Fraction(2, 10**12), delta) > epsilon


def test_gaussian_noise_has_no_pure_epsilon() -> None:
    with pytest.raises(JobError, match="no pure epsilon"):
        noise_for(Fraction(1), "gaussian", "pure", Guarantee())


@pytest.mark.parametrize("epsilon", [0, -1, "0", "1e400", 1e300, float("nan"), float("inf"), "-inf", "one"])
def test_a_budget_that_is_no_number_above_zero_is_refused_in_words(epsilon: float | str) -> None:
    with pytest.raises(JobError, match="epsilon must be"):
        Budget(epsilon)


@pytest.mark.parametrize("delta", [-1, 1, 2, float("nan"), float("inf")])
def test_a_delta_outside_0_to_1_is_refused(delta: float) -> None:
    with pytest.raises(JobError, match="delta"):
        Budget(1, delta)


def test_a_budget_is_the_number_as_typed() -> None:
    assert Budget(0.1).epsilon == Fraction(1, 10)


@given(x=st.fractions(Fraction(1, 10**9), Fraction(10**6)))
def test_floor_sqrt_rounds_down_by_less_than_a_grain(x: Fraction) -> None:
    root = floor_sqrt(x)
    assert root**2 <= x < (root + Fraction(1, 10**12)) ** 2


@pytest.mark.skipif(not ORACLE.exists(), reason="../shared/oracles is not beside the project")
def test_conversions_reproduce_the_oracle() -> None:
    oracle = json.loads(ORACLE.read_text())
    for row in oracle["A_eps_for_rho"]:
        assert epsilon_of(Fraction(str(row["rho"])), Fraction(str(row["delta"]))) == pytest.approx(
            row["cks"], abs=1e-9
        )
    for row in oracle["A_rho_for_eps_delta"]:
        rho = rho_for(Fraction(str(row["eps"])), Fraction(str(row["delta"])))
        assert float(rho) == pytest.approx(row["rho_cks"], rel=1e-8)


@pytest.mark.parametrize(
    "wrong",
    [
        {"relation": "bounded"},
        {"unit": "household"},
        {"unit": "person"},
        {"person": "id"},
        {"rows_per_person": 0},
        {"rows_per_person": 2},
    ],
)
def test_a_guarantee_that_says_nothing_clear_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Exception, match="relation|unit|person|rows_per_person|violates"):
        Guarantee(**wrong)  # type: ignore[arg-type]


def test_the_laplace_variance_is_the_exact_one() -> None:
    noise = noise_for(Fraction(1, 4), "laplace", "pure", Guarantee())
    q = exp(-1 / 4)
    weights = [(k, q ** abs(k)) for k in range(-400, 401)]
    total = sum(w for _, w in weights)
    assert law_of(noise).variance == pytest.approx(sum(k * k * w for k, w in weights) / total)


def test_a_delta_too_small_for_a_float_still_buys_something() -> None:
    tiny = Budget(1, "1e-400")
    assert 0 < tiny.total < Budget(1, "1e-300").total
    assert epsilon_of(tiny.total, tiny.delta) <= 1


def test_a_misspelt_part_of_a_budget_is_refused_in_our_words() -> None:
    for wrong in ({"epsilom": 1}, {"epsilon": 1, "detla": 0.1}):
        with pytest.raises(JobError, match=f"does not have: {list(wrong)[-1]}") as refused:
            Budget(**wrong)
        assert "epsilon must be" in str(refused.value) and "nothing was spent" in str(refused.value)
