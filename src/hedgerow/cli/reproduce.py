"""``hedgerow reproduce``: a paper on one page, figure by figure, our number beside its own."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show


def reproduce(
    paper: Annotated[str, typer.Argument(help="rdt-2018, rdt-2019, ce or dpsyn.", metavar="PAPER")],
    out: Annotated[Path | None, typer.Option("--out", help="Where to; reproduced-PAPER by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small tables and few runs: under a minute.")] = False,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map", help="GeoJSON with the areas of dpsyn's map: simulated for them, drawn in their borders."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The numbers as JSON on stdout.")] = False,
) -> None:
    """Show a paper figure by figure, our number beside its own, on simulated or shipped tables. Costs nothing."""
    from hedgerow.reproduce import reproduce as carry_out

    with show.progress() as watch:
        done = carry_out(paper, out or Path(f"reproduced-{paper}"), quick=quick, watch=watch, map_file=map_file)
    if as_json:
        show.echo(json.dumps(done.to_json(), indent=2))
        return
    rows = [(n.word, where, n.what, *map(_short, (n.paper, n.ours))) for where, n in done.numbers]
    show.echo("\n".join(show.aligned(("", "where", "number", "paper", "here"), rows, left=(0, 1, 2, 3, 4))))
    show.echo(f"\nopen       {done.page}   {len(done.paper.exhibits)} exhibits, {done.seconds:.0f} s of CPU")


def _short(said: str) -> str:
    return said if len(said) <= 32 else f"{said[:29]}..."
