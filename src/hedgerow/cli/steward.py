"""``hedgerow steward``: exact looks at the confidential table, for the steward's eyes only."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import show
from hedgerow.cli.release import (
    AsJson,
    By,
    Cluster,
    Group,
    Joint,
    Label,
    Library,
    Logistic,
    Model,
    Only,
    Private,
    Scatter,
    Seed,
)

if TYPE_CHECKING:
    from hedgerow.api.job import Job

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
    beside: Annotated[
        Path | None, typer.Option("--beside", help="Another release: its panels stand beside the first one's.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The folder of the exact report.")] = None,
    only: Only = None,
    model: Model = "",
    by: By = "",
    logistic: Logistic = "",
    cluster: Cluster = "",
    group: Group = "",
    joint: Joint = "",
    scatter: Scatter = "",
    private: Private = "",
    label: Label = "",
    library: Library = "hedgerow",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a job's release with the confidential table, exactly. Costs nothing, and must stay inside."""
    from hedgerow.api.job import Job
    from hedgerow.steward.compare import exact_json, exact_text

    options = {"model": model, "by": by, "logistic": logistic, "cluster": cluster, "label": label, "library": library}
    names: dict[str, Any] = {"only": only or (), "group": group, "joint": joint, "scatter": scatter}
    names |= {"private": private} if private else {}
    with show.progress() as watch:
        loaded = Job.load(job)
        chosen: dict[str, Any] = {**options, **names, "release": release, "beside": beside, "out": out}
        report, found = loaded.steward_compare(seed=seed, watch=watch, **chosen)
    show.echo(exact_json(found) if as_json else exact_text(found))
    if not as_json:
        show.echo(f"\nThe exact report is in {report}. It must stay inside.")


@app.command()
def rates(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    release: Annotated[Path | None, typer.Option("--release", help="Another release, or a file of records.")] = None,
    leaf_min: Annotated[int, typer.Option("--leaf-min", min=1, help="Public rows below which a leaf is small.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Count true values among attached ones, rows that match, and rows and leaves without a label. Inside only."""
    from hedgerow.api.job import Job
    from hedgerow.steward.compare import rates_text

    with show.progress() as watch:
        watch("reading the confidential table, for the steward's eyes only")
        found = Job.load(job).steward_rates(release=release, leaf_min=leaf_min)
    show.echo(rates_text(found, as_json=as_json))


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


@app.command()
def report(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    release: Annotated[Path | None, typer.Option("--release", help="Another release of this job.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; RELEASE-INSIDE-ONLY by default.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the samples that errors are likened to.")] = 0,
) -> None:
    """Judge a release against the confidential table itself. Inside only."""
    from hedgerow.api.job import Job
    from hedgerow.steward.exact import text_of

    with show.progress() as watch:
        watch("reading the confidential table, for the steward's eyes only")
        place, found = (read := Job.load(job)).steward_report(out=out, release=release, seed=seed)
    show.echo(f"{text_of(found)}{_all_rows(read)}\n\nThe page is {place}. It must stay inside.")


def _all_rows(job: "Job") -> str:
    """What exact figures are of, where a cap on a person's rows may have left some out of what was counted."""
    guarantee = job.guarantee
    if guarantee.unit == "record" or job.recipe.career_time or (job.target and job.target.person):
        return ""
    return (
        f"\nExact errors are against all rows; of a person at most {guarantee.rows_per_person} counted, and what the "
        "others would\nchange no release can know: a larger rows_per_person takes them in, at more noise."
    )


@app.command()
def table(
    job: Annotated[str, typer.Argument(help="The job file.", metavar="JOB.toml")],
    release: Annotated[Path | None, typer.Option("--release", help="Another release of this table.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; RELEASE-INSIDE-ONLY by default.")] = None,
) -> None:
    """Show a table of counts as it is beside what was released. EXACT: it must not leave the building."""
    from hedgerow.api.job import Job
    from hedgerow.steward.exact import as_text, release_of, side_by_side, write
    from hedgerow.steward.inside import SUFFIX, inside_folder

    asked = Job.load(job)
    place = release_of(asked, release)
    folder = inside_folder(out or place.with_name(place.name + SUFFIX), (place,))
    with show.progress() as watch:
        watch("reading the confidential table, for the steward's eyes only")
        found = side_by_side(asked, release)
        files = write(folder, found)
    show.echo(as_text(found))
    show.echo(f"\nThe table and its figure are in {files[0].parent}. They must stay inside.")
