"""Labels once per person against labels row by row, at one epsilon for a person: a small part of bench/people.py."""

import pytest
from bench.people import attach, errors, world


@pytest.mark.parametrize("epsilon", ["0.3"])
def test_people_are_nearer_than_rows_at_the_same_epsilon_for_a_person(epsilon: str) -> None:
    """One world of 15,000 rows and 1,900 people of one to twenty years; the bench has more, and larger ones."""
    schema, secret, relative = world(15_000, 12)
    people, rows = (
        [errors(schema, secret, attach(how, schema, secret, relative, epsilon, seed)) for seed in (1, 2, 3)]
        for how in ("people", "rows")
    )
    assert all(run["two labels"] == 0 for run in people) and all(run["two labels"] > 0.3 for run in rows)
    assert 1.2 * mean(people, "sex x agency") < mean(rows, "sex x agency")  # 1.9 when it was measured
    assert 1.4 * mean(people, "pay gap") < mean(rows, "pay gap")  # 2.6 to 5
    assert mean(people, "pay gap") < 0.033 < mean(rows, "pay gap"), "a tolerance of a pay gap that rows miss is met"


def mean(runs: list[dict[str, float]], name: str) -> float:
    return sum(run[name] for run in runs) / len(runs)
