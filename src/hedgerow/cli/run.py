"""``hedgerow run``: show the cost, ask, book, measure, save, publish."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError

if TYPE_CHECKING:
    from hedgerow.pipeline import PreparedJob
    from hedgerow.planning.forecast import Plan


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

    with show.progress() as watch:

        def confirm(prepared: "PreparedJob", plan: "Plan") -> bool:
            watch.pause()
            typer.echo(show.quote(prepared, plan), err=True)
            if yes:
                return True
            if not sys.stdin.isatty():
                raise JobError(
                    "Nobody is there to say yes. In a script, add --yes.\n"
                    "No confidential row was read and nothing was spent."
                )
            return typer.confirm("Spend it?", err=True)

        loaded = Job.load(job)
        folder = loaded.run(out, resume=resume, forecast=not no_forecast, confirm=confirm, watch=watch).folder
    if as_json:
        show.echo(json.dumps({"release": str(folder)}))
    else:
        show.echo(f"The release is in {folder}\nOpen {folder / 'report.html'}; check it: hedgerow verify {folder}")
