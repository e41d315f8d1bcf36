"""``hedgerow steward table``: original and synthetic counts side by side. Inside only."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show


def table(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    release: Annotated[Path | None, typer.Option("--release", help="Another release of this table.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; RELEASE-INSIDE-ONLY by default.")] = None,
) -> None:
    """Show a table of counts as it is beside what was released. EXACT: it must not leave the building."""
    from hedgerow.api.job import Job
    from hedgerow.steward.compare import release_of
    from hedgerow.steward.inside import SUFFIX, inside_folder
    from hedgerow.steward.side_by_side import as_text, side_by_side, write

    asked = Job.load(job)
    place = release_of(asked, release)
    folder = inside_folder(out or place.with_name(place.name + SUFFIX), (place,))
    with show.progress() as watch:
        watch("reading the confidential table, for the steward's eyes only")
        found = side_by_side(asked, release)
        files = write(folder, found)
    show.echo(as_text(found))
    show.echo(f"\nThe table and its figure are in {files[0].parent}. They must stay inside.")
