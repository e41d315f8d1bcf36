"""The conjugate synthesizers against reference values: alphas, epsilons, exact laws."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import JobError
from hedgerow.model import beta_binomial as bb
from hedgerow.model import dirichlet_multinomial as dm
from hedgerow.model import gamma_poisson as gp

ORACLES = Path("/work/shared/oracles")
needs_oracles = pytest.mark.skipif(not ORACLES.is_dir(), reason="the reference values are not on this machine")


def _oracle(name: str) -> Any:
    return json.loads((ORACLES / f"{name}.json").read_text())


def test_the_worked_example_of_the_lecture() -> None:
    assert dm.alpha_for(5, size=994) == Fraction(6742953, 10**6)
    assert dm.alpha_min(5, 994) == pytest.approx(6.742952976866406, rel=1e-12)
    assert 4.999999 < dm.epsilon_of([dm.alpha_for(5, 994)] * 6, 994) <= 5


@needs_oracles
def test_alphas_prior_weights_and_predictive_of_the_ce_table() -> None:
    ce = _oracle("dirichlet_multinomial")["ce"]
    for epsilon, alpha in ce["alpha_min_by_eps"].items():
        assert dm.alpha_min(epsilon, ce["n"]) == pytest.approx(alpha, rel=1e-9)
        weight = dm.prior_weight([dm.alpha_min(epsilon, ce["n"])] * 6, ce["n"])
        assert weight == pytest.approx(ce["prior_weight_by_eps"][epsilon], rel=1e-9)
    mean, sd = dm.predictive(ce["y"], [ce["alpha_min"]] * 6, ce["n"])
    assert mean == pytest.approx(ce["predictive_mean"], rel=1e-9)
    assert sd == pytest.approx(ce["predictive_sd"], rel=1e-9)
    for key, due in _oracle("dirichlet_multinomial")["m_replicates_alpha"].items():
        epsilon, m = (part.split("=")[1] for part in key.split(","))
        assert dm.alpha_min(epsilon, ce["n"], copies=int(m)) == pytest.approx(due["shared_theta"], rel=1e-9)
        apart = dm.alpha_min(epsilon, ce["n"], copies=int(m), shared=False)
        assert apart == pytest.approx(due["independent"], rel=1e-9)


@needs_oracles
def test_exact_laws_and_ratios_of_the_dirichlet_multinomial() -> None:
    oracle = _oracle("dirichlet_multinomial")
    for case in oracle["pmf_vectors"]:
        law = dm.pmf(case["y"], case["alpha"], case["S"])
        assert {",".join(map(str, z)): str(p) for z, p in law.items()} == case["pmf"]
    for case in oracle["exhaustive"]:
        assert dm.largest_ratio(case["alpha"], case["S"]) == Fraction(case["replace_max_ratio"])
        assert dm.epsilon_of(case["alpha"], case["S"]) == pytest.approx(case["replace_eps"], rel=1e-12)


@needs_oracles
def test_the_beta_binomial() -> None:
    oracle = _oracle("beta_binomial")
    for key, alpha in oracle["alpha_min"].items():
        n, epsilon = (part.split("=")[1] for part in key.split(","))
        assert bb.alpha_min(epsilon, int(n)) == pytest.approx(alpha, rel=1e-9)
    for case in oracle["exhaustive"]:
        assert bb.largest_ratio(case["a"], case["b"], case["S"]) == Fraction(case["max_ratio"])
        laws = [bb.pmf(y, case["n"], case["a"], case["b"], case["S"]) for y in range(case["n"] + 1)]
        pairs = [(p, q) for one, two in zip(laws, laws[1:], strict=False) for p, q in zip(one, two, strict=True)]
        assert max(max(p / q, q / p) for p, q in pairs) == Fraction(case["max_ratio"])
    for case in oracle["pmf"]:
        law = bb.pmf(case["y"], case["n"], case["a"], case["b"], case["S"])
        assert [str(p) for p in law] == case["pmf"]
    warner = oracle["n1_equals_warner_rr"]
    assert bb.truth_chance(warner["eps"]) == pytest.approx(warner["warner"], rel=1e-12)


@needs_oracles
def test_the_gamma_poisson() -> None:
    oracle = _oracle("gamma_poisson")
    for case in oracle["conditional"]:
        rows = sum(case["argmax"][0])
        assert gp.largest_ratio(case["a"], case["pi"], case["S"], rows) == Fraction(case["exact_max_ratio"])
        assert gp.nu(case["a"], case["pi"], case["S"], rows=rows) == Fraction(case["nu"])
        assert gp.bound(case["a"], case["pi"], case["S"], rows=rows) == pytest.approx(case["bound_eps"], rel=1e-12)
    for case in oracle["truncated_cell"]:
        found = gp.truncated_epsilon(case["y"], case["a"], case["pi"], case["U"])
        assert found == pytest.approx(case["eps"], rel=1e-12)
    for z, due in oracle["unconditional_log_ratio_at_z"].items():
        assert gp.unconditional_log_ratio(int(z), 1, 2, "1/3") == pytest.approx(due, rel=1e-12)


def test_equal_odds_are_the_dirichlet_multinomial() -> None:
    law = gp.pmf((1, 2), (1, 3), ("2/5", "2/5"), 3)
    assert law == dm.pmf((1, 2), (1, 3), 3)
    assert gp.nu([1, 3], ["2/5", "2/5"], 3) == 1


def test_prior_weights_below_one_with_unequal_odds_are_refused() -> None:
    with pytest.raises(JobError, match="1 or more"):
        gp.nu(["1/2", 1], ["1/5", "2/5"], 3)
