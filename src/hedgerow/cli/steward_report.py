"""``hedgerow steward report``: how each intended use came out, exactly. Inside only."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show


def report(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    out: Annotated[Path | None, typer.Option("--out", help="Where to; RELEASE-steward by default.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the samples that errors are likened to.")] = 0,
) -> None:
    """Judge a release against the confidential table itself. EXACT: the page must not leave the building."""
    import numpy as np

    from hedgerow.release.story import use_rows
    from hedgerow.steward.report import write_report

    with show.progress() as watch:
        watch("reading the confidential table, for the steward's eyes only")
        place, found = write_report(job, out=out, rng=np.random.default_rng(seed))
    show.echo("CONFIDENTIAL: exact numbers, not protected. Do not publish.\n")
    show.echo("\n".join(show.use_lines(use_rows(u.verdict for u in found))))
    show.echo(f"\nThe page, also confidential, is {place}")
