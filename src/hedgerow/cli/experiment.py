"""``hedgerow experiment``: factorial runs on public stand-ins, tables and figures."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli import show

if TYPE_CHECKING:
    from hedgerow.experiment.runs import Progress, Watch
    from hedgerow.experiment.study import Study


def experiment(
    grid: Annotated[str, typer.Argument(help="The grid file.", metavar="GRID.toml")],
    workers: Annotated[int, typer.Option("--workers", min=0, help="Processes; 0 for one per core.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Vary a job's settings with its public table in the confidential one's place. Free; repeat it to go on."""
    from hedgerow.experiment.study import experiment as carry_out

    with _bar() as watch:
        study = carry_out(grid, workers=workers, watch=watch)
    show.echo(json.dumps(study.to_json(), indent=2, default=str) if as_json else _text(study))


@contextmanager
def _bar() -> "Iterator[Watch]":
    """A bar with the time left on a terminal; nothing otherwise."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the public table ...") as status:

        def watch(progress: "Progress") -> None:
            status.update(f"{progress} ...")

        yield watch


def _text(study: "Study") -> str:
    from hedgerow.experiment.study import COST

    lines = []
    for e in study.effects:
        lines.append(f"{e.measure}: mean error {e.mean:.4g}" if e.single else f"{e.measure}: no run succeeded")
        lines += [f"  {i}. {x.name:<40} {100 * x.share:5.1f} %" for i, x in enumerate(e.single, 1)]
        lines += [f"     {x.name:<40} {100 * x.share:5.1f} %" for x in e.pairs[:3]]
    if study.verdicts:
        word = {True: "held    ", False: "NOT held", None: "unclear "}
        lines += ["", *(f"{word[v.held]}  {v.says}: {v.figures}" for v in study.verdicts)]
    if study.failed:
        lines += ["", f"{study.failed} runs were refused by the recipe: see `note` in results.parquet."]
    lines += ["", f"Tables and figures: {study.grid.out / 'README.md'}", COST]
    return "\n".join(lines)
