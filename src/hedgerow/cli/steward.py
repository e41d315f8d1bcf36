"""``hedgerow steward``: exact looks at the confidential table, for the steward's eyes only."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show
from hedgerow.cli.compare import AsJson, By, Cluster, Group, Joint, Label, Library, Logistic, Model, Only, Seed

app = typer.Typer(
    help="Exact looks at the confidential table. Inside only: nothing of it is for publishing.", no_args_is_help=True
)


@app.callback()
def about() -> None:
    """Exact looks at the confidential table. Inside only: nothing of it is for publishing."""


@app.command()
def compare(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    release: Annotated[Path | None, typer.Option("--release", help="Another release, or a file of records.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of the exact report.")] = None,
    only: Only = None,
    model: Model = "",
    by: By = "",
    logistic: Logistic = "",
    cluster: Cluster = "",
    group: Group = "",
    joint: Joint = "",
    label: Label = "",
    library: Library = "hedgerow",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a job's release with the confidential table, exactly. Costs nothing, and must stay inside."""
    import numpy as np

    from hedgerow.api.job import Job
    from hedgerow.evaluate.base import CompareOptions
    from hedgerow.evaluate.compare import listed, metric_names, metrics_for
    from hedgerow.steward.compare import compare_job, exact_json, exact_text, release_of, write_exact
    from hedgerow.steward.inside import SUFFIX, inside_folder

    options = CompareOptions(
        metric_names(only or ()), model, by, logistic, cluster, listed(group), listed(joint), label, library
    )
    metrics, read = metrics_for(options), Job.load(job)
    place = release_of(read, release)
    folder = inside_folder(out or place.with_name(place.name + SUFFIX), (place,))
    with show.progress() as watch:
        found = compare_job(read, rng=np.random.default_rng(seed), release=release, metrics=metrics, watch=watch)
        report = write_exact(folder, found)
    show.echo(exact_json(found) if as_json else exact_text(found))
    if not as_json:
        show.echo(f"\nThe exact report is in {report}. It must stay inside.")


@app.command()
def attack(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    runs: Annotated[int, typer.Option("--runs", min=20, help="Repeated fits of the membership test.")] = 200,
    rows: Annotated[int, typer.Option("--rows", min=20, help="Rows of its public stand-in.")] = 1000,
    release: Annotated[Path | None, typer.Option("--release", help="Another release, or a file of records.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Attack a job on public stand-ins, and its release from inside. Exit code 6: a leak is proven."""
    import numpy as np

    from hedgerow.api.job import Job
    from hedgerow.steward.attacks import attack_job, attack_text
    from hedgerow.steward.inside import WARNING, WATERMARK

    rng = np.random.default_rng(seed)
    with show.progress() as watch:
        found = attack_job(Job.load(job), runs=runs, rows=rows, release=release, rng=rng, watch=watch)
    show.echo(attack_text(found, as_json=as_json) if as_json else f"{WATERMARK}: {WARNING}\n\n{attack_text(found)}")
    if not found.membership.sound:
        raise typer.Exit(6)
