"""Drawing from urns in whole numbers: no gamma variates, no floats, and no shares that could leak (PROOFS.md)."""

from math import comb

import numpy as np

from hedgerow.private import entropy
from hedgerow.public.question import Counts
from hedgerow.public.urn import Urn


def draw(urn: Urn, counts: Counts, groups: int) -> Counts:
    """Synthetic counts of all cells: the urn of each group holds ``counts`` and the prior weights.

    Ball t of a group is a uniform number below w + t grain, w being the weight of counts and prior: below w
    it falls on a cell, above it repeats one of the t balls before, each with the chance of one grain.
    """
    if urn.odds:
        return _draw_given_sum(urn, counts)
    sizes = np.broadcast_to(np.array(urn.sizes, np.int64), groups)
    ends = np.cumsum(counts * urn.grain + np.array(urn.alphas, np.int64))
    last = ends[len(counts) // groups - 1 :: len(counts) // groups]
    weight = np.diff(last, prepend=0)
    group, first = np.repeat(np.arange(groups), sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    ball = np.arange(len(group))
    u = below_each(weight[group] + (ball - first) * urn.grain) - weight[group]
    copied = u >= 0
    source = np.where(copied, first + u // urn.grain, ball)
    while (further := source[source] != source).any():  # a copy of a copy: look up its source, doubling each time
        source[further] = source[source[further]]
    cell = np.searchsorted(ends, last[group] + u, side="right")  # right for the balls that are no copies
    return np.bincount(cell[source], minlength=len(counts)).astype(np.int64)


def _draw_given_sum(urn: Urn, counts: Counts) -> Counts:
    """Cell by cell from the last: z with its chance times that of the cells before it to make up the rest."""
    weights = [int(c) * urn.grain + urn.alphas[i % len(urn.alphas)] for i, c in enumerate(counts)]
    sums, left, drawn = urn.sums(weights), urn.sizes[0], np.zeros(len(counts), np.int64)
    for cell in range(len(weights) - 1, 0, -1):
        one, rest = urn.rising(weights, cell), sums[cell - 1]
        u, z = entropy.below(sums[cell][left]), 0
        while u >= (part := comb(left, z) * one[z] * rest[left - z]):
            u, z = u - part, z + 1
        drawn[cell], left = z, left - z
    drawn[0] = left
    return drawn


def below_each(bounds: Counts) -> Counts:
    """For each bound, a uniform whole number below it: spare bits are cut, and what is too large is drawn again."""
    drawn, again = np.empty(len(bounds), np.int64), np.arange(len(bounds))
    mask = bounds - 1
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> shift
    while len(again):
        drawn[again] = entropy.words(2 * len(again)).view(np.int64) & mask[again]
        again = again[drawn[again] >= bounds[again]]
    return drawn
