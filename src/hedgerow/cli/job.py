"""``hedgerow plan``, ``rehearse`` and ``run``: the verbs of a job."""

import json
import shlex
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import NOTHING, JobError

if TYPE_CHECKING:
    from hedgerow.pipeline import PreparedJob
    from hedgerow.planning import Plan
    from hedgerow.stand_in import Rehearsal
    from hedgerow.uses import Verdict

_PLAYED = "Nothing confidential was read and nothing was spent."


def plan(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    as_json: Annotated[bool, typer.Option("--json", help="The plan as JSON on stdout.")] = False,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", help="Of a table of counts: error against epsilon.", metavar="FILE.svg|FILE.png"),
    ] = None,
) -> None:
    """Say what a job will cost, ask and give; no confidential row is read. Exit 5: a use is expected to be missed."""
    from hedgerow.api.job import Job
    from hedgerow.release.rehearsal_folder import rehearsal_folder, saved_forecast

    with show.progress() as watch:
        watch("reading the schema and the public tables")
        loaded = Job.load(job)
        place = rehearsal_folder(loaded.out)
        prepared, found = loaded.prepare(), loaded.plan(out=place, watch=watch)
    if as_json:
        left = prepared.left()
        cap = left and {
            "epsilon_left": float(left[0]),
            "epsilon_left_after": float(left[1]),
            "admitted": left[1] >= 0,
        }
        show.echo(json.dumps({**found.to_json(), "ledger": prepared.books, "cap": cap}, indent=2))
    else:
        kept = [f"The forecast is kept in {place}: a run of this job takes it from there."]
        kept *= bool(saved_forecast(place, prepared.forecast_key))
        show.echo("\n".join([*show.ledger_lines(prepared), show.plan_text(found), *kept]))
    if figure is not None:
        _draw(found, figure)
    if found.missed or found.noise_exceeds:
        raise typer.Exit(5)


def _draw(plan: "Plan", path: Path) -> None:
    """Expected error against epsilon for each recipe, in a file of the format its name says."""
    import numpy as np

    from hedgerow.figures import check_sheet
    from hedgerow.planning import draw_errors

    if plan.imagined is None:
        raise JobError(
            "--figure draws the error of a table of counts against epsilon: the job must use one of the recipes for\n"
            f"tables, and name a public table, or assumed_rows in [confidential]. {NOTHING}"
        )
    try:
        check_sheet(path, NOTHING)
        draw_errors(path, plan.imagined, plan.budget, np.random.default_rng(0))
    except OSError as cause:
        raise JobError(f"Cannot write {path}: {cause.strerror or cause}. {NOTHING}") from cause
    show.echo(f"Drawn: {path}.", err=True)


def rehearse(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    epsilons: Annotated[
        str, typer.Option("--epsilons", help="Which to try, as in 0.5,1,2; by default 1/8 to 4 times the job's.")
    ] = "",
    runs: Annotated[int, typer.Option("--runs", min=2, max=1000, help="Runs at each epsilon; a band takes 9.")] = 9,
    workers: Annotated[int, typer.Option("--workers", min=0, help="Processes; 0: one for each core.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; RELEASE-rehearsal by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The rehearsal as JSON on stdout.")] = False,
) -> None:
    """Play a job on its public table (or made-up ones), cost zero. Exit 5 when a use is expected to be missed."""
    from hedgerow.api.job import Job
    from hedgerow.release.rehearsal_folder import rehearsal_folder

    tried = _numbers(epsilons)
    with show.progress() as watch:
        watch("reading the schema and the public table")

        def seen(done: int, of: int, left: float) -> None:
            watch.step(f"{done} of {of} runs, about {_span(left)} left")

        loaded = Job.load(job)
        outside = loaded.prepare().outline.outside
        place = out or rehearsal_folder(loaded.out)
        watch("playing the job, which costs nothing")
        found = loaded.rehearse(epsilons=tried, runs=runs, workers=workers, out=place, watch=seen)
    show.echo(
        json.dumps(found.to_json(), indent=2)
        if as_json
        else f"{_rehearsal_text(found, outside)}\n\ndrawn in {place / 'rehearsal.html'}"
    )
    if not found.here.expected_met:
        raise typer.Exit(5)


