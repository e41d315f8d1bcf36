"""Ways to move records until their tables are those wanted, behind one interface: one big table, or many groups.

``GradualUpdate`` is the paper's and needs many records.  ``Exchange`` keeps records of a pool whole.  ``Descent``
reaches by far the lowest error; it invents combinations where that helps.  All are exact functions of their
arguments: ``state`` starts a random stream of their own, and groups come out the same with any number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.model.descent import descend
from hedgerow.model.exchange import refine
from hedgerow.model.gum import PairTargets, Records, gum


class AbstractFitter(ABC):
    """One way to bring the tables of records nearer to targets."""

    @abstractmethod
    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """As many records, whose tables are nearer to the targets. The given ones stay as they are."""


@final
@dataclass(frozen=True)
class GradualUpdate(AbstractFitter):
    """GUM: table by table, a share ``step`` of the records in cells that hold too many moves on; ``rounds`` times."""

    rounds: int = 10
    step: float = 1.0

    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """The best round; the given records when no round helps."""
        return gum(records, targets, rounds=self.rounds, step=self.step, state=state)


@final
@dataclass(frozen=True, eq=False)
class Exchange(AbstractFitter):
    """Each record is offered ``sweeps`` records of ``pool`` and takes one when all tables together gain."""

    pool: Records
    sweeps: int = 30

    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """Records of the pool, and given ones, whole."""
        return refine(records, self.pool, targets, sweeps=self.sweeps, state=state)


@final
@dataclass(frozen=True)
class Descent(AbstractFitter):
    """Each record moves to the values that lower the error most; ``sweeps`` passes over all of them."""

    sweeps: int = 5

    def fit(self, records: Records, targets: PairTargets, state: int) -> Records:
        """Records at a low point of the summed squared error of all two-way tables."""
        stream = np.random.Generator(np.random.PCG64(state))
        return descend(records, targets.square, stream, sweeps=self.sweeps)


def fit_groups(
    fitter: AbstractFitter, groups: Sequence[Records], targets: PairTargets, states: Sequence[int]
) -> list[Records]:
    """Every group fitted by itself to the same shares, each with a state of its own."""
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda group, state: fitter.fit(group, targets, state), groups, states))
