"""Processes that work beside this one: a single thread each, and gone when this one is gone, however it ended."""

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread
from types import ModuleType
from typing import Any

_THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_HELD: ContextVar[Any] = ContextVar("held")

Perform = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterator[tuple[int, Any]]]
"""Does a piece of work for each of several tasks; gives the place of each task and its result as they come in."""


def worker_count(asked: int) -> int:
    """How many processes: as many as are asked for or, when that is 0, as there are cores for this one."""
    if asked:
        return asked
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _without_main() -> Iterator[None]:
    """No ``__main__`` for a while: a process that is started now does not run the user's script again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class _Process(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with _without_main():
            return SpawnProcess._Popen(process_obj)  # noqa: SLF001  the hook of multiprocessing


class _Context(SpawnContext):
    Process = _Process


def _can_be_sent(held: Any) -> bool:
    """Whether other processes can be given ``held``: not if it holds a recipe that the user's own script defines."""
    try:
        with _without_main():
            pickle.dumps(held)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


@contextmanager
def worker_pool(workers: int, held: Any) -> Iterator[Perform]:
    """This process, or ``workers`` others; each does ``work(held, *task)``, and is sent ``held`` once.

    The others never import the script that runs here: it may book a budget.  What cannot be sent stays here.

    >>> with worker_pool(1, 10) as perform:
    ...     list(perform(pow, [(2,), (3,)]))
    [(0, 100), (1, 1000)]
    """
    if workers <= 1 or not _can_be_sent(held):
        yield lambda work, tasks: ((i, work(held, *task)) for i, task in enumerate(tasks))
        return
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # children inherit it; this process has read it already
    try:
        with ProcessPoolExecutor(workers, _Context(), initializer=_begin, initargs=(held,)) as pool:

            def perform(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
                waiting = {pool.submit(_do, work, task): i for i, task in enumerate(tasks)}
                try:
                    for done in as_completed(waiting):
                        yield waiting[done], done.result()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise

            yield perform
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _begin(held: Any) -> None:
    Thread(target=_leave_with_parent, daemon=True).start()
    _HELD.set(held)


def _do(work: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    return work(_HELD.get(), *task)


def _leave_with_parent() -> None:
    """A parent that was killed tells nobody: without this its processes would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
