"""``Job``: one thing to publish, from a file or from Python, and all that can be done with it."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.answers import quiet
from hedgerow.errors import NOTHING, HedgerowError, JobError
from hedgerow.job import file
from hedgerow.job.values import JobValues
from hedgerow.public import Budget

if TYPE_CHECKING:
    from hedgerow.api.release import Release
    from hedgerow.pipeline import PreparedJob
    from hedgerow.planning import Plan
    from hedgerow.stand_in import Rehearsal
    from hedgerow.steward.compare import ClassificationRates, Exact
    from hedgerow.steward.exact import ExactUse
    from hedgerow.steward.inside import InsideOnly

Watch = Callable[[str], None]


def _warn(prepared: "PreparedJob", plan: "Plan") -> bool:
    """Say what a plan warns of, before anything is booked, and go on."""
    from hedgerow.planning import PlanWarning

    for said in plan.warnings:
        warnings.warn(said, PlanWarning, stacklevel=4)
    return True


@final
class Job(JobValues):
    """What to publish, from what, under which promise, and for which uses.

    For example::

        import hedgerow as hr
        job = hr.Job(
            confidential=hr.Confidential(frame, name="personnel", unit=hr.Person("id", rows=4)),
            public=hr.Public(last_year, provenance="released in 2023"),
            target=None,                                  # or hr.Target(frame): rows that receive private columns
            schema=hr.Schema.draft(last_year),
            budget=hr.Budget(epsilon=1.0),
            recipe=hr.recipes.PublicBlend(),              # or its name, or nothing: the best for what the job has
            uses=[hr.uses.Mean("pay", by=["sex"], relative=0.03)],
            ledger="ledger.db", seed=7)
        job.plan()                                        # what it costs, asks and gives; reads nothing confidential
        job.rehearse()                                    # the error of each use against epsilon; costs nothing
        release = job.run("release/")                     # books, measures, publishes

    A job is plain frozen values: ``dataclasses.replace(job, budget=hr.Budget(2))`` is another one, and a job read
    from a file equals the one with the same values made in Python.  Tables are paths or frames.  A mistake in a type
    or a name is refused when the job is made, before anything is read or booked.
    """

    @classmethod
    def load(cls, path: str | Path) -> "Job":
        """The job in a TOML file; every mistake in it is named at once, with its line."""
        given, text, place = file.read(path)
        job = cls(**given)
        object.__setattr__(job, "text", text)
        object.__setattr__(job, "path", place)
        return job

    def save(self, path: str | Path) -> Path:
        """Write the job as a TOML file, and its schema beside it; ``Job.load`` gives an equal job back.

        A frame in memory has no place in a file: write it to one first.
        """
        return file.save(self, path)

    def prepare(self) -> "PreparedJob":
        """The job with everything public read and checked: cheap, books nothing, reads no confidential row."""
        from hedgerow.pipeline import PreparedJob

        return PreparedJob(self)

    def plan(self, *, out: str | Path | None = None, watch: Watch = quiet) -> "Plan":
        """What the job will cost, ask and give, forecast on the public table. Reads no confidential row.

        A run of an equal job afterwards takes its forecast from here; ``out`` is a folder that keeps it for another
        process, which looks in the one where a rehearsal is kept.
        """
        from hedgerow.pipeline import plan

        return plan(self.prepare(), out=None if out is None else Path(out), watch=watch)

    def rehearse(
        self,
        *,
        epsilons: Sequence[Fraction | float | str] = (),
        runs: int = 9,
        workers: int = 0,
        out: str | Path | None = None,
        watch: Callable[[int, int, float], None] = lambda done, of, left: None,
    ) -> "Rehearsal":
        """The whole job with its public table in the confidential one's place, at several epsilons. Costs nothing.

        All that it says is a forecast.  A band that holds 8 runs in 10 takes nine runs at each epsilon.
        A run of an equal job afterwards takes its forecast from here.  ``out`` is a folder for the page and the
        numbers; ``workers`` processes work at once, one for each core when 0; ``watch`` is told how many runs are
        done, of how many, and the seconds left.
        """
        from hedgerow.pipeline import rehearse

        try:
            tried = tuple(Budget(e, self.budget.delta).epsilon for e in epsilons)
        except TypeError:
            raise JobError(
                f"epsilons is {epsilons!r}: write a list of numbers, such as [0.5, 1, 2]. {NOTHING}"
            ) from None
        if not isinstance(runs, int) or runs < 2:
            raise JobError(f"runs is {runs!r}: it must be a whole number of 2 or more. {NOTHING}")
        return rehearse(self.prepare(), epsilons=tried, runs=runs, workers=workers, out=out, watch=watch)

    def run(
        self,
        folder: str | Path | None = None,
        *,
        resume: bool = False,
        forecast: bool = True,
        confirm: "Callable[[PreparedJob, Plan], bool] | None" = None,
        watch: Watch = quiet,
    ) -> "Release":
        """Carry the job out: book, measure, save, publish. The release stands in ``folder``, or in the job's own.

        Noisy answers are on disk before anything is done with them: after a crash ``resume=True`` goes on from there
        at no cost.  ``forecast=False`` leaves out the forecast of uses that were not rehearsed.  ``confirm`` is shown
        the prepared job and its plan before anything is booked; without it whatever the plan warns of (every use that
        is expected to be missed) is a ``PlanWarning`` then.  ``watch`` is told each phase.
        """
        from hedgerow.api.release import Release
        from hedgerow.pipeline import run

        if not isinstance(folder, str | Path | None):
            raise JobError(
                f"run takes the folder of the release, as in job.run('release/'); got {folder!r}. {NOTHING}"
            )
        with suppress(MemoryError):
            place = run(self, folder, resume=resume, forecast=forecast, confirm=confirm or _warn, watch=watch)
            return Release(place, job=self)
        raise HedgerowError(  # by itself: a library's own error says how large the array was, as the rows may tell
            "Memory ran out. Take fewer columns or bins, or a machine with more: a plan that needs more than\n"
            "there is passes only where memory_gb says so. If a run had begun, what it was answered is saved:\n"
            "go on at no cost with --resume (in Python: job.run(..., resume=True))."
        )

    def steward_report(
        self, *, release: str | Path | None = None, out: str | Path | None = None, seed: int = 0
    ) -> "tuple[Path, InsideOnly[tuple[ExactUse, ...]]]":
        """How each intended use came out, exactly: a page, and the figures. INSIDE ONLY: no noise protects it."""
        from hedgerow.steward.exact import write_report

        rng = np.random.default_rng(seed)
        return write_report(self, release=Path(release) if release else None, out=Path(out) if out else None, rng=rng)

    def steward_compare(
        self,
        *,
        release: str | Path | None = None,
        beside: str | Path | None = None,
        out: str | Path | None = None,
        seed: int = 0,
        watch: Watch = quiet,
        **options: Any,
    ) -> "tuple[Path, InsideOnly[Exact]]":
        """The release against the confidential table, every metric, exactly: a page, and the figures. INSIDE ONLY.

        ``beside`` is another release, whose panels stand beside the first one's.  ``options`` are those of
        ``Release.compare``.
        """
        from hedgerow.evaluate.compare import metrics_from
        from hedgerow.steward.compare import attached_columns, compare_job, write_exact
        from hedgerow.steward.exact import release_of
        from hedgerow.steward.inside import SUFFIX, inside_folder

        metrics, place = metrics_from(**{"private": attached_columns(self), **options}), release_of(self, release)
        folder = inside_folder(Path(out) if out else place.with_name(place.name + SUFFIX), (place,))
        rng = np.random.default_rng(seed)
        found = compare_job(self, release=release, beside=beside, metrics=metrics, rng=rng, watch=watch)
        return write_exact(folder, found), found

    def steward_rates(
        self, *, release: str | Path | None = None, leaf_min: int = 1
    ) -> "InsideOnly[ClassificationRates]":
        """How often an attached value is the true one, how many rows match, what has no label. INSIDE ONLY.

        ``leaf_min`` is the number of public rows below which a leaf is small, as in RDT-2018.
        """
        from hedgerow.planning import small_leaves
        from hedgerow.steward.compare import rates_of_job

        prepared = self.prepare()
        leaves = small_leaves(prepared.outline.asked, prepared.public, leaf_min)
        return rates_of_job(self, release, leaves)

    def __repr__(self) -> str:
        target = ", attached to given rows" if self.target else ""
        return (
            f"Job({self.table!r}: {self.stated_recipe}{target}, epsilon {float(self.budget.epsilon):g} for one "
            f"{self.guarantee.unit}, {len(self.uses)} use{'s' * (len(self.uses) != 1)})"
        )


def told_rates(job: Job, *, leaf_min: int = 1) -> str:
    """What ``hedgerow steward rates --json`` prints: for tables that are nobody's, such as simulated ones."""
    from hedgerow.steward.compare import rates_text

    return rates_text(job.steward_rates(leaf_min=leaf_min), as_json=True)
