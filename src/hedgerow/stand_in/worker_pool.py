"""Processes that work beside this one: a single thread each, and gone when this one is gone, however it ended."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any

_THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@contextmanager
def company(workers: int, enter: Callable[..., None] | None = None, *given: Any) -> Iterator[ProcessPoolExecutor]:
    """``workers`` processes; each calls ``enter`` with what is ``given`` before it does anything else."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # children inherit it; this process has read it already
    try:
        with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=(enter, given)) as pool:
            yield pool
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _begin(enter: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    Thread(target=_leave_with_parent, daemon=True).start()
    if enter is not None:
        enter(*given)


def _leave_with_parent() -> None:
    """A parent that was killed tells nobody: without this its processes would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
