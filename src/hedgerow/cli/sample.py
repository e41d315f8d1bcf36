"""``hedgerow sample``: more synthetic copies from the noisy answers of a release, free."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError


def sample(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.", metavar="DIR")],
    copies: Annotated[int, typer.Option("--copies", "-m", min=1, help="How many copies.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of the sampling.")] = 1,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; DIR-copies by default.")] = None,
    public: Annotated[
        Path | None, typer.Option("--public", help="The run's public table, where it is needed.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--target", help="The run's target table, for recipes that attach columns.")
    ] = None,
) -> None:
    """Draw more synthetic copies from a release's measurements. Costs nothing; reads nothing confidential."""
    from hedgerow.api.release import Release
    from hedgerow.public.write import write_table

    place = out or folder.with_name(folder.name + "-copies")
    if place.exists() and any(place.glob(f"*-seed{seed}-*")):
        raise JobError(f"{place} holds copies of seed {seed} already. Choose another --seed or --out.")
    with show.progress() as watch:
        watch("drawing copies")
        release = Release.read(folder)
        drawn = release.sample(copies, seed=seed, public=public, target=target)
        stem, suffix, schema = (
            ("records", "parquet", release.schema) if release.holds_records else ("counts", "csv", None)
        )
        place.mkdir(parents=True, exist_ok=True)
        for i, frame in enumerate(drawn, 1):
            write_table(frame, place / f"{stem}-seed{seed}-{i}.{suffix}", schema)
    show.echo(f"{copies} {'copy' if copies == 1 else 'copies'} in {place}. Nothing confidential was read or spent.")
