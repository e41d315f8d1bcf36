"""``hedgerow experiment``: factorial runs on public stand-ins; or, paid for, a choice on the confidential table."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hedgerow.cli import show
from hedgerow.errors import NOTHING, JobError

if TYPE_CHECKING:
    from hedgerow.experiment.choosing import Choosing
    from hedgerow.experiment.runs import Progress, Watch
    from hedgerow.experiment.study import Study
    from hedgerow.job import JobValues
    from hedgerow.release.choice import ChoiceStatement


def experiment(
    grid: Annotated[str, typer.Argument(help="The grid file.", metavar="GRID.toml")],
    workers: Annotated[int, typer.Option("--workers", min=0, help="Processes; 0 for one per core.")] = 0,
    choose: Annotated[
        bool, typer.Option("--choose", help="Choose on the confidential table, at a cost, instead.")
    ] = False,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="With --choose: all that it may cost.")] = None,
    runs: Annotated[float, typer.Option("--runs", help="With --choose: the mean number of runs.")] = 10,
    law: Annotated[
        Literal["logarithmic", "geometric"], typer.Option("--law", help="With --choose: of the number of runs.")
    ] = "logarithmic",
    out: Annotated[Path, typer.Option("--out", help="With --choose: where the best run goes.")] = Path("choice"),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --choose: spend without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Vary a job's settings with its public table in the confidential one's place. Free; repeat it to go on."""
    if choose != (epsilon is not None):
        raise JobError(f"--choose spends: it goes with --epsilon, and --epsilon only with it. {NOTHING}")
    if epsilon is not None:
        _choose(grid, epsilon, (runs, law), out, yes, as_json)
        return
    from hedgerow.experiment.study import experiment as carry_out

    with _bar() as watch:
        study = carry_out(grid, workers=workers, watch=watch)
    show.echo(json.dumps(study.to_json(), indent=2, default=str) if as_json else _text(study))


def _choose(grid: str, epsilon: str, stop: tuple[float, str], out: Path, yes: bool, as_json: bool) -> None:
    """The best of a random number of runs on the confidential table."""
    from hedgerow.experiment import choosing
    from hedgerow.experiment.choosing import gamma_for
    from hedgerow.public import Stopping

    runs, law = stop
    asked = choosing.prepare(
        grid,
        epsilon=epsilon,
        stopping=Stopping(law, gamma_for(runs, law)),  # type: ignore[arg-type]
    )
    show.echo(_price(asked), err=True)
    show.confirm(yes)
    found = choosing.carry_out(asked, out)
    show.echo(json.dumps(found.to_json(), indent=2) if as_json else _chosen(found, out, asked.job))


def _price(asked: "Choosing") -> str:
    from hedgerow.experiment.choosing import expected_runs

    answers, score = asked.choice.each(asked.budget.total)
    left = asked.road.left(asked.budget)
    return "\n".join(
        [
            f"This chooses among {len(asked.candidates)} settings on {asked.job.table!r}, for epsilon "
            f"{float(asked.budget.epsilon):g} in all, however many runs there are.",
            f"Every run has epsilon {float(answers):.4g} for its answers and {float(score):.4g} for its score; about "
            f"{expected_runs(asked.stopping):.0f} runs are expected. How many there were is part of the secret,",
            "so do not publish how long it took.",
            "No cap is set." if left is None else f"Left under the cap: epsilon {float(left[0]):g}.",
        ]
    )


def _chosen(found: "ChoiceStatement", out: Path, job: "JobValues") -> str:
    levels = ", ".join(f"{k} = {v}" for k, v in found.candidates[found.chosen].levels.items())
    return (
        f"chosen     {levels}\n"
        f"distance   {-(found.score or 0):,} rows in {', '.join(map(str, found.tables))}, noise included\n"
        f"cost       epsilon {float(found.epsilon):g}; in the ledger as {found.run.run}\n"
        f"saved      {out}: the price, the noisy answers, the records drawn from them, and the job that was best\n"
        f"check it   {show.verify_command(job, out)}"
    )


@contextmanager
def _bar() -> "Iterator[Watch]":
    """How far the runs are, on a terminal; nothing otherwise."""
    with show.progress() as phases:
        phases("reading the public table")

        def watch(progress: "Progress") -> None:
            phases.step(f"{progress} ...")

        yield watch


def _text(study: "Study") -> str:
    from hedgerow.experiment.study import COST

    lines = []
    for e in study.effects:
        lines.append(f"{e.measure}: mean error {e.mean:.4g}" if e.single else f"{e.measure}: no run succeeded")
        lines += [f"  {i}. {x.name:<40} {100 * x.share:5.1f} %" for i, x in enumerate(e.single, 1)]
        lines += [f"     {x.name:<40} {100 * x.share:5.1f} %" for x in e.pairs[:3]]
    if study.verdicts:
        word = {True: "held    ", False: "NOT held", None: "unclear "}
        lines += ["", *(f"{word[v.held]}  {v.says}: {v.figures}" for v in study.verdicts)]
    if study.failed:
        lines += ["", study.refusals]
    lines += ["", f"Tables and figures: {study.grid.out / 'README.md'}", COST]
    return "\n".join(lines)
