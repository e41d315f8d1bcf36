"""Choosing settings on the confidential table itself: private selection with random stopping, paid for.

The grid's cells are the settings; a run is one of them, drawn at random, with its own budget, and a noisy score of
how close its counts come to the confidential ones in the grid's tables.  Only the best run leaves.  An experiment on
the public table costs nothing and comes first; this is for when the two tables may not be alike.
"""

import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from math import log
from pathlib import Path
from typing import Any, final

import numpy as np

from hedgerow import __version__
from hedgerow.answers import RecordedAnswers, Reply
from hedgerow.errors import NOTHING, HedgerowError, JobError, LedgerError
from hedgerow.experiment.design import Cell
from hedgerow.experiment.grid import Grid
from hedgerow.job import JobValues, only_rows, values_of
from hedgerow.model.base import Fitted
from hedgerow.pipeline import Copies, PreparedJob, draw_copies
from hedgerow.private.selection import Chosen, choose_run
from hedgerow.public import (
    Budget,
    Choice,
    Counts,
    Marginal,
    Spend,
    Stopping,
    Tariff,
    document,
    write_table,
)
from hedgerow.release import measurements
from hedgerow.release.bundle import complete, put_in_place
from hedgerow.release.choice import NAME, PAGE, Candidate, ChoiceStatement, page, software
from hedgerow.release.contents import without_passwords
from hedgerow.release.measurements import flatten
from hedgerow.run_gate import Gate, Journal, RunAccount, account_of, open_table, opened, recording
from hedgerow.stand_in import Parts, fit_once, lacking

_VARIED = ("job.recipe",)
_BEST = "best"  # what the files of the best run's answers are called in the work folder


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
        only_rows(self.job, "A choice among settings")
        if not self.tables:
            raise JobError(
                "Runs are judged by tables of counts, whose sensitivity is known; the grid measures none.\n"
                f"Add [[measure]] name = '...', columns = ['sex', 'race']. {NOTHING}"
            )
        if self.budget.measure != "pure":
            raise JobError(f"A choice with random stopping is priced in pure epsilon: no delta. {NOTHING}")
        recipes = {self.job.recipe.name, *(j.recipe.name for j in self.jobs)}
        fixed = [f.name for f in self.grid.factors if f.set not in _VARIED and f.set.split(".")[0] not in recipes]
        if fixed:
            raise JobError(
                f"A choice on the confidential table varies settings of recipes only; {', '.join(fixed)} is none.\n"
                "What each run may cost follows from --epsilon (in Python: epsilon=). Take it out of the grid.\n"
                f"{NOTHING}"
            )
        if any(j.guarantee != self.job.guarantee for j in self.jobs):
            raise JobError(
                f"Every setting must promise the same: name unit and relation in [confidential]. {NOTHING}"
            )
        self.road.schema.shape([c for t in self.tables for c in t.columns])
        try_settings(self)

    @cached_property
    def job(self) -> JobValues:
        """The job whose settings are chosen."""
        return self.grid.job_of()

    @cached_property
    def road(self) -> PreparedJob:
        """The job with its public tables."""
        return PreparedJob(self.job)

    @cached_property
    def jobs(self) -> tuple[JobValues, ...]:
        """The job of every setting, with the budget of one run's answers."""
        path = self.grid.job_path
        return tuple(JobValues(**values_of(self.tables_of(cell), path)) for cell in self.grid.design.cells)

    def tables_of(self, cell: Cell) -> dict[str, Any]:
        """The job file of a setting, as tables."""
        epsilon = self.of_run.epsilon
        exact = Fraction(str(float(epsilon))) == epsilon
        made = {**self.grid.job_tables(cell), "budget": {"epsilon": float(epsilon) if exact else str(epsilon)}}
        if settled := self.job.confidential.public_columns:  # by the target, which a reader may not have
            made["confidential"] = {"public_columns": list(settled)} | made["confidential"]
        return made

    @property
    def of_run(self) -> Budget:
        """What one run may spend on its answers."""
        return Budget(self.choice.each(self.budget.total)[0])

    @property
    def tables(self) -> tuple[Marginal, ...]:
        """By what runs are judged."""
        return tuple(Marginal(m.columns) for m in self.grid.file.measure if m.columns)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """What is chosen among."""
        return tuple(
            Candidate(
                {f.name: f.label(at) for f, at in zip(self.grid.factors, cell, strict=True)},
                json.loads(json.dumps(self.grid.settings(cell), default=str)),
            )
            for cell in self.grid.design.cells
        )

    @cached_property
    def choice(self) -> Choice:
        """The request as plain data."""
        return Choice(tuple(c.name for c in self.candidates), self.tables, self.stopping)

    @property
    def tariff(self) -> Tariff:
        """How requests are priced."""
        return Tariff(self.road.schema.coding, self.road.guarantee, "pure")


