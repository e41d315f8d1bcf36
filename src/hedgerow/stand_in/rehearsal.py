"""The whole job on its public table, many times over: the error of each use against epsilon, at no cost."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor, log10, sqrt
from time import monotonic
from typing import final

import numpy as np

from hedgerow.public.costs import Budget
from hedgerow.stand_in.curve import Point, Rehearsal, band
from hedgerow.stand_in.size_correction import at_full_size, surplus
from hedgerow.stand_in.stand_in import Stage, half_sample_errors, parted, play
from hedgerow.stand_in.worker_pool import company
from hedgerow.uses import Verdict
from hedgerow.uses.base import UseError, like_sample

Watch = Callable[[int, int, float], None]
"""Told how many runs are done, of how many, and about how many seconds are left."""
TIMES = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The epsilons that are tried by default, as multiples of the job's own."""
RUNS, CLOSER = 4, 2
"""Runs at each epsilon, and how many times the gap around the least epsilon is halved."""
_WORST, _MOST_PARTS = 8, 20_000
_WORTH = 50  # rows of a part: with fewer, half of it tells nothing of how errors go with sizes
Run = tuple[tuple[UseError, ...], tuple[UseError, ...]]
"""An error per use: of the job on two parts of the public table, and on half of both."""
Task = tuple[Budget, np.random.Generator]


def verdicts(stage: Stage, runs: Sequence[Run], spreads: Sequence[float]) -> tuple[Verdict, ...]:
    """How each use fared over some runs at one epsilon; ``spreads`` are the errors of random halves."""
    more, found = surplus(stage.rows, stage.table.rows, parted(stage)), []
    for i, spread in enumerate(spreads):
        here, halved = [r[0][i] for r in runs], [r[1][i] for r in runs]
        times = at_full_size([j.error for j in here], [j.error for j in halved], more)
        found.append(
            _verdict(stage, i, [replace(j, error=j.error * times, parts=j.parts * times) for j in here], spread)
        )
    return tuple(found)


def _verdict(stage: Stage, i: int, runs: Sequence[UseError], spread: float) -> Verdict:
    use, errors = stage.uses[i], [j.error for j in runs]
    if not np.isfinite(errors).all():
        many = f"{use.least_rows:,} rows" if use.least_rows else "a row"
        return Verdict(use, None, None, f"no {use.unit} of the public table reaches {many}")
    mean, (low, high) = float(np.mean(errors)), band(errors)
    kept = [j.sign_kept for j in runs]
    return Verdict(
        use,
        mean,
        like_sample(mean, spread),
        f"{len(runs)} rehearsed runs on two parts of the public table",
        low,
        high,
        None if kept[0] is None else all(kept),
        _worst(stage, i, runs),
    )


def _worst(stage: Stage, i: int, runs: Sequence[UseError]) -> tuple[tuple[str, float], ...]:
    """The cells or groups that are furthest off on average, worst first."""
    if not 1 < len(runs[0].parts) <= _MOST_PARTS:
        return ()
    judged = np.array([np.isfinite(j.parts) for j in runs]).all(axis=0)
    parts = np.where(judged, np.mean([np.nan_to_num(j.parts) for j in runs], axis=0), -1.0)
    places = np.argsort(-parts, kind="stable")[:_WORST]
    places = places[parts[places] > 0]
    named = stage.uses[i].labels(stage.public.schema, places)
    return tuple(zip(named, parts[places].tolist(), strict=True))


def quick(stage: Stage, budget: Budget, runs: int, rng: np.random.Generator) -> tuple[Verdict, ...]:
    """The verdicts of a few runs at one epsilon, in this process: what a plan says."""
    return verdicts(
        stage, [_one(stage, budget, r) for r in rng.spawn(runs)], half_sample_errors(stage, rng.spawn(1)[0])
    )


def _one(stage: Stage, budget: Budget, rng: np.random.Generator) -> Run:
    """One run, and the same on half of the rows, unless there are too few to halve."""
    here = play(stage, budget, deepcopy(rng))
    return here, play(stage, budget, rng, halved=True) if min(parted(stage)) >= _WORTH else here


