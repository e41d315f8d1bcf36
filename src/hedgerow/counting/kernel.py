"""The inner loops of counting: codes in, cell counts out.

``count_tile`` serves blocks of up to 65,536 cells, a few rows at a time: one sweep per column builds their 16-bit
cell numbers, then each of these adds one to a small histogram.  What makes it fast: the sweeps run on vector
registers; four cell numbers are unpacked from one 64-bit word; two 16-bit histograms take turns, so that equal
neighbours do not wait for each other; and both stay in the processor's first cache until the tile is done.
``count_wide`` serves everything larger.  Nothing here checks its input: ``plan.py`` does, before every call.
"""

from contextlib import ContextDecorator, suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

CHUNK, TILE = 1 << 10, 127 << 10  # a histogram gets half of a tile's rows, 65,024: 16 bits never overflow
NARROW = 1 << 16  # the most cells that 16 bits can number

_ONE, _MASK, _16, _32, _48 = np.uint16(1), np.uint64(0xFFFF), np.uint64(16), np.uint64(32), np.uint64(48)
_Numbers = npt.NDArray[np.int64]


def compiled(loop: Any, **options: Any) -> Any:
    """``loop`` as machine code, made on first use and kept beside the package or in the user's cache.

    Where neither can be written, or the disk is full, it is made anew in every process: a directory that others can
    write, such as /tmp, would let them put their code in place of ours.
    """
    made = njit(nogil=True, no_cfunc_wrapper=True, **options)(loop)  # nobody calls it from C
    with suppress(RuntimeError):
        made.enable_caching()
        made._cache.save_overload = _Unless(OSError)(made._cache.save_overload)  # noqa: SLF001  no other door
    return made


class _Unless(ContextDecorator, suppress):
    """A function that is decorated by it gives nothing where it raises such an error."""


@compiled
def count_tile(rows: Any, terms: _Numbers, ends: _Numbers, starts: _Numbers, tally: _Numbers) -> None:
    """Add up to TILE rows to ``tally``, the counts of all cells of all blocks.

    Each line of ``rows`` has the codes of one column.  Block b owns the cells from starts[b] to starts[b + 1] and the
    terms, one or more, from ends[b] to ends[b + 1]; a term is (line, stride), a row's cell the sum of code x stride.
    """
    cell = np.empty(CHUNK, np.uint16)
    four = cell.view(np.uint64)
    even, odd = np.zeros(NARROW, np.uint16), np.zeros(NARROW, np.uint16)
    for b in range(len(starts) - 1):
        for low in range(0, rows.shape[1], CHUNK):
            n = min(CHUNK, rows.shape[1] - low)
            code, stride = rows[terms[ends[b], 0], low : low + n], np.uint16(terms[ends[b], 1])
            for r in range(n):
                cell[r] = np.uint16(code[r]) * stride
            for t in range(ends[b] + 1, ends[b + 1]):
                code, stride = rows[terms[t, 0], low : low + n], np.uint16(terms[t, 1])
                for r in range(n):
                    cell[r] += np.uint16(code[r]) * stride
            for q in range(n // 4):
                word = four[q]
                even[word & _MASK] += _ONE
                odd[(word >> _16) & _MASK] += _ONE
                even[(word >> _32) & _MASK] += _ONE
                odd[word >> _48] += _ONE
            for r in range(n // 4 * 4, n):
                even[cell[r]] += _ONE
        block = tally[starts[b] : starts[b + 1]]
        for c in range(len(block)):
            block[c] += np.int64(even[c]) + np.int64(odd[c])
            even[c], odd[c] = 0, 0


@compiled
def find_leaves(rows: Any, look: Any, first: Any, child: Any, at: Any) -> None:
    """Move every row from split at[r] = 0 to leaf -1 - at[r], a chunk one step at a time: no row waits for one."""
    active = np.empty(CHUNK, np.uint32)
    for low in range(0, rows.shape[1], CHUNK):
        left = np.uint32(min(CHUNK, rows.shape[1] - low) if len(look) else 0)
        for r in range(left):
            active[r] = low + r
        while left:
            moving, left = left, np.uint32(0)
            for r in active[:moving]:
                s = np.uint32(at[r])  # unsigned: a negative index would count from the end, and to test it takes time
                at[r] = child[np.uint32(first[s]) + np.uint32(rows[np.uint32(look[s]), r])]
                active[left] = r
                left += np.uint32(at[r] >= 0)


@compiled
def count_wide(cells: _Numbers, tally: _Numbers) -> None:
    """Add one to ``tally`` for each of ``cells``."""
    for c in cells:
        tally[c] += 1
