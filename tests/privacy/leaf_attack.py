"""Reconstruction of labels from the noisy leaf counts of several trees: the attack published against such forests.

Who knows the predictors of every record knows in which leaf of every tree it lies.  If each tree's leaf counts were
exact, or the noise forgot that the trees add up, the labels that fit all counts best are nearly the true ones
(Gorge, Ferry, Gambs and Vidal 2025 solve the same problem by constraint programming).  Here the fit is found by
starting from averaged leaf shares and changing one record at a time.  Tests keep it as an alarm: it must succeed on
counts without noise, and stay below what the promise allows on counts with it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def reconstructed(leaves: Sequence[Places], counts: Sequence[npt.NDArray[np.int64]], *, sweeps: int = 20) -> Places:
    """The label of every record that fits best.

    Args:
        leaves: for each tree, the leaf of every record.
        counts: for each tree, the noisy count of every label in every leaf, one row per leaf.
        sweeps: how often every record is looked at again.
    """
    labels = counts[0].shape[1]
    votes = np.zeros((len(leaves[0]), labels))
    for leaf, noisy in zip(leaves, counts, strict=True):
        votes += (noisy / np.maximum(np.bincount(leaf, minlength=len(noisy)), 1)[:, None])[leaf]
    guess = np.asarray(votes.argmax(axis=1), np.int64)
    pairs = list(zip(leaves, counts, strict=True))
    left = [np.asarray(noisy - _counted(leaf, guess, noisy.shape), np.float64) for leaf, noisy in pairs]
    for _ in range(sweeps):
        changed = 0
        for i in range(len(guess)):
            changed += _improve(i, guess, [leaf[i] for leaf in leaves], left)
        if not changed:
            break
    return guess


def _counted(leaf: Places, label: Places, shape: tuple[int, ...]) -> Places:
    return np.bincount(leaf * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)


def _improve(i: int, guess: Places, where: Sequence[np.int64], left: Sequence[Floats]) -> int:
    """Give one record the label that leaves the smallest sum of squares; 1 if that is another one."""
    old = guess[i]
    for at, rest in zip(where, left, strict=True):
        rest[at, old] += 1
    gain = sum((rest[at] for at, rest in zip(where, left, strict=True)), np.zeros(left[0].shape[1]))
    new = int(np.argmax(gain))  # (r - 1)^2 is smallest where r summed over trees is largest
    if gain[new] <= gain[old]:
        new = int(old)
    guess[i] = new
    for at, rest in zip(where, left, strict=True):
        rest[at, new] -= 1
    return int(new != old)
