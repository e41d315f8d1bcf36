"""The conjugate synthesizers against reference values: alphas, epsilons, exact laws."""

import json
from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import JobError
from hedgerow.model.tables.fitting import project
from tests.oracles import beta_binomial as bb
from tests.oracles import dirichlet_multinomial as dm
from tests.oracles import gamma_poisson as gp

ORACLES = Path(__file__).parents[4] / "shared" / "oracles"
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
        assert sum(law.values()) == 1
    for case in oracle["exhaustive"]:
        alpha, size, rows = case["alpha"], case["S"], case["n"]
        assert dm.largest_ratio(alpha, size) == Fraction(case["bound_ratio"]) == Fraction(case["replace_max_ratio"])
        assert dm.epsilon_of(alpha, size) == pytest.approx(case["bound_eps"], rel=1e-12)
        worst, _ = dm.worst_neighbours(alpha, size, rows)
        assert worst == Fraction(case["replace_max_ratio"]) and case["tight"]
        assert log(worst) == pytest.approx(case["replace_eps"], rel=1e-12)
        x, y, z = case["argmax"]
        assert dm.probability(z, y, alpha) / dm.probability(z, x, alpha) == worst, "reached where the reference says"
        added, _ = dm.worst_neighbours(alpha, size, rows, relation="add-remove")
        assert added == Fraction(case["addremove_max_ratio"])
        assert log(added) == pytest.approx(case["addremove_eps"], rel=1e-12)
        assert (added <= dm.largest_ratio(alpha, size)) == case["addremove_le_bound"]


@needs_oracles
def test_add_remove_is_approached_as_the_table_grows_and_no_further() -> None:
    case = _oracle("dirichlet_multinomial")["addremove_sup_in_n"]
    for rows, epsilon in case["values"]:
        worst, _ = dm.worst_neighbours(case["alpha"], case["S"], rows, relation="add-remove")
        assert log(worst) == pytest.approx(epsilon, rel=1e-12)
        assert log(worst) < case["limit"]
    assert dm.epsilon_of(case["alpha"], case["S"]) == pytest.approx(case["limit"], rel=1e-12)


@needs_oracles
def test_equation_10_of_the_lecture_has_its_cells_exchanged() -> None:
    due = {k: Fraction(v) for k, v in _oracle("dirichlet_multinomial")["eq10_check"].items()}
    met = []
    for y, z, alpha in product(dm.tables(2, 3), dm.tables(2, 3), ((1, 1), (1, 2), (2, 2))):
        if y[0]:
            true = dm.probability(z, y, alpha) / dm.probability(z, (y[0] - 1, y[1] + 1), alpha)
            assert dm.neighbour_ratio(z, y, alpha, 0, 1) == true
            if alpha[1] + y[1] > 1:
                met.append((true, dm.printed_equation_10(z, y, alpha, 0, 1)))
    assert due["true"] == due["corrected"] == Fraction(4, 5)
    assert (due["true"], due["paper_eq10"]) in met


@needs_oracles
def test_what_has_no_finite_epsilon() -> None:
    oracle = _oracle("dirichlet_multinomial")
    assert oracle["S_equals_n_under_addremove_eps"].startswith("inf")
    sizes = {sum(z) for z in dm.pmf((1, 1), (1, 1), 2)}, {sum(z) for z in dm.pmf((1, 0), (1, 1), 1)}
    assert not sizes[0] & sizes[1], "with S = n a neighbour gives other outcomes: their ratio has no bound"
    assert oracle["theta_star_release_eps"].startswith("inf")
    ratios = [(1 + 0) / (1 + 1 - 1) * t / (1 - t) for t in (0.5, 0.9, 0.999999)]  # Dirichlet(2, 1) against (1, 2)
    assert ratios[-1] > 1e5, "the density of theta has no bounded ratio"
    assert oracle["polya_urn_equals_dm"]  # law by law in tests/privacy/test_urns.py


@needs_oracles
def test_the_expected_distances_of_the_ce_table_are_those_of_the_reference() -> None:
    oracle = _oracle("dirichlet_multinomial")
    y, rng, runs = np.array(oracle["ce"]["y"]), np.random.default_rng(2), 1500
    for case in oracle["utility_ce_mean_tvd"]:
        alpha = dm.alpha_min(case["eps"], 994)
        drawn = [rng.multinomial(994, rng.dirichlet(y + alpha)) for _ in range(runs)]
        off = [np.abs(z - y).sum() / 2 / 994 for z in drawn]
        assert np.mean(off) == pytest.approx(case["tvd_dirichlet_multinomial"], rel=0.06)
        for scale, key in ((1, "addremove"), (2, "replace")):
            q = np.exp(-case["eps"] / scale)
            noisy = y + rng.geometric(1 - q, (runs, 6)) - rng.geometric(1 - q, (runs, 6))
            made = np.array([project(row, max(int(row.sum()), 1)) for row in noisy])
            off = np.abs(made / made.sum(axis=1, keepdims=True) - y / 994).sum(axis=1) / 2
            error = 5 * off.std() / runs**0.5
            assert off.mean() == pytest.approx(case[f"tvd_geometric_counts_{key}"], rel=0.08, abs=error)


