"""``hedgerow demo``: the whole road on simulated personnel tables."""

from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError

_EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2))
_RUNS = 2  # of the rehearsal at each: too few for a band, which its page says, and enough to see what it is like


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to.", metavar="[DIR]")] = Path("demo"),
    rows: Annotated[int, typer.Option("--rows", min=100, help="Rows of each simulated table, about.")] = 30_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of the simulation.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write over an earlier demo.")] = False,
) -> None:
    """Simulate three personnel tables and run the whole road on them, in a minute or two."""
    from hedgerow.api.job import Job
    from hedgerow.simulate.personnel import personnel, personnel_schema
    from hedgerow.steward import ledger_book

    _make_room(folder, force)
    with show.progress() as watch:
        watch(f"simulating three personnel tables of about {rows:,} rows")
        tables = personnel(rows=rows, seed=seed)
        for name in ("public", "confidential", "target"):
            getattr(tables, name).write_parquet(folder / f"{name}.parquet")
        (folder / "schema.toml").write_text(personnel_schema(), "utf-8")
        (folder / "job.toml").write_bytes(files("hedgerow.cli").joinpath("demo-job.toml").read_bytes())
        ledger_book.cap(str(folder / "ledger.db"), "personnel", epsilon="3", delta="0", new=True)
        watch("rehearsing on the public table, which costs nothing")
        job = Job.load(folder / "job.toml")
        found = job.rehearse(epsilons=_EPSILONS, runs=_RUNS, workers=1, out=folder / "release-rehearsal")
        plan = job.plan()
        release = job.run(watch=watch)
        watch("verifying the release")
        held = release.verify().holds
    show.echo(show.plan_text(plan, tables=8).rsplit("\n\n", 1)[0])
    least, command = found.smallest, show.program()
    show.echo(
        "\nrehearsed  on the public table alone, cost 0: "
        + (
            f"from epsilon {float(least):g} on every use was within its tolerance in all {found.runs} runs"
            if least
            else f"at no epsilon tried was every use within its tolerance in all {found.runs} runs"
        )
        + f"\npromised   epsilon 1 of 3 on 'personnel' ({command} ledger show --url {folder / 'ledger.db'})\n"
        f"verified   {'the release holds' if held else 'the release does NOT hold'}\n\n"
        f"open       {folder / 'release' / 'report.html'}   what was released, and how good it is: start here\n"
        f"           {folder / 'release-rehearsal' / 'rehearsal.html'}   what each epsilon would buy\n"
        f"           {folder / 'release' / 'privacy-statement.md'}   the promise in plain words\n"
        f"           {folder / 'release' / 'records.csv'}   the synthetic records\n"
        f"read       {folder / 'job.toml'}, {folder / 'schema.toml'}\n"
        f"studio     {command} studio {folder}   the same road as pages in a browser\n"
        f"inside     {command} steward report {folder / 'job.toml'}   how it came out exactly; not to be published\n"
        f"next       {command} schema init YOUR_PUBLIC_TABLE.csv"
    )


def _make_room(folder: Path, force: bool) -> None:
    """An empty folder for the demo; an earlier demo is cleared only when asked, anything else never."""
    import shutil

    ours = {"public.parquet", "confidential.parquet", "target.parquet", "schema.toml", "job.toml", "ledger.db"}
    ours |= {"release", "release.run", "release-copies", "release-rehearsal", "release-INSIDE-ONLY", ".studio"}
    if folder.exists():
        found = {p.name for p in folder.iterdir()} if folder.is_dir() else {folder.name}
        if found and (not force or not found <= ours):
            raise JobError(
                f"{folder} is not empty. Choose another folder, or write over an earlier demo with --force."
            )
        for name in found:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
