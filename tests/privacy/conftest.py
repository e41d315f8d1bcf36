"""Ledgers for tests: in a file, and on a real PostgreSQL server that lives as long as the test session."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import new_database, running_server
from tests.privacy.checks import quick_folder

Forked = Callable[..., Any]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    return new_database(postgres_server)


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A ledger that nobody has opened yet, on each engine."""
    if request.param == "sqlite":
        with quick_folder() as folder:
            yield f"{folder}/ledger.db"
    else:
        yield request.getfixturevalue("postgres_url")


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """Runs a task of ``ledger_worker`` in real processes; imports are paid for once."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.privacy.ledger_worker"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdin and worker.stdout

    def call(task: str, **given: Any) -> Any:
        assert worker.stdin and worker.stdout
        worker.stdin.write(json.dumps({"task": task, **given}) + "\n")
        worker.stdin.flush()
        answer = worker.stdout.readline()
        assert answer, "the worker died; see its stderr"
        return json.loads(answer)

    yield call
    worker.stdin.close()
    worker.stdout.close()
    worker.wait(10)
