"""``hedgerow verify``: check a release without the confidential data."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError


def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release, or of a choice.", metavar="DIR")],
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Also hold it against the ledger it was paid from.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The checks as JSON on stdout.")] = False,
) -> None:
    """Check a release without the confidential data: exit 0 when it holds, 6 when it does not."""
    from hedgerow.release.choice import is_choice
    from hedgerow.release.verify import booked_statement, outcome
    from hedgerow.release.verify import verify as check

    if not folder.is_dir():
        raise JobError(f"There is no folder {folder}. Name the folder of a release, such as: hedgerow verify release")
    checks = check(folder)
    if ledger is not None:
        from hedgerow.steward.ledger_book import booking_of

        checks += (outcome("the ledger has it, at its price", lambda: booking_of(ledger, booked_statement(folder))),)
    if as_json:
        rows = [{"check": c.name, "held": c.held, "detail": c.detail} for c in checks]
        show.echo(json.dumps({"holds": all(c.held for c in checks), "checks": rows}, indent=2))
    else:
        for c in checks:
            show.echo(f"{'ok    ' if c.held else 'FAILED'} {c.name}: {c.detail}")
        what = "choice" if is_choice(folder) else "release"
        show.echo(f"The {what} holds." if all(c.held for c in checks) else f"The {what} does NOT hold.")
    if not all(c.held for c in checks):
        raise typer.Exit(6)