def try_settings(choosing: "Choosing") -> None:
    """Refuse a setting that no run could use, while nothing is paid: price all, and play each recipe in public."""
    road, played = choosing.road, set[str]()
    for candidate, job in zip(choosing.candidates, choosing.jobs, strict=True):
        try:
            asked = job.recipe.requests(choosing.tariff, choosing.of_run, road.public)
            if any(s.verb == "draw" for s in asked):
                raise JobError("it draws from urns, and a draw is its own price: it has no part in a choice")
            relative = road.public.relative
            if job.recipe.name not in played and relative is not None and not lacking(relative):
                rng = np.random.Generator(np.random.PCG64(0))
                parts = Parts(relative, road.public, relative)
                fitted = fit_once(job.recipe, parts, tariff=choosing.tariff, budget=choosing.of_run, rng=rng)
                _estimates(fitted, choosing.tables)
            played.add(job.recipe.name)
        except HedgerowError as wrong:
            said = " ".join(str(wrong).removesuffix(NOTHING).split()).rstrip(".")
            raise JobError(f"The setting {candidate.name} cannot be run: {said}.\nTake it out. {NOTHING}") from None


def _estimates(fitted: Fitted, tables: tuple[Marginal, ...]) -> dict[Marginal, Counts]:
    """What a run expects of the tables by which it is judged."""
    return {q: np.rint(fitted.expected(q)).astype(np.int64) for q in tables}


def prepare(path: str | Path, *, epsilon: str, stopping: Stopping) -> Choosing:
    """A choice among the cells of the grid in ``path``. Reads no confidential row and costs nothing."""
    return Choosing(Grid.load(path), Budget(epsilon), stopping)


def carry_out(choosing: Choosing, folder: Path) -> ChoiceStatement:
    """Book the choice, make it, and write the best run: its noisy answers first, then records drawn from them.

    The same choice that was cut short there goes on, and pays nothing twice.
    """
    if folder.exists():
        raise JobError(f"{folder} exists already. Choose another place with --out (in Python: folder). {NOTHING}")
    road, job, journal = choosing.road, choosing.job, Journal.beside(folder)
    recipes, choice = [j.recipe for j in choosing.jobs], choosing.choice
    source = open_table(job)
    settings = [(c.levels, j.stated_recipe) for c, j in zip(choosing.candidates, choosing.jobs, strict=True)]
    facts = (road.digest, choosing.budget, choosing.stopping, choosing.tables, settings)
    digest = sha256(repr(facts).encode()).hexdigest()
    with journal.held("the same command"):
        run = journal.resume(digest) if journal.exists else uuid.uuid4().hex[:16]
        account = account_of(road.ledger(), job, run, journal, keep=partial(_save, journal))

        def trial(which: int, gate: Gate) -> tuple[Mapping[Marginal, Counts], list[Reply]]:
            recorded = recording(gate, [], job.table, run)
            return _estimates(recipes[which].fit(recorded, road.public), choice.tables), recorded.record

        try:
            tariff, budget = choosing.tariff, choosing.budget
            gate, _ = opened(source, tariff, budget, account, journal=journal, run=run, digest=digest)
            known = _saved(journal, account, choice.price(road.guarantee, budget.total))
            chosen = known or choose_run(gate, choice, trial, budget.total)
        except LedgerError as lost:
            raise LedgerError(
                f"{lost}\n{account.standing()}\nOnce it can be used, the same command goes on."
            ) from lost
        made = _publish(choosing, folder, journal.bundle, run, account.anchor(), chosen)
        journal.finish()
    if chosen.made is None:
        raise JobError(
            "The best run failed: the recipe could not use its noisy answers. The choice has been paid for."
        )
    return made


