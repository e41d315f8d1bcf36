"""``hedgerow studio``: the whole road in a browser on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import NOTHING, JobError, MissingExtra


def studio(
    folder: Annotated[Path, typer.Argument(help="The folder of the tables and the job.", metavar="[DIR]")] = Path(),
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0: 8917, or another that is free.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Show the address, and open no browser.")] = False,
) -> None:
    """Open the studio: tables, schema, uses, budget, run and result as pages, for this machine's user alone."""
    try:
        from hedgerow.studio.server import serve
    except ImportError:
        raise MissingExtra(needed_for="The studio", extra="studio") from None
    if not folder.is_dir():
        raise JobError(f"There is no folder {folder}. Name the folder of your tables: hedgerow studio DIR. {NOTHING}")

    def ready(address: str, place: Path) -> None:
        show.echo(f"The studio of {place} is open at\n\n  {address}\n")
        show.echo("Only this machine can reach it, and only with this address: keep it to yourself. Ctrl-C ends it;")
        show.echo("work that was started goes on, and the job file holds all that was set.")

    serve(folder, port=port, browser=not no_browser, ready=ready)
