"""The best of a random number of runs: private selection with random stopping (PROOFS.md, ``selection``).

Every run draws one of the settings, asks its questions with noise of its own, and gets a noisy score; only the best
run leaves, and how many there were is not told.  One run is epsilon-DP with epsilon = cost / factor, so the whole is
worth ``cost``.  The trials are recipes: code from outside this folder, which sees nothing but noisy answers.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import polars as pl

from hedgerow.errors import JobError, Refused
from hedgerow.private import entropy, noise
from hedgerow.private.gate import Gate
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.question import Counts, Marginal
from hedgerow.public.costs.spend import Spend
from hedgerow.public.costs.stopping import Choice, Stopping, plain

Trial = Callable[[int, Gate], tuple[Mapping[Marginal, Counts], Any]]
_WORST = -(1 << 62)  # the score of a run that failed: that it failed tells no more than its noisy answers


@final
@dataclass(frozen=True)
class Chosen:
    """The best run: its setting, its noisy score, and what it made of its noisy answers; None if it failed."""

    candidate: int
    score: int
    made: Any


def choose_run(gate: Gate, choice: Choice, trial: Trial, cost: Fraction) -> Chosen:
    """The best of a random number of runs of ``trial``, each with a setting drawn anew and its own small budget.

    ``trial`` is given the number of a setting and a gate, and returns estimated counts of ``choice.tables`` and
    whatever is to be kept.  Order: price, book, count; every draw, of runs, settings and noise; save, mark, answer.
    """
    if gate.tariff.measure != "pure":
        raise JobError("A choice with random stopping is priced in pure epsilon: use a budget without delta.")
    choice = plain(choice)
    spend = choice.price(gate.tariff.guarantee, cost)
    law, budget = spend.asked[0].noise, Budget(str(choice.each(cost)[0]))
    noise.check(law)

    def best_of(true: tuple[Counts, ...]) -> Chosen:
        best = Chosen(0, _WORST - 1, None)  # worse than any run, and there is one
        for _ in range(number_of_runs(choice.stopping)):
            which = entropy.below(len(choice.candidates))
            inner = Gate(None, gate.tariff, budget, _Purse(budget.total), lambda *_: gate._rows._counter)  # noqa: SLF001
            inner._recognised = True  # noqa: SLF001  by the request that was booked
            try:
                with warnings.catch_warnings(action="ignore"):
                    estimates, made = trial(which, inner)
                off = sum(_distance(t, estimates[q]) for t, q in zip(true, choice.tables, strict=True))
                score = int(noise.draw(law, 1)[0]) - off
            except (Exception, pl.exceptions.PanicException):  # it must not tell of a run thrown away
                made, score = None, _WORST
            if score > best.score:
                best = Chosen(which, score, made)
        return best

    return gate._answered(spend, choice.tables, best_of)  # noqa: SLF001  a mechanism of this room


def number_of_runs(stopping: Stopping) -> int:
    """A draw of the stopping law, exact: a geometric number, kept with chance 1/k when the law is logarithmic."""
    while True:
        k = 1
        while entropy.below(stopping.gamma.denominator) >= stopping.gamma.numerator:
            k += 1
        if stopping.law == "geometric" or entropy.below(k) == 0:
            return k


def _distance(true: Counts, estimate: Counts) -> int:
    plain = np.array(estimate, np.int64)
    if plain.shape != true.shape or max(int(plain.max()), -int(plain.min())) > (1 << 61) // plain.size:
        raise ValueError("an estimate is not one count per cell")
    return int(np.abs(true - plain).sum())


@final
class _Purse:
    """The account of one run: its part of what was booked at once for all runs; nothing of it reaches the ledger."""

    def __init__(self, total: Fraction) -> None:
        self._total, self._spent = total, Fraction(0)

    def promise(self, budget: Budget, guarantee: Guarantee) -> None:
        """Booked already, with all other runs."""

    def spent(self) -> Fraction:
        """What this run has used."""
        return self._spent

    def key(self) -> bytes:
        """Rows were recognised before the first run."""
        return bytes(32)

    def book(self, spend: Spend) -> None:
        """Refuse what passes the total of one run."""
        if self._spent + spend.cost > self._total:
            raise Refused("A run asked for more than its part. Nothing more was read for it.")
        self._spent += spend.cost

    def recognise(self, fingerprint: str) -> None:
        """Done before the first run."""

    def keep(self, spend: Spend, answer: Any) -> Any:
        """Saved and marked with the best of all runs, if it is that."""
        return answer
