"""People counted instead of rows: prices and bytes on neighbours that differ in a person; planted bugs."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.privacy.checks import quick_folder
from tests.privacy.people_mutants import (
    PEOPLE,
    check_fingerprint,
    check_gate,
    check_job,
    check_people,
    check_rule,
)
from tests.privacy.world import neighbours


def test_a_fact_follows_from_the_rows_of_its_person_in_any_order() -> None:
    check_rule()


def test_whoever_counts_people_is_known_to_have_counted_these_rows() -> None:
    check_fingerprint()


@pytest.mark.parametrize("named", PEOPLE)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_table_of_facts_is_underpriced(named: str, data: st.DataObject) -> None:
    """However many rows somebody has, whoever they are: one person is worth the price of one."""
    check_gate(PEOPLE[named], data.draw(st.sampled_from(["0", "1e-6"])), data.draw(neighbours(PEOPLE[named])))


@pytest.mark.parametrize("named", ["people, add-remove", "people, label-change"])
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_labels_once_per_person_give_equal_bytes_on_neighbours(named: str, data: st.DataObject) -> None:
    pair = data.draw(neighbours(PEOPLE[named]))
    with quick_folder() as folder:
        check_job(Path(folder), PEOPLE[named], pair)


def test_the_checks_pass_without_a_planted_bug() -> None:
    check_people()
