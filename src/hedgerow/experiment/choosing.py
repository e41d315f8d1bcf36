"""Choosing settings on the confidential table itself: private selection with random stopping, paid for.

The grid's cells are the settings; a run is one of them, drawn at random, with its own budget, and a noisy score of
how close its counts come to the confidential ones in the grid's tables.  Only the best run leaves.  An experiment on
the public table costs nothing and comes first; this is for when the two tables may not be alike.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any, final

import numpy as np

from hedgerow.errors import JobError
from hedgerow.experiment.grid import Grid
from hedgerow.job import Job
from hedgerow.ledger.account import RunAccount
from hedgerow.pipeline import Road, draw_copies
from hedgerow.private.gate import Gate
from hedgerow.private.selection import Chosen, choose_run
from hedgerow.public.accounting import Budget
from hedgerow.public.files import open_source
from hedgerow.public.question import Counts, Marginal
from hedgerow.public.spend import Tariff
from hedgerow.public.stopping import Choice, Stopping
from hedgerow.recipes.replay import Answered, Recorded
from hedgerow.release import measurements
from hedgerow.release.journal import flatten

_NOTHING = "No confidential row was read and nothing was spent."
_VARIED = ("job.recipe",)


@final
@dataclass(frozen=True, eq=False)
class Choosing:
    """A choice among the cells of a grid on the confidential table, checked, not yet made.

    Attributes:
        grid: the settings.
        budget: what the choice may cost in all.
        stopping: the law of the number of runs.
    """

    grid: Grid
    budget: Budget
    stopping: Stopping

    def __post_init__(self) -> None:
        recipes = {self.job.recipe.name, *(Job.loads(t, self.grid.job_path).recipe.name for t in self.texts)}
        fixed = [f.name for f in self.grid.factors if f.set not in _VARIED and f.set.split(".")[0] not in recipes]
        if fixed:
            raise JobError(
                f"A choice on the confidential table varies settings of recipes only; {', '.join(fixed)} is none.\n"
                f"What each run may cost follows from --epsilon. Take it out of the grid. {_NOTHING}"
            )
        if not self.tables:
            raise JobError(
                "Runs are judged by tables of counts, whose sensitivity is known; the grid measures none.\n"
                f"Add [[measure]] name = '...', columns = ['sex', 'race']. {_NOTHING}"
            )
        if self.budget.measure != "pure":
            raise JobError(f"A choice with random stopping is priced in pure epsilon: no delta. {_NOTHING}")
        self.road.schema.shape([c for t in self.tables for c in t.columns])

    @cached_property
    def job(self) -> Job:
        """The job whose settings are chosen."""
        return Job.loads(self.grid.job, self.grid.job_path)

    @cached_property
    def road(self) -> Road:
        """The job with its public tables."""
        return Road(self.job)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The job file of every setting."""
        return tuple(self.grid.job_text(cell) for cell in self.grid.design.cells)

    @property
    def tables(self) -> tuple[Marginal, ...]:
        """By what runs are judged."""
        return tuple(Marginal(m.columns) for m in self.grid.file.measure if m.columns)

    @cached_property
    def choice(self) -> Choice:
        """The request as plain data."""
        return Choice(tuple(self._name(i) for i in range(len(self.texts))), self.tables, self.stopping)

    def levels(self, which: int) -> dict[str, str]:
        """The levels of one setting."""
        cell = self.grid.design.cells[which]
        return {f.name: f.label(at) for f, at in zip(self.grid.factors, cell, strict=True)}

    def _name(self, which: int) -> str:
        return "(" + ", ".join(f"{k} = {v}" for k, v in self.levels(which).items()) + ")"


def prepare(path: str | Path, *, epsilon: str, stopping: Stopping) -> Choosing:
    """A choice among the cells of the grid in ``path``. Reads no confidential row and costs nothing."""
    return Choosing(Grid.load(path), Budget(epsilon), stopping)


