"""``hedgerow plan``: what a job will cost, ask and give, before anything confidential is read."""

import json
from typing import Annotated

import typer

from hedgerow.cli import show


def plan(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    as_json: Annotated[bool, typer.Option("--json", help="The plan as JSON on stdout.")] = False,
) -> None:
    """Say what a job will cost, ask and give. Reads no confidential row. Exit 5 when a use is missed."""
    from hedgerow import pipeline

    with show.progress() as watch:
        watch("reading the schema and the public tables")
        found = pipeline.plan(job)
    show.echo(json.dumps(found.to_json(), indent=2) if as_json else show.plan_text(found))
    if found.missed:
        raise typer.Exit(5)
