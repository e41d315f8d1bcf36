"""Parts: coded rows, some at a time, one or two bytes a value, as a counter keeps them from request to request.

They are in memory, and beyond a limit in files without a name, which nobody can open and which go with the process.
"""

import mmap
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby, pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hedgerow.counting.plan import UNIT

IN_MEMORY = 1 << 30  # bytes of codes, unless less is allowed
_PART = 1 << 20  # rows of a part that is kept
TIMES = "\0times"  # how many records a line stands for; no column of a file has such a name
Part = dict[str, npt.NDArray[Any]]
In = TypeVar("In")
Out = TypeVar("Out")


def whole_units(parts: Sequence[Part]) -> Iterator[Part]:
    """The same rows with the units of each part whole, in the order in which they first stand, and numbered."""
    if not parts or UNIT not in parts[0]:
        yield from ({**part, UNIT: np.arange(len(next(iter(part.values()))), dtype=np.uint32)} for part in parts)
        return
    unit = np.concatenate([part[UNIT] for part in parts])
    order = np.argsort(unit, kind="stable")
    begins = np.flatnonzero(np.diff(unit[order].astype(np.int64), prepend=-1))
    number = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(unit)))
    lines = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
    cuts = np.unique(begins[np.searchsorted(begins, np.arange(0, len(unit), _PART), "right") - 1])
    for low, high in pairwise([*cuts, len(unit)]):
        units = (number[low:high] - number[low]).astype(np.uint32)
        yield {n: line[low:high] for n, line in lines.items()} | {UNIT: units}


def digits(part: Part) -> Iterator[tuple[int, Part]]:
    """How often which lines count: one that stands for n records counts with each binary digit of n."""
    if TIMES not in part:
        yield 1, part
        return
    n = part[TIMES]
    for digit in range(int(n.max(initial=0)).bit_length()):
        some = n >> digit & 1 == 1
        yield 1 << digit, {name: line[some] for name, line in part.items()}


def stored(parts: Iterable[Part], most: int) -> list[Part]:
    """The parts, in memory up to so many bytes, then in files that have no name and only this process can read."""
    held, kept = 0, list[Part]()
    for part in parts:
        held += sum(line.nbytes for line in part.values())
        kept.append(part if held <= min(most, IN_MEMORY) else in_file(part))
    return kept


def rooms(batches: Iterable[Any], rows: int, types: Mapping[str, Any]) -> Iterator[tuple[Any, Part, int]]:
    """Each batch with a part that has room for its codes, and from which row on: some batches share one."""
    rows, at, room, wide = min(rows, _PART), _PART, Part(), [np.dtype(k).itemsize for k in types.values()]
    for batch in batches:
        if at + len(batch) > rows or not room:
            at, size = 0, max(rows, len(batch)) + 7 & ~7
            block = np.empty(size * sum(wide), np.uint8)  # one for all columns: a large block has large pages
            lines = zip(types.items(), np.split(block, size * np.cumsum(wide)[:-1]), strict=True)
            room = {name: line.view(kind) for (name, kind), line in lines}
        yield batch, room, at
        at += len(batch)


def filled(coded: Iterable[tuple[Part, int]]) -> Iterator[Part]:
    """Each part once, given in turn with how many rows more were coded into it: no more than these."""
    for _, some in groupby(coded, lambda given: id(given[0])):
        rooms, more = zip(*some, strict=True)
        yield {name: line[: sum(more)] for name, line in rooms[0].items()}


def in_file(part: Part) -> Part:
    """The part as a memory map of a file that was never in a folder, or is there no longer."""
    lines = sorted(part.items(), key=lambda item: -item[1].itemsize)  # so that each is aligned
    if not sum(line.nbytes for _, line in lines):
        return part
    with tempfile.TemporaryFile() as file:
        for _, line in lines:
            file.write(line.tobytes())
        file.flush()
        held, at = mmap.mmap(file.fileno(), 0), np.cumsum([0, *(line.nbytes for _, line in lines)])
    return {n: np.frombuffer(held, line.dtype, len(line), low) for (n, line), low in zip(lines, at, strict=False)}


def in_order(threads: int, work: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
    """The results of ``work``, in order, with at most ``threads`` of them begun early."""
    with ThreadPoolExecutor(threads) as pool:
        begun = deque[Future[Out]]()
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) > threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