@needs_oracles
def test_the_beta_binomial() -> None:
    oracle = _oracle("beta_binomial")
    for key, alpha in oracle["alpha_min"].items():
        n, epsilon = (part.split("=")[1] for part in key.split(","))
        assert bb.alpha_min(epsilon, int(n)) == pytest.approx(alpha, rel=1e-9)
    for case in oracle["exhaustive"]:
        assert bb.epsilon_of(case["a"], case["b"], case["S"]) == pytest.approx(case["eps"], rel=1e-12)
        assert bb.largest_ratio(case["a"], case["b"], case["S"]) == Fraction(case["max_ratio"])
        laws = [bb.pmf(y, case["n"], case["a"], case["b"], case["S"]) for y in range(case["n"] + 1)]
        pairs = [(p, q) for one, two in zip(laws, laws[1:], strict=False) for p, q in zip(one, two, strict=True)]
        assert max(max(p / q, q / p) for p, q in pairs) == Fraction(case["max_ratio"])
    for case in oracle["pmf"]:
        law = bb.pmf(case["y"], case["n"], case["a"], case["b"], case["S"])
        assert [str(p) for p in law] == case["pmf"]
    warner = oracle["n1_equals_warner_rr"]
    assert bb.truth_chance(warner["eps"]) == pytest.approx(warner["warner"], rel=1e-12)
    assert bb.truth_chance(warner["eps"]) == pytest.approx(warner["p_truth"], rel=1e-12)


@needs_oracles
def test_the_gamma_poisson() -> None:
    oracle = _oracle("gamma_poisson")
    for case in oracle["conditional"]:
        rows = sum(case["argmax"][0])
        assert gp.largest_ratio(case["a"], case["pi"], case["S"], rows) == Fraction(case["exact_max_ratio"])
        assert gp.nu(case["a"], case["pi"], case["S"], rows=rows) == Fraction(case["nu"])
        assert gp.bound(case["a"], case["pi"], case["S"], rows=rows) == pytest.approx(case["bound_eps"], rel=1e-12)
        assert log(gp.largest_ratio(case["a"], case["pi"], case["S"], rows)) == pytest.approx(
            case["exact_eps"], rel=1e-12
        )
        assert float(gp.nu(case["a"], case["pi"], case["S"], rows=rows)) == pytest.approx(case["nu_float"], rel=1e-12)
        assert (case["exact_eps"] <= case["bound_eps"] * (1 + 1e-12)) == case["bound_holds"]
        same = dm.epsilon_of(case["a"], case["S"])
        assert same == pytest.approx(case["dirichlet_multinomial_eps_if_pi_equal"], rel=1e-12)
        x, y, z = case["argmax"]
        reached = gp.probability(z, y, case["a"], case["pi"]) / gp.probability(z, x, case["a"], case["pi"])
        assert reached == Fraction(case["exact_max_ratio"])
    for case in oracle["truncated_cell"]:
        found = gp.truncated_epsilon(case["y"], case["a"], case["pi"], case["U"])
        assert found == pytest.approx(case["eps"], rel=1e-12)
    for z, due in oracle["unconditional_log_ratio_at_z"].items():
        assert gp.unconditional_log_ratio(int(z), 1, 2, "1/3") == pytest.approx(due, rel=1e-12)


def test_equal_odds_are_the_dirichlet_multinomial() -> None:
    law = gp.pmf((1, 2), (1, 3), ("2/5", "2/5"), 3)
    assert law == dm.pmf((1, 2), (1, 3), 3)
    assert gp.nu([1, 3], ["2/5", "2/5"], 3) == 1


def test_prior_weights_below_one_with_unequal_odds_are_tried_out_or_refused() -> None:
    with pytest.raises(JobError, match="1 or more"):
        gp.nu(["1/2", 1], ["1/5", "2/5"], 3)
    with pytest.raises(JobError, match="when they are few"):
        gp.nu(["1/2"] * 9, ["1/5"] * 8 + ["2/5"], 30, rows=30)
    a, pis = ["1/2", "1/3"], ["1/5", "2/5"]
    assert gp.nu(a, pis, 3, rows=2) > 1
    assert gp.largest_ratio(a, pis, 3, 2) <= gp.nu(a, pis, 3, rows=2) * dm.largest_ratio(a, 3)


def test_trying_all_agrees_with_the_proof_where_there_is_one() -> None:
    a, pis = [Fraction(1), Fraction(3, 2), Fraction(2)], ["2/5", "1/3", "1/2"]
    assert gp._worst_shift(a, gp.odds_of(pis), 3, 3) == gp.nu(a, pis, 3, rows=3)
