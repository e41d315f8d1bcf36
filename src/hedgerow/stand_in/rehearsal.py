"""The whole job on its public table, many times over: the error of each use against epsilon, at no cost.

From the errors on parts of a public table to those on whole tables: what is sampling error grows smaller.
In a rehearsal both tables are parts of one public table, so both are smaller than the real ones and differ more
from each other by chance.  The square of an error is taken to be a part that sizes do not touch (noise on the
assumed number of rows, what a model leaves out) and a part in proportion to the sampling variance of the difference
of the two tables, 1/t + 1/r for t rows that play the confidential table and r that play its relative.  The same run
on half of both parts has twice that variance; so the two runs tell the parts of the error, and the error at
1/n + 1/p, the variance of the real tables of n and p rows, lies on the straight line through them:

    error^2 = e^2 - (half^2 - e^2) (1 - (1/n + 1/p) / (1/t + 1/r)).

    >>> round(at_full_size([0.02, 0.02], [0.02, 0.02], 0.5), 3)  # noise only: sizes do not matter
    1.0
    >>> round(at_full_size([0.02, 0.02], [0.028, 0.028], 0.5), 2)  # sampling error only: sqrt(1/2)
    0.72
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor, log10, sqrt
from time import monotonic, process_time
from typing import Any, final

import numpy as np

from hedgerow.figures import table_html
from hedgerow.public import Budget, budget_for, fraction_of
from hedgerow.stand_in.stand_in import StandIn, half_sample_errors, use_errors
from hedgerow.stand_in.worker_pool import worker_count, worker_pool
from hedgerow.uses import AbstractUse, UseError, Verdict, like_sample, not_judged

FORMAT = "hedgerow-rehearsal/2"


@final
@dataclass(frozen=True)
class Point:
    """The runs at one epsilon: a verdict per use, in the order of the uses."""

    epsilon: Fraction
    verdicts: tuple[Verdict, ...]

    @property
    def expected_met(self) -> bool:
        """Whether no tolerance is expected to be missed, in nine runs of ten."""
        return all(v.expected_met is not False for v in self.verdicts)


@final
@dataclass(frozen=True, repr=False)
class Rehearsal:
    """The whole job on its public table, at several epsilons.

    Attributes:
        key: the hash of all that was rehearsed but epsilon, to recognise the job by.
        recipe: its name.
        epsilon: the job's own.
        delta: of every run.
        runs: at each epsilon.
        rows: that the confidential table is assumed to have.
        parts: how many public rows played the confidential table, and how many its relative, about.
        drift: how far these two drifted apart.
        imagined: whether tables were made up from the schema, since there was no public one to split.
        points: what was found, epsilon rising.
    """

    key: str
    recipe: str
    epsilon: Fraction
    delta: Fraction
    runs: int
    rows: int
    parts: tuple[int, int]
    drift: float
    points: tuple[Point, ...]
    imagined: bool = False

    @property
    def uses(self) -> tuple[AbstractUse, ...]:
        """What was judged."""
        return tuple(v.use for v in self.points[0].verdicts)

    @property
    def smallest(self) -> Fraction | None:
        """The least epsilon tried at which, and above which, every tolerance is expected to be met; None: none."""
        return _least([p.epsilon for p in self.points], [p.expected_met for p in self.points])

    def smallest_for(self, use: int) -> Fraction | None:
        """The same for one use."""
        return _least(
            [p.epsilon for p in self.points], [p.verdicts[use].expected_met is not False for p in self.points]
        )

    def at(self, epsilon: Fraction) -> Point | None:
        """What was found at an epsilon; None when it was not tried."""
        return next((p for p in self.points if p.epsilon == epsilon), None)

    @property
    def here(self) -> Point:
        """What was found at the job's own epsilon."""
        found = self.at(self.epsilon)
        assert found is not None, "the job's own epsilon is always tried"
        return found

    def __repr__(self) -> str:
        least = "none that was tried" if self.smallest is None else f"{float(self.smallest):g}"
        runs = f"{len(self.points)} epsilons, {self.runs} runs each"
        return f"Rehearsal({self.recipe}: {runs}; smallest epsilon expected to meet all: {least})"

    def _repr_html_(self) -> str:
        head = ("mean error of", "tolerance", *(f"epsilon {float(p.epsilon):g}" for p in self.points))
        columns = [[v.shown for v in p.verdicts] for p in self.points]
        rows = [(use.name, columns[0][i][1], *(c[i][0] for c in columns)) for i, use in enumerate(self.uses)]
        return table_html(repr(self), head, rows)

    def to_json(self) -> dict[str, Any]:
        """The rehearsal as plain data."""
        least = self.smallest
        return {
            "format": FORMAT,
            "key": self.key,
            "recipe": self.recipe,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "runs": self.runs,
            "assumed_rows": self.rows,
            "parts": list(self.parts),
            "drift": self.drift,
            "imagined": self.imagined,
            "smallest_epsilon": None if least is None else float(least),
            "expected_to_be_met": self.here.expected_met,
            "points": [{"epsilon": str(p.epsilon), "uses": [v.to_json() for v in p.verdicts]} for p in self.points],
            "confidential_rows_read": 0,
            "cost": 0,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Rehearsal":
        """The rehearsal that ``to_json`` wrote down; ``ValueError`` or ``KeyError`` when it is none."""
        if data["format"] != FORMAT:
            raise ValueError(FORMAT)
        points = tuple(
            Point(fraction_of(p["epsilon"]), tuple(Verdict.from_json(u) for u in p["uses"])) for p in data["points"]
        )
        return cls(
            key=str(data["key"]),
            recipe=str(data["recipe"]),
            epsilon=fraction_of(data["epsilon"]),
            delta=fraction_of(data["delta"]),
            runs=int(data["runs"]),
            rows=int(data["assumed_rows"]),
            parts=(int(data["parts"][0]), int(data["parts"][1])),
            drift=float(data["drift"]),
            imagined=bool(data["imagined"]),
            points=points,
        )


def _least(epsilons: Sequence[Fraction], met: Sequence[bool]) -> Fraction | None:
    least = None
    for epsilon, good in zip(reversed(epsilons), reversed(met), strict=True):
        if not good:
            return least
        least = epsilon
    return least


def band(errors: Sequence[float]) -> tuple[float, float] | None:
    """Between the two lies the error of one more run with a chance of 8 in 10, below the second 9 in 10.

    Whatever the law of the errors: one more run is as likely to have any rank among n + 1, so it lies below the k-th
    smallest of n with chance k / (n + 1).  That takes nine runs at least; with fewer there is no band.

    >>> band([3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 6.0, 8.0, 7.0])
    (1.0, 9.0)
    """
    place = (len(errors) + 1) / 10
    if place < 1:
        return None
    low, high = np.interp([place, len(errors) + 1 - place], np.arange(1, len(errors) + 1), np.sort(errors))
    return float(low), float(high)


PATIENCE = 90.0
"""CPU seconds that a plan takes for its runs; then it makes no more, though one at least."""
Watch = Callable[[int, int, float], None]
"""Told how many runs are done, of how many, and about how many seconds are left."""
TIMES = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The epsilons that are tried by default, as multiples of the job's own."""
RUNS, HALVED, CLOSER = 9, 3, 2
"""Runs at each epsilon: the fewest that a band takes; how many of them are made on half of the rows besides; and how
many times the gap around the least epsilon is halved."""
FIRST, FIRST_TIMES = 4, (Fraction(1, 4), Fraction(1), Fraction(4))
"""Of a first look: how many of the runs it has, and at which multiples of the job's own epsilon."""
_WORST, _MOST_PARTS = 8, 20_000
_WORTH = 50  # rows of a part: with fewer, half of it tells nothing of how errors go with sizes
Run = tuple[tuple[UseError, ...], tuple[UseError, ...] | None]
"""An error per use: of the job on two parts of the public table, and on half of both where that was tried."""


def verdicts(stand_in: StandIn, runs: Sequence[Run], spreads: Sequence[float]) -> tuple[Verdict, ...]:
    """How each use fared over some runs at one epsilon; ``spreads`` are the errors of random halves."""
    more = 0.0 if stand_in.imagined else surplus(stand_in.rows, stand_in.table.rows, stand_in.sizes)
    found = []
    for i, spread in enumerate(spreads):
        here, both = [r[0][i] for r in runs], [(r[0][i].error, r[1][i].error) for r in runs if r[1] is not None]
        times = at_full_size([b[0] for b in both], [b[1] for b in both], more) if both else 1.0
        found.append(
            _verdict(stand_in, i, [replace(j, error=j.error * times, parts=j.parts * times) for j in here], spread)
        )
    return tuple(found)


def _verdict(stand_in: StandIn, i: int, runs: Sequence[UseError], spread: float) -> Verdict:
    use, errors = stand_in.uses[i], [j.error for j in runs]
    if not np.isfinite(errors).all():
        return Verdict(use, None, None, not_judged(use, " of the tables that were played"))
    mean, found = float(np.mean(errors)), band(errors)
    lost = [j.sign_kept is False for j in runs]
    return Verdict(
        use,
        mean,
        like_sample(mean, spread),
        _rests_on(stand_in, len(runs)),
        found[0] if found else None,
        found[1] if found else max(errors),
        None if runs[0].sign_kept is None else 10 * sum(lost) <= len(runs),
        _worst(stand_in, i, runs),
    )


_SEEN_ATTACHED = "; means by an attached column came out up to twice as far off where years were new"
_SEEN = {
    "public_blend": "; where time or place lay between, 27 of 127 real errors on real tables passed the band (by "
    "up to 6 times the forecast), one or more in every second job: 1.5 times its top held nine in ten"
}
"""What real errors were seen to do beside their forecasts (bench/forecast_strangers.csv, docs/rehearse.md)."""


def _rests_on(stand_in: StandIn, runs: int) -> str:
    """What a forecast rests on, and what it leaves out."""
    made = f"{runs} runs" if runs > 1 else "one run"
    few = "" if runs >= RUNS else f" ({RUNS} make a band: hedgerow rehearse)"
    if stand_in.imagined:
        return f"forecast from {made}{few} on tables made up from the schema: no public one has its columns"
    said = f"forecast from {made}{few} on two parts of the public table, "
    if stand_in.drift:
        where = ", the one that plays the confidential table moved to where the target lies" * stand_in.moves
        seen = _SEEN_ATTACHED if stand_in.recipe.attaches else _SEEN.get(stand_in.recipe.name, "")
        return said + f"drifted apart as past tables had from their relatives{where}{seen}"
    return said + "drawn at random: how far the confidential table has drifted away from it is left out"


def _worst(stand_in: StandIn, i: int, runs: Sequence[UseError]) -> tuple[tuple[str, float], ...]:
    """The cells or groups that are furthest off on average, worst first."""
    if not 1 < len(runs[0].parts) <= _MOST_PARTS:
        return ()
    judged = np.array([np.isfinite(j.parts) for j in runs]).all(axis=0)
    parts = np.where(judged, np.mean([np.nan_to_num(j.parts) for j in runs], axis=0), -1.0)
    places = np.argsort(-parts, kind="stable")[:_WORST]
    places = places[parts[places] > 0]
    named = stand_in.uses[i].labels(stand_in.public.schema, places)
    return tuple(zip(named, parts[places].tolist(), strict=True))


def quick(stand_in: StandIn, budget: Budget, runs: int, rng: np.random.Generator) -> tuple[Verdict, ...]:
    """The verdicts of runs at one epsilon, in this process: what a plan says, and a rehearsal with this generator.

    Fewer runs are made where they would take longer than ``PATIENCE``; every verdict says how many there were.
    """
    generators, other = _generators(runs, rng), rng.spawn(1)[0]
    found: list[Run] = []
    began = process_time()
    for r, halved in generators:
        found += _one(stand_in, [budget], r, halved)
        if (process_time() - began) * (1 + 1 / len(found)) > PATIENCE:
            break
    return verdicts(stand_in, found, half_sample_errors(stand_in, other))


def _generators(runs: int, rng: np.random.Generator) -> list[tuple[np.random.Generator, bool]]:
    """One for each run, and whether that is made on half of the rows too: one run in three, ``HALVED`` at most."""
    return [(r, i < min(HALVED, -(-runs // 3))) for i, r in enumerate(rng.spawn(runs))]


def _one(stand_in: StandIn, budgets: Sequence[Budget], rng: np.random.Generator, halved: bool) -> list[Run]:
    """One run with each budget and, if they are to be ``halved`` and there are enough rows, the same on half of them.

    With the recipe's public part worked out once for all budgets, several cost little more than one.
    """
    here = use_errors(stand_in, budgets, deepcopy(rng))
    if not halved or min(stand_in.sizes) < _WORTH:
        return [(errors, None) for errors in here]
    return list(zip(here, use_errors(stand_in, budgets, rng, halved=True), strict=True))


@final
@dataclass
class _Clock:
    """Counts runs and tells the watch how long the rest will take."""

    watch: Watch
    planned: int
    workers: int
    done: int = 0
    began: float = field(default_factory=monotonic)

    def tick(self, runs: int) -> None:
        self.done += runs
        pace = (monotonic() - self.began) / self.done
        self.watch(self.done, self.planned, pace * max(self.planned - self.done, 0))


def rehearse(
    stand_in: StandIn,
    *,
    budget: Budget,
    epsilons: Sequence[Fraction] = (),
    runs: int = RUNS,
    workers: int = 0,
    watch: Watch = lambda done, of, left: None,
    look: Callable[[Rehearsal], None] | None = None,
    rng: np.random.Generator,
) -> Rehearsal:
    """The errors of every use at ``epsilons`` and, around the least that meets all tolerances, some more.

    By default the job's epsilon times 1/8 to 4.  Each run has a split, noise and draws of its own, the same at every
    epsilon, so curves are smooth.  ``workers`` processes work at once: as many as there are cores when 0.  ``look``
    is given what is known so far: first a few epsilons and runs, which are part of the whole and cost nothing more.
    """
    tried = sorted({*(epsilons or (budget.epsilon * t for t in TIMES)), budget.epsilon})
    workers = worker_count(workers)
    generators, other = _generators(runs, rng), rng.spawn(1)[0]
    spreads = half_sample_errors(stand_in, other)
    clock = _Clock(watch, (len(tried) + CLOSER * (not epsilons)) * runs, workers)
    found: dict[Fraction, dict[int, Run]] = {}
    with worker_pool(min(workers, runs), stand_in) as perform:

        def attempt(wanted: Sequence[Fraction], turns: Sequence[int]) -> None:
            budgets = [budget_for(e, budget.delta, stand_in.recipe.accounting) for e in wanted]
            tasks = [(budgets, deepcopy(generators[k][0]), generators[k][1]) for k in turns]
            for place, made in perform(_one, tasks):
                for e, run in zip(wanted, made, strict=True):
                    found.setdefault(e, {})[turns[place]] = run
                clock.tick(len(made))

        def so_far() -> Rehearsal:
            least = min(len(made) for made in found.values())
            points = (
                Point(e, verdicts(stand_in, [found[e][k] for k in range(least)], spreads)) for e in sorted(found)
            )
            return Rehearsal(
                key="",
                recipe=stand_in.recipe.name,
                epsilon=budget.epsilon,
                delta=budget.delta,
                runs=least,
                rows=stand_in.rows,
                parts=stand_in.sizes,
                drift=stand_in.drift,
                imagined=stand_in.imagined,
                points=tuple(points),
            )

        every = range(runs)
        if look is not None and not epsilons and runs > FIRST:
            first = [budget.epsilon * t for t in FIRST_TIMES]
            attempt(first, every[:FIRST])
            look(so_far())
            attempt([e for e in tried if e not in first], every[:FIRST])
            attempt(tried, every[FIRST:])
            look(so_far())
        else:
            attempt(tried, every)
        for _ in range(0 if epsilons else CLOSER):
            if (between := _between(so_far().points)) is None:
                break
            attempt([between], every)
    return so_far()


def _between(points: Sequence[Point]) -> Fraction | None:
    """A round epsilon half way, on a logarithmic scale, between the last that misses and the least that meets."""
    missing = [i for i, p in enumerate(points) if not p.expected_met]
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


def surplus(rows: int, public: int, parts: tuple[int, int]) -> float:
    """The share of the sampling variance of two parts that tables of ``rows`` and ``public`` rows do not have.

    >>> surplus(1000, 1000, (500, 500)), round(surplus(100, 1000, (100, 900)), 3)
    (0.5, 0.01)
    """
    return 1 - (1 / rows + 1 / public) / (1 / parts[0] + 1 / parts[1])


def at_full_size(errors: Sequence[float], halved: Sequence[float], surplus: float) -> float:
    """By what the errors of runs are to be multiplied; ``halved`` are those of the same runs on half of the rows.

    Never more than 1, and never less than if all were sampling error: few runs must not carry the line too far.
    """
    here, less = float(np.mean(errors)), float(np.mean(halved))
    if not (np.isfinite(less) and here > 0):
        return 1.0
    sampled = min(max((less / here) ** 2 - 1, 0.0), 1.0)
    return float(np.sqrt(1 - surplus * sampled))
