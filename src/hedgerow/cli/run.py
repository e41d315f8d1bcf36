"""``hedgerow run``: show the cost, ask, book, measure, save, publish."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError

if TYPE_CHECKING:
    from hedgerow.pipeline import Road


def run(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    out: Annotated[str | None, typer.Option("--out", help="The folder of the release.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after a crash, at no cost.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Carry a job out and write its release."""
    from hedgerow import pipeline

    with show.progress() as watch:

        def confirm(road: "Road") -> bool:
            watch.pause()
            typer.echo(show.quote(road), err=True)
            if yes:
                return True
            if not sys.stdin.isatty():
                raise JobError(
                    "Nobody is there to say yes. In a script, add --yes.\n"
                    "No confidential row was read and nothing was spent."
                )
            return typer.confirm("Spend it?", err=True)

        folder = pipeline.run(job, out=out, resume=resume, confirm=confirm, watch=watch)
    if as_json:
        show.echo(json.dumps({"release": str(folder)}))
    else:
        show.echo(f"The release is in {folder}\nOpen {folder / 'report.html'}; check it: hedgerow verify {folder}")
