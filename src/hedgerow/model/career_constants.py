"""Constants of ``careers`` that were chosen, not derived; see ``constants.py``."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from hedgerow.model.constants import WORK, chosen


@final
@dataclass(frozen=True)
class CareersConstants:
    """What was chosen in ``careers`` besides its settings."""

    beyond_chance: float = chosen(3.5, "standard errors", "by which moves must exceed the public ones to be believed")
    smoothing: float = chosen(2.0, "steps", "of the mix of all leaves, added to the public steps of each leaf")
    smallest_leaf: int = chosen(40, "public steps", "in a leaf of a tree of moves")
    deepest_leaf: int = chosen(8, "splits", "above a leaf of a tree of moves")
    leaf_chance: float = chosen(
        4.0, "impurities", "that a leaf of a tree of moves costs: splits are chosen among many"
    )
    still: float = chosen(0.01, "of the public steps", "in which a column does at most what it does not do mostly")
    still_weight: Fraction = chosen(Fraction(1, 8), "of the weight of others", "for tables of such columns")
    destinations: tuple[float, ...] = chosen(
        (0.5, 2.0, 5.0, 15.0, 50.0), "steps", "that go where all go, added to the public ones from each value"
    )
    laplace: float = chosen(
        1.7, "times as many", "standard errors of Laplace noise, which goes far more often than normal noise"
    )
    band: float = chosen(10.0, "standard deviations of the noise", "in steps, that a band of moves is to have")
    public_steps: int = chosen(200_000, "steps", "the most that trees of moves are grown on", WORK)
    neighbours: int = chosen(
        512,
        "public steps",
        "of which the most similar is followed: of more, fewer public people are followed by more",
        "of 64, 128 and 512: LaborSupply and simulated people want fewer, nlswork and baseball more",
    )
    alike: float = chosen(
        0.1,
        "of the public records",
        "that may lie between a person's value and that of the public person who is followed in it",
        "of .02, .1 and .3, on nlswork and LaborSupply",
    )
    records: int = chosen(2, "records for each value of the time", "that a career has at most")
    drift: float = chosen(0.1, "of a count", "by which first records of another period are off, in deviations")
    window_drift: float = chosen(0.2, "of a count", "by which public careers in the right window may be off")
    window_toll: float = chosen(
        1.0,
        "of twice the logarithm of the windows tried",
        "by which one must be nearer than public careers as they are",
        "set after a look at nlswork by other people at epsilon 1; no other value was tried",
    )
    window_times: int = chosen(128, "values of the time", "up to which windows are tried", WORK)


CAREERS = CareersConstants()