@final
@dataclass
class _Clock:
    """Counts runs and tells the watch how long the rest will take."""

    watch: Watch
    planned: int
    workers: int
    done: int = 0
    began: float = field(default_factory=monotonic)

    def tick(self) -> None:
        self.done += 1
        pace = (monotonic() - self.began) / self.done
        self.watch(self.done, self.planned, pace * max(self.planned - self.done, 0))


def rehearse(
    stage: Stage,
    *,
    budget: Budget,
    key: str = "",
    epsilons: Sequence[Fraction] = (),
    runs: int = RUNS,
    workers: int = 0,
    watch: Watch = lambda done, of, left: None,
    rng: np.random.Generator,
) -> Rehearsal:
    """The errors of every use at ``epsilons`` and, around the least that meets all tolerances, some more.

    By default the job's epsilon times 1/8 to 4.  Each run has a split, noise and draws of its own, the same at every
    epsilon, so curves are smooth.  ``workers`` processes work at once: as many as there are cores when 0.
    """
    tried = sorted({*(epsilons or (budget.epsilon * t for t in TIMES)), budget.epsilon})
    workers = workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    generators, other = rng.spawn(runs), rng.spawn(1)[0]
    spreads = half_sample_errors(stage, other)
    clock = _Clock(watch, (len(tried) + CLOSER * (not epsilons)) * runs, workers)
    found: dict[Fraction, Point] = {}
    with _players(stage, min(workers, len(tried) * runs)) as perform:

        def attempt(wanted: Sequence[Fraction]) -> None:
            tasks = [(Budget(str(e), str(budget.delta)), g) for e in wanted for g in generators]
            done = perform(tasks, clock.tick)
            for i, e in enumerate(wanted):
                found[e] = Point(e, verdicts(stage, done[i * runs : (i + 1) * runs], spreads))

        attempt(tried)
        for _ in range(0 if epsilons else CLOSER):
            if (between := _between([found[e] for e in sorted(found)])) is None:
                break
            attempt([between])
    return Rehearsal(
        key=key,
        recipe=stage.recipe.name,
        epsilon=budget.epsilon,
        delta=budget.delta,
        runs=runs,
        rows=stage.rows,
        parts=parted(stage),
        points=tuple(found[e] for e in sorted(found)),
    )


def _between(points: Sequence[Point]) -> Fraction | None:
    """A round epsilon half way, on a logarithmic scale, between the last that misses and the least that meets."""
    missing = [i for i, p in enumerate(points) if not p.met]
    if not missing or missing[-1] + 1 == len(points):
        return None
    low, high = points[missing[-1]].epsilon, points[missing[-1] + 1].epsilon
    middle = round_up(sqrt(low * high))
    return middle if low < middle < high else None


def round_up(number: float) -> Fraction:
    """The number with two digits that count, rounded up.

    >>> float(round_up(0.3536)), float(round_up(12.01))
    (0.36, 13.0)
    """
    power = Fraction(10) ** (floor(log10(number)) - 1)
    return -((-Fraction(number)) // power) * power


Perform = Callable[[Sequence[Task], Callable[[], None]], list[Run]]


@contextmanager
def _players(stage: Stage, workers: int) -> Iterator[Perform]:
    """Who plays the runs: this process, or several that each hold the stage and one thread."""
    if workers <= 1:

        def alone(tasks: Sequence[Task], tick: Callable[[], None]) -> list[Run]:
            found = []
            for budget, rng in tasks:
                found.append(_one(stage, budget, deepcopy(rng)))
                tick()
            return found

        yield alone
        return
    with company(workers, _enter, stage) as pool:

        def together(tasks: Sequence[Task], tick: Callable[[], None]) -> list[Run]:
            waiting = {pool.submit(_play, budget, rng): i for i, (budget, rng) in enumerate(tasks)}
            found: dict[int, Run] = {}
            try:
                for done in as_completed(waiting):
                    found[waiting[done]] = done.result()
                    tick()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return [found[i] for i in range(len(tasks))]

        yield together


_ON: list[Stage] = []


def _enter(stage: Stage) -> None:
    _ON[:] = [stage]


def _play(budget: Budget, rng: np.random.Generator) -> Run:
    return _one(_ON[0], budget, rng)
