"""Random bits from the operating system: never a seed, never a buffer, so a forked process repeats nothing."""

import os

import numpy as np
import numpy.typing as npt


def words(n: int) -> npt.NDArray[np.uint32]:
    """``n`` independent words of 32 fair bits."""
    return np.frombuffer(os.urandom(4 * n), np.uint32)


def below(n: int) -> int:
    """A whole number drawn uniformly from 0, 1, ..., n - 1."""
    bits = (n - 1).bit_length()
    while n > 0:
        value = int.from_bytes(os.urandom((bits + 7) // 8), "big") >> (-bits % 8)
        if value < n:
            return value
    raise ValueError("There is nothing to choose from.")