def _save(journal: Journal, spend: Spend, best: Chosen) -> str:
    """Put the best run on disk: its noisy answers, then what was chosen and how it scored."""
    journal.forget(f"{_BEST}-*")  # of a drawing that was cut short here: nobody has seen it
    answers = [journal.keep(i, reply, _BEST) for i, reply in enumerate(best.made or ())]
    made = None if best.made is None else answers
    return journal.note("choice.json", {"candidate": best.candidate, "score": best.score, "answers": made})


def _saved(journal: Journal, account: RunAccount, spend: Spend) -> Chosen | None:
    """The best run of a choice that was cut short after it was made; it is marked if it was not."""
    if (found := journal.noted("choice.json")) is None:
        return None
    facts, saved = found
    kept = journal.answers(_BEST, len(facts["answers"] or ()))
    if facts["answers"] not in (None, [sha for _, sha in kept]):
        raise JobError(f"The answers kept in {journal.folder} are damaged. Put back a copy of that folder. {NOTHING}")
    account.mark(spend, saved)
    made = None if facts["answers"] is None else [reply for reply, _ in kept]
    return Chosen(facts["candidate"], facts["score"], made)


def _publish(choosing: Choosing, folder: Path, draft: Path, run: str, anchor: str, chosen: Chosen) -> ChoiceStatement:
    """Write the folder of a choice that was made and paid for."""
    road, job, recipes = choosing.road, choosing.job, [j.recipe for j in choosing.jobs]
    best = RecordedAnswers(choosing.tariff, choosing.of_run, chosen.made or [], table=job.table, run=run)
    made = ChoiceStatement(
        choosing.budget.total,
        choosing.stopping,
        choosing.tables,
        choosing.candidates,
        chosen.candidate,
        None if chosen.made is None else chosen.score,
        best.statement(
            public_inputs=road.inputs,
            recipe=recipes[chosen.candidate].stated,
            anchor=anchor,
            version=__version__,
        ),
        software(),
    )
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    if chosen.made is not None:
        measurements.save(draft / "measurements.parquet", flatten(chosen.made))
    (draft / NAME).write_text(made.dumps(), "utf-8")
    if chosen.made is not None:
        drawn = draw_copies(recipes[chosen.candidate].fit(best, road.public), road.public, copies=1, seed=job.seed)
        _fill(draft, choosing, made, drawn)
    put_in_place(draft, folder)
    return made


def _fill(folder: Path, choosing: Choosing, made: ChoiceStatement, drawn: Copies[Any]) -> None:
    """Everything beside the answers."""
    said = (
        f"# Best of {len(made.candidates)} settings; the choice cost epsilon {float(made.epsilon):g}: see {NAME}.\n"
        "# The budget is that of this run's answers, a part of it. To run this job again costs its budget anew;\n"
        "# its paths start from the folder of the job that the grid names.\n"
    )
    for name, frames in (("records", drawn.records), ("counts", drawn.counts)):
        for frame in frames:
            write_table(frame, folder / f"{name}.parquet", choosing.road.schema)
    texts = {
        "job.toml": said + without_passwords(document(choosing.tables_of(choosing.grid.design.cells[made.chosen]))),
        "schema.toml": choosing.road.schema.dumps(),
        PAGE: page(made),
    }
    complete(folder, texts)


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
        raise JobError(f"The mean number of runs must be above 1 and at most 1,000; got {runs:g}. {NOTHING}")
    if law == "geometric":
        return Fraction(1 / runs).limit_denominator(10_000)
    low, high = 1e-4, 1 - 1e-6
    for _ in range(60):
        middle = (low * high) ** 0.5
        more = (1 - middle) / (middle * log(1 / middle)) > runs
        low, high = (middle, high) if more else (low, middle)
    return max(Fraction(high).limit_denominator(10_000), Fraction(1, 10_000))
