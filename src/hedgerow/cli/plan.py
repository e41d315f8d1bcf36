"""``hedgerow plan``: what a job will cost, ask and give, before anything confidential is read."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError

if TYPE_CHECKING:
    from hedgerow.planning.forecast import Plan

_NOTHING = "No confidential row was read and nothing was spent."


def plan(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    as_json: Annotated[bool, typer.Option("--json", help="The plan as JSON on stdout.")] = False,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", help="Of a table of counts: error against epsilon.", metavar="FILE.svg|FILE.png"),
    ] = None,
) -> None:
    """Say what a job will cost, ask and give. Reads no confidential row. Exit 5 when a use is missed."""
    from hedgerow.api.job import Job

    with show.progress() as watch:
        watch("reading the schema and the public tables")
        found = Job.load(job).plan(watch=watch)
    show.echo(json.dumps(found.to_json(), indent=2) if as_json else show.plan_text(found))
    if figure is not None:
        _draw(found, figure)
    if found.missed:
        raise typer.Exit(5)


def _draw(plan: "Plan", path: Path) -> None:
    """Expected error against epsilon for each recipe, in a file of the format its name says."""
    import numpy as np

    from hedgerow.figures.sheet import check
    from hedgerow.planning.figures import draw_errors

    if plan.imagined is None:
        raise JobError(
            "--figure draws the error of a table of counts against epsilon: the job must use one of the recipes for\n"
            f"tables, and name a public table, or assumed_rows in [confidential]. {_NOTHING}"
        )
    try:
        check(path, _NOTHING)
        draw_errors(path, plan.imagined, plan.budget, np.random.default_rng(0))
    except OSError as cause:
        raise JobError(f"Cannot write {path}: {cause.strerror or cause}. {_NOTHING}") from cause
    typer.echo(f"Drawn: {path}.", err=True)
