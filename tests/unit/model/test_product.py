"""Simplex projection, systematic rounding, the product model."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hedgerow.model.records.models import ProductModel, fit_product
from hedgerow.model.tables.fitting import pooled_total, project, systematic_counts
from hedgerow.public.coding import CodedColumn, Coding, JoinedColumn
from hedgerow.public.costs.question import TOTAL, Marginal, Measurement, Noise

counts = arrays(np.int64, st.integers(1, 30), elements=st.integers(-50, 200))
A = CodedColumn("a", "text", 2, missing=1, other=1, values=("x", "y"), codes=(0, 1))
B = CodedColumn("b", "text", 3, missing=2, other=2, values=("p", "q", "r"), codes=(0, 1, 2))
JOIN = JoinedColumn("ab", ("a", "b"), (2, 3), (0, 1, 2, 3, 0, 0), 4)


@given(counts=counts, total=st.floats(0.5, 1000))
def test_the_projection_is_possible_and_nearest(counts: np.ndarray, total: float) -> None:
    found = project(counts, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    rng = np.random.default_rng(0)
    for _ in range(20):  # no other possible point is nearer
        other = rng.dirichlet(np.ones(len(counts))) * total
        assert ((found - counts) ** 2).sum() <= ((other - counts) ** 2).sum() + 1e-6


@given(
    weights=arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 10)),
    n=st.integers(0, 10_000),
    seed=st.integers(0, 99),
)
def test_systematic_counts_are_within_one_record_and_sum_to_n(weights: np.ndarray, n: int, seed: int) -> None:
    if weights.sum() <= 0:
        return
    shares = weights / weights.sum()
    found = systematic_counts(shares, n, np.random.default_rng(seed))
    assert found.sum() == n
    assert (np.abs(found - n * shares) < 1 + 1e-6).all()


def test_systematic_counts_are_right_on_average() -> None:
    rng = np.random.default_rng(1)
    shares = np.array([0.123, 0.4, 0.477])
    mean = np.mean([systematic_counts(shares, 10, rng) for _ in range(4000)], axis=0)
    assert mean == pytest.approx(10 * shares, abs=0.03)


def measured(name: str, values: list[int]) -> Measurement:
    return Measurement(Marginal((name,)), np.array(values, np.int64), Noise("laplace", Fraction(2)))


def test_the_product_model_is_the_product_of_its_margins() -> None:
    model = fit_product(Coding((A, B)), [measured("a", [30, 10]), measured("b", [20, 12, 8])])
    assert model.total == 40
    assert model.expected(Marginal(("b", "a"))).reshape(3, 2) == pytest.approx(np.outer([20, 12, 8], [0.75, 0.25]))
    assert model.expected(TOTAL).tolist() == [40]


def test_a_part_of_a_joined_attribute_is_summed_out_of_it() -> None:
    model = ProductModel(12, {"ab": np.array([0.5, 0.25, 0.125, 0.125])}, Coding((A, B), (JOIN,)))
    assert model.expected(Marginal(("a",))).sum() == pytest.approx(12)
    assert model.expected(Marginal(("ab",))) == pytest.approx(12 * np.array([0.5, 0.25, 0.125, 0.125]))
    joint = model.expected(Marginal(("a", "b"))).reshape(2, 3)
    assert joint[0, 1] == pytest.approx(3)
    assert joint.sum() == pytest.approx(12)


def test_nothing_but_noise_still_gives_a_model() -> None:
    model = fit_product(Coding((A,)), [measured("a", [-5, -9])])
    assert model.total == 1
    assert model.expected(Marginal(("a",))).sum() == pytest.approx(1)
    assert len(model.draw(3, np.random.default_rng(0))["a"]) == 3


def test_drawn_records_have_the_measured_margins_to_within_one() -> None:
    model = fit_product(Coding((A, B)), [measured("a", [301, 99]), measured("b", [200, 120, 80])])
    drawn = model.draw(400, np.random.default_rng(3))
    assert (np.abs(np.bincount(drawn["a"]) - [301, 99]) <= 1).all()
    joint = np.bincount(drawn["a"].astype(int) * 3 + drawn["b"], minlength=6).reshape(2, 3)
    assert joint == pytest.approx(np.outer([301, 99], [0.5, 0.3, 0.2]), abs=25)


def test_totals_are_pooled_by_precision() -> None:
    assert pooled_total([100, 200], [1, 9]) == pytest.approx(110)