def carry_out(choosing: Choosing, folder: Path) -> dict[str, Any]:
    """Book the choice, make it, and write the best run: its noisy answers first, then records drawn from them."""
    if folder.exists():
        raise JobError(f"{folder} exists already. Choose another place with --out. {_NOTHING}")
    road, job, total = choosing.road, choosing.job, choosing.budget.total
    jobs = [Job.loads(t, choosing.grid.job_path) for t in choosing.texts]
    if any(j.guarantee != job.guarantee for j in jobs):
        raise JobError(f"Every setting must promise the same: name unit and relation in [confidential]. {_NOTHING}")
    recipes = [j.recipe for j in jobs]
    public, choice = road.public, choosing.choice
    tariff = Tariff(road.schema.coding, road.guarantee, "pure")
    source, run = open_source(job.beside(job.file.confidential.table)), uuid.uuid4().hex[:16]

    def trial(which: int, gate: Gate) -> tuple[Mapping[Marginal, Counts], list[Answered]]:
        recorded = Recorded(gate.tariff, gate.budget, [], live=gate)
        fitted = recipes[which].fit(recorded, public)
        return {q: np.rint(fitted.expected(q)).astype(np.int64) for q in choice.tables}, recorded.record

    gate = Gate(source, tariff, choosing.budget, RunAccount(road.ledger(), table=job.table, run=run))
    chosen = choose_run(gate, choice, trial, total)
    facts = _facts(choosing, chosen, run)
    folder.mkdir(parents=True)
    if chosen.made is not None:
        measurements.save(folder / "measurements.parquet", flatten(chosen.made))
    (folder / "choice.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    if chosen.made is None:
        raise JobError(
            "The best run failed: the recipe could not use its noisy answers. The choice has been paid for."
        )
    (folder / "job.toml").write_text(choosing.texts[chosen.candidate], "utf-8")
    again = Recorded(tariff, Budget(str(choice.each(total)[0])), chosen.made)
    drawn = draw_copies(recipes[chosen.candidate].fit(again, public), public, copies=1, seed=job.file.job.seed)
    for name, frames in (("records", drawn.records), ("counts", drawn.counts)):
        for frame in frames:
            frame.write_parquet(folder / f"{name}.parquet")
    return facts


def _facts(choosing: Choosing, chosen: Chosen, run: str) -> dict[str, Any]:
    total, stopping = choosing.budget.total, choosing.stopping
    for_answers, for_score = choosing.choice.each(total)
    spend = choosing.choice.price(choosing.road.guarantee, total)
    return {
        "chosen": choosing.levels(chosen.candidate),
        "noisy_distance": -chosen.score if chosen.made is not None else None,
        "noise_on_distance": {"law": "laplace", "scale": str(spend.asked[0].noise.scale)},
        "tables": [str(t) for t in choosing.tables],
        "settings": len(choosing.texts),
        "epsilon": float(total),
        "guarantee": json.loads(json.dumps(asdict(choosing.road.guarantee))),
        "epsilon_of_one_run": {"answers": float(for_answers), "score": float(for_score)},
        "stopping": {"law": stopping.law, "gamma": str(stopping.gamma), "expected_runs": expected_runs(stopping)},
        "ledger": {"table": choosing.job.table, "run": run},
    }


def expected_runs(stopping: Stopping) -> float:
    """The mean number of runs.

    >>> round(expected_runs(Stopping("logarithmic", Fraction(1, 50))), 1)
    12.5
    """
    g = float(stopping.gamma)
    return (1 - g) / (g * log(1 / g)) if stopping.law == "logarithmic" else 1 / g


def gamma_for(runs: float, law: str) -> Fraction:
    """The gamma with about so many runs in the mean, as a fraction of small numbers.

    >>> gamma_for(10, "geometric")
    Fraction(1, 10)
    """
    if not 1 < runs <= 1000:
        raise JobError(f"The mean number of runs must be above 1 and at most 1,000; got {runs:g}. {_NOTHING}")
    if law == "geometric":
        return Fraction(1 / runs).limit_denominator(10_000)
    low, high = 1e-4, 1 - 1e-6
    for _ in range(60):
        middle = (low * high) ** 0.5
        more = (1 - middle) / (middle * log(1 / middle)) > runs
        low, high = (middle, high) if more else (low, middle)
    return max(Fraction(high).limit_denominator(10_000), Fraction(1, 10_000))


def all_runs_agree(stopping: Stopping, x: float) -> float:
    """The chance that all runs give what one run gives with chance ``x``: the law's generating function.

    With it the cost of a small example is worked out exactly: see ``docs/experiment.md``, "is it n x epsilon?".
    """
    g = float(stopping.gamma)
    return log(1 - (1 - g) * x) / log(g) if stopping.law == "logarithmic" else g * x / (1 - (1 - g) * x)
