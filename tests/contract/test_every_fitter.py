"""Promises every record fitter keeps: nearer, inside the domain, repeatable, groups by themselves."""

import numpy as np
import pytest

from hedgerow.model.records.descent import PairTargets, pair_shares
from hedgerow.model.records.fitters import AbstractFitter, Descent, Exchange, GradualUpdate, fit_groups
from tests.unit.model.test_gum import SIZES, correlated, independent

POOL = correlated(4000, np.random.default_rng(6))
FITTERS: dict[str, AbstractFitter] = {
    "gradual update": GradualUpdate(20, 0.5),
    "exchange": Exchange(POOL, 10),
    "descent": Descent(4),
}
TARGETS = PairTargets(SIZES, pair_shares(correlated(20_000, np.random.default_rng(1)), SIZES))


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("n", [1, 40, 3000])
def test_fitting_never_makes_it_worse_and_leaves_the_start_alone(name: str, n: int) -> None:
    start = independent(n, np.random.default_rng(2))
    before = start.copy()
    fitted = FITTERS[name].fit(start, TARGETS, 7)
    assert (start == before).all()
    assert fitted.shape == start.shape
    assert (fitted < np.array(SIZES)).all()
    assert n == 1 or TARGETS.error(fitted) <= TARGETS.error(start)
    assert n < 3000 or TARGETS.error(fitted) < TARGETS.error(start) / 4


@pytest.mark.parametrize("name", FITTERS)
def test_the_same_state_gives_the_same_records_and_no_records_give_none(name: str) -> None:
    start, fitter = independent(300, np.random.default_rng(3)), FITTERS[name]
    assert (fitter.fit(start, TARGETS, 9) == fitter.fit(start, TARGETS, 9)).all()
    assert fitter.fit(start[:0], TARGETS, 9).shape == (0, len(SIZES))


@pytest.mark.parametrize("name", FITTERS)
def test_groups_are_fitted_by_themselves_in_any_company(name: str) -> None:
    rng = np.random.default_rng(4)
    groups = [independent(n, rng) for n in (300, 1, 900, 50)]
    together = fit_groups([FITTERS[name]] * 4, groups, TARGETS, [1, 2, 3, 4])
    alone = fit_groups([FITTERS[name]], groups[2:3], TARGETS, [3])
    assert [len(g) for g in together] == [300, 1, 900, 50]
    assert (together[2] == alone[0]).all()


def test_gradual_update_reaches_one_way_tables() -> None:
    ones = [np.bincount(POOL[:, i], minlength=s) / len(POOL) for i, s in enumerate(SIZES)]
    targets = PairTargets(SIZES, {(i,): t for i, t in enumerate(ones)})
    start = np.zeros((2000, len(SIZES)), np.uint16)
    fitted = GradualUpdate(10).fit(start, targets, 1)
    assert targets.error(start) > 0.5
    assert targets.error(fitted) < 0.05
