"""The dpsyn recipe on neighbours: equal answers give equal bytes in every regime, at the price paid."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.public.accounting import Budget, Guarantee
from tests.privacy.checks import _run, quick_folder
from tests.privacy.watch import Tape, check_order, check_price, watched
from tests.privacy.world import GUARANTEES, PERSON, Pair, frame, neighbours, write_job

PUBLIC = (
    ("F", "A", "5", "n", "a"),
    ("M", "B", "12", "s", "b"),
    ("M", None, "39", "n", "c"),
    ("F", "C", "25", "s", "d"),
) * 9
REGIMES = {"public_only": "1500", "one_way": "0.0001", "two_way": "0.00001"}
"""The constant of the rule that leads there on tables of a few rows."""


def write(folder: Path, guarantee: Guarantee, regime: str, *, delta: str = "1e-6") -> Path:
    job = write_job(folder, guarantee, delta=delta, recipe="dpsyn")
    frame(PUBLIC).write_csv(folder / "public.csv")
    one_way, two_way = REGIMES[regime], "1000000" if regime == "one_way" else "1"
    job.write_text(
        job.read_text("utf-8")
        + f"""
[public]
table = "public.csv"
[dpsyn]
groups = ["pay"]
floor = 3
pool = 40
rounds = 2
sweeps = 2
round_public = 1
round_measured = 1
one_way = {one_way}
two_way = {two_way}
""",
        "utf-8",
    )
    return job


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", ["record, add-remove", "person, add-remove", "person, replace-one"])
@given(data=st.data())
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_byte_is_the_same_on_neighbours(kind: str, regime: str, data: st.DataObject) -> None:
    guarantee = GUARANTEES[kind]
    pair: Pair = data.draw(neighbours(guarantee))
    tape, outcomes = Tape(), []
    with quick_folder() as folder:
        for name, rows, play in (("here", pair.here, False), ("there", pair.there, True)):
            place = Path(folder) / name
            place.mkdir()
            job = write(place, guarantee, regime)
            frame(rows).write_csv(place / "secret.csv")
            with watched(tape, play=play) as requests:
                outcomes.append((requests, *_run(job)))
            check_order(requests)
    (here, bytes_here, said_here), (there, bytes_there, said_there) = outcomes
    budget = Budget("1.5", "1e-6")
    check_price(here, there, budget.measure, budget.total)
    assert "statement.json" in bytes_here, said_here
    assert bytes_here == bytes_there
    assert said_here == said_there


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_person_with_many_rows_counts_for_theta_of_them_only(tmp_path: Path, delta: str) -> None:
    job = write(tmp_path, PERSON, "one_way", delta=delta)
    frame((("F", "A", "5", "n", "me"),) * 50).write_csv(tmp_path / "secret.csv")
    with watched(Tape(), play=False) as requests:
        _run(job)
    assert max(int(c.sum()) for r in requests for c in r.counted) == PERSON.rows_per_person