def _numbers(text: str) -> tuple[Fraction, ...]:
    try:
        found = tuple(Fraction(part.strip()) for part in text.split(",")) if text else ()
        if any(not 0 < e <= 10**6 for e in found):
            raise ValueError(text)
    except (ValueError, ZeroDivisionError):
        raise JobError(
            f"--epsilons is {text}: write numbers above 0 with commas between, as in 0.5,1,2. {_PLAYED}"
        ) from None
    return found


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _rehearsal_text(found: "Rehearsal", outside: Sequence[str]) -> str:
    """The rehearsal for people: rows outside the schema, the uses, errors by epsilon, what to choose."""
    from textwrap import wrap

    from hedgerow.release.rehearsal_folder import played_words
    from hedgerow.release.words import use_rows

    here, least = found.here, found.smallest
    played = f"{found.recipe}, {found.runs} runs at each of {len(found.points)} epsilons. {played_words(found)}"
    lines = [
        *wrap(played, 110, initial_indent="rehearsed  ", subsequent_indent=" " * 11),
        *(f"outside    {line}" for line in outside),
        "",
        *show.use_lines(use_rows(here.verdicts)),
        "",
        *show.aligned(
            ("mean error by epsilon", *(f"{float(p.epsilon):.3g} " for p in found.points)),
            [(use.name, *(_shown(p.verdicts[i]) for p in found.points)) for i, use in enumerate(found.uses)],
        ),
    ]
    few = any(v.has_few_runs for v in here.verdicts)
    enough = f"within the tolerance in all {found.runs} runs, too few to expect it of one more"
    meets = f"had all {found.runs} runs within" if few else "is expected to meet"
    lines += [f"* {enough if few else 'expected to be within the tolerance, in nine runs of ten'}", ""]
    if least is None:
        worst = ", ".join(u.name for i, u in enumerate(found.uses) if found.smallest_for(i) is None)
        most = float(found.points[-1].epsilon)
        lines.append(f"smallest   none: no epsilon up to {most:g} {meets} the tolerance of {worst}.")
        lines.append(
            "           Where an error no longer falls, the recipe is the limit and not the noise: choose another."
        )
    else:
        lines.append(f"smallest   epsilon {float(least):g} {meets} every tolerance")
    return "\n".join([*lines, "", _PLAYED])


def _shown(verdict: "Verdict") -> str:
    """An error in the terms of its use, starred where that is expected to be met."""
    return f"{verdict.shown[0]}{' *'[verdict.expected_met is True]}"


def run(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    out: Annotated[str | None, typer.Option("--out", help="The folder of the release.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after a crash, at no cost.")] = False,
    no_forecast: Annotated[
        bool, typer.Option("--no-forecast", help="Do not forecast uses that were not rehearsed: faster.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Carry a job out and write its release."""
    from hedgerow.api.job import Job
    from hedgerow.pipeline import is_finished

    with show.progress() as watch:

        def confirm(prepared: "PreparedJob", plan: "Plan") -> bool:
            watch.pause()
            show.echo(show.quote(prepared, plan), err=True)
            show.confirm(yes)
            return True

        loaded = Job.load(job)
        finished = resume and is_finished(loaded.out if out is None else Path(out).resolve())
        try:
            release = loaded.run(out, resume=resume, forecast=not no_forecast, confirm=confirm, watch=watch)
        except KeyboardInterrupt as stopped:
            watch.pause()
            show.echo(_stopped(stopped, job, out), err=True)
            raise typer.Exit(130) from None
    folder = release.folder
    if as_json:
        told = {"release": str(folder), "finished_before": finished, "unknown": list(release.unknown)}
        show.echo(json.dumps(told))
    else:
        if finished:
            show.echo(f"This run was finished before; there was nothing left to do. {NOTHING}")
        show.echo(f"The release is in {folder}: {release.in_short}.")
        for said in release.unknown:
            show.echo(f"WARNING    {said}")
        if release.unknown:
            show.echo(
                "           Its pages say so. If the schema should list more, that takes another run, at its price."
            )
        show.echo(f"Open {folder / 'report.html'}; check it: {show.verify_command(loaded, folder)}")


def _stopped(stopped: KeyboardInterrupt, job: str, out: str | None) -> str:
    """What to type after Ctrl-C: of a run that has begun, how to go on with it."""
    if not getattr(stopped, "__notes__", None):
        return f"\nStopped. Nothing was booked. {NOTHING}"
    words = ["run", job, *([] if out is None else ["--out", out]), "--resume"]
    return (
        f"\nStopped. What was paid for is kept. Go on at no further cost with:\n{show.program()} {shlex.join(words)}"
    )
