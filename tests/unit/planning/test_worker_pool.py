"""How many processes work at once, and what they hold."""

import os

import pytest

from hedgerow.stand_in import rehearsal
from hedgerow.stand_in.worker_pool import worker_count, worker_pool
from tests.unit.planning.test_rehearsal import a_stand_in, made


@pytest.mark.parametrize("known", [True, False])
def test_as_many_workers_as_are_asked_for_also_where_affinity_is_unknown(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On macOS and Windows there is no ``sched_getaffinity``."""
    if not known:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert worker_count(3) == 3
    assert worker_count(0) == (len(os.sched_getaffinity(0)) if known else 64)


def test_a_rehearsal_takes_the_workers_it_is_given_where_affinity_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    asked = []

    def spied(workers: int, held: object) -> object:
        asked.append(workers)
        return worker_pool(1, held)

    monkeypatch.setattr(rehearsal, "worker_pool", spied)
    made(a_stand_in(200), runs=2)
    assert asked == [1]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_with_what_is_held(workers: int) -> None:
    with worker_pool(workers, 10) as perform:
        assert sorted(perform(pow, [(k,) for k in range(5)])) == [(k, 10**k) for k in range(5)]


def test_a_failure_reaches_the_one_who_asked() -> None:
    with pytest.raises(ZeroDivisionError), worker_pool(2, 1) as perform:
        list(perform(divmod, [(1,), (0,)]))
