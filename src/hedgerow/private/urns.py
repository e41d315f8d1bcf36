"""Drawing from urns in whole numbers: no gamma variates, no floats, and no shares that could leak (PROOFS.md)."""

from fractions import Fraction

import numpy as np

from hedgerow.private import Gate, entropy
from hedgerow.public.costs.question import Counts, Marginal, Measurement
from hedgerow.public.costs.urn import Urn, price_urn

_BLOCK = 1 << 18  # balls that are drawn at once: how many it is changes nothing but memory


def draw_urn(gate: Gate, question: Marginal, urn: Urn, cost: Fraction) -> tuple[Measurement, ...]:
    """Synthetic tables of ``question``, one per copy, from urns that hold its counts and the weights of ``urn``.

    One row multiplies the chance of any outcome by at most ``Urn.ratio``; ``price_urn`` refuses a cost below the
    logarithm of that, times the rows of a unit.  Nothing but the drawn counts exists after the draw.
    """
    spend, cells = price_urn(gate.tariff, question, urn, cost), gate.tariff.coding.cells

    def drawn(counts: tuple[Counts, ...]) -> tuple[Measurement, ...]:
        made = draw(urn, counts[0], cells(question.columns[: urn.groups]))
        return tuple(Measurement(question, z, spend.asked[0].noise) for z in made)

    return gate._answered(spend, [question], drawn)  # noqa: SLF001  a mechanism of this room: booked, saved, marked


def draw(urn: Urn, counts: Counts, groups: int) -> Counts:
    """Synthetic counts, a row per copy and a column per cell: each group's urn holds ``counts`` and prior weights.

    Ball t of a group is a uniform number below w + t grain, w being the weight of counts and prior: below w
    it falls on a cell, above it repeats one of the t balls before, each with the chance of one grain.
    """
    sizes = np.broadcast_to(np.array(urn.sizes, np.int64), groups)
    counts = np.minimum(counts, (1 << 61) // (urn.grain * len(counts)))  # no sum of weights passes 64 bits
    ends = np.cumsum(counts * urn.grain + np.array(urn.alphas, np.int64))
    last = ends[len(counts) // groups - 1 :: len(counts) // groups]
    weight, after = np.diff(last, prepend=0), np.cumsum(sizes) * urn.copies
    cell, made = np.empty(int(after[-1]), np.int64), np.zeros(urn.copies * len(counts), np.int64)
    for start in range(0, len(cell), _BLOCK):
        ball = np.arange(start, min(start + _BLOCK, len(cell)))
        group = np.searchsorted(after, ball, side="right")
        turn = ball - (after - sizes * urn.copies)[group]  # how many balls of its group came before
        u = below_each(weight[group] + turn * urn.grain) - weight[group]
        source = np.where(u >= 0, ball - turn + u // urn.grain, ball)
        while ((further := source[np.maximum(source - start, 0)]) != source)[source >= start].any():
            source = np.where(source >= start, further, source)  # a copy of a copy: look up its source, doubling
        cell[ball] = np.searchsorted(ends, last[group] + u, side="right")  # right for the balls that are no copies
        cell[ball] = cell[source]
        copy = turn // sizes[group]
        np.add.at(made, copy * len(counts) + cell[ball], 1)
    return made.reshape(urn.copies, len(counts))


def below_each(bounds: Counts) -> Counts:
    """For each bound, a uniform whole number below it: spare bits are cut, and what is too large is drawn again."""
    drawn, again, mask = np.empty(len(bounds), np.int64), np.arange(len(bounds)), bounds - 1
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> shift
    while len(again):
        drawn[again] = entropy.words(2 * len(again)).view(np.int64) & mask[again]
        again = again[drawn[again] >= bounds[again]]
    return drawn
