"""Every test runs with the library's annotations checked at run time.

But for the command line, which is lazy, and for uses, which refuse a wrong type themselves, in words.
"""

import ast
import fcntl
import sys
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from beartype import BeartypeConf
from beartype.claw import beartype_packages
from beartype.claw._ast.clawastmain import BeartypeNodeTransformer
from hypothesis import settings
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

ROOMS = (
    "public counting private ledger answers model simulate records recipes evaluate stand_in planning job release "
    "steward run_gate pipeline"
)
_visit = BeartypeNodeTransformer.visit_FunctionDef


def _visit_once(self: Any, node: Any) -> Any:
    """Leave functions within functions to mypy: they would be wrapped anew at every call of the one around them.

    That wrapping, not the checking, was a third of the time of the gate's own tests.
    """
    within = any(scope.node_type is not ast.ClassDef for scope in self._scopes[1:])
    return self.generic_visit(node) if within else _visit(self, node)


BeartypeNodeTransformer.visit_FunctionDef = _visit_once  # type: ignore[method-assign]
beartype_packages(
    [f"hedgerow.{room}" for room in ROOMS.split()],
    conf=BeartypeConf(is_pep484_tower=True),  # an int will do where a float is asked for
)
if sys.version_info < (3, 12):  # as later Pythons do: what a protocol asks for was gathered anew at every check
    for name in ("_get_protocol_attrs", "_is_callable_members_only"):
        setattr(typing, name, cache(getattr(typing, name)))

_compile, _held = Dispatcher.compile, set[str]()


@contextmanager
def _alone_with(file: str) -> Iterator[None]:
    """No other process of the tests is in here with the same file meanwhile."""
    if file in _held or not Path(file).is_file():
        yield
        return
    with open(file, "rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        _held.add(file)
        try:
            yield
        finally:
            _held.remove(file)
            fcntl.flock(opened, fcntl.LOCK_UN)


def _compile_once(self: Any, signature: Any) -> Any:
    """Compile a loop, or load what another process of the tests has compiled: each began with the same loops."""
    with global_compiler_lock, _alone_with(self.py_func.__code__.co_filename):
        return _compile(self, signature)


Dispatcher.compile = _compile_once  # type: ignore[method-assign, assignment]


@pytest.fixture(autouse=True, scope="session")
def no_ledger_of_an_office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests book nothing in the ledger that whoever runs them has set for all jobs (``hedgerow ledger use``)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        patch.delenv("HEDGEROW_LEDGER", raising=False)
        yield


@pytest.fixture(autouse=True)
def bundles_are_opened_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundles of most tests are their own: opened by the same code in this process, which saves its start.

    Tests marked ``confined`` open theirs in a process of its own, as every user does.
    """
    if request.node.get_closest_marker("confined") is None:
        from hedgerow.release import confined

        monkeypatch.setattr(confined, "_elsewhere", confined.find)


@pytest.fixture(scope="module")
def short_forecasts() -> Iterator[None]:
    """Plans forecast from two runs, not nine: for files about something else. Forecasts have tests of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("hedgerow.planning.forecast"), "RUNS", 2)
        yield


FIRST = ("tests/engines/", "tests/end_to_end/test_studio.py")
"""These come first: one process has all of Spark, and the longest tests of all do not begin when others end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; the rest keeps its order."""
    items.sort(key=lambda item: next((n for n, f in enumerate(FIRST) if item.nodeid.startswith(f)), len(FIRST)))


def pytest_configure(config: pytest.Config) -> None:
    """Toy tables are small and noisy: only tests of these warnings look for them."""
    config.addinivalue_line("filterwarnings", "ignore::hedgerow.planning.forecast.PlanWarning")


settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
