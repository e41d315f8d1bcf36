"""Counting a table of any size, batch by batch, within a memory limit.

While one batch is read others are coded and counted: the kernel and Polars both let go of Python's lock.
How many rows a batch has follows from the limit, and no more than a few batches exist at a time.

    >>> import polars as pl
    >>> from hedgerow.public.coding import CodedColumn
    >>> sex = CodedColumn("sex", "text", 2, missing=1, other=1, values=("F", "M"), codes=(0, 1))
    >>> count([Marginal(("sex",)), Marginal(())], pl.DataFrame({"sex": ["M", "F", "M"]}), Coding((sex,)))
    (array([1, 2]), array([3]))
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from hedgerow.counting.plan import COVER, CountPlan
from hedgerow.errors import JobError
from hedgerow.public import Coding, Counts, Marginal, open_source

_VALUE, _ROW = 48, 160  # bytes: of a value while it is read and coded; of a row besides
_READER = 128 << 20  # bytes that reading takes whatever the batch: CSV comes in blocks of 16 MB, copied
_FEW, _FEWEST = 1 << 14, 1 << 12  # rows of a batch below which to use fewer threads, and to refuse


def count(
    questions: Sequence[Marginal],
    table: Any,
    coding: Coding,
    *,
    rows: int = 1 << 18,
    memory: int = 2 << 30,
) -> tuple[Counts, ...]:
    """The exact counts of each question over ``table``: a Source, a path, or a frame.

    Args:
        questions: what to count; Total, and the same question again, are questions like any other.
        table: where the rows are.
        coding: the codes of its values.
        rows: the most rows of a batch.
        memory: how many bytes counting may take, besides what the program and a frame take already.
    """
    source = open_source(table)
    plan = CountPlan(questions, coding)
    threads, rows = _within(memory, plan, rows)
    plan = replace(plan, rows=rows)
    total = np.zeros(plan.size, np.int64)

    def count_one(batch: pl.DataFrame) -> Counts:
        return plan.count(coding.encode(batch, plan.columns))

    for counted in _ahead(threads, count_one, source.batches(coding.needs(plan.columns), rows)):
        total += counted
    return plan.split(total)


def _ahead(threads: int, work: Any, batches: Iterator[pl.DataFrame]) -> Iterator[Counts]:
    """The results of ``work`` on every batch, in order, with at most ``threads`` of them begun early."""
    with ThreadPoolExecutor(threads) as pool:
        begun: deque[Future[Counts]] = deque()
        for batch in batches:
            begun.append(pool.submit(work, batch))
            if len(begun) > threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def _within(memory: int, plan: CountPlan, rows: int) -> tuple[int, int]:
    """How many threads, and how many rows of a batch, keep to ``memory``."""
    cores = min(8, getattr(os, "process_cpu_count", os.cpu_count)() or 1)  # the former from Python 3.13
    total = _READER + 8 * plan.size
    each = 8 * (2 * plan.size + COVER * len(set(plan.questions)))
    row = _ROW + _VALUE * len(plan.coding.needs(plan.columns))
    for threads, fewest in [*((t, _FEW) for t in range(cores, 1, -1)), (1, _FEWEST)]:
        fit = (memory - total - each * threads) // (row * (threads + 2))
        if fit >= min(rows, fewest):
            return threads, min(rows, fit)
    need = total + each + 3 * row * min(rows, _FEWEST)
    raise JobError(
        f"Counting {len(plan.questions)} questions with {plan.size:,} cells takes {need / 1e6:,.0f} MB of memory;"
        f" {memory / 1e6:,.0f} MB are allowed.\nAllow more, or ask fewer questions at a time. No row was read."
    )
