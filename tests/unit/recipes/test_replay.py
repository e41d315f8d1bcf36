"""Recorded answers: a run is taken up where it stood, and only with the same requests."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.answers import RecordedAnswers, Reply
from hedgerow.errors import Refused
from hedgerow.public.costs.question import Marginal
from tests.contract.test_every_recipe import BUDGETS, pretend, world


def test_recorded_answers_come_back_in_order_and_new_ones_are_kept_before_use() -> None:
    gate = pretend(world(50), BUDGETS["pure"])
    kept: list[Reply] = []
    gate.keep = kept.append
    first = gate.measure([Marginal(("sex",))], Fraction(1, 4))
    chosen = gate.select(
        {Marginal(("sex",)): np.zeros(2, np.int64), Marginal(("race",)): np.zeros(5, np.int64)}, Fraction(1, 4)
    )
    assert [k.spend for k in kept] == [a.spend for a in gate.record]
    assert gate.left == Fraction(1, 2)

    replay = RecordedAnswers(gate.tariff, gate.budget, kept)
    assert replay.left == 1
    assert (replay.measure([Marginal(("sex",))], Fraction(1, 4))[0].counts == first[0].counts).all()
    again = replay.select(
        {Marginal(("sex",)): np.ones(2, np.int64), Marginal(("race",)): np.ones(5, np.int64)}, Fraction(1, 4)
    )
    assert again == chosen
    with pytest.raises(Refused, match="no recorded answer"):
        replay.measure([Marginal(("race",))], Fraction(1, 4))


def test_another_request_than_the_recorded_one_is_refused() -> None:
    gate = pretend(world(50), BUDGETS["pure"])
    gate.measure([Marginal(("sex",))], Fraction(1, 4))
    replay = RecordedAnswers(gate.tariff, gate.budget, gate.record)
    with pytest.raises(Refused, match="another request"):
        replay.measure([Marginal(("sex",))], Fraction(1, 3))
