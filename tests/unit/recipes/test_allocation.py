"""Shares of a cost by predicted error: slopes are slopes, and no other division does better."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.schema import Schema
from hedgerow.recipes.blend.allocation import Key, Price, Stakes, shares_by_error

KEYS: list[Key] = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
SHAPE = (3, 5, 40)


def stakes(seed: int = 0) -> Stakes:
    rng = np.random.default_rng(seed)
    margins = [1000 * rng.dirichlet(np.ones(s)) for s in SHAPE]
    means: dict[tuple[int, ...], Any] = {
        k: np.outer(margins[k[0]], margins[k[1]]).ravel() / 1000 for k in KEYS if len(k) == 2
    }
    spread = {k: m + 0.05 * m**2 for k, m in means.items()}
    return Stakes(SHAPE, means, spread, margins, [2 * m for m in margins])


def price(delta: str) -> Price:
    coding = Schema.loads('[columns.a]\nkind = "categorical"\nvalues = ["x"]\n').coding
    return Price(Tariff(coding, Guarantee(), Budget("1", delta).measure))


def test_slopes_are_the_derivatives_of_the_error() -> None:
    found, at = stakes(), {k: 0.001 * (i + 1) for i, k in enumerate(KEYS)}
    for k, slope in zip(KEYS, found.slopes(at, KEYS), strict=True):
        up, down = (found.error(at | {k: at[k] + d}) for d in (1e-7, -1e-7))
        assert (down - up) / 2e-7 == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["pure", "zcdp"])
def test_no_division_nearby_has_less_error(delta: str) -> None:
    found, known, cost = stakes(1), price(delta), 0.05
    shares = shares_by_error(found, {}, known, cost, keys=KEYS)
    assert shares.sum() == pytest.approx(1)

    def error(parts: np.ndarray) -> float:
        return found.error({k: 1 / known.variance(cost * max(s, 1e-12)) for k, s in zip(KEYS, parts, strict=True)})

    best = error(shares)
    assert best < error(np.full(len(KEYS), 1 / len(KEYS)))
    rng = np.random.default_rng(2)
    for _ in range(50):
        other = shares * np.exp(rng.normal(0, 0.5, len(KEYS))) + 0.002
        assert best < 1.01 * error(other / other.sum())


def test_a_table_that_is_known_already_gets_nothing() -> None:
    shares = shares_by_error(stakes(), {(0, 1): 1e6}, price("1e-6"), float(Fraction(1, 20)), keys=KEYS)
    assert shares[KEYS.index((0, 1))] == 0
