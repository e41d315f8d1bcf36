"""``hedgerow steward report``: how each intended use came out, exactly. Inside only."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show


def report(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    release: Annotated[Path | None, typer.Option("--release", help="Another release of this job.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; RELEASE-INSIDE-ONLY by default.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the samples that errors are likened to.")] = 0,
) -> None:
    """Judge a release against the confidential table itself. Inside only."""
    import numpy as np

    from hedgerow.api.job import Job
    from hedgerow.steward.report import text_of, write_report

    with show.progress() as watch:
        watch("reading the confidential table, for the steward's eyes only")
        place, found = write_report(Job.load(job), out=out, release=release, rng=np.random.default_rng(seed))
    show.echo(f"{text_of(found)}\n\nThe page is {place}. It must stay inside.")
