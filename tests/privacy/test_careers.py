"""Careers counted instead of rows: prices and bytes on neighbours that differ in a person; planted bugs."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError
from hedgerow.private.careers import CareerCounter
from hedgerow.public.costs.accounting import Guarantee
from hedgerow.public.costs.question import Marginal
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.urn import Urn, price_urn, rows_cross
from hedgerow.public.files import open_source
from tests.privacy.career_mutants import (
    CAREER_MUTANTS,
    CAREERS,
    CODING,
    check_careers,
    check_fingerprint,
    check_gate,
    check_job,
    check_rule,
)
from tests.privacy.checks import quick_folder
from tests.privacy.mutants import caught_by
from tests.privacy.world import frame, neighbours


def test_a_career_follows_from_the_rows_of_its_person_in_any_order() -> None:
    check_rule()


def test_whoever_counts_careers_is_known_to_have_counted_these_rows() -> None:
    check_fingerprint()


@pytest.mark.parametrize("named", CAREERS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_table_of_people_or_steps_is_underpriced(named: str, data: st.DataObject) -> None:
    """However many rows somebody has, at whatever times: people cost one, steps as many as count."""
    check_gate(CAREERS[named], data.draw(st.sampled_from(["0", "1e-6"])), data.draw(neighbours(CAREERS[named])))


@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_careers_give_equal_bytes_on_neighbours(data: st.DataObject) -> None:
    guarantee = CAREERS["careers of 4, replace-one"]
    pair = data.draw(neighbours(guarantee))
    with quick_folder() as folder:
        check_job(Path(folder), guarantee, pair)


@pytest.mark.parametrize("mixed", [("first sex", "move sex"), ("span", "gap"), ("sex", "first race")])
def test_people_and_steps_are_not_crossed(mixed: tuple[str, ...]) -> None:
    tariff = Tariff(CODING, CAREERS["careers of 4, add-remove"], "pure")
    with pytest.raises(JobError, match=r"tables of their own.*\nor spent|tables of their own"):
        tariff.guarantee_of(Marginal(mixed))


@pytest.mark.parametrize("mixed", [("first sex", "move sex"), ("sex", "first race")])
def test_people_and_steps_are_not_crossed_in_urns(mixed: tuple[str, ...]) -> None:
    tariff = Tariff(CODING, CAREERS["careers of 4, add-remove"], "pure")
    with pytest.raises(JobError, match="tables of their own"):
        price_urn(tariff, Marginal(mixed), Urn((1,), (1,) * CODING.cells(mixed)), Fraction(9))


def test_urns_of_steps_pay_for_steps_that_cross_groups() -> None:
    """`area` is public, and which row comes before is decided by `sex` where times are equal: so steps cross."""
    promise, plan = CAREERS["careers of 2, label-change"], CountPlan([Marginal(("area", "sex"))], CODING)
    tables = [[(a, "A", "5", "n", "me"), (b, "A", "5", "s", "me")] for a, b in ("FM", "MF")]
    counters = [CareerCounter(open_source(frame(tuple(t))), CODING, promise) for t in tables]
    groups = [c.count(plan).reshape(CODING.shape(("area", "sex"))).sum(axis=1).tolist() for c in counters]
    assert groups[0] != groups[1], "this person's step stands in another group"
    assert rows_cross(Tariff(CODING, promise, "pure"), ("area",))
    public = Guarantee("person", 2, "label-change", tuple(c.name for c in CODING.columns), "id")
    assert not rows_cross(Tariff(CODING, public, "pure"), ("area",))


def test_the_prices_are_one_and_one_less_than_the_rows() -> None:
    for guarantee in CAREERS.values():
        tariff, twice = Tariff(CODING, guarantee, "pure"), 1 + (guarantee.relation != "add-remove")
        assert tariff.guarantee_of(Marginal(("first sex",))).l1 == twice
        assert tariff.guarantee_of(Marginal(("move sex",))).l1 == (guarantee.rows_per_person - 1) * twice
    with pytest.raises(JobError, match="2 or more"):
        Tariff(CODING, Guarantee("person", 1, "add-remove", (), "id"), "pure").guarantee_of(Marginal(("gap",)))


def test_the_checks_pass_without_a_planted_bug() -> None:
    check_careers()


@pytest.mark.parametrize("mutant", CAREER_MUTANTS, ids=lambda m: m.__name__)
def test_every_planted_bug_about_careers_is_caught(mutant: Any) -> None:
    assert caught_by(mutant, check_careers)
